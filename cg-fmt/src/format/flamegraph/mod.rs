//! A flame graph: stacks side by side, as wide as what they cost.
//!
//! Of a profile, frames are coloured by whose code they are. Of a diff they are as wide as in the later run, red where
//! they cost more than in the earlier one and blue where they cost less, with the difference in the text of every frame;
//! what the later run lacks is drawn below, as wide as it was. What only one run tells, as the other has it below Massif's
//! threshold, is no difference.
//!
//! The same input gives the same bytes: nothing of the picture is random, and frames are in the order of their names.

use anyhow::ensure;
use cg_document::number::{grouped, percent, plural, signed, signed_percent};
use cg_names::whose::{CodeOwner, Facts, owners_by};
use cg_stream::intern::{Id, Made};
use cg_stream::maps::OrderedSet;
use cg_stream::record::Count;
use cg_stream::tool::Diagnostics;
use cg_stream::visible::visible;

use super::color::{self, Color};
use super::folded::say_changed;
use super::holds::FormatHolds;
use super::stacks::{
    CountedStack, FrameTexts, StackNodeId, StackNodes, WrittenFrameId, WrittenStacks, frame_name,
};
use crate::output::Export;

mod gone;
mod layout;
mod svg;

use layout::{FrameLayout, PictureLimits};
use svg::{FrameLook, Section};

const HOLDS: FormatHolds = FormatHolds {
    format: "flame graphs",
    one_event: true,
    held: &[],
};

/// Writes the picture of one event.
///
/// # Errors
/// Where there is nothing to draw, and those of the output.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::of(profile, options, &HOLDS, diagnostics)?;
    let limits = PictureLimits::from_percent(options.threshold);
    let drawing = FlameDrawing::of(&stacks, limits, diagnostics)?;
    export.out.write_all(drawing.picture().as_bytes())?;
    export.out.flush()?;
    for note in drawing.notes() {
        diagnostics.warn(note);
    }
    say_changed(&drawing.texts, diagnostics);
    Ok(())
}

/// What is drawn.
struct FlameDrawing<'s, 'a> {
    stacks: &'s WrittenStacks<'a>,
    event: String,
    /// The cost of estimated stacks.
    estimated: Count,
    texts: FrameTexts,
    nodes: StackNodes,
    /// Whose code each text is; only for profiles.
    owners: Vec<CodeOwner>,
    /// The inclusive counts of each node: one, in a diff those of [`DIFF_COLUMNS`].
    inclusive: Vec<Count>,
    /// The stacks; in a diff, as wide as in the later run.
    layout: FrameLayout,
    /// The stacks that the later run lacks, as wide as in the earlier run.
    gone: FrameLayout,
}

/// In a diff, the counts of a node: earlier and later, of stacks that both runs tell and of those that one does not.
const DIFF_COLUMNS: usize = 4;

/// Of stacks that are not drawn: how many there are, and their counts.
fn stacks_below_zero(stacks: &WrittenStacks<'_>, (count, sum): (u64, Count)) -> String {
    let ([one, many], event) = (stacks.nouns, &stacks.events[0]);
    format!(
        "{} with negative counts left out ({} {event}): nothing is as wide as that",
        plural(count.into(), one, many),
        grouped(sum),
    )
}

/// Fails where there is nothing to draw, or more than there are bits for.
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
    fn of(
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
                    let text = || texts.of(&frame_name(&stacks.written(frame)), "");
                    frames.push(made.of(number, text)?);
                }
            } else {
                owners.frames(stacks, &stack, &mut texts, &mut frames)?;
            }
            if let Some(node) = nodes.stack(&frames)? {
                match (stack.counts, stack.is_told) {
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
        let children = nodes.children(&texts.ranks());
        let inclusive = nodes.inclusive();
        let lay_out = |costs| FrameLayout::of(&nodes, &children, costs, limits);
        let (layout, gone) = if is_diff {
            let counts = inclusive.chunks_exact(DIFF_COLUMNS);
            let later: Vec<Count> = counts.map(|counts| counts[1] + counts[3]).collect();
            let gone = gone::costs(&nodes, &later);
            (lay_out(later), lay_out(gone))
        } else {
            (lay_out(inclusive.clone()), FrameLayout::default())
        };
        check_total(layout.total + gone.total, is_diff, &event)?;
        Ok(FlameDrawing {
            stacks,
            event,
            estimated,
            texts,
            nodes,
            owners: owners.owners,
            inclusive,
            layout,
            gone,
        })
    }

    fn picture(&self) -> String {
        let layouts = [&self.layout, &self.gone];
        // Names that are drawn, in the order in which they come.
        let mut names: OrderedSet<WrittenFrameId> = OrderedSet::default();
        for layout in layouts {
            names.extend(
                layout
                    .frames
                    .iter()
                    .map(|frame| self.nodes.frame(frame.node)),
            );
        }
        let (lines, most) = match &self.stacks.runs {
            None => (self.lines_of_profile(), 0),
            Some(runs) => (self.lines_of_diff(runs), self.greatest_change()),
        };
        let mut sections = Vec::new();
        if self.layout.total > 0 {
            sections.push(Section {
                id: "frames",
                heading: None,
                layout: &self.layout,
                root: Some(FrameLook {
                    name: "all",
                    number: None,
                    change: String::new(),
                    figure: format!("{} {}, 100%", grouped(self.layout.total), self.event),
                    color: color::of_delta(0, 0),
                }),
            });
        }
        if let Some([before, after]) = self.stacks.runs.as_ref().filter(|_| self.gone.total > 0) {
            let mut frames = self.gone.frames.iter();
            let also = match frames.any(|frame| self.untold(frame.node) > 0) {
                true => format!(", or not told by {after}"),
                false => String::new(),
            };
            let total = grouped(self.gone.total);
            sections.push(Section {
                id: "gone",
                heading: Some(format!("only in {before}{also}: {total} {}", self.event)),
                layout: &self.gone,
                root: None,
            });
        }
        let look = |section: usize, node| {
            let number = names.get_index_of(&self.nodes.frame(node));
            let look = match (&self.stacks.runs, sections[section].id) {
                (None, _) => self.frame(node),
                (Some(_), "gone") => self.frame_of_gone(node),
                (Some(_), _) => self.frame_of_diff(node, most),
            };
            FrameLook { number, ..look }
        };
        let texts = names.iter().map(|frame| self.texts.text(*frame));
        svg::draw(&self.title(), &lines, &sections, texts, look)
    }

    /// What is drawn of a profile, and in which colours.
    fn lines_of_profile(&self) -> Vec<String> {
        let is_drawn = |owner: &CodeOwner| {
            let mut frames = self.layout.frames.iter();
            frames.any(|frame| self.owner(frame.node) == *owner)
        };
        let drawn = CodeOwner::ALL.into_iter().filter(is_drawn);
        let legend: Vec<&str> = drawn.map(color::legend).collect();
        vec![self.measure(), legend.join(", ")]
    }

    fn lines_of_diff(&self, [before, after]: &[String; 2]) -> Vec<String> {
        let roots = self
            .nodes
            .all()
            .filter(|node| self.nodes.outer(*node).is_none());
        let (old, delta) = roots
            .map(|node| self.change(node))
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let mut colors = format!("as wide as in {after}; red: more than in {before}, blue: less");
        if self.gone.total > 0 {
            colors += &format!("; below: what {after} lacks");
        }
        vec![self.measure() + &self.delta_text(old, delta, 0), colors]
    }

    /// A frame of a profile.
    fn frame(&self, node: StackNodeId) -> FrameLook<'_> {
        let name = self.text(node);
        FrameLook {
            name,
            number: None,
            change: String::new(),
            figure: self.figure(node),
            color: color::of_owner(self.owner(node), name),
        }
    }

    /// A frame of a diff; `most` is the greatest change of any.
    fn frame_of_diff(&self, node: StackNodeId, most: Count) -> FrameLook<'_> {
        let (old, delta) = self.change(node);
        FrameLook {
            name: self.text(node),
            number: None,
            change: self.delta_text(old, delta, self.untold(node)),
            figure: self.figure(node),
            color: color::of_delta(delta, most),
        }
    }

    /// A frame of what is gone; those that are in the later run too are grey, as are those that it does not tell.
    fn frame_of_gone(&self, node: StackNodeId) -> FrameLook<'_> {
        let counts = self.counts(node);
        let is_gone = counts[1] + counts[3] == 0 && self.untold(node) == 0;
        FrameLook {
            name: self.text(node),
            number: None,
            change: self.delta_text(0, 0, self.untold(node)),
            figure: format!("{} {}", grouped(self.gone.cost(node)), self.event),
            color: match is_gone {
                true => Color::new(150, 150, 255),
                false => Color::new(225, 225, 225),
            },
        }
    }

    /// What a frame costs, and what share that is of all.
    fn figure(&self, node: StackNodeId) -> String {
        let cost = self.layout.cost(node);
        let share = percent(cost as f64 * 100.0 / self.layout.total as f64);
        format!("{} {}, {share}", grouped(cost), self.event)
    }

    /// The counts of a node in a diff.
    fn counts(&self, node: StackNodeId) -> &[Count] {
        &self.inclusive[DIFF_COLUMNS * node.index()..][..DIFF_COLUMNS]
    }

    /// The earlier count of a node in a diff, and its change, as far as both runs tell.
    fn change(&self, node: StackNodeId) -> (Count, Count) {
        let counts = self.counts(node);
        (counts[0], counts[1] - counts[0])
    }

    /// What only one run tells of a node.
    fn untold(&self, node: StackNodeId) -> Count {
        let counts = self.counts(node);
        counts[2] + counts[3]
    }

    fn greatest_change(&self) -> Count {
        let drawn = self.layout.frames.iter();
        let changes = drawn.map(|frame| self.change(frame.node).1.abs());
        changes.max().unwrap_or(0)
    }

    /// What stands behind the name of a frame that changed.
    fn delta_text(&self, old: Count, delta: Count, untold: Count) -> String {
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
        match untold {
            0 => change,
            _ => format!("{change} ({} told by one run alone)", grouped(untold)),
        }
    }

    fn title(&self) -> String {
        /// What fits above a picture.
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

    /// What is drawn, and how much of the run it is.
    fn measure(&self) -> String {
        let drawn = self.layout.total;
        match self.stacks.total(0) {
            // Of a diff these are mostly the rows that changed.
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

    /// What is estimated, and what is not drawn.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.stacks.runs.is_none() {
            let (estimated, total) = ([self.estimated], [self.layout.total]);
            notes.extend(self.stacks.told_estimated(&estimated, &total));
        }
        for layout in [&self.layout, &self.gone] {
            if layout.narrow > 0 {
                notes.push(format!(
                    "{} narrower than {} of the picture not drawn: {} in the width of what called them (--threshold takes a percentage)",
                    plural(layout.narrow as Count, "frame", "frames"),
                    percent(layout.least as f64 * 100.0 / layout.total as f64),
                    if layout.narrow == 1 { "it is" } else { "they are" },
                ));
            }
            if layout.deep > 0 {
                notes.push(format!(
                    "{} beyond the {}th of a stack not drawn",
                    plural(layout.deep as Count, "frame", "frames"),
                    layout.deepest
                ));
            }
        }
        notes
    }

    fn text(&self, node: StackNodeId) -> &str {
        self.texts.text(self.nodes.frame(node))
    }

    fn owner(&self, node: StackNodeId) -> CodeOwner {
        self.owners[self.nodes.frame(node).index()]
    }
}

/// Finds out whose code each frame is. A text has one colour, so names of several owners get suffixes.
#[derive(Default)]
struct FrameOwners {
    facts: Made<Facts>,
    /// Cache: the text of each frame without a suffix. Its owner may differ from the frame's in a stack.
    texts: Made<WrittenFrameId>,
    /// Buffer for the facts of the current stack.
    facts_of_stack: Vec<Facts>,
    owners: Vec<CodeOwner>,
}

impl FrameOwners {
    /// The frames of a stack, innermost first.
    fn frames(
        &mut self,
        stacks: &WrittenStacks<'_>,
        stack: &CountedStack<'_, '_>,
        texts: &mut FrameTexts,
        frames: &mut Vec<WrittenFrameId>,
    ) -> anyhow::Result<()> {
        self.facts_of_stack.clear();
        for (number, frame) in stack.frames() {
            let facts = self.facts.of(number, || anyhow::Ok(Facts::of(frame)))?;
            self.facts_of_stack.push(facts);
        }
        for ((number, frame), owner) in stack.frames().zip(owners_by(&self.facts_of_stack)) {
            let mut text =
                (self.texts).of(number, || texts.of(&frame_name(&stacks.written(frame)), ""))?;
            if text.index() == self.owners.len() {
                self.owners.push(owner);
            } else if self.owners[text.index()] != owner {
                let suffix = format!(" [{}]", owner.word());
                text = texts.of(&frame_name(&stacks.written(frame)), &suffix)?;
                if text.index() == self.owners.len() {
                    self.owners.push(owner);
                }
            }
            frames.push(text);
        }
        Ok(())
    }
}
