//! The choice of the frames to draw, and their widths. Invisible frames are left out, so that a picture of a million stacks
//! opens.
//!
//! The width of a frame that is left out remains with its caller, so widths always add up to the total.

use cg_collections::intern::Id;
use cg_stream::record::Count;

use super::super::stacks::{FrameTexts, InnerNeighbours, StackNodeId, StackNodes};

/// Limits on the frames of a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct PictureLimits {
    /// Frames narrower than this percentage are left out.
    least_percent: f64,
    /// The maximum number of frames; the narrowest are left out.
    most: usize,
    /// The maximum depth; deeper frames are left out.
    deepest: usize,
}

impl Default for PictureLimits {
    fn default() -> PictureLimits {
        PictureLimits {
            // A tenth of a pixel.
            least_percent: 0.01,
            // A browser draws 20,000 frames (6 MB) without a noticeable pause.
            most: 20_000,
            deepest: 512,
        }
    }
}

impl PictureLimits {
    /// Returns the default limits, with another percentage if one is given.
    pub(super) fn from_percent(percent: Option<f64>) -> PictureLimits {
        let limits = PictureLimits::default();
        PictureLimits {
            least_percent: percent.unwrap_or(limits.least_percent),
            ..limits
        }
    }
}

/// The frames of a picture, each followed by its callees.
#[derive(Default)]
pub(super) struct FrameLayout {
    pub(super) frames: Vec<DrawnFrame>,
    /// The inclusive cost of each node.
    costs: Vec<Count>,
    pub(super) total: Count,
    /// The part of the total that is not in any frame.
    pub(super) rest: Count,
    /// The minimum cost of a drawn frame.
    pub(super) least: Count,
    /// The number of frames that were too narrow.
    pub(super) narrow: usize,
    /// The number of frames that were too far from the root.
    pub(super) deep: usize,
    pub(super) deepest: usize,
}

/// A frame that is drawn.
pub(super) struct DrawnFrame {
    pub(super) node: StackNodeId,
    /// 0 for the outermost frame of a stack.
    pub(super) depth: usize,
    /// Its left edge, in the unit of costs.
    pub(super) start: Count,
    /// The part of its width that drawn callees do not cover.
    bare: Count,
}

impl FrameLayout {
    /// Lays out nodes by their inclusive costs.
    pub(super) fn lay_out(
        nodes: &StackNodes,
        texts: &FrameTexts,
        costs: Vec<Count>,
        limits: PictureLimits,
    ) -> FrameLayout {
        let roots = nodes.all().filter(|node| nodes.outer(*node).is_none());
        let total: Count = roots.map(|node| costs[node.index()]).sum();
        let least = ((total as f64 * limits.least_percent / 100.0).ceil() as Count).max(1);
        let mut layout = FrameLayout {
            costs,
            total,
            rest: total,
            least,
            deepest: limits.deepest,
            ..FrameLayout::default()
        };
        // Only drawn frames are sorted, because most frames of a large profile are too narrow.
        let drawn = layout.choose_nodes(nodes, limits.most);
        let ranks = texts.ranks_among(drawn.iter().map(|node| nodes.frame(*node)));
        layout.frames.reserve(drawn.len());
        layout.place_frames(&nodes.children_among(&drawn, &ranks));
        layout
    }

    /// Chooses the nodes to draw, and counts the others. A caller of a chosen node is also chosen, because it is as wide and
    /// less deep.
    fn choose_nodes(&mut self, nodes: &StackNodes, most: usize) -> Vec<StackNodeId> {
        let mut chosen = Vec::new();
        for (node, depth) in nodes.all().zip(depths(nodes)) {
            let cost = self.cost(node);
            let is_deep = depth as usize >= self.deepest;
            if cost >= self.least && !is_deep {
                chosen.push(node);
            } else if cost > 0 {
                self.deep += usize::from(is_deep);
                self.narrow += usize::from(!is_deep);
            }
        }
        if chosen.len() > most {
            let mut costs: Vec<Count> = chosen.iter().map(|node| self.cost(*node)).collect();
            let (_, next, _) = costs.select_nth_unstable_by(most, |a, b| b.cmp(a));
            self.least = *next + 1;
            let candidates = chosen.len();
            chosen.retain(|node| self.cost(*node) >= self.least);
            self.narrow += candidates - chosen.len();
        }
        chosen
    }

    /// Places the chosen nodes, each below its callees. `children` has only chosen nodes.
    fn place_frames(&mut self, children: &InnerNeighbours) {
        // An explicit stack, because profiled stacks may be deeper than our own call stack. An entry is a node, its depth,
        // and the position of the frame below it.
        let mut waiting: Vec<(StackNodeId, usize, Option<usize>)> = Vec::new();
        let outermost = children.get(None).iter().rev();
        waiting.extend(outermost.map(|node| (*node, 0, None)));
        while let Some((node, depth, below)) = waiting.pop() {
            let cost = self.cost(node);
            match below {
                Some(below) => self.frames[below].bare -= cost,
                None => self.rest -= cost,
            }
            let position = self.frames.len();
            self.frames.push(DrawnFrame {
                node,
                depth,
                start: 0,
                bare: cost,
            });
            let inner = children.get(Some(node)).iter().rev();
            waiting.extend(inner.map(|node| (*node, depth + 1, Some(position))));
        }
        // The callees of a frame begin after its bare part.
        let mut next = vec![0];
        for frame in &mut self.frames {
            frame.start = next[frame.depth];
            next[frame.depth] += self.costs[frame.node.index()];
            next.truncate(frame.depth + 1);
            next.push(frame.start + frame.bare);
        }
    }

    pub(super) fn cost(&self, node: StackNodeId) -> Count {
        self.costs[node.index()]
    }
}

/// Returns the depth of each node; 0 for outermost frames.
fn depths(nodes: &StackNodes) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(nodes.len());
    for node in nodes.all() {
        let outer = nodes.outer(node);
        depths.push(outer.map_or(0, |outer| depths[outer.index()] + 1));
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out folded stacks. Returns the picture as folded stacks, and the numbers of narrow and of deep frames.
    fn lines(stacks: &[&str], limits: PictureLimits) -> (Vec<String>, usize, usize) {
        let mut texts = FrameTexts::default();
        let mut nodes = StackNodes::new(1);
        for line in stacks {
            let (stack, count) = line.rsplit_once(' ').unwrap();
            let frames: Vec<_> = stack
                .rsplit(';')
                .map(|name| texts.intern(name, "").unwrap())
                .collect();
            let node = nodes.stack(&frames).unwrap().unwrap();
            nodes.add(node, &[count.parse().unwrap()]);
        }
        let layout = FrameLayout::lay_out(&nodes, &texts, nodes.inclusive(), limits);
        let mut lines = Vec::new();
        let mut path: Vec<&str> = Vec::new();
        for frame in &layout.frames {
            path.truncate(frame.depth);
            path.push(texts.text(nodes.frame(frame.node)));
            if frame.bare > 0 {
                lines.push(format!("{} {}", path.join(";"), frame.bare));
            }
        }
        if layout.rest > 0 {
            lines.push(format!("[too narrow to draw] {}", layout.rest));
        }
        let sum: Count = lines
            .iter()
            .map(|line| line.rsplit_once(' ').unwrap().1.parse::<Count>().unwrap())
            .sum();
        assert_eq!(sum, layout.total);
        (lines, layout.narrow, layout.deep)
    }

    const STACKS: [&str; 5] = ["main;b;c 60", "main;a 30", "main 5", "main;b 4", "idle 1"];

    #[test]
    fn widths_add_up_to_the_total() {
        let all = lines(&STACKS, PictureLimits::default());
        assert_eq!(
            all,
            (
                ["idle 1", "main 5", "main;a 30", "main;b 4", "main;b;c 60"]
                    .map(str::to_owned)
                    .to_vec(),
                0,
                0
            )
        );
    }

    #[test]
    fn width_of_narrow_frames_remains_with_their_caller() {
        let limits = PictureLimits {
            least_percent: 40.0,
            ..PictureLimits::default()
        };
        let expected = [
            "main 35",
            "main;b 4",
            "main;b;c 60",
            "[too narrow to draw] 1",
        ];
        assert_eq!(
            lines(&STACKS, limits),
            (expected.map(str::to_owned).to_vec(), 2, 0)
        );
    }

    #[test]
    fn only_the_widest_frames_are_drawn_if_there_are_too_many() {
        let limits = PictureLimits {
            most: 2,
            ..PictureLimits::default()
        };
        // `main` 99, `b` 64, `c` 60: the third is not drawn.
        let expected = ["main 35", "main;b 64", "[too narrow to draw] 1"];
        assert_eq!(
            lines(&STACKS, limits),
            (expected.map(str::to_owned).to_vec(), 3, 0)
        );
    }

    #[test]
    fn a_deep_stack_is_drawn_up_to_512_frames() {
        let deep = format!("{} 7", ["f"; 100_000].join(";"));
        let (lines, narrow, left_out) = lines(&[&deep], PictureLimits::default());
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].matches('f').count(), 512);
        assert_eq!((narrow, left_out), (0, 100_000 - 512));
    }
}
