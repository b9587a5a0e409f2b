//! Speedscope's JSON format (<https://www.speedscope.app/file-format-schema.json>). py-spy, rbspy, Austin, Pyroscope,
//! `cg-fmt -f speedscope` and others write it.
//!
//! A file has frames and profiles of two kinds. A `sampled` profile has a list of stacks, outermost frame first, with a
//! weight for each. An `evented` profile opens and closes frames; the time between two events is the cost of the open stack.
//!
//! - The unit determines the event: times become `time`, in ns, and `bytes` become `bytes`. For `none` the event is called
//!   `samples`, as for folded stacks, because its meaning is unknown. A sampled profile of times also has `samples`.
//! - Profiles with the same unit become threads of one section. Profiles with different units become separate sections.
//! - `cg-fmt` adds `event`, `thread` and `process` to each profile, because the profile's name does not distinguish them.
//! - Times are rounded to ns such that their sums stay exact. Other fractions are stored as integers in a smaller unit.

use cg_reader::json::{self, JsonText, List, Scanner, bytes_or_empty, non_empty_string};
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Options, Reading, excerpt};
use cg_stream::record::{Count, Name};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::count::{Carry, CountUnit, Decimal};
use super::table::{FrameId, FrameParts, StackKey, StackKeyId, StackLinkId, StackTable};
use super::write::write;

/// Returns true if a document is a file of speedscope: it has the schema, shared frames, or a known type of profile.
pub fn is_profile(head: &Head) -> bool {
    let begins_profile = |value: &mut Scanner| {
        value.expect(b'[').is_ok()
            && value.expect(b'{').is_ok()
            && matches!(value.next_key(), Ok(Some(b"type")))
            && matches!(value.skip_value(), Ok(b"\"sampled\"" | b"\"evented\""))
    };
    let has_frames = |value: &mut Scanner| {
        value.expect(b'{').is_ok() && matches!(value.next_key(), Ok(Some(b"frames")))
    };
    Scanner::new(head.bytes).any_key(|key, mut value| match key {
        b"shared" if has_frames(&mut value) => Some(true),
        b"profiles" if begins_profile(&mut value) => Some(true),
        b"$schema" => {
            let schema = value.skip_value().ok()?;
            Some(memchr::memmem::find(schema, b"speedscope").is_some())
        }
        _ => None,
    })
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SpeedscopeFile<'a> {
    shared: Shared<'a>,
    #[serde(deserialize_with = "json::items")]
    profiles: Vec<SpeedscopeProfile<'a>>,
    name: Option<JsonText<'a>>,
    exporter: Option<JsonText<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Shared<'a> {
    #[serde(deserialize_with = "json::items")]
    frames: Vec<FrameFields<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct FrameFields<'a> {
    name: Option<JsonText<'a>>,
    file: Option<JsonText<'a>>,
    line: Option<f64>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SpeedscopeProfile<'a> {
    #[serde(rename = "type")]
    kind: JsonText<'a>,
    name: Option<JsonText<'a>>,
    unit: Option<JsonText<'a>>,
    /// The event. Only cg-fmt writes it.
    event: Option<JsonText<'a>>,
    thread: Option<JsonText<'a>>,
    process: Option<JsonText<'a>>,
    samples: Option<&'a RawValue>,
    #[serde(default)]
    weights: List<'a>,
    events: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SpeedscopeEvent<'a> {
    #[serde(rename = "type")]
    kind: char,
    frame: u64,
    at: &'a RawValue,
}

/// Reads a file of speedscope: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let text = reading.bytes()?;
    let file: SpeedscopeFile = json::read(&text)?;
    if file.profiles.is_empty() {
        return Err(Error::whole("expected at least one profile, found none"));
    }
    let mut sections: Vec<UnitSection> = Vec::new();
    let mut failed = None;
    for (number, profile) in file.profiles.iter().enumerate() {
        let unit = profile
            .unit
            .as_ref()
            .map_or(&b"none"[..], JsonText::as_bytes);
        let event = profile.event.as_ref().and_then(JsonText::non_empty_name);
        let is_same =
            |section: &UnitSection| section.unit == unit && section.declared_event == event;
        let known = sections.iter().position(is_same);
        let position = known.unwrap_or(sections.len());
        if known.is_none() {
            sections.push(UnitSection::new(
                unit,
                event,
                &file.shared.frames,
                reading.options,
            )?);
        }
        let has_others = file.profiles.len() > 1;
        if let Err(error) = sections[position].profile(&text, profile, has_others) {
            failed = Some((position, in_profile(number, error)));
            break;
        }
    }
    let mut read = Ok(());
    for (position, section) in sections.into_iter().enumerate() {
        let section_read = match failed.take() {
            Some((failed, error)) if failed == position => Err(error),
            other => {
                failed = other;
                Ok(())
            }
        };
        match section.write(reading, &file, section_read) {
            Err(error @ Error::Output(_)) => return Err(error),
            Err(error) => read = Err(error),
            Ok(()) => {}
        }
    }
    read
}

fn in_profile(number: usize, error: Error) -> Error {
    match error {
        Error::Malformed { line, message } => Error::Malformed {
            line,
            message: format!("profile {number}: {message}"),
        },
        other => other,
    }
}

/// The profiles with one unit.
struct UnitSection<'a> {
    unit: &'a [u8],
    /// The event, if the file contains it.
    declared_event: Option<Name<'a>>,
    counted: WeightUnit,
    table: StackTable,
    /// The shared frames of all profiles.
    frames: Vec<FrameId>,
    /// The smaller unit for fractions.
    finer: CountUnit,
    /// The number of counts rounded to integers.
    rounded: u64,
}

/// The meaning of weights with one unit.
#[derive(Clone, Copy)]
struct WeightUnit {
    event: &'static str,
    unit: Option<&'static str>,
    /// The nanoseconds in the unit, if it is a unit of time.
    nanoseconds: Option<Count>,
}

fn counted(unit: &[u8]) -> Option<WeightUnit> {
    let (event, unit, nanoseconds) = match unit {
        b"none" => ("samples", None, None),
        b"bytes" => ("bytes", Some("bytes"), None),
        b"nanoseconds" => ("time", Some("ns"), Some(1)),
        b"microseconds" => ("time", Some("ns"), Some(1_000)),
        b"milliseconds" => ("time", Some("ns"), Some(1_000_000)),
        b"seconds" => ("time", Some("ns"), Some(1_000_000_000)),
        _ => return None,
    };
    Some(WeightUnit {
        event,
        unit,
        nanoseconds,
    })
}

/// Returns the stream's name for a unit; `None` for a plain count.
fn short_unit(unit: &[u8]) -> Option<&'static str> {
    Some(match unit {
        b"bytes" => "bytes",
        b"nanoseconds" => "ns",
        b"microseconds" => "µs",
        b"milliseconds" => "ms",
        b"seconds" => "s",
        _ => return None,
    })
}

impl<'a> UnitSection<'a> {
    fn new(
        unit: &'a [u8],
        declared_event: Option<Name<'a>>,
        shared: &[FrameFields],
        options: &Options,
    ) -> Result<UnitSection<'a>, Error> {
        let counted = counted(unit).ok_or_else(|| {
            Error::unexpected_text(
                "a unit (none, bytes, nanoseconds, microseconds, milliseconds, seconds)",
                unit,
            )
        })?;
        // A count with a declared event keeps its unit. Its samples are a separate profile.
        let counted = match declared_event {
            Some(_) => WeightUnit {
                unit: short_unit(unit),
                nanoseconds: None,
                ..counted
            },
            None => counted,
        };
        let event = declared_event.as_ref().map_or(counted.event, Name::as_str);
        let mut table = StackTable::new([event]);
        let mut frames = Vec::with_capacity(shared.len());
        for fields in shared {
            let line = fields
                .line
                .filter(|line| *line >= 1.0 && line.fract() == 0.0);
            let frame = FrameParts {
                name: table.function(bytes_or_empty(&fields.name), options.demangle)?,
                file: table.text_unless_empty(bytes_or_empty(&fields.file))?,
                line: line.map(|line| line as u64),
                ..FrameParts::default()
            };
            frames.push(table.frame(frame)?);
        }
        Ok(UnitSection {
            unit,
            declared_event,
            counted,
            table,
            frames,
            finer: CountUnit::default(),
            rounded: 0,
        })
    }

    /// Adds a profile.
    fn profile(
        &mut self,
        text: &'a [u8],
        profile: &SpeedscopeProfile<'a>,
        has_others: bool,
    ) -> Result<(), Error> {
        let mut given =
            |text: &Option<JsonText>| self.table.text_unless_empty(bytes_or_empty(text));
        let thread = match (&profile.event, has_others) {
            (Some(_), _) => given(&profile.thread)?,
            (None, true) => given(&profile.name)?,
            (None, false) => None,
        };
        let place = StackKey {
            thread,
            process: given(&profile.process)?,
            ..StackKey::default()
        };
        match (profile.kind.as_bytes(), profile.samples, profile.events) {
            (b"sampled", Some(samples), _) => {
                self.sampled(Scanner::at_value(text, samples), profile.weights, place)
            }
            (b"evented", _, Some(events)) => {
                let mut scanner = Scanner::at_value(text, events);
                self.evented(&mut scanner, place)
            }
            (kind, ..) => Err(Error::whole(format!(
                "expected samples or events of the type \"sampled\" or \"evented\", found {}",
                excerpt(kind)
            ))),
        }
    }

    fn frame(&self, position: Option<u64>) -> Result<FrameId, Error> {
        let position = position.and_then(|position| usize::try_from(position).ok());
        let found = position.and_then(|position| self.frames.get(position));
        found.copied().ok_or_else(|| {
            Error::whole(format!(
                "expected one of {} frames, found another",
                self.frames.len()
            ))
        })
    }

    fn row(&mut self, stack: Option<StackLinkId>, place: StackKey) -> Result<StackKeyId, Error> {
        Ok(self.table.row(StackKey { stack, ..place })?)
    }

    /// Adds stacks and their weights.
    fn sampled(
        &mut self,
        mut samples: Scanner<'a>,
        weights: List<'a>,
        place: StackKey,
    ) -> Result<(), Error> {
        let mut weights = weights.elements();
        let mut carry = Carry::default();
        let mut frames = Vec::new();
        let samples_event = self
            .counted
            .nanoseconds
            .map(|_| self.table.event("samples"));
        samples.expect(b'[')?;
        while samples.next_element()? {
            let sample: List = samples.value()?;
            frames.clear();
            for element in sample.elements() {
                frames.push(self.frame(whole_u64(element))?);
            }
            frames.reverse();
            let stack = self.table.stack(&frames)?;
            let row = self.row(stack, place)?;
            let weight = weights
                .next()
                .ok_or_else(|| Error::whole("expected as many weights as samples, found fewer"))?;
            let weight = decimal(weight)?;
            match self.counted.nanoseconds {
                Some(factor) => {
                    let time = carry.add(weight, factor).ok_or_else(beyond)?;
                    self.table.add(row, 0, time);
                }
                None => {
                    let added = self.finer.add(&mut self.table, row, 0, weight);
                    added.ok_or_else(beyond)?;
                }
            }
            if let Some(event) = samples_event {
                self.table.add(row, event, 1);
            }
        }
        match weights.next() {
            None => Ok(()),
            Some(_) => Err(Error::whole(
                "expected as many weights as samples, found more",
            )),
        }
    }

    /// Charges the time between two events to the open frames.
    fn evented(&mut self, events: &mut Scanner<'a>, place: StackKey) -> Result<(), Error> {
        let factor = self.counted.nanoseconds.unwrap_or(1);
        let mut open: Vec<(u64, StackLinkId)> = Vec::new();
        let mut last: Option<Count> = None;
        events.expect(b'[')?;
        for number in 0u64.. {
            if !events.next_element()? {
                break;
            }
            let event: SpeedscopeEvent = events.value()?;
            let in_event = |message: String| Error::whole(format!("event {number}: {message}"));
            let mut rounding = Carry::default();
            let at = decimal(event.at.get().as_bytes())?;
            let at = rounding.add(at, factor).ok_or_else(beyond)?;
            if self.counted.nanoseconds.is_none() {
                self.rounded += rounding.rounded;
            }
            let stack = open.last().map(|(_, stack)| *stack);
            if let Some(last) = last {
                if at < last {
                    return Err(in_event(format!(
                        "expected a time at or after the previous one, found {}",
                        event.at.get()
                    )));
                }
                // Nothing runs between two roots, so there is no cost.
                if at > last && stack.is_some() {
                    let row = self.row(stack, place)?;
                    self.table.add(row, 0, at - last);
                }
            }
            last = Some(at);
            match (event.kind, open.last()) {
                ('O', _) => {
                    let frame = self.frame(Some(event.frame))?;
                    let stack = self.table.push(stack, frame)?;
                    open.push((event.frame, stack));
                }
                ('C', Some((frame, _))) if *frame == event.frame => {
                    open.pop();
                }
                ('C', innermost) => {
                    let expected = innermost
                        .map_or("no frame".to_owned(), |(frame, _)| format!("frame {frame}"));
                    return Err(in_event(format!(
                        "expected {expected} to be closed, found frame {}",
                        event.frame
                    )));
                }
                (kind, _) => {
                    return Err(in_event(format!(
                        "expected \"O\" or \"C\", found \"{kind}\""
                    )));
                }
            }
        }
        match open.len() {
            0 => Ok(()),
            count => Err(Error::whole(format!(
                "expected all frames to be closed, found {count} open frames"
            ))),
        }
    }

    fn write(
        mut self,
        reading: &mut Reading,
        file: &SpeedscopeFile,
        read: Result<(), Error>,
    ) -> Result<(), Error> {
        let mut run = reading.run("speedscope");
        run.creator = non_empty_string(&file.exporter);
        if let Some(name) = non_empty_string(&file.name) {
            run.sampling.labels.insert("name".to_owned(), name);
        }
        let (finer, cut_off) = self.finer.settle(&mut self.table);
        let WeightUnit { event, unit, .. } = self.counted;
        let event = self.declared_event.as_ref().map_or(event, Name::as_str);
        let unit = match finer {
            Some(finer) => Some(format!("{finer} {}", unit.unwrap_or(event))),
            None => unit.map(str::to_owned),
        };
        if let Some(unit) = unit {
            run.sampling.units.insert(event.to_owned(), unit);
        }
        let rounded = self.rounded + cut_off;
        reading.warn_count(rounded, "count was rounded", "counts were rounded");
        write(run, &self.table, read, reading.out)
    }
}

/// Parses a weight or a time.
fn decimal(text: &[u8]) -> Result<Decimal, Error> {
    Decimal::parse(text).ok_or_else(|| Error::unexpected_text("a number of 64 bits", text))
}

fn beyond() -> Error {
    Error::whole("the sum of the weights is beyond 64 bits")
}

#[cfg(test)]
mod tests;
