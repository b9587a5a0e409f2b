//! Finds the functions that one run has by a legacy name and another by names of the v0 mangling.

use cg_stream::profile::{FunctionKey, Symbol};

use super::buckets::Buckets;
use super::{Joiner, Map, Sides};
use crate::key::normal::Level;
use cg_names::mangling::{Path, can_be_instance};

/// Past this many pairs of names with one ending in one file, these are let be: trying them all would take too long.
const MOST_PAIRS: usize = 1_000_000;

/// A function that some side lacks, normalised.
struct Function {
    key: FunctionKey,
    name: Symbol,
    sides: Sides,
}

impl Joiner<'_> {
    /// For each function by a v0 name that a side lacks, the one that side has by the legacy name that fits best.
    pub(super) fn find_mangling_aliases(&mut self) {
        let functions = self.functions_some_side_lacks();
        let text = |function: &Function| self.runs.names.symbols.text(function.name);
        let paths: Vec<Path> = functions
            .iter()
            .map(|function| Path::new(text(function)))
            .collect();
        let mut buckets = Buckets::default();
        for (position, Function { key, .. }) in functions.iter().enumerate() {
            buckets.add((key.file, key.obj, paths[position].ending()), position);
        }
        let mut aliases = Map::default();
        for bucket in buckets.into_vec() {
            if pairs(bucket.iter().map(|position| functions[*position].sides)) > MOST_PAIRS {
                continue;
            }
            for instance in &bucket {
                let function = &functions[*instance];
                if !can_be_instance(text(function)) {
                    continue;
                }
                let fits = bucket
                    .iter()
                    .filter(|pattern| functions[**pattern].sides & function.sides == 0)
                    .filter_map(|pattern| {
                        let equal = paths[*instance].matches(&paths[*pattern])?;
                        Some((equal, *pattern))
                    })
                    .collect();
                if let Some(pattern) = best(fits) {
                    aliases.insert(function.key, functions[pattern].key);
                }
            }
        }
        self.mangling_aliases = aliases;
    }

    /// What some side lacks, where any of it can be a v0 name: nothing else is worth a look.
    fn functions_some_side_lacks(&mut self) -> Vec<Function> {
        let all = self.all_sides();
        let mut sides_of: Map<FunctionKey, Sides> = Map::default();
        for draft in &self.drafts {
            let key = &draft.key;
            let frames = key
                .stack
                .map_or(&[][..], |stack| self.runs.names.stacks.frames(stack));
            let functions = frames.iter().map(|frame| frame.function);
            for function in functions.chain([key.function]).chain(key.callee) {
                *sides_of.entry(function).or_default() |= draft.sides;
            }
        }
        let symbols = &self.runs.names.symbols;
        let mut lacking: Vec<(FunctionKey, Sides)> = sides_of
            .into_iter()
            .filter(|(function, sides)| *sides != all && function.name.is_some())
            .collect();
        let is_v0 = |name: Symbol| can_be_instance(symbols.text(name));
        if !lacking.iter().any(|(key, _)| key.name.is_some_and(is_v0)) {
            return Vec::new();
        }
        // A map has no order of its own, and the joined rows shall have one.
        lacking.sort_unstable();
        let mut normalised: Map<FunctionKey, Sides> = Map::default();
        let mut functions = Vec::new();
        for (function, sides) in lacking {
            let key = self.normalised_function(function, Level::Counter);
            *normalised.entry(key).or_insert_with(|| {
                functions.extend(key.name.map(|name| Function { key, name, sides }));
                0
            }) |= sides;
        }
        for function in &mut functions {
            function.sides = normalised[&function.key];
        }
        functions
    }
}

/// How many pairs of different sides there are, each counted from both its ends.
fn pairs(sides: impl Iterator<Item = Sides>) -> usize {
    let mut count: Map<Sides, usize> = Map::default();
    for sides in sides {
        *count.entry(sides).or_default() += 1;
    }
    let all: usize = count.values().sum();
    count.values().map(|same| same * (all - same)).sum()
}

/// The pattern that has most in common with the instance, if one alone has.
fn best(mut fits: Vec<(usize, usize)>) -> Option<usize> {
    fits.sort_unstable();
    match fits[..] {
        [.., (second, _), (first, _)] if second == first => None,
        [.., (_, pattern)] => Some(pattern),
        [] => None,
    }
}
