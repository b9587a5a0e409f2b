//! The output formats and their properties: one row per format.

use cg_tool::Output;
use clap::ValueEnum as _;

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
    /// Stacks as text, one per line.
    Folded,
    /// Stacks as speedscope's JSON.
    Speedscope,
    /// Stacks as pprof's protocol buffer.
    Pprof,
    /// Stacks as the Firefox Profiler's JSON.
    Firefox,
    /// Stacks over time as Trace Events, for Perfetto.
    Trace,
    /// Functions and calls in Callgrind's format.
    Callgrind,
    /// A call graph for Graphviz.
    Dot,
}

/// The contents of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contents {
    /// A report for people: short, with a note on the parts that are left out.
    Report,
    /// All values of a report's tables, for programs.
    Values,
    /// The records of the profile.
    Records,
    /// Memory over time.
    Memory,
    /// Only stacks.
    Stacks,
    /// Only stacks, over time.
    TimedStacks,
    /// Functions and the calls between them.
    Calls,
    /// Functions, lines and the calls between them, in Callgrind's terms.
    CallsAndLines,
}

/// The properties of a format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatProperties {
    pub(crate) contents: Contents,
    /// The extensions of output files that choose the format.
    pub(crate) extensions: &'static [&'static str],
    /// The percentage below which branches of a tree are folded by default.
    pub(crate) threshold: f64,
    /// The default number of rows of a listing.
    pub(crate) rows: usize,
}

impl FormatProperties {
    /// Returns the properties of a format that leaves nothing out by default.
    const fn complete(contents: Contents, extensions: &'static [&'static str]) -> FormatProperties {
        FormatProperties {
            contents,
            extensions,
            threshold: 0.0,
            rows: usize::MAX,
        }
    }
}

impl OutputFormat {
    /// Returns the properties of the format. A new format needs a row here.
    pub(crate) fn properties(self) -> FormatProperties {
        use Contents::{
            Calls, CallsAndLines, Memory, Records, Report, Stacks, TimedStacks, Values,
        };
        // `ms_print` has the same threshold.
        let short = |extensions| FormatProperties {
            threshold: 1.0,
            rows: 25,
            ..FormatProperties::complete(Report, extensions)
        };
        let complete = FormatProperties::complete;
        match self {
            OutputFormat::Table => short(&[]),
            OutputFormat::Markdown => short(&[".md", ".markdown"]),
            // Readers can search a page, so it has all rows.
            OutputFormat::Html => FormatProperties {
                threshold: 0.5,
                ..complete(Report, &[".html", ".htm"])
            },
            OutputFormat::Csv => complete(Values, &[".csv"]),
            OutputFormat::Tsv => complete(Values, &[".tsv"]),
            OutputFormat::Json => complete(Records, &[".json", ".jsonl", ".ndjson"]),
            // `.svg` is a flame graph until the input turns out to have memory over time.
            OutputFormat::Svg => complete(Memory, &[]),
            OutputFormat::Flamegraph => complete(Stacks, &[".svg"]),
            OutputFormat::Folded => complete(Stacks, &[".folded", ".collapsed"]),
            OutputFormat::Speedscope => complete(TimedStacks, &[".speedscope.json"]),
            OutputFormat::Pprof => complete(Stacks, &[".pb.gz", ".pprof"]),
            OutputFormat::Firefox => complete(TimedStacks, &[]),
            OutputFormat::Trace => complete(TimedStacks, &[".trace.json"]),
            OutputFormat::Callgrind => complete(CallsAndLines, &[".callgrind"]),
            OutputFormat::Dot => complete(Calls, &[".dot", ".gv"]),
        }
    }

    /// Returns the format for the extension of the output file. The longest extension counts: `.trace.json` also ends in
    /// `.json`.
    pub(crate) fn from_name(output: &Output) -> Option<OutputFormat> {
        let matches = OutputFormat::value_variants().iter().flat_map(|format| {
            let extensions = format.properties().extensions.iter();
            let matching = extensions.filter(|extension| output.ends_in(&[extension]));
            matching.map(|extension| (extension.len(), *format))
        });
        matches
            .max_by_key(|(length, _)| *length)
            .map(|(_, format)| format)
    }

    /// Returns true if people read the output.
    pub(crate) fn is_for_people(self) -> bool {
        self.properties().contents == Contents::Report
    }

    /// Returns true if the format has rows and columns.
    pub(crate) fn has_columns(self) -> bool {
        match self.properties().contents {
            Contents::Report | Contents::Values => true,
            Contents::Records
            | Contents::Memory
            | Contents::Stacks
            | Contents::TimedStacks
            | Contents::Calls
            | Contents::CallsAndLines => false,
        }
    }

    /// Returns true for CSV and TSV.
    pub(crate) fn has_separators(self) -> bool {
        self.properties().contents == Contents::Values
    }

    /// Returns true for a format that has only stacks.
    pub(crate) fn has_only_stacks(self) -> bool {
        match self.properties().contents {
            Contents::Stacks | Contents::TimedStacks => true,
            Contents::Report
            | Contents::Values
            | Contents::Records
            | Contents::Memory
            | Contents::Calls
            | Contents::CallsAndLines => false,
        }
    }

    /// Returns true for a format with a time axis.
    pub(crate) fn has_times(self) -> bool {
        self.properties().contents == Contents::TimedStacks
    }

    /// Returns true for a format of functions and the calls between them.
    pub(crate) fn has_calls(self) -> bool {
        match self.properties().contents {
            Contents::Calls | Contents::CallsAndLines => true,
            Contents::Report
            | Contents::Values
            | Contents::Records
            | Contents::Memory
            | Contents::Stacks
            | Contents::TimedStacks => false,
        }
    }

    /// Returns true for a format of source lines besides functions and calls.
    pub(crate) fn has_lines(self) -> bool {
        self.properties().contents == Contents::CallsAndLines
    }
}
