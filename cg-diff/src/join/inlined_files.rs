//! Joins functions whose file changed because other code is inlined at their first line. Callgrind takes the file of a
//! function from its first line.

use cg_names::paths;
use cg_names::rules::MatchedRules;
use cg_profile::FunctionKey;

use super::Joiner;
use super::functions::{Certainty, FunctionIndex};
use crate::key::normal::Level;

impl Joiner<'_> {
    /// Joins functions of one name in one object, one per side, if one of their files holds mostly inlined code.
    pub(super) fn join_inlined_files(&mut self) {
        let place = |joiner: &mut Self, key: FunctionKey| {
            if joiner.names.is_nameless(key.name) {
                return None;
            }
            let function = joiner.names.function(key, Level::Counter);
            Some((function.name?, function.obj?))
        };
        for bucket in self.open_by(place) {
            let mut is_inlined = false;
            for class in &bucket {
                if let Some(file) = self.functions.key(*class).file {
                    let file = self.names.file(file);
                    is_inlined |= paths::is_mostly_inlined(self.names.text(file));
                }
            }
            if is_inlined && self.are_disjoint(&bucket) {
                let matched = MatchedRules::INLINED_FILE;
                for class in &bucket[1..] {
                    self.functions
                        .unite(bucket[0], *class, matched, Certainty::Certain);
                }
            }
        }
    }

    /// Returns true if no two of these classes are on the same side.
    pub(super) fn are_disjoint(&self, classes: &[FunctionIndex]) -> bool {
        let sides = classes.iter().map(|class| self.functions.sides_of(*class));
        let together = sides.clone().fold(0, |together, sides| together | sides);
        sides.map(|sides| sides.count_ones()).sum::<u32>() == together.count_ones()
    }
}
