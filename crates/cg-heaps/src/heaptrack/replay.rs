//! The state of the heap at each moment, found by a replay of all allocations and frees.

use cg_reader::Error;

/// Allocations of one size at one trace. heaptrack calls this an allocation info.
#[derive(Clone, Debug, Default)]
pub(super) struct AllocationKind {
    pub(super) size: u64,
    /// The trace, counted from 1; 0 if there is no trace.
    pub(super) trace: u32,
    pub(super) allocations: u64,
    pub(super) temporary: u64,
    /// Blocks that have not been freed yet.
    pub(super) live: u64,
    /// Blocks that were live when the heap had its maximum size.
    pub(super) live_at_peak: u64,
    /// True if `live` may differ from `live_at_peak`.
    has_changed: bool,
}

/// The state of the heap while a recording is replayed.
#[derive(Debug, Default)]
pub(super) struct Replay {
    kinds: Vec<AllocationKind>,
    /// The bytes that are live now.
    live: u64,
    /// The maximum of `live` so far.
    peak: u64,
    /// The number of time stamps before the peak was first reached.
    peak_stamp: usize,
    /// True if the heap is at its peak, so the live blocks are the blocks of the peak.
    is_at_peak: bool,
    /// The kinds whose blocks have changed since their `live_at_peak` was set.
    changed: Vec<u32>,
    /// The id of the last allocation, for comparison with the next free.
    last: u64,
    /// Frees of blocks whose allocation heaptrack did not record.
    pub(super) unknown_frees: u64,
}

impl Replay {
    /// Adds a kind of allocation. Its index is the number of earlier kinds.
    pub(super) fn add_kind(&mut self, size: u64, trace: u32) -> usize {
        self.kinds.push(AllocationKind {
            size,
            trace,
            ..AllocationKind::default()
        });
        self.kinds.len() - 1
    }

    pub(super) fn kinds(&self) -> &[AllocationKind] {
        &self.kinds
    }

    /// Returns the bytes that are live now.
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Returns the maximum size of the heap, and the number of time stamps before it.
    pub(super) fn peak(&self) -> (u64, usize) {
        (self.peak, self.peak_stamp)
    }

    /// Allocates a block of a kind, after `stamps` time stamps. A free of the same block has the same `id`.
    pub(super) fn allocate(&mut self, kind: usize, id: u64, stamps: usize) -> Result<(), String> {
        let Some(allocated) = self.kinds.get_mut(kind) else {
            return Err(format!("there is no allocation {kind:x}"));
        };
        let Some(live) = self.live.checked_add(allocated.size) else {
            return Err("the number of live bytes does not fit in 64 bits".to_owned());
        };
        allocated.allocations += 1;
        allocated.live += 1;
        self.live = live;
        self.last = id;
        if live > self.peak {
            self.peak = live;
            self.peak_stamp = stamps;
            self.is_at_peak = true;
        }
        self.mark(kind);
        Ok(())
    }

    /// Frees a block of a kind.
    ///
    /// The block was temporary if its allocation is the previous event. After a free, heaptrack stores 0 as the id of the
    /// last allocation, which is also the index of the first kind. So a free of that kind after another free counts as
    /// temporary. This code does the same, to get the same figures as heaptrack.
    pub(super) fn free(&mut self, kind: usize, id: u64) -> Result<(), String> {
        if kind >= self.kinds.len() {
            return Err(format!("there is no allocation {kind:x}"));
        }
        if self.kinds[kind].live == 0 {
            return Err(format!(
                "a block of allocation {kind:x} is freed, but no block is live"
            ));
        }
        self.settle();
        let freed = &mut self.kinds[kind];
        freed.live -= 1;
        self.live -= freed.size;
        freed.temporary += u64::from(id == self.last);
        self.last = 0;
        self.mark(kind);
        Ok(())
    }

    /// Discards all earlier counts, because heaptrack was attached now.
    pub(super) fn attach(&mut self) {
        for kind in &mut self.kinds {
            *kind = AllocationKind {
                size: kind.size,
                trace: kind.trace,
                ..AllocationKind::default()
            };
        }
        *self = Replay {
            kinds: std::mem::take(&mut self.kinds),
            ..Replay::default()
        };
    }

    /// Finishes the replay and determines the blocks of the peak.
    pub(super) fn finish(&mut self) {
        self.settle();
    }

    fn mark(&mut self, kind: usize) {
        let marked = &mut self.kinds[kind];
        if !marked.has_changed {
            marked.has_changed = true;
            self.changed.push(kind as u32);
        }
    }

    /// Copies `live` to `live_at_peak` for the changed kinds if the heap is at its peak. Must be called before the heap
    /// shrinks. Each change is processed only once, even if the heap reaches many new peaks.
    fn settle(&mut self) {
        if !std::mem::take(&mut self.is_at_peak) {
            return;
        }
        for kind in self.changed.drain(..) {
            let kind = &mut self.kinds[kind as usize];
            kind.live_at_peak = kind.live;
            kind.has_changed = false;
        }
    }
}

impl AllocationKind {
    /// Returns the bytes of a number of blocks. Returns an error if they do not fit in 64 bits.
    pub(super) fn bytes(&self, blocks: u64) -> Result<u64, Error> {
        self.size
            .checked_mul(blocks)
            .ok_or_else(|| Error::whole("a sum of bytes does not fit in 64 bits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replays `+0 -0 …` with kinds of these sizes.
    fn play(sizes: &[u64], events: &str) -> Replay {
        let mut replay = Replay::default();
        for size in sizes {
            replay.add_kind(*size, 1);
        }
        for (stamp, event) in events.split_whitespace().enumerate() {
            let kind: usize = event[1..].parse().unwrap();
            match &event[..1] {
                "+" => replay.allocate(kind, kind as u64, stamp).unwrap(),
                _ => replay.free(kind, kind as u64).unwrap(),
            }
        }
        replay.finish();
        replay
    }

    fn each(replay: &Replay, count: fn(&AllocationKind) -> u64) -> Vec<u64> {
        replay.kinds.iter().map(count).collect()
    }

    #[test]
    fn the_peak_has_the_blocks_of_its_first_moment() {
        // Computed by hand. The sizes are 1, 10 and 100.
        for (events, peak, stamp, at_peak) in [
            ("", 0, 0, [0, 0, 0]),
            ("+0 +1 +2", 111, 2, [1, 1, 1]),
            ("+0 +2 -2 +1 +1", 101, 1, [1, 0, 1]),
            // The peak is reached twice, and the first time counts.
            ("+2 -2 +2 -2", 100, 0, [0, 0, 1]),
            ("+2 -2 +1 +2 -1 +0", 110, 3, [0, 1, 1]),
            ("+1 -1 +0 +0 +1 -0 -0", 12, 4, [2, 1, 0]),
        ] {
            let replay = play(&[1, 10, 100], events);
            assert_eq!(replay.peak(), (peak, stamp), "{events}");
            assert_eq!(each(&replay, |kind| kind.live_at_peak), at_peak, "{events}");
        }
    }

    #[test]
    fn the_peak_agrees_with_a_simple_replay() {
        // The events are pseudo-random. The simple replay copies all kinds at each new maximum.
        let sizes = [3, 0, 17, 64, 5];
        let mut state = 7u64;
        for _ in 0..200 {
            let mut live = [0u64; 5];
            let mut at_peak = live;
            let mut peak = 0;
            let mut events = String::new();
            for _ in 0..60 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let kind = (state >> 33) as usize % sizes.len();
                if (state >> 60) < 8 && live[kind] > 0 {
                    live[kind] -= 1;
                    events += &format!("-{kind} ");
                } else {
                    live[kind] += 1;
                    events += &format!("+{kind} ");
                }
                let bytes: u64 = live.iter().zip(sizes).map(|(live, size)| live * size).sum();
                if bytes > peak {
                    peak = bytes;
                    at_peak = live;
                }
            }
            let replay = play(&sizes, &events);
            let to_bytes = |blocks: [u64; 5]| -> Vec<u64> {
                blocks
                    .iter()
                    .zip(sizes)
                    .map(|(blocks, size)| blocks * size)
                    .collect()
            };
            let found: Vec<u64> = replay
                .kinds
                .iter()
                .map(|kind| kind.bytes(kind.live_at_peak).unwrap())
                .collect();
            assert_eq!(found, to_bytes(at_peak), "{events}");
            assert_eq!(each(&replay, |kind| kind.live), live, "{events}");
        }
    }

    #[test]
    fn blocks_that_the_next_event_frees_are_temporary() {
        for (events, temporary) in [
            ("+1 -1", [0, 1, 0]),
            ("+1 +2 -1 -2", [0, 0, 0]),
            ("+1 +2 -2 -1", [0, 0, 1]),
            ("+1 +1 -1 -1", [0, 1, 0]),
            // The same count as heaptrack's, which stores 0 after a free.
            ("+0 +1 -1 -0", [1, 1, 0]),
            ("+0 +1 -0", [0, 0, 0]),
        ] {
            let replay = play(&[1, 1, 1], events);
            assert_eq!(each(&replay, |kind| kind.temporary), temporary, "{events}");
        }
    }

    #[test]
    fn impossible_events_are_errors() {
        let mut replay = Replay::default();
        replay.add_kind(1, 1);
        assert!(replay.free(0, 0).is_err());
        assert!(replay.free(1, 1).is_err());
        assert!(replay.allocate(1, 1, 0).is_err());
        replay.add_kind(u64::MAX, 1);
        replay.allocate(1, 1, 0).unwrap();
        assert!(replay.allocate(0, 0, 0).is_err());
        replay.attach();
        assert_eq!((replay.live(), replay.peak()), (0, (0, 0)));
        assert!(replay.free(1, 1).is_err());
    }
}
