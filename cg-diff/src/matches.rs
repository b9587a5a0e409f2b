//! The list of rows that were matched despite different names, as tab-separated values.

use std::io::{self, Write};

use cg_names::rules::Rules;
use cg_profile::{FunctionKey, Key};
use cg_stream::visible::visible;

use crate::compare::{Comparison, place};
use crate::join::Certainty;
use crate::key;

const HEADER: &str =
    "matched by\told function\told file\told object\tnew function\tnew file\tnew object";

/// A line for each matched pair.
#[derive(Default)]
pub(crate) struct MatchList(Vec<String>);

impl MatchList {
    /// Lists the rows of a comparison whose names differ, and those that combine several functions of one run.
    pub(crate) fn new(comparison: &Comparison, rules: &Rules) -> MatchList {
        let mut lines = Vec::new();
        for change in &comparison.changes {
            let row = &comparison.joined.rows[change.row];
            let [old, new] = comparison.options.sides(comparison.runs);
            let [old, new] = [old, new].map(|side| functions(comparison, change.row, side));
            let is_guess = row.certainty > Certainty::Certain;
            if row.matched.is_empty() && !is_guess && old.len().max(new.len()) < 2 {
                continue;
            }
            let mut words: Vec<&str> = rules.names(row.matched).collect();
            if is_guess {
                words.push("guess");
            }
            let words = words.join(", ");
            for pair in 0..old.len().max(new.len()) {
                let cells = [&old, &new].map(|side| cells(comparison, side.get(pair)));
                lines.push(format!("{words}\t{}\t{}", cells[0], cells[1]));
            }
        }
        MatchList(lines)
    }

    pub(crate) fn extend(&mut self, other: MatchList) {
        self.0.extend(other.0);
    }

    pub(crate) fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "{HEADER}")?;
        for line in &self.0 {
            writeln!(output, "{line}")?;
        }
        Ok(())
    }
}

/// Returns the distinct functions of a row on a side.
fn functions(comparison: &Comparison, row: usize, side: usize) -> Vec<FunctionKey> {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let mut functions: Vec<FunctionKey> = Vec::new();
    for profile in runs.files_of(side) {
        let table = runs.profiles[profile].table(joined.rows[row].kind);
        for record in joined.records(row, profile) {
            let key: Key = key::exact(&table.key(*record as usize));
            if !functions.contains(&key.function) {
                functions.push(key.function);
            }
        }
    }
    functions
}

fn cells(comparison: &Comparison, function: Option<&FunctionKey>) -> String {
    let names = function.map_or([None; 3], |function| place(comparison.runs, *function));
    names
        .map(|name| visible(name.unwrap_or_default()))
        .join("\t")
}
