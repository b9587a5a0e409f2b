//! Adds compiler-made parts and copies to their function, if the other side has different ones.
//!
//! `parse.cold` of one build and `parse.part.0` of another are pieces of `parse`. Remaining pieces are added to a piece of
//! the same function that both sides have.

use cg_collections::sorting::Order as _;
use cg_names::rules::MatchedRules;
use cg_profile::FunctionKey;

use super::functions::{Certainty, FunctionIndex};
use super::{Joiner, Map};
use crate::key::normal::Level;

impl Joiner<'_> {
    /// Adds the remaining pieces to their functions.
    pub(super) fn fold_parts(&mut self) {
        let mut wanted: Map<(FunctionKey, usize), Vec<FunctionIndex>> = Map::default();
        let mut trunks = std::collections::BTreeSet::new();
        for class in self.open() {
            let key = self.functions.key(class);
            if self.functions.sides_of(class).count_ones() == 1 && !self.names.is_nameless(key.name)
            {
                let trunk = self.names.function(key, Level::Part);
                trunks.extend(trunk.name);
                wanted
                    .entry((trunk, self.functions.side(class)))
                    .or_default()
                    .push(class);
            }
        }
        let mut pieces: Map<(FunctionKey, usize), Vec<FunctionIndex>> = Map::default();
        for node in self.functions.nodes() {
            let key = self.functions.key(node);
            let Some(name) = key.name else { continue };
            // Names of pieces have a suffix after a dot.
            if !trunks.contains(&name) && !self.names.text(name).contains('.') {
                continue;
            }
            let place = (
                self.names.function(key, Level::Part),
                self.functions.side(node),
            );
            if wanted.contains_key(&place) {
                pieces.entry(place).or_default().push(node);
            }
        }
        let mut wanted: Vec<_> = wanted.into_iter().collect();
        wanted.order_by(|a, b| a.1.cmp(&b.1));
        for (place, left_over) in wanted {
            let pieces = pieces.get(&place).into_iter().flatten().copied();
            let home = pieces.filter(|node| {
                let class = self.functions.class(*node);
                self.functions.sides_of(class).count_ones() > 1
            });
            // The shortest name is the name of the function itself.
            let rank = |node: &FunctionIndex| {
                let name = self.functions.key(*node).name;
                let name = name.map(|name| self.names.text(name).to_owned());
                (name.as_ref().map(String::len), name, *node)
            };
            let Some(home) = home.min_by_key(rank) else {
                continue;
            };
            for class in left_over {
                self.unite_by_names(
                    [home, class],
                    Level::Part,
                    MatchedRules::NONE,
                    Certainty::Certain,
                );
            }
        }
    }
}
