//! Valgrind's suppression files: applied after the fact, and written for what remains.

mod matching;
mod operators;
mod parse;
mod write;

pub(crate) use matching::system_call;
pub(crate) use parse::Suppression;
pub(crate) use write::suppressions_for;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::finding::Finding;

/// The suppressions of all files that were given.
#[derive(Debug, Default)]
pub(crate) struct Suppressions(Vec<Suppression>);

impl Suppressions {
    /// Reads suppression files.
    ///
    /// # Errors
    /// Where one cannot be read, and for what Valgrind would refuse too, with file and line.
    pub(crate) fn read(paths: &[PathBuf]) -> anyhow::Result<Suppressions> {
        let mut all = Vec::new();
        for path in paths {
            all.extend(read_file(path)?);
        }
        Ok(Suppressions(all))
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Suppression> {
        self.0.iter()
    }

    /// The position of the first suppression that matches a finding of this tool.
    pub(crate) fn find(&self, finding: &Finding, tool: Option<&str>) -> Option<usize> {
        if self.0.is_empty() {
            return None;
        }
        let target = matching::Target::of(finding, tool)?;
        self.0
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
