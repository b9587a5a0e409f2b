//! The sentences about causes.

use cg_document::NAMELESS;
use cg_document::number::{grouped, plural};
use cg_names::structure::shorten;
use cg_stream::record::{
    CauseDetail, CauseKind, CauseRecord, Count, CycleSummary, InlinedIn, PerRun,
};

use super::benchmarks::Benchmark;

/// The maximum length of a name in a sentence.
const LONGEST_NAME: usize = 72;

/// The facts about a comparison that sentences need.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    /// The groups of functions of the only benchmark.
    pub(super) cycles: &'a [CycleSummary],
    /// Several benchmarks, each with its own groups.
    pub(super) benchmarks: &'a [Benchmark<'a>],
    /// The event of recorded costs.
    pub(super) event: &'a str,
}

impl Words<'_> {
    /// Returns the words after the function of a cause: ` (with 1 new) [cycle of 121: luaV_execute]`.
    pub(super) fn after_function(&self, cause: &CauseRecord) -> String {
        let count = |kind: CauseKind| {
            let details = cause.details.iter();
            details.filter(|detail| detail.kind == kind).count()
        };
        let contracted = [(CauseKind::Gone, "gone"), (CauseKind::New, "new")];
        let contracted: Vec<String> = (contracted.into_iter())
            .map(|(kind, word)| (count(kind), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", grouped(count as Count)))
            .collect();
        let mut words = String::new();
        if !contracted.is_empty() {
            words += &format!(" (with {})", contracted.join(", "));
        }
        if let Some(cycle) = self.cycle(cause) {
            words += &format!(
                " [cycle of {}: {}]",
                grouped(Count::from(cycle.members)),
                function_text(Some(&cycle.name))
            );
        }
        if cause.guess {
            words += ", if the guess is right";
        }
        words
    }

    /// Returns the cycle of a cause; `None` for a function that only calls itself.
    fn cycle(&self, cause: &CauseRecord) -> Option<&CycleSummary> {
        let number = cause.cycle?;
        let bench = cause.bench.as_deref();
        let mut benchmarks = self.benchmarks.iter();
        let cycles = benchmarks
            .find(|benchmark| Some(benchmark.name) == bench)
            .map_or(self.cycles, |benchmark| &benchmark.cycles);
        cycles.iter().find(|cycle| cycle.cycle == number)
    }

    /// Returns the sentence about a detail: `calls work 15 times, was 10`.
    pub(super) fn sentence(&self, cause: &CauseRecord, detail: &CauseDetail) -> String {
        let name = function_text(detail.name.as_deref());
        let [before, after] = entries(&detail.calls);
        let sentence = match detail.kind {
            CauseKind::Own => "its own code".to_owned(),
            CauseKind::Gone => format!("{name}, gone{}", self.inclusive(detail, 0)),
            CauseKind::New => format!("{name}, new{}", self.inclusive(detail, 1)),
            CauseKind::Calls => self.calls(&name, detail),
            CauseKind::Moved => self.moved(&name, detail),
            CauseKind::Runs => {
                let cycle = match self.cycle(cause) {
                    Some(_) => "its cycle",
                    None => "its recursion",
                };
                let [old_entries, new_entries] = entries(&detail.entries);
                format!(
                    "runs {} for {} of {cycle}, was {} for {}",
                    plural(after, "time", "times"),
                    plural(new_entries, "entry", "entries"),
                    grouped(before),
                    grouped(old_entries)
                )
            }
            CauseKind::Inlined => match detail.inlined {
                Some(InlinedIn::New) => format!("{name} is inlined now"),
                Some(InlinedIn::Old) => format!("{name} is no longer inlined"),
                Some(InlinedIn::Both) | None => format!("{name}, inlined"),
            },
            CauseKind::Entered => match (before, after) {
                (0, _) => format!("{name} is entered from outside"),
                (_, 0) => format!("{name} is no longer entered from outside"),
                _ => format!(
                    "{name} is entered from outside {}, was {}",
                    plural(after, "time", "times"),
                    grouped(before)
                ),
            },
        };
        let guess = match detail.guess {
            true => ", if the guess is right",
            false => "",
        };
        format!("{sentence}{}{guess}", place(detail))
    }

    /// Returns the recorded inclusive cost of a contracted function, if it calls others.
    fn inclusive(&self, detail: &CauseDetail, side: usize) -> String {
        let recorded = self.recorded(detail)[side];
        match recorded.unsigned_abs() > detail.delta.get(self.event).unsigned_abs() {
            true => format!(" (inclusive {})", grouped(recorded)),
            false => String::new(),
        }
    }

    fn recorded(&self, detail: &CauseDetail) -> [Count; 2] {
        let recorded = detail.recorded.get(self.event);
        recorded.map_or([0; 2], entries)
    }

    fn calls(&self, name: &str, detail: &CauseDetail) -> String {
        let [before, after] = entries(&detail.calls);
        let about = match detail.about {
            true => "about ",
            false => "",
        };
        let times = |count: Count| format!("{about}{}", plural(count, "time", "times"));
        match (before, after) {
            (_, 0) => format!("no longer calls {name} (was {})", times(before)),
            (0, _) => format!("now calls {name} ({})", times(after)),
            _ if before == after => {
                format!("calls {name} (as often, {about}{})", grouped(after))
            }
            _ => {
                let [old_cost, new_cost] = self.recorded(detail);
                let price = (new_cost as f64 / after as f64) / (old_cost as f64 / before as f64);
                let percent = ((price - 1.0) * 100.0).round();
                // More calls at a lower price, or fewer at a higher one, are one net figure.
                let opposite = match (after > before, percent < 0.0, percent > 0.0) {
                    (true, true, _) => format!(", each {} % cheaper", -percent),
                    (false, _, true) => format!(", each {percent} % dearer"),
                    _ => String::new(),
                };
                format!(
                    "calls {name} {}, was {}{opposite}",
                    times(after),
                    grouped(before)
                )
            }
        }
    }

    fn moved(&self, name: &str, detail: &CauseDetail) -> String {
        let other = detail.other.as_ref();
        let other = function_text(other.and_then(|other| other.name.as_deref()));
        let moved = grouped(detail.moved.get(self.event));
        match entries(&detail.calls) {
            [_, 0] => format!("{name} is now called by {other}, not here (moved {moved})"),
            _ => format!("{name} is called here now, not by {other} (moved {moved})"),
        }
    }
}

/// Returns a function's name for a sentence, shortened if it is very long.
pub(super) fn function_text(name: Option<&str>) -> String {
    let name = name.filter(|name| !name.is_empty()).unwrap_or(NAMELESS);
    match name.chars().count() > LONGEST_NAME {
        true => shorten::shorten(name, |text| text.chars().count() <= LONGEST_NAME),
        false => name.to_owned(),
    }
}

/// Returns the line of calls, or the line with most of a changed cost: ` at line 12`, `, most of it at src/hash.h:7`.
fn place(detail: &CauseDetail) -> String {
    let Some(line) = detail.line else {
        return String::new();
    };
    let most = match (detail.kind, entries(&detail.calls)) {
        (CauseKind::Own, _) => ", most of it",
        // The line is in the old run.
        (CauseKind::Calls | CauseKind::Moved, [_, 0]) => ", as it did",
        _ => "",
    };
    match detail.site.as_deref() {
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

#[cfg(test)]
mod tests {
    use cg_stream::record::{Counts, CountsPerRun, FunctionName};

    use super::*;

    fn per_run(counts: [Count; 2]) -> PerRun {
        PerRun(counts.map(Some).to_vec())
    }

    fn detail(kind: CauseKind, calls: [Count; 2], recorded: [Count; 2]) -> CauseDetail<'static> {
        CauseDetail {
            kind,
            name: Some("work".into()),
            calls: per_run(calls),
            recorded: CountsPerRun(vec![("Ir".into(), per_run(recorded))]),
            delta: Counts::from([("Ir", 30)]),
            ..CauseDetail::default()
        }
    }

    /// Returns the sentence about a detail of a function that is in the cycle 1.
    fn describe(detail: &CauseDetail) -> String {
        let cycles = [CycleSummary {
            cycle: 1,
            name: "a".to_owned(),
            members: 2,
            ..CycleSummary::default()
        }];
        let words = Words {
            cycles: &cycles,
            benchmarks: &[],
            event: "Ir",
        };
        let cause = CauseRecord {
            cycle: Some(1),
            ..CauseRecord::default()
        };
        words.sentence(&cause, detail)
    }

    #[test]
    fn details_have_old_and_new_figures() {
        use CauseKind::{Calls, Entered, Gone, New, Own};
        for (expected, kind, calls, recorded) in [
            ("its own code", Own, [0, 0], [0, 0]),
            ("work, gone", Gone, [0, 0], [30, 0]),
            ("work, new (inclusive 90)", New, [0, 0], [0, 90]),
            ("calls work 15 times, was 10", Calls, [10, 15], [100, 150]),
            ("calls work 1 time, was 10", Calls, [10, 1], [100, 10]),
            (
                "calls work 600 times, was 300, each 47 % cheaper",
                Calls,
                [300, 600],
                [30_000, 31_800],
            ),
            (
                "calls work 5 times, was 10, each 20 % dearer",
                Calls,
                [10, 5],
                [100, 60],
            ),
            ("calls work (as often, 1)", Calls, [1, 1], [30, 90]),
            ("no longer calls work (was 1 time)", Calls, [1, 0], [300, 0]),
            (
                "now calls work (3,000 times)",
                Calls,
                [0, 3_000],
                [0, 563_824],
            ),
            ("work is entered from outside", Entered, [0, 1], [0, 9]),
            (
                "work is no longer entered from outside",
                Entered,
                [1, 0],
                [9, 0],
            ),
        ] {
            assert_eq!(describe(&detail(kind, calls, recorded)), expected);
        }
        let about = CauseDetail {
            about: true,
            ..detail(Calls, [10, 15], [100, 150])
        };
        assert_eq!(describe(&about), "calls work about 15 times, was 10");
    }

    #[test]
    fn moved_calls_runs_and_inlining_have_their_own_sentences() {
        let other = FunctionName {
            name: Some("main".into()),
            ..FunctionName::default()
        };
        let moved = CauseDetail {
            moved: Counts::from([("Ir", 50)]),
            other: Some(Box::new(other)),
            ..detail(CauseKind::Moved, [0, 1], [0, 60])
        };
        assert_eq!(
            describe(&moved),
            "work is called here now, not by main (moved 50)"
        );
        let gone = CauseDetail {
            calls: per_run([1, 0]),
            ..moved
        };
        assert_eq!(
            describe(&gone),
            "work is now called by main, not here (moved 50)"
        );
        let runs = CauseDetail {
            entries: per_run([2, 3]),
            ..detail(CauseKind::Runs, [8, 15], [0, 0])
        };
        assert_eq!(
            describe(&runs),
            "runs 15 times for 3 entries of its cycle, was 8 for 2"
        );
        for (inlined, expected) in [
            (InlinedIn::New, "work is inlined now"),
            (InlinedIn::Old, "work is no longer inlined"),
            (InlinedIn::Both, "work, inlined"),
        ] {
            let detail = CauseDetail {
                inlined: Some(inlined),
                ..detail(CauseKind::Inlined, [0, 0], [0, 0])
            };
            assert_eq!(describe(&detail), expected);
        }
    }

    #[test]
    fn a_line_has_its_file_if_it_differs() {
        use CauseKind::{Calls, Own};
        let path = Some("/home/dev/ryu/src/buffer/mod.rs");
        for (expected, kind, after, line, site) in [
            ("", Calls, 2, None, None),
            (" at line 12", Calls, 2, Some(12), None),
            (", as it did at line 12", Calls, 0, Some(12), None),
            (" at buffer/mod.rs:169", Calls, 2, Some(169), path),
            (", most of it at hash.h:7", Own, 2, Some(7), Some("hash.h")),
            (
                ", most of it at src/hash.h:7",
                Own,
                2,
                Some(7),
                Some("src/hash.h"),
            ),
        ] {
            let detail = CauseDetail {
                kind,
                line,
                site: site.map(Into::into),
                calls: per_run([3, after]),
                ..CauseDetail::default()
            };
            assert_eq!(place(&detail), expected);
        }
    }

    #[test]
    fn a_cause_counts_contracted_functions_and_names_its_cycle() {
        let cycles = [CycleSummary {
            cycle: 2,
            name: "luaV_execute".to_owned(),
            members: 121,
            ..CycleSummary::default()
        }];
        let words = Words {
            cycles: &cycles,
            benchmarks: &[],
            event: "Ir",
        };
        let kinds = [CauseKind::Gone, CauseKind::New, CauseKind::New];
        let cause = CauseRecord {
            cycle: Some(2),
            details: kinds.map(|kind| detail(kind, [0, 0], [0, 0])).to_vec(),
            ..CauseRecord::default()
        };
        assert_eq!(
            words.after_function(&cause),
            " (with 1 gone, 2 new) [cycle of 121: luaV_execute]"
        );
        // A function that calls itself is no cycle of several.
        let alone = CauseRecord {
            cycle: Some(1),
            ..CauseRecord::default()
        };
        assert_eq!(words.after_function(&alone), "");
    }
}
