//! Leaks that a log counts but does not show. Decides for each leak kind if the runs are comparable.
//!
//! Options of Memcheck determine the kinds that are shown; a different choice is not reported as a change. Some kinds are
//! shown by default. If a run has them only in its LEAK SUMMARY (`--leak-check=summary`), they become rows without a
//! function, so that a limit on bytes cannot pass because of unprinted leaks.

use cg_document::number::plural;
use cg_parse::findings::Coverage;
use cg_profile::{Names, Profile, Symbol, Symbols};
use cg_stream::record::{Count, Counts, LeakKind, RecordType, RunRecord, Tool};
use cg_stream::rows::{Cells, LeakRow, NameRef, NoTables, RowSink as _};

/// The treatment of leak kinds that not all runs show (`--show-leak-kinds`).
#[derive(Debug, Default)]
pub(crate) struct ShownLeakKinds {
    /// The kinds that are not compared: not all runs show them, but their totals are equal in all runs.
    pub(crate) left_out: Vec<Symbol>,
    /// A note for each of these kinds.
    pub(crate) notes: Vec<String>,
    /// Reasons why leaks cannot be judged, such as a kind that only some runs show.
    pub(crate) doubts: Vec<String>,
    /// The reason why leaks cannot be limited: no run has a leak check.
    pub(crate) not_measured: Option<String>,
    /// The amounts of each file, by leak kind.
    seen: Vec<SeenFile>,
    /// The amounts beyond the records of a file: its position, the kind and the amount to add.
    unprinted: Vec<(usize, LeakKind, Amount)>,
}

/// The leaks of a file, by leak kind.
#[derive(Debug)]
pub(crate) struct SeenFile {
    name: String,
    kinds: [Seen; LeakKind::ALL.len()],
    /// True if a filter removed records, so the LEAK SUMMARY does not describe the remaining ones.
    is_filtered: bool,
    /// True if the tool looks for errors or leaks.
    looks_for_findings: bool,
}

/// The function name of a row for leaks that were counted but not printed.
pub(crate) const NOT_PRINTED: &str = "[not printed]";

/// Bytes and blocks.
type Amount = (Count, Count);

/// The leaks of one kind in a file.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The amount in the records.
    shown: Amount,
    /// The amount in the LEAK SUMMARY; `None` in XML before protocol 6.
    counted: Option<Amount>,
    /// The weakest coverage among the runs.
    coverage: Coverage,
}

impl Seen {
    fn is_shown(&self) -> bool {
        self.shown.1 > 0
    }

    fn is_hidden(&self) -> bool {
        !self.is_shown()
            && match self.counted {
                Some((_, blocks)) => blocks > 0,
                None => self.coverage == Coverage::NotShown,
            }
    }

    /// The amount beyond the records.
    fn unprinted(&self) -> Option<Amount> {
        let (bytes, blocks) = self.counted?;
        let (bytes, blocks) = (bytes - self.shown.0, blocks - self.shown.1);
        (bytes > 0 || blocks > 0).then_some((bytes.max(0), blocks.max(0)))
    }
}

impl SeenFile {
    /// Adds up the leaks of a file. With `allow_fragment`, a log without summaries (`-q`) counts as complete.
    pub(crate) fn new(
        profile: &Profile,
        name: String,
        is_filtered: bool,
        allow_fragment: bool,
    ) -> SeenFile {
        SeenFile {
            name,
            kinds: LeakKind::ALL.map(|kind| seen(profile, kind, allow_fragment)),
            is_filtered,
            looks_for_findings: profile.runs().iter().any(looks_for_findings),
        }
    }
}

impl ShownLeakKinds {
    /// Adds the leaks of the next file.
    pub(crate) fn add(&mut self, file: SeenFile) {
        self.seen.push(file);
    }

    /// Decides which kinds are compared. If stacks are compared by function, no kind can be left out.
    pub(crate) fn finish(&mut self, symbols: &Symbols, is_by_function: bool) {
        for kind in LeakKind::ALL {
            let seen = |file: &SeenFile| file.kinds[kind as usize];
            let hidden = self.seen.iter().find(|file| seen(file).is_hidden());
            let is_shown = self.seen.iter().any(|file| seen(file).is_shown());
            match hidden.filter(|_| is_shown) {
                Some(file) => {
                    let name = file.name.clone();
                    self.leave_out(kind, &name, symbols, is_by_function);
                }
                // Memcheck shows the other kinds only on request.
                None if matches!(kind, LeakKind::Definite | LeakKind::Possible) => {
                    self.reconcile(kind);
                }
                None => {}
            }
        }
        self.doubts.dedup();
    }

    /// Leaves out a kind that only some files show, if all files have the same amount of it.
    fn leave_out(&mut self, kind: LeakKind, file: &str, symbols: &Symbols, is_by_function: bool) {
        let word = kind.word();
        let seen = self.seen.iter().map(|file| file.kinds[kind as usize]);
        let amounts = seen.map(|seen| match seen.counted {
            None if seen.is_shown() => Some(seen.shown),
            counted => counted,
        });
        let amounts: Option<Vec<Amount>> = amounts.collect();
        match (amounts.as_deref(), symbols.find(word)) {
            (Some([first, others @ ..]), Some(symbol))
                if !is_by_function && others.iter().all(|other| other == first) =>
            {
                self.left_out.push(symbol);
                self.notes.push(format!(
                    "{file} does not show {word} leaks, so they are not compared; each run has {} in {}",
                    plural(first.0, "byte", "bytes"),
                    plural(first.1, "block", "blocks")
                ));
            }
            _ => self.doubts.push(format!(
                "{file} does not show {word} leaks, but another run does; rerun Valgrind with the same --show-leak-kinds"
            )),
        }
    }

    /// Compares the amounts of a kind that the files count with the amounts that they show.
    fn reconcile(&mut self, kind: LeakKind) {
        let word = kind.word();
        if !self.seen.iter().any(|file| file.looks_for_findings) {
            return;
        }
        let with = |coverage: Coverage| {
            self.seen.iter().filter(move |file| {
                let seen = file.kinds[kind as usize];
                seen.coverage == coverage && !seen.is_shown()
            })
        };
        let all = self.seen.len();
        let (not_shown, not_measured) = (with(Coverage::NotShown), with(Coverage::NotMeasured));
        if let Some(file) = not_measured.clone().next() {
            let sentence = format!(
                "{} has no leak check; rerun Valgrind with --leak-check=full",
                file.name
            );
            match not_measured.count() == all {
                true => self.not_measured = Some(sentence),
                false => self.doubts.push(sentence),
            }
        } else if let Some(file) = not_shown.clone().next() {
            // If no run shows possibly lost blocks, the user does not want them.
            if kind == LeakKind::Definite || not_shown.count() < all {
                self.doubts.push(format!(
                    "{} does not show {word} leaks and has no LEAK SUMMARY; rerun Valgrind without options that hide leaks, and give the complete log",
                    file.name
                ));
            }
        } else {
            let files = self.seen.iter().enumerate();
            let unprinted: Vec<(usize, LeakKind, Amount)> = files
                .filter_map(|(position, file)| {
                    Some((position, kind, file.kinds[kind as usize].unprinted()?))
                })
                .collect();
            match self.seen.iter().find(|file| file.is_filtered) {
                Some(file) if !unprinted.is_empty() => self.doubts.push(format!(
                    "{} was filtered, and its LEAK SUMMARY counts {word} leaks that were removed; compare the unfiltered input",
                    file.name
                )),
                _ => self.unprinted.extend(unprinted),
            }
        }
    }

    /// Adds a row to each profile for leaks that its LEAK SUMMARY counts beyond its records.
    ///
    /// # Errors
    /// Returns only internal errors.
    pub(crate) fn add_unprinted(
        &self,
        profiles: &mut [Profile],
        names: &mut Names,
    ) -> anyhow::Result<()> {
        for (position, kind, (bytes, blocks)) in &self.unprinted {
            let cost = Counts(vec![("bytes".into(), *bytes), ("blocks".into(), *blocks)]);
            let row = LeakRow {
                name: Some(NameRef::Text(NOT_PRINTED)),
                kind: kind.word(),
                cost: Cells::Named(&cost),
                ..LeakRow::default()
            };
            let profile = &mut profiles[*position];
            profile.put_names(std::mem::take(names));
            profile.row(&row.into(), &NoTables)?;
            *names = profile.take_names();
        }
        Ok(())
    }

    /// Returns true if the runs count different amounts of unprinted leaks.
    pub(crate) fn differ_unprinted(&self, event: &str) -> bool {
        let mut all = (0..self.seen.len()).map(|profile| self.unprinted(profile, event));
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    /// The amount that these rows add to the total of a profile.
    pub(crate) fn unprinted(&self, profile: usize, event: &str) -> Count {
        let amounts = self.unprinted.iter();
        amounts
            .filter(|(position, ..)| *position == profile)
            .map(|(_, _, (bytes, blocks))| match event {
                "bytes" => *bytes,
                "blocks" => *blocks,
                _ => 0,
            })
            .sum()
    }
}

/// Returns the leaks of one kind in a file.
fn seen(profile: &Profile, leak_kind: LeakKind, allow_fragment: bool) -> Seen {
    let table = profile.table(RecordType::Leak);
    let position = |event: &str| profile.event(event).unwrap_or(usize::MAX);
    let (bytes, blocks) = (position("bytes"), position("blocks"));
    let mut shown = (0, 0);
    for (record, key) in table.keys().enumerate() {
        // The LEAK SUMMARY describes the last search.
        if !key.earlier_search
            && key
                .kind
                .is_some_and(|kind| profile.symbols().text(kind) == leak_kind.word())
        {
            let at = |event: usize| table.count(record, event);
            shown = (shown.0 + at(bytes), shown.1 + at(blocks));
        }
    }
    let runs = profile.runs().iter();
    let counted = runs.clone().filter_map(|run| counted(run, leak_kind));
    Seen {
        shown,
        counted: counted.reduce(|a, b| (a.0 + b.0, a.1 + b.1)),
        coverage: runs
            .map(|run| match allow_fragment && run.process.quiet {
                true => Coverage::Certain,
                false => coverage(run, leak_kind),
            })
            .max()
            .unwrap_or(Coverage::Certain),
    }
}

/// Returns the amount of a kind by the summary of a run; `None` without a summary.
fn counted(run: &RunRecord, kind: LeakKind) -> Option<Amount> {
    let facts = &run.process;
    let is_empty = facts
        .heap_summary
        .is_some_and(|heap| heap.in_use_blocks == 0);
    match facts.leak_summary.map(|summary| summary.row(kind)) {
        Some(row) => Some((row.bytes.into(), row.blocks.into())),
        None if facts.all_heap_blocks_freed || is_empty => Some((0, 0)),
        None => None,
    }
}

/// Returns the coverage of a kind in a run, like leak-check.
fn coverage(run: &RunRecord, kind: LeakKind) -> Coverage {
    match run.process.exec {
        // A program that executes another program loses its memory.
        true => Coverage::Certain,
        false => Coverage::from_run(run, true, kind),
    }
}

/// Returns true if the tool of a run looks for errors or leaks. Such a run may have no records.
pub(crate) fn looks_for_findings(run: &RunRecord) -> bool {
    matches!(run.tool, Some(Tool::Memcheck | Tool::Helgrind | Tool::Drd))
}

#[cfg(test)]
mod tests {
    use cg_stream::Reader;

    use super::*;

    /// Returns a log of Memcheck with loss records of a kind, and the sums of this kind in its LEAK SUMMARY.
    fn log(kind: &str, records: &[(u64, u64)], summary: Option<(u64, u64)>) -> String {
        let summary = summary.map(|(bytes, blocks)| {
            let kinds = [
                "definite",
                "indirect",
                "possible",
                "reachable",
                "suppressed",
            ];
            let rows = kinds.map(|row| match row == kind {
                true => format!("\"{row}\":{{\"bytes\":{bytes},\"blocks\":{blocks}}}"),
                false => format!("\"{row}\":{{\"bytes\":0,\"blocks\":0}}"),
            });
            format!(",\"leak_summary\":{{{}}}", rows.join(","))
        });
        let record = |(bytes, blocks): &(u64, u64)| {
            format!(
                "{{\"type\":\"leak\",\"fn\":\"f\",\"kind\":\"{kind}\",\"cost\":{{\"bytes\":{bytes},\"blocks\":{blocks}}}}}\n"
            )
        };
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"tool\":\"memcheck\",\"events\":[\"bytes\",\"blocks\"],\"total\":{{}}{}}}\n{}{{\"type\":\"end\",\"records\":{}}}\n",
            summary.unwrap_or_default(),
            records.iter().map(record).collect::<String>(),
            records.len()
        )
    }

    fn judge(logs: &[&str], are_filtered: bool) -> ShownLeakKinds {
        let mut names = Names::default();
        let mut kinds = ShownLeakKinds::default();
        for (name, log) in ["a", "b"].into_iter().zip(logs) {
            let mut profile = Profile::continuing(names);
            let mut reader = Reader::new(log.as_bytes());
            while let Some(line) = reader.next_line().unwrap() {
                profile.add(&line).unwrap();
            }
            kinds.add(SeenFile::new(
                &profile,
                name.to_owned(),
                are_filtered,
                false,
            ));
            names = profile.take_names();
        }
        kinds.finish(&names.symbols, false);
        kinds
    }

    #[test]
    fn kind_that_only_one_run_shows_is_left_out_if_all_runs_have_the_same_amount() {
        let shown = log("reachable", &[(100, 2)], Some((100, 2)));
        for (summary, is_same) in [
            ((100, 2), true),
            ((99, 2), false),
            ((101, 2), false),
            ((100, 1), false),
            ((100, 3), false),
        ] {
            let hidden = log("reachable", &[], Some(summary));
            for logs in [[&shown, &hidden], [&hidden, &shown]] {
                let kinds = judge(&logs.map(String::as_str), false);
                assert_eq!(kinds.left_out.len(), usize::from(is_same), "{summary:?}");
                assert_eq!(kinds.doubts.len(), usize::from(!is_same), "{summary:?}");
            }
        }
        let kinds = judge(&[&shown, &shown], false);
        assert!(kinds.left_out.is_empty() && kinds.doubts.is_empty());
    }

    #[test]
    fn definite_leaks_that_were_counted_and_not_printed_are_added() {
        let printed = log("definite", &[(40, 1), (24, 2)], Some((64, 3)));
        for (summary, bytes, blocks) in [((64, 3), 0, 0), ((70, 4), 6, 1), ((64, 4), 0, 1)] {
            let partly = log("definite", &[(40, 1), (24, 2)], Some(summary));
            let kinds = judge(&[&printed, &partly], false);
            assert_eq!(kinds.doubts, [""; 0]);
            assert_eq!(
                (kinds.unprinted(0, "bytes"), kinds.unprinted(0, "blocks")),
                (0, 0)
            );
            let unprinted = (kinds.unprinted(1, "bytes"), kinds.unprinted(1, "blocks"));
            assert_eq!(unprinted, (bytes, blocks));
            assert_eq!(kinds.unprinted(1, "count"), 0);
            assert_eq!(kinds.differ_unprinted("bytes"), bytes > 0);
            assert_eq!(kinds.differ_unprinted("blocks"), blocks > 0);
        }
    }

    #[test]
    fn filtered_log_with_unprinted_leaks_is_in_doubt() {
        let partly = log("definite", &[(40, 1)], Some((64, 2)));
        let kinds = judge(&[&partly, &partly], true);
        assert_eq!(kinds.doubts.len(), 1);
        assert_eq!(kinds.unprinted(0, "bytes"), 0);
        let printed = log("definite", &[(40, 1)], Some((40, 1)));
        assert_eq!(judge(&[&printed, &printed], true).doubts, [""; 0]);
    }

    #[test]
    fn log_without_a_summary_is_in_doubt_if_it_has_no_leaks() {
        let silent = log("definite", &[], None);
        let whole = log("definite", &[(64, 1)], Some((64, 1)));
        let doubts = judge(&[&whole, &silent], false).doubts;
        assert!(
            doubts[0].starts_with("b does not show definite leaks"),
            "{doubts:?}"
        );
        let printed = log("definite", &[(64, 1)], None);
        assert!(
            !judge(&[&whole, &printed], false)
                .doubts
                .iter()
                .any(|doubt| doubt.contains("definite"))
        );
    }
}
