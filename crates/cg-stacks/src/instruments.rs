//! A call tree copied from Instruments of macOS (Edit, Deep Copy): cells separated by tabs, with a line of headings.
//!
//! ```text
//! Weight          Self Weight         Symbol Name
//! 4.93 s  100.0%  0 s                 start
//! 2.45 s   49.7%  846.00 ms            delta()
//! ```
//!
//! The last cell is indented by depth. `Weight` (once `Running Time`), `Bytes Used` and `Count` are inclusive: they count a
//! line and the lines below it. `Self Weight` (`Self (ms)`) is the self cost. Without it, the self cost is the difference to
//! the lines below.
//!
//! - The unit of the first line selects the event: `time` in ns, `cycles` or `bytes`. A `Count` column adds the event
//!   `count`.
//! - Instruments rounds the figures: 2.45 s has an error of up to 10 ms. If the lines below a line therefore have a higher
//!   sum than the line, its self cost is 0. A warning counts such lines.

use cg_reader::number::whole_u64;
use cg_reader::{Error, Lines, Reading};
use cg_stream::record::Count;

use super::count::Decimal;
use super::outline::Outline;
use super::table::{FrameParts, StackKey, StackLinkId, StackTable};
use super::write::write;

/// The headings of the column with inclusive costs.
const WEIGHTS: [&[u8]; 3] = [b"Weight", b"Running Time", b"Bytes Used"];

/// Returns true for the first line of a copied call tree.
pub fn is_header_line(line: &[u8]) -> bool {
    let Some(first_end) = memchr::memchr(b'\t', line) else {
        return false;
    };
    WEIGHTS.contains(&&line[..first_end])
        && line
            .rsplit(|byte| *byte == b'\t')
            .next()
            .is_some_and(|last| matches!(last, b"Symbol Name" | b"Symbol Names"))
}

/// Reads a copied call tree: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut tree = CopiedTree {
        demangle: reading.options.demangle,
        ..CopiedTree::default()
    };
    let read = tree.read(reading.lines);
    let mut run = reading.run("instruments");
    if let Some(unit) = tree.event.and_then(|event| match event {
        "time" => Some("ns"),
        "bytes" => Some("bytes"),
        _ => None,
    }) {
        let event = tree.event.unwrap_or_default().to_owned();
        run.sampling.units.insert(event, unit.to_owned());
    }
    reading.warn_count(
        tree.negative,
        "line costs less than the lines below it because of rounding; its self cost counts as 0",
        "lines cost less than the lines below them because of rounding; their self costs count as 0",
    );
    write(run, &tree.table, read, reading.out)
}

/// The state of reading a tree.
#[derive(Default)]
struct CopiedTree {
    table: StackTable,
    demangle: bool,
    outline: Outline,
    columns: Option<Columns>,
    /// The event of the weights; `None` before the first weight.
    event: Option<&'static str>,
    open: Vec<OpenRow>,
    /// The number of lines with negative self costs, caused by rounding.
    negative: u64,
}

/// The positions of the cells to read.
#[derive(Clone, Copy, Default)]
struct Columns {
    own: Option<usize>,
    /// True if the heading of `own` contains the unit (ms) and its cells do not.
    is_own_in_ms: bool,
    count: Option<usize>,
}

/// A line whose self costs are not known yet, because lines below it may follow.
struct OpenRow {
    depth: usize,
    stack: Option<StackLinkId>,
    /// The self weight and the self count.
    own: [Count; 2],
}

impl CopiedTree {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let number = lines.line_number();
            let line = lines.last_line();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match self.columns {
                None if is_header_line(line) => self.columns = Some(headings(line)),
                None => {}
                Some(_) if line.trim_ascii().is_empty() => {}
                Some(columns) => {
                    let wrong = || Error::unexpected(number, "a line of a call tree", line);
                    if !self.line(line, columns)? {
                        return Err(wrong());
                    }
                }
            }
        }
        self.close_to(0)?;
        match self.columns {
            Some(_) => Ok(()),
            None => Err(Error::whole(
                "expected the headings of a call tree (Weight … Symbol Name), found none",
            )),
        }
    }

    /// Reads a line; returns false if it is not a line of a tree.
    fn line(&mut self, line: &[u8], columns: Columns) -> Result<bool, Error> {
        let mut cells = line.split(|byte| *byte == b'\t');
        let (Some(first), Some(last)) = (cells.next(), cells.next_back()) else {
            return Ok(false);
        };
        let cell = |position: usize| line.split(|byte| *byte == b'\t').nth(position);
        let name = last.trim_ascii();
        let Some((event, weight)) = weight(first).filter(|_| !name.is_empty()) else {
            return Ok(false);
        };
        let own = match columns.own.map(cell) {
            None => None,
            Some(Some(text)) if columns.is_own_in_ms => {
                match scaled(text.trim_ascii(), 1_000_000) {
                    Some(own) => Some(own),
                    None => return Ok(false),
                }
            }
            Some(Some(text)) => match self::weight(text) {
                Some((_, own)) => Some(own),
                None => return Ok(false),
            },
            Some(None) => return Ok(false),
        };
        let count = match columns.count.and_then(cell) {
            Some(text) => match whole_u64(text.trim_ascii()) {
                Some(count) => Count::from(count),
                None => return Ok(false),
            },
            None => 0,
        };
        let event = *self.event.get_or_insert(event);
        self.table.event(event);
        if columns.count.is_some() {
            self.table.event("count");
        }
        let depth = last.iter().take_while(|byte| **byte == b' ').count();
        self.close_to(depth)?;
        if let Some(outer) = self.open.last_mut() {
            outer.own[0] -= own.map_or(weight, |_| 0);
            outer.own[1] -= count;
        }
        let frame = FrameParts {
            name: self.table.function(name, self.demangle)?,
            ..FrameParts::default()
        };
        let frame = self.table.frame(frame)?;
        let stack = self.outline.at(depth, Some(frame), &mut self.table)?;
        self.open.push(OpenRow {
            depth,
            stack,
            own: [own.unwrap_or(weight), count],
        });
        Ok(true)
    }

    /// Ends the open lines at this depth or deeper, and adds their self costs to the table.
    fn close_to(&mut self, depth: usize) -> Result<(), Error> {
        while let Some(open) = self.open.pop_if(|open| open.depth >= depth) {
            self.negative += u64::from(open.own.iter().any(|own| *own < 0));
            for (event, own) in open.own.into_iter().enumerate() {
                if own > 0 {
                    let row = self.table.row(StackKey {
                        stack: open.stack,
                        ..StackKey::default()
                    })?;
                    self.table.add(row, event, own);
                }
            }
        }
        Ok(())
    }
}

fn headings(line: &[u8]) -> Columns {
    let mut columns = Columns::default();
    for (position, heading) in line.split(|byte| *byte == b'\t').enumerate() {
        match heading {
            b"Self Weight" | b"Self" => columns.own = Some(position),
            b"Self (ms)" => {
                columns.own = Some(position);
                columns.is_own_in_ms = true;
            }
            b"Count" => columns.count = Some(position),
            _ => {}
        }
    }
    columns
}

/// The units that Instruments shows, each with its factor.
type ShownUnits = &'static [(&'static [u8], Count)];

const NANOSECONDS: ShownUnits = &[
    (b"ns", 1),
    ("µs".as_bytes(), 1_000),
    (b"us", 1_000),
    (b"ms", 1_000_000),
    (b"s", 1_000_000_000),
    (b"min", 60_000_000_000),
];
const CYCLES: ShownUnits = &[
    (b"cycles", 1),
    (b"Kc", 1_000),
    (b"Mc", 1_000_000),
    (b"Gc", 1_000_000_000),
    (b"Tc", 1_000_000_000_000),
];
const SIZES: ShownUnits = &[
    (b"Bytes", 1),
    (b"bytes", 1),
    (b"KB", 1 << 10),
    (b"KiB", 1 << 10),
    (b"MB", 1 << 20),
    (b"MiB", 1 << 20),
    (b"GB", 1 << 30),
];

/// Parses `4.93 s  100.0%`, `4273.0ms   99.9%`, `532 cycles` or `-`: returns the event, and the cost in its unit.
fn weight(cell: &[u8]) -> Option<(&'static str, Count)> {
    let cell = cell.trim_ascii();
    if cell == b"-" {
        return Some(("", 0));
    }
    let digits = cell
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let (number, rest) = cell.split_at(digits);
    let rest = rest.trim_ascii_start();
    let unit = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
    let units = [("time", NANOSECONDS), ("cycles", CYCLES), ("bytes", SIZES)];
    units.into_iter().find_map(|(event, units)| {
        let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
        Some((event, scaled(number, *factor)?))
    })
}

/// Returns a number times a factor, rounded.
fn scaled(number: &[u8], factor: Count) -> Option<Count> {
    let number = Decimal::parse(number)?;
    let unit = Count::pow(10, number.decimals);
    let product = number.digits.checked_mul(factor)?;
    Some((product + unit / 2).div_euclid(unit))
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{Parsed, check_all_prefixes, shown_stacks};

    const TIME: &str = include_str!("../../../tests/data/instruments/time.txt");

    fn read(text: &str) -> Parsed {
        parsed::read(super::parse, text.as_bytes(), &Options::default())
    }

    #[test]
    fn self_costs_come_from_their_column() {
        let parsed = read(TIME);
        assert!(
            !parsed.has_errors && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        assert_eq!(
            shown_stacks(&parsed),
            [
                "846000000: delta()<main<start",
                "786000000: alpha()<delta()<main<start",
                "9000000: leakMemory()<alpha()<delta()<main<start",
                "1200000: stat<dyld4::start(dyld4::KernelArgs*)<start",
            ]
        );
    }

    #[test]
    fn the_cells_select_the_unit() {
        for (text, total, stacks) in [
            (
                "Running Time\tSelf (ms)\t\tSymbol Name\n12.0ms   99.9%\t2\t \tmain\n10.0ms   16.6%\t10.5\t \t f()\n\n",
                r#"{"time":12500000}"#,
                &["10500000: f()<main", "2000000: main"][..],
            ),
            (
                "Weight\tSelf Weight\t\tSymbol Name\r\n96.08 Gc  100.0%\t-\t \tapp (40414)\r\n1.34 Kc    0.0%\t532 cycles\t \t main\r\n",
                r#"{"cycles":532}"#,
                &["532: main<app (40414)"],
            ),
            (
                "Bytes Used\tCount\t\tSymbol Name\n 1.50 KB     100.0%\t7\t \tstart\n 512 Bytes     50.4%\t4\t \t f()\n 1.00 KB     50.4%\t2\t \t g()\n",
                r#"{"bytes":1536,"count":7}"#,
                &["1024: g()<start", "512: f()<start", "0: start"],
            ),
        ] {
            let parsed = read(text);
            assert!(
                parsed.records_of_type("run")[0].contains(&format!("\"total\":{total}")),
                "{}",
                parsed.records_of_type("run")[0]
            );
            assert_eq!(shown_stacks(&parsed), stacks);
            assert!(
                !parsed.has_errors && parsed.messages.is_empty(),
                "{:?}",
                parsed.messages
            );
        }
    }

    #[test]
    fn lines_that_cost_less_than_those_below_are_counted() {
        let parsed = read(
            "Weight\tSymbol Name\n1.00 s  100.0%\tmain\n0.60 s  60.0%\t f\n0.41 s  40.0%\t g\n",
        );
        assert_eq!(
            shown_stacks(&parsed),
            ["600000000: f<main", "410000000: g<main"]
        );
        assert_eq!(
            parsed.messages,
            [
                "in: 1 line costs less than the lines below it because of rounding; its self cost counts as 0"
            ]
        );
        let wrong = read("Weight\tSymbol Name\n1.00 h  100.0%\tmain\n");
        assert_eq!(
            wrong.messages,
            ["in:2: expected a line of a call tree, found \"1.00 h  100.0%\\tmain\""]
        );
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TIME.as_bytes(), &Options::default());
        for (line, is_header) in [
            ("Weight\tSelf Weight\tSymbol Names", true),
            ("Weight\tHeight", false),
            ("Symbol Name\tWeight", false),
            ("Weight Symbol Name", false),
        ] {
            assert_eq!(super::is_header_line(line.as_bytes()), is_header, "{line}");
        }
    }
}
