//! The profile as a stream: records added up, sorted and cut, after one `run` record for all inputs.

use std::io::{self, Write};

use cg_profile::Profile;
use cg_stream::Writer;
use cg_stream::record::{Counts, FnRecord, LeakRecord, Name, RecordType};

use crate::options::{Events, Options};
use crate::read::ReadProfile;
use crate::report::diff::{self, Diffs};
use crate::report::events::find_events;
use crate::report::history::History;
use crate::report::kinds;
use crate::report::records::{Groups, Listings};

/// Writes the records as a stream: all types, or the requested type.
pub(crate) fn write(
    read: &ReadProfile,
    options: &Options,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    if !options.view.is_list() {
        options.ensure_for_people()?;
    }
    let profile = &read.profile;
    let mut writer = Writer::new(out);
    if let Some(history) = History::compute(profile) {
        return write_history(read, &history, options, writer);
    }
    let diffs = diff::is_wanted(profile, options).then(|| Diffs::new(profile, options));
    if let Some(diffs) = &diffs
        && diffs.are_separable()
    {
        return write_benchmarks(read, diffs, options, writer);
    }
    let mut run = profile.run_record();
    if let Some(run) = &mut run {
        if let Some(diffs) = &diffs
            && profile.runs().len() > 1
        {
            run.total = diffs.total();
            diffs.summary.put_into(run);
        }
        writer.run(run)?;
    }
    for cause in diffs.iter().flat_map(|diffs| &diffs.causes) {
        writer.record(*cause)?;
    }
    if let Some(diffs) = &diffs
        && options.kind != Some(RecordType::Cause)
    {
        for row in diffs.rows(options)? {
            writer.record(&diffs.records[row])?;
        }
    }
    write_rows(profile, options, &mut writer)?;
    if options.group_by.is_none() && options.kind.is_none_or(|kind| kind == RecordType::Snapshot) {
        for snapshot in profile.snapshots() {
            writer.record(snapshot)?;
        }
    }
    if run.is_some() && read.is_whole() {
        writer.end()?;
    } else {
        writer.flush()?;
    }
    Ok(())
}

/// Writes a history: a section for each series, with the steps that the options choose.
fn write_history<W: Write>(
    read: &ReadProfile,
    history: &History<'_>,
    options: &Options,
    mut writer: Writer<W>,
) -> anyhow::Result<()> {
    let steps = history.rows(options)?;
    for run in read.profile.runs() {
        let bench = run.sampling.labels.get("bench").map(String::as_str);
        writer.run(run)?;
        for step in steps.iter().filter(|step| step.bench.as_deref() == bench) {
            writer.record(*step)?;
        }
        let series = read.profile.series().iter();
        for series in series.filter(|series| series.bench.as_deref() == bench) {
            writer.record(series)?;
        }
        match read.is_whole() {
            true => writer.end()?,
            false => writer.flush()?,
        }
    }
    Ok(())
}

/// Writes a section for each benchmark, because its totals are not those of the others.
fn write_benchmarks<W: Write>(
    read: &ReadProfile,
    diffs: &Diffs<'_>,
    options: &Options,
    mut writer: Writer<W>,
) -> anyhow::Result<()> {
    let rows = match options.kind {
        Some(RecordType::Cause) => Vec::new(),
        _ => diffs.rows(options)?,
    };
    for (bench, run) in diffs.sections() {
        writer.run(run)?;
        let causes = diffs.causes.iter();
        for cause in causes.filter(|cause| cause.bench.as_deref() == Some(bench)) {
            writer.record(*cause)?;
        }
        for row in &rows {
            let record = &diffs.records[*row];
            if record.bench() == Some(bench) {
                writer.record(record)?;
            }
        }
        match read.is_whole() {
            true => writer.end()?,
            false => writer.flush()?,
        }
    }
    Ok(())
}

/// Writes the records that add up, or their groups. If only some types have the column to sort by, the others are
/// written in the order of their cost.
fn write_rows<W: Write>(
    profile: &Profile,
    options: &Options,
    writer: &mut Writer<W>,
) -> anyhow::Result<()> {
    let kinds: Vec<RecordType> = match options.kind {
        Some(kind) => vec![kind],
        None if options.group_by.is_some() => kinds::listed(profile, options),
        None => profile.types().collect(),
    };
    let records = Listings::with_kinds(profile, kinds.clone(), options)?;
    let sorted: Vec<_> = (0..kinds.len())
        .map(|position| records.rows(position, options))
        .collect();
    let is_any_sorted = sorted.iter().any(Result::is_ok);
    let unsorted = Options {
        sort: None,
        events: Events::Fitting,
        ..options.clone()
    };
    for (position, (kind, rows)) in kinds.into_iter().zip(sorted).enumerate() {
        let rows = match rows {
            Err(_) if is_any_sorted => records.rows(position, &unsorted)?,
            rows => rows?,
        };
        match records.groups(position) {
            Some(groups) => write_groups(profile, groups, &rows, writer)?,
            None => profile.write_rows(kind, &rows, &find_events(profile, kind), writer)?,
        }
    }
    Ok(())
}

/// Writes groups as `fn` records that have only the name of the group. The names of crates, modules, threads and processes
/// are in `fn`.
fn write_groups<W: io::Write>(
    profile: &Profile,
    groups: &Groups,
    order: &[usize],
    writer: &mut Writer<W>,
) -> anyhow::Result<()> {
    for group in order {
        let label = Some(Name::from(groups.labels[*group].as_str()));
        let cost = Counts::from_row(profile.events(), groups.cost(*group).iter().copied());
        // Leaks of several kinds do not add up, so their groups stay leaks.
        if let Some(kind) = groups.kind(*group, profile) {
            let mut record = LeakRecord {
                kind: kind.into(),
                cost,
                indirect_bytes: u64::try_from(groups.indirect_bytes[*group])?,
                ..LeakRecord::default()
            };
            *groups.named(&mut record.name, &mut record.file, &mut record.obj) = label;
            writer.record(&record)?;
            continue;
        }
        let mut record = FnRecord {
            cost,
            ..FnRecord::default()
        };
        if let Some(incl) = groups.incl(*group) {
            record.incl = Counts::from_row(profile.events(), incl.iter().copied());
        }
        *groups.named(&mut record.name, &mut record.file, &mut record.obj) = label;
        writer.record(&record)?;
    }
    Ok(())
}
