//! The allocation stacks that the tree of a Massif snapshot shows, and the groups that may contain a stack that it does not
//! show.
//!
//! Massif prints places whose bytes are below its threshold as one group, `in 3 places, all below massif's threshold`. In
//! the stream, the group is a `heap` record with `places`, whose stack is the common part of their stacks. A stack that
//! begins with this part, and continues with a frame that the tree does not show there, may be one of the places.

use std::hash::Hash;

use cg_collections::maps::Map;
use cg_stream::record::Count;

/// A frame of a path: its function, and its line if lines distinguish places.
pub type PlaceFrame<F> = (F, Option<u64>);

/// A group of places that Massif printed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedPlaces {
    /// The caller's number for the group.
    pub id: usize,
    /// The sum of the places' bytes.
    pub bytes: Count,
    /// The number of common frames of the places' paths.
    pub depth: usize,
}

/// The tree of one snapshot. Paths begin at the innermost frame. `F` is the id of a function.
#[derive(Clone, Debug)]
pub struct ShownPlaces<F> {
    /// The children of each node, by function and line. The root is 0.
    shown: Map<(u32, PlaceFrame<F>), u32>,
    /// The children of each node, by function only. Lines move between builds, but a group contains the same functions.
    functions: Map<(u32, F), u32>,
    /// The groups, by node of `functions`.
    groups: Map<u32, Vec<MergedPlaces>>,
}

impl<F> Default for ShownPlaces<F> {
    fn default() -> ShownPlaces<F> {
        ShownPlaces {
            shown: Map::default(),
            functions: Map::default(),
            groups: Map::default(),
        }
    }
}

impl<F: Copy + Eq + Hash> ShownPlaces<F> {
    /// Adds a path that the tree shows. If it is the path of a group, `group` is the group's number and bytes.
    pub fn add(
        &mut self,
        path: impl IntoIterator<Item = PlaceFrame<F>>,
        group: Option<(usize, Count)>,
    ) {
        let (mut shown, mut function, mut depth) = (0, 0, 0);
        for frame in path {
            depth += 1;
            let next = self.shown.len() as u32 + 1;
            shown = *self.shown.entry((shown, frame)).or_insert(next);
            let next = self.functions.len() as u32 + 1;
            function = *self.functions.entry((function, frame.0)).or_insert(next);
        }
        if let Some((id, bytes)) = group {
            let group = MergedPlaces { id, bytes, depth };
            self.groups.entry(function).or_default().push(group);
        }
    }

    /// Returns true if the tree shows all places.
    pub fn is_whole(&self) -> bool {
        self.groups.is_empty()
    }

    /// Returns the groups that may contain a place with this path; empty if the tree shows all places near it.
    pub fn hiding(&self, path: impl IntoIterator<Item = PlaceFrame<F>>) -> Vec<MergedPlaces> {
        let mut found = Vec::new();
        let (mut shown, mut function) = (Some(0), 0);
        for frame in path {
            shown = shown.and_then(|node| self.shown.get(&(node, frame)).copied());
            if shown.is_none() {
                found.extend(self.groups.get(&function).into_iter().flatten());
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

    /// Parses a path such as `f:8 g`, in which each letter is a function.
    fn path(text: &str) -> Vec<PlaceFrame<char>> {
        let frames = text.split_whitespace().map(|frame| {
            let (name, line) = frame.split_once(':').unwrap_or((frame, ""));
            (name.chars().next().unwrap(), line.parse().ok())
        });
        frames.collect()
    }

    #[test]
    fn places_that_a_group_may_contain_are_distinguished_from_missing_places() {
        let mut tree = ShownPlaces::default();
        let places = |id| Some((id, 7));
        // The root has a group. `f:1 m:9` shows all its callers; `g:2` has a group of callers.
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
            // The line of g differs in the other run.
            ("g:3 m:4", &[0, 1]),
            ("", &[]),
        ] {
            let hiding = tree.hiding(path(stack));
            let ids: Vec<usize> = hiding.iter().map(|group| group.id).collect();
            assert_eq!(ids, expected, "{stack}");
        }
        assert!(!tree.is_whole());
    }
}
