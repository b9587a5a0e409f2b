//! Valgrind's suppression files: applied after the fact, and written for what remains.

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

/// What Rust's standard library leaves allocated. Each entry names functions of that library by their paths, so that
/// none matches in a process without it.
const RUST: &str = include_str!("rust.supp");

/// The suppressions of all files that were given, and the default ones.
#[derive(Debug, Default)]
pub(crate) struct Suppressions {
    all: Vec<Suppression>,
    /// How many were given; the default ones come after these.
    given: usize,
}

impl Suppressions {
    /// Reads suppression files, and the default suppressions where they are wanted.
    ///
    /// # Errors
    /// Where one cannot be read, and for what Valgrind would refuse too, with file and line.
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

    /// Those of the files.
    pub(crate) fn given(&self) -> &[Suppression] {
        &self.all[..self.given]
    }

    /// Of the default ones what they are about, and how many findings each matched by these counts of all.
    pub(crate) fn defaults_used(&self, uses: &[u64]) -> BTreeMap<&str, u64> {
        let mut used = BTreeMap::new();
        for (suppression, &uses) in self.all.iter().zip(uses).skip(self.given) {
            if uses > 0 {
                // Entries for one reason differ in what stands in brackets.
                let name = suppression.name.split(" (").next().unwrap_or_default();
                *used.entry(name).or_default() += uses;
            }
        }
        used
    }

    /// The position of the first suppression that matches a finding of this tool.
    pub(crate) fn find(&self, finding: &Finding, tool: Option<&Tool>) -> Option<usize> {
        if self.all.is_empty() {
            return None;
        }
        let target = matching::SuppressionTarget::of(finding, tool)?;
        self.all
            .iter()
            .position(|suppression| matching::matches(suppression, &target))
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<Suppression>> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| name.clone())?;
    // Names of records are text with `\xNN` for what is not UTF-8, and patterns have to compare with them.
    let text = cg_stream::record::Name::from_bytes(&bytes).into_string();
    parse::parse(&text, &name).map_err(|error| anyhow::anyhow!("{name}:{error}"))
}
