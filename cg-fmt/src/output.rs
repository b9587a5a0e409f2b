//! The way from a profile to the output: the report, its document, the format.

use std::io::{self, BufWriter, Write};

use cg_document::separated::{self, ValueReader};
use cg_document::text::{self, Screen};
use cg_document::{Document, markdown};
use cg_profile::Profile;
use cg_stream::Completeness;
use cg_tool::Diagnostics;

use crate::export::Export;
use crate::format::{
    callgrind, dot, firefox, flamegraph, folded, html, json, pprof, speedscope, svg, trace,
};
use crate::options::{GroupBy, Options, OutputFormat, PercentOf};
use crate::read::ReadProfile;
use crate::report::{self, Report, diff};

/// Writes the profile in the format and view of the options.
pub(crate) fn write(
    read: &ReadProfile,
    options: &Options,
    screen: Screen,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    if read.framing.completeness() == Completeness::Empty {
        // The error was already reported. An empty table would look like a result.
        return Ok(());
    }
    anyhow::ensure!(
        !options.excel || options.format.has_separators(),
        "--excel is for -f csv and -f tsv"
    );
    let mut options = options.clone();
    if options.is_any_picture && report::has_memory_graph(&read.profile, &options) {
        options.format = OutputFormat::Svg;
    }
    options.spell_events(read.profile.events());
    if read.is_fragment() {
        options.percent_of = PercentOf::Shown;
        if options.format.is_for_people() {
            diagnostics
                .warn("the input has no run record: percentages are of the sum of its records");
        }
    }
    refuse_groups(&read.profile, &options)?;
    let mut export = |write: fn(Export<'_>) -> anyhow::Result<()>| {
        let mut out = BufWriter::with_capacity(64 * 1024, &mut *out);
        write(Export {
            profile: &read.profile,
            options: &options,
            out: &mut out,
            diagnostics,
        })
    };
    let render: fn(&Document, Screen, &mut dyn Write) -> io::Result<()> = match options.format {
        OutputFormat::Table => text::write,
        OutputFormat::Markdown => |document, _, out| markdown::write(document, out),
        OutputFormat::Csv if options.excel => {
            |document, _, out| separated::write_csv(document, ValueReader::Spreadsheet, out)
        }
        OutputFormat::Csv => {
            |document, _, out| separated::write_csv(document, ValueReader::Program, out)
        }
        OutputFormat::Tsv if options.excel => {
            |document, _, out| separated::write_tsv(document, ValueReader::Spreadsheet, out)
        }
        OutputFormat::Tsv => {
            |document, _, out| separated::write_tsv(document, ValueReader::Program, out)
        }
        OutputFormat::Svg => |document, _, out| svg::write(document, out),
        OutputFormat::Html => return html::write(read, &options, out, diagnostics),
        OutputFormat::Json => return json::write(read, &options, out),
        OutputFormat::Folded => return export(folded::write),
        OutputFormat::Speedscope => return export(speedscope::write),
        OutputFormat::Dot => return export(dot::write),
        OutputFormat::Pprof => return export(pprof::write),
        OutputFormat::Firefox => return export(firefox::write),
        OutputFormat::Trace => return export(trace::write),
        OutputFormat::Callgrind => return export(callgrind::write),
        OutputFormat::Flamegraph => return export(flamegraph::write),
    };
    let report = Report::choose(&read.profile, &options)?;
    anyhow::ensure!(
        options.threshold.is_none() || report.has_branches(),
        "--threshold folds the branches of trees and pictures; for a table, cg-filter --threshold P keeps the most expensive functions: cg-filter --threshold P FILE | cg-fmt"
    );
    let mut document = report.document(&options, diagnostics)?;
    if options.format == OutputFormat::Markdown {
        read.insert_loss_sentence(&mut document);
    }
    let mut out = BufWriter::with_capacity(64 * 1024, out);
    render(&document, screen, &mut out)?;
    Ok(out.flush()?)
}

/// Refuses criteria of groups that the input does not have.
fn refuse_groups(profile: &Profile, options: &Options) -> anyhow::Result<()> {
    anyhow::ensure!(
        !diff::is_wanted(profile, options)
            || !matches!(options.group_by, Some(GroupBy::Thread | GroupBy::Process)),
        "--group-by thread and process: a diff has no threads and processes"
    );
    anyhow::ensure!(
        diff::is_wanted(profile, options) || options.group_by != Some(GroupBy::Bench),
        "--group-by bench needs a diff: cg-diff OLD_DIR NEW_DIR compares benchmarks"
    );
    Ok(())
}
