//! Stacks by function: which function allocates, leaks or errs most, itself and through what it calls.
//!
//! The cost of a stack record is self cost of one function and inclusive cost of every function in the stack. The self
//! cost belongs to the blamed frame, whose names stand at the record's top level; in a `stack` record it belongs to the
//! innermost frame, where the program was when it was sampled. A function that is in a stack several times is charged
//! once, so recursion counts no cost twice and no inclusive cost exceeds the total. Two frames are of the same function
//! if object, file and name are equal.

use super::rows::TABLES;
use super::sum::{self, NotAdded};
use super::{FunctionKey, Key, Profile, Rows};
use crate::Error;
use crate::intern::Made;
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
        let mut functions = self.table(RecordType::Fn).clone();
        let mut charged = ChargedFunctions::new(self.events.len());
        for (of, stacks) in TABLES.iter().zip(&self.tables) {
            // `inline` rows only break down the cost that `fn` rows already have.
            let is_told = *of == RecordType::Inline && !functions.is_empty();
            if !of.has_stack() || is_told {
                continue;
            }
            for row in 0..stacks.len() {
                self.charge(&mut functions, &mut charged, *of, stacks, row)?;
            }
        }
        for (row, sums) in charged.sums() {
            functions.add_incl(row, sums, &self.events)?;
        }
        Ok(functions)
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

    /// Charges the functions of one stack with its cost.
    fn charge(
        &self,
        functions: &mut Rows,
        charged: &mut ChargedFunctions,
        of: RecordType,
        stacks: &Rows,
        row: usize,
    ) -> Result<(), NotAdded> {
        let key = stacks.key(row);
        let cost = stacks.cost(row);
        let blamed = functions.row(function(self.own_function(of, key)))?;
        functions.add_cost(blamed, cost, &self.events)?;
        // Of the other numbers, only these still mean something when they are summed by function.
        let numbers = stacks.numbers();
        let sums = &mut functions.numbers;
        sums.indirect_bytes
            .sum(blamed, numbers.indirect_bytes.get(row))
            .map_err(|sum| sum.of("indirect_bytes"))?;
        sums.lifetime
            .sum(blamed, numbers.lifetime.get(row))
            .map_err(|sum| sum.of("lifetime"))?;
        charged.begin();
        let frames = self.stacks().frames_of(key.stack);
        // The blamed function is in its stack; a record that lost its stack still names it.
        let named = (None, key.function);
        let in_stack = frames
            .numbered()
            .map(|(id, frame)| (Some(id), frame.function));
        for (frame, key) in std::iter::once(named).chain(in_stack) {
            let mut row = || functions.row(function(key));
            let row = match frame {
                Some(frame) => charged.rows.of(frame, row)?,
                None => row()?,
            };
            charged.add(row, cost, &self.events)?;
        }
        Ok(())
    }
}

fn function(function: FunctionKey) -> Key {
    Key {
        function,
        ..Key::default()
    }
}

/// What each row is charged with: by each stack once.
struct ChargedFunctions {
    stack: usize,
    /// For each row, the number of the stack that it was charged with last; 0 for none.
    last: Vec<usize>,
    /// Inclusive costs, so many a row as there are events. They go into the rows at the end: that was a third of the work of
    /// `cg-fmt -f csv` beside that of reading a profile of the Firefox Profiler.
    sums: Vec<Count>,
    events: usize,
    /// How many events any stack had a cost of.
    width: usize,
    /// Cache of rows by the ids of frames: stacks have few frames that none before them had, and a fifth of the work of
    /// `cg-fmt -f csv` on a profile of the Firefox Profiler was to find rows by their keys.
    rows: Made<usize>,
}

impl ChargedFunctions {
    fn new(events: usize) -> ChargedFunctions {
        ChargedFunctions {
            stack: 0,
            last: Vec::new(),
            sums: Vec::new(),
            events,
            width: 0,
            rows: Made::default(),
        }
    }

    /// Begins the next stack.
    fn begin(&mut self) {
        self.stack += 1;
    }

    /// Charges a row with the cost of the stack, unless it was.
    #[inline]
    fn add(&mut self, row: usize, cost: &[Count], events: &[String]) -> Result<(), NotAdded> {
        if self.last.len() <= row {
            self.last.resize(row + 1, 0);
            self.sums.resize((row + 1) * self.events, 0);
        }
        if std::mem::replace(&mut self.last[row], self.stack) == self.stack {
            return Ok(());
        }
        self.width = self.width.max(cost.len());
        let sums = self.sums[row * self.events..].iter_mut();
        for (event, (sum, count)) in sums.zip(cost).enumerate() {
            sum::add_inclusive(sum, *count).map_err(|sum| sum.of_event(events, event))?;
        }
        Ok(())
    }

    /// The rows that are charged with anything, each with a sum for each event.
    fn sums(&self) -> impl Iterator<Item = (usize, &[Count])> {
        let rows = self.last.iter().enumerate();
        let rows = rows.filter(|(_, stack)| **stack > 0);
        rows.map(|(row, _)| (row, &self.sums[row * self.events..][..self.width]))
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
