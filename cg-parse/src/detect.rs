//! Recognises a format by content, never by file name.
//!
//! What a format shows itself by is known to its reader; the lists here say in which order readers are asked.

use cg_stream::lines::LineReader;
use std::io::Read;

use crate::error::Error;
use crate::format::Format;
use crate::head::{FARTHEST_LOOK, Head, Reach};
use crate::unsupported::{self, Binary};
use crate::{costs, findings, heaps, stacks, totals};

/// The format of an input: the one asked for, else the one its first lines show.
pub(crate) fn format_of<R: Read>(
    lines: &mut LineReader<R>,
    asked_for: Option<Format>,
) -> Result<Format, Error> {
    if asked_for.is_none() && is_stream(lines)? {
        return Err(Error::whole(
            "this is a stream already; cg-filter, cg-diff, cg-fmt and leak-check read it as it is",
        ));
    }
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        if is_whole && seen == 0 {
            return Err(Error::whole("the input is empty"));
        }
        // How much of an input is seen at once, out of a pipe or a packed file, makes no difference to what it is.
        match unsupported::binary(bytes) {
            Binary::Is(message) => return Err(Error::whole(message)),
            Binary::MayBe if !is_whole => continue,
            Binary::MayBe | Binary::IsNot => {}
        }
        if let Some(format) = asked_for.or_else(|| recognise(&Head::new(bytes, is_whole))) {
            return Ok(format);
        }
        if is_whole || seen > FARTHEST_LOOK {
            return Err(unrecognised(bytes));
        }
    }
}

/// More of an input than was seen, and whether that is all of it. What is buffered already is looked at before anything is
/// waited for.
fn look<R: Read>(lines: &mut LineReader<R>, seen: usize) -> Result<(&[u8], bool), Error> {
    if lines.buffered().len() == seen {
        lines.peek_more().map_err(Error::Input)?;
    }
    let bytes = lines.buffered();
    Ok((bytes, bytes.len() == seen))
}

/// Whether an input is a stream already. Blocks only until its first line's beginning is there.
pub(crate) fn is_stream<R: Read>(lines: &mut LineReader<R>) -> Result<bool, Error> {
    let mut seen = 0;
    loop {
        let (bytes, is_whole) = look(lines, seen)?;
        seen = bytes.len();
        let text = bytes.trim_ascii_start();
        if text.first().is_some_and(|byte| *byte != b'{') {
            return Ok(false);
        }
        if text.starts_with(b"{\"type\":") {
            return Ok(true);
        }
        // Keys may stand in any order; a whole first line tells.
        let line_end = memchr::memchr(b'\n', text).or(is_whole.then_some(text.len()));
        if let Some(line_end) = line_end {
            #[derive(serde::Deserialize)]
            struct TypedLine {
                #[serde(rename = "type")]
                _type: String,
            }
            return Ok(serde_json::from_slice::<TypedLine>(&text[..line_end]).is_ok());
        }
        if seen > FARTHEST_LOOK {
            return Ok(false);
        }
    }
}

/// Whether a format is recognised in the beginning of an input.
type ByHead = fn(&Head) -> bool;
/// Whether a line is one that only a format has.
type ByLine = fn(&[u8]) -> bool;

/// Formats that show themselves at the beginning of an input, or by words that are in no other.
const BY_BEGINNING: &[(Format, ByHead)] = &[
    (Format::Pprof, stacks::pprof::is_profile),
    (Format::Xml, findings::xml::is_document),
    (Format::Dhat, heaps::dhat::is_document),
    (Format::Firefox, stacks::firefox::is_profile),
    (Format::Heaptrack, heaps::heaptrack::is_recording),
    (Format::Speedscope, stacks::speedscope::is_profile),
    (Format::V8, stacks::v8::is_profile),
    (Format::ChromeTrace, stacks::v8::is_trace),
    (Format::Gungraun, totals::gungraun::is_summary),
    (Format::PerfStat, totals::perf_stat::is_output),
    (Format::Xctrace, stacks::xctrace::is_export),
];

/// Formats that a line shows: the first line that only one of them has. A program's own output can stand in front.
const BY_LINE: &[(Format, ByLine)] = &[
    (Format::Massif, heaps::massif::is_header_line),
    (Format::Log, findings::text::is_log_line),
    (Format::Sample, stacks::sample::is_header_line),
    (Format::Vtune, stacks::vtune::is_header_line),
    (Format::VisualStudio, stacks::visual_studio::is_header_line),
];

/// Formats that take many lines to be told, asked in this order once all is seen that will be looked at. A log or a
/// profile that begins with a program's output would have shown itself until then.
const BY_MANY_LINES: &[(Format, ByHead)] = &[
    (Format::Perf, stacks::perf::is_perf_script),
    (Format::Bpftrace, stacks::bpftrace::is_bpftrace),
    (Format::Dtrace, stacks::dtrace::is_dtrace),
    (Format::Folded, stacks::folded::is_folded),
];

/// The format that the beginning of an input shows, if it does.
fn recognise(head: &Head) -> Option<Format> {
    if stacks::perf::begins_with_samples(head) {
        return Some(Format::Perf);
    }
    let find = |formats: &[(Format, ByHead)]| {
        let found = formats.iter().find(|(_, is_of)| is_of(head));
        found.map(|(format, _)| *format)
    };
    if let Some(format) = find(BY_BEGINNING) {
        return Some(format);
    }
    let costs = costs::recognise::recognise(head);
    let before = costs.map_or(usize::MAX, |(at, _)| at);
    let by_line = head
        .whole_lines()
        .take_while(|(at, _)| *at < before)
        .find_map(|(_, line)| BY_LINE.iter().find(|(_, is_of)| is_of(line)));
    if let Some((format, _)) = by_line {
        return Some(*format);
    }
    match costs {
        Some((_, format)) => format,
        None if head.reach == Reach::Beginning => None,
        None => find(BY_MANY_LINES),
    }
}

fn unrecognised(bytes: &[u8]) -> Error {
    if let Some(message) = unsupported::text(bytes) {
        return Error::whole(message);
    }
    let first = bytes
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())
        .unwrap_or_default();
    Error::at(
        1,
        format!(
            "not recognised as a format that is read (cg-parse --help names them): it begins with {}; cg-parse --from FORMAT overrides",
            crate::error::excerpt(first)
        ),
    )
}
