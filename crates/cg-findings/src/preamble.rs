//! The lines with which a tool begins: those of text logs, and of XML's `<preamble>`.

use cg_stream::record::{Name, Tool};

use super::fields::{amount, skip, whole_amount};
use super::process::Process;

/// Reads a line of the preamble into the process; false where it is another line.
pub(super) fn read(line: &[u8], process: &mut Process) -> bool {
    if let Some(tool) = tool_of_banner(line) {
        process.tool = Some(Tool::from(tool));
    } else if let Some(command) = skip(line, b"Command: ") {
        process.command = Some(Name::from_bytes(command).into_string());
        process.has_command_line = true;
    } else if let Some(pid) = skip(line, b"Parent PID: ") {
        process.ppid = whole_amount(pid);
    } else if let Some(version) = version_of(line) {
        process.version = version_numbers(version);
        process.creator = Some(format!("Valgrind-{}", Name::from_bytes(version)));
    } else {
        return false;
    }
    true
}

/// The tool whose first line this is: `Memcheck, a memory error detector`.
pub(super) fn tool_of_banner(line: &[u8]) -> Option<&'static str> {
    // The last three are those of Valgrind up to 3.15, 3.6 and 3.3.
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

/// Whether a line is the first one of a tool that writes profiles, whose log has a preamble too and nothing that is judged.
pub(super) fn is_banner_of_profiler(line: &[u8]) -> bool {
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

/// Whether a line stands in every preamble behind the first one, and nowhere else.
pub(super) fn is_behind_banner(line: &[u8]) -> bool {
    const STARTS: [&str; 3] = ["Using Valgrind-", "Command: ", "Parent PID: "];
    STARTS
        .iter()
        .any(|start| line.starts_with(start.as_bytes()))
}

/// Whether a line may stand in a preamble behind the first one.
pub(super) fn may_be_behind_banner(line: &[u8]) -> bool {
    const STARTS: [&str; 4] = ["Copyright (C) ", "Using ", "Command: ", "Parent PID: "];
    STARTS
        .iter()
        .any(|start| line.starts_with(start.as_bytes()))
}

/// The version in `Using Valgrind-3.19.0 and LibVEX; …`, without what a build adds to it behind a hyphen: with `-v`
/// Valgrind writes `3.19.0-8d3c8034b8-20220411`.
fn version_of(line: &[u8]) -> Option<&[u8]> {
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
