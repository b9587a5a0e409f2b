//! The call graph for Graphviz in the style of gprof2dot: one box per function with its shares of the total, in a warmer
//! colour for a larger share, and one arrow for the calls from one function to another.
//!
//! The program's own functions have a black frame. Functions and calls with a small cost are left out, as in gprof2dot. If
//! more functions are left than `dot` can lay out, the cheapest ones are left out too. In a diff, boxes show the shares of
//! the later run and the change: red for more, blue for less.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::ensure;
use cg_collections::intern::Id;
use cg_collections::sorting::Order as _;
use cg_document::NAMELESS;
use cg_document::number::{percent, plural, signed};
use cg_names::code_origin::{CodeOrigin, Facts, classify_facts};
use cg_names::paths::base_name;
use cg_stream::record::{Count, Frame, Name};
use cg_stream::visible::visible;
use cg_tool::Diagnostics;

use super::call_graph::{DrawnGraph, FunctionNames, GraphFunction, GraphSource, RecursionShape};
use super::color::{self, Color};
use super::holds::{FormatHolds, Held};
use crate::export::Export;

/// Functions below this percentage of the total are left out.
const LEAST_PERCENT: f64 = 0.5;
/// Calls below the limit for functions divided by this are left out.
const CALLS_BESIDE_FUNCTIONS: f64 = 5.0;
/// The maximum number of functions. `dot` takes half a minute for this number.
const MOST_FUNCTIONS: usize = 500;
/// The maximum length of a name in characters. `dot` reads at most 16 KiB of a string.
const LONGEST_NAME: usize = 4096;

const HOLDS: FormatHolds = FormatHolds {
    format: "graphs of calls",
    one_event: true,
    held: &[Held::Objects],
};

/// Writes the graph of one event.
///
/// # Errors
/// Returns an error if no function has a cost, or if the output cannot be written.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let source = GraphSource::new(profile, options, &HOLDS, diagnostics)?;
    let graph = DrawnGraph::build(&source, options, RecursionShape::Folded, diagnostics)?;
    // In a diff, the column of the later run follows the column of the earlier run.
    let shown = graph.columns.len() - 1;
    let total = graph.totals()[shown];
    ensure!(
        total > 0,
        "there is nothing to draw: no function has {}",
        graph.columns[shown]
    );
    let least = options.threshold.unwrap_or(LEAST_PERCENT);
    let drawing = DotDrawing::new(&graph, shown, total, least);
    drawing.write(export.out)?;
    export.out.flush()?;
    drawing.warn_about_omissions(diagnostics);
    Ok(())
}

struct DotDrawing<'g, 'n> {
    graph: &'g DrawnGraph<'n>,
    /// The column that is drawn.
    shown: usize,
    total: Count,
    /// For each function, true if it is drawn.
    is_drawn: Vec<bool>,
    /// The limit for functions, in percent of the total.
    least: f64,
    left_out: usize,
    left_out_arrows: usize,
    arrows: Vec<BTreeMap<usize, Arrow>>,
}

/// The calls from one function to another.
#[derive(Clone, Copy, Default)]
struct Arrow {
    calls: Count,
    cost: Count,
}

impl<'g, 'n> DotDrawing<'g, 'n> {
    fn new(
        graph: &'g DrawnGraph<'n>,
        shown: usize,
        total: Count,
        least: f64,
    ) -> DotDrawing<'g, 'n> {
        let costs: Vec<Count> = graph
            .all()
            .map(|(_, function)| inclusive(function, shown))
            .collect();
        let limit = (total as f64 * least / 100.0).ceil() as Count;
        let mut wanted: Vec<usize> = (0..costs.len()).filter(|at| costs[*at] >= limit).collect();
        wanted.order_by_key(|at| std::cmp::Reverse(costs[*at]));
        wanted.truncate(MOST_FUNCTIONS);
        let mut is_drawn = vec![false; costs.len()];
        wanted.iter().for_each(|at| is_drawn[*at] = true);
        let mut arrows = vec![BTreeMap::new(); costs.len()];
        let mut left_out_arrows = 0;
        let limit = total as f64 * least / CALLS_BESIDE_FUNCTIONS / 100.0;
        for (caller, (_, function)) in graph.all().enumerate() {
            let mut outgoing: BTreeMap<usize, Arrow> = BTreeMap::new();
            for arc in &function.arcs {
                let arrow = outgoing.entry(arc.callee.index()).or_default();
                arrow.calls += arc.calls;
                arrow.cost += arc.incl[shown];
            }
            let all = outgoing.len();
            outgoing.retain(|callee, arrow| {
                // Recursive arcs are always drawn, because their cost is counted in the call from outside.
                let is_wide = arrow.cost as f64 >= limit || *callee == caller;
                is_wide && is_drawn[*callee] && is_drawn[caller]
            });
            left_out_arrows += all - outgoing.len();
            arrows[caller] = outgoing;
        }
        DotDrawing {
            graph,
            shown,
            total,
            left_out: is_drawn.iter().filter(|is_drawn| !**is_drawn).count(),
            is_drawn,
            least,
            left_out_arrows,
            arrows,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "digraph {{")?;
        writeln!(out, "\ttooltip=\" \"")?;
        writeln!(
            out,
            "\tgraph [fontname=Arial, nodesep=0.125, ranksep=0.25];"
        )?;
        writeln!(
            out,
            "\tnode [fontcolor=white, fontname=Arial, fontsize=10, height=0, shape=box, style=filled, width=0];"
        )?;
        writeln!(out, "\tedge [fontname=Arial, fontsize=10];")?;
        let called = self.called();
        let most = self
            .graph
            .all()
            .map(|(_, function)| self.delta(function).unwrap_or(0).abs());
        let most = most.max().unwrap_or(0);
        for (position, (names, function)) in self.graph.all().enumerate() {
            if !self.is_drawn[position] {
                continue;
            }
            let delta = self.delta(function);
            let color = match delta {
                Some(delta) => color::delta_color(delta, most),
                None => temperature(self.share(inclusive(function, self.shown))),
            };
            let frame = match is_own(names) {
                true => "black\", penwidth=\"2".to_owned(),
                false => hex(color),
            };
            // White text on pale red or blue is unreadable.
            let font = if delta.is_some() {
                ", fontcolor=black"
            } else {
                ""
            };
            writeln!(
                out,
                "\tf{position} [color=\"{frame}\", fillcolor=\"{}\"{font}, label=\"{}\", tooltip=\"{}\"];",
                hex(color),
                self.label(names, function, called[position], delta),
                quoted(names.file.unwrap_or_default())
            )?;
        }
        for (caller, arrows) in self.arrows.iter().enumerate() {
            for (callee, arrow) in arrows {
                let share = self.share(arrow.cost);
                let pen = (4.0 * share).max(0.5);
                let color = hex(temperature(share));
                // The cost of a recursive call is counted in the call from outside, so its arrow has no share.
                let share = match arrow.cost {
                    0 => String::new(),
                    _ => format!("{}\\n", percent(share * 100.0)),
                };
                // Stacks have no call counts.
                let calls = match self.graph.is_from_stacks {
                    true => String::new(),
                    false => format!("{}×", arrow.calls),
                };
                writeln!(
                    out,
                    "\tf{caller} -> f{callee} [arrowsize=\"{:.2}\", color=\"{color}\", fontcolor=\"{color}\", label=\"{share}{calls}\", labeldistance=\"{pen:.2}\", penwidth=\"{pen:.2}\"];",
                    0.5 * pen.sqrt(),
                )?;
            }
        }
        writeln!(out, "}}")
    }

    /// Returns the label of a box: object, name, inclusive share, self share, change and number of calls.
    fn label(
        &self,
        names: FunctionNames,
        function: &GraphFunction,
        called: Option<Count>,
        delta: Option<Count>,
    ) -> String {
        let mut lines = Vec::new();
        lines.extend(names.obj.map(|object| quoted(base_name(object))));
        lines.push(quoted(names.name.unwrap_or(NAMELESS)));
        let share = |count| percent(self.share(count) * 100.0);
        lines.push(share(inclusive(function, self.shown)));
        lines.push(format!("({})", share(function.cost[self.shown])));
        lines.extend(delta.map(signed));
        lines.extend(called.map(|calls| format!("{calls}×")));
        lines.join("\\n")
    }

    /// Returns the number of calls of each function; all are `None` if the number of calls is unknown.
    fn called(&self) -> Vec<Option<Count>> {
        let mut called = vec![
            (self.graph.has_calls && !self.graph.is_from_stacks).then_some(0);
            self.is_drawn.len()
        ];
        for arc in self.graph.all().flat_map(|(_, function)| &function.arcs) {
            if let Some(calls) = &mut called[arc.callee.index()] {
                *calls += arc.calls;
            }
        }
        called
    }

    /// Returns the change in a function's inclusive cost; `None` outside a diff.
    fn delta(&self, function: &GraphFunction) -> Option<Count> {
        let before = self.shown.checked_sub(1)?;
        Some(inclusive(function, self.shown) - inclusive(function, before))
    }

    fn share(&self, count: Count) -> f64 {
        count as f64 / self.total as f64
    }

    fn warn_about_omissions(&self, diagnostics: &mut Diagnostics) {
        if self.left_out > 0 {
            let drawn = self.is_drawn.len() - self.left_out;
            let limit = match drawn {
                MOST_FUNCTIONS => format!("beyond the {MOST_FUNCTIONS} largest"),
                _ => format!("below {} of the total", percent(self.least)),
            };
            diagnostics.warn(format!(
                "left out: {} {limit}, and {} (--threshold PERCENT sets the limit)",
                plural(self.left_out as Count, "function", "functions"),
                plural(self.left_out_arrows as Count, "arrow", "arrows")
            ));
        }
        if !self.graph.has_calls {
            diagnostics.warn("there are no records of calls, so there are no arrows (cg-parse --calls adds them)");
        }
    }
}

/// The inclusive cost of a function, or its self cost if it has none.
fn inclusive(function: &GraphFunction, column: usize) -> Count {
    let cost = function.incl.as_ref().unwrap_or(&function.cost);
    cost[column]
}

fn is_own(names: FunctionNames) -> bool {
    let frame = Frame {
        name: names.name.map(Name::from),
        file: names.file.map(Name::from),
        obj: names.obj.map(Name::from),
        ..Frame::default()
    };
    classify_facts(&[Facts::from_frame(&frame)]) == [CodeOrigin::Own]
}

/// Returns gprof2dot's colour of a share: from dark blue to saturated red.
fn temperature(share: f64) -> Color {
    let share = share.clamp(0.0, 1.0);
    let hue = 2.0 / 3.0 * (1.0 - share);
    let saturation = 0.8 + 0.2 * share;
    let lightness = 0.25 + 0.25 * share;
    // This is the conversion of the CSS colour module for a lightness up to one half.
    let high = lightness * (saturation + 1.0);
    let low = lightness * 2.0 - high;
    let channel = |hue: f64| {
        let hue = hue.rem_euclid(1.0);
        let part = if hue * 6.0 < 1.0 {
            low + (high - low) * hue * 6.0
        } else if hue * 2.0 < 1.0 {
            high
        } else if hue * 3.0 < 2.0 {
            low + (high - low) * (2.0 / 3.0 - hue) * 6.0
        } else {
            low
        };
        (part * 255.0 + 0.5) as u8
    };
    Color::new(
        channel(hue + 1.0 / 3.0),
        channel(hue),
        channel(hue - 1.0 / 3.0),
    )
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

/// Escapes a text for the quotes of a label, in which a backslash begins an escape.
fn quoted(text: &str) -> String {
    let mut text = visible(text).into_owned();
    if let Some((end, _)) = text.char_indices().nth(LONGEST_NAME - 1) {
        text.truncate(end);
        text.push('…');
    }
    // An ampersand begins an entity, as in HTML.
    let text = text.replace('&', "&amp;");
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_equal_those_of_gprof2dot() {
        // These are gprof2dot's own results for these shares.
        for (share, expected) in [
            (0.0, "#0d0d73"),
            (0.3658, "#0ba35d"),
            (1.0, "#ff0000"),
            (0.6316, "#6dc808"),
        ] {
            assert_eq!(hex(temperature(share)), expected, "{share}");
        }
    }

    #[test]
    fn names_stay_inside_their_quotes() {
        assert_eq!(quoted("a\"b\\n\n"), "a\\\"b\\\\n\\\\n");
        assert_eq!(quoted(&"ä".repeat(5000)).chars().count(), LONGEST_NAME);
    }
}
