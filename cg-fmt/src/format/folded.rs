//! Folded stacks: a line a stack, outermost frame first, and a count; of a diff two counts, that of the earlier run first.
//!
//! `main;parse;read 17` is what flamegraph.pl, inferno, speedscope, Firefox's profiler and Perfetto read. Lines are sorted
//! as bytes by their stacks, as inferno's library wants them, and none has a count of 0. A frame is the name of its
//! function, with the mark of its kind that perf's tools write (`_[k]`).

use std::io::Write;

use cg_document::number::{grouped, plural};
use cg_stream::intern::Made;
use cg_stream::record::{Count, FrameMarks};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Diagnostics;

use super::holds::{FormatHolds, Held};
use super::stacks::{
    FrameTexts, InnerNeighbours, Losses, StackNodeId, StackNodes, WrittenStacks, frame_name,
};
use crate::output::Export;

const HOLDS: FormatHolds = FormatHolds {
    format: "folded stacks",
    one_event: true,
    held: &[Held::Inlined, Held::Jit, Held::Wakers],
};

/// Writes the stacks of a profile with one of their events.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::of(profile, options, &HOLDS, diagnostics)?;
    let mut texts = FrameTexts::default();
    let mut nodes = StackNodes::new(stacks.columns());
    let mut losses = Losses::default();
    let mut left_out = UnfoldedStacks::default();
    let mut frames = Vec::new();
    let mut made = Made::default();
    stacks.each(|stack| {
        if stack.counts.iter().all(|count| *count == 0) {
            left_out.zero += 1;
            return Ok(());
        }
        if stack.counts.iter().any(|count| *count < 0) {
            left_out.negative += 1;
            left_out.negative_sum += stack.counts.iter().sum::<Count>();
            return Ok(());
        }
        frames.clear();
        losses.note(&stack);
        for (number, frame) in stack.frames() {
            frames.push(made.of(number, || {
                texts.of(&frame_name(&stacks.written(frame)), marks(frame.marks()))
            })?);
        }
        if let Some(node) = nodes.stack(&frames)? {
            nodes.add(node, stack.counts);
        }
        anyhow::Ok(())
    })?;
    nodes.close();
    FoldedLines::of(&nodes, &texts).write(export.out)?;
    export.out.flush()?;
    losses.say(&HOLDS, diagnostics);
    left_out.say(&stacks, diagnostics);
    say_changed(&texts, diagnostics);
    Ok(())
}

/// The marks of a frame as perf's tools write them: at most two, kernel or JIT before inlined or waker.
fn marks(marks: FrameMarks) -> &'static str {
    match marks {
        FrameMarks {
            kernel: true,
            inlined: true,
            ..
        } => "_[k]_[i]",
        FrameMarks {
            kernel: true,
            waker: true,
            ..
        } => "_[k]_[w]",
        FrameMarks { kernel: true, .. } => "_[k]",
        FrameMarks {
            jit: true,
            inlined: true,
            ..
        } => "_[j]_[i]",
        FrameMarks { jit: true, .. } => "_[j]",
        FrameMarks { inlined: true, .. } => "_[i]",
        FrameMarks { waker: true, .. } => "_[w]",
        _ => "",
    }
}

/// Says how many names a text of stacks cannot hold.
pub(super) fn say_changed(texts: &FrameTexts, diagnostics: &mut Diagnostics) {
    if texts.changed() > 0 {
        diagnostics.warn(format!(
            "{} changed: folded stacks have no way to write \";\", control characters, blanks at the ends of a name or a number behind its last blank",
            plural(texts.changed() as Count, "name is", "names are")
        ));
    }
}

/// Stacks that the format cannot hold.
#[derive(Default)]
struct UnfoldedStacks {
    zero: u64,
    negative: u64,
    negative_sum: Count,
}

impl UnfoldedStacks {
    fn say(&self, stacks: &WrittenStacks, diagnostics: &mut Diagnostics) {
        let [one, many] = stacks.nouns;
        if self.zero > 0 {
            let zero = plural(self.zero.into(), one, many);
            diagnostics.warn(format!("{zero} without {} left out", stacks.events[0]));
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "{} with negative counts left out ({} {}): folded stacks hold none",
                plural(self.negative.into(), one, many),
                grouped(self.negative_sum),
                stacks.events[0]
            ));
        }
    }
}

/// The lines, in the order of their stacks as bytes.
struct FoldedLines<'s> {
    nodes: &'s StackNodes,
    texts: &'s FrameTexts,
    children: InnerNeighbours,
}

/// A step of the traversal: to write the stack that ends with `f`, or everything that begins with `f;`.
#[derive(Clone, Copy)]
enum FoldingStep {
    Own(StackNodeId),
    Inner(StackNodeId),
    /// The line is cut back to this length.
    Back(usize),
}

impl<'s> FoldedLines<'s> {
    fn of(nodes: &'s StackNodes, texts: &'s FrameTexts) -> FoldedLines<'s> {
        FoldedLines {
            nodes,
            texts,
            children: nodes.children(&texts.ranks()),
        }
    }

    /// Traverses the tree with an explicit stack, since profiled stacks may be deeper than our own call stack.
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut line = String::new();
        let mut steps = Vec::new();
        self.push_steps(None, &mut steps);
        while let Some(step) = steps.pop() {
            match step {
                FoldingStep::Own(node) => {
                    write!(out, "{line}{}", self.text(node))?;
                    for count in self.nodes.own(node) {
                        write!(out, " {count}")?;
                    }
                    writeln!(out)?;
                }
                FoldingStep::Inner(node) => {
                    steps.push(FoldingStep::Back(line.len()));
                    line.push_str(self.text(node));
                    line.push(';');
                    self.push_steps(Some(node), &mut steps);
                }
                FoldingStep::Back(length) => line.truncate(length),
            }
        }
        Ok(())
    }

    /// `a b` comes before `a;`, and both behind the stack that ends with `a`.
    fn push_steps(&self, node: Option<StackNodeId>, steps: &mut Vec<FoldingStep>) {
        let begin = steps.len();
        for child in self.children.of(node) {
            if self.nodes.own(*child).iter().any(|count| *count != 0) {
                steps.push(FoldingStep::Own(*child));
            }
            if !self.children.of(Some(*child)).is_empty() {
                steps.push(FoldingStep::Inner(*child));
            }
        }
        let bytes = |step: &FoldingStep| match *step {
            FoldingStep::Own(node) => (self.text(node).bytes(), None),
            FoldingStep::Inner(node) => (self.text(node).bytes(), Some(b';')),
            FoldingStep::Back(_) => ("".bytes(), None),
        };
        steps[begin..].order_by(|a, b| {
            let ((a, a_end), (b, b_end)) = (bytes(a), bytes(b));
            b.chain(b_end).cmp(a.chain(a_end))
        });
    }

    fn text(&self, node: StackNodeId) -> &'s str {
        self.texts.text(self.nodes.frame(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_as_bytes() {
        let lines = ["a b;c 3", "a;x 1", "a 5", "a;x;y 2", "a!;z 1", "a;b 9"];
        let mut texts = FrameTexts::default();
        let mut nodes = StackNodes::new(1);
        for line in lines {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            let frames: Vec<_> = stack
                .rsplit(';')
                .map(|name| texts.of(name, "").unwrap())
                .collect();
            let node = nodes.stack(&frames).unwrap().unwrap();
            nodes.add(node, &[count.parse().unwrap()]);
        }
        let mut out = Vec::new();
        FoldedLines::of(&nodes, &texts).write(&mut out).unwrap();
        let mut sorted = lines.to_vec();
        sorted.sort_by_key(|line| line.rsplit_once(' ').unwrap().0);
        assert_eq!(
            String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
            sorted
        );
    }
}
