//! The report on samples: a sentence about the profile as a whole, and the functions in the stacks.
//!
//! A function's self cost is the cost of the stacks in which it is innermost. Its inclusive cost is the cost of all stacks
//! that contain it, each stack once.

use cg_document::{Block, Document};
use cg_profile::{Profile, Rows};
use cg_stream::record::RecordType;

use super::events::EventColumns;
use super::records::{listed, rows_table};
use super::{kinds, origin};
use crate::options::Options;

mod pattern;

use pattern::Pattern;

/// The functions of a profile of samples.
pub(crate) struct SampledFunctions<'a> {
    profile: &'a Profile,
    functions: Rows,
    events: EventColumns,
    /// The pattern sentence; omitted from output for programs.
    pattern: Option<String>,
}

impl<'a> SampledFunctions<'a> {
    /// Computes the report; `None` unless the input has only stacks and the user requested the default view.
    pub(crate) fn compute(
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
            event.map(|(index, name)| Pattern::judge(profile, &functions, index).sentence(name))
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
        let table = rows_table(self.profile, &self.functions, kind, &self.events);
        let noun = |count| kinds::noun(kind, count);
        document
            .blocks
            .extend(listed(table, &self.events, Some("self"), noun, options)?);
        Ok(document)
    }
}

/// Returns true if the input has only stacks and the user requested the default view.
pub(crate) fn is_wanted(profile: &Profile, options: &Options) -> bool {
    options.format.has_columns()
        && options.view.is_list()
        && options.kind.is_none()
        && options.group_by.is_none()
        && profile.types().eq([RecordType::Stack])
}
