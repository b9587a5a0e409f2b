//! Compares the machine code of functions by the fingerprints that the runs contain.

use cg_document::number::plural;
use cg_profile::Rows;
use cg_stream::record::{CodeChange, Count, RecordType, Status};

use crate::compare::{Change, Comparison};
use crate::inlining;
use crate::join::Joined;
use crate::runs::Runs;

/// Shorter code can be equal by chance: all functions that return a field have the same code.
const MIN_INSTRUCTIONS_TO_COMPARE: u64 = 8;

/// The fingerprint of machine code: `x86-64.1 42 HASH HASH`, see FORMAT.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeText<'a> {
    /// The processor and the version of the fingerprint.
    form: &'a str,
    instructions: u64,
    /// The hash of the whole code.
    exact: &'a str,
    /// The hash without constants and addresses.
    shape: &'a str,
}

impl<'a> CodeText<'a> {
    fn parse(text: &'a str) -> Option<CodeText<'a>> {
        let mut words = text.split(' ');
        let code = CodeText {
            form: words.next()?,
            instructions: words.next()?.parse().ok()?,
            exact: words.next()?,
            shape: words.next()?,
        };
        words.next().is_none().then_some(code)
    }
}

/// Compares two fingerprints; `None` if they are not comparable.
fn change(old: &str, new: &str) -> Option<CodeChange> {
    let (old, new) = (CodeText::parse(old)?, CodeText::parse(new)?);
    (old.form == new.form).then(|| {
        if (old.exact, old.instructions) == (new.exact, new.instructions) {
            CodeChange::Same
        } else if old.shape == new.shape {
            CodeChange::Constants
        } else {
            CodeChange::Other
        }
    })
}

/// Compares the machine code of a row between two sides; `None` if the code is unknown.
///
/// The code is the same if all of it is the same, or all the code that ran. It is other code only if all of it is known:
/// with another input, another part of the same code may run.
pub(crate) fn compare_row(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    [old, new]: [usize; 2],
) -> Option<CodeChange> {
    if joined.rows[row].kind != RecordType::Fn || inlining::has_copies(runs, joined, row) {
        return None;
    }
    let compared = |code: fn(&Rows, usize) -> Option<&str>| {
        change(
            side_code(runs, joined, row, old, code)?,
            side_code(runs, joined, row, new, code)?,
        )
    };
    let (all, ran) = (compared(whole_code), compared(code_that_ran));
    let is = |change| [all, ran].contains(&Some(change));
    match () {
        () if is(CodeChange::Same) => Some(CodeChange::Same),
        () if is(CodeChange::Constants) => Some(CodeChange::Constants),
        () => all,
    }
}

/// The fingerprint of all code of a record's function.
pub(crate) fn whole_code(table: &Rows, record: usize) -> Option<&str> {
    table.detail(record)?.code.as_deref()
}

/// The fingerprint of the code that ran in a record's function.
fn code_that_ran(table: &Rows, record: usize) -> Option<&str> {
    table.detail(record)?.code_ran.as_deref()
}

/// Returns the fingerprint on a side, if all its records agree.
fn side_code<'a>(
    runs: &'a Runs,
    joined: &Joined,
    row: usize,
    side: usize,
    record_code: fn(&Rows, usize) -> Option<&str>,
) -> Option<&'a str> {
    let mut found: Option<&str> = None;
    for profile in runs.files_of(side) {
        let table = runs.profiles[profile].table(RecordType::Fn);
        for record in joined.records(row, profile) {
            let code = record_code(table, *record as usize)?;
            if found.is_some_and(|found| found != code) {
                return None;
            }
            found = Some(code);
        }
    }
    found
}

/// Returns true if two functions have the same code, and enough code to rule out coincidence.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    change(a, b) == Some(CodeChange::Same)
        && CodeText::parse(a).is_some_and(|code| code.instructions >= MIN_INSTRUCTIONS_TO_COMPARE)
}

/// Returns true if the code of two functions differs by more than constants.
pub(crate) fn is_other(a: &str, b: &str) -> bool {
    change(a, b) == Some(CodeChange::Other)
}

/// Returns a note with the number of changed functions whose code was not compared; `None` if there are no such functions,
/// or no run has fingerprints.
pub(crate) fn note(comparison: &Comparison) -> Option<String> {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let sides = comparison.options.sides(runs);
    let has_fingerprints = |side: usize| {
        runs.files_of(side).any(|profile| {
            let table = runs.profiles[profile].table(RecordType::Fn);
            (0..table.len()).any(|row| code_that_ran(table, row).is_some())
        })
    };
    if !sides.iter().any(|side| has_fingerprints(*side)) {
        return None;
    }
    let is_changed_function = |change: &&Change| {
        joined.rows[change.row].kind == RecordType::Fn
            && matches!(change.status, Status::Changed | Status::Renamed)
    };
    let changed: Vec<&Change> = comparison
        .changes
        .iter()
        .filter(is_changed_function)
        .collect();
    let unknown = changed
        .iter()
        .filter(|change| compare_row(runs, joined, change.row, sides).is_none())
        .count();
    (unknown > 0).then(|| {
        format!(
            "the machine code of {unknown} of {} was not compared",
            plural(
                changed.len() as Count,
                "changed function",
                "changed functions"
            )
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare};
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// Compares the code of `f` between two runs, given the fingerprints of all code and of the code that ran.
    fn code_change(old: [&str; 2], new: [&str; 2]) -> Option<CodeChange> {
        let stream = |[all, ran]: [&str; 2], cost: u64| {
            let field = |key: &str, text: &str| match text {
                "" => String::new(),
                text => format!(",\"{key}\":\"{text}\""),
            };
            format!(
                "{{\"type\":\"fn\",\"fn\":\"f\",\"calls\":1,\"cost\":{{\"Ir\":{cost}}}{}{}}}\n",
                field("code", all),
                field("code_ran", ran)
            )
        };
        let mut runs = runs(&[&stream(old, 1), &stream(new, 2)]);
        let joined = join(&mut runs, &options());
        let changes = compare(&runs, &joined, CompareOptions::default()).changes;
        compare_row(&runs, &joined, changes[0].row, [0, 1])
    }

    #[test]
    fn code_is_the_same_if_all_code_or_all_code_that_ran_is() {
        use CodeChange::{Constants, Other, Same};
        let (a, b, c) = ("x.1 9 aa ss", "x.1 9 bb ss", "x.1 8 cc tt");
        for (old, new, is) in [
            ([a, c], [a, b], Some(Same)),
            ([a, c], [b, c], Some(Same)),
            ([a, a], [b, c], Some(Constants)),
            ([a, b], [c, a], Some(Constants)),
            ([a, a], [c, c], Some(Other)),
            // Other code ran, and the remaining code is unknown.
            (["", a], ["", c], None),
            (["", a], ["", a], Some(Same)),
            ([a, ""], ["", a], None),
            // Another processor or version, and invalid fingerprints.
            ([a, a], ["x.2 9 aa ss", "x.2 9 aa ss"], None),
            (["x.1", "x.1"], ["x.1", "x.1"], None),
        ] {
            assert_eq!(code_change(old, new), is, "{old:?} {new:?}");
        }
    }

    /// Returns the renamed functions of one file. A function has a name, a fingerprint and the cost of ten calls; with
    /// `has_calls`, `main` calls it.
    fn renamed(
        old: &[(&str, &str, u64)],
        new: &[(&str, &str, u64)],
        has_calls: bool,
    ) -> Vec<String> {
        let stream = |functions: &[(&str, &str, u64)]| -> String {
            let function = |(name, code, cost): &(&str, &str, u64)| {
                let call = format!(
                    "{{\"type\":\"call\",\"fn\":\"main\",\"file\":\"a.c\",\"line\":1,\"callee\":{{\"fn\":\"{name}\",\"file\":\"a.c\"}},\"calls\":10,\"incl\":{{\"Ir\":{cost}}}}}\n"
                );
                let call = if has_calls { call } else { String::new() };
                format!(
                    "{{\"type\":\"fn\",\"fn\":\"{name}\",\"file\":\"a.c\",\"calls\":10,\"cost\":{{\"Ir\":{cost}}},\"code\":\"{code}\"}}\n{call}"
                )
            };
            let main = function(&("main", "x.1 30 ee vv", 300))
                .lines()
                .next()
                .unwrap()
                .to_owned();
            main + "\n" + &functions.iter().map(function).collect::<String>()
        };
        let mut runs = runs(&[&stream(old), &stream(new)]);
        let joined = join(&mut runs, &options());
        let changes = compare(&runs, &joined, CompareOptions::default()).changes;
        let name = |key: cg_profile::Key| runs.names.symbols.text(key.function.name.unwrap());
        let mut renamed: Vec<String> = changes
            .iter()
            .filter(|change| change.status == Status::Renamed)
            .map(|change| {
                let was = crate::compare::first_key(&runs, &joined, change.row).unwrap();
                format!("{} was {}", name(change.shown), name(was))
            })
            .collect();
        renamed.sort();
        renamed
    }

    #[test]
    fn same_code_is_evidence_for_a_rename_and_other_code_against_it() {
        let (a, b, c) = ("x.1 20 aa ss", "x.1 20 bb tt", "x.1 20 cc uu");
        for has_calls in [false, true] {
            // By cost, the pairs would be the other way round.
            assert_eq!(
                renamed(
                    &[("f", a, 1000), ("g", b, 5000)],
                    &[("p", b, 1000), ("q", a, 5000)],
                    has_calls
                ),
                ["p was g", "q was f"]
            );
            let instances = [[("sum<int>", a, 1000)], [("sum<long>", a, 7000)]];
            assert_eq!(renamed(&instances[0], &instances[1], has_calls), [""; 0]);
        }
        // An equal cost per call is evidence, unless the code differs.
        assert_eq!(
            renamed(&[("f", "", 1000)], &[("p", "", 1000)], true),
            ["p was f"]
        );
        assert_eq!(renamed(&[("f", a, 1000)], &[("p", c, 1000)], true), [""; 0]);
    }

    #[test]
    fn short_code_is_no_evidence() {
        assert!(is_same("x.1 8 aa ss", "x.1 8 aa ss"));
        assert!(!is_same("x.1 7 aa ss", "x.1 7 aa ss"));
        assert!(!is_same("x.1 8 aa ss", "x.1 8 bb ss"));
        assert!(is_other("x.1 8 aa ss", "x.1 8 bb tt"));
        assert!(!is_other("x.1 8 aa ss", "x.1 8 bb ss"));
    }
}
