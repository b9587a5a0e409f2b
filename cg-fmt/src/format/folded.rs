//! Folded stacks: one line per stack, outermost frame first, and a count. In a diff, each line has two counts, the count of
//! the earlier run first.
//!
//! flamegraph.pl, inferno, speedscope, Firefox's profiler and Perfetto read this format: `main;parse;read 17`. Lines are
//! sorted as bytes by their stacks, as inferno's library requires, and no line has a count of 0. A frame is the name of its
//! function, with the mark for its kind in the notation of perf's tools (`_[k]`).

use std::io::Write;

use cg_collections::intern::Made;
use cg_collections::sorting::Order as _;
use cg_document::number::{grouped, plural};
use cg_stream::record::{Count, FrameMarks};
use cg_tool::Diagnostics;

use super::holds::{FormatHolds, Held};
use super::stacks::{
    FrameTexts, InnerNeighbours, Losses, StackNodeId, StackNodes, WrittenStacks, frame_name,
};
use crate::export::Export;

const HOLDS: FormatHolds = FormatHolds {
    format: "folded stacks",
    one_event: true,
    held: &[Held::Inlined, Held::Jit, Held::Wakers],
};

/// Writes the stacks of a profile with one of their events.
pub(crate) fn write(export: Export<'_>) -> anyhow::Result<()> {
    let (profile, options, diagnostics) = (export.profile, export.options, export.diagnostics);
    let stacks = WrittenStacks::select(profile, options, &HOLDS, diagnostics)?;
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
        losses.record(&stack);
        for (number, frame) in stack.frames() {
            frames.push(made.get_or_make(number, || {
                texts.intern(&frame_name(&stacks.written(frame)), marks(frame.marks()))
            })?);
        }
        if let Some(node) = nodes.stack(&frames)? {
            nodes.add(node, stack.counts);
        }
        anyhow::Ok(())
    })?;
    nodes.close();
    FoldedLines::new(&nodes, &texts).write(export.out)?;
    export.out.flush()?;
    losses.warn(&HOLDS, diagnostics);
    left_out.warn(&stacks, diagnostics);
    warn_about_changed_names(&texts, diagnostics);
    Ok(())
}

/// Returns the marks of a frame in the notation of perf's tools: at most two, kernel or JIT before inlined or waker.
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

/// Warns about names that folded stacks cannot hold unchanged.
pub(super) fn warn_about_changed_names(texts: &FrameTexts, diagnostics: &mut Diagnostics) {
    if texts.changed() > 0 {
        diagnostics.warn(format!(
            "{} changed: folded stacks cannot hold \";\", control characters, blanks at the ends of a name, or a number after its last blank",
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
    fn warn(&self, stacks: &WrittenStacks, diagnostics: &mut Diagnostics) {
        let [one, many] = stacks.nouns;
        if self.zero > 0 {
            let zero = plural(self.zero.into(), one, many);
            diagnostics.warn(format!("{zero} without {} left out", stacks.events[0]));
        }
        if self.negative > 0 {
            diagnostics.warn(format!(
                "{} with negative counts left out ({} {}): folded stacks have no negative counts",
                plural(self.negative.into(), one, many),
                grouped(self.negative_sum),
                stacks.events[0]
            ));
        }
    }
}

/// The lines, sorted as bytes by their stacks.
struct FoldedLines<'s> {
    nodes: &'s StackNodes,
    texts: &'s FrameTexts,
    children: InnerNeighbours,
}

/// A step of the traversal.
#[derive(Clone, Copy)]
enum FoldingStep {
    /// Writes the stack that ends with this frame, `f`.
    Own(StackNodeId),
    /// Writes all stacks that begin with this frame and have more frames, `f;`.
    Inner(StackNodeId),
    /// Truncates the line to this length.
    Back(usize),
}

impl<'s> FoldedLines<'s> {
    fn new(nodes: &'s StackNodes, texts: &'s FrameTexts) -> FoldedLines<'s> {
        FoldedLines {
            nodes,
            texts,
            children: nodes.children(&texts.ranks()),
        }
    }

    /// Traverses the tree with an explicit stack, because profiled stacks may be deeper than our own call stack.
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

    /// Pushes the steps for the frames below a node, in reverse order. `a b` precedes `a;`, and both follow the stack that
    /// ends with `a`.
    fn push_steps(&self, node: Option<StackNodeId>, steps: &mut Vec<FoldingStep>) {
        let begin = steps.len();
        for child in self.children.get(node) {
            if self.nodes.own(*child).iter().any(|count| *count != 0) {
                steps.push(FoldingStep::Own(*child));
            }
            if !self.children.get(Some(*child)).is_empty() {
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
                .map(|name| texts.intern(name, "").unwrap())
                .collect();
            let node = nodes.stack(&frames).unwrap().unwrap();
            nodes.add(node, &[count.parse().unwrap()]);
        }
        let mut out = Vec::new();
        FoldedLines::new(&nodes, &texts).write(&mut out).unwrap();
        let mut sorted = lines.to_vec();
        sorted.sort_by_key(|line| line.rsplit_once(' ').unwrap().0);
        assert_eq!(
            String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(),
            sorted
        );
    }
}
