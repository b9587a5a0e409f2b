//! A flame graph: stacks side by side, as wide as what they cost, drawn by the library of inferno.
//!
//! Of a profile, frames are coloured by whose code they are. Of a diff they are as wide as in the later run, red where
//! they cost more than in the earlier one and blue where they cost less, with the difference in the text of every frame;
//! what the later run lacks is drawn below, as wide as it was.
//!
//! The same input gives the same bytes: nothing of the picture is random, and frames are in the order of their names.

use std::io::Write;

use anyhow::ensure;
use cg_document::number::{grouped, percent, plural, signed, signed_percent};
use cg_names::whose::{Facts, owners_by};
use cg_stream::intern::{Id, Made};
use cg_stream::profile::Profile;
use cg_stream::record::Count;
use cg_stream::tool::Diagnostics;
use cg_stream::visible::visible;

use super::color::{self, Palette, Shade};
use super::events::Holds;
use super::folded::say_changed;
use super::stacks::{
    CountedStack, FrameTexts, StackNodeId, StackNodes, WrittenFrameId, WrittenStacks, frame_name,
};
use crate::options::Options;

mod gone;
mod layout;
mod svg;

use layout::{FrameLayout, PictureLimits};

/// Writes the picture of one event.
///
/// # Errors
/// Where there is nothing to draw, and those of the output.
pub(crate) fn write(
    profile: &Profile,
    options: &Options,
    out: &mut dyn Write,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    let stacks = WrittenStacks::of(
        profile,
        options,
        Holds::OneEvent("flame graphs"),
        diagnostics,
    )?;
    let limits = PictureLimits::from_percent(options.threshold);
    let drawing = FlameDrawing::of(&stacks, limits, diagnostics)?;
    out.write_all(drawing.picture()?.as_bytes())?;
    out.flush()?;
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
    /// The shade of each text; only for profiles.
    shades: Vec<Shade>,
    /// The inclusive counts of each node.
    inclusive: Vec<Count>,
    /// The stacks; in a diff, as wide as in the later run.
    layout: FrameLayout,
    /// The stacks that the later run lacks, as wide as in the earlier run.
    gone: FrameLayout,
}

/// Of stacks that are not drawn: how many there are, and their counts.
fn stacks_below_zero(stacks: &WrittenStacks<'_>, (count, sum): (u64, Count)) -> String {
    let ([one, many], event) = (stacks.nouns, &stacks.events[0]);
    format!(
        "{} with negative counts left out ({} {event}): nothing is as wide as that",
        plural(count.into(), one, many),
        grouped(sum),
    )
}

impl<'s, 'a> FlameDrawing<'s, 'a> {
    fn of(
        stacks: &'s WrittenStacks<'a>,
        limits: PictureLimits,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<FlameDrawing<'s, 'a>> {
        let mut texts = FrameTexts::default();
        let mut nodes = StackNodes::new(stacks.columns());
        let mut shading = Shading::default();
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
                    frames.push(
                        made.of(number, || texts.of(&frame_name(&stacks.written(frame)), ""))?,
                    );
                }
            } else {
                shading.frames(stacks, &stack, &mut texts, &mut frames)?;
            }
            if let Some(node) = nodes.stack(&frames)? {
                nodes.add(node, stack.counts);
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
        let (layout, gone) = if is_diff {
            let later: Vec<Count> = inclusive.iter().skip(1).step_by(2).copied().collect();
            let gone = gone::costs(&nodes, &later);
            (
                FrameLayout::of(&nodes, &children, later, limits),
                FrameLayout::of(&nodes, &children, gone, limits),
            )
        } else {
            let layout = FrameLayout::of(&nodes, &children, inclusive.clone(), limits);
            (layout, FrameLayout::default())
        };
        ensure!(
            layout.total + gone.total > 0,
            "there is nothing to draw: {}",
            match is_diff {
                true => format!("no stack has {event} in either run"),
                false => format!("no stack has {event}"),
            }
        );
        ensure!(
            u64::try_from(layout.total + gone.total).is_ok(),
            "the sum of {event} is beyond 64 bits"
        );
        Ok(FlameDrawing {
            stacks,
            event,
            estimated,
            texts,
            nodes,
            shades: shading.shades,
            inclusive,
            layout,
            gone,
        })
    }

    fn picture(&self) -> anyhow::Result<String> {
        match &self.stacks.runs {
            None => self.profile(),
            Some(runs) => self.diff(runs),
        }
    }

    /// The picture of a profile.
    fn profile(&self) -> anyhow::Result<String> {
        let mut palette = Palette::default();
        let mut shown = Vec::new();
        for shade in Shade::ALL {
            if self
                .layout
                .frames
                .iter()
                .any(|frame| self.shade(frame.node) == shade)
            {
                shown.push(format!("{} {}", shade.of(), shade.color_word()));
            }
        }
        let lines = self.layout.lines(|node| {
            let text = self.text(node);
            palette.insert(text, self.shade(node).color(text));
            text.to_owned()
        });
        let subtitle = format!("{} — {}", self.measure(), shown.join(", "));
        svg::draw(
            &self.title(),
            &subtitle,
            &self.event,
            &lines,
            palette,
            false,
        )
    }

    /// The picture of what changed, and below it of what is gone.
    fn diff(&self, [before, after]: &[String; 2]) -> anyhow::Result<String> {
        let mut palette = Palette::default();
        let delta = |node: StackNodeId| {
            let at = 2 * node.index();
            (
                self.inclusive[at],
                self.inclusive[at + 1] - self.inclusive[at],
            )
        };
        let drawn = self
            .layout
            .frames
            .iter()
            .map(|frame| delta(frame.node).1.abs());
        let most = drawn.max().unwrap_or(0);
        let lines = self.layout.lines(|node| {
            let (old, delta) = delta(node);
            let text = format!("{}{}", self.text(node), self.delta_text(old, delta));
            palette.insert(&text, color::of_delta(delta, most));
            text
        });
        let totals = |run: usize| -> Count {
            let roots = self
                .nodes
                .all()
                .filter(|node| self.nodes.outer(*node).is_none());
            roots
                .map(|node| self.inclusive[2 * node.index() + run])
                .sum()
        };
        let mut subtitle = format!(
            "{}{}, as wide as in {after} — red: more than in {before}, blue: less",
            self.measure(),
            self.delta_text(totals(0), totals(1) - totals(0))
        );
        if self.gone.total > 0 {
            subtitle += &format!("; below: what {after} lacks");
        }
        let has_gone = self.gone.total > 0;
        let picture = match self.layout.total {
            0 => svg::empty(&self.title(), &subtitle),
            _ => svg::draw(
                &self.title(),
                &subtitle,
                &self.event,
                &lines,
                palette,
                has_gone,
            )?,
        };
        if !has_gone {
            return Ok(picture);
        }
        let heading = format!(
            "only in {before}: {} {}",
            grouped(self.gone.total),
            self.event
        );
        let is_gone = |node: StackNodeId| self.inclusive[2 * node.index() + 1] == 0;
        svg::with_section(&picture, &heading, &self.gone, |node| svg::SectionFrame {
            text: self.text(node),
            count: format!("{} {}", grouped(self.gone.cost(node)), self.event),
            is_gone: is_gone(node),
        })
    }

    /// What stands behind the name of a frame that changed.
    fn delta_text(&self, old: Count, delta: Count) -> String {
        match (old, delta) {
            (_, 0) => String::new(),
            (0, _) => format!(" ({} {}, new)", signed(delta), self.event),
            _ => format!(
                " ({} {}, {})",
                signed(delta),
                self.event,
                signed_percent(delta as f64 * 100.0 / old as f64)
            ),
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

    fn shade(&self, node: StackNodeId) -> Shade {
        self.shades[self.nodes.frame(node).index()]
    }
}

/// Gives each frame a shade: whose code it is. A text has one shade, so a name of several shades gets suffixes.
#[derive(Default)]
struct Shading {
    facts: Made<Facts>,
    /// Cache: the text of each frame without a suffix. Its shade may differ from the frame's shade in a stack.
    texts: Made<WrittenFrameId>,
    /// Buffer for the facts of the current stack.
    facts_of_stack: Vec<Facts>,
    shades: Vec<Shade>,
}

impl Shading {
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
            let shade = Shade::of_owner(owner);
            let mut text =
                (self.texts).of(number, || texts.of(&frame_name(&stacks.written(frame)), ""))?;
            if text.index() == self.shades.len() {
                self.shades.push(shade);
            } else if self.shades[text.index()] != shade {
                text = texts.of(&frame_name(&stacks.written(frame)), shade.suffix())?;
                if text.index() == self.shades.len() {
                    self.shades.push(shade);
                }
            }
            frames.push(text);
        }
        Ok(())
    }
}
