//! Whether functions have the machine code that they had, by what the runs say that it is known by.

use cg_stream::profile::Rows;
use cg_stream::record::{CodeChange, RecordType, Status};

use crate::compare::{Change, Comparison};
use crate::inlining;
use crate::join::Joined;
use crate::runs::Runs;

/// Code of fewer instructions is alike by chance: all functions that return a field are.
const TELLING_INSTRUCTIONS: u64 = 8;

/// What code is known by: `x86-64.1 42 HASH HASH`, see FORMAT.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CodeText<'a> {
    /// The processor and the version of the form.
    form: &'a str,
    instructions: u64,
    exact: &'a str,
    /// Without constants and addresses.
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

/// How one piece of code became another; `None` where they cannot be compared.
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

/// How the machine code of a row changed between two sides; `None` where they do not tell.
///
/// It is the same where all of it is, or all that ran. It is other code only where all of it is known: what ran is another
/// part of the same code with another input.
pub(crate) fn of_row(
    runs: &Runs,
    joined: &Joined,
    row: usize,
    [old, new]: [usize; 2],
) -> Option<CodeChange> {
    if joined.rows[row].of != RecordType::Fn || inlining::has_copies(runs, joined, row) {
        return None;
    }
    let compared = |of: fn(&Rows, usize) -> Option<&str>| {
        change(
            of_side(runs, joined, row, old, of)?,
            of_side(runs, joined, row, new, of)?,
        )
    };
    let (all, ran) = (compared(all_of), compared(ran_of));
    let is = |change| [all, ran].contains(&Some(change));
    match () {
        () if is(CodeChange::Same) => Some(CodeChange::Same),
        () if is(CodeChange::Constants) => Some(CodeChange::Constants),
        () => all,
    }
}

/// What all code of a record's function is known by.
pub(crate) fn all_of(table: &Rows, record: usize) -> Option<&str> {
    table.detail(record)?.code.as_deref()
}

fn ran_of(table: &Rows, record: usize) -> Option<&str> {
    table.detail(record)?.code_ran.as_deref()
}

/// What the records of a side say, where they agree.
fn of_side<'a>(
    runs: &'a Runs,
    joined: &Joined,
    row: usize,
    side: usize,
    of: fn(&Rows, usize) -> Option<&str>,
) -> Option<&'a str> {
    let mut found: Option<&str> = None;
    for profile in runs.files_of(side) {
        let table = runs.profiles[profile].table(RecordType::Fn);
        for record in joined.records(row, profile) {
            let code = of(table, *record as usize)?;
            if found.is_some_and(|found| found != code) {
                return None;
            }
            found = Some(code);
        }
    }
    found
}

/// Whether two functions have the same code, and so much of it that this is no chance.
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    change(a, b) == Some(CodeChange::Same)
        && CodeText::parse(a).is_some_and(|code| code.instructions >= TELLING_INSTRUCTIONS)
}

/// Whether two functions have code that differs by more than constants.
pub(crate) fn is_other(a: &str, b: &str) -> bool {
    change(a, b) == Some(CodeChange::Other)
}

/// Of how many functions that both sides have, and that changed, the code was not compared, where that of any was.
pub(crate) fn note(comparison: &Comparison) -> Option<String> {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let sides = comparison.options.sides(runs);
    let has_prints = |side: usize| {
        runs.files_of(side).any(|profile| {
            let table = runs.profiles[profile].table(RecordType::Fn);
            (0..table.len()).any(|row| ran_of(table, row).is_some())
        })
    };
    if !sides.iter().any(|side| has_prints(*side)) {
        return None;
    }
    let of_both = |change: &&Change| {
        joined.rows[change.row].of == RecordType::Fn
            && matches!(change.status, Status::Changed | Status::Renamed)
    };
    let changed: Vec<&Change> = comparison.changes.iter().filter(of_both).collect();
    let unknown = changed
        .iter()
        .filter(|change| of_row(runs, joined, change.row, sides).is_none())
        .count();
    (unknown > 0).then(|| {
        format!(
            "the machine code of {unknown} of {} changed functions was not compared",
            changed.len()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare};
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// How the code of `f` changed between two runs that say this of it: all of it, and what ran.
    fn told(old: [&str; 2], new: [&str; 2]) -> Option<CodeChange> {
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
        of_row(&runs, &joined, changes[0].row, [0, 1])
    }

    #[test]
    fn code_is_the_same_where_all_of_it_is_or_all_that_ran() {
        use CodeChange::{Constants, Other, Same};
        let (a, b, c) = ("x.1 9 aa ss", "x.1 9 bb ss", "x.1 8 cc tt");
        for (old, new, is) in [
            ([a, c], [a, b], Some(Same)),
            ([a, c], [b, c], Some(Same)),
            ([a, a], [b, c], Some(Constants)),
            ([a, b], [c, a], Some(Constants)),
            ([a, a], [c, c], Some(Other)),
            // Another part of it ran, and of the rest nothing is known.
            (["", a], ["", c], None),
            (["", a], ["", a], Some(Same)),
            ([a, ""], ["", a], None),
            // Of another processor, or by another version of the form; and what no version writes.
            ([a, a], ["x.2 9 aa ss", "x.2 9 aa ss"], None),
            (["x.1", "x.1"], ["x.1", "x.1"], None),
        ] {
            assert_eq!(told(old, new), is, "{old:?} {new:?}");
        }
    }

    /// What became of functions of one file: each with its name, its code, what ten calls of it cost, and whether `main` calls
    /// it in records.
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
        let name =
            |key: cg_stream::profile::Key| runs.names.symbols.text(key.function.name.unwrap());
        let mut told: Vec<String> = changes
            .iter()
            .filter(|change| change.status == Status::Renamed)
            .map(|change| {
                let was = crate::compare::first_key(&runs, &joined, change.row).unwrap();
                format!("{} was {}", name(change.shown), name(was))
            })
            .collect();
        told.sort();
        told
    }

    #[test]
    fn the_same_code_is_evidence_of_a_rename_and_other_code_against_one() {
        let (a, b, c) = ("x.1 20 aa ss", "x.1 20 bb tt", "x.1 20 cc uu");
        for has_calls in [false, true] {
            // What they cost would pair them the other way round.
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
        // A call that costs the same to the unit is evidence of its own, but not of what has other code.
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
