//! The events that have stacks but are not read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use cg_collections::maps::Map;
use cg_reader::Error;

use super::cursor::JfrCursor;
use super::metadata::{JfrTypes, Step, Taken, run};

/// The numbers of these events by the name of their type.
#[derive(Default)]
pub(super) struct LeftOut {
    counts: BTreeMap<String, u64>,
}

/// The types of a chunk whose events can have stacks.
#[derive(Default)]
pub(super) struct StackTypes(Map<u64, (String, Vec<Step>)>);

impl StackTypes {
    /// Adds a type, if its events can have stacks.
    pub(super) fn add(&mut self, id: u64, name: &[u8], types: &JfrTypes) -> Result<(), Error> {
        const TRACE: &str = "stackTrace";
        if types.has_field(id, TRACE.as_bytes()) {
            let name = String::from_utf8_lossy(name).into_owned();
            self.0.insert(id, (name, types.steps(id, &[TRACE])?));
        }
        Ok(())
    }
}

impl LeftOut {
    /// Counts an event, if it has a stack.
    pub(super) fn add(
        &mut self,
        id: u64,
        cursor: &mut JfrCursor,
        types: &StackTypes,
    ) -> Result<(), Error> {
        let Some((name, steps)) = types.0.get(&id) else {
            return Ok(());
        };
        let mut taken = Taken::default();
        run(steps, cursor, &mut taken)?;
        if taken.numbers[0] == 0 {
            return Ok(());
        }
        match self.counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(self.counts.insert(name.clone(), 1)),
        }
        Ok(())
    }

    /// Returns a message, the most frequent events first; `None` if no event was left out.
    pub(super) fn message(&self) -> Option<String> {
        let mut counts: Vec<(&String, &u64)> = self.counts.iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(**count));
        let counts: Vec<String> = counts
            .into_iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        let is_empty = counts.is_empty();
        (!is_empty).then(|| format!("events with stacks are left out: {}", counts.join(", ")))
    }
}
