//! The annotated text of one file: costs, line numbers, source lines, the calls below their lines, and headings with the
//! functions that own the code.

use cg_document::{Audience, Cell, NAMELESS, number};
use cg_profile::Profile;
use cg_sources::SourceText;
use cg_stream::record::Count;

use super::costs::{FileLines, LineCall};
use super::passages::Passage;
use crate::report::events::{EventColumn, EventColumns};

/// The maximum number of characters to show of a source line. Longer lines are usually generated.
const LONGEST_LINE: usize = 1000;

/// A space as wide as a percentage. It aligns counts without a percentage with the other counts.
const PERCENT_GAP: &str = "         ";

/// One file with its costs.
pub(super) struct Annotation<'a> {
    pub(super) profile: &'a Profile,
    pub(super) lines: &'a FileLines<'a>,
    pub(super) source: &'a SourceText,
    pub(super) events: &'a EventColumns,
}

/// A line of the annotated text: a source line, a call or a heading.
struct AnnotatedLine {
    /// The number of the source line that it shows or belongs to.
    line: u64,
    figures: Vec<String>,
    text: String,
}

impl Annotation<'_> {
    /// Returns the annotated lines. After a gap, a separator line names the next line number.
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
        let passages = Passage::find_all(self.lines, |line| self.source.has(line));
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

    /// Returns `file:function (12x)`, the form of a callee in callgrind_annotate.
    fn callee(&self, call: &LineCall) -> String {
        let name = self.profile.text(call.callee.name).unwrap_or(NAMELESS);
        let file = self.profile.text(call.callee.file).unwrap_or("???");
        let calls = number::grouped(call.calls);
        format!("{file}:{name} ({calls}x)")
    }
}

/// Formats counts with their shares like callgrind_annotate. Without cost, each figure is a point.
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
