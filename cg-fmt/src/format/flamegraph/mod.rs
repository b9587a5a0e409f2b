//! A flame graph: stacks side by side, with widths in proportion to their cost.
//!
//! In a profile, the colour of a frame shows the origin of its code. In a diff, frames are as wide as in the later run, red
//! if they cost more than in the earlier run and blue if they cost less, and each frame's text has the difference. Stacks
//! that only the earlier run has are drawn below, as wide as in that run. A cost that is below Massif's threshold in one run
//! does not count as a difference.
//!
//! The same input gives the same bytes: nothing in the picture is random, and frames are sorted by name.

use std::io::{self, Write};

use anyhow::ensure;
use cg_collections::intern::{Id, Made};
use cg_document::number::{grouped, percent, plural, signed, signed_percent};
use cg_names::code_origin::CodeOwner;
use cg_stream::record::Count;
use cg_stream::visible::visible;
use cg_tool::Diagnostics;

use super::color::{self, Color};
use super::folded::warn_about_changed_names;
use super::holds::FormatHolds;
use super::stacks::{FrameTexts, StackNodeId, StackNodes, WrittenStacks, frame_name};
use crate::export::Export;

mod owners;

mod gone;
mod layout;

mod buffer;
mod names;
mod svg;

use layout::{FrameLayout, PictureLimits};
use names::DrawnNames;
use owners::FrameOwners;
use svg::{FrameLook, PictureContents, Section};

const HOLDS: FormatHolds = FormatHolds {
    format: "flame graphs",
    one_event: true,
    held: &[],
};

/// Writes the picture of one event.
///
/// # Errors
/// Returns an error if there is nothing to draw, or if the output cannot be written.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, options, &HOLDS, diagnostics)?;
    let limits = PictureLimits::from_percent(options.threshold);
    let drawing = FlameDrawing::new(&stacks, limits, diagnostics)?;
    drawing.write(export.out)?;
    export.out.flush()?;
    for note in drawing.notes() {
        diagnostics.warn(note);
    }
    warn_about_changed_names(&drawing.texts, diagnostics);
    Ok(())
}

/// The contents of the picture.
struct FlameDrawing<'s, 'a> {
    stacks: &'s WrittenStacks<'a>,
    event: String,
    /// The cost of estimated stacks.
    estimated: Count,
    texts: FrameTexts,
    nodes: StackNodes,
    /// The owner of each text; empty for diffs.
    owners: Vec<CodeOwner>,
    /// In a diff, the inclusive counts of each node: [`DIFF_COLUMNS`] counts. Otherwise empty.
    inclusive: Vec<Count>,
    /// The stacks; in a diff, with the widths of the later run.
    layout: FrameLayout,
    /// The stacks that only the earlier run has, with the widths of that run.
    gone: FrameLayout,
}

/// The number of counts of a node in a diff: earlier and later count of stacks that both runs know, then earlier and later
/// count of stacks that one run has below the threshold.
const DIFF_COLUMNS: usize = 4;

/// Returns the warning about stacks with negative counts, which are not drawn.
fn stacks_below_zero(stacks: &WrittenStacks<'_>, (count, sum): (u64, Count)) -> String {
    let ([one, many], event) = (stacks.nouns, &stacks.events[0]);
    format!(
        "{} with negative counts left out ({} {event}): a frame cannot have a negative width",
        plural(count.into(), one, many),
        grouped(sum),
    )
}

/// Returns an error if there is nothing to draw, or if the total exceeds 64 bits.
fn check_total(total: Count, is_diff: bool, event: &str) -> anyhow::Result<()> {
    let runs = if is_diff { " in either run" } else { "" };
    ensure!(
        total > 0,
        "there is nothing to draw: no stack has {event}{runs}"
    );
    ensure!(
        u64::try_from(total).is_ok(),
        "the sum of {event} is beyond 64 bits"
    );
    Ok(())
}

impl<'s, 'a> FlameDrawing<'s, 'a> {
    fn new(
        stacks: &'s WrittenStacks<'a>,
        limits: PictureLimits,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<FlameDrawing<'s, 'a>> {
        let mut texts = FrameTexts::default();
        let mut nodes = StackNodes::new(match stacks.runs {
            Some(_) => DIFF_COLUMNS,
            None => 1,
        });
        let mut owners = FrameOwners::default();
        let is_diff = stacks.runs.is_some();
        let mut negative = (0_u64, 0);
        let mut estimated = 0;
        let mut frames = Vec::new();
        let mut made = Made::default();
        stacks.each(|stack| {
            if stack.counts.iter().any(|count| *count < 0) {
                negative.0 += 1;
                negative.1 += stack.counts.iter().sum::<Count>();
                return Ok(());
            }
            if stack.is_estimated {
                estimated += stack.counts.iter().sum::<Count>();
            }
            frames.clear();
            if is_diff {
                for (number, frame) in stack.frames() {
                    let text = || texts.intern(&frame_name(&stacks.written(frame)), "");
                    frames.push(made.get_or_make(number, text)?);
                }
            } else {
                owners.push_frames(stacks, &stack, &mut texts, &mut frames)?;
            }
            if let Some(node) = nodes.stack(&frames)? {
                match (stack.counts, stack.is_change_known) {
                    ([old, new], true) => nodes.add(node, &[*old, *new, 0, 0]),
                    ([old, new], false) => nodes.add(node, &[0, 0, *old, *new]),
                    (counts, _) => nodes.add(node, counts),
                }
            }
            anyhow::Ok(())
        })?;
        let event = stacks.events[0].clone();
        if negative.0 > 0 {
            diagnostics.warn(stacks_below_zero(stacks, negative));
        }
        nodes.close();
        let inclusive = nodes.inclusive();
        let lay_out = |costs| FrameLayout::lay_out(&nodes, &texts, costs, limits);
        let (layout, gone, inclusive) = if is_diff {
            let counts = inclusive.chunks_exact(DIFF_COLUMNS);
            let later: Vec<Count> = counts.map(|counts| counts[1] + counts[3]).collect();
            let gone = gone::costs(&nodes, &later);
            (lay_out(later), lay_out(gone), inclusive)
        } else {
            (lay_out(inclusive), FrameLayout::default(), Vec::new())
        };
        check_total(layout.total + gone.total, is_diff, &event)?;
        Ok(FlameDrawing {
            stacks,
            event,
            estimated,
            texts,
            nodes,
            owners: owners.into_owners(),
            inclusive,
            layout,
            gone,
        })
    }

    /// Writes the picture.
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let layouts = [&self.layout, &self.gone].into_iter();
        let drawn = layouts.flat_map(|layout| &layout.frames);
        let frames = drawn.map(|frame| self.nodes.frame(frame.node));
        let names = DrawnNames::new(frames, &self.texts);
        let (lines, most) = match &self.stacks.runs {
            None => (self.lines_of_profile(&names), 0),
            Some(runs) => (self.lines_of_diff(runs), self.greatest_change()),
        };
        let contents = PictureContents {
            title: self.title(),
            lines,
            event: &self.event,
            names: &names,
            sections: self.sections(),
        };
        // In a profile, all frames with the same name have the same colour.
        let colors: Vec<Color> = match &self.stacks.runs {
            None => names
                .iter()
                .map(|name| color::owner_color(self.owners[name.frame.index()], name.text))
                .collect(),
            Some(_) => Vec::new(),
        };
        let look = |section: usize, node| {
            let number = names.number(self.nodes.frame(node));
            let (change, color) = match (&self.stacks.runs, contents.sections[section].id) {
                (None, _) => (String::new(), colors[number]),
                (Some(_), "gone") => self.look_of_gone(node),
                (Some(_), _) => self.look_of_diff(node, most),
            };
            FrameLook {
                number,
                change,
                color,
            }
        };
        contents.write(look, out)
    }

    /// Returns the sections of the picture: the stacks, and in a diff the stacks that only the earlier run has.
    fn sections(&self) -> Vec<Section<'_>> {
        let mut sections = Vec::new();
        if self.layout.total > 0 {
            sections.push(Section {
                id: "frames",
                heading: None,
                layout: &self.layout,
                has_total: true,
            });
        }
        if let Some([before, after]) = self.stacks.runs.as_ref().filter(|_| self.gone.total > 0) {
            let mut frames = self.gone.frames.iter();
            let also = match frames.any(|frame| self.one_sided_cost(frame.node) > 0) {
                true => format!(", or below the threshold in {after}"),
                false => String::new(),
            };
            let total = grouped(self.gone.total);
            sections.push(Section {
                id: "gone",
                heading: Some(format!("only in {before}{also}: {total} {}", self.event)),
                layout: &self.gone,
                has_total: false,
            });
        }
        sections
    }

    /// Returns the lines above the picture of a profile: the drawn cost, and the legend of the colours.
    fn lines_of_profile(&self, names: &DrawnNames<'_>) -> Vec<String> {
        let is_drawn = |owner: &CodeOwner| {
            let mut names = names.iter();
            names.any(|name| self.owners[name.frame.index()] == *owner)
        };
        let drawn = CodeOwner::ALL.into_iter().filter(is_drawn);
        let legend: Vec<&str> = drawn.map(color::legend).collect();
        let estimated = self.estimate_note().map(|note| format!("; {note}"));
        let measure = self.measure() + &estimated.unwrap_or_default();
        vec![measure, legend.join(", ")]
    }

    /// Returns the words about the share of estimated stacks, if there are any.
    fn estimate_note(&self) -> Option<String> {
        let (estimated, total) = ([self.estimated], [self.layout.total]);
        self.stacks.estimate_note(&estimated, &total)
    }

    /// Returns the lines above the picture of a diff: the drawn cost with its change, and the meaning of widths and colours.
    fn lines_of_diff(&self, [before, after]: &[String; 2]) -> Vec<String> {
        let roots = self
            .nodes
            .all()
            .filter(|node| self.nodes.outer(*node).is_none());
        let (old, delta) = roots
            .map(|node| self.change(node))
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut colors = format!("widths as in {after}; red: more than in {before}, blue: less");
        if self.gone.total > 0 {
            colors += &format!("; below: stacks that are not in {after}");
        }
        vec![self.measure() + &self.delta_text(old, delta, 0), colors]
    }

    /// Returns the change and the colour of a frame of a diff. `most` is the greatest change of any frame.
    fn look_of_diff(&self, node: StackNodeId, most: Count) -> (String, Color) {
        let (old, delta) = self.change(node);
        let change = self.delta_text(old, delta, self.one_sided_cost(node));
        (change, color::delta_color(delta, most))
    }

    /// Returns the change and the colour of a frame in the section of gone stacks. A frame is grey if the later run has it
    /// too, or may have it below the threshold.
    fn look_of_gone(&self, node: StackNodeId) -> (String, Color) {
        let counts = self.counts(node);
        let one_sided = self.one_sided_cost(node);
        let color = match counts[1] + counts[3] == 0 && one_sided == 0 {
            true => Color::new(150, 150, 255),
            false => Color::new(225, 225, 225),
        };
        (self.delta_text(0, 0, one_sided), color)
    }

    /// Returns the counts of a node in a diff.
    fn counts(&self, node: StackNodeId) -> &[Count] {
        &self.inclusive[DIFF_COLUMNS * node.index()..][..DIFF_COLUMNS]
    }

    /// Returns the earlier count of a node in a diff, and its change, without stacks that one run has below the threshold.
    fn change(&self, node: StackNodeId) -> (Count, Count) {
        let counts = self.counts(node);
        (counts[0], counts[1] - counts[0])
    }

    /// Returns the cost of a node that only one run shows, because it is below the threshold in the other.
    fn one_sided_cost(&self, node: StackNodeId) -> Count {
        let counts = self.counts(node);
        counts[2] + counts[3]
    }

    fn greatest_change(&self) -> Count {
        let drawn = self.layout.frames.iter();
        let changes = drawn.map(|frame| self.change(frame.node).1.abs());
        changes.max().unwrap_or(0)
    }

    /// Returns the text after the name of a frame that changed.
    fn delta_text(&self, old: Count, delta: Count, one_sided: Count) -> String {
        let change = match (old, delta) {
            (_, 0) => String::new(),
            (0, _) => format!(" ({} {}, new)", signed(delta), self.event),
            _ => format!(
                " ({} {}, {})",
                signed(delta),
                self.event,
                signed_percent(delta as f64 * 100.0 / old as f64)
            ),
        };
        match one_sided {
            0 => change,
            _ => format!("{change} ({} known in one run only)", grouped(one_sided)),
        }
    }

    fn title(&self) -> String {
        /// The maximum length in characters, so that it fits above the picture.
        const LONGEST: usize = 120;
        let mut title = self.stacks.title();
        if self.estimated > 0 {
            title = format!("estimated stacks of {title}");
        }
        let title = visible(&title);
        match title.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{}…", &title[..end]),
            None => title.into_owned(),
        }
    }

    /// Returns the drawn cost and its share of the total of the run.
    fn measure(&self) -> String {
        let drawn = self.layout.total;
        match self.stacks.total(0) {
            // The rows of a diff are mostly those that changed, so they sum to less than the total.
            Some(total) if total > drawn => format!(
                "{} {}, {} of the total of {}",
                grouped(drawn),
                self.event,
                percent(drawn as f64 * 100.0 / total as f64),
                grouped(total)
            ),
            _ => format!("{} {}", grouped(drawn), self.event),
        }
    }

    /// Returns warnings about estimated stacks and about frames that are not drawn.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stacks.runs.is_none() {
            notes.extend(self.estimate_note());
        }
        for layout in [&self.layout, &self.gone] {
            if layout.narrow > 0 {
                notes.push(format!(
                    "{} narrower than {} of the picture not drawn, which does not change the width of callers (--threshold PERCENT sets the limit)",
                    plural(layout.narrow as Count, "frame", "frames"),
                    percent(layout.least as f64 * 100.0 / layout.total as f64),
                ));
            }
            if layout.deep > 0 {
                notes.push(format!(
                    "{} deeper than {} not drawn",
                    plural(layout.deep as Count, "frame", "frames"),
                    plural(layout.deepest as Count, "level", "levels")
                ));
            }
        }
        notes
    }
}
