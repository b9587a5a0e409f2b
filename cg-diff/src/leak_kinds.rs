//! Leaks that a log counts and does not show: how much is known of each kind, and whether the runs can be compared by it.
//!
//! What is shown depends on options of Memcheck and is not reported as a change. Kinds that Memcheck shows by default, and
//! that a run has in its LEAK SUMMARY alone (`--leak-check=summary`), become rows without a function: a limit on bytes must
//! not pass because nobody printed them.

use cg_parse::findings::Coverage;
use cg_stream::profile::{Names, Profile, Symbol, Symbols};
use cg_stream::record::{Count, Counts, LeakKind, RecordType, RunRecord};
use cg_stream::rows::{Cells, LeakRow, NameRef, NoTables, RowSink as _};

use crate::notes;

/// What to do about leak kinds that not all runs show (`--show-leak-kinds`).
#[derive(Debug, Default)]
pub(crate) struct ShownLeakKinds {
    /// The kinds that are not compared: not all runs show them, but their totals are equal in all runs.
    pub(crate) left_out: Vec<Symbol>,
    /// What to say of these, a sentence a kind.
    pub(crate) notes: Vec<String>,
    /// Why leaks cannot be judged: a run does not tell a kind that another tells.
    pub(crate) doubts: Vec<String>,
    /// Why no limit can be on leaks: no run looked for any.
    pub(crate) not_measured: Option<String>,
    /// Whether a log without summaries (`-q`) is taken for all there is.
    allow_fragment: bool,
    /// For each file what it has of each kind.
    seen: Vec<SeenFile>,
    /// What a file counts beyond its records, by its position, to be added to it.
    unprinted: Vec<(usize, LeakKind, Amount)>,
}

/// What a file has of each kind of leak.
#[derive(Debug)]
struct SeenFile {
    name: String,
    kinds: [Seen; LeakKind::ALL.len()],
    /// Whether a filter took records out, so that its summary says nothing of the others.
    is_filtered: bool,
    /// Whether a tool wrote it that looks for leaks, or for errors alone.
    is_of_findings: bool,
}

/// The function of a row for leaks that were counted and not printed.
pub(crate) const NOT_PRINTED: &str = "[not printed]";

/// Bytes and blocks.
type Amount = (Count, Count);

/// What a run has of one kind of leak.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// In its records.
    shown: Amount,
    /// By its LEAK SUMMARY, which XML before protocol 6 has none of.
    counted: Option<Amount>,
    /// Of several runs, what the least known one tells.
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

    /// What it counts beyond its records.
    fn unprinted(&self) -> Option<Amount> {
        let (bytes, blocks) = self.counted?;
        let (bytes, blocks) = (bytes - self.shown.0, blocks - self.shown.1);
        (bytes > 0 || blocks > 0).then_some((bytes.max(0), blocks.max(0)))
    }
}

impl ShownLeakKinds {
    pub(crate) fn new(allow_fragment: bool) -> ShownLeakKinds {
        ShownLeakKinds {
            allow_fragment,
            ..ShownLeakKinds::default()
        }
    }

    /// Looks at the leaks of a file.
    pub(crate) fn add(&mut self, profile: &Profile, name: String, is_filtered: bool) {
        self.seen.push(SeenFile {
            name,
            kinds: LeakKind::ALL.map(|kind| seen(profile, kind, self.allow_fragment)),
            is_filtered,
            is_of_findings: profile.runs().iter().any(notes::is_of_findings),
        });
    }

    /// Decides which kinds are compared. Where stacks are compared by function, nothing can be left out of them.
    pub(crate) fn finish(&mut self, symbols: &Symbols, is_by_function: bool) {
        for kind in LeakKind::ALL {
            let of_kind = |file: &SeenFile| file.kinds[kind as usize];
            let hidden = self.seen.iter().find(|file| of_kind(file).is_hidden());
            let is_shown = self.seen.iter().any(|file| of_kind(file).is_shown());
            match hidden.filter(|_| is_shown) {
                Some(file) => {
                    let name = file.name.clone();
                    self.leave_out(kind, &name, symbols, is_by_function);
                }
                // The others are shown on request alone: where nobody asked, nobody is asked.
                None if matches!(kind, LeakKind::Definite | LeakKind::Possible) => {
                    self.reconcile(kind);
                }
                None => {}
            }
        }
        self.doubts.dedup();
    }

    /// Leaves out a kind that one file does not show and another shows, if all have the same amount of it.
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
                    "{file} does not show {word} leaks: not compared, each run has {} bytes of them in {} blocks",
                    first.0, first.1
                ));
            }
            _ => self.doubts.push(format!(
                "{file} does not show {word} leaks, and another run does: run both with the same --show-leak-kinds"
            )),
        }
    }

    /// Compares what the files count of a kind with what they show.
    fn reconcile(&mut self, kind: LeakKind) {
        let word = kind.word();
        if !self.seen.iter().any(|file| file.is_of_findings) {
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
                "{} does not tell what is lost, since nobody looked for leaks; run Valgrind with --leak-check=full",
                file.name
            );
            match not_measured.count() == all {
                true => self.not_measured = Some(sentence),
                false => self.doubts.push(sentence),
            }
        } else if let Some(file) = not_shown.clone().next() {
            // All runs alike that leave out what is possibly lost are of somebody who does not want to know.
            if kind == LeakKind::Definite || not_shown.count() < all {
                self.doubts.push(format!(
                    "{} does not show {word} leaks and has no LEAK SUMMARY: run Valgrind without options that hide them, and give its log as it was written",
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
                    "{} was filtered, so that its LEAK SUMMARY has {word} leaks that it no longer shows; compare it whole",
                    file.name
                )),
                _ => self.unprinted.extend(unprinted),
            }
        }
    }

    /// Adds a row to each profile for what its LEAK SUMMARY counts beyond its records.
    ///
    /// # Errors
    /// None but internal ones.
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

    /// Whether the runs count other amounts that they did not print.
    pub(crate) fn differ_unprinted(&self, event: &str) -> bool {
        let mut all = (0..self.seen.len()).map(|profile| self.unprinted(profile, event));
        let first = all.next();
        all.any(|other| Some(other) != first)
    }

    /// What these rows add to the total of a profile.
    pub(crate) fn unprinted(&self, profile: usize, event: &str) -> Count {
        let of_profile = self.unprinted.iter().filter(|(of, ..)| *of == profile);
        of_profile
            .map(|(_, _, (bytes, blocks))| match event {
                "bytes" => *bytes,
                "blocks" => *blocks,
                _ => 0,
            })
            .sum()
    }
}

fn seen(profile: &Profile, leak_kind: LeakKind, allow_fragment: bool) -> Seen {
    let table = profile.table(RecordType::Leak);
    let position = |event: &str| profile.event(event).unwrap_or(usize::MAX);
    let (bytes, blocks) = (position("bytes"), position("blocks"));
    let mut shown = (0, 0);
    for (record, key) in table.keys().iter().enumerate() {
        if key
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

/// What a run counts of a kind, if it sums up.
fn counted(run: &RunRecord, kind: LeakKind) -> Option<Amount> {
    let facts = &run.process;
    let is_empty = facts
        .heap_summary
        .is_some_and(|heap| heap.in_use_blocks == 0);
    match facts.leak_summary.map(|summary| summary.of(kind)) {
        Some(row) => Some((row.bytes.into(), row.blocks.into())),
        None if facts.all_heap_blocks_freed || is_empty => Some((0, 0)),
        None => None,
    }
}

/// What a run tells of a kind, the same as leak-check has it.
fn coverage(run: &RunRecord, kind: LeakKind) -> Coverage {
    match run.process.exec {
        // Memory of a program that executed another one is gone with it.
        true => Coverage::Certain,
        false => Coverage::of(run, true, kind),
    }
}
