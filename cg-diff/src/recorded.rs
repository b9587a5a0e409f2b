//! The data that only some runs record. A run that does not record calls is no evidence that a call is new or gone, and the
//! same is true for lines, inlined functions and inclusive costs.

use std::collections::BTreeSet;

use cg_profile::{Profile, Rows};
use cg_stream::record::RecordType;

use crate::runs::Runs;

/// The record types that split the costs of functions. A profile may lack them although its program has them.
const PARTS_OF_FUNCTIONS: [RecordType; 3] =
    [RecordType::Line, RecordType::Call, RecordType::Inline];

/// The data that some profiles record and others do not.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnevenlyRecorded {
    /// The record types that only some profiles have.
    types: BTreeSet<RecordType>,
    /// The record types whose inclusive costs only some profiles have.
    incl: BTreeSet<RecordType>,
}

impl UnevenlyRecorded {
    /// Compares the contents of all profiles.
    pub(crate) fn find(profiles: &[Profile]) -> UnevenlyRecorded {
        let is_in_some = |kind: &RecordType| {
            let mut profiles = profiles.iter();
            profiles.any(|profile| !profile.table(*kind).is_empty())
        };
        let is_lacking = |kind: &RecordType| {
            let mut profiles = profiles.iter();
            is_in_some(kind) && profiles.any(|profile| lacks(profile, *kind))
        };
        let has_uneven_incl = |kind: &RecordType| {
            let tables = || profiles.iter().map(|profile| profile.table(*kind));
            tables().any(has_incl) && tables().any(|rows| !rows.is_empty() && !has_incl(rows))
        };
        UnevenlyRecorded {
            types: PARTS_OF_FUNCTIONS.into_iter().filter(is_lacking).collect(),
            incl: (PARTS_OF_FUNCTIONS.into_iter())
                .chain([RecordType::Fn])
                .filter(has_uneven_incl)
                .collect(),
        }
    }

    /// Returns true if only some profiles have records of this type.
    pub(crate) fn has_type(&self, kind: RecordType) -> bool {
        self.types.contains(&kind)
    }

    /// Returns true if only some profiles have inclusive costs in records of this type.
    pub(crate) fn has_incl(&self, kind: RecordType) -> bool {
        self.incl.contains(&kind)
    }
}

/// Returns true if a profile has functions but not the records that split their costs.
fn lacks(profile: &Profile, kind: RecordType) -> bool {
    let functions = profile.table(RecordType::Fn);
    if !profile.table(kind).is_empty() || functions.is_empty() {
        return false;
    }
    // Functions without callees have no calls to record.
    let has_callees = |row: usize| functions.incl(row) != Some(functions.cost(row));
    kind != RecordType::Call || (0..functions.len()).any(has_callees)
}

fn has_incl(rows: &Rows) -> bool {
    (0..rows.len()).any(|row| rows.incl(row).is_some())
}

/// Returns a note for all data that only some runs record.
pub(crate) fn note(runs: &Runs) -> Option<String> {
    let lacking = |is_lacking: &dyn Fn(&Profile) -> bool| {
        let mut files = runs.files();
        let file = files.find(|(_, profile)| is_lacking(&runs.profiles[*profile]));
        file.map_or("", |(side, _)| runs.sides[side].0.as_str())
    };
    let mut parts = Vec::new();
    for kind in &runs.uneven.types {
        let (noun, option) = match kind {
            RecordType::Call => ("calls", "--calls"),
            RecordType::Line => ("lines", "--lines"),
            _ => ("inlined functions", "--inline"),
        };
        let side = lacking(&|profile| lacks(profile, *kind));
        parts.push(format!(
            "{noun}, which {side} does not record (cg-parse {option} keeps them)"
        ));
    }
    if runs.uneven.has_incl(RecordType::Fn) {
        let side = lacking(&|profile| {
            let rows = profile.table(RecordType::Fn);
            !rows.is_empty() && !has_incl(rows)
        });
        parts.push(format!("inclusive cost, which {side} does not record"));
    }
    (!parts.is_empty()).then(|| format!("not compared: {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare};
    use crate::join::{JoinOptions, join, tests::options};
    use crate::runs::tests::runs;

    const FUNCTIONS: &str = concat!(
        r#"{"type":"fn","fn":"f","calls":1,"cost":{"Ir":5},"incl":{"Ir":9}}"#,
        "\n",
        r#"{"type":"fn","fn":"g","calls":1,"cost":{"Ir":4},"incl":{"Ir":4}}"#,
        "\n"
    );
    const CALL: &str = concat!(
        r#"{"type":"call","fn":"f","line":1,"callee":{"fn":"g"},"calls":1,"incl":{"Ir":4}}"#,
        "\n"
    );
    const LINE: &str = concat!(r#"{"type":"line","fn":"f","line":1,"cost":{"Ir":5}}"#, "\n");

    #[test]
    fn types_that_one_side_lacks_have_no_rows_and_one_note() {
        let full = [FUNCTIONS, CALL, LINE].concat();
        for (streams, types, noted) in [
            ([&*full, &*full], 3, ""),
            (
                [&*full, FUNCTIONS],
                1,
                "not compared: lines, which b does not record (cg-parse --lines keeps them); calls, which b does not record (cg-parse --calls keeps them)",
            ),
            (
                [FUNCTIONS, &*full],
                1,
                "not compared: lines, which a does not record (cg-parse --lines keeps them); calls, which a does not record (cg-parse --calls keeps them)",
            ),
            ([FUNCTIONS, FUNCTIONS], 1, ""),
        ] {
            let mut runs = runs(&streams);
            let options = JoinOptions {
                types: vec![RecordType::Fn, RecordType::Line, RecordType::Call],
                ..options()
            };
            let joined = join(&mut runs, &options);
            assert_eq!(note(&runs).unwrap_or_default(), noted);
            let comparison = compare(&runs, &joined, CompareOptions::default());
            let kinds = comparison
                .changes
                .iter()
                .map(|change| joined.rows[change.row].kind);
            let kinds: BTreeSet<RecordType> = kinds.collect();
            assert_eq!(kinds.len(), types, "{noted}");
        }
    }

    #[test]
    fn a_program_without_calls_does_not_lack_them() {
        let leaf = r#"{"type":"fn","fn":"g","calls":1,"cost":{"Ir":4},"incl":{"Ir":4}}"#;
        let runs = runs(&[&[FUNCTIONS, CALL].concat(), leaf]);
        assert!(!runs.uneven.has_type(RecordType::Call));
    }

    #[test]
    fn inclusive_cost_of_one_side_is_not_compared() {
        let bare = r#"{"type":"fn","fn":"f","cost":{"Ir":5}}"#;
        for streams in [[FUNCTIONS, bare], [bare, FUNCTIONS]] {
            let mut runs = runs(&streams);
            let joined = join(&mut runs, &options());
            let figures = crate::figures::row_figures(&runs, &joined, 0);
            assert!(figures.incl.is_empty());
            let words = note(&runs).unwrap_or_default();
            assert!(words.contains("inclusive cost, which"), "{words}");
        }
    }
}
