//! Ranks records for `--top`, `--threshold` and `--sort`, after all records are read.
//!
//! Concatenating streams adds them up, so records with the same key are summed before they are ranked. All lines of a chosen
//! key are kept. Keys are ranked within their type, largest first, then by function, file and object as bytes.

use cg_collections::maps::{OrderedMap, OrderedSet, Set};
use cg_collections::sorting::Order as _;
use cg_stream::Error;
use cg_stream::percent::Percent;
use cg_stream::record::{Count, RecordType};

use crate::arcs::push_part;
use crate::count::CountKey;
use crate::filter::runs::RunFigures;
use crate::record::{Field, RecordFields};

/// The selection of records to keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Selection {
    #[default]
    All,
    /// The N most expensive of each type.
    Top(usize),
    /// For each type, the fewest records that cover this share of the total.
    Threshold(Percent),
}

/// The number of a key in a [`Ranking`].
pub(crate) type GroupId = u32;

/// Records grouped by key, with their costs.
#[derive(Default)]
pub(crate) struct Ranking {
    key: Option<CountKey>,
    asked: u64,
    found: u64,
    types: Vec<RankedType>,
    groups: OrderedMap<RankedKey, RankedGroup>,
    /// For each group, true if [`Ranking::choose`] chose it.
    chosen: Vec<bool>,
    /// Interned files and objects, which many keys share.
    texts: OrderedSet<Box<[u8]>>,
}

struct RankedType {
    kind: RecordType,
    is_diff: bool,
    /// The count that the type is ranked by. `None` if the records have no cost, such as snapshots; then all are kept.
    key: Option<CountKey>,
}

/// The identity of a record.
#[derive(PartialEq, Eq, Hash)]
struct RankedKey {
    /// The position in [`Ranking::types`].
    ranked_type: usize,
    name: Box<[u8]>,
    file: TextId,
    obj: TextId,
    /// Line, kind, callee, stack and other fields, encoded as bytes; empty for most functions.
    rest: Box<[u8]>,
}

/// The number of a text in a [`Ranking`].
type TextId = u32;

#[derive(Default)]
struct RankedGroup {
    cost: Count,
    /// For calls, the called function.
    callee: Option<(Box<[u8]>, TextId)>,
    /// True if a record of the group is kept by all other conditions.
    is_shown: bool,
}

impl Ranking {
    pub(crate) fn new(key: Option<CountKey>) -> Ranking {
        Ranking {
            key,
            ..Ranking::default()
        }
    }

    /// Returns the group of a record and the cost that the record adds; `None` if the record is not ranked.
    pub(crate) fn group(
        &mut self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
        is_diff: bool,
        runs: &RunFigures,
    ) -> Result<Option<(GroupId, Count)>, Error> {
        let ranked_type = self.ranked_type(record, kind, is_diff, runs)?;
        let Some(key) = &self.types[ranked_type].key else {
            return Ok(None);
        };
        let found = key.find(record)?;
        self.asked += 1;
        self.found += u64::from(found.is_some());
        let cost = found.unwrap_or(0);
        let key = RankedKey {
            ranked_type,
            name: record.text(Field::Name)?.as_ref().into(),
            file: self.text_id(&record.text(Field::File)?),
            obj: self.text_id(&record.text(Field::Obj)?),
            rest: rest_of_key(record)?.into(),
        };
        let callee = record.callee()?;
        let callee = callee.map(|callee| (callee.name.as_ref().into(), self.text_id(&callee.obj)));
        let entry = self.groups.entry(key);
        let group = as_id(entry.index());
        entry.or_insert_with(|| RankedGroup {
            callee,
            ..RankedGroup::default()
        });
        Ok(Some((group, cost)))
    }

    fn text_id(&mut self, text: &[u8]) -> TextId {
        let index = match self.texts.get_index_of(text) {
            Some(index) => index,
            None => self.texts.insert_full(text.into()).0,
        };
        as_id(index)
    }

    fn text(&self, id: TextId) -> &[u8] {
        self.texts
            .get_index(id as usize)
            .map_or(b"", |text| text.as_ref())
    }

    /// Returns the position in `types`. The first record of a type determines the key for ranking the type.
    fn ranked_type(
        &mut self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
        is_diff: bool,
        runs: &RunFigures,
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
    pub(crate) fn add(&mut self, group: GroupId, cost: Count) {
        if let Some((_, group)) = self.groups.get_index_mut(group as usize) {
            group.cost = group.cost.saturating_add(cost);
            group.is_shown = true;
        }
    }

    /// Chooses groups after all records are added. Returns the chosen groups in order.
    pub(crate) fn choose(&mut self, selection: Selection, runs: &RunFigures) -> Vec<GroupId> {
        let order = self.in_order();
        let keys = self.groups.keys();
        let kind_at = |index: &usize| self.types[keys[*index].ranked_type].kind;
        let has_functions = order.iter().any(|index| kind_at(index) == RecordType::Fn);
        let follows_its_function =
            |kind: RecordType| has_functions && matches!(kind, RecordType::Line | RecordType::Call);
        let mut chosen = vec![false; self.groups.len()];
        let mut chosen_functions: Set<(&[u8], TextId)> = Set::default();
        let same_type =
            |left: &usize, right: &usize| keys[*left].ranked_type == keys[*right].ranked_type;
        for groups in order.chunk_by(same_type) {
            let kind = kind_at(&groups[0]);
            if follows_its_function(kind) {
                continue;
            }
            for index in &groups[..self.count_chosen(groups, selection, runs)] {
                chosen[*index] = true;
                if kind == RecordType::Fn {
                    chosen_functions.insert(keys[*index].function());
                }
            }
        }
        for index in &order {
            if follows_its_function(kind_at(index)) {
                // A call belongs to both of its functions.
                let callee = self.groups[*index].callee.as_ref();
                chosen[*index] = chosen_functions.contains(&keys[*index].function())
                    || callee
                        .is_some_and(|(name, obj)| chosen_functions.contains(&(&**name, *obj)));
            }
        }
        self.chosen = chosen;
        let order = order.into_iter().filter(|index| self.chosen[*index]);
        order.map(as_id).collect()
    }

    /// Returns the groups with a record, sorted by type, cost, name, file and object.
    fn in_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.groups.len())
            .filter(|index| self.groups[*index].is_shown)
            .collect();
        order.order_by(|left, right| {
            let (left_key, right_key) = (&self.groups.keys()[*left], &self.groups.keys()[*right]);
            let (left, right) = (&self.groups[*left], &self.groups[*right]);
            let type_rank = |key: &RankedKey| {
                let ranked_type = &self.types[key.ranked_type];
                (ranked_type.kind, ranked_type.is_diff)
            };
            type_rank(left_key)
                .cmp(&type_rank(right_key))
                .then_with(|| magnitude(right.cost).cmp(&magnitude(left.cost)))
                .then_with(|| left_key.name.cmp(&right_key.name))
                .then_with(|| self.text(left_key.file).cmp(self.text(right_key.file)))
                .then_with(|| self.text(left_key.obj).cmp(self.text(right_key.obj)))
                .then_with(|| left_key.rest.cmp(&right_key.rest))
        });
        order
    }

    /// Returns the number of chosen groups of a type. The groups are in order.
    fn count_chosen(&self, groups: &[usize], selection: Selection, runs: &RunFigures) -> usize {
        let percent = match selection {
            Selection::All => return groups.len(),
            Selection::Top(count) => return count.min(groups.len()),
            Selection::Threshold(percent) => percent,
        };
        let cost = |index: &usize| magnitude(self.groups[*index].cost);
        let costs = groups.iter().map(cost);
        let ranked_type = &self.types[self.groups.keys()[groups[0]].ranked_type];
        let total = match &ranked_type.key {
            // The absolute differences in a diff do not add up to the difference of the totals.
            Some(key) if !ranked_type.is_diff => runs.total(&key.event),
            _ => None,
        };
        let total = total.filter(|total| *total > 0);
        let total = total.unwrap_or_else(|| costs.clone().sum());
        let mut covered = 0;
        let is_needed = |cost: &Count| {
            let is_needed = !percent.is_reached(covered, total);
            covered += cost;
            is_needed
        };
        costs.take_while(is_needed).count()
    }

    /// Returns the wanted key if there were records and none of them has it.
    pub(crate) fn missing_key(&self) -> Option<&CountKey> {
        (self.key.as_ref()).filter(|_| self.asked > 0 && self.found == 0)
    }

    pub(crate) fn is_chosen(&self, group: GroupId) -> bool {
        self.chosen.get(group as usize) == Some(&true)
    }
}

impl RankedKey {
    /// The function as in `line` and `call` records. A line has its own file, so the file is left out.
    fn function(&self) -> (&[u8], TextId) {
        (&self.name, self.obj)
    }
}

/// Converts an index to an id. Four billion distinct keys do not fit in memory.
fn as_id(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Returns the absolute cost. Profiles that are differences have negative costs, which matter as much as positive costs.
fn magnitude(cost: Count) -> Count {
    cost.saturating_abs()
}

/// Returns the default key for ranking a type: the first event of the run that the records have, preferably an event whose
/// total is not 0.
fn first_event(
    record: &mut RecordFields<'_>,
    runs: &RunFigures,
) -> Result<Option<CountKey>, Error> {
    for (field, is_inclusive) in [(Field::Cost, false), (Field::Incl, true)] {
        let Some(counts) = record.object(field)? else {
            continue;
        };
        let mut named = Vec::new();
        for count in counts {
            let (event, _) = count.map_err(|_| record.malformed())?;
            named.push(String::from_utf8_lossy(&event).into_owned());
        }
        let mut known = runs.events().iter().filter(|event| named.contains(event));
        let first = known.clone().next();
        let counted = known.find(|event| runs.total(event) != Some(0));
        if let Some(event) = counted.or(first).or(named.first()) {
            return Ok(Some(CountKey {
                is_inclusive,
                event: event.clone(),
            }));
        }
    }
    Ok(None)
}

/// Encodes the key of a record without its function.
fn rest_of_key(record: &mut RecordFields<'_>) -> Result<Vec<u8>, Error> {
    let mut rest = Vec::new();
    for field in [
        Field::Bench,
        Field::Site,
        Field::Line,
        Field::Addr,
        Field::Kind,
        Field::What,
        Field::Snapshot,
        Field::Part,
        Field::Thread,
    ] {
        if let Some(value) = record.get(field)? {
            rest.push(field as u8);
            push_part(&mut rest, value.raw());
        }
    }
    for frame in record.callee()?.into_iter().chain(record.frames()?) {
        for part in [&*frame.name, &*frame.file, &*frame.obj, frame.line] {
            push_part(&mut rest, part);
        }
    }
    Ok(rest)
}
