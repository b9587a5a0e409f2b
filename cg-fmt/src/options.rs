//! The options of cg-fmt, independent of the command line.

use cg_parse::Search;
use cg_profile::formula::Formula;
use cg_sources::Places;
use cg_stream::record::RecordType;
use regex::Regex;

pub(crate) use crate::output_format::OutputFormat;

/// The selection and presentation of the records.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) format: OutputFormat,
    /// True if the user wants any picture (`-o x.svg`): memory over time, or else a flame graph.
    pub(crate) is_any_picture: bool,
    /// True if CSV and TSV are for a spreadsheet.
    pub(crate) excel: bool,
    /// The record type to show; `None` chooses by the contents of the input.
    pub(crate) kind: Option<RecordType>,
    /// The column to sort by; `None` sorts by cost.
    pub(crate) sort: Option<String>,
    /// True if names are sorted in descending order, as counts are.
    pub(crate) is_descending: bool,
    pub(crate) reverse: bool,
    pub(crate) top: Option<Top>,
    /// The columns to show; empty for the default columns of the format.
    pub(crate) columns: Vec<String>,
    pub(crate) events: Events,
    /// Columns of ratios, computed from the sums of their events.
    pub(crate) ratios: Vec<RatioColumn>,
    pub(crate) percent_of: PercentOf,
    /// True if stacks are shown by function.
    pub(crate) by_function: bool,
    pub(crate) group_by: Option<GroupBy>,
    pub(crate) view: View,
    /// True if inlined functions of raw profiles are shown separately.
    pub(crate) inline: bool,
    /// The search paths for objects of raw profiles.
    pub(crate) search: Search,
    /// True if secrets in command lines are replaced.
    pub(crate) redact: bool,
    /// The percentage below which branches of a tree of stacks are folded.
    pub(crate) threshold: Option<f64>,
    /// True if every frame of a stack is shown, also those of libraries.
    pub(crate) all_frames: bool,
    /// True if the two inputs are compared instead of added up.
    pub(crate) is_diff: bool,
    /// True if exports have stable names: the same names for every build of the same source.
    pub(crate) stable_names: bool,
    /// The width of graphs in columns.
    pub(crate) graph_width: usize,
    /// The places whose sources an HTML page may show.
    pub(crate) places: Places,
}

/// The number of rows to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Top {
    All,
    Rows(usize),
}

impl Options {
    /// Returns true if consecutive frames of libraries are folded into one line: only for people, unless they want all
    /// frames.
    pub(crate) fn folds_libraries(&self) -> bool {
        self.format.is_for_people() && !self.all_frames
    }

    /// Returns the percentage below which branches of a tree are folded. Programs get all branches; tables and markdown have
    /// the default of `ms_print`.
    pub(crate) fn threshold(&self) -> f64 {
        let properties = self.format.properties();
        self.threshold.unwrap_or(properties.threshold)
    }

    /// Returns true if an option is set that only a listing supports, so no other report can be shown.
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

    /// Returns true for an HTML page with all views instead of one.
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

    /// Returns true if no option selects, sorts, groups or transforms the records.
    pub(crate) fn shows_all_records(&self) -> bool {
        self.sort.is_none()
            && !self.reverse
            && self.top.is_none()
            && self.columns.is_empty()
            && self.group_by.is_none()
            && !self.by_function
            && matches!(self.view, View::List | View::Snapshot(_))
    }

    /// Returns the number of rows of a listing.
    pub(crate) fn rows(&self) -> usize {
        match self.top {
            Some(Top::All) => usize::MAX,
            Some(Top::Rows(rows)) => rows,
            None => self.format.properties().rows,
        }
    }
}

/// The events whose columns are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Events {
    /// All events for programs. For people, all events if they are few, else the first event and the event to sort by.
    Fitting,
    All,
    Named(Vec<String>),
}

/// A column with a ratio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RatioColumn {
    pub(crate) formula: Formula,
    /// True if `--events` names the ratio, so it is shown like an event.
    pub(crate) is_shown: bool,
}

/// The base of percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PercentOf {
    /// The total of the program.
    Total,
    /// The sum of the records read.
    Shown,
}

/// The criterion for groups of rows.
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
    /// The benchmarks of a diff.
    #[value(alias = "benchmark")]
    Bench,
    /// The origin of the code: own, dependency, std, system, kernel, unknown.
    #[value(alias = "owner")]
    Whose,
}

#[derive(Clone, Debug)]
pub(crate) enum View {
    /// One row per record.
    List,
    /// Functions, or the frames of stacks, with their callers or callees.
    Tree(Directions),
    /// The functions with matching names, with their callers and callees.
    Peek(Regex),
    /// The heap at one Massif snapshot.
    Snapshot(u64),
    /// The heap at the second snapshot compared with the heap at the first.
    Snapshots([u64; 2]),
    /// Source lines with their costs.
    Source {
        /// The places whose sources may be shown.
        places: Places,
        /// The number of lines around each line with a cost.
        context: usize,
    },
}

impl View {
    pub(crate) fn is_list(&self) -> bool {
        matches!(self, View::List)
    }
}

/// The directions of a tree: callers, callees or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Directions {
    pub(crate) callers: bool,
    pub(crate) callees: bool,
}

impl Options {
    /// Corrects the case of event names: people write `ir` for `Ir`.
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

    /// Rejects formats that cannot show trees and annotated sources.
    ///
    /// # Errors
    /// Returns an error if the format is not for people.
    pub(crate) fn ensure_for_people(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.format.is_for_people(),
            "--tree, --peek and --source need a table or markdown (--peek also CSV or TSV); --type call and --type line list their records in other formats"
        );
        Ok(())
    }
}

/// Returns the name of an event's column (`incl.ir`, `IR%`, `ir.delta`) with the event in the spelling of the profile;
/// `None` if the column belongs to no event.
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
