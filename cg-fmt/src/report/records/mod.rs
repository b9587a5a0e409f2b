//! Records as rows, with one table per record type. Rows are records, or sums over groups.

use cg_document::{Block, Document, Table, number};
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_tool::Diagnostics;

use super::events::EventColumns;
use super::timeline::Timeline;
use super::{arrange, kinds, origin};
use crate::options::{GroupBy, Options};

mod columns;
mod groups;
mod leaks;
mod points;
pub(crate) mod threads;

pub(crate) use columns::{rows_table, table};
pub(crate) use groups::Groups;

/// The records of some types.
pub(crate) struct Listings<'a> {
    profile: &'a Profile,
    kinds: Vec<RecordType>,
    /// The groups of each type, if requested.
    groups: Vec<Groups>,
}

impl<'a> Listings<'a> {
    /// Selects the records of the requested type, or else of the most informative types.
    pub(crate) fn select(profile: &'a Profile, options: &Options) -> anyhow::Result<Listings<'a>> {
        Listings::with_kinds(profile, kinds::listed(profile, options), options)
    }

    /// Selects the records of these types.
    ///
    /// # Errors
    /// Returns an error for groups of calls, because calls have only inclusive cost.
    pub(crate) fn with_kinds(
        profile: &'a Profile,
        kinds: Vec<RecordType>,
        options: &Options,
    ) -> anyhow::Result<Listings<'a>> {
        let mut groups = Vec::new();
        if let Some(by) = options.group_by {
            anyhow::ensure!(
                !kinds.contains(&RecordType::Call),
                "--group-by: call records have no self cost; use --type fn"
            );
            groups.extend(kinds.iter().map(|kind| Groups::sum(profile, *kind, by)));
        }
        Ok(Listings {
            profile,
            kinds,
            groups,
        })
    }

    /// Renders the tables. If there are several types, leaves out those that lack a requested column or event.
    ///
    /// # Errors
    /// Returns an error if no type has the requested columns and events.
    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Document<'_>> {
        let mut document = Document::default();
        if options.group_by == Some(GroupBy::Process) {
            let kinds = self.kinds.iter();
            let lack = kinds.filter_map(|kind| groups::lacks_processes(self.profile, *kind));
            lack.take(1).for_each(|lack| diagnostics.warn(lack));
        }
        let origin = origin::origin(self.profile);
        document.blocks.extend(origin.map(Block::Heading));
        if self.kinds == [RecordType::ProgramPoint] && self.groups.is_empty() {
            let summary = points::summary(self.profile);
            document.blocks.extend(summary.map(Block::Verbatim));
            let timeline = Timeline::new(self.profile).filter(Timeline::is_in_time);
            if let Some(timeline) = timeline.filter(|_| !options.wants_listing()) {
                document.blocks.extend(timeline.overview(options));
            }
        }
        let mut listed = Vec::new();
        let mut refused = None;
        for (position, kind) in self.kinds.iter().enumerate() {
            match self.list(position, options) {
                Ok(blocks) => {
                    document.blocks.extend(blocks);
                    listed.push(*kind);
                }
                Err(error) => refused = Some(refused.unwrap_or(error)),
            }
        }
        match (refused, listed.first()) {
            (Some(error), None) => return Err(error),
            (_, Some(first)) if options.kind.is_none() && !options.format.is_for_people() => {
                let others = self.others(*first);
                if !others.is_empty() {
                    let names: Vec<&str> = others.iter().map(|kind| kind.name()).collect();
                    diagnostics.warn(format!(
                        "only {} records are written; --type selects the other records of the input: {}",
                        first.name(),
                        names.join(", ")
                    ));
                }
            }
            _ => {}
        }
        Ok(document)
    }

    /// Returns the types of the input's records, except one.
    fn others(&self, written: RecordType) -> Vec<RecordType> {
        let mut others: Vec<RecordType> = self
            .profile
            .types()
            .filter(|kind| *kind != written)
            .collect();
        if !self.profile.snapshots().is_empty() && written != RecordType::Snapshot {
            others.push(RecordType::Snapshot);
        }
        others
    }

    /// Returns the table of one type, with notes about it.
    fn list(&self, position: usize, options: &Options) -> anyhow::Result<Vec<Block<'_>>> {
        let kind = self.kinds[position];
        let noun = |count: usize| match self.groups(position) {
            Some(groups) => groups.by.noun(count),
            None => kinds::noun(kind, count),
        };
        let events = EventColumns::choose(self.profile, kind, options)?;
        let table = self.table(position, &events);
        let count = table.rows.len();
        let mut document = Document::default();
        if self.kinds.len() > 1 {
            let number = number::grouped(count as Count);
            document.push(Block::Heading(format!("{number} {}", noun(count))));
        }
        if count == 0 {
            document.push(Block::Text(format!("no {}", kinds::noun(kind, 2))));
        }
        let has_leaks = kind == RecordType::Leak;
        if has_leaks && options.format.is_for_people() {
            if count == 0 {
                // A table without rows and totals has nothing to show.
                return Ok(document.blocks);
            }
            let rows = self.profile.table(kind);
            let noun = |count| kinds::noun(kind, count);
            document
                .blocks
                .extend(leaks::kinds(self.profile, rows, &events, noun));
        }
        // The inclusive costs of calls do not add up, nor do leaks of several kinds, so omitted rows have no share.
        let measure = (kind != RecordType::Call && !has_leaks).then_some("self");
        document
            .blocks
            .extend(listed(table, &events, measure, noun, options)?);
        Ok(document.blocks)
    }

    /// Returns the groups of the type at a position.
    pub(crate) fn groups(&self, position: usize) -> Option<&Groups> {
        self.groups.get(position)
    }

    /// Returns the rows of the type at a position, sorted by cost.
    fn table(&self, position: usize, events: &EventColumns) -> Table<'_> {
        let kind = self.kinds[position];
        match self.groups(position) {
            Some(groups) => groups.table(self.profile, kind, events),
            None => table(self.profile, kind, events),
        }
    }

    /// Returns the rows of the type at a position, sorted and cut.
    pub(crate) fn rows(&self, position: usize, options: &Options) -> anyhow::Result<Vec<usize>> {
        let events = EventColumns::choose(self.profile, self.kinds[position], options)?;
        let mut table = self.table(position, &events);
        arrange::sort(
            &mut table,
            options.sort.as_deref(),
            events.first_name(),
            options,
        )?;
        table.cut(options.rows(), None);
        Ok(table.rows)
    }
}

/// Sorts and cuts a table. Returns it with notes about the parts that are not shown.
pub(crate) fn listed<'a>(
    mut table: Table<'a>,
    events: &EventColumns,
    measure: Option<&str>,
    noun: impl Fn(usize) -> &'static str,
    options: &Options,
) -> anyhow::Result<Vec<Block<'a>>> {
    let first = events.first_name();
    arrange::sort(&mut table, options.sort.as_deref(), first, options)?;
    let cut = arrange::cut(&mut table, options.rows(), measure, first);
    arrange::choose_columns(&mut table, first, options)?;
    let mut blocks = vec![Block::Table(table)];
    if let Some(cut) = cut {
        let share = measure.and_then(|_| arrange::share(&cut, events));
        blocks.push(arrange::left_out(&cut, noun(cut.rows), share));
    }
    blocks.extend(arrange::hidden(&events.hidden(), options));
    Ok(blocks)
}
