//! Search for a match by backtracking. A choice is followed at most once for each position, so the time is limited by the
//! product of the lengths of the name and the pattern.

use super::{PatternStep, SavedPositions, is_word_character};

/// A search in one name.
pub(super) struct PatternSearch<'a> {
    steps: &'a [PatternStep],
    name: &'a str,
    /// True if a match must end at the end of the name.
    is_whole: bool,
    /// The positions of the groups on the current path.
    pub(super) saved: SavedPositions,
    /// The work that remains if the current path fails, the most preferred last.
    jobs: Vec<SearchJob>,
    /// One bit for each choice that was followed at a position. Empty until the first choice.
    followed: Vec<u64>,
}

/// Work that remains if a path fails.
enum SearchJob {
    /// The search continues with a step at a position.
    Continue { step: usize, at: usize },
    /// A saved position gets its previous value.
    Restore {
        slot: usize,
        position: Option<usize>,
    },
}

impl<'a> PatternSearch<'a> {
    pub(super) fn new(steps: &'a [PatternStep], name: &'a str, is_whole: bool) -> Self {
        PatternSearch {
            steps,
            name,
            is_whole,
            saved: SavedPositions::default(),
            jobs: Vec::new(),
            followed: Vec::new(),
        }
    }

    /// Returns the end of the match that begins at a position. If there is none, the next call can try another position.
    pub(super) fn find_end(&mut self, start: usize) -> Option<usize> {
        let mut found = self.follow(0, start);
        while found.is_none() {
            match self.jobs.pop()? {
                SearchJob::Continue { step, at } => found = self.follow(step, at),
                SearchJob::Restore { slot, position } => self.saved[slot] = position,
            }
        }
        found
    }

    /// Follows the steps until one of them fails, or until the end of the pattern. Returns the end of the match, if any.
    fn follow(&mut self, mut step: usize, mut at: usize) -> Option<usize> {
        let (steps, name) = (self.steps, self.name);
        loop {
            match &steps[step] {
                PatternStep::Text(text) => {
                    if !name.as_bytes()[at..].starts_with(text.as_bytes()) {
                        return None;
                    }
                    at += text.len();
                }
                PatternStep::One(set) => at += set.width_at(name, at)?,
                PatternStep::Either { first, second } => {
                    if !self.note_choice(step, at) {
                        return None;
                    }
                    self.jobs.push(SearchJob::Continue {
                        step: step + second,
                        at,
                    });
                    step += first;
                    continue;
                }
                PatternStep::Ahead(distance) => {
                    step += distance;
                    continue;
                }
                PatternStep::Back(distance) => {
                    step -= distance;
                    continue;
                }
                PatternStep::Save(slot) => {
                    let position = self.saved[*slot].replace(at);
                    self.jobs.push(SearchJob::Restore {
                        slot: *slot,
                        position,
                    });
                }
                PatternStep::AtStart if at > 0 => return None,
                PatternStep::AtEnd if at < name.len() => return None,
                PatternStep::AtWordEdge if !is_word_edge(name, at) => return None,
                PatternStep::AtStart | PatternStep::AtEnd | PatternStep::AtWordEdge => {}
                PatternStep::Found if self.is_whole && at < name.len() => return None,
                PatternStep::Found => return Some(at),
            }
            step += 1;
        }
    }

    /// Notes that a choice is followed at a position. Returns false if it was followed there before, in vain.
    fn note_choice(&mut self, step: usize, at: usize) -> bool {
        let positions = self.name.len() + 1;
        if self.followed.is_empty() {
            self.followed = vec![0; (self.steps.len() * positions).div_ceil(64)];
        }
        let index = step * positions + at;
        let bits = &mut self.followed[index / 64];
        let bit = 1_u64 << (index % 64);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }
}

/// Returns true if exactly one of the characters before and after a position belongs to a word.
fn is_word_edge(name: &str, at: usize) -> bool {
    let before = name[..at].chars().next_back();
    let after = name[at..].chars().next();
    before.is_some_and(is_word_character) != after.is_some_and(is_word_character)
}
