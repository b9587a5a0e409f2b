//! The size of the heap at each time stamp.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use cg_reader::Error;
use cg_stream::record::SnapshotRecord;
use tempfile::SpooledTempFile;

use super::replay::Replay;

/// The maximum size of levels in memory. More data is written to a temporary file. heaptrack writes a stamp every 10 ms.
const SPOOL_SIZE: usize = 4 * 1024 * 1024;

/// The measurements at a time stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeapLevel {
    /// Milliseconds.
    time: u64,
    heap_bytes: u64,
    /// `None` until the first value is read.
    rss_bytes: Option<u64>,
}

/// The time of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// The time stamp with this number, counted from 1.
    Stamp(usize),
    /// The first time at which the heap had its maximum size.
    Peak,
    /// After the last time stamp.
    End,
}

/// The value in the spool if no RSS value was recorded.
const NO_RSS: u64 = u64::MAX;

/// All levels, in the order of time.
pub(super) struct HeapTimeline {
    spool: SpooledTempFile,
    /// The number of stamps. The last one is not in the spool yet, because its memory figures follow the time stamp.
    stamps: usize,
    last: HeapLevel,
}

impl HeapTimeline {
    pub(super) fn new() -> HeapTimeline {
        HeapTimeline {
            spool: SpooledTempFile::new(SPOOL_SIZE),
            stamps: 0,
            last: HeapLevel::default(),
        }
    }

    /// Returns the number of time stamps so far.
    pub(super) fn stamps(&self) -> usize {
        self.stamps
    }

    /// Returns the last time stamp, in milliseconds.
    pub(super) fn end(&self) -> u64 {
        self.last.time
    }

    /// Adds a time stamp, in milliseconds.
    pub(super) fn stamp(&mut self, time: u64, heap_bytes: u64) -> io::Result<()> {
        self.spool_last()?;
        self.stamps += 1;
        self.last = HeapLevel {
            time,
            heap_bytes,
            ..self.last
        };
        Ok(())
    }

    /// Sets the memory of the whole process at the last time stamp.
    pub(super) fn rss(&mut self, bytes: u64) {
        self.last.rss_bytes = Some(bytes);
    }

    fn spool_last(&mut self) -> io::Result<()> {
        if self.stamps == 0 {
            return Ok(());
        }
        let HeapLevel {
            time,
            heap_bytes,
            rss_bytes,
        } = self.last;
        for number in [time, heap_bytes, rss_bytes.unwrap_or(NO_RSS)] {
            self.spool
                .write_all(&number.to_le_bytes())
                .map_err(name_spool)?;
        }
        Ok(())
    }

    /// Returns the moment of the last level. If the heap changed after both the last stamp and the peak, it is the end.
    pub(super) fn last_moment(&self, replay: &Replay) -> Moment {
        let (last, level) = match replay.peak() {
            (peak, stamp) if stamp == self.stamps && peak > 0 => (Moment::Peak, peak),
            _ => (Moment::Stamp(self.stamps), self.last.heap_bytes),
        };
        match level == replay.live() {
            true => last,
            false => Moment::End,
        }
    }

    /// Writes each level as a snapshot: one per time stamp, one for the peak, and one at the end if the heap changed after
    /// the last stamp.
    pub(super) fn snapshots(
        &mut self,
        replay: &Replay,
        write: &mut dyn FnMut(SnapshotRecord, Moment) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let last = self.last_moment(replay);
        let mut number = 0;
        let mut write = |level: HeapLevel, moment: Moment| {
            let detail = match moment {
                Moment::Peak => "peak",
                Moment::Stamp(_) | Moment::End => "empty",
            };
            let record = SnapshotRecord {
                snapshot: number,
                time: level.time.into(),
                heap_bytes: level.heap_bytes,
                extra_bytes: 0,
                stacks_bytes: 0,
                rss_bytes: level.rss_bytes,
                detail: detail.to_owned(),
                event: None,
                run: None,
            };
            number += 1;
            write(record, moment)
        };
        self.spool_last().map_err(Error::Input)?;
        self.spool
            .seek(SeekFrom::Start(0))
            .map_err(name_spool)
            .map_err(Error::Input)?;
        let mut spool = BufReader::new(&mut self.spool);
        let (peak, peak_stamp) = replay.peak();
        let mut level = HeapLevel::default();
        for stamp in 0..=self.stamps {
            if stamp > 0 {
                level = HeapLevel::read(&mut spool)
                    .map_err(name_spool)
                    .map_err(Error::Input)?;
                write(level, Moment::Stamp(stamp))?;
            }
            if stamp == peak_stamp && peak > 0 {
                level.heap_bytes = peak;
                write(level, Moment::Peak)?;
            }
        }
        if last == Moment::End {
            level.heap_bytes = replay.live();
            write(level, Moment::End)?;
        }
        Ok(())
    }
}

impl HeapLevel {
    fn read(spool: &mut impl Read) -> io::Result<HeapLevel> {
        let mut number = || {
            let mut bytes = [0; 8];
            spool.read_exact(&mut bytes)?;
            Ok::<u64, io::Error>(u64::from_le_bytes(bytes))
        };
        Ok(HeapLevel {
            time: number()?,
            heap_bytes: number()?,
            rss_bytes: Some(number()?).filter(|bytes| *bytes != NO_RSS),
        })
    }
}

/// Adds to an error that it concerns the temporary file, not the input.
fn name_spool(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("temporary file: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the heap size, the RSS and the mark of each snapshot.
    fn levels(timeline: &mut HeapTimeline, replay: &Replay) -> Vec<(u64, Option<u64>, String)> {
        let mut levels = Vec::new();
        let mut take = |record: SnapshotRecord, _| {
            assert_eq!(record.snapshot, levels.len() as u64);
            levels.push((record.heap_bytes, record.rss_bytes, record.detail));
            Ok(())
        };
        timeline.snapshots(replay, &mut take).unwrap();
        levels
    }

    #[test]
    fn memory_of_the_process_holds_until_the_next_measurement() {
        let mut timeline = HeapTimeline::new();
        timeline.stamp(10, 100).unwrap();
        timeline.stamp(20, 110).unwrap();
        timeline.rss(5000);
        timeline.stamp(30, 120).unwrap();
        timeline.stamp(40, 0).unwrap();
        timeline.rss(6000);
        let level = |heap: u64, rss: Option<u64>| (heap, rss, "empty".to_owned());
        assert_eq!(
            levels(&mut timeline, &Replay::default()),
            [
                level(100, None),
                level(110, Some(5000)),
                level(120, Some(5000)),
                level(0, Some(6000)),
            ]
        );
    }

    #[test]
    fn peak_follows_the_last_stamp_before_it() {
        let mut replay = Replay::default();
        replay.add_kind(7, 1);
        let mut timeline = HeapTimeline::new();
        timeline.stamp(10, 0).unwrap();
        replay.allocate(0, 1, timeline.stamps()).unwrap();
        timeline.stamp(20, 7).unwrap();
        replay.free(0, 1).unwrap();
        let level = |heap: u64, detail: &str| (heap, None, detail.to_owned());
        assert_eq!(
            levels(&mut timeline, &replay),
            [
                level(0, "empty"),
                level(7, "peak"),
                level(7, "empty"),
                level(0, "empty")
            ]
        );
    }
}
