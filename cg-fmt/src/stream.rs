//! Records written as a stream again: added up, sorted and cut, with the `run` record of the whole.

use std::io;

use cg_stream::Writer;
use cg_stream::profile::{FunctionKey, Profile, StackId, Symbol, Table as Rows};
use cg_stream::record::{
    CallRecord, Callee, Count, Counts, ErrorRecord, FnRecord, Frame, HeapRecord, LeakRecord,
    LineRecord, Name, ProgramPointRecord, RecordType, RunRecord, StackRecord, Total,
};

use crate::group::Groups;
use crate::listing;
use crate::options::GroupBy;

/// The `run` record of all runs added up; `None` of a fragment, which has none.
pub(crate) fn run_record(profile: &Profile) -> Option<RunRecord> {
    let (first, others) = profile.runs().split_first()?;
    let mut run = first.clone();
    for other in others {
        run.tool = run.tool.filter(|tool| Some(tool) == other.tool.as_ref());
        run.creator = run
            .creator
            .filter(|text| Some(text) == other.creator.as_ref());
        run.command = run
            .command
            .filter(|text| Some(text) == other.command.as_ref());
        run.pid = run.pid.filter(|pid| Some(*pid) == other.pid);
        for source in &other.source {
            if !run.source.contains(source) {
                run.source.push(source.clone());
            }
        }
        run.extra
            .retain(|field, value| other.extra.get(field) == Some(value));
    }
    if !run.is_diff() {
        run.events = profile.events().to_vec();
        let total = Counts::from_row_with_zeros(profile.events(), profile.total().iter().copied());
        run.total = Total::One(total.into_owned());
    }
    Some(run)
}

/// Writes rows of a record type.
pub(crate) fn write_rows<W: io::Write>(
    profile: &Profile,
    kind: RecordType,
    order: &[usize],
    writer: &mut Writer<W>,
) -> io::Result<()> {
    let rows = profile.table(kind);
    let records = Records { profile, rows };
    let events = listing::events_of(profile, kind);
    for row in order {
        let cost = records.counts(&events, rows.cost(*row));
        match kind {
            RecordType::Fn => writer.record(&records.function(*row, cost))?,
            RecordType::Line => writer.record(&records.line(*row, cost))?,
            RecordType::Call => writer.record(&records.call(*row))?,
            RecordType::Leak => writer.record(&records.leak(*row, cost))?,
            RecordType::Error => writer.record(&records.error(*row, cost))?,
            RecordType::Heap => writer.record(&records.heap(*row, cost))?,
            RecordType::ProgramPoint => writer.record(&records.program_point(*row, cost))?,
            RecordType::Stack => writer.record(&records.stack(*row, cost))?,
            _ => {}
        }
    }
    Ok(())
}

/// Writes groups as `fn` records that name what the group names and nothing else; crates and modules stand in `fn`.
pub(crate) fn write_groups<W: io::Write>(
    profile: &Profile,
    groups: &Groups,
    order: &[usize],
    writer: &mut Writer<W>,
) -> io::Result<()> {
    for group in order {
        let label = Some(Name::from(groups.labels[*group].as_str()));
        let mut record = FnRecord {
            cost: Counts::from_row(profile.events(), groups.cost(*group).iter().copied()),
            ..FnRecord::default()
        };
        match groups.by {
            GroupBy::File => record.file = label,
            GroupBy::Object => record.obj = label,
            GroupBy::Function | GroupBy::Crate | GroupBy::Module => record.name = label,
        }
        writer.record(&record)?;
    }
    Ok(())
}

/// Rows as the records they came from.
struct Records<'a> {
    profile: &'a Profile,
    rows: &'a Rows,
}

impl<'a> Records<'a> {
    fn function(&self, row: usize, cost: Counts<'a>) -> FnRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        FnRecord {
            name,
            file,
            obj,
            part: key.part,
            thread: key.thread,
            calls: to_u64(self.rows.calls(row)),
            cost,
            incl: self.incl(row),
            cycle: self.rows.cycle(row),
        }
    }

    fn line(&self, row: usize, cost: Counts<'a>) -> LineRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        LineRecord {
            name,
            file,
            obj,
            line: key.line.unwrap_or(0),
            addr: self.name(key.addr),
            part: key.part,
            thread: key.thread,
            cost,
            incl: self.incl(row),
        }
    }

    fn call(&self, row: usize) -> CallRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        let callee = self.names(&key.callee.unwrap_or_default());
        CallRecord {
            name,
            file,
            obj,
            site: self.name(key.site),
            line: key.line.unwrap_or(0),
            part: key.part,
            thread: key.thread,
            callee: Callee {
                name: callee.0,
                file: callee.1,
                obj: callee.2,
            },
            calls: to_u64(self.rows.calls(row)),
            incl: self.incl(row),
        }
    }

    fn leak(&self, row: usize, cost: Counts<'a>) -> LeakRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        let detail = self.rows.detail(row);
        LeakRecord {
            name,
            file,
            line: key.line,
            obj,
            kind: self.name(key.kind).unwrap_or_default(),
            cost,
            indirect_bytes: to_u64(self.rows.beside(row).indirect_bytes.unwrap_or(0)),
            pid: detail.and_then(|detail| detail.pid),
            stack: self.frames(key.stack),
            suppression: detail.and_then(|detail| detail.suppression.clone()),
        }
    }

    fn error(&self, row: usize, cost: Counts<'a>) -> ErrorRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        let detail = self.rows.detail(row);
        ErrorRecord {
            name,
            file,
            line: key.line,
            obj,
            kind: self.name(key.kind).unwrap_or_default(),
            what: self.name(key.what).unwrap_or_default(),
            cost,
            thread: detail.and_then(|detail| detail.thread),
            thread_name: detail.and_then(|detail| detail.thread_name.clone()),
            pid: detail.and_then(|detail| detail.pid),
            stack: self.frames(key.stack),
            notes: detail
                .map(|detail| detail.notes.clone())
                .unwrap_or_default(),
            suppression: detail.and_then(|detail| detail.suppression.clone()),
        }
    }

    fn heap(&self, row: usize, cost: Counts<'a>) -> HeapRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        HeapRecord {
            name,
            file,
            line: key.line,
            obj,
            snapshot: key.snapshot.unwrap_or(0),
            peak: self.rows.beside(row).is_peak,
            cost,
            places: self.rows.beside(row).places.map(to_u64),
            stack: self.frames(key.stack),
        }
    }

    fn program_point(&self, row: usize, cost: Counts<'a>) -> ProgramPointRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        let beside = self.rows.beside(row);
        ProgramPointRecord {
            name,
            file,
            line: key.line,
            obj,
            cost,
            max_bytes: beside.max_bytes.map(to_u64),
            max_blocks: beside.max_blocks.map(to_u64),
            lifetime: beside.lifetime.map(to_u64),
            accesses: self
                .rows
                .detail(row)
                .and_then(|detail| detail.accesses.clone()),
            stack: self.frames(key.stack),
        }
    }

    fn stack(&self, row: usize, cost: Counts<'a>) -> StackRecord<'a> {
        let key = self.rows.key(row);
        let (name, file, obj) = self.names(&key.function);
        StackRecord {
            name,
            file,
            line: key.line,
            obj,
            cost,
            stack: self.frames(key.stack),
        }
    }

    /// The counts of the events that the type has: the first always, others where they are not 0.
    fn counts(&self, events: &[usize], row: &[Count]) -> Counts<'a> {
        let counts = events.iter().enumerate().filter_map(|(position, index)| {
            let count = row.get(*index).copied().unwrap_or(0);
            (position == 0 || count != 0)
                .then(|| (Name::from(self.profile.events()[*index].as_str()), count))
        });
        Counts(counts.collect())
    }

    fn incl(&self, row: usize) -> Counts<'a> {
        self.rows.incl(row).map_or_else(Counts::default, |counts| {
            Counts::from_row(self.profile.events(), counts.iter().copied())
        })
    }

    fn name(&self, symbol: Option<Symbol>) -> Option<Name<'a>> {
        self.profile.text(symbol).map(Name::from)
    }

    /// Function, file and object.
    fn names(&self, key: &FunctionKey) -> (Option<Name<'a>>, Option<Name<'a>>, Option<Name<'a>>) {
        (self.name(key.name), self.name(key.file), self.name(key.obj))
    }

    fn frames(&self, stack: Option<StackId>) -> Vec<Frame<'a>> {
        let Some(stack) = stack else {
            return Vec::new();
        };
        let stacks = self.profile.stacks();
        let frames = stacks.frames(stack).iter().zip(stacks.addresses(stack));
        frames
            .map(|(frame, addr)| {
                let (name, file, obj) = self.names(&frame.function);
                Frame {
                    name,
                    file,
                    line: frame.line,
                    obj,
                    addr: self.name(*addr),
                }
            })
            .collect()
    }
}

/// A sum of counts that were `u64`; one that no longer fits is as large as can be written.
fn to_u64(count: Count) -> u64 {
    u64::try_from(count.max(0)).unwrap_or(u64::MAX)
}
