//! The heap of each run over time. Snapshots are not compared. They are passed on, so both runs can be drawn in one
//! picture.

use cg_stream::record::SnapshotRecord;

use crate::runs::Runs;

/// The maximum number of snapshots per run. No screen shows more, and heaptrack takes a hundred snapshots per second.
const MOST: usize = 2_000;

/// Returns the snapshots of all runs, each with the position of its run.
///
/// Empty if a side has several runs, which have no common time axis. Also empty if the sides are snapshots of one run,
/// because a picture would show the same line twice.
pub(crate) fn collect_snapshots(runs: &Runs) -> Vec<SnapshotRecord> {
    let is_one_snapshot = runs.snapshots.windows(2).all(|pair| pair[0] == pair[1]);
    let mut profiles = runs.profiles.windows(2);
    let is_one_run = profiles.all(|pair| pair[0].snapshots() == pair[1].snapshots());
    if is_one_run && !is_one_snapshot {
        return Vec::new();
    }
    let mut all = Vec::new();
    for (position, (_, files)) in runs.sides.iter().enumerate() {
        let [profile] = &runs.profiles[files.clone()] else {
            return Vec::new();
        };
        if profile.runs().len() > 1 {
            return Vec::new();
        }
        let with_run = |snapshot: &SnapshotRecord| SnapshotRecord {
            run: Some(position as u64),
            ..snapshot.clone()
        };
        all.extend(thinned(profile.snapshots()).into_iter().map(with_run));
    }
    all
}

/// Returns all snapshots if they are few; otherwise the first, and the largest and the last of each chunk.
fn thinned(snapshots: &[SnapshotRecord]) -> Vec<&SnapshotRecord> {
    if snapshots.len() <= MOST {
        return snapshots.iter().collect();
    }
    // One chunk less, because the first snapshot is kept in addition.
    let chunk_len = snapshots.len().div_ceil(MOST / 2 - 1);
    let mut kept = vec![&snapshots[0]];
    for chunk in snapshots[1..].chunks(chunk_len) {
        // Among equals, prefer the peak, then the first. The order is reversed, because `max_by_key` returns the last.
        let rank = |at: &usize| (chunk[*at].total(), chunk[*at].detail == "peak");
        let largest = (0..chunk.len()).rev().max_by_key(rank);
        let last = chunk.len() - 1;
        let largest = largest.filter(|largest| *largest != last);
        kept.extend(largest.into_iter().chain([last]).map(|at| &chunk[at]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::tests::{runs, sides};

    fn stream(levels: impl Iterator<Item = u64>) -> String {
        let snapshot = |(number, bytes): (usize, u64)| {
            format!(
                "{{\"type\":\"snapshot\",\"snapshot\":{number},\"time\":{number},\"heap_bytes\":{bytes},\"extra_bytes\":0,\"stacks_bytes\":0,\"detail\":\"empty\"}}\n"
            )
        };
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"massif\",\"events\":[\"bytes\"],\"total\":{}}\n"
            .to_owned()
            + &levels.enumerate().map(snapshot).collect::<String>()
    }

    fn levels(snapshots: &[SnapshotRecord]) -> Vec<(Option<u64>, u64, u64)> {
        let level = |one: &SnapshotRecord| (one.run, one.snapshot, one.heap_bytes);
        snapshots.iter().map(level).collect()
    }

    #[test]
    fn each_snapshot_has_the_position_of_its_run() {
        let (a, b) = (stream([0, 7].into_iter()), stream([5].into_iter()));
        let found = collect_snapshots(&runs(&[&a, &b]));
        assert_eq!(
            levels(&found),
            [(Some(0), 0, 0), (Some(0), 1, 7), (Some(1), 0, 5)]
        );
    }

    #[test]
    fn side_of_several_runs_has_no_snapshots() {
        let one = stream([3].into_iter());
        let twice = one.clone() + &one;
        assert!(collect_snapshots(&sides(&[&[&one, &one], &[&one]])).is_empty());
        assert!(collect_snapshots(&runs(&[&one, &twice])).is_empty());
    }

    #[test]
    fn thinning_keeps_the_largest_snapshot() {
        let many = stream((0..100_000).map(|at| if at == 77_777 { 9_000 } else { at % 7 }));
        let found = collect_snapshots(&runs(&[&many]));
        assert!((MOST / 2..=MOST).contains(&found.len()), "{}", found.len());
        assert!(levels(&found).contains(&(Some(0), 77_777, 9_000)));
        let ends = [found.first(), found.last()].map(|one| one.map(|one| one.snapshot));
        assert_eq!(ends, [Some(0), Some(99_999)]);
        assert!(found.is_sorted_by_key(|one| one.snapshot));
    }
}
