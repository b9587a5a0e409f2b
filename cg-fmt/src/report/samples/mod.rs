//! Samples as people read them: what the profile looks like as a whole, in a sentence, and the functions that it was in.
//!
//! A function's self cost is that of the stacks in which it is innermost, its inclusive cost that of all stacks it is in,
//! each stack once.

use cg_document::{Block, Document};
use cg_stream::profile::{Profile, Rows};
use cg_stream::record::RecordType;

use super::events::EventColumns;
use super::records::{listed, table_of};
use super::{kinds, origin};
use crate::options::{Options, OutputFormat};

mod pattern;

use pattern::Pattern;

/// The functions of a profile of samples.
pub(crate) struct SampledFunctions<'a> {
    profile: &'a Profile,
    functions: Rows,
    events: EventColumns,
    /// What it looks like; programs are not told.
    pattern: Option<String>,
}

impl<'a> SampledFunctions<'a> {
    /// The report, where stacks are what was read and nothing else of them was asked for.
    pub(crate) fn of(
        profile: &'a Profile,
        options: &Options,
    ) -> anyhow::Result<Option<SampledFunctions<'a>>> {
        if !is_wanted(profile, options) {
            return Ok(None);
        }
        let events = EventColumns::choose(profile, RecordType::Stack, options)?;
        let functions = profile.functions_of_stacks()?;
        let pattern = options.format.is_for_people().then(|| {
            let event = events
                .first()
                .map(|event| (event.index, event.name.as_str()));
            event.map(|(index, name)| Pattern::of(profile, &functions, index).sentence(name))
        });
        Ok(Some(SampledFunctions {
            profile,
            functions,
            events,
            pattern: pattern.flatten(),
        }))
    }

    pub(crate) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let origin = origin::origin(self.profile);
        document.blocks.extend(origin.map(Block::Heading));
        document
            .blocks
            .extend(self.pattern.clone().map(Block::Text));
        let kind = RecordType::Fn;
        let table = table_of(self.profile, &self.functions, kind, &self.events);
        let noun = |count| kinds::noun(kind, count);
        document
            .blocks
            .extend(listed(table, &self.events, Some("self"), noun, options)?);
        Ok(document)
    }
}

/// Whether stacks are what was read, and nothing else of them was asked for than what is told of samples.
pub(crate) fn is_wanted(profile: &Profile, options: &Options) -> bool {
    let is_document = options.format.is_for_people()
        || matches!(options.format, OutputFormat::Csv | OutputFormat::Tsv);
    is_document
        && options.view.is_list()
        && options.kind.is_none()
        && options.group_by.is_none()
        && profile.types().eq([RecordType::Stack])
}
