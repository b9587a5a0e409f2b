//! Functions as if nothing were inlined: what each costs wherever its code is, and how much of that is its own.

use cg_document::{Block, Cell, Column, Document, Layout, Table, Worth};
use cg_stream::profile::{InlinedFunctions, Profile};
use cg_stream::record::{Count, RecordType};

use super::events::EventColumns;
use super::records::{listed, table_of};
use super::{kinds, origin};
use crate::options::{Options, OutputFormat};

/// The functions of a profile whose inlined code is known by name.
pub(crate) struct InlinedListing<'a> {
    profile: &'a Profile,
    functions: InlinedFunctions,
    events: EventColumns,
}

impl<'a> InlinedListing<'a> {
    /// The report, where the profile has chains of inlined functions and nothing else was asked for.
    pub(crate) fn of(
        profile: &'a Profile,
        options: &Options,
    ) -> anyhow::Result<Option<InlinedListing<'a>>> {
        if !is_wanted(profile, options) {
            return Ok(None);
        }
        Ok(Some(InlinedListing {
            profile,
            functions: profile.by_innermost()?,
            events: EventColumns::choose(profile, RecordType::Inline, options)?,
        }))
    }

    pub(crate) fn events(&self) -> &EventColumns {
        &self.events
    }

    /// The functions with every column that there is, in the order of their cost.
    pub(crate) fn table(&self) -> Table<'_> {
        let kind = RecordType::Fn;
        let mut table = table_of(self.profile, &self.functions.rows, kind, &self.events);
        let names = table
            .columns
            .iter()
            .position(|column| column.layout == Layout::Name);
        let event = self.events.first_index();
        let own = move |row: usize| -> Count {
            self.functions.out_of_line[row]
                .get(event)
                .copied()
                .unwrap_or(0)
        };
        let all = move |row: usize| -> Count { self.functions.rows.count(row, event) };
        let figures = [
            Column::new("out_of_line", Layout::Number, move |row| {
                Cell::Count(own(row))
            })
            .titled("out of line"),
            Column::new("inlined", Layout::Number, move |row| {
                Cell::Count(all(row) - own(row))
            }),
            Column::new("hosts", Layout::Number, move |row| {
                Cell::Count(self.functions.hosts[row])
            }),
        ];
        let at = names.unwrap_or(table.columns.len());
        table
            .columns
            .splice(at..at, figures.map(|column| column.worth(Worth::Figure)));
        table
    }

    pub(crate) fn document(&self, options: &Options) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        let origin = origin::origin(self.profile);
        document.blocks.extend(origin.map(Block::Heading));
        let table = self.table();
        let noun = |count| kinds::noun(RecordType::Fn, count);
        document
            .blocks
            .extend(listed(table, &self.events, Some("self"), noun, options)?);
        Ok(document)
    }
}

fn is_wanted(profile: &Profile, options: &Options) -> bool {
    let is_document = options.format.is_for_people()
        || matches!(options.format, OutputFormat::Csv | OutputFormat::Tsv);
    is_document
        && options.view.is_list()
        && options.kind.is_none()
        && options.group_by.is_none()
        && !profile.table(RecordType::Inline).is_empty()
}
