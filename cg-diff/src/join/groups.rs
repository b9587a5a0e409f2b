//! Joins functions whose normalised names allow several pairings.
//!
//! A group has the functions with the same normalised name, file name and object name. The longest common ending of their
//! paths decides first. If paths do not decide, likeness decides, for the whole group at once.

use cg_collections::sorting::Order as _;
use cg_names::paths;
use cg_names::rules::MatchedRules;
use cg_profile::{FunctionKey, Symbol};

use super::assign::{self, LikelyPair};
use super::facts::{self, MOST_LIKE, NodeFacts};
use super::functions::{Certainty, FunctionIndex};
use super::{Joiner, Map, Sides};
use crate::key::normal::Level;

/// If a group has more possible pairs, only equal names are joined, because likeness cannot distinguish so many functions.
const MOST_PAIRS: usize = 250_000;

/// The weight of common paths: a longer one outweighs all the likeness in a group.
const PATH_WEIGHT: i64 = MOST_LIKE * 1_000;

/// A class to be paired, with the key of one of its sides.
#[derive(Clone, Copy)]
struct Member {
    class: FunctionIndex,
    key: FunctionKey,
    sides: Sides,
    /// File and object, normalised but with their directories.
    file: Option<Symbol>,
    object: Option<Symbol>,
    /// True for closures without a number, as in the legacy mangling, and for closures that are paired with them.
    is_unnumbered: bool,
}

impl Joiner<'_> {
    /// Joins open classes by their names at a level.
    pub(super) fn join_level(&mut self, level: Level) {
        let groups = self.open_by(|joiner, key| {
            // Names with counters wait for the last level, where the counter is only evidence.
            let waits = level < Level::Counter && joiner.names.is_contested(key.name);
            let is_named = !waits && !joiner.names.is_nameless(key.name);
            is_named.then(|| joiner.names.function(key, level))
        });
        let groups: Vec<Vec<Member>> = groups
            .into_iter()
            .map(|group| group.into_iter().map(|class| self.member(class)).collect())
            .collect();
        let is_open = |group: &&Vec<Member>| group.len() > 2;
        let nodes: Vec<FunctionIndex> = groups
            .iter()
            .filter(is_open)
            .flatten()
            .map(|member| member.class)
            .collect();
        let facts = self.collect_facts(&nodes);
        for group in groups {
            self.pair(group, level, &facts);
        }
    }

    /// Collects the facts about classes, by their first nodes.
    pub(super) fn collect_facts(&self, classes: &[FunctionIndex]) -> Map<FunctionIndex, NodeFacts> {
        let wanted: std::collections::BTreeSet<FunctionIndex> = classes.iter().copied().collect();
        if wanted.is_empty() {
            return Map::default();
        }
        let nodes = self
            .functions
            .nodes()
            .filter(|node| wanted.contains(&self.functions.class(*node)));
        let mut facts = facts::collect(self.runs, &self.types, &self.functions, nodes);
        // A side may have a class under several files or names; their facts are added up.
        let mut others: Vec<FunctionIndex> = facts.keys().copied().collect();
        others.retain(|node| !wanted.contains(node));
        others.sort_unstable();
        for node in others {
            let class = self.functions.class(node);
            if let Some(own) = facts.remove(&node)
                && let Some(first) = facts.get_mut(&class)
            {
                first.add(&own);
            }
        }
        facts
    }

    fn member(&mut self, class: FunctionIndex) -> Member {
        let key = self.functions.key(class);
        let is_unnumbered = |name: Symbol| self.names.text(name).contains("{{");
        Member {
            is_unnumbered: key.name.is_some_and(is_unnumbered),
            class,
            key,
            sides: self.functions.sides_of(class),
            file: key.file.map(|file| self.names.file(file)),
            object: key.obj.map(|object| self.names.object(object)),
        }
    }

    /// Pairs the members of a group, side by side: the members of each side with those paired so far.
    fn pair(&mut self, group: Vec<Member>, level: Level, facts: &Map<FunctionIndex, NodeFacts>) {
        let mut group = group;
        // Sort by the numbers in names, which follow the source order. A number with more digits is greater.
        group.order_by(|a, b| {
            let rank = |member: &Member| {
                let name = member.key.name.map(|name| self.names.text(name));
                (name.map(str::len), name.map(str::to_owned), member.class)
            };
            rank(a).cmp(&rank(b))
        });
        let mut paired: Vec<Member> = Vec::new();
        for side in 0..self.runs.sides.len() {
            let is_new = |member: &Member| member.sides.trailing_zeros() as usize == side;
            let new: Vec<Member> = group.iter().copied().filter(is_new).collect();
            let pairs = self.pairs(&paired, &new, level, facts);
            let mut is_paired = vec![false; new.len()];
            for (old, new_position, certainty) in pairs {
                let (a, b) = (paired[old], new[new_position]);
                self.unite_by_names([a.class, b.class], level, MatchedRules::NONE, certainty);
                paired[old].sides |= b.sides;
                paired[old].is_unnumbered |= b.is_unnumbered;
                is_paired[new_position] = true;
            }
            paired.extend(
                new.into_iter()
                    .zip(is_paired)
                    .filter(|(_, is)| !is)
                    .map(|(member, _)| member),
            );
        }
        match level {
            Level::Part => self.unite_pieces(&paired),
            Level::Counter => self.fold_into_unnumbered(&paired),
            Level::Exact | Level::Build => {}
        }
    }

    /// Returns the best pairs of old and new members, by their positions, with their certainty.
    fn pairs(
        &mut self,
        old: &[Member],
        new: &[Member],
        level: Level,
        facts: &Map<FunctionIndex, NodeFacts>,
    ) -> Vec<(usize, usize, Certainty)> {
        let is_large = old.len() * new.len() > MOST_PAIRS;
        let mut candidates = Vec::new();
        for (a, first) in old.iter().enumerate() {
            for (b, second) in new.iter().enumerate() {
                let is_possible = first.sides & second.sides == 0
                    && !(is_large && first.key.name != second.key.name)
                    && self.are_homes(first, second);
                if is_possible {
                    let path = i64::from(self.common_path(first, second));
                    let likeness = path * PATH_WEIGHT;
                    candidates.push(LikelyPair { a, b, likeness });
                }
            }
        }
        let by_path = candidates.clone();
        if candidates.len() > 1 {
            for candidate in &mut candidates {
                let (a, b) = (old[candidate.a].class, new[candidate.b].class);
                if let (Some(a_facts), Some(b_facts)) = (facts.get(&a), facts.get(&b)) {
                    candidate.likeness += facts::likeness(
                        &self.functions,
                        &mut self.names,
                        (a, a_facts),
                        (b, b_facts),
                    );
                }
            }
        }
        // Members that are summed later may be paired in any way.
        let is_sum = |a: usize, b: usize| {
            level == Level::Part || old[a].is_unnumbered || new[b].is_unnumbered
        };
        let pairs = assign::assign(old.len(), new.len(), &candidates);
        let is_equal =
            |(a, b): (usize, usize)| level == Level::Counter && old[a].key.name == new[b].key.name;
        pairs
            .into_iter()
            .map(|(a, b)| {
                let is_certain =
                    is_sum(a, b) || is_equal((a, b)) || is_best_by_path(&by_path, a, b);
                let certainty = if is_certain {
                    Certainty::Certain
                } else {
                    Certainty::Likeliest
                };
                (a, b, certainty)
            })
            .collect()
    }

    /// Rates the common part of the paths of two members; at least 1.
    fn common_path(&self, a: &Member, b: &Member) -> u8 {
        const MOST: usize = 15;
        let common = |a: Option<Symbol>, b: Option<Symbol>| match (a, b) {
            (Some(a), Some(b)) if a == b => MOST,
            (Some(a), Some(b)) => {
                common_ending(self.names.text(a), self.names.text(b)).min(MOST - 1)
            }
            _ => 0,
        };
        // The file weighs more than the object, because objects move often. Both ratings fit in a byte.
        (common(a.file, b.file) * 16 + common(a.object, b.object)) as u8 | 1
    }

    /// Returns true if the directories before the common ending of two paths can be two locations of one tree: neither side
    /// has files in both.
    fn are_homes(&mut self, a: &Member, b: &Member) -> bool {
        let (Some(a_file), Some(b_file)) = (a.file, b.file) else {
            return true;
        };
        if a_file == b_file {
            return true;
        }
        let (a_home, b_home) =
            paths::without_common_ending(self.names.text(a_file), self.names.text(b_file));
        let memo = (a_home.to_owned(), b_home.to_owned(), a.sides, b.sides);
        if let Some(known) = self.plausible.get(&memo) {
            return *known;
        }
        let has_files_in = |sides: Sides, home: &str, own: &str| {
            !home.is_empty()
                && self.files.iter().enumerate().any(|(side, files)| {
                    sides & 1 << side != 0
                        && files.iter().any(|file| {
                            let file = self.names.text(*file);
                            paths::is_inside(file, home) && !paths::is_inside(file, own)
                        })
                })
        };
        let answer =
            !has_files_in(b.sides, a_home, b_home) && !has_files_in(a.sides, b_home, a_home);
        self.plausible.insert(memo, answer);
        answer
    }

    /// Unites the pieces of one function in one place. Their sum does not depend on the pairs.
    fn unite_pieces(&mut self, members: &[Member]) {
        for (position, member) in members.iter().enumerate() {
            for other in &members[position + 1..] {
                let is_joined = (member.sides | other.sides).count_ones() > 1;
                if is_joined && (member.file, member.object) == (other.file, other.object) {
                    let pieces = [member.class, other.class];
                    self.unite_by_names(
                        pieces,
                        Level::Part,
                        MatchedRules::NONE,
                        Certainty::Certain,
                    );
                }
            }
        }
    }

    /// Unites numbered closures with an unnumbered one. The legacy mangling does not number closures, so `{{closure}}` of
    /// one side represents all closures of the other.
    fn fold_into_unnumbered(&mut self, members: &[Member]) {
        let is_collective =
            |member: &&Member| member.is_unnumbered && member.sides.count_ones() > 1;
        let Some(collective) = members.iter().find(is_collective) else {
            return;
        };
        for member in members {
            if !member.is_unnumbered
                && member.sides.count_ones() == 1
                && self.are_homes(collective, member)
            {
                let both = [collective.class, member.class];
                self.unite_by_names(both, Level::Counter, MatchedRules::NONE, Certainty::Certain);
            }
        }
    }

    /// Collects the normalised files of each side.
    pub(super) fn prepare_paths(&mut self) {
        let mut files = vec![std::collections::BTreeSet::new(); self.runs.sides.len()];
        for node in self.functions.nodes() {
            if let Some(file) = self.functions.key(node).file {
                files[self.functions.side(node)].insert(self.names.file(file));
            }
        }
        self.files = files
            .into_iter()
            .map(|files| files.into_iter().collect())
            .collect();
    }
}

/// Returns true if these two members have more of their paths in common than either has with any other candidate.
fn is_best_by_path(candidates: &[LikelyPair], a: usize, b: usize) -> bool {
    let own = candidates
        .iter()
        .find(|c| (c.a, c.b) == (a, b))
        .map_or(0, |c| c.likeness);
    let is_rival = |c: &&LikelyPair| (c.a == a) != (c.b == b);
    candidates.iter().filter(is_rival).all(|c| c.likeness < own)
}

/// Returns the number of components in the common ending of two paths.
fn common_ending(a: &str, b: &str) -> usize {
    let components = a.rsplit('/').zip(b.rsplit('/'));
    components.take_while(|(a, b)| a == b).count()
}
