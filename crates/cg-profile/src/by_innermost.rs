//! Chains of inlined functions, added up by innermost function, as if nothing were inlined.

use std::collections::HashSet;

use super::inclusive::InclusiveCosts;
use super::rows::table_index;
use super::sum::NotAdded;
use super::{FunctionKey, Profile, Rows};
use cg_stream::Error;
use cg_stream::record::{Count, RecordType, add_counts};

/// Functions with the cost of all their code, including inlined copies.
#[derive(Clone, Default)]
pub struct InlinedFunctions {
    /// `fn` rows: self cost and inclusive cost.
    pub rows: Rows,
    /// The part of each row's self cost that is in out-of-line code.
    pub out_of_line: Vec<Vec<Count>>,
    /// The number of functions that each row is inlined into.
    pub hosts: Vec<Count>,
}

impl Profile {
    /// Adds up the `inline` rows by innermost function, and by part and thread if these are separate.
    ///
    /// The inclusive cost of a function is the sum over the chains whose innermost function it is. Chains that also have the
    /// function further out (it was inlined into itself) are left out, because the outer chain's inclusive cost includes
    /// their cost. If a function may be entered while it is active, the sum is only a [bound](Rows::incl_bound).
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits, or if there are too many rows.
    pub fn by_innermost(&self) -> Result<InlinedFunctions, Error> {
        self.by_innermost_but(|_| false)
    }

    /// Like [`Profile::by_innermost`], except that the functions for which `is_plain` is true keep the code inlined into
    /// them.
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits, or if there are too many rows.
    pub fn by_innermost_but(
        &self,
        is_plain: impl Fn(FunctionKey) -> bool,
    ) -> Result<InlinedFunctions, Error> {
        let mut functions = InlinedFunctions::default();
        let mut hosts = HashSet::new();
        let mut inclusive = InclusiveCosts::new(self);
        let inlines = self.table(RecordType::Inline);
        for row in 0..inlines.len() {
            let host = self.stacks().frames_of(inlines.key(row).stack).last();
            let plain = (host.map(|frame| frame.function)).filter(|host| is_plain(*host));
            self.add_chain(&mut functions, &mut hosts, inlines, row, plain)?;
            match plain {
                Some(host) => inclusive.add_plain(inlines, row, host),
                None => inclusive.add_chain(inlines, row),
            }
        }
        inclusive.add_calls(is_plain);
        for (key, cost) in inclusive.compute() {
            if let Some(row) = functions.rows.find(&key) {
                functions.rows.set_incl(row, &cost.counts, cost.is_bound);
            }
        }
        Ok(functions)
    }

    /// Replaces all tables of the profile by these `fn` rows.
    #[must_use]
    pub fn with_functions(mut self, functions: Rows) -> Profile {
        self.tables = Default::default();
        if let Some(table) = table_index(RecordType::Fn) {
            self.tables[table] = functions;
        }
        self
    }

    /// Replaces the profile's functions by functions as if nothing were inlined. Keeps call counts, arcs and chains. A
    /// function that was inlined everywhere has 0 calls. Also returns the out-of-line self cost of each function.
    ///
    /// # Errors
    /// Returns an error if there are too many functions.
    pub fn as_if_nothing_were_inlined(
        mut self,
        mut functions: InlinedFunctions,
    ) -> Result<(Profile, Vec<Vec<Count>>), Error> {
        let called = self.table(RecordType::Fn);
        for row in 0..called.len() {
            let key = called.key(row);
            let of =
                (functions.rows.row(&key.for_function(key.function))).map_err(NotAdded::from)?;
            functions
                .rows
                .add_calls(of, called.numbers().calls.get(row))?;
            functions.rows.take_detail(of, called, row);
        }
        let counts_calls = (0..called.len()).any(|row| called.numbers().calls.get(row).is_some());
        for row in 0..functions.rows.len() {
            functions.rows.add_calls(row, counts_calls.then_some(0))?;
        }
        let none = vec![0; self.events.len()];
        functions.out_of_line.resize(functions.rows.len(), none);
        let kept = [RecordType::Call, RecordType::Inline]
            .into_iter()
            .filter_map(table_index)
            .map(|table| (table, std::mem::take(&mut self.tables[table])))
            .collect::<Vec<_>>();
        let mut profile = self.with_functions(functions.rows);
        for (table, rows) in kept {
            profile.tables[table] = rows;
        }
        Ok((profile, functions.out_of_line))
    }

    fn add_chain(
        &self,
        functions: &mut InlinedFunctions,
        hosts: &mut HashSet<(usize, FunctionKey)>,
        inlines: &Rows,
        row: usize,
        plain: Option<FunctionKey>,
    ) -> Result<(), NotAdded> {
        let key = inlines.key(row);
        let function = plain.unwrap_or(key.function);
        let function = functions.rows.row(&key.for_function(function))?;
        if functions.hosts.len() <= function {
            functions.hosts.resize(function + 1, 0);
            functions.out_of_line.resize(function + 1, Vec::new());
        }
        (functions.rows).add_cost(function, inlines.cost(row), &self.events)?;
        let frames = self.stacks().frames_of(key.stack);
        // A function's inclusive cost includes the code that is inlined into it.
        let is_inlined = frames.len() > 1;
        match frames.last().filter(|_| is_inlined && plain.is_none()) {
            Some(host) => {
                functions.hosts[function] += Count::from(hosts.insert((function, host.function)))
            }
            None => {
                let own = &mut functions.out_of_line[function];
                own.resize(self.events.len(), 0);
                add_counts(own, inlines.cost(row));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::Reader;

    fn row(profile: &Profile, name: &str) -> (Count, Count, Count, Count) {
        let functions = profile.by_innermost().unwrap();
        let named = |row: &usize| profile.text(functions.rows.function(*row).name) == Some(name);
        let row = (0..functions.rows.len()).find(named).unwrap();
        (
            functions.rows.cost(row)[0],
            functions.rows.incl_or_bound(row).unwrap()[0],
            functions.out_of_line[row].first().copied().unwrap_or(0),
            functions.hosts[row],
        )
    }

    #[test]
    fn a_function_includes_its_inlined_copies_and_counts_nested_chains_once() {
        let chain = |names: &[&str], cost: u64, incl: u64| {
            let frames: Vec<String> = names
                .iter()
                .map(|name| format!("{{\"fn\":\"{name}\"}}"))
                .collect();
            format!(
                "{{\"type\":\"inline\",\"fn\":\"{}\",\"cost\":{{\"Ir\":{cost}}},\"incl\":{{\"Ir\":{incl}}},\"stack\":[{}]}}\n",
                names[0],
                frames.join(",")
            )
        };
        let text = [
            chain(&["mix", "main"], 5, 9),
            chain(&["mix", "mix", "main"], 4, 4),
            chain(&["mix", "run"], 7, 7),
            chain(&["mix"], 30, 31),
            chain(&["main"], 1, 60),
            chain(&["run"], 0, 7),
        ]
        .concat();
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        assert_eq!(row(&profile, "mix"), (46, 47, 30, 2));
        assert_eq!(row(&profile, "main"), (1, 60, 1, 0));
        assert_eq!(row(&profile, "run"), (0, 7, 0, 0));
    }

    #[test]
    fn function_without_inlined_code_has_a_cost_for_each_event() {
        let text = [
            "{\"type\":\"fn\",\"fn\":\"main\",\"calls\":1,\"cost\":{\"Ir\":9,\"Dr\":2}}\n",
            "{\"type\":\"fn\",\"fn\":\"plain\",\"calls\":4,\"cost\":{\"Ir\":7,\"Dr\":1}}\n",
            "{\"type\":\"inline\",\"fn\":\"mix\",\"cost\":{\"Ir\":5,\"Dr\":1},\"incl\":{\"Ir\":5,\"Dr\":1},\"stack\":[{\"fn\":\"mix\"},{\"fn\":\"main\"}]}\n",
            "{\"type\":\"inline\",\"fn\":\"main\",\"cost\":{\"Ir\":4,\"Dr\":1},\"incl\":{\"Ir\":9,\"Dr\":2},\"stack\":[{\"fn\":\"main\"}]}\n",
        ]
        .concat();
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        let functions = profile.by_innermost().unwrap();
        let (profile, out_of_line) = profile.as_if_nothing_were_inlined(functions).unwrap();
        let table = profile.table(RecordType::Fn);
        let mut found: Vec<(&str, Count, &[Count])> = (0..table.len())
            .map(|row| {
                let name = profile.text(table.function(row).name).unwrap();
                (name, table.calls(row), &out_of_line[row][..])
            })
            .collect();
        found.sort();
        // The innermost function that is inlined everywhere has no calls, and no cost of its own.
        assert_eq!(found[0], ("main", 1, &[4, 1][..]));
        assert_eq!((found[1].0, found[1].1), ("mix", 0));
        assert_eq!(found[2], ("plain", 4, &[0, 0][..]));
    }
}
