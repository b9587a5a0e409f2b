//! Stacks by function: the functions that allocate, leak or fail most, by self cost and with their callees.
//!
//! The cost of a stack record is the self cost of one function and the inclusive cost of every function in the stack. The
//! self cost belongs to the blamed frame, whose names are fields of the record. In a `stack` record, it belongs to the
//! innermost frame, which ran when the sample was taken. A function that is in a stack several times is charged once, so
//! recursion does not count a cost twice, and no inclusive cost exceeds the total. Two frames belong to the same function if
//! object, file and name are equal.

use super::key::StackFrames;
use super::rows::TABLES;
use super::sum::NotAdded;
use super::{FrameKey, FunctionKey, Key, Profile, Rows};
use cg_collections::intern::{Made, TooMany};
use cg_stream::Error;
use cg_stream::record::{Count, RecordType};

impl Profile {
    /// Replaces the records with stacks by a `fn` row for each function of the stacks. Keeps existing `fn` rows, and the
    /// sum of self costs is still the total.
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits, or if there are too many rows.
    pub fn by_function(self) -> Result<Profile, Error> {
        let functions = self.functions_of_stacks()?;
        Ok(self.with_functions(functions))
    }

    /// Returns the `fn` rows of [`Profile::by_function`] and does not change the profile.
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits, or if there are too many rows.
    pub fn functions_of_stacks(&self) -> Result<Rows, Error> {
        let mut charging = Charging::new(self);
        for (of, stacks) in TABLES.iter().zip(&self.tables) {
            // `inline` rows only break down the cost that `fn` rows already have.
            let is_counted = *of == RecordType::Inline && !charging.functions.is_empty();
            if !of.has_stack() || is_counted {
                continue;
            }
            for row in 0..stacks.len() {
                charging.charge(*of, stacks, row)?;
            }
        }
        Ok(charging.end()?)
    }

    /// Returns the function to which a stack's cost is charged as self cost. For samples it is the innermost function. For
    /// memory it is the blamed function, because the innermost function is always the allocator.
    pub fn own_function(&self, of: RecordType, key: &Key) -> FunctionKey {
        let innermost = key
            .stack
            .filter(|_| of == RecordType::Stack && !self.is_of_memory())
            .and_then(|stack| self.names.stacks.frames(stack).first());
        innermost.map_or(key.function, |frame| frame.function)
    }

    /// Returns true if the stacks allocate memory, which the names of events in pprof's heap profiles show.
    fn is_of_memory(&self) -> bool {
        let is_space = |event: &String| matches!(event.as_str(), "inuse_space" | "alloc_space");
        self.events.iter().any(is_space)
    }
}

/// A profile's `fn` rows while the costs of its stacks are charged to them.
struct Charging<'p> {
    profile: &'p Profile,
    functions: Rows,
    /// A cache of rows by frame id, because most frames of a stack were in earlier stacks. Without it, a fifth of the work
    /// of
    /// `cg-fmt -f csv` on a profile of the Firefox Profiler was to find rows by key.
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
        let own = self.row(profile.own_function(of, &key), frames)?;
        (self.functions).add_cost(own, cost, &profile.events)?;
        // Only these of the other numbers are meaningful as sums by function.
        let numbers = stacks.numbers();
        let sums = &mut self.functions.numbers;
        sums.indirect_bytes
            .sum(own, numbers.indirect_bytes.get(row))
            .map_err(|sum| sum.with_name("indirect_bytes"))?;
        sums.records
            .sum(own, numbers.records.get(row))
            .map_err(|sum| sum.with_name("records"))?;
        sums.lifetime
            .sum(own, numbers.lifetime.get(row))
            .map_err(|sum| sum.with_name("lifetime"))?;
        self.charged.stacks += 1;
        self.charged.width = self.charged.width.max(cost.len());
        // The blamed function is normally in the stack, but a record that lost its stack still has it.
        let blamed = self.row(key.function, frames)?;
        self.charged.add(blamed, cost);
        let mut in_stack = frames.numbered();
        while let Some((id, frame)) = self.charge_known(&mut in_stack, cost) {
            let row = self.row_of_frame(id, frame)?;
            self.charged.add(row, cost);
        }
        Ok(())
    }

    /// Charges the functions of frames whose rows are cached. Returns the first frame whose row is not cached.
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

    /// Returns the row of a function, which is usually in one of these frames.
    fn row(&mut self, function: FunctionKey, frames: StackFrames<'_>) -> Result<usize, TooMany> {
        let mut named = frames.numbered();
        match named.find(|(_, frame)| frame.function == function) {
            Some((id, frame)) => self.row_of_frame(id, frame),
            None => self.row_of_function(function),
        }
    }

    /// Returns the row of a frame's function.
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
        let row = self.functions.row(&Key {
            function,
            ..Key::default()
        })?;
        let rows = self.functions.len();
        self.charged.last.resize(rows, 0);
        self.charged.sums.resize(rows * self.charged.events, 0);
        Ok(row)
    }

    /// Returns the rows with their inclusive costs.
    fn end(mut self) -> Result<Rows, NotAdded> {
        let charged = &self.charged;
        for (row, _) in (charged.last.iter().enumerate()).filter(|(_, stack)| **stack > 0) {
            let sums = &charged.sums[row * charged.events..][..charged.width];
            (self.functions).add_incl(row, sums, &self.profile.events)?;
        }
        Ok(self.functions)
    }
}

/// The inclusive costs of the rows. Each stack charges a row at most once.
#[derive(Default)]
struct ChargedRows {
    /// The number of stacks so far.
    stacks: usize,
    /// For each row, the number of the last stack that charged it; 0 for none.
    last: Vec<usize>,
    /// Inclusive costs, one per event for each row. They are put into the rows at the end: with a profile of the Firefox
    /// Profiler, adding to the rows directly was a third of the work of `cg-fmt -f csv` besides reading.
    sums: Vec<Count>,
    events: usize,
    /// The maximum number of events in a stack's cost.
    width: usize,
}

impl ChargedRows {
    /// Charges a row with the cost of the current stack, unless it was charged already. [`Charging::end`] checks for
    /// overflow.
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
    use cg_stream::Reader;

    /// Returns each function with its self and inclusive bytes, for records with these stacks and bytes; `!` marks the
    /// blamed frame.
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
                let name = profile.text(functions.function(row).name);
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
    fn a_record_without_frames_is_charged_to_a_nameless_function() {
        assert_eq!(
            by_function(&[(&[], 4), (&["!f"], 2)]),
            [row("-", 4, 4), row("f", 2, 2)]
        );
    }
}
