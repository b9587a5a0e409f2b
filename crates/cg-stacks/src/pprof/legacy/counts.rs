//! Profiles of counts: Go's goroutines, threads and everything that a program counts with `pprof.NewProfile`; and waits for
//! locks.

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, plural};
use cg_stream::record::Count;

use super::fields::{LineFields, is_blank_or_comment};
use super::{LegacyProfile, SampleSymbols, maps};

/// Parses a first line such as `goroutine profile: total 7`. Returns the name and the total.
pub(super) fn title(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.trim_ascii_end();
    let end = memchr::memmem::find(line, b" profile: total ")?;
    let (name, total) = (&line[..end], &line[end + b" profile: total ".len()..]);
    let is_word = !name.is_empty() && !name.iter().any(u8::is_ascii_whitespace);
    is_word
        .then(|| whole_u64(total))
        .flatten()
        .map(|total| (name, total))
}

/// Reads a profile of counts by Go: `1 @ 0x42d796 0x45d9e5`.
pub(super) fn read(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    let total = first_line(lines, |line, number| {
        let (event, total) = title(line)
            .ok_or_else(|| LineFields::new(line, number).unexpected("a name and a total"))?;
        profile
            .events
            .push(String::from_utf8_lossy(event).into_owned());
        Ok(Count::from(total))
    })?;
    let mut sum: Count = 0;
    each_sample(lines, profile, |line, number, profile| {
        let mut fields = LineFields::new(line, number);
        let count = Count::from(fields.number()?);
        fields.expect("@")?;
        fields.return_addresses(&mut profile.addresses)?;
        profile.add([count, 0, 0, 0]);
        sum += count;
        Ok(())
    })?;
    if sum < total {
        return Err(Error::whole(format!(
            "expected stacks with a sum of {total}, the total of the first line, found {sum}: the file is cut short"
        )));
    }
    Ok(())
}

/// Reads a profile of contention: `CYCLES COUNT @ 0x…`, after lines `cycles/second = N` and `sampling period = N`.
pub(super) fn read_contention(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    profile.set_events(&[("contentions", "count"), ("delay", "ns")]);
    first_line(lines, |_, _| Ok(()))?;
    let (mut cycles_per_second, mut period) = (0, 1);
    let mut is_in_header = true;
    each_sample(lines, profile, |line, number, profile| {
        if is_in_header && let Some(equals) = memchr::memchr(b'=', line) {
            let mut value = LineFields::new(&line[equals + 1..], number);
            match line[..equals].trim_ascii() {
                b"cycles/second" => cycles_per_second = value.number()?,
                b"sampling period" => period = value.number()?,
                b"ms since reset" => {
                    let duration = u64::try_from(value.number()?).ok();
                    profile.facts.duration =
                        duration.and_then(|duration| duration.checked_mul(1_000_000));
                }
                b"discarded samples" => {
                    let discarded = value.number()?;
                    if discarded != 0 {
                        profile.warnings.push(format!(
                            "the profiler discarded {}, which are missing",
                            plural(discarded, "sample", "samples")
                        ));
                    }
                }
                _ => return Err(LineFields::new(line, number).unexpected("a known key")),
            }
            return Ok(());
        }
        is_in_header = false;
        let mut fields = LineFields::new(line, number);
        let (cycles, count) = (fields.number()?, fields.number()?);
        fields.expect("@")?;
        fields.return_addresses(&mut profile.addresses)?;
        let delay = match period > 0 && cycles_per_second > 0 {
            // Truncated from floating point as in pprof, to give the same figures.
            true => {
                let gigahertz = cycles_per_second as f64 / 1e9;
                (cycles as f64 * period as f64 / gigahertz) as i64
            }
            false => cycles,
        };
        let count = Count::from(count) * Count::from(period.max(1));
        profile.add([count, Count::from(delay), 0, 0]);
        Ok(())
    })
}

/// Reads the lines of samples, the symbols in the comments after each sample, and the mappings after the last one.
fn each_sample(
    lines: &mut Lines,
    profile: &mut LegacyProfile,
    mut read: impl FnMut(&[u8], u64, &mut LegacyProfile) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut symbols = SampleSymbols::default();
    while lines.advance().map_err(Error::Input)? {
        let (line, number) = (lines.last_line(), lines.line_number());
        if is_blank_or_comment(line) {
            symbols.read(line);
            continue;
        }
        symbols.keep(&mut profile.symbols);
        if maps::begins(line) {
            profile.maps.read(lines)?;
            break;
        }
        if line.starts_with(b"---") {
            break;
        }
        read(line, number, profile)?;
    }
    symbols.keep(&mut profile.symbols);
    Ok(())
}

/// Reads the first line that is not blank or a comment.
pub(super) fn first_line<T>(
    lines: &mut Lines,
    read: impl FnOnce(&[u8], u64) -> Result<T, Error>,
) -> Result<T, Error> {
    while lines.advance().map_err(Error::Input)? {
        if !is_blank_or_comment(lines.last_line()) {
            return read(lines.last_line(), lines.line_number());
        }
    }
    Err(Error::whole("expected a profile, found nothing"))
}
