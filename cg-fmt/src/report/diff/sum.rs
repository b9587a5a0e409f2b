//! Sums of diff records. Arrays are added element by element, so diffs can be concatenated and grouped like other records.

use std::collections::BTreeMap;

use cg_collections::sorting::Order as _;
use cg_stream::record::{
    Count, Counts, CountsPerRun, DiffRecord, Name, PerRun, RecordType, RunBelowThreshold, Status,
};

use crate::options::GroupBy;
use crate::report::grouping::find_group;

/// Adds up records with equal keys.
pub(super) fn merged(records: &[DiffRecord<'static>], base: usize) -> Vec<DiffRecord<'static>> {
    sum_by(records, base, |record| {
        (
            record.of.clone(),
            (
                record.name.clone(),
                record.file.clone(),
                record.obj.clone(),
                record.bench.clone(),
                record.site.clone(),
                record.line,
            ),
            record.callee.clone(),
            (record.kind.clone(), record.what.clone()),
            record.stack.clone(),
        )
    })
}

/// Adds up the records of each group and benchmark. Drops fields that do not add up.
pub(super) fn grouped(
    records: &[DiffRecord<'static>],
    by: GroupBy,
    base: usize,
) -> Vec<DiffRecord<'static>> {
    let bare: Vec<DiffRecord<'static>> = records
        .iter()
        .map(|record| {
            let label = Name::from(find_group(
                record.name.as_deref(),
                record.file.as_deref(),
                record.obj.as_deref(),
                by,
            ));
            let mut group = DiffRecord {
                of: record.of.clone(),
                bench: record.bench.clone(),
                // Leaks of several kinds do not add up.
                kind: (record.kind.clone()).filter(|_| *record.of == *RecordType::Leak.name()),
                status: match record.is_change_known(true) {
                    true => status(&record.cost, base),
                    false => Status::BelowThreshold,
                },
                below: record.below,
                cost: record.cost.clone(),
                delta: record.delta.clone(),
                ..DiffRecord::default()
            };
            match by {
                GroupBy::File => group.file = Some(label),
                GroupBy::Object => group.obj = Some(label),
                _ => group.name = Some(label),
            }
            group
        })
        .collect();
    merged(&bare, base)
}

fn sum_by<Key: Ord>(
    records: &[DiffRecord<'static>],
    base: usize,
    key: impl Fn(&DiffRecord<'static>) -> Key,
) -> Vec<DiffRecord<'static>> {
    let mut index = BTreeMap::new();
    let mut sums: Vec<DiffRecord<'static>> = Vec::new();
    for record in records {
        let position = *index.entry(key(record)).or_insert(sums.len());
        let Some(sum) = sums.get_mut(position) else {
            sums.push(record.clone());
            continue;
        };
        let is_known = sum.is_change_known(true) && record.is_change_known(true);
        let below = [sum.below, record.below];
        add(&mut sum.calls, &record.calls);
        if let Some(places) = &record.places {
            add(sum.places.get_or_insert_default(), places);
        }
        add_counts(&mut sum.cost, &record.cost);
        add_counts(&mut sum.incl, &record.incl);
        add_deltas(&mut sum.delta, &record.delta);
        add_deltas(&mut sum.incl_delta, &record.incl_delta);
        // A reason or an old name belongs to one record, not to the sum.
        sum.why = None;
        sum.was = sum
            .was
            .take()
            .filter(|was| Some(was) == record.was.as_ref());
        sum.explained_by = None;
        sum.guess |= record.guess;
        let is_below = |run: usize| below.iter().flatten().any(|below| below.flags()[run]);
        sum.at_most = None;
        sum.below = RunBelowThreshold::from_flags([is_below(0), is_below(1)]);
        if sum.below.is_some() {
            sum.incl_delta = Counts::default();
        }
        if is_known {
            sum.status = status(&sum.cost, base);
        } else {
            sum.status = Status::BelowThreshold;
            sum.delta = Counts::default();
        }
    }
    sums
}

/// Returns the status of summed entries.
pub(super) fn status(cost: &CountsPerRun, base: usize) -> Status {
    let has = |run: Option<&Option<Count>>| matches!(run, Some(Some(_)));
    let before = cost.0.iter().any(|(_, runs)| has(runs.0.get(base)));
    let after = cost.0.iter().any(|(_, runs)| has(runs.0.last()));
    let is_same = cost
        .0
        .iter()
        .all(|(_, runs)| runs.0.get(base) == runs.0.last());
    match (before, after) {
        (true, false) => Status::Removed,
        (false, true) => Status::Added,
        _ if is_same => Status::Same,
        _ => Status::Changed,
    }
}

/// Adds element by element. The sum of `None` and `None` is `None`.
pub(super) fn add(sum: &mut PerRun, other: &PerRun) {
    if sum.0.len() < other.0.len() {
        sum.0.resize(other.0.len(), None);
    }
    for (sum, other) in sum.0.iter_mut().zip(&other.0) {
        if let Some(other) = other {
            *sum = Some(sum.unwrap_or(0) + other);
        }
    }
}

fn add_counts(sum: &mut CountsPerRun<'static>, other: &CountsPerRun<'static>) {
    for (event, entries) in &other.0 {
        match sum.0.iter_mut().find(|(known, _)| known == event) {
            Some((_, known)) => add(known, entries),
            None => sum.0.push((event.clone(), entries.clone())),
        }
    }
}

fn add_deltas(sum: &mut Counts<'static>, other: &Counts<'static>) {
    for (event, delta) in &other.0 {
        match sum.0.iter_mut().find(|(known, _)| known == event) {
            Some((_, known)) => *known += delta,
            None => sum.0.push((event.clone(), *delta)),
        }
    }
}

/// Sorts by the size of the first event's delta, then by names.
pub(super) fn sorted(
    mut records: Vec<DiffRecord<'static>>,
    first: &str,
) -> Vec<DiffRecord<'static>> {
    records.order_by(|a, b| {
        let size = |record: &DiffRecord| record.delta.get(first).abs();
        size(b)
            .cmp(&size(a))
            .then_with(|| (&a.name, &a.file, &a.obj).cmp(&(&b.name, &b.file, &b.obj)))
            .then_with(|| a.bench.cmp(&b.bench))
    });
    records
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &'static str, entries: [Option<Count>; 2]) -> DiffRecord<'static> {
        let [old, new] = entries;
        DiffRecord {
            name: Some(Name::from(name)),
            of: Name::from("fn"),
            cost: CountsPerRun(vec![(Name::from("Ir"), PerRun(entries.to_vec()))]),
            delta: Counts::from([("Ir", new.unwrap_or(0) - old.unwrap_or(0))]),
            ..DiffRecord::default()
        }
    }

    #[test]
    fn groups_add_up_element_by_element_and_have_the_status_of_the_sum() {
        let records = [
            record("a::f", [Some(5), Some(8)]),
            record("a::g", [Some(4), Some(1)]),
            record("b::f", [None, Some(2)]),
            record("c::f", [Some(3), None]),
        ];
        let groups = grouped(&records, GroupBy::Crate, 0);
        let seen: Vec<_> = groups
            .iter()
            .map(|group| {
                let entries = group.cost.get("Ir").map(|entries| entries.0.clone());
                (
                    group.name.as_deref(),
                    entries,
                    group.delta.get("Ir"),
                    group.status,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                (Some("a"), Some(vec![Some(9), Some(9)]), 0, Status::Same),
                (Some("b"), Some(vec![None, Some(2)]), 2, Status::Added),
                (Some("c"), Some(vec![Some(3), None]), -3, Status::Removed),
            ]
        );
    }

    #[test]
    fn a_sum_with_rows_below_the_threshold_has_no_change() {
        let below = |name, entries, below| DiffRecord {
            status: Status::BelowThreshold,
            below: Some(below),
            delta: Counts::default(),
            ..record(name, entries)
        };
        let records = [
            record("a::f", [Some(4), Some(5)]),
            below("a::g", [Some(5), None], RunBelowThreshold::New),
            below("a::h", [None, Some(6)], RunBelowThreshold::Old),
        ];
        let groups = grouped(&records, GroupBy::Crate, 0);
        let [group] = groups.as_slice() else {
            panic!("{groups:?}")
        };
        let seen = (group.status, group.below, group.delta.is_empty());
        assert_eq!(
            seen,
            (Status::BelowThreshold, Some(RunBelowThreshold::Both), true)
        );
        let entries = group.cost.get("Ir").unwrap();
        assert_eq!(entries.0, [Some(9), Some(11)]);
    }

    #[test]
    fn only_equal_keys_merge() {
        let records = [
            record("f", [Some(1), Some(2)]),
            DiffRecord {
                line: Some(3),
                ..record("f", [Some(1), Some(2)])
            },
            record("f", [Some(1), None]),
        ];
        let sums = merged(&records, 0);
        assert_eq!(sums.len(), 2);
        let entries = sums[0].cost.get("Ir").unwrap();
        assert_eq!(entries.0, [Some(2), Some(2)]);
    }
}
