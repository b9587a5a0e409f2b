//! Recognises a format by content, never by file name.

use cg_stream::lines::LineReader;
use std::io::Read;

use crate::error::Error;
use crate::format::Format;
use crate::{findings, foreign};

/// How much of an input is looked at before it is given up: logs may begin with a program's own output.
const FARTHEST_LOOK: usize = 1024 * 1024;

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
        if let Some(message) = foreign::binary(bytes) {
            return Err(Error::whole(message));
        }
        if let Some(format) = asked_for.or_else(|| recognise(bytes, is_whole)) {
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
            struct Typed {
                #[serde(rename = "type")]
                _type: String,
            }
            return Ok(serde_json::from_slice::<Typed>(&text[..line_end]).is_ok());
        }
        if seen > FARTHEST_LOOK {
            return Ok(false);
        }
    }
}

/// The format that these first bytes of an input show, if they do; `is_whole` where nothing follows them.
fn recognise(bytes: &[u8], is_whole: bool) -> Option<Format> {
    let text = bytes.trim_ascii_start();
    // A program's own output can come before the document, and a log can stand inside another tool's XML.
    if memchr::memmem::find(text, b"<valgrindoutput").is_some() {
        return Some(Format::Xml);
    }
    if text.starts_with(b"{") {
        let head = &text[..text.len().min(4096)];
        if memchr::memmem::find(head, b"\"dhatFileVersion\"").is_some() {
            return Some(Format::Dhat);
        }
    }
    recognise_by_lines(bytes, is_whole)
}

/// Callgrind, Cachegrind, Massif and logs show themselves by the first line that only they have.
fn recognise_by_lines(bytes: &[u8], is_whole: bool) -> Option<Format> {
    let whole_lines = if is_whole {
        bytes.len()
    } else {
        memchr::memrchr(b'\n', bytes)?
    };
    // Cachegrind's header has these two keys and no other (`cg_main.c:fprint_CC_table_and_calc_totals`). Its `cmd:` is
    // not escaped, so whatever stands behind it may be an argument's further lines.
    let mut only_cachegrind_keys = true;
    let mut has_command = false;
    let mut header_lines = 0;
    let mut start = 0;
    for line in bytes[..whole_lines].split(|byte| *byte == b'\n') {
        start += line.len() + 1;
        let line = line.trim_ascii_end();
        if line.starts_with(b"# callgrind format") {
            return Some(Format::Callgrind);
        }
        if line.starts_with(b"#-----------")
            || line.starts_with(b"snapshot=")
            || line.starts_with(b"time_unit:")
        {
            return Some(Format::Massif);
        }
        if findings::text::is_log_line(line) {
            return Some(Format::Log);
        }
        if line.starts_with(b"events:") {
            if !only_cachegrind_keys || header_lines == 0 {
                return Some(Format::Callgrind);
            }
            let body = bytes.get(start..whole_lines).unwrap_or_default();
            let looked = if is_whole {
                Looked::AtAll
            } else if bytes.len() > FARTHEST_LOOK {
                Looked::Enough
            } else {
                Looked::AtBeginning
            };
            return recognise_body(body, looked);
        }
        if line.starts_with(b"desc:") || line.starts_with(b"cmd:") {
            header_lines += 1;
            has_command |= line.starts_with(b"cmd:");
        } else if is_callgrind_key(line) || !(has_command || is_blank_or_comment(line)) {
            only_cachegrind_keys = false;
        }
    }
    None
}

/// How much of a body was looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Looked {
    AtBeginning,
    /// More will not be waited for.
    Enough,
    AtAll,
}

/// Callgrind's or Cachegrind's, by what stands behind a header that can be either's.
///
/// Cachegrind's body has nothing but files, functions, absolute lines with counts, and `summary:` at the end. One that
/// begins with a position at once is Cachegrind's unless a line of Callgrind's follows. Blank lines and comments in front
/// are Callgrind's custom, but somebody may have put them into a profile of Cachegrind's: there its end decides.
fn recognise_body(body: &[u8], looked: Looked) -> Option<Format> {
    let mut is_in_front = true;
    let mut has_blank_in_front = false;
    let mut lines = body.split(|byte| *byte == b'\n');
    while let Some(line) = lines.next() {
        let line = line.trim_ascii_end();
        if is_blank_or_comment(line) {
            has_blank_in_front |= is_in_front;
            continue;
        }
        // A function may be called `(1)`; in front of a name this is Callgrind's compression.
        let is_compressed = has_blank_in_front && defines_number(line);
        if is_callgrind_line(line) || is_compressed {
            return Some(Format::Callgrind);
        }
        if line.starts_with(b"summary:") {
            if !is_in_front {
                return Some(Format::Cachegrind);
            }
            // In front of the costs it is Callgrind's, unless there are none.
            return match lines.find(|line| !is_blank_or_comment(line)) {
                Some(_) => Some(Format::Callgrind),
                None if looked == Looked::AtBeginning => None,
                None => Some(Format::Cachegrind),
            };
        }
        is_in_front = false;
    }
    match looked {
        Looked::AtBeginning if is_in_front || has_blank_in_front => None,
        Looked::AtAll if has_blank_in_front => Some(Format::Callgrind),
        _ => Some(Format::Cachegrind),
    }
}

fn is_blank_or_comment(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"#")
}

/// True for header lines that only Callgrind's format has.
fn is_callgrind_key(line: &[u8]) -> bool {
    const KEYS: [&[u8]; 7] = [
        b"version:",
        b"creator:",
        b"pid:",
        b"part:",
        b"thread:",
        b"positions:",
        b"event:",
    ];
    KEYS.iter().any(|key| line.starts_with(key))
}

/// True for lines that Cachegrind's format has not: calls, objects, jumps, relative lines, the sums of a part.
fn is_callgrind_line(line: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 10] = [
        b"calls=", b"rcalls=", b"cfn=", b"cfi=", b"cfl=", b"cob=", b"ob=", b"jump=", b"jcnd=",
        b"totals:",
    ];
    match line {
        [b'+' | b'-', b'0'..=b'9', ..] | [b'*', b' ', ..] => true,
        _ => BEGINNINGS
            .iter()
            .any(|beginning| line.starts_with(beginning)),
    }
}

/// `fn=(1) main`: a name with a number in front of it.
fn defines_number(line: &[u8]) -> bool {
    let name = line.get(3..).filter(|_| line.get(2) == Some(&b'='));
    name.and_then(|name| name.strip_prefix(b"("))
        .is_some_and(|name| {
            let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && matches!(&name[digits..], [b')', _, ..])
        })
}

fn unrecognised(bytes: &[u8]) -> Error {
    if let Some(message) = foreign::text(bytes) {
        return Error::whole(message);
    }
    let first = bytes
        .split(|byte| *byte == b'\n')
        .find(|line| !line.trim_ascii().is_empty())
        .unwrap_or_default();
    Error::at(
        1,
        format!(
            "not recognised as callgrind, cachegrind, memcheck, massif or dhat output: it begins with {}; cg-parse --from FORMAT overrides",
            crate::error::excerpt(first)
        ),
    )
}
