//! Which allocation stacks the tree of a Massif snapshot tells, and among which it may hide one.
//!
//! Massif prints places whose bytes are below its threshold as one, `in 3 places, all below massif's threshold`; in the
//! stream that is a `heap` record with `places`, whose stack is what they have in common. A stack that begins with it, and
//! goes on by a frame that the tree does not show there, may be one of them.

use std::hash::Hash;

use crate::maps::Map;
use crate::record::Count;

/// A frame of a path: its function, and its line where lines tell places apart.
pub type PlaceFrame<F> = (F, Option<u64>);

/// Places that a tree does not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UntoldPlaces {
    /// A number of the caller's for them.
    pub id: usize,
    /// What they hold together.
    pub bytes: Count,
    /// How many frames their paths have in common.
    pub depth: usize,
}

/// The tree of one snapshot, by functions of any sort of id. Paths begin at the innermost frame.
#[derive(Clone, Debug)]
pub struct ToldPlaces<F> {
    /// The nodes below each node, by function and line; the root is 0.
    shown: Map<(u32, PlaceFrame<F>), u32>,
    /// The same by function alone: lines move between builds, and what is hidden is hidden all the same.
    functions: Map<(u32, F), u32>,
    /// By node of `functions`.
    untold: Map<u32, Vec<UntoldPlaces>>,
}

impl<F> Default for ToldPlaces<F> {
    fn default() -> ToldPlaces<F> {
        ToldPlaces {
            shown: Map::default(),
            functions: Map::default(),
            untold: Map::default(),
        }
    }
}

impl<F: Copy + Eq + Hash> ToldPlaces<F> {
    /// Adds a path that the tree shows, with number and bytes of the places that it does not tell apart there.
    pub fn add(
        &mut self,
        path: impl IntoIterator<Item = PlaceFrame<F>>,
        untold: Option<(usize, Count)>,
    ) {
        let (mut shown, mut function, mut depth) = (0, 0, 0);
        for frame in path {
            depth += 1;
            let next = self.shown.len() as u32 + 1;
            shown = *self.shown.entry((shown, frame)).or_insert(next);
            let next = self.functions.len() as u32 + 1;
            function = *self.functions.entry((function, frame.0)).or_insert(next);
        }
        if let Some((id, bytes)) = untold {
            let untold = UntoldPlaces { id, bytes, depth };
            self.untold.entry(function).or_default().push(untold);
        }
    }

    /// True where the tree tells all places.
    pub fn is_whole(&self) -> bool {
        self.untold.is_empty()
    }

    /// The places among which one with this path may be; none where the tree tells all that is around it.
    pub fn hiding(&self, path: impl IntoIterator<Item = PlaceFrame<F>>) -> Vec<UntoldPlaces> {
        let mut found = Vec::new();
        let (mut shown, mut function) = (Some(0), 0);
        for frame in path {
            shown = shown.and_then(|node| self.shown.get(&(node, frame)).copied());
            if shown.is_none() {
                found.extend(self.untold.get(&function).into_iter().flatten());
            }
            match self.functions.get(&(function, frame.0)) {
                Some(next) => function = *next,
                None => break,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `f:8 g` as a path: a letter a function.
    fn path(text: &str) -> Vec<PlaceFrame<char>> {
        let frames = text.split_whitespace().map(|frame| {
            let (name, line) = frame.split_once(':').unwrap_or((frame, ""));
            (name.chars().next().unwrap(), line.parse().ok())
        });
        frames.collect()
    }

    #[test]
    fn what_may_be_hidden_is_told_from_what_is_not_there() {
        let mut tree = ToldPlaces::default();
        let places = |id| Some((id, 7));
        // The root hides some, `f:1 m:9` tells all its callers, `g:2` hides some of its.
        tree.add(path(""), places(0));
        tree.add(path("f:1 m:9 n:3"), None);
        tree.add(path("g:2 m:4"), None);
        tree.add(path("g:2"), places(1));
        for (stack, expected) in [
            ("f:1 m:9 n:3", &[][..]),
            ("f:1 m:9 x:1", &[]),
            ("f:1 m:9", &[]),
            ("f:1 x:1", &[]),
            ("x:1 m:9", &[0]),
            ("f:5 m:9", &[0]),
            ("g:2 m:4", &[]),
            ("g:2 m:5", &[1]),
            // In the other run g's line is another.
            ("g:3 m:4", &[0, 1]),
            ("", &[]),
        ] {
            let hiding = tree.hiding(path(stack));
            let ids: Vec<usize> = hiding.iter().map(|untold| untold.id).collect();
            assert_eq!(ids, expected, "{stack}");
        }
        assert!(!tree.is_whole());
    }
}
