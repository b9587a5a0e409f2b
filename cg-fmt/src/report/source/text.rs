//! One file as it is shown: costs, line numbers, source, below a line the calls that leave from it, and above lines the
//! function whose code they are.

use cg_document::{Audience, Cell, NAMELESS, number};
use cg_sources::SourceText;
use cg_stream::profile::Profile;
use cg_stream::record::Count;

use super::costs::{FileLines, LineCall};
use super::passages::Passage;
use crate::report::events::{EventColumn, EventColumns};

/// The longest line of a source that is shown in full; what is longer was made by a program.
const LONGEST_LINE: usize = 1000;

/// As wide as a percentage, so that counts with and without one stand under each other.
const PERCENT_GAP: &str = "         ";

/// One file with its costs.
pub(super) struct Annotation<'a> {
    pub(super) profile: &'a Profile,
    pub(super) lines: &'a FileLines<'a>,
    pub(super) source: &'a SourceText,
    pub(super) events: &'a EventColumns,
}

/// A line of the annotated text.
struct AnnotatedLine {
    /// The line of the source that it is, or that it belongs to.
    line: u64,
    figures: Vec<String>,
    text: String,
}

impl Annotation<'_> {
    /// The lines that were read of the source; where lines are left out, a line says where it goes on.
    pub(super) fn text(&self) -> Vec<String> {
        let events: Vec<&EventColumn> = self
            .events
            .events
            .iter()
            .filter(|event| event.audience == Audience::All)
            .collect();
        let mut shown = Vec::new();
        let last = self.source.lines().keys().next_back().copied();
        let width = last.unwrap_or(0).to_string().len();
        let passages = Passage::of(self.lines, |line| self.source.has(line));
        for (line, source) in self.source.lines() {
            if let Some(passage) = passages.get(line) {
                let heading = passage.heading(self.profile, self.events.first_index());
                shown.push(AnnotatedLine {
                    line: *line,
                    figures: figures(&events, Some(&passage.cost())),
                    text: format!("{:>width$}  -- {heading}", ""),
                });
            }
            self.push_line(&mut shown, *line, source, width, &events);
        }
        let mut widths: Vec<usize> = events.iter().map(|event| event.name.len()).collect();
        for line in &shown {
            for (width, figure) in widths.iter_mut().zip(&line.figures) {
                *width = (*width).max(figure.len());
            }
        }
        let head = events.iter().zip(&widths);
        let head: String = head
            .map(|(event, width)| format!("{:<width$}  ", event.name))
            .collect();
        let mut text = vec![head.trim_end().to_owned()];
        let mut before = 0;
        for AnnotatedLine {
            line,
            figures,
            text: source,
        } in &shown
        {
            if *line > before + 1 {
                text.push(format!("-- line {line} {}", "-".repeat(40)));
            }
            before = *line;
            let mut row = String::new();
            for (figure, width) in figures.iter().zip(&widths) {
                row.push_str(&format!("{figure:>width$}  "));
            }
            row.push_str(source);
            row.truncate(row.trim_end().len());
            text.push(row);
        }
        text
    }

    /// Adds a line and the calls that leave from it.
    fn push_line(
        &self,
        shown: &mut Vec<AnnotatedLine>,
        line: u64,
        source: &str,
        width: usize,
        events: &[&EventColumn],
    ) {
        let costs = self.lines.get(&line);
        let source: String = source.chars().take(LONGEST_LINE).collect();
        let source = source.replace('\t', "    ");
        shown.push(AnnotatedLine {
            line,
            figures: figures(events, costs.map(|line| &line.cost[..])),
            text: format!("{line:>width$}  {source}"),
        });
        for call in costs.iter().flat_map(|line| &line.calls) {
            shown.push(AnnotatedLine {
                line,
                figures: figures(events, Some(&call.incl)),
                text: format!("{:>width$}  => {}", "", self.callee(call)),
            });
        }
    }

    /// `file:function (12x)`, as callgrind_annotate names a callee.
    fn callee(&self, call: &LineCall) -> String {
        let name = self.profile.text(call.callee.name).unwrap_or(NAMELESS);
        let file = self.profile.text(call.callee.file).unwrap_or("???");
        let calls = number::grouped(call.calls);
        format!("{file}:{name} ({calls}x)")
    }
}

/// Counts with their shares as callgrind_annotate prints them; a point where a line has no cost.
fn figures(events: &[&EventColumn], costs: Option<&[Count]>) -> Vec<String> {
    let figure = |event: &&EventColumn| {
        let Some(costs) = costs else {
            return format!(".{PERCENT_GAP}");
        };
        let count = costs.get(event.index).copied().unwrap_or(0);
        let percent = Cell::share(count, event.whole).percentage();
        match percent.filter(|_| count != 0) {
            Some(percent) => format!(
                "{} {}",
                number::grouped(count),
                number::annotate_percent(percent)
            ),
            None => format!("{}{PERCENT_GAP}", number::grouped(count)),
        }
    };
    events.iter().map(figure).collect()
}
