//! Stacks by function: which function allocates, leaks or errs most, itself and through what it calls.
//!
//! The cost of a stack record is self cost of one function and inclusive cost of every function in the stack. The self
//! cost belongs to the blamed frame, whose names stand at the record's top level; in a `stack` record it belongs to the
//! innermost frame, where the program was when it was sampled. A function that is in a stack several times is charged
//! once, so recursion counts no cost twice and no inclusive cost exceeds the total. Two frames are of the same function
//! if object, file and name are equal.

use super::key::StackFrames;
use super::rows::TABLES;
use super::sum::NotAdded;
use super::{FrameKey, FunctionKey, Key, Profile, Rows};
use crate::Error;
use crate::intern::{Made, TooMany};
use crate::record::{Count, RecordType};

impl Profile {
    /// The same profile with a `fn` row for each function of its stacks in place of the records that have stacks. Rows
    /// of type `fn` that are there already stay, and self costs still sum to the total.
    ///
    /// # Errors
    /// Where a sum is beyond what a profile can hold.
    pub fn by_function(self) -> Result<Profile, Error> {
        let functions = self.functions_of_stacks()?;
        Ok(self.with_functions(functions))
    }

    /// The `fn` rows of [`Profile::by_function`]; leaves the profile as it is.
    ///
    /// # Errors
    /// Where a sum is beyond what a profile can hold.
    pub fn functions_of_stacks(&self) -> Result<Rows, Error> {
        let mut charging = Charging::new(self);
        for (of, stacks) in TABLES.iter().zip(&self.tables) {
            // `inline` rows only break down the cost that `fn` rows already have.
            let is_told = *of == RecordType::Inline && !charging.functions.is_empty();
            if !of.has_stack() || is_told {
                continue;
            }
            for row in 0..stacks.len() {
                charging.charge(*of, stacks, row)?;
            }
        }
        Ok(charging.end()?)
    }

    /// The function that a stack's cost is self cost of: where the program was, the innermost; of memory the blamed one, as
    /// the innermost is always the allocator.
    pub fn own_function(&self, of: RecordType, key: &Key) -> FunctionKey {
        let innermost = key
            .stack
            .filter(|_| of == RecordType::Stack && !self.is_of_memory())
            .and_then(|stack| self.names.stacks.frames(stack).first());
        innermost.map_or(key.function, |frame| frame.function)
    }

    /// Whether stacks are those that allocated what the events count, as pprof's heaps name them.
    fn is_of_memory(&self) -> bool {
        let is_space = |event: &String| matches!(event.as_str(), "inuse_space" | "alloc_space");
        self.events.iter().any(is_space)
    }
}

/// A profile's `fn` rows, while the costs of its stacks are charged to them.
struct Charging<'p> {
    profile: &'p Profile,
    functions: Rows,
    /// Cache of rows by the ids of frames: stacks have few frames that none before them had, and a fifth of the work of
    /// `cg-fmt -f csv` on a profile of the Firefox Profiler was to find rows by their keys.
    rows: Made<usize>,
    charged: ChargedRows,
}

impl<'p> Charging<'p> {
    fn new(profile: &'p Profile) -> Charging<'p> {
        Charging {
            profile,
            functions: profile.table(RecordType::Fn).clone(),
            rows: Made::default(),
            charged: ChargedRows {
                events: profile.events.len(),
                ..ChargedRows::default()
            },
        }
    }

    /// Charges the functions of one stack with its cost.
    fn charge(&mut self, of: RecordType, stacks: &Rows, row: usize) -> Result<(), NotAdded> {
        let profile = self.profile;
        let (key, cost) = (stacks.key(row), stacks.cost(row));
        let frames = profile.stacks().frames_of(key.stack);
        let own = self.row(profile.own_function(of, key), frames)?;
        (self.functions).add_cost(own, cost, &profile.events)?;
        // Of the other numbers, only these still mean something when they are summed by function.
        let numbers = stacks.numbers();
        let sums = &mut self.functions.numbers;
        sums.indirect_bytes
            .sum(own, numbers.indirect_bytes.get(row))
            .map_err(|sum| sum.of("indirect_bytes"))?;
        sums.lifetime
            .sum(own, numbers.lifetime.get(row))
            .map_err(|sum| sum.of("lifetime"))?;
        self.charged.stacks += 1;
        self.charged.width = self.charged.width.max(cost.len());
        // The blamed function is in its stack; a record that lost its stack still names it.
        let blamed = self.row(key.function, frames)?;
        self.charged.add(blamed, cost);
        let mut in_stack = frames.numbered();
        while let Some((id, frame)) = self.charge_known(&mut in_stack, cost) {
            let row = self.row_of_frame(id, frame)?;
            self.charged.add(row, cost);
        }
        Ok(())
    }

    /// Charges the functions of frames up to the first whose row is not known, which it returns.
    fn charge_known<'f>(
        &mut self,
        frames: &mut impl Iterator<Item = (usize, &'f FrameKey)>,
        cost: &[Count],
    ) -> Option<(usize, &'f FrameKey)> {
        for (id, frame) in frames {
            let Some(row) = self.rows.get(id) else {
                return Some((id, frame));
            };
            self.charged.add(*row, cost);
        }
        None
    }

    /// The row of a function, which is most often among these frames.
    fn row(&mut self, function: FunctionKey, frames: StackFrames<'_>) -> Result<usize, TooMany> {
        let mut named = frames.numbered();
        match named.find(|(_, frame)| frame.function == function) {
            Some((id, frame)) => self.row_of_frame(id, frame),
            None => self.row_of_function(function),
        }
    }

    /// The row of a frame's function.
    #[inline]
    fn row_of_frame(&mut self, id: usize, frame: &FrameKey) -> Result<usize, TooMany> {
        if let Some(row) = self.rows.get(id) {
            return Ok(*row);
        }
        let row = self.row_of_function(frame.function)?;
        self.rows.set(id, row);
        Ok(row)
    }

    fn row_of_function(&mut self, function: FunctionKey) -> Result<usize, TooMany> {
        let row = self.functions.row(Key {
            function,
            ..Key::default()
        })?;
        let rows = self.functions.len();
        self.charged.last.resize(rows, 0);
        self.charged.sums.resize(rows * self.charged.events, 0);
        Ok(row)
    }

    /// The rows, with their inclusive costs.
    fn end(mut self) -> Result<Rows, NotAdded> {
        let charged = &self.charged;
        for (row, _) in (charged.last.iter().enumerate()).filter(|(_, stack)| **stack > 0) {
            let sums = &charged.sums[row * charged.events..][..charged.width];
            (self.functions).add_incl(row, sums, &self.profile.events)?;
        }
        Ok(self.functions)
    }
}

/// What each row is charged with: by each stack once.
#[derive(Default)]
struct ChargedRows {
    /// How many stacks were charged.
    stacks: usize,
    /// For each row, the number of the stack that it was charged with last; 0 for none.
    last: Vec<usize>,
    /// Inclusive costs, so many a row as there are events. They go into the rows at the end: that was a third of the work of
    /// `cg-fmt -f csv` beside that of reading a profile of the Firefox Profiler.
    sums: Vec<Count>,
    events: usize,
    /// How many events any stack had a cost of.
    width: usize,
}

impl ChargedRows {
    /// Charges a row with the cost of the stack, unless it was. What is beyond 64 bits is found at the end.
    #[inline]
    fn add(&mut self, row: usize, cost: &[Count]) {
        if std::mem::replace(&mut self.last[row], self.stacks) != self.stacks {
            let sums = &mut self.sums[row * self.events..][..cost.len()];
            for (sum, count) in sums.iter_mut().zip(cost) {
                *sum += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    /// Each function with its self and inclusive bytes, of records with these stacks and bytes; `!` marks the blamed.
    fn by_function(stacks: &[(&[&str], u64)]) -> Vec<(String, i128, i128)> {
        let mut text = String::new();
        for (stack, bytes) in stacks {
            let blamed = stack.iter().find_map(|name| name.strip_prefix('!'));
            let blamed = blamed.map_or(String::new(), |name| format!("\"fn\":\"{name}\","));
            let frames: Vec<String> = stack
                .iter()
                .map(|name| format!("{{\"fn\":\"{}\"}}", name.trim_start_matches('!')))
                .collect();
            text += &format!(
                "{{\"type\":\"heap\",{blamed}\"snapshot\":1,\"peak\":true,\"cost\":{{\"bytes\":{bytes}}},\"stack\":[{}]}}\n",
                frames.join(",")
            );
        }
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        let profile = profile.by_function().unwrap();
        assert_eq!(profile.types().collect::<Vec<_>>(), [RecordType::Fn]);
        let functions = profile.table(RecordType::Fn);
        let mut rows: Vec<(String, i128, i128)> = (0..functions.len())
            .map(|row| {
                let name = profile.text(functions.key(row).function.name);
                let cost = functions.count(row, 0);
                let incl = functions.incl(row).map_or(0, |incl| incl[0]);
                (name.unwrap_or("-").to_owned(), cost, incl)
            })
            .collect();
        rows.sort();
        rows
    }

    fn row(name: &str, cost: i128, incl: i128) -> (String, i128, i128) {
        (name.to_owned(), cost, incl)
    }

    #[test]
    fn the_blamed_frame_has_the_cost_and_every_frame_the_inclusive_cost() {
        assert_eq!(
            by_function(&[
                (&["malloc", "!grow", "main"], 10),
                (&["!main"], 3),
                (&["malloc", "!parse", "grow", "main"], 5)
            ]),
            [
                row("grow", 10, 15),
                row("main", 3, 18),
                row("malloc", 0, 15),
                row("parse", 5, 5)
            ]
        );
    }

    #[test]
    fn recursion_counts_once() {
        assert_eq!(
            by_function(&[
                (&["!walk", "walk", "visit", "walk", "main"], 7),
                (&["!walk", "main"], 1)
            ]),
            [row("main", 0, 8), row("visit", 0, 7), row("walk", 8, 8)]
        );
    }

    #[test]
    fn a_stack_of_nothing_is_charged_to_nobody_and_still_counted() {
        assert_eq!(
            by_function(&[(&[], 4), (&["!f"], 2)]),
            [row("-", 4, 4), row("f", 2, 2)]
        );
    }
}
