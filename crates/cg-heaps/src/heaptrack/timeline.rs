//! The levels of the heap at each time stamp.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use cg_reader::Error;
use cg_stream::record::SnapshotRecord;
use tempfile::SpooledTempFile;

use super::replay::Replay;

/// How much is held in memory before it goes to a temporary file. heaptrack writes a stamp every 10 ms.
const SPOOL_SIZE: usize = 4 * 1024 * 1024;

/// What is measured at a time stamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HeapLevel {
    /// Milliseconds.
    time: u64,
    heap_bytes: u64,
    /// `None` until it is first told.
    rss_bytes: Option<u64>,
}

/// When a level was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    /// At the time stamp of this number, counted from 1.
    Stamp(usize),
    /// When the heap was largest for the first time.
    Peak,
    /// Behind the last time stamp.
    End,
}

/// Stands in the spool for memory that is not told.
const UNTOLD: u64 = u64::MAX;

/// All levels, in the order of time.
pub(super) struct HeapTimeline {
    spool: SpooledTempFile,
    /// How many stamps there were. The last is not in the spool yet: its memory is told behind it.
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

    /// How many time stamps there were.
    pub(super) fn stamps(&self) -> usize {
        self.stamps
    }

    /// The last time stamp, in milliseconds.
    pub(super) fn end(&self) -> u64 {
        self.last.time
    }

    /// A time stamp, in milliseconds.
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

    /// The memory of the whole process, at the last time stamp.
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
        for number in [time, heap_bytes, rss_bytes.unwrap_or(UNTOLD)] {
            self.spool
                .write_all(&number.to_le_bytes())
                .map_err(name_spool)?;
        }
        Ok(())
    }

    /// The moment of the last level: where the heap changed behind the last stamp and its peak, that is the end.
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

    /// Shows each level as a snapshot: one a time stamp, the peak where it was, and one at the end where the heap
    /// changed behind the last stamp.
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
            rss_bytes: Some(number()?).filter(|bytes| *bytes != UNTOLD),
        })
    }
}

/// Tells an error of the temporary file from one of the input.
fn name_spool(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("temporary file: {error}"))
}
