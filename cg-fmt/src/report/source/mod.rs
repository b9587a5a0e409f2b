//! Source lines with their cost, as in `callgrind_annotate --auto=yes`. The costs come from `line` records, and the calls
//! from `call` records.
//!
//! The report searches every file whose lines have a cost in the directories of sources ([`Places`]). The program's own
//! files precede the files of libraries, and then files are in the order of their cost. In each file, the report shows every
//! line with a cost and some lines around it. If the profile has names of inlined functions, headings name the function that
//! owns the code. Costs that cannot be shown (missing files, lines beyond the end of a file, costs without a line) have rows
//! of their own in the first table, so all figures add up to the total.

use cg_document::{Audience, Block, Cell, Column, Document, Layout, Table, number};
use cg_profile::Profile;
use cg_sources::{FoundSource, Places, around};
use cg_stream::Diagnostics;
use cg_stream::record::{Count, RecordType, add_counts_growing};

use super::columns::{push_events, set_totals};
use super::events::EventColumns;
use super::{arrange, lack, origin};
use crate::options::Options;
use costs::{FileLines, Files};
use text::Annotation;

mod costs;
mod lines;
mod passages;
mod text;

pub(crate) use lines::source_lines;

/// Annotated files, and a table that accounts for all cost.
pub(crate) struct AnnotatedSource {
    origin: Option<String>,
    events: EventColumns,
    account: Vec<AccountRow>,
    /// Paths with their annotated lines.
    files: Vec<(String, Vec<String>)>,
    /// Files with a cost that exist but may not be shown, each with the reason.
    refused: Vec<(String, &'static str)>,
    /// Files with a cost that were not found, in the order of the search.
    missing: Vec<String>,
}

/// A row of the first table: some cost, and the reason why it is shown or not.
struct AccountRow {
    outcome: &'static str,
    file: Option<String>,
    cost: Vec<Count>,
}

impl AnnotatedSource {
    /// Annotates the files whose lines have a cost. Shows `context` lines before and after each of these lines.
    ///
    /// # Errors
    /// Returns an error if the output is not for people, an event is unknown, or there are no `line` records.
    pub(crate) fn compute(
        profile: &Profile,
        places: &Places,
        context: usize,
        options: &Options,
    ) -> anyhow::Result<AnnotatedSource> {
        options.ensure_for_people()?;
        let events = EventColumns::choose(profile, RecordType::Line, options)?;
        anyhow::ensure!(
            !profile.table(RecordType::Line).is_empty(),
            "the input has no line records for annotated sources{}",
            lack::remedy(profile, "--lines", options)
                .map(|command| format!("; use: {command}"))
                .unwrap_or_default()
        );
        let files = Files::collect(profile);
        let mut shown = Vec::new();
        let mut account = Account::new(profile);
        let mut search = SourceSearch::new(profile, places, events);
        for file in files.own_first(search.events.first_index()) {
            let Some(lines) = files.lines(file) else {
                continue;
            };
            let Some(name) = profile.text(file).filter(|name| *name != "???") else {
                account.add("file unknown", None, select(lines, |_| true));
                continue;
            };
            if shown.len() >= options.rows() {
                account.add("files not shown", None, select(lines, |_| true));
                continue;
            }
            if let Some(annotated) = search.annotate(name, lines, context, &mut account) {
                shown.push(annotated);
            }
        }
        Ok(search.finish(account, shown))
    }

    /// Returns a document with the table whose rows add up to the total, then the annotated files.
    pub(crate) fn document(
        &self,
        options: &Options,
        diagnostics: &mut Diagnostics,
    ) -> Document<'_> {
        if let Some((path, reason)) = self.refused.first() {
            diagnostics.warn(format!(
                "{} of the sources {} not shown; --source-root DIR allows a directory: {path} ({reason}){}",
                self.refused.len(),
                if self.refused.len() == 1 { "is" } else { "are" },
                if self.refused.len() == 1 { "" } else { ", …" },
            ));
        }
        let mut document = Document::default();
        document
            .blocks
            .extend(self.origin.clone().map(Block::Heading));
        document.push(Block::Table(self.table()));
        document
            .blocks
            .extend(arrange::hidden(&self.events.hidden(), options));
        for (path, lines) in &self.files {
            document.push(Block::Heading(path.clone()));
            document.push(Block::Verbatim(lines.clone()));
        }
        document
            .blocks
            .extend(self.missing_files_note().map(Block::Note));
        document
    }

    /// Returns one line about the files that were not found; `None` if all were found.
    fn missing_files_note(&self) -> Option<String> {
        /// The maximum number of names in the line.
        const MOST_NAMED: usize = 5;
        if self.missing.is_empty() {
            return None;
        }
        let named = self.missing.iter().take(MOST_NAMED).map(String::as_str);
        let named = named.collect::<Vec<_>>().join(", ");
        let and_more = match self.missing.len() > MOST_NAMED {
            true => ", …",
            false => "",
        };
        let files = number::plural(self.missing.len() as Count, "file", "files");
        Some(format!(
            "{files} not found: {named}{and_more} (--source-root DIR searches DIR)"
        ))
    }

    fn table(&self) -> Table<'_> {
        let mut columns = Vec::new();
        push_events(&mut columns, &self.events, "", move |row| {
            Some(&self.account[row].cost[..])
        });
        columns.push(Column::new("source", Layout::Name, move |row| {
            Cell::Text(self.account[row].outcome.into())
        }));
        columns.push(Column::new("file", Layout::Path, move |row| {
            Cell::name(self.account[row].file.as_deref())
        }));
        set_totals(&mut columns, &self.events);
        let mut table = Table::new(columns, (0..self.account.len()).collect());
        table.choose_for(Audience::People);
        table
    }
}

/// The search for source files, with the files that cannot be shown.
struct SourceSearch<'a> {
    profile: &'a Profile,
    places: &'a Places,
    events: EventColumns,
    /// The same as in [`AnnotatedSource`].
    refused: Vec<(String, &'static str)>,
    /// The same as in [`AnnotatedSource`].
    missing: Vec<String>,
}

impl<'a> SourceSearch<'a> {
    fn new(profile: &'a Profile, places: &'a Places, events: EventColumns) -> SourceSearch<'a> {
        SourceSearch {
            profile,
            places,
            events,
            refused: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Returns the report with the annotated files.
    fn finish(self, account: Account, files: Vec<(String, Vec<String>)>) -> AnnotatedSource {
        AnnotatedSource {
            origin: origin::origin(self.profile),
            events: self.events,
            account: account.rows,
            files,
            refused: self.refused,
            missing: self.missing,
        }
    }

    /// Returns the path and the annotated lines of a file; `None` if it cannot be shown. Adds the cost to the account.
    fn annotate(
        &mut self,
        name: &str,
        lines: &FileLines<'_>,
        context: usize,
        account: &mut Account,
    ) -> Option<(String, Vec<String>)> {
        let costs = lines.values().map(|line| &line.cost[..]);
        let has_cost = self.events.has_shown(costs);
        let wanted = around(lines.keys().copied(), context as u64);
        let (path, source) = match self.places.find(name, &wanted) {
            FoundSource::Shown(path, source) => (path, source),
            FoundSource::Refused(path, reason) => {
                let refused = (path.display().to_string(), reason);
                if has_cost && !self.refused.contains(&refused) {
                    self.refused.push(refused);
                }
                account.add("file refused", Some(name), select(lines, |_| true));
                return None;
            }
            FoundSource::Nowhere => {
                if has_cost && !self.missing.iter().any(|missing| missing == name) {
                    self.missing.push(name.to_owned());
                }
                account.add("files not found", None, select(lines, |_| true));
                return None;
            }
        };
        let in_file = |line: u64| source.has(line);
        account.add("shown", Some(name), select(lines, in_file));
        account.add("line unknown", Some(name), select(lines, |line| line == 0));
        account.add(
            "line beyond the end of the file",
            Some(name),
            select(lines, |line| line != 0 && !source.has(line)),
        );
        let annotation = Annotation {
            profile: self.profile,
            lines,
            source: &source,
            events: &self.events,
        };
        Some((path.display().to_string(), annotation.text()))
    }
}

/// Returns the costs of the wanted lines.
fn select<'l>(
    lines: &'l FileLines<'_>,
    is_wanted: impl Fn(u64) -> bool + 'l,
) -> impl Iterator<Item = &'l [Count]> {
    lines
        .iter()
        .filter(move |(line, _)| is_wanted(**line))
        .map(|(_, line)| &line.cost[..])
}

/// Sums of costs by outcome and file.
struct Account {
    events: usize,
    rows: Vec<AccountRow>,
}

impl Account {
    fn new(profile: &Profile) -> Account {
        Account {
            events: profile.events().len(),
            rows: Vec::new(),
        }
    }

    /// Adds costs to the row of an outcome and a file. Costs of 0 do not create a row.
    fn add<'l>(
        &mut self,
        outcome: &'static str,
        file: Option<&str>,
        cost: impl Iterator<Item = &'l [Count]>,
    ) {
        let mut sums = vec![0; self.events];
        for cost in cost {
            add_counts_growing(&mut sums, cost);
        }
        if sums.iter().all(|sum| *sum == 0) {
            return;
        }
        let known = self
            .rows
            .iter_mut()
            .find(|row| row.outcome == outcome && row.file.as_deref() == file);
        match known {
            Some(row) => add_counts_growing(&mut row.cost, &sums),
            None => self.rows.push(AccountRow {
                outcome,
                file: file.map(str::to_owned),
                cost: sums,
            }),
        }
    }
}
