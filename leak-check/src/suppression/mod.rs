//! Suppression files in Valgrind's format: applies them to findings, and writes them for findings that remain.

mod matching;
mod name_pattern;
mod operators;
mod parse;
mod wildcard;
mod words;
mod write;

pub(crate) use matching::system_call;
pub(crate) use parse::Suppression;
pub(crate) use write::suppressions_for;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cg_stream::record::Tool;

use crate::finding::Finding;

/// Suppressions for the blocks that Rust's standard library never frees. Each entry has full paths of functions in that
/// library, so it never matches in a process without the library.
const RUST: &str = include_str!("rust.supp");

/// The user's suppressions and the default suppressions.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    all: Vec<Suppression>,
    /// The number of the user's suppressions, which precede the default ones.
    given: usize,
}

impl Suppressions {
    /// Reads suppression files, and the default suppressions if `with_defaults` is set.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or, with file and line, if Valgrind would refuse it too.
    pub(crate) fn read(paths: &[PathBuf], with_defaults: bool) -> anyhow::Result<Suppressions> {
        let mut all = Vec::new();
        for path in paths {
            all.extend(read_file(path)?);
        }
        let given = all.len();
        if with_defaults {
            let rust = parse::parse(RUST, "rust.supp");
            all.extend(rust.map_err(|error| anyhow::anyhow!("rust.supp:{error}"))?);
        }
        Ok(Suppressions { all, given })
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the user's suppressions.
    pub(crate) fn given(&self) -> &[Suppression] {
        &self.all[..self.given]
    }

    /// Returns the topics of the default suppressions that matched, with the numbers of findings. `uses` has the number of
    /// findings for each suppression.
    pub(crate) fn defaults_used(&self, uses: &[u64]) -> BTreeMap<&str, u64> {
        let mut used = BTreeMap::new();
        for (suppression, &uses) in self.all.iter().zip(uses).skip(self.given) {
            if uses > 0 {
                // Entries with the same topic differ only in the text in parentheses.
                let name = suppression.name.split(" (").next().unwrap_or_default();
                *used.entry(name).or_default() += uses;
            }
        }
        used
    }

    /// Returns the position of the first suppression that matches a finding of this tool.
    pub(crate) fn find(&self, finding: &Finding, tool: Option<&Tool>) -> Option<usize> {
        if self.all.is_empty() {
            return None;
        }
        let target = matching::SuppressionTarget::new(finding, tool)?;
        self.all
            .iter()
            .position(|suppression| matching::matches(suppression, &target))
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<Suppression>> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| name.clone())?;
    // Names in records have `\xNN` for bytes that are not UTF-8. Convert the patterns too, so the two can be compared.
    let text = cg_stream::record::Name::from_bytes(&bytes).into_string();
    parse::parse(&text, &name).map_err(|error| anyhow::anyhow!("{name}:{error}"))
}
