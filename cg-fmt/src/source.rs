//! Source lines with their cost: what `callgrind_annotate --auto=yes` shows, from `line` records.
//!
//! Every file whose lines have a cost is looked for, by the cost in it; of those that are found, each line with a cost
//! is shown with some lines around it. What cannot be shown (files that are not found, lines beyond a file's end, costs
//! without a line) is summed and said, so that all figures add up to the total.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use cg_stream::profile::{Profile, Symbol};
use cg_stream::record::{Count, RecordType};

use crate::document::{Block, Document};
use crate::listing::{self, EventColumns};
use crate::number;
use crate::options::{Options, View};
use crate::render::visible;
use crate::report;
use crate::table::{Audience, Cell, Column, Layout, Table};

/// The longest line of a source that is shown in full; what is longer was made by a program.
const LONGEST_LINE: usize = 1000;

/// Costs by file and line.
struct Files<'a> {
    profile: &'a Profile,
    /// By file, by line, a count an event of the profile.
    costs: BTreeMap<Option<Symbol>, BTreeMap<u64, Vec<Count>>>,
}

/// Annotated files, and the account of where all cost is.
pub(crate) struct Annotated {
    /// Paths and their annotated text.
    files: Vec<(String, String)>,
    origin: Option<String>,
    account: Vec<AccountRow>,
}

/// What became of some cost of a file.
struct AccountRow {
    what: &'static str,
    file: Option<String>,
    cost: Vec<Count>,
}

/// Annotates the files whose lines have a cost.
pub(crate) fn annotate(
    profile: &Profile,
    events: &EventColumns,
    options: &Options,
) -> anyhow::Result<Annotated> {
    let View::Source { directory, context } = &options.view else {
        anyhow::bail!("not asked for sources");
    };
    anyhow::ensure!(
        !profile.table(RecordType::Line).is_empty(),
        "the input has no line records to show sources by; cg-parse --lines writes them"
    );
    let files = Files::of(profile);
    let mut shown = Vec::new();
    let mut account = Account::new(profile);
    let first = events.first().map_or(0, |event| event.index);
    for file in files.by_cost(first) {
        let lines = &files.costs[&file];
        let Some(name) = profile.text(file).filter(|name| *name != "???") else {
            account.add("file unknown", None, lines.values());
            continue;
        };
        if shown.len() >= options.rows() {
            account.add("files not shown", None, lines.values());
            continue;
        }
        let Some((path, source)) = read_source(name, directory.as_deref()) else {
            if account.missing < options.rows() {
                account.missing += 1;
                account.add("file not found", Some(name), lines.values());
            } else {
                account.add("more files not found", None, lines.values());
            }
            continue;
        };
        let length = source.len() as u64;
        let in_file = |line: &u64| (1..=length).contains(line);
        account.add("shown", Some(name), select(lines, in_file));
        account.add("line unknown", Some(name), select(lines, |line| *line == 0));
        account.add(
            "line beyond the end of the file",
            Some(name),
            select(lines, |line| *line > length),
        );
        let annotation = Annotation {
            lines,
            source: &source,
            events,
        };
        shown.push((path.display().to_string(), annotation.text(*context)));
    }
    Ok(Annotated {
        files: shown,
        origin: report::origin(profile),
        account: account.rows,
    })
}

impl Annotated {
    /// The account first, whose rows add up to the total, then the files.
    pub(crate) fn document(&self, events: &EventColumns, options: &Options) -> Document<'_> {
        let mut document = Document::default();
        if let Some(origin) = &self.origin {
            document.push(Block::Heading(origin.clone()));
        }
        document.push(Block::Table(self.table(events)));
        report::push_hidden(&mut document, events, options);
        for (path, text) in &self.files {
            document.push(Block::Heading(path.clone()));
            document.push(Block::Verbatim(text.clone()));
        }
        document
    }

    fn table(&self, events: &EventColumns) -> Table<'_> {
        let mut columns = Vec::new();
        listing::push_events(&mut columns, events, "", move |row| {
            Some(&self.account[row].cost[..])
        });
        columns.push(Column::new("source", Layout::Name, move |row| {
            Cell::Text(self.account[row].what.into())
        }));
        columns.push(Column::new("file", Layout::Path, move |row| {
            Cell::name(self.account[row].file.as_deref())
        }));
        listing::set_totals(&mut columns, events);
        let mut table = Table::new(columns, (0..self.account.len()).collect());
        table.choose_for(Audience::People);
        table
    }
}

impl<'a> Files<'a> {
    fn of(profile: &'a Profile) -> Files<'a> {
        let rows = profile.table(RecordType::Line);
        let mut costs: BTreeMap<Option<Symbol>, BTreeMap<u64, Vec<Count>>> = BTreeMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            let lines = costs.entry(key.function.file).or_default();
            let sums = lines
                .entry(key.line.unwrap_or(0))
                .or_insert_with(|| vec![0; profile.events().len()]);
            for (sum, count) in sums.iter_mut().zip(rows.cost(row)) {
                *sum += count;
            }
        }
        Files { profile, costs }
    }

    /// Files by the cost of their lines, largest first, then by name.
    fn by_cost(&self, event: usize) -> Vec<Option<Symbol>> {
        let mut files: Vec<(Count, Option<Symbol>)> = self
            .costs
            .iter()
            .map(|(file, lines)| {
                let counts = lines.values().filter_map(|costs| costs.get(event));
                (counts.sum(), *file)
            })
            .collect();
        files.sort_by(|(a_cost, a), (b_cost, b)| {
            b_cost
                .cmp(a_cost)
                .then_with(|| self.profile.text(*a).cmp(&self.profile.text(*b)))
        });
        files.into_iter().map(|(_, file)| file).collect()
    }
}

fn select<'l>(
    lines: &'l BTreeMap<u64, Vec<Count>>,
    wanted: impl Fn(&u64) -> bool + 'l,
) -> impl Iterator<Item = &'l Vec<Count>> {
    lines
        .iter()
        .filter(move |(line, _)| wanted(line))
        .map(|(_, costs)| costs)
}

/// Sums of where the costs went.
struct Account {
    events: usize,
    rows: Vec<AccountRow>,
    /// How many files have a row for not being found.
    missing: usize,
}

impl Account {
    fn new(profile: &Profile) -> Account {
        Account {
            events: profile.events().len(),
            rows: Vec::new(),
            missing: 0,
        }
    }

    /// Adds to the row of this name and file; a row of nothing is not begun.
    fn add<'l>(
        &mut self,
        what: &'static str,
        file: Option<&str>,
        costs: impl Iterator<Item = &'l Vec<Count>>,
    ) {
        let mut sums = vec![0; self.events];
        for costs in costs {
            for (sum, count) in sums.iter_mut().zip(costs) {
                *sum += count;
            }
        }
        if sums.iter().all(|sum| *sum == 0) {
            return;
        }
        let known = self
            .rows
            .iter_mut()
            .find(|row| row.what == what && row.file.as_deref() == file);
        match known {
            Some(row) => {
                for (sum, count) in row.cost.iter_mut().zip(sums) {
                    *sum += count;
                }
            }
            None => self.rows.push(AccountRow {
                what,
                file: file.map(str::to_owned),
                cost: sums,
            }),
        }
    }
}

/// The lines of a source: at its own path, in the directory, or in the directory at the end of its path.
fn read_source(name: &str, directory: Option<&Path>) -> Option<(PathBuf, Vec<String>)> {
    let own = Path::new(name);
    let mut candidates = vec![own.to_path_buf()];
    if let Some(directory) = directory {
        let mut rest = own.components();
        while rest.as_path().components().next().is_some() {
            if rest.as_path().is_relative() {
                candidates.push(directory.join(rest.as_path()));
            }
            rest.next();
        }
    }
    candidates.into_iter().find_map(|path| {
        let lines = read_lines(&path)?;
        Some((path, lines))
    })
}

/// The lines of a regular file. Bytes that are not UTF-8 are replaced: this is for reading by eye.
fn read_lines(path: &Path) -> Option<Vec<String>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    BufReader::new(file)
        .split(b'\n')
        .map(|line| {
            let line = line.ok()?;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            Some(String::from_utf8_lossy(line).into_owned())
        })
        .collect()
}

/// One file as it is shown.
struct Annotation<'a> {
    lines: &'a BTreeMap<u64, Vec<Count>>,
    source: &'a [String],
    events: &'a EventColumns,
}

impl Annotation<'_> {
    /// Lines with a cost and `context` lines around each; where lines are left out, a line says where it goes on.
    fn text(&self, context: usize) -> String {
        let shown = self.shown(context as u64);
        let events: Vec<_> = self
            .events
            .events
            .iter()
            .filter(|event| event.audience == Audience::All)
            .collect();
        let figures: Vec<(u64, Vec<String>)> = shown
            .iter()
            .map(|line| {
                let costs = self.lines.get(line);
                let cells = events.iter().map(|event| match costs {
                    Some(costs) => figure(costs[event.index], event.whole),
                    None => format!(".{PERCENT_GAP}"),
                });
                (*line, cells.collect())
            })
            .collect();
        let mut widths: Vec<usize> = events.iter().map(|event| event.name.len()).collect();
        for (_, cells) in &figures {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.len());
            }
        }
        let number_width = self.source.len().to_string().len();
        let mut text = String::new();
        for (event, width) in events.iter().zip(&widths) {
            text.push_str(&format!("{:<width$}  ", event.name));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        let mut before = 0;
        for (line, cells) in figures {
            if line != before + 1 {
                text.push_str(&format!("-- line {line} {}\n", "-".repeat(40)));
            }
            before = line;
            for (cell, width) in cells.iter().zip(&widths) {
                text.push_str(&format!("{cell:>width$}  "));
            }
            let source = &self.source[line as usize - 1];
            let source: String = source.chars().take(LONGEST_LINE).collect();
            let source = visible(&source.replace('\t', "    ")).into_owned();
            text.push_str(format!("{line:>number_width$}  {source}").trim_end());
            text.push('\n');
        }
        text
    }

    /// The numbers of the lines to show.
    fn shown(&self, context: u64) -> Vec<u64> {
        let length = self.source.len() as u64;
        let mut shown: Vec<u64> = Vec::new();
        for line in self
            .lines
            .keys()
            .filter(|line| (1..=length).contains(*line))
        {
            let start = line.saturating_sub(context).max(1);
            let start = start.max(shown.last().map_or(1, |last| last + 1));
            shown.extend(start..=line.saturating_add(context).min(length));
        }
        shown
    }
}

/// As wide as a percentage, so that counts with and without one stand under each other.
const PERCENT_GAP: &str = "         ";

/// A count with its share, as callgrind_annotate prints it.
fn figure(count: Count, whole: Count) -> String {
    let percent = Cell::share(count, whole).percentage();
    match percent.filter(|_| count != 0) {
        Some(percent) => format!(
            "{} {}",
            number::grouped(count),
            number::annotate_percent(percent)
        ),
        None => format!("{}{PERCENT_GAP}", number::grouped(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_at_the_end_of_their_path() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("src")).unwrap();
        std::fs::write(directory.path().join("src/main.c"), "int main() {\r\n}").unwrap();
        for name in ["src/main.c", "/build/xyz/src/main.c"] {
            let (_, lines) = read_source(name, Some(directory.path())).unwrap();
            assert_eq!(lines, ["int main() {", "}"]);
        }
        assert!(read_source("/build/xyz/src/main.c", None).is_none());
        assert!(read_source("/build/src", Some(directory.path())).is_none());
        assert!(read_source("", Some(directory.path())).is_none());
    }
}
