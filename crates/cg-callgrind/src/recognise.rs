//! Detection of Callgrind and Cachegrind profiles.

use cg_reader::{Head, Reach};

use super::sums::Summed;

/// Finds the line that identifies an input as one of the two formats, and the format; `None` as the format if more of the
/// input is needed to decide. Returns `None` for other inputs.
pub fn recognise(head: &Head) -> Option<(usize, Option<Summed>)> {
    // Before `events:`, Cachegrind writes only `desc:` and `cmd:` (`cg_main.c:fprint_CC_table_and_calc_totals`).
    // It does not escape `cmd:`, so any line after it may belong to an argument with line breaks.
    let mut only_cachegrind_keys = true;
    let mut has_command = false;
    let mut header_lines = 0;
    for (start, line) in head.whole_lines() {
        if line.starts_with(b"# callgrind format") {
            return Some((start, Some(Summed::Callgrind)));
        }
        let events = line.strip_prefix(b"events:");
        if events.is_some_and(|names| !names.trim_ascii().is_empty()) {
            let body = head.whole_lines().skip_while(|(at, _)| *at <= start);
            let body = body.map(|(_, line)| line);
            if !only_cachegrind_keys || header_lines == 0 {
                return match has_costs_behind(body, head.reach) {
                    Some(true) => Some((start, Some(Summed::Callgrind))),
                    Some(false) => None,
                    None => Some((start, None)),
                };
            }
            return Some((start, recognise_body(body, head.reach)));
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

/// Chooses between Callgrind and Cachegrind by the lines after a header that both formats allow.
///
/// A Cachegrind body has only files, functions, absolute lines with counts, and `summary:` at the end. A body that begins
/// immediately with a position is Cachegrind's, unless it has a line that only Callgrind writes. Callgrind puts blank lines
/// and comments before the body. They may also have been added to a Cachegrind profile, so the end of the body decides.
fn recognise_body<'a>(mut lines: impl Iterator<Item = &'a [u8]>, reach: Reach) -> Option<Summed> {
    let mut is_in_front = true;
    let mut has_blank_in_front = false;
    while let Some(line) = lines.next() {
        if is_blank_or_comment(line) {
            has_blank_in_front |= is_in_front;
            continue;
        }
        // A function may be called `(1)`, but a number before a name is Callgrind's compression.
        let is_compressed = has_blank_in_front && defines_number(line);
        if is_callgrind_line(line) || is_compressed {
            return Some(Summed::Callgrind);
        }
        if line.starts_with(b"summary:") {
            if !is_in_front {
                return Some(Summed::Cachegrind);
            }
            // Callgrind writes `summary:` before the costs. Cachegrind writes it last, here without any costs.
            return match lines.find(|line| !is_blank_or_comment(line)) {
                Some(_) => Some(Summed::Callgrind),
                None if reach == Reach::Beginning => None,
                None => Some(Summed::Cachegrind),
            };
        }
        is_in_front = false;
    }
    match reach {
        Reach::Beginning if is_in_front || has_blank_in_front => None,
        Reach::All if has_blank_in_front => Some(Summed::Callgrind),
        _ => Some(Summed::Cachegrind),
    }
}

/// Returns true if the lines after `events:` are the body of a profile, or if there are none. Other texts may have lines
/// that begin with `events:`. Returns `None` if more of the input is needed to decide.
fn has_costs_behind<'a>(mut lines: impl Iterator<Item = &'a [u8]>, reach: Reach) -> Option<bool> {
    let is_header = |line: &[u8]| {
        let keys = [&b"desc:"[..], b"cmd:", b"events:"];
        is_blank_or_comment(line)
            || is_callgrind_key(line)
            || keys.iter().any(|key| line.starts_with(key))
    };
    let Some(line) = lines.find(|line| !is_header(line)) else {
        return (reach != Reach::Beginning).then_some(true);
    };
    let is_position = || {
        let equals = line.iter().take(5).position(|byte| *byte == b'=');
        equals.is_some_and(|equals| line[..equals].iter().all(u8::is_ascii_lowercase))
    };
    let is_sum = || line.starts_with(b"summary:") || line.starts_with(b"totals:");
    Some(line[0].is_ascii_digit() || is_callgrind_line(line) || is_sum() || is_position())
}

fn is_blank_or_comment(line: &[u8]) -> bool {
    line.is_empty() || line.starts_with(b"#")
}

/// Returns true for header lines that only Callgrind's format has.
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

/// Returns true for lines that Cachegrind's format lacks: calls, objects, jumps, relative lines, the sums of a part.
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

/// Returns true for a position line that gives a name a number, such as `fn=(1) main`.
fn defines_number(line: &[u8]) -> bool {
    let name = line.get(3..).filter(|_| line.get(2) == Some(&b'='));
    name.and_then(|name| name.strip_prefix(b"("))
        .is_some_and(|name| {
            let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && matches!(&name[digits..], [b')', _, ..])
        })
}
