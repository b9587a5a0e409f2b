//! Finds renamed objects, such as a program that was copied before it was changed.

use cg_collections::sorting::Order as _;
use cg_names::paths;
use cg_profile::Symbol;

use super::buckets::Buckets;
use super::{Joiner, Map, Sides};
use crate::key::normal::Level;

/// Functions in more objects than this, such as `_init`, are skipped: they are weak evidence and expensive to compare.
const MOST_OBJECTS: usize = 8;

/// The minimum number of shared functions, if there is no other evidence that two objects are the same.
const ENOUGH_SHARED: usize = 3;

impl Joiner<'_> {
    /// Finds objects of different sides with different names and the same functions.
    pub(super) fn find_object_aliases(&mut self) {
        let mut sides_of: Map<Symbol, Sides> = Map::default();
        let mut by_function: Buckets<(Symbol, Option<Symbol>), usize> = Buckets::default();
        let mut objects = Vec::new();
        for node in self.functions.nodes() {
            let function = self.functions.key(node);
            let Some(object) = function.obj else { continue };
            let object = self.names.object_name(object);
            *sides_of.entry(object).or_default() |= 1 << self.functions.side(node);
            let class = self.functions.class(node);
            if self.functions.sides_of(class) != self.all_sides()
                && !self.names.is_nameless(function.name)
            {
                let function = self.names.function(function, Level::Build);
                if let Some(name) = function.name {
                    by_function.add((name, function.file), objects.len());
                    objects.push(object);
                }
            }
        }
        let mut sizes: Map<Symbol, usize> = Map::default();
        for object in &objects {
            *sizes.entry(*object).or_default() += 1;
        }
        let mut shared: Map<(Symbol, Symbol), usize> = Map::default();
        for bucket in by_function.into_vec() {
            if bucket.len() > MOST_OBJECTS {
                continue;
            }
            for (position, a) in bucket.iter().enumerate() {
                for b in &bucket[position + 1..] {
                    let (a, b) = (objects[*a].min(objects[*b]), objects[*a].max(objects[*b]));
                    if sides_of[&a] & sides_of[&b] == 0 {
                        *shared.entry((a, b)).or_default() += 1;
                    }
                }
            }
        }
        let programs = self.programs();
        let is_program = |object: Symbol| programs.contains(self.names.text(object));
        let mut pairs: Vec<((Symbol, Symbol), usize)> = shared
            .into_iter()
            .filter(|((a, b), count)| {
                // The executed programs need no further evidence.
                let are_programs = is_program(*a) && is_program(*b);
                (*count >= ENOUGH_SHARED || are_programs) && count * 2 >= sizes[a].min(sizes[b])
            })
            .collect();
        pairs.order_by_key(|((a, b), count)| {
            let text = |symbol: &Symbol| self.names.text(*symbol).to_owned();
            (std::cmp::Reverse(*count), text(a), text(b))
        });
        let mut aliases: Map<Symbol, Symbol> = Map::default();
        for ((a, b), _) in pairs {
            let target = aliases.get(&a).copied().unwrap_or(a);
            if aliases.contains_key(&b) || sides_of[&target] & sides_of[&b] != 0 {
                continue;
            }
            let sides = sides_of[&b];
            sides_of.entry(target).and_modify(|known| *known |= sides);
            aliases.insert(b, target);
        }
        self.names.object_aliases = aliases;
    }

    /// Returns the names of the executed programs, from the commands of the runs.
    fn programs(&self) -> std::collections::BTreeSet<String> {
        let runs = self.runs.profiles.iter().flat_map(|profile| profile.runs());
        runs.filter_map(|run| run.command.as_deref()?.split_whitespace().next())
            .map(|program| paths::base_name(program).to_owned())
            .collect()
    }
}
