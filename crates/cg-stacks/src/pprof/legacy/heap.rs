//! Heap profiles: `COUNT: BYTES [COUNT: BYTES] @ 0x…`. The first pair is memory in use; the pair in brackets is all memory
//! ever allocated.

use cg_reader::number::leading_u64;
use cg_reader::{Error, Lines, plural};
use cg_stream::record::Count;

use super::counts::first_line;
use super::fields::{LineFields, is_blank_or_comment};
use super::{LegacyProfile, SampleSymbols, maps};

/// Reads a profile of gperftools or Go. Its first line is like `heap profile: 54: 3473824 [57: 4653648] @ heap/1048576`.
pub(super) fn read(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    let (header, rate) = first_line(lines, |line, number| {
        let mut fields = LineFields::new(line, number);
        fields.expect("heap profile:")?;
        let header = HeapCounts::read(&mut fields)?;
        fields.expect("@")?;
        let rate = sampling_rate(fields.rest())
            .ok_or_else(|| fields.unexpected("the sampling rate of the heap"))?;
        Ok((header, rate))
    })?;
    let has_allocations = (header.allocated != header.in_use && header.allocated.0 != 0)
        || (header.allocated.1 != header.in_use.1 && header.allocated.1 != 0);
    set_events(profile, has_allocations, ["objects", "space"]);
    label_rate(profile, rate);
    let mut symbols = SampleSymbols::default();
    let mut sum = HeapCounts::default();
    let mut has_end = false;
    while lines.advance().map_err(Error::Input)? {
        let (line, number) = (lines.last_line(), lines.line_number());
        if is_blank_or_comment(line) {
            symbols.read(line);
            has_end |= line.starts_with(b"# runtime.MemStats");
            continue;
        }
        symbols.keep(&mut profile.symbols);
        if maps::begins(line) {
            has_end = true;
            profile.maps.read(lines)?;
            break;
        }
        let mut fields = LineFields::new(line, number);
        let counted = HeapCounts::read(&mut fields)?;
        counted.check(&fields)?;
        fields.expect("@")?;
        fields.return_addresses(&mut profile.addresses)?;
        profile.add(counted.values(rate, has_allocations));
        sum.add(counted);
    }
    symbols.keep(&mut profile.symbols);
    compare(profile, &header, &sum, has_end)
}

/// Reads a profile of jemalloc. The first line is like `heap_v2/524288`. For the process and for each stack, a line `t*: …`
/// has the sum of the lines `t1: …` that follow, one per thread.
pub(super) fn read_jemalloc(lines: &mut Lines, profile: &mut LegacyProfile) -> Result<(), Error> {
    let rate = first_line(lines, |line, number| {
        let mut fields = LineFields::new(line, number);
        fields.expect("heap_v2/")?;
        fields.number()
    })?;
    label_rate(profile, rate);
    let mut header: Option<HeapCounts> = None;
    let mut sum = HeapCounts::default();
    let mut has_stack = false;
    let mut has_end = false;
    while lines.advance().map_err(Error::Input)? {
        let (line, number) = (lines.last_line(), lines.line_number());
        if is_blank_or_comment(line) {
            continue;
        }
        if maps::begins(line) {
            has_end = true;
            profile.maps.read(lines)?;
            break;
        }
        let mut fields = LineFields::new(line, number);
        if fields.rest().starts_with(b"@") {
            if has_stack {
                return Err(fields.unexpected("the counts of the stack above"));
            }
            fields.expect("@")?;
            fields.return_addresses(&mut profile.addresses)?;
            has_stack = true;
            continue;
        }
        fields.expect("t")?;
        if !fields.rest().starts_with(b"*") {
            continue;
        }
        fields.expect("*:")?;
        let counted = HeapCounts::read(&mut fields)?;
        match &header {
            None => {
                set_events(
                    profile,
                    counted.allocated != (0, 0),
                    ["inuse_objects", "inuse_space"],
                );
                header = Some(counted);
            }
            Some(header) if has_stack => {
                counted.check(&fields)?;
                profile.add(counted.values(rate, header.allocated != (0, 0)));
                sum.add(counted);
                has_stack = false;
            }
            Some(_) => return Err(fields.unexpected("a stack")),
        }
    }
    if has_stack {
        return Err(Error::whole(
            "expected the counts of the last stack, found the end of the file: it is cut short",
        ));
    }
    match header {
        // Since 5.3, the counts of each stack are scaled up and the counts of the process are not
        // (`prof.c:prof_unbias_map_init`), so they differ even in a complete file.
        Some(_) if has_end => Ok(()),
        Some(header) => compare(profile, &header, &sum, has_end),
        None => Err(Error::whole(
            "expected the counts of the process, found the end of the file: it is cut short",
        )),
    }
}

/// Blocks and bytes, as written in the file.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct HeapCounts {
    in_use: (i64, i64),
    allocated: (i64, i64),
}

impl HeapCounts {
    fn read(fields: &mut LineFields) -> Result<HeapCounts, Error> {
        let mut pair = || {
            let count = fields.number()?;
            fields.expect(":")?;
            Ok::<_, Error>((count, fields.number()?))
        };
        let in_use = pair()?;
        fields.expect("[")?;
        let mut pair = || {
            let count = fields.number()?;
            fields.expect(":")?;
            Ok::<_, Error>((count, fields.number()?))
        };
        let allocated = pair()?;
        fields.expect("]")?;
        Ok(HeapCounts { in_use, allocated })
    }

    /// Returns an error if there are bytes without blocks, because these cannot be scaled.
    fn check(&self, fields: &LineFields) -> Result<(), Error> {
        let is_possible = |(count, bytes)| count != 0 || bytes == 0;
        if is_possible(self.in_use) && is_possible(self.allocated) {
            Ok(())
        } else {
            Err(fields.unexpected("no bytes where there are no blocks"))
        }
    }

    fn values(&self, rate: i64, has_allocations: bool) -> super::Values {
        let (blocks, bytes) = unsampled(self.in_use, rate);
        if has_allocations {
            let (all_blocks, all_bytes) = unsampled(self.allocated, rate);
            [all_blocks, all_bytes, blocks, bytes]
        } else {
            [blocks, bytes, 0, 0]
        }
    }

    fn add(&mut self, other: HeapCounts) {
        let add = |(blocks, bytes): (i64, i64), other: (i64, i64)| {
            (blocks.wrapping_add(other.0), bytes.wrapping_add(other.1))
        };
        self.in_use = add(self.in_use, other.in_use);
        self.allocated = add(self.allocated, other.allocated);
    }
}

/// Estimates all blocks and bytes from the sampled ones. Sampling is a Poisson process with one sample per `rate` bytes, so
/// a block of S bytes is sampled with the probability 1 − e^(−S/rate). The product is truncated to an integer, as in pprof.
fn unsampled((blocks, bytes): (i64, i64), rate: i64) -> (Count, Count) {
    if blocks == 0 || bytes == 0 {
        return (0, 0);
    }
    if rate <= 1 {
        return (blocks.into(), bytes.into());
    }
    let average = bytes as f64 / blocks as f64;
    let scale = 1.0 / (1.0 - (-average / rate as f64).exp());
    let scaled = |count: i64| Count::from((count as f64 * scale) as i64);
    (scaled(blocks), scaled(bytes))
}

/// Returns the mean number of bytes between two samples; 1 if every block was counted. The kinds are `heap_v2/524288`, Go's
/// `heap/1048576`, which is twice the rate, and `heapprofile`. `None` for kinds that pprof does not know either.
fn sampling_rate(kind: &[u8]) -> Option<i64> {
    let (kind, rate) = match memchr::memchr(b'/', kind) {
        Some(slash) => (&kind[..slash], leading_u64(&kind[slash + 1..])),
        None => (kind, None),
    };
    let rate = match rate {
        Some((rate, _)) => i64::try_from(rate).ok()?,
        None => 0,
    };
    match kind {
        b"heapz_v2" | b"heap_v2" => Some(rate),
        b"heap" => Some(rate / 2),
        b"heapprofile" | b"growth" | b"growthz" | b"fragmentation" | b"fragmentationz" => Some(1),
        _ => None,
    }
}

fn set_events(profile: &mut LegacyProfile, has_allocations: bool, alone: [&str; 2]) {
    if has_allocations {
        profile.set_events(&[
            ("alloc_objects", "count"),
            ("alloc_space", "bytes"),
            ("inuse_objects", "count"),
            ("inuse_space", "bytes"),
        ]);
    } else {
        profile.set_events(&[(alone[0], "count"), (alone[1], "bytes")]);
    }
}

fn label_rate(profile: &mut LegacyProfile, rate: i64) {
    if rate > 1 {
        let labels = &mut profile.facts.labels;
        labels.insert("period".to_owned(), format!("{rate} bytes space"));
    }
}

/// Compares the sum over the stacks with the header.
fn compare(
    profile: &mut LegacyProfile,
    header: &HeapCounts,
    sum: &HeapCounts,
    has_end: bool,
) -> Result<(), Error> {
    if header == sum {
        return Ok(());
    }
    let (what, counted, found) = match header.in_use == sum.in_use {
        true => ("allocated", header.allocated, sum.allocated),
        false => ("in use", header.in_use, sum.in_use),
    };
    let message = format!(
        "the first line counts {} of {} {what}, the stacks {} of {}",
        plural(counted.0, "block", "blocks"),
        plural(counted.1, "byte", "bytes"),
        found.0,
        found.1
    );
    if has_end {
        profile.warnings.push(message);
        Ok(())
    } else {
        Err(Error::whole(format!("{message}: the file is cut short")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_blocks_are_scaled_as_pprof_scales_them() {
        // The expected figures come from `go tool pprof -raw`, for lines of a profile `@ heap/1048576`.
        for (sampled, expected) in [
            ((53, 3_473_408), (451, 29_560_139)),
            ((1, 416), (1260, 524_496)),
            ((1, 176), (2979, 524_376)),
            ((1, 131_072), (4, 592_551)),
            ((1, 1_048_576), (1, 1_212_696)),
        ] {
            assert_eq!(unsampled(sampled, 524_288), expected);
        }
        assert_eq!(unsampled((3, 100), 1), (3, 100));
        assert_eq!(unsampled((3, 100), 0), (3, 100));
        assert_eq!(unsampled((3, 0), 524_288), (0, 0));
    }

    #[test]
    fn the_message_has_the_figures_that_differ() {
        let counts = |in_use, allocated| HeapCounts { in_use, allocated };
        let header = counts((3, 3072), (900, 921_600));
        for (sum, expected) in [
            (
                counts((3, 3072), (400, 409_600)),
                "900 blocks of 921600 bytes allocated, the stacks 400 of 409600: the file is cut short",
            ),
            (
                counts((2, 2048), (400, 409_600)),
                "3 blocks of 3072 bytes in use, the stacks 2 of 2048: the file is cut short",
            ),
        ] {
            let result = compare(&mut LegacyProfile::default(), &header, &sum, false);
            let message = result.unwrap_err().to_string();
            assert!(message.ends_with(expected), "{message}");
        }
    }

    #[test]
    fn the_sampling_rate_depends_on_the_kind_of_profile() {
        for (kind, expected) in [
            ("heap_v2/524288", Some(524_288)),
            ("heapz_v2/1", Some(1)),
            ("heap/1048576", Some(524_288)),
            ("heapprofile", Some(1)),
            ("growthz", Some(1)),
            ("heap_v3/1", None),
        ] {
            assert_eq!(sampling_rate(kind.as_bytes()), expected, "{kind}");
        }
    }
}
