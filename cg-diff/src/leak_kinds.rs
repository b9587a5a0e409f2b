//! Leak kinds that a log counts but does not show. That depends on a Memcheck option and is not reported as a change.

use cg_stream::profile::{Profile, Symbol, Symbols};
use cg_stream::record::{Count, LeakKind, RecordType, Tool};

/// What to do about leak kinds that not all runs show (`--show-leak-kinds`).
#[derive(Debug, Default)]
pub(crate) struct ShownLeakKinds {
    /// The kinds that are not compared: not all runs show them, but their totals are equal in all runs.
    pub(crate) left_out: Vec<Symbol>,
    /// What to say of these, a sentence a kind.
    pub(crate) notes: Vec<String>,
    /// Why nothing can be judged: a run does not show a kind that another shows, and it cannot be left out.
    pub(crate) doubts: Vec<String>,
    /// For each file what it has of each kind.
    seen: Vec<(String, [Seen; LeakKind::ALL.len()])>,
}

/// Bytes and blocks.
type Amount = (Count, Count);

/// What a run has of one kind of leak.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// In its records.
    shown: Amount,
    /// By its LEAK SUMMARY, which XML has none of.
    counted: Option<Amount>,
    /// Whether its options leave this kind out of what is shown.
    is_left_out: bool,
}

impl Seen {
    fn is_shown(&self) -> bool {
        self.shown.1 > 0
    }

    fn is_hidden(&self) -> bool {
        !self.is_shown()
            && self
                .counted
                .map_or(self.is_left_out, |(_, blocks)| blocks > 0)
    }
}

impl ShownLeakKinds {
    /// Looks at the leaks of a file.
    pub(crate) fn add(&mut self, profile: &Profile, file: String) {
        self.seen
            .push((file, LeakKind::ALL.map(|kind| seen(profile, kind))));
    }

    /// Decides which kinds are compared. Where stacks are compared by function, nothing can be left out of them.
    pub(crate) fn finish(&mut self, symbols: &Symbols, is_by_function: bool) {
        for kind in LeakKind::ALL {
            let word = kind.word();
            let of_kind = |seen: &[Seen; LeakKind::ALL.len()]| seen[kind as usize];
            let seen = || self.seen.iter().map(|(_, seen)| of_kind(seen));
            let hidden = self.seen.iter().find(|(_, seen)| of_kind(seen).is_hidden());
            let (Some((file, _)), true) = (hidden, seen().any(|seen| seen.is_shown())) else {
                continue;
            };
            let amounts = seen().map(|seen| match seen.counted {
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
    }
}

fn seen(profile: &Profile, leak_kind: LeakKind) -> Seen {
    let table = profile.table(RecordType::Leak);
    let position = |event: &str| profile.event(event).unwrap_or(usize::MAX);
    let (bytes, blocks) = (position("bytes"), position("blocks"));
    let mut shown = (0, 0);
    for (record, key) in table.keys().iter().enumerate() {
        if key
            .kind
            .is_some_and(|kind| profile.symbols().text(kind) == leak_kind.word())
        {
            let at = |event: usize| table.cost(record).get(event).copied().unwrap_or(0);
            shown = (shown.0 + at(bytes), shown.1 + at(blocks));
        }
    }
    let mut counted = None;
    let mut is_left_out = false;
    for run in profile.runs() {
        if let Some(summary) = run.process.leak_summary {
            let row = summary.of(leak_kind);
            let (bytes, blocks) = counted.unwrap_or((0, 0));
            counted = Some((
                bytes + Count::from(row.bytes),
                blocks + Count::from(row.blocks),
            ));
        }
        is_left_out |=
            run.tool == Some(Tool::Memcheck) && !shows(&run.process.options, leak_kind.word());
    }
    Seen {
        shown,
        counted,
        is_left_out,
    }
}

/// Whether Valgrind's options make Memcheck show a kind of leak; the last such option wins.
fn shows(options: &[String], word: &str) -> bool {
    let mut shown: Vec<&str> = vec!["definite", "possible"];
    for option in options {
        match option.split_once('=') {
            Some(("--show-leak-kinds", "all")) | Some(("--show-reachable", "yes")) => {
                shown = vec!["definite", "indirect", "possible", "reachable"];
            }
            Some(("--show-leak-kinds", "none")) => shown.clear(),
            Some(("--show-leak-kinds", kinds)) => shown = kinds.split(',').collect(),
            Some(("--show-possibly-lost", "no")) => shown.retain(|kind| *kind != "possible"),
            _ => {}
        }
    }
    shown.contains(&word)
}
