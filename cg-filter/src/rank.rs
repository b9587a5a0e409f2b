//! `--top`, `--threshold` and `--sort`: which records are the most expensive, once all are known.
//!
//! Concatenation is addition, so records with the same key are added up before they are ranked; all lines of a chosen
//! key are kept. Keys are ranked within their type, largest first, then by function, file and object as bytes.

use std::collections::HashSet;

use cg_stream::Error;
use cg_stream::record::{Count, RecordType};

use crate::arcs::{FunctionId, Functions, push_part};
use crate::count::{CountKey, Percent};
use crate::filter::runs::Runs;
use crate::record::{Field, Record};

/// How many are kept.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Selection {
    #[default]
    All,
    /// The N most expensive of each type.
    Top(usize),
    /// The fewest that cover this share of the total, by type.
    Threshold(Percent),
}

/// A key of one [`Ranking`].
pub(crate) type GroupId = u32;

/// Records by key, and what they cost.
#[derive(Default)]
pub(crate) struct Ranking {
    key: Option<CountKey>,
    types: Vec<RankedType>,
    groups: indexmap::IndexMap<Box<[u8]>, Group, foldhash::fast::FixedState>,
    functions: Functions,
}

struct RankedType {
    kind: RecordType,
    is_diff: bool,
    /// What it is ranked by; `None` where its records cost nothing, as snapshots do, and all are kept.
    key: Option<CountKey>,
}

struct Group {
    of: usize,
    function: FunctionId,
    cost: Count,
    is_shown: bool,
    is_chosen: bool,
}

impl Ranking {
    pub(crate) fn new(key: Option<CountKey>) -> Ranking {
        Ranking {
            key,
            ..Ranking::default()
        }
    }

    /// The group of a record and what the record adds to it; `None` for a record that is not ranked.
    pub(crate) fn group(
        &mut self,
        record: &mut Record<'_>,
        kind: RecordType,
        is_diff: bool,
        runs: &Runs,
    ) -> Result<Option<(GroupId, Count)>, Error> {
        let of = self.ranked_type(record, kind, is_diff, runs)?;
        let Some(key) = &self.types[of].key else {
            return Ok(None);
        };
        let cost = key.find(record)?.unwrap_or(0);
        let name = record.text(Field::Name)?;
        let obj = record.text(Field::Obj)?;
        let key = key_of(of, record)?;
        let index = match self.groups.get_index_of(&*key) {
            Some(index) => index,
            None => {
                let group = Group {
                    of,
                    function: self.functions.without_file(&name, &obj),
                    cost: 0,
                    is_shown: false,
                    is_chosen: false,
                };
                self.groups.insert_full(key.into(), group).0
            }
        };
        Ok(Some((group_id(index), cost)))
    }

    /// The place in `types`; the first record of a type decides what the type is ranked by.
    fn ranked_type(
        &mut self,
        record: &mut Record<'_>,
        kind: RecordType,
        is_diff: bool,
        runs: &Runs,
    ) -> Result<usize, Error> {
        let known = |known: &RankedType| (known.kind, known.is_diff) == (kind, is_diff);
        if let Some(index) = self.types.iter().position(known) {
            return Ok(index);
        }
        let key = match &self.key {
            Some(key) => Some(key.clone()),
            None => first_event(record, runs)?,
        };
        self.types.push(RankedType { kind, is_diff, key });
        Ok(self.types.len() - 1)
    }

    /// Adds a record to its group.
    pub(crate) fn add(&mut self, (group, cost): (GroupId, Count)) {
        if let Some((_, group)) = self.groups.get_index_mut(group as usize) {
            group.cost = group.cost.saturating_add(cost);
            group.is_shown = true;
        }
    }

    /// Chooses groups, after all records are added, and returns them in their order.
    pub(crate) fn choose(&mut self, selection: Selection, runs: &Runs) -> Vec<GroupId> {
        let mut order: Vec<(&Box<[u8]>, &Group, usize)> = self
            .groups
            .iter()
            .enumerate()
            .map(|(index, (key, group))| (key, group, index))
            .filter(|(_, group, _)| group.is_shown)
            .collect();
        order.sort_by(|(left_key, left, _), (right_key, right, _)| {
            let largest_first = magnitude(right.cost).cmp(&magnitude(left.cost));
            left.of
                .cmp(&right.of)
                .then(largest_first)
                .then(left_key.cmp(right_key))
        });
        let of_types: Vec<usize> = order.iter().map(|(_, group, _)| group.of).collect();
        let order: Vec<usize> = order.into_iter().map(|(_, _, index)| index).collect();

        let has_functions = order
            .iter()
            .any(|index| self.kind_of(*index) == RecordType::Fn);
        let follows_its_function =
            |kind: RecordType| has_functions && matches!(kind, RecordType::Line | RecordType::Call);
        let mut chosen_functions = HashSet::new();
        let mut start = 0;
        for of_type in of_types.chunk_by(usize::eq) {
            let of_type = &order[start..start + of_type.len()];
            start += of_type.len();
            let kind = self.kind_of(of_type[0]);
            if follows_its_function(kind) {
                continue;
            }
            let count = self.count_chosen(of_type, selection, runs);
            for index in &of_type[..count] {
                let group = &mut self.groups[*index];
                group.is_chosen = true;
                if kind == RecordType::Fn {
                    chosen_functions.insert(group.function);
                }
            }
        }
        for index in &order {
            if follows_its_function(self.kind_of(*index)) {
                let group = &mut self.groups[*index];
                group.is_chosen = chosen_functions.contains(&group.function);
            }
        }
        order
            .into_iter()
            .filter(|index| self.groups[*index].is_chosen)
            .map(group_id)
            .collect()
    }

    fn kind_of(&self, index: usize) -> RecordType {
        self.types[self.groups[index].of].kind
    }

    /// How many of the groups of a type, which are in order, are chosen.
    fn count_chosen(&self, groups: &[usize], selection: Selection, runs: &Runs) -> usize {
        let percent = match selection {
            Selection::All => return groups.len(),
            Selection::Top(count) => return count.min(groups.len()),
            Selection::Threshold(percent) => percent,
        };
        let costs = groups
            .iter()
            .map(|index| magnitude(self.groups[*index].cost));
        let of = &self.types[self.groups[groups[0]].of];
        let total = match &of.key {
            // The differences of a diff do not sum to the difference of the totals once signs are left off.
            Some(key) if !of.is_diff => runs.total(&key.event),
            _ => None,
        };
        let total = total
            .filter(|total| *total > 0)
            .unwrap_or_else(|| costs.clone().sum());
        let mut covered = 0;
        costs
            .take_while(|cost| {
                let is_needed = !percent.is_reached(covered, total);
                covered += cost;
                is_needed
            })
            .count()
    }

    pub(crate) fn is_chosen(&self, group: GroupId) -> bool {
        self.groups
            .get_index(group as usize)
            .is_some_and(|(_, group)| group.is_chosen)
    }
}

/// Four billion distinct keys do not fit in memory.
fn group_id(index: usize) -> GroupId {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Negative costs are those of profiles that are differences themselves, and are as interesting as positive ones.
fn magnitude(cost: Count) -> Count {
    cost.saturating_abs()
}

/// The event that a type is ranked by where nothing else is asked for: the first one of the run that its records have.
fn first_event(record: &mut Record<'_>, runs: &Runs) -> Result<Option<CountKey>, Error> {
    for (field, is_inclusive) in [(Field::Cost, false), (Field::Incl, true)] {
        let Some(counts) = record.object(field)? else {
            continue;
        };
        let mut named = Vec::new();
        for count in counts {
            let (event, _) = count.map_err(|_| record.malformed())?;
            named.push(String::from_utf8_lossy(&event).into_owned());
        }
        let first = runs.events().iter().find(|event| named.contains(event));
        if let Some(event) = first.or(named.first()) {
            return Ok(Some(CountKey {
                is_inclusive,
                event: event.clone(),
            }));
        }
    }
    Ok(None)
}

/// What makes two records the same record, in bytes that sort by function, file and object.
fn key_of(of: usize, record: &mut Record<'_>) -> Result<Vec<u8>, Error> {
    let mut key = Vec::with_capacity(128);
    push_part(&mut key, &of.to_be_bytes());
    for field in [Field::Name, Field::File, Field::Obj] {
        push_part(&mut key, &record.text(field)?);
    }
    for field in [
        Field::Line,
        Field::Addr,
        Field::Kind,
        Field::What,
        Field::Snapshot,
        Field::Part,
        Field::Thread,
    ] {
        let value = record.get(field)?;
        push_part(&mut key, value.map_or(b"", |value| value.raw()));
    }
    for frame in record.callee()?.into_iter().chain(record.frames()?) {
        for part in [&*frame.name, &*frame.file, &*frame.obj, frame.line] {
            push_part(&mut key, part);
        }
    }
    Ok(key)
}
