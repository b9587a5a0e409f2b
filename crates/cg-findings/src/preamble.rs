//! The first lines of a tool's output, in text logs and in XML's `<preamble>`.

use cg_stream::record::{Name, Tool};

use super::fields::{amount, skip, whole_amount};
use super::process::Process;

/// Reads a line of the preamble into the process. Returns false if the line does not belong to a preamble.
pub(super) fn read(line: &[u8], process: &mut Process) -> bool {
    if let Some(tool) = find_banner_tool(line) {
        process.tool = Some(Tool::from(tool));
    } else if let Some(command) = skip(line, b"Command: ") {
        process.command = Some(Name::from_bytes(command).into_string());
        process.has_command_line = true;
    } else if let Some(pid) = skip(line, b"Parent PID: ") {
        process.ppid = whole_amount(pid);
    } else if let Some(version) = parse_version(line) {
        process.version = version_numbers(version);
        process.creator = Some(format!("Valgrind-{}", Name::from_bytes(version)));
    } else {
        return false;
    }
    true
}

/// Returns the tool with this first line: `Memcheck, a memory error detector`.
pub(super) fn find_banner_tool(line: &[u8]) -> Option<&'static str> {
    // The last three are from Valgrind up to 3.15, 3.6 and 3.3.
    const BANNERS: [(&str, &str); 7] = [
        ("Memcheck, a memory error detector", "memcheck"),
        ("Helgrind, a thread error detector", "helgrind"),
        ("drd, a thread error detector", "drd"),
        ("Nulgrind, the minimal Valgrind tool", "none"),
        (
            "exp-sgcheck, a stack and global array overrun detector",
            "exp-sgcheck",
        ),
        (
            "exp-ptrcheck, a heap, stack and global array overrun detector",
            "exp-ptrcheck",
        ),
        ("DRD, a data race detector", "drd"),
    ];
    BANNERS
        .iter()
        .find(|(banner, _)| line.starts_with(banner.as_bytes()))
        .map(|(_, tool)| *tool)
}

/// Returns true for the first line of a tool that writes profiles. Its log has a preamble too, but no findings.
pub(super) fn is_profiler_banner(line: &[u8]) -> bool {
    const BANNERS: [&str; 8] = [
        "Callgrind, a ",
        "Cachegrind, a ",
        "Massif, a ",
        "DHAT, a ",
        "Lackey, an ",
        "exp-bbv, a ",
        "exp-dhat, a ",
        "exp-massif, a ",
    ];
    BANNERS
        .iter()
        .any(|banner| line.starts_with(banner.as_bytes()))
}

/// Returns true for a line that occurs only in preambles, after the first line.
pub(super) fn is_preamble_line(line: &[u8]) -> bool {
    const STARTS: [&str; 3] = ["Using Valgrind-", "Command: ", "Parent PID: "];
    STARTS
        .iter()
        .any(|start| line.starts_with(start.as_bytes()))
}

/// Returns true for a line that may follow the first line of a preamble.
pub(super) fn may_be_preamble_line(line: &[u8]) -> bool {
    const STARTS: [&str; 4] = ["Copyright (C) ", "Using ", "Command: ", "Parent PID: "];
    STARTS
        .iter()
        .any(|start| line.starts_with(start.as_bytes()))
}

/// Returns the version in `Using Valgrind-3.19.0 and LibVEX; …`, without the suffix of a build: with `-v` Valgrind writes
/// `3.19.0-8d3c8034b8-20220411`.
fn parse_version(line: &[u8]) -> Option<&[u8]> {
    let rest = skip(line, b"Using ")?;
    let rest = skip(rest, b"Valgrind-").or_else(|| skip(rest, b"valgrind-"))?;
    let end = rest
        .iter()
        .position(|byte| matches!(byte, b' ' | b',' | b'-' | b';'))
        .unwrap_or(rest.len());
    Some(&rest[..end])
}

fn version_numbers(version: &[u8]) -> Option<(u64, u64)> {
    let (major, rest) = amount(version)?;
    let (minor, _) = amount(skip(rest, b".")?)?;
    Some((major.value, minor.value))
}
