//! The causes of the difference of the totals: a table whose rows add up to it.

use cg_document::number::{grouped, plural, quotient, signed};
use cg_document::{Audience, Block, Cell, Column, Document, Layout, Table};
use cg_stream::record::{CauseKind, CauseRecord, Count, PerRun};

use super::{DiffEvent, Diffs};
use crate::options::Options;
use crate::report::arrange;

/// The default number of causes for people.
const SHOWN_CAUSES: usize = 10;

impl Diffs<'_> {
    /// Returns function, callee and sentence of each cause, with its difference in each event, the greatest first.
    pub(crate) fn cause_rows(&self) -> Vec<(&str, Option<&str>, String, Vec<Count>)> {
        let first = self.events.first().map_or("", String::as_str);
        let describe = |cause: &CauseRecord<'static>| {
            let deltas = self.events.iter().map(|event| cause.delta.get(event));
            (sentence(cause, first), deltas.collect())
        };
        let causes = self.causes.iter().map(|cause| {
            let (words, deltas) = describe(cause);
            let callee = cause
                .callee
                .as_ref()
                .and_then(|callee| callee.name.as_deref());
            (
                cause.name.as_deref().unwrap_or_default(),
                callee,
                words,
                deltas,
            )
        });
        causes.collect()
    }

    /// Returns the table of causes, the greatest first, with a note about omitted causes. Empty if there are no causes.
    pub(super) fn causes<'t>(
        &'t self,
        events: &[DiffEvent<'t>],
        options: &Options,
    ) -> Vec<Block<'t>> {
        let shown = match options.top {
            None if options.format.is_for_people() => SHOWN_CAUSES,
            _ => options.rows(),
        };
        let first = events.first().map(|event| event.name);
        let mut table = self.cause_table(events);
        if table.rows.is_empty() {
            return Vec::new();
        }
        let cut = arrange::cut(&mut table, shown, Some("delta"), first);
        table.choose_for(match options.format.is_for_people() {
            true => Audience::People,
            false => Audience::Programs,
        });
        let mut blocks = vec![Block::Table(table)];
        blocks.extend(cut.map(|cut| {
            let share = first.map(|event| format!("{} {event}", signed(cut.sum)));
            arrange::left_out(&cut, noun(cut.rows), share)
        }));
        blocks
    }

    /// Renders a document that has only the causes.
    pub(super) fn causes_alone(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        anyhow::ensure!(
            !self.causes.is_empty(),
            "there are no causes; cg-diff --causes writes them"
        );
        let mut document = Document::default();
        document.push(Block::Heading(format!("cg-diff: {}", self.title)));
        document
            .blocks
            .extend(self.causes(&self.events(options)?, options));
        Ok(document)
    }

    fn cause_table<'t>(&'t self, events: &[DiffEvent<'t>]) -> Table<'t> {
        let causes = self.causes;
        let mut columns = Vec::new();
        for event in events {
            let name = event.name;
            let (before, after) = self.ends(event.total);
            let before = before.unwrap_or(0);
            let delta = move |row: usize| causes[row].delta.get(name);
            let total = after.unwrap_or(0) - before;
            columns.push(
                Column::new(format!("{name}.delta"), Layout::Number, move |row| {
                    Cell::Delta(delta(row))
                })
                .titled(format!("{name} delta"))
                .for_audience(event.audience)
                .with_total(Cell::Delta(total)),
            );
            columns.push(
                Column::new(format!("{name}.delta%total"), Layout::Percent, move |row| {
                    Cell::change(delta(row), before)
                })
                .titled("%")
                .for_audience(event.audience)
                .with_total(Cell::change(total, before)),
            );
        }
        let mut function = Column::new("fn", Layout::Name, move |row: usize| {
            Cell::function(causes[row].name.as_deref())
        });
        function = function.titled("function");
        function.total = Cell::Text("PROGRAM TOTALS".into());
        columns.push(function);
        let event = events.first().map_or("", |event| event.name);
        columns.push(Column::new("cause", Layout::Text, move |row| {
            Cell::Text(sentence(&causes[row], event).into())
        }));
        let has_callees = causes.iter().any(|cause| cause.callee.is_some());
        let callee = Column::new("callee.fn", Layout::Name, move |row: usize| {
            let callee = causes[row].callee.as_ref();
            callee.map_or(Cell::Empty, |callee| Cell::function(callee.name.as_deref()))
        });
        columns.push(
            callee
                .titled("callee")
                .for_audience(Audience::all_if(has_callees)),
        );
        for (name, title, of) in [
            ("file", "file", file_cell as OfCause),
            ("obj", "object", object_cell),
        ] {
            let column = Column::new(name, Layout::Path, move |row: usize| of(&causes[row]));
            columns.push(column.titled(title).for_audience(Audience::Programs));
        }
        Table::new(columns, (0..causes.len()).collect())
    }
}

type OfCause = for<'c> fn(&'c CauseRecord<'static>) -> Cell<'c>;

fn file_cell<'c>(cause: &'c CauseRecord<'static>) -> Cell<'c> {
    Cell::name(cause.file.as_deref())
}

fn object_cell<'c>(cause: &'c CauseRecord<'static>) -> Cell<'c> {
    Cell::name(cause.obj.as_deref())
}

fn noun(causes: usize) -> &'static str {
    match causes {
        1 => "cause",
        _ => "causes",
    }
}

/// Returns the sentence about a cause: `calls it 3 instead of 1 times a call`, `costs 41 instead of 35 Ir a call`.
fn sentence(cause: &CauseRecord, event: &str) -> String {
    let [before, after] = entries(&cause.calls);
    let what = match cause.kind {
        CauseKind::Entered => format!(
            "entered {} instead of {} times",
            grouped(after),
            grouped(before)
        ),
        CauseKind::Calls => {
            let [_, old] = entries(&cause.old_rate);
            let [_, new] = entries(&cause.new_rate);
            match (before, after) {
                (_, 0) => format!("no longer calls it ({})", plural(before, "time", "times")),
                (0, _) => format!("now calls it ({})", plural(after, "time", "times")),
                _ if (old, new) == (1, 1) => {
                    format!(
                        "calls it {} instead of {} times",
                        grouped(after),
                        grouped(before)
                    )
                }
                _ => {
                    let (after, before) = apart((after, new), (before, old));
                    format!("calls it {after} instead of {before} times a call")
                }
            }
        }
        CauseKind::CostPerCall => {
            let figures = cause.per_call.get(event).map(|figures| &figures.0[..]);
            let at = |position: usize| {
                figures
                    .and_then(|all| all.get(position).copied().flatten())
                    .unwrap_or(0)
            };
            match (before, after) {
                (1, 1) => format!(
                    "costs {} instead of {} {event} itself",
                    grouped(at(2)),
                    grouped(at(0))
                ),
                _ => {
                    let (after, before) = apart((at(2), after), (at(0), before));
                    format!("costs {after} instead of {before} {event} a call")
                }
            }
        }
    };
    let cycle = cause.cycle.map(|cycle| format!(" (cycle {cycle})"));
    let guess = if cause.guess {
        ", if the guess is right"
    } else {
        ""
    };
    format!("{what}{}{}{guess}", place(cause), cycle.unwrap_or_default())
}

/// Returns the line of a call, or the line with most of a changed cost: ` at line 12`, `, most of it at src/hash.h:7`.
fn place(cause: &CauseRecord) -> String {
    let Some(line) = cause.line else {
        return String::new();
    };
    let most = match (cause.kind, entries(&cause.calls)) {
        (CauseKind::CostPerCall, _) => ", most of it",
        // The line is in the old run.
        (CauseKind::Calls, [_, 0]) => ", as it did",
        _ => "",
    };
    match cause.site.as_deref() {
        None => format!("{most} at line {line}"),
        Some(path) => {
            // A cell has room only for the last folder and the file name.
            let folder = path.rmatch_indices('/').nth(1);
            let path = &path[folder.map_or(0, |(at, _)| at + 1)..];
            format!("{most} at {path}:{line}")
        }
    }
}

/// Returns the old and the new count.
fn entries(counts: &PerRun) -> [Count; 2] {
    let at = |position: usize| counts.0.get(position).copied().flatten().unwrap_or(0);
    [at(0), at(1)]
}

/// Formats two quotients with two decimals, or with as many as they need to differ.
fn apart(new: (Count, Count), old: (Count, Count)) -> (String, String) {
    let value = |(dividend, divisor): (Count, Count)| dividend as f64 / divisor.max(1) as f64;
    let (new, old) = (value(new), value(old));
    let plain = (quotient(new), quotient(old));
    if plain.0 != plain.1 || new == old {
        return plain;
    }
    let longer = (3..=9).map(|digits| (format!("{new:.digits$}"), format!("{old:.digits$}")));
    longer
        .into_iter()
        .find(|(new, old)| new != old)
        .unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use cg_stream::record::CountsPerRun;

    use super::*;

    fn per_run(counts: &[Count]) -> PerRun {
        PerRun(counts.iter().copied().map(Some).collect())
    }

    /// Returns the sentence about a cause with these figures: calls, then old rate and new rate, or costs per call.
    fn describe(kind: CauseKind, calls: [Count; 2], figures: [Count; 4]) -> String {
        let [old_rate, new_rate] = [&figures[..2], &figures[2..]].map(per_run);
        let cause = CauseRecord {
            kind,
            calls: per_run(&calls),
            per_call: CountsPerRun(vec![("Ir".into(), per_run(&figures))]),
            old_rate,
            new_rate,
            ..CauseRecord::default()
        };
        sentence(&cause, "Ir")
    }

    #[test]
    fn causes_have_old_and_new_figures() {
        use CauseKind::{Calls, CostPerCall, Entered};
        for (expected, kind, calls, figures) in [
            (
                "calls it 900 instead of 500 times",
                Calls,
                [500, 900],
                [500, 1, 900, 1],
            ),
            (
                "calls it 3 instead of 1 times a call",
                Calls,
                [10, 45],
                [10, 10, 45, 15],
            ),
            (
                "calls it 0.67 instead of 0.5 times a call",
                Calls,
                [1, 2],
                [1, 2, 2, 3],
            ),
            (
                "calls it 1.0001 instead of 1.0000 times a call",
                Calls,
                [5, 10_001],
                [5, 5, 10_001, 10_000],
            ),
            (
                "no longer calls it (600 times)",
                Calls,
                [600, 0],
                [600, 3, 0, 3],
            ),
            (
                "now calls it (1,200 times)",
                Calls,
                [0, 1_200],
                [0, 3, 1_200, 3],
            ),
            (
                "costs 41 instead of 35 Ir a call",
                CostPerCall,
                [2, 3],
                [70, 2, 123, 3],
            ),
            (
                "costs 5,416 instead of 3,016 Ir itself",
                CostPerCall,
                [1, 1],
                [3_016, 1, 5_416, 1],
            ),
            (
                "entered 2 instead of 1 times",
                Entered,
                [1, 2],
                [0, 0, 0, 0],
            ),
        ] {
            assert_eq!(describe(kind, calls, figures), expected);
        }
    }

    #[test]
    fn a_line_has_its_file_if_it_differs() {
        use CauseKind::{Calls, CostPerCall};
        let path = Some("/home/dev/ryu/src/buffer/mod.rs");
        for (expected, kind, after, line, site) in [
            ("", Calls, 2, None, None),
            (" at line 12", Calls, 2, Some(12), None),
            (", as it did at line 12", Calls, 0, Some(12), None),
            (" at buffer/mod.rs:169", Calls, 2, Some(169), path),
            (
                ", most of it at hash.h:7",
                CostPerCall,
                2,
                Some(7),
                Some("hash.h"),
            ),
            (
                ", most of it at src/hash.h:7",
                CostPerCall,
                2,
                Some(7),
                Some("src/hash.h"),
            ),
        ] {
            let cause = CauseRecord {
                kind,
                line,
                site: site.map(Into::into),
                calls: per_run(&[3, after]),
                ..CauseRecord::default()
            };
            assert_eq!(place(&cause), expected);
        }
    }
}
