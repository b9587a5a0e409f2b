//! What shows an input to be Callgrind's or Cachegrind's.

use cg_reader::{Head, Reach};

use super::sums::Summed;

/// Where an input shows itself as one of the two, and as which; `None` for which where more of it has to be seen.
pub fn recognise(head: &Head) -> Option<(usize, Option<Summed>)> {
    // Cachegrind's header has these two keys and no other (`cg_main.c:fprint_CC_table_and_calc_totals`). Its `cmd:` is
    // not escaped, so whatever stands behind it may be an argument's further lines.
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

/// Callgrind's or Cachegrind's, by what stands behind a header that can be either's.
///
/// Cachegrind's body has nothing but files, functions, absolute lines with counts, and `summary:` at the end. One that
/// begins with a position at once is Cachegrind's unless a line of Callgrind's follows. Blank lines and comments in front
/// are Callgrind's custom, but somebody may have put them into a profile of Cachegrind's: there its end decides.
fn recognise_body<'a>(mut lines: impl Iterator<Item = &'a [u8]>, reach: Reach) -> Option<Summed> {
    let mut is_in_front = true;
    let mut has_blank_in_front = false;
    while let Some(line) = lines.next() {
        if is_blank_or_comment(line) {
            has_blank_in_front |= is_in_front;
            continue;
        }
        // A function may be called `(1)`; in front of a name this is Callgrind's compression.
        let is_compressed = has_blank_in_front && defines_number(line);
        if is_callgrind_line(line) || is_compressed {
            return Some(Summed::Callgrind);
        }
        if line.starts_with(b"summary:") {
            if !is_in_front {
                return Some(Summed::Cachegrind);
            }
            // In front of the costs it is Callgrind's, unless there are none.
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

/// Whether what follows the line of events is the body of a profile, or nothing: other texts have lines that begin with the
/// word. `None` where more has to be seen.
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
