//! Profiles of pprof: the protocol buffer `profile.proto`, which Go, pprof-rs, gperftools, Parca and others write, and the
//! older formats that pprof's tools read (`legacy`).
//!
//! The format is <https://github.com/google/pprof/blob/main/proto/profile.proto>. A profile has columns of values
//! (`sample_type`) and samples. A sample is a stack with one value per column; the values are self costs of the stack.
//! Everything else is in tables, which may precede or follow the samples. So the reader walks over the file twice: once for
//! the tables, once for the samples, which it does not store.
//!
//! - An event's name is the `type` of its column, or `type/unit` if two columns have the same type.
//! - A location is an address. Its lines are the functions there, the innermost inlined function first. A location without
//!   lines is looked up in its object, if the profile contains the object's build id.
//! - Labels with a thread or process set `thread`, `tid` and `process`. They also stay labels if these fields cannot express
//!   them. All other labels are kept.
//! - The profile's own data (period, time, mappings) is in the `run` record, so cg-fmt can write the profile again.
//! - In `drop_frames` and `keep_frames`, pprof finds the frames to hide. The reader keeps all frames, and makes the two
//!   expressions labels of the run: each view decides for itself which frames to omit.

use cg_reader::{Error, Head, Reach, Reading};
use cg_stream::record::{PeriodFacts, RunRecord};

use super::rate::samples_a_second;
use super::table::StackTable;
use super::wire::{self, Broken, MessageFields, WireValue};
use super::write::write;

mod legacy;
mod program;
pub(crate) mod samples;
pub(crate) mod tables;

use samples::PprofSamples;
use tables::{PprofTables, ValueType};

/// The number of bytes from which the formats are recognised.
const HEAD: usize = 4096;

/// Reads a profile of pprof, protocol buffer or legacy: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let head = reading.lines.peek(HEAD).map_err(Error::Input)?;
    if !is_protocol_buffer(&Head::new(head, head.len() < HEAD))
        && let Some(kind) = legacy::kind(head)
    {
        return legacy::parse(kind, reading);
    }
    let bytes = reading.bytes()?;
    let tables = PprofTables::read(&bytes)?;
    let events = event_names(&tables)?;
    if events.is_empty() {
        return Err(Error::whole(
            "expected a profile with sample types, found none",
        ));
    }
    let run = run_record(reading.run("pprof"), &tables, &events)?;
    let mut table = StackTable::new(events);
    let mut samples = PprofSamples::new(&tables, reading.options.demangle, &mut table);
    samples.look_up(reading)?;
    let read = samples.read(&bytes);
    write(run, &table, read, reading.out)
}

/// Returns true if an input with this head is a profile.
pub fn is_profile(head: &Head) -> bool {
    is_protocol_buffer(head) || legacy::kind(head.bytes).is_some()
}

fn is_protocol_buffer(head: &Head) -> bool {
    /// The number of fields that rules out a coincidence.
    const ENOUGH: usize = 64;
    /// The numbers of fields or bytes that are sufficient if more of the input may follow.
    const ENOUGH_OF_BEGINNING: usize = 8;
    const MANY_BYTES: usize = 4096;
    let is_enough = |count: usize| {
        head.reach != Reach::Beginning
            || count >= ENOUGH_OF_BEGINNING
            || head.bytes.len() >= MANY_BYTES
    };
    let mut fields = MessageFields::new(head.bytes);
    let mut has_sample_type = false;
    for count in 0..ENOUGH {
        match fields.next() {
            Ok(Some((number, value))) => {
                let is_expected = match (number, value) {
                    (1 | 11, WireValue::Bytes(_)) => is_value_type(value),
                    (2..=5, WireValue::Bytes(message)) => is_message(message.fields()),
                    (6 | 13, WireValue::Bytes(_)) | (7..=10 | 12..=15, WireValue::Varint(_)) => {
                        true
                    }
                    // A field of a later version.
                    (16.., _) => has_sample_type,
                    _ => false,
                };
                if !is_expected {
                    return false;
                }
                has_sample_type |= number == 1;
            }
            Ok(None) => return has_sample_type && is_enough(count),
            Err(Broken { is_cut, .. }) => return is_cut && has_sample_type && is_enough(count),
        }
    }
    has_sample_type
}

fn is_value_type(value: WireValue) -> bool {
    let mut is_known = true;
    let read = tables::each(value, |number, value| {
        is_known &= matches!((number, value), (1 | 2, WireValue::Varint(_)));
    });
    is_known && read.is_ok()
}

fn is_message(mut fields: MessageFields) -> bool {
    loop {
        match fields.next() {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Returns the event names of the columns.
pub(crate) fn event_names(tables: &PprofTables) -> Result<Vec<String>, Error> {
    let named: Vec<(String, String)> = tables
        .sample_types
        .iter()
        .map(|column| type_and_unit(tables, column))
        .collect::<Result<_, Error>>()?;
    let mut events: Vec<String> = Vec::with_capacity(named.len());
    for (kind, unit) in &named {
        let is_alone = named.iter().filter(|(other, _)| other == kind).count() == 1;
        let name = match (kind.as_str(), unit.as_str()) {
            ("", "") => "value".to_owned(),
            ("", unit) => unit.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, _) if is_alone => kind.to_owned(),
            (kind, unit) => format!("{kind}/{unit}"),
        };
        // Columns with the same type and unit stay separate.
        let mut unique = name.clone();
        for number in 2.. {
            if !events.contains(&unique) {
                break;
            }
            unique = format!("{name}#{number}");
        }
        events.push(unique);
    }
    Ok(events)
}

fn type_and_unit(tables: &PprofTables, column: &ValueType) -> Result<(String, String), Error> {
    let text = |position| {
        let name = tables.text(position)?;
        Ok::<String, Error>(name.map_or_else(String::new, |name| name.into_string()))
    };
    Ok((text(column.kind)?, text(column.unit)?))
}

pub(crate) fn run_record(
    mut run: RunRecord,
    tables: &PprofTables,
    events: &[String],
) -> Result<RunRecord, Error> {
    let facts = &mut run.sampling;
    for (event, column) in events.iter().zip(&tables.sample_types) {
        let (_, unit) = type_and_unit(tables, column)?;
        if !unit.is_empty() && unit != "count" {
            facts
                .units
                .insert(event.clone(), short_unit(&unit).to_owned());
        }
    }
    facts.sample_types = odd_sample_types(tables, events)?;
    facts.start = u64::try_from(tables.time_nanoseconds)
        .ok()
        .filter(|time| *time > 0);
    facts.mappings = tables.mapping_facts()?;
    facts.duration = u64::try_from(tables.duration_nanoseconds)
        .ok()
        .filter(|duration| *duration > 0);
    if let Some(period_type) = &tables.period_type {
        let (kind, unit) = type_and_unit(tables, period_type)?;
        if let Some(nanoseconds) = nanoseconds_per(&unit)
            && tables.period > 0
        {
            facts.sample_rate = samples_a_second(1e9 / (tables.period as f64 * nanoseconds));
        }
        facts.period = Some(PeriodFacts {
            event: kind.clone(),
            unit: unit.clone(),
            value: tables.period,
        });
        if tables.period != 0 {
            let period = format!("{} {unit} {kind}", tables.period);
            facts
                .labels
                .insert("period".to_owned(), period.trim_end().to_owned());
        }
    }
    let mut labels = vec![
        ("drop_frames", tables.drop_frames),
        ("keep_frames", tables.keep_frames),
        ("default_sample_type", tables.default_sample_type),
    ];
    labels.retain(|(_, position)| *position != 0);
    for (key, position) in labels {
        if let Some(text) = tables.text(position)? {
            facts.labels.insert(key.to_owned(), text.into_string());
        }
    }
    let mut comments = Vec::new();
    for comment in &tables.comments {
        let text = tables.text(*comment as i64)?;
        comments.extend(text.map(|text| text.into_string()));
    }
    if !comments.is_empty() {
        facts
            .labels
            .insert("comment".to_owned(), comments.join("\n"));
    }
    Ok(run)
}

/// Returns the types and units of all events, if the stream's names and units cannot reproduce them; otherwise an empty
/// list.
fn odd_sample_types(tables: &PprofTables, events: &[String]) -> Result<Vec<[String; 2]>, Error> {
    let mut types = Vec::with_capacity(events.len());
    let mut is_odd = false;
    for (event, column) in events.iter().zip(&tables.sample_types) {
        let (kind, unit) = type_and_unit(tables, column)?;
        is_odd |= kind != *event || matches!(&unit[..], "" | "ns" | "µs" | "us" | "ms" | "s");
        types.push([kind, unit]);
    }
    types.retain(|_| is_odd);
    Ok(types)
}

/// Returns the number of nanoseconds in a unit of time; `None` for other units.
fn nanoseconds_per(unit: &str) -> Option<f64> {
    Some(match unit {
        "nanoseconds" | "ns" => 1.0,
        "microseconds" | "us" => 1e3,
        "milliseconds" | "ms" => 1e6,
        "seconds" | "s" => 1e9,
        _ => return None,
    })
}

/// Returns the stream's name for a unit.
fn short_unit(unit: &str) -> &str {
    match unit {
        "nanoseconds" => "ns",
        "microseconds" => "µs",
        "milliseconds" => "ms",
        "seconds" => "s",
        other => other,
    }
}

#[cfg(test)]
mod tests;
