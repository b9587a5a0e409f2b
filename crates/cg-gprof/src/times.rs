//! Self times of functions, the calls between them, and the inclusive times that follow.
//!
//! gprof does not measure the time of a call. It assumes that each call of a function takes the same time, so the time of a
//! function and its callees is divided among the callers by their numbers of calls. A cycle of functions is divided as if it
//! were one function. Calls inside a cycle have no time.

use std::collections::BTreeMap;

use cg_collections::components::components;
use cg_collections::maps::Map;
use cg_costs::ids::{FunctionId, StringId};
use cg_costs::section::{ArcKey, Section, SectionFunction};
use cg_costs::tables::NoRoom;
use cg_costs::write;
use cg_reader::{Error, Reading};

/// The name of the tool in records.
const TOOL: &str = "gprof";
/// The only event: time in ns.
const TIME: &str = "time";

/// A function: its name and source file; empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FunctionName {
    pub(crate) name: Vec<u8>,
    pub(crate) file: Vec<u8>,
}

/// The times and calls of a profile.
#[derive(Default)]
pub(crate) struct CallTimes {
    numbers: Map<FunctionName, usize>,
    functions: Vec<TimedFunction>,
    /// The number of calls by caller and callee.
    arcs: BTreeMap<(usize, usize), u64>,
}

#[derive(Default)]
struct TimedFunction {
    name: FunctionName,
    /// The self time in ns.
    own: u64,
    /// The number of calls, without the function's calls of itself.
    calls: u64,
}

/// The estimated times in ns.
struct Estimate {
    /// By function: self time, and the time of its calls.
    inclusive: Vec<u64>,
    /// By arc.
    arcs: BTreeMap<(usize, usize), u64>,
    /// The functions of each component.
    members: Vec<Vec<usize>>,
}

impl CallTimes {
    pub(crate) fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns true if there are calls.
    pub(crate) fn has_calls(&self) -> bool {
        !self.arcs.is_empty()
    }

    /// Returns the self time of a function.
    #[cfg(test)]
    pub(crate) fn own(&self, function: usize) -> u64 {
        self.functions[function].own
    }

    /// Returns the number of a function. Adds it if it is new.
    pub(crate) fn function(&mut self, name: FunctionName) -> usize {
        if let Some(number) = self.numbers.get(&name) {
            return *number;
        }
        let number = self.functions.len();
        self.functions.push(TimedFunction {
            name: name.clone(),
            ..TimedFunction::default()
        });
        self.numbers.insert(name, number);
        number
    }

    /// Adds self time in ns.
    pub(crate) fn add_own(&mut self, function: usize, time: u64) -> Result<(), Error> {
        let own = &mut self.functions[function].own;
        *own = own.checked_add(time).ok_or_else(beyond)?;
        Ok(())
    }

    /// Adds to the number of calls of a function.
    pub(crate) fn add_calls(&mut self, function: usize, calls: u64) -> Result<(), Error> {
        let known = &mut self.functions[function].calls;
        *known = known.checked_add(calls).ok_or_else(beyond)?;
        Ok(())
    }

    /// Adds calls from a function to another one, without a change of the called function's number of calls.
    pub(crate) fn add_arc(
        &mut self,
        caller: usize,
        callee: usize,
        calls: u64,
    ) -> Result<(), Error> {
        let known = self.arcs.entry((caller, callee)).or_default();
        *known = known.checked_add(calls).ok_or_else(beyond)?;
        Ok(())
    }

    fn estimate(&self) -> Result<Estimate, Error> {
        let component_of = components(self.functions.len(), self.arcs.keys().copied());
        let count = component_of.iter().max().map_or(0, |last| last + 1);
        let mut members = vec![Vec::new(); count];
        for (function, component) in component_of.iter().enumerate() {
            members[*component].push(function);
        }
        let mut incoming: Vec<Vec<(usize, usize, u64)>> = vec![Vec::new(); count];
        for ((caller, callee), calls) in &self.arcs {
            if component_of[*caller] != component_of[*callee] {
                incoming[component_of[*callee]].push((*caller, *callee, *calls));
            }
        }
        let mut inclusive: Vec<u64> = self.functions.iter().map(|function| function.own).collect();
        let mut arcs = BTreeMap::new();
        // Callees first, so that the times of all calls from a component are known.
        for (component, members) in members.iter().enumerate() {
            let mut total = 0u64;
            for member in members {
                total = total.checked_add(inclusive[*member]).ok_or_else(beyond)?;
            }
            let all_calls: u128 = incoming[component]
                .iter()
                .map(|(_, _, calls)| u128::from(*calls))
                .sum();
            let (mut counted, mut divided) = (0u128, 0u64);
            for (caller, callee, calls) in &incoming[component] {
                counted += u128::from(*calls);
                // Rounds the running sum, so that the parts add up to the whole.
                let until = (u128::from(total) * counted).checked_div(all_calls);
                let until = until.unwrap_or(0) as u64;
                arcs.insert((*caller, *callee), until - divided);
                let sum = inclusive[*caller].checked_add(until - divided);
                inclusive[*caller] = sum.ok_or_else(beyond)?;
                divided = until;
            }
        }
        Ok(Estimate {
            inclusive,
            arcs,
            members,
        })
    }

    /// Writes the records. `read` is the result of reading the profile.
    pub(crate) fn write(
        self,
        object: &[u8],
        read: Result<(), Error>,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        // Without calls between functions, only self times are known.
        let mut section = Section::new(TOOL, self.has_calls());
        section.keep_calls();
        section.run.add_source(reading.source);
        (section.run.units).insert(TIME.to_owned(), "ns".to_owned());
        if read.is_err() {
            section.mark_incomplete();
        }
        self.fill(object, &mut section)?;
        write::write(&mut section, None, None, reading.options, reading.out)?;
        read
    }

    fn fill(&self, object: &[u8], section: &mut Section) -> Result<(), Error> {
        let estimate = self.estimate()?;
        section.columns(&[TIME.to_owned()]);
        let no_room = |no_room: NoRoom| Error::whole(no_room.to_string());
        let object = section.strings.intern(object)?;
        let mut ids: Vec<FunctionId> = Vec::with_capacity(self.functions.len());
        for (function, inclusive) in self.functions.iter().zip(&estimate.inclusive) {
            let name = section.strings.intern(&function.name.name)?;
            let file = section.strings.intern(&function.name.file)?;
            let id = section.function(SectionFunction { name, file, object })?;
            section.add_cost(id, &[function.own]).map_err(no_room)?;
            (section.add_inclusive(id, &[*inclusive], function.calls)).map_err(no_room)?;
            ids.push(id);
        }
        for ((caller, callee), calls) in &self.arcs {
            let key = ArcKey {
                caller: ids[*caller],
                callee: ids[*callee],
                site: StringId::NOT_GIVEN,
                line: 0,
                address: None,
                inlined: None,
            };
            let time = estimate.arcs.get(&(*caller, *callee));
            let time = time.copied().unwrap_or(0);
            section.add_arc(key, *calls, &[time]).map_err(no_room)?;
        }
        for members in estimate.members.iter().filter(|members| members.len() > 1) {
            let members: Vec<FunctionId> = members.iter().map(|member| ids[*member]).collect();
            section.add_cycle(&members);
        }
        Ok(())
    }
}

fn beyond() -> Error {
    Error::whole("a sum of times or calls is beyond 64 bits")
}
