//! Functions as if nothing were inlined: the cost of each function in all places of its code, and the part out of line.

use cg_document::{Block, Cell, Column, Document, Layout, Table, Worth};
use cg_profile::{InlinedFunctions, Profile};
use cg_stream::record::{Count, RecordType};

use super::events::EventColumns;
use super::records::{listed, rows_table};
use super::{kinds, origin};
use crate::options::Options;

/// The functions of a profile in which the names of inlined functions are known.
pub(crate) struct InlinedListing<'a> {
    profile: &'a Profile,
    functions: InlinedFunctions,
    events: EventColumns,
}

impl<'a> InlinedListing<'a> {
    /// Computes the report; `None` unless the profile has chains of inlined functions and the user requested the default
    /// view.
    pub(crate) fn compute(
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

    /// Returns the functions with all columns, sorted by cost.
    pub(crate) fn table(&self) -> Table<'_> {
        let kind = RecordType::Fn;
        let mut table = rows_table(self.profile, &self.functions.rows, kind, &self.events);
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
    options.format.has_columns()
        && options.view.is_list()
        && options.kind.is_none()
        && options.group_by.is_none()
        && !profile.table(RecordType::Inline).is_empty()
}
