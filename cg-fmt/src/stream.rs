//! Records written as a stream again: added up, sorted and cut, with the `run` record of the whole.

use std::io;

use cg_stream::Writer;
use cg_stream::profile::Profile;
use cg_stream::record::{Counts, FnRecord, Name, RecordType, RunRecord, Total};

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
    profile.write_rows(kind, order, &listing::events_of(profile, kind), writer)
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
