//! Figures that the viewers of DHAT and heaptrack derive from the counts of a program point: averages, rates, and kinds of
//! waste.

use cg_document::{Audience, Cell, Column, Layout, number};
use cg_profile::{Profile, Rows};
use cg_stream::record::{Count, RecordType};

/// The maximum average size of blocks that dh_view calls tiny.
const TINY: Count = 16;
/// The maximum lifetime of a short-lived block, unless the file has another limit.
const SHORT_LIVED: Count = 500;

/// The program points of a profile, with the facts that their columns need.
#[derive(Clone, Copy)]
struct AllPoints<'a> {
    rows: &'a Rows,
    // Positions of events.
    total_bytes: Option<usize>,
    total_blocks: Option<usize>,
    allocations: Option<usize>,
    read_bytes: Option<usize>,
    write_bytes: Option<usize>,
    /// The time of all runs, in their unit.
    time: Count,
    short_lived: Count,
}

impl<'a> AllPoints<'a> {
    fn new(profile: &Profile, rows: &'a Rows) -> AllPoints<'a> {
        let runs = profile.runs();
        AllPoints {
            rows,
            total_bytes: profile.event("total_bytes"),
            total_blocks: profile.event("total_blocks"),
            allocations: profile.event("allocations"),
            read_bytes: profile.event("read_bytes"),
            write_bytes: profile.event("write_bytes"),
            time: runs
                .iter()
                .filter_map(|run| run.dhat.end_time)
                .map(Count::from)
                .sum(),
            short_lived: runs
                .first()
                .and_then(|run| run.dhat.short_lived)
                .map_or(SHORT_LIVED, Count::from),
        }
    }
}

/// The metrics of a program point, as in dh_view.
#[derive(Clone, Copy)]
struct PointMetrics<'a> {
    all: AllPoints<'a>,
    row: usize,
}

impl PointMetrics<'_> {
    /// Returns the count of an event; `None` if the mode of DHAT does not have it.
    fn count(self, event: Option<usize>) -> Option<Count> {
        Some(self.all.rows.count(self.row, event?))
    }

    /// Returns the number of blocks, which heaptrack calls allocations.
    fn blocks(self) -> Option<Count> {
        self.count(self.all.total_blocks.or(self.all.allocations))
    }

    fn lifetime(self) -> Option<Count> {
        self.all.rows.numbers().lifetime.count(self.row)
    }

    fn quotient<'c>(dividend: Option<Count>, divisor: Option<Count>) -> Cell<'c> {
        match (dividend, divisor) {
            (Some(dividend), Some(divisor)) => Cell::quotient(dividend, divisor),
            _ => Cell::Empty,
        }
    }

    /// Returns the count per million units of time.
    fn rate<'c>(self, event: Option<usize>) -> Cell<'c> {
        let millions = self
            .count(event)
            .map(|count| count.saturating_mul(1_000_000));
        PointMetrics::quotient(millions, Some(self.all.time))
    }

    /// Returns the number of blocks, if they are tiny on average.
    fn tiny(self) -> Option<Count> {
        let (bytes, blocks) = (
            self.count(self.all.total_bytes)?,
            self.count(self.all.total_blocks)?,
        );
        (bytes <= blocks.saturating_mul(TINY)).then_some(blocks)
    }

    /// Returns the number of blocks, if they are short-lived on average.
    fn short_lived(self) -> Option<Count> {
        let blocks = self.count(self.all.total_blocks)?;
        let longest = blocks.saturating_mul(self.all.short_lived);
        (self.lifetime()? <= longest).then_some(blocks)
    }

    /// Returns the number of bytes, if they are never read or never written.
    fn unused(self) -> Option<Count> {
        let (reads, writes) = (
            self.count(self.all.read_bytes)?,
            self.count(self.all.write_bytes)?,
        );
        (reads == 0 || writes == 0).then_some(self.count(self.all.total_bytes)?)
    }

    /// Returns the number of bytes, if each is read and written, and read or written at most 0.4 times on average.
    fn low_access(self) -> Option<Count> {
        let (reads, writes) = (
            self.count(self.all.read_bytes)?,
            self.count(self.all.write_bytes)?,
        );
        let bytes = self.count(self.all.total_bytes)?;
        let is_low = |accesses: Count| accesses.saturating_mul(10) <= bytes.saturating_mul(4);
        let is_used = reads != 0 && writes != 0;
        (is_used && (is_low(reads) || is_low(writes))).then_some(bytes)
    }

    /// Returns the number of bytes read, if each byte is read or written at least 1000 times on average.
    fn high_access(self) -> Option<Count> {
        let (reads, writes) = (
            self.count(self.all.read_bytes)?,
            self.count(self.all.write_bytes)?,
        );
        let high = self.count(self.all.total_bytes)?.saturating_mul(1000);
        (reads >= high || writes >= high).then_some(reads)
    }
}

/// Adds the derived columns. `tiny`, `short_lived`, `unused`, `low_access` and `high_access` are dh_view's sort metrics with
/// these names. They are empty for other points.
pub(crate) fn push_columns<'a>(
    columns: &mut Vec<Column<'a>>,
    profile: &'a Profile,
    rows: &'a Rows,
) {
    let points = AllPoints::new(profile, rows);
    let unit = mega_time_unit(profile).unwrap_or("million");
    let mut push = |name: &str, title: &str, audience, cell: fn(PointMetrics<'a>) -> Cell<'a>| {
        columns.push(
            Column::new(name, Layout::Number, move |row| {
                cell(PointMetrics { all: points, row })
            })
            .titled(title)
            .for_audience(audience),
        );
    };
    let programs = Audience::Programs;
    push("max_bytes", "max bytes", programs, |point| {
        Cell::count(point.all.rows.numbers().max_bytes.count(point.row))
    });
    push("max_blocks", "max blocks", programs, |point| {
        Cell::count(point.all.rows.numbers().max_blocks.count(point.row))
    });
    push("lifetime", "lifetime", programs, |point| {
        Cell::count(point.lifetime())
    });
    push("avg_size", "avg size", Audience::All, |point| {
        PointMetrics::quotient(point.count(point.all.total_bytes), point.blocks())
    });
    push("avg_lifetime", "avg lifetime", Audience::All, |point| {
        PointMetrics::quotient(point.lifetime(), point.count(point.all.total_blocks))
    });
    push("reads_per_byte", "reads/byte", programs, |point| {
        PointMetrics::quotient(
            point.count(point.all.read_bytes),
            point.count(point.all.total_bytes),
        )
    });
    push("writes_per_byte", "writes/byte", programs, |point| {
        PointMetrics::quotient(
            point.count(point.all.write_bytes),
            point.count(point.all.total_bytes),
        )
    });
    push("bytes_rate", &format!("bytes/{unit}"), programs, |point| {
        point.rate(point.all.total_bytes)
    });
    push(
        "blocks_rate",
        &format!("blocks/{unit}"),
        programs,
        |point| point.rate(point.all.total_blocks),
    );
    let nobody = Audience::Nobody;
    push("tiny", "tiny blocks", nobody, |point| {
        Cell::count(point.tiny())
    });
    push("short_lived", "short-lived blocks", nobody, |point| {
        Cell::count(point.short_lived())
    });
    push("unused", "unused bytes", nobody, |point| {
        Cell::count(point.unused())
    });
    push("low_access", "low-access bytes", nobody, |point| {
        Cell::count(point.low_access())
    });
    push("high_access", "high-access reads", nobody, |point| {
        Cell::count(point.high_access())
    });
}

fn mega_time_unit(profile: &Profile) -> Option<&str> {
    profile.runs().first()?.dhat.mega_time_unit.as_deref()
}

/// Returns the totals in the words of DHAT's or heaptrack's own summary.
pub(crate) fn summary(profile: &Profile) -> Option<Vec<String>> {
    let run = profile.runs().first()?;
    if profile.table(RecordType::ProgramPoint).is_empty() {
        return None;
    }
    let bytes = run.dhat.bytes_unit.as_deref().unwrap_or("bytes");
    let blocks = run.dhat.blocks_unit.as_deref().unwrap_or("blocks");
    let total = |event: &str| {
        let event = profile.event(event)?;
        profile.total().get(event).copied().map(number::grouped)
    };
    let mut lines = Vec::new();
    if let (Some(bytes), Some(allocations)) = (total("total_bytes"), total("allocations")) {
        lines.push(format!(
            "Total:     {bytes} bytes in {allocations} allocations"
        ));
        for (title, event, unit) in [
            ("Temporary:", "temporary", "allocations"),
            ("At peak:  ", "peak_bytes", "bytes"),
            ("Leaked:   ", "leaked_bytes", "bytes"),
            ("Suppressed leaks:", "suppressed_bytes", "bytes"),
        ] {
            if let Some(count) = total(event) {
                lines.push(format!("{title} {count} {unit}"));
            }
        }
        return Some(lines);
    }
    for (title, bytes_event, blocks_event) in [
        ("Total:    ", "total_bytes", "total_blocks"),
        ("At t-gmax:", "gmax_bytes", "gmax_blocks"),
        ("At t-end: ", "end_bytes", "end_blocks"),
    ] {
        if let (Some(count), Some(number)) = (total(bytes_event), total(blocks_event)) {
            lines.push(format!("{title} {count} {bytes} in {number} {blocks}"));
        }
    }
    for (title, event) in [("Reads:    ", "read_bytes"), ("Writes:   ", "write_bytes")] {
        if let Some(count) = total(event) {
            lines.push(format!("{title} {count} {bytes}"));
        }
    }
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::Reader;

    const RUN: &str = r#"{"type":"run","tool":"dhat","events":["total_bytes","total_blocks","read_bytes","write_bytes"],"total":{"total_bytes":131000,"total_blocks":360,"read_bytes":100,"write_bytes":131072},"end_time":500000,"short_lived":500,"mega_time_unit":"Minstr"}"#;
    const POINTS: [&str; 4] = [
        r#"{"type":"program_point","fn":"grow","cost":{"total_bytes":130800,"total_blocks":60,"write_bytes":130800},"lifetime":22630099,"stack":[]}"#,
        r#"{"type":"program_point","fn":"tiny","cost":{"total_bytes":160,"total_blocks":10,"read_bytes":64,"write_bytes":160},"lifetime":5001,"stack":[]}"#,
        r#"{"type":"program_point","fn":"short","cost":{"total_bytes":40,"total_blocks":2,"read_bytes":36,"write_bytes":80000},"lifetime":1000,"stack":[]}"#,
        r#"{"type":"program_point","fn":"empty","cost":{"total_bytes":0},"lifetime":0,"stack":[]}"#,
    ];

    fn profile() -> Profile {
        let mut profile = Profile::default();
        let text = [&[RUN][..], &POINTS].concat().join("\n");
        let mut reader = Reader::new(text.as_bytes());
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        profile
    }

    /// Returns the cells of a column, in the order of the points.
    fn column(name: &str) -> Vec<String> {
        let profile = profile();
        let mut columns = Vec::new();
        push_columns(
            &mut columns,
            &profile,
            profile.table(RecordType::ProgramPoint),
        );
        let column = columns.iter().find(|column| column.name == name).unwrap();
        let text = |row| match column.cell(row) {
            Cell::Count(count) => count.to_string(),
            Cell::Quotient { dividend, divisor } => {
                number::quotient(dividend as f64 / divisor as f64)
            }
            _ => "-".to_owned(),
        };
        (0..POINTS.len()).map(text).collect()
    }

    #[test]
    fn averages_and_rates_equal_those_of_dh_view() {
        // Computed by hand: 130800 / 60, 22630099 / 60, 130800 · 1000000 / 500000, 64 / 160.
        assert_eq!(column("avg_size"), ["2,180", "16", "20", "-"]);
        assert_eq!(column("avg_lifetime"), ["377,168.32", "500.1", "500", "-"]);
        assert_eq!(column("bytes_rate"), ["261,600", "320", "80", "0"]);
        assert_eq!(column("blocks_rate"), ["120", "20", "4", "0"]);
        assert_eq!(column("reads_per_byte"), ["0", "0.4", "0.9", "-"]);
    }

    #[test]
    fn a_metric_is_empty_for_points_without_the_property() {
        assert_eq!(column("tiny"), ["-", "10", "-", "0"]);
        assert_eq!(column("short_lived"), ["-", "-", "2", "0"]);
        assert_eq!(column("unused"), ["130800", "-", "-", "0"]);
        assert_eq!(column("low_access"), ["-", "160", "-", "-"]);
        assert_eq!(column("high_access"), ["-", "-", "36", "0"]);
    }

    #[test]
    fn summary_has_the_words_of_dhat() {
        assert_eq!(
            summary(&profile()).unwrap(),
            [
                "Total:     131,000 bytes in 360 blocks",
                "Reads:     100 bytes",
                "Writes:    131,072 bytes"
            ]
        );
    }
}
