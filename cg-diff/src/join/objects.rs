//! Finds the objects that were renamed as a whole, as a program is that was copied before it was changed.

use cg_stream::profile::Symbol;
use cg_stream::record::RecordType;

use super::buckets::Buckets;
use super::{Draft, Joiner, Map, Sides};
use crate::key::normal::Level;
use cg_names::paths;

impl Joiner<'_> {
    /// Objects of different sides under different names that hold the same functions: the program itself, renamed.
    pub(super) fn find_object_aliases(&mut self) {
        let mut sides_of: Map<Symbol, Sides> = Map::default();
        let mut by_function: Buckets<(Symbol, Option<Symbol>)> = Buckets::default();
        let mut objects = Vec::new();
        for draft in 0..self.drafts.len() {
            let Draft { of, key, sides, .. } = self.drafts[draft];
            if of != RecordType::Fn {
                continue;
            }
            let function = self.normalised_function(key.function, Level::Build);
            if let Some(object) = function.obj {
                *sides_of.entry(object).or_default() |= sides;
                if let Some(name) = function.name.filter(|_| sides != self.all_sides()) {
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
            // A function that many objects have, such as `_init`, says little and would cost much.
            if bucket.len() > 8 {
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
        let symbols = &self.runs.names.symbols;
        let mut pairs: Vec<((Symbol, Symbol), usize)> = shared
            .into_iter()
            .filter(|((a, b), count)| *count >= 3 && count * 2 >= sizes[a].min(sizes[b]))
            .collect();
        pairs.sort_by_key(|((a, b), count)| {
            (
                std::cmp::Reverse(*count),
                symbols.text(*a).to_owned(),
                symbols.text(*b).to_owned(),
            )
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
        self.object_aliases = aliases;
    }

    /// True for an object that goes by another name on another side.
    pub(super) fn is_aliased(&self, object: Symbol) -> bool {
        let symbols = &self.runs.names.symbols;
        symbols
            .find(paths::base_name(symbols.text(object)))
            .is_some_and(|base| {
                self.object_aliases
                    .iter()
                    .any(|(from, to)| *from == base || *to == base)
            })
    }
}
