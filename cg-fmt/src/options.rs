//! What cg-fmt was asked for, in its own terms.

use cg_parse::Search;
use cg_sources::Places;
use cg_stream::derived::Formula;
use cg_stream::record::RecordType;
use cg_stream::tool::Output;
use regex::Regex;

/// How the records are shown.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) format: OutputFormat,
    /// The format is a flame graph for no other reason than that a picture is wanted: memory over time is one too.
    pub(crate) is_any_picture: bool,
    /// CSV and TSV are for a spreadsheet.
    pub(crate) excel: bool,
    /// The record type to show; `None` takes the one that tells most.
    pub(crate) kind: Option<RecordType>,
    /// The column to sort by; `None` sorts by cost.
    pub(crate) sort: Option<String>,
    /// Names are sorted from the largest down too, as counts are.
    pub(crate) is_descending: bool,
    pub(crate) reverse: bool,
    pub(crate) top: Option<Top>,
    /// The columns to show; empty for those the format shows by itself.
    pub(crate) columns: Vec<String>,
    pub(crate) events: Events,
    /// Columns of ratios, which are computed from the sums of their events.
    pub(crate) ratios: Vec<RatioColumn>,
    pub(crate) percent_of: PercentOf,
    /// Show stacks as the functions in them.
    pub(crate) by_function: bool,
    pub(crate) group_by: Option<GroupBy>,
    pub(crate) view: View,
    /// Whether inlined functions of raw profiles are wanted.
    pub(crate) inline: bool,
    /// Where objects of raw profiles are looked for.
    pub(crate) search: Search,
    /// Branches of a tree of stacks below this percentage are folded; 1 for people, as `ms_print` has it.
    pub(crate) threshold: Option<f64>,
    /// Show every frame of a stack, of libraries too.
    pub(crate) all_frames: bool,
    /// The two inputs are compared, not added up.
    pub(crate) is_diff: bool,
    /// Write stable names in exports: the same names for every build of the same source.
    pub(crate) stable_names: bool,
    /// The width of graphs in columns.
    pub(crate) graph_width: usize,
    /// Where the sources that an HTML page shows may be.
    pub(crate) places: Places,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    Table,
    Csv,
    Tsv,
    #[value(alias = "md")]
    Markdown,
    /// A page for a browser.
    Html,
    #[value(alias = "jsonl")]
    Json,
    /// A picture of memory over time.
    Svg,
    /// A picture of stacks.
    Flamegraph,
    /// Stacks as lines of text.
    Folded,
    /// Stacks as speedscope's JSON.
    Speedscope,
    /// Stacks as pprof's protocol buffer.
    Pprof,
    /// Stacks as the Firefox Profiler's JSON.
    Firefox,
    /// Stacks over time as Trace Events, for Perfetto.
    Trace,
    /// Functions and calls as Callgrind writes them.
    Callgrind,
    /// A graph of calls for Graphviz.
    Dot,
}

impl OutputFormat {
    /// The format that the name of the output asks for.
    pub(crate) fn of_name(output: &Output) -> Option<OutputFormat> {
        // The first that fits: `.speedscope.json` is a `.json` too.
        let known: [(OutputFormat, &[&str]); 12] = [
            (OutputFormat::Html, &[".html", ".htm"]),
            (OutputFormat::Flamegraph, &[".svg"]),
            (OutputFormat::Csv, &[".csv"]),
            (OutputFormat::Tsv, &[".tsv"]),
            (OutputFormat::Markdown, &[".md", ".markdown"]),
            (OutputFormat::Speedscope, &[".speedscope.json"]),
            (OutputFormat::Trace, &[".trace.json"]),
            (OutputFormat::Json, &[".json", ".jsonl", ".ndjson"]),
            (OutputFormat::Folded, &[".folded", ".collapsed"]),
            (OutputFormat::Pprof, &[".pb.gz", ".pprof"]),
            (OutputFormat::Dot, &[".dot", ".gv"]),
            (OutputFormat::Callgrind, &[".callgrind"]),
        ];
        let (format, _) = known
            .into_iter()
            .find(|(_, endings)| output.ends_in(endings))?;
        Some(format)
    }

    /// True where the output is read by eye: it is short, and says what it left out.
    pub(crate) fn is_for_people(self) -> bool {
        matches!(
            self,
            OutputFormat::Table | OutputFormat::Markdown | OutputFormat::Html
        )
    }

    /// True where rows and columns are written.
    pub(crate) fn has_columns(self) -> bool {
        self.is_for_people() || matches!(self, OutputFormat::Csv | OutputFormat::Tsv)
    }

    /// True for a format of stacks and nothing else.
    pub(crate) fn is_of_stacks(self) -> bool {
        matches!(
            self,
            OutputFormat::Flamegraph
                | OutputFormat::Folded
                | OutputFormat::Speedscope
                | OutputFormat::Pprof
                | OutputFormat::Firefox
                | OutputFormat::Trace
        )
    }

    /// True for a format that has a time axis.
    pub(crate) fn is_of_times(self) -> bool {
        matches!(self, OutputFormat::Firefox | OutputFormat::Trace)
    }

    /// True for a format of functions and the calls between them.
    pub(crate) fn is_of_calls(self) -> bool {
        matches!(self, OutputFormat::Callgrind | OutputFormat::Dot)
    }
}

/// How many rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    All,
    Rows(usize),
}

impl Options {
    /// Whether frames in a row that are not the program's own are shown as one: for people, unless they want all.
    pub(crate) fn folds_libraries(&self) -> bool {
        self.format.is_for_people() && !self.all_frames
    }

    /// The percentage below which branches of a tree are folded: programs get all.
    pub(crate) fn threshold(&self) -> f64 {
        let by_itself = match self.format {
            // What is small is folded away.
            OutputFormat::Html => 0.5,
            format if format.is_for_people() => 1.0,
            _ => 0.0,
        };
        self.threshold.unwrap_or(by_itself)
    }

    /// True if an option was given that only a listing supports, so that no other report can be shown.
    pub(crate) fn wants_listing(&self) -> bool {
        !self.format.is_for_people()
            || self.sort.is_some()
            || self.reverse
            || self.top.is_some()
            || !self.columns.is_empty()
            || self.events != Events::Fitting
            || self.group_by.is_some()
            || self.by_function
    }

    /// True where a page is wanted that shows all there is to see, and not one view.
    pub(crate) fn is_full_page(&self) -> bool {
        self.format == OutputFormat::Html
            && self.kind.is_none()
            && self.group_by.is_none()
            && !self.by_function
            && self.sort.is_none()
            && !self.reverse
            && self.top.is_none()
            && self.columns.is_empty()
            && matches!(self.view, View::List | View::Source { .. })
    }

    /// True if no option selects, sorts, groups or transforms the records.
    pub(crate) fn is_of_all_records(&self) -> bool {
        self.sort.is_none()
            && !self.reverse
            && self.top.is_none()
            && self.columns.is_empty()
            && self.group_by.is_none()
            && !self.by_function
            && matches!(self.view, View::List | View::Snapshot(_))
    }

    /// How many rows a listing shows: people get few, programs and pages, which can be searched, all.
    pub(crate) fn rows(&self) -> usize {
        const FOR_PEOPLE: usize = 25;
        match self.top {
            Some(Top::All) => usize::MAX,
            Some(Top::Rows(rows)) => rows,
            None if self.format == OutputFormat::Html => usize::MAX,
            None if self.format.is_for_people() => FOR_PEOPLE,
            None => usize::MAX,
        }
    }
}

/// Whose columns are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    /// All events to programs; to people all where they are few, else the first and the one sorted by.
    Fitting,
    All,
    Named(Vec<String>),
}

/// A column of a ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RatioColumn {
    pub(crate) formula: Formula,
    /// It was asked for as an event, so it is shown beside the others.
    pub(crate) is_shown: bool,
}

/// What 100 % is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PercentOf {
    /// The total of the program.
    Total,
    /// The sum of what was read.
    Shown,
}

/// What rows are summed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum GroupBy {
    File,
    #[value(name = "obj", alias = "object")]
    Object,
    Crate,
    #[value(alias = "namespace")]
    Module,
    #[value(name = "fn", alias = "function")]
    Function,
    Thread,
    Process,
    /// By whose code it is: own, dependency, std, system, kernel.
    #[value(alias = "owner")]
    Whose,
}

#[derive(Clone, Debug)]
pub(crate) enum View {
    /// A row a record.
    List,
    /// Functions, or the frames of stacks, with what is around them.
    Tree(Directions),
    /// The functions whose names match, with what is around them.
    Peek(Regex),
    /// What the heap held at one Massif snapshot.
    Snapshot(u64),
    /// What it held at the second against what it held at the first.
    Snapshots([u64; 2]),
    /// Source lines with their costs.
    Source {
        /// Where sources are looked for and may be shown from.
        places: Places,
        /// How many lines are shown around one with a cost.
        context: usize,
    },
}

impl View {
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, View::List)
    }
}

/// What a tree shows of a function: its callers, its callees or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Directions {
    pub(crate) callers: bool,
    pub(crate) callees: bool,
}

impl Options {
    /// Spells events as the profile does: people write `ir` for `Ir`.
    pub(crate) fn spell_events(&mut self, events: &[String]) {
        let spell = |name: &mut String| {
            if let Some(spelled) = spelled(name, events) {
                *name = spelled;
            }
        };
        self.sort.iter_mut().for_each(spell);
        self.columns.iter_mut().for_each(spell);
        if let Events::Named(names) = &mut self.events {
            names.iter_mut().for_each(spell);
        }
    }

    /// Refuses formats that cannot show trees and annotated sources.
    ///
    /// # Errors
    /// Where the format is not for people.
    pub(crate) fn ensure_for_people(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.format.is_for_people(),
            "--tree, --peek and --source are for tables and markdown, and --peek for CSV and TSV; --type call and --type line list the records they are made of"
        );
        Ok(())
    }
}

/// The name of an event's column (`incl.ir`, `IR%`, `ir.delta`) with the event as the profile spells it; `None` where it is
/// no event's.
fn spelled(name: &str, events: &[String]) -> Option<String> {
    const INCLUSIVE: &str = "incl.";
    let is_inclusive = name
        .get(..INCLUSIVE.len())
        .is_some_and(|prefix| prefix.eq_ignore_ascii_case(INCLUSIVE));
    let (prefix, rest) = if is_inclusive {
        (INCLUSIVE, &name[INCLUSIVE.len()..])
    } else {
        ("", name)
    };
    let end = rest.find(['.', '%']).unwrap_or(rest.len());
    let (event, suffix) = rest.split_at(end);
    let event = events.iter().find(|known| *known == event).or_else(|| {
        events
            .iter()
            .find(|known| known.eq_ignore_ascii_case(event))
    })?;
    Some(format!("{prefix}{event}{}", suffix.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_spelled_as_the_profile_does() {
        let events = ["Ir", "Dr", "dr", "total_bytes"].map(str::to_owned);
        for (name, expected) in [
            ("ir", Some("Ir")),
            ("INCL.IR", Some("incl.Ir")),
            ("ir.DELTA%", Some("Ir.delta%")),
            ("dr", Some("dr")),
            ("DR", Some("Dr")),
            ("Total_Bytes%", Some("total_bytes%")),
            ("incl", None),
            ("fn", None),
            ("irr", None),
        ] {
            assert_eq!(spelled(name, &events).as_deref(), expected, "{name}");
        }
    }
}
