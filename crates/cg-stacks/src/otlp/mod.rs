//! Profiles of OpenTelemetry: `ProfilesData`, and the collector's `ExportProfilesServiceRequest`, which is the same message.
//!
//! `opentelemetry/proto/profiles/v1development/profiles.proto` of open-telemetry/opentelemetry-proto is the format; it came of
//! pprof's. What all profiles refer to stands in one dictionary, mostly behind them, where entries go by their position and the
//! first entry of each table is none. Profiles are in scopes of resources, and each has samples of one type.
//!
//! The format is in development, and field numbers moved with its releases. Which release wrote a file is not said in it; the
//! kinds of the fields tell (`profiles.rs`):
//!
//! | release | stacks | fields of a sample |
//! |---|---|---|
//! | 1.7 | ranges of `Profile.location_indices` | start 1, length 2, values 3, attributes 4, link 5, times 6 |
//! | 1.8, 1.9 | entries of the dictionary | stack 1, values 2, attributes 3, link 4, times 5 |
//! | 1.10, 1.11 | the same | stack 1, attributes 2, link 3, values 4, times 5 |
//!
//! - A sample without values counts 1 for each of its times; several values of one sample add up.
//! - Profiles of one sample type are one event, whatever resource they are of. A sample's process is the one that its attributes
//!   or those of its resource name.
//! - Before 1.7 each profile had tables of its own. Such files are refused.

use std::collections::BTreeMap;

use cg_reader::{Error, Head, Reading};
use cg_stream::record::RunRecord;

use super::pprof::samples::PprofSamples;
use super::pprof::{event_names, run_record};
use super::table::StackTable;
use super::wire::{MessageBytes, MessageFields, WireValue};
use super::write::write;

mod attributes;
mod dictionary;
mod profiles;

use attributes::OtlpOrigin;
use dictionary::OtlpDictionary;
use profiles::{OtlpProfile, OtlpSamples};

/// Reads profiles of OpenTelemetry: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let bytes = reading.bytes()?;
    let outline = OtlpMessages::of(&bytes);
    let Some(dictionary) = outline.dictionary else {
        outline.read?;
        return Err(Error::whole(
            "expected a dictionary that profiles refer to, as OTLP has it since 1.7, found none",
        ));
    };
    let mut dictionary = OtlpDictionary::read(dictionary)?;
    let mut resources = Resources::default();
    for resource in &outline.resources {
        resources.read(*resource, &mut dictionary)?;
    }
    if dictionary.tables.sample_types.is_empty() {
        outline.read?;
        return Err(Error::whole(
            "expected a profile that says what its values count, found none that does",
        ));
    }
    resources.say_times(&mut dictionary);
    let events = event_names(&dictionary.tables)?;
    let mut run = run_record(reading.run("otlp"), &dictionary.tables, &events)?;
    resources.describe(&mut run);
    let mut table = StackTable::new(events);
    let mut frames = PprofSamples::new(&dictionary.tables, reading.options.demangle, &mut table);
    frames.look_up(reading)?;
    let mut samples = OtlpSamples::new(&dictionary, frames);
    let read = samples.read(&resources.profiles);
    let left_out = samples.attributes_left_out();
    if !left_out.is_empty() {
        reading.warn(format!("attributes are not kept: {}", left_out.join(", ")));
    }
    write(run, &table, read.and(outline.read), reading.out)
}

/// The messages of a file, as far as it can be read.
struct OtlpMessages<'a> {
    resources: Vec<MessageBytes<'a>>,
    dictionary: Option<MessageBytes<'a>>,
    read: Result<(), Error>,
}

impl<'a> OtlpMessages<'a> {
    fn of(bytes: &'a [u8]) -> OtlpMessages<'a> {
        let mut outline = OtlpMessages {
            resources: Vec::new(),
            dictionary: None,
            read: Ok(()),
        };
        outline.read = outline.walk(MessageFields::new(bytes));
        outline
    }

    fn walk(&mut self, mut fields: MessageFields<'a>) -> Result<(), Error> {
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (1, Some(resource)) => self.resources.push(resource),
                (2, Some(dictionary)) if self.dictionary.is_some() => {
                    return Err(Error::whole(format!(
                        "byte {}: expected one dictionary, found another: cg-parse reads files one by one, not one behind the other",
                        dictionary.start
                    )));
                }
                (2, dictionary) => self.dictionary = dictionary,
                _ => {}
            }
        }
        Ok(())
    }
}

/// The profiles of all resources, and what is said of them.
#[derive(Default)]
struct Resources<'a> {
    profiles: Vec<OtlpProfile<'a>>,
    creators: Vec<String>,
    /// Attributes of resources and profiles, with the texts that were given.
    labels: BTreeMap<String, Vec<String>>,
}

impl<'a> Resources<'a> {
    fn read(
        &mut self,
        resource: MessageBytes<'a>,
        dictionary: &mut OtlpDictionary<'a>,
    ) -> Result<(), Error> {
        let mut origin = OtlpOrigin::default();
        let mut scopes = Vec::new();
        let mut fields = resource.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (1, Some(resource)) => {
                    for attribute in dictionary.attributes_of_resource(resource)? {
                        self.label(&attribute);
                        origin.read(&attribute);
                    }
                }
                (2, Some(scope)) => scopes.push(scope),
                _ => {}
            }
        }
        for scope in scopes {
            self.scope(scope, &origin, dictionary)?;
        }
        Ok(())
    }

    fn scope(
        &mut self,
        scope: MessageBytes<'a>,
        origin: &OtlpOrigin,
        dictionary: &mut OtlpDictionary<'a>,
    ) -> Result<(), Error> {
        let mut fields = scope.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value.message()) {
                (1, Some(instrumentation)) => self.creators.extend(creator(instrumentation)?),
                (2, Some(message)) => {
                    let profile = OtlpProfile::read(message, origin.clone(), dictionary)?;
                    for attribute in &profile.attributes {
                        if let Some(attribute) = dictionary.attribute(*attribute)? {
                            self.label(attribute);
                        }
                    }
                    self.profiles.push(profile);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn label(&mut self, attribute: &attributes::OtlpAttribute) {
        if let Some((key, text)) = attribute.shown() {
            let texts = self.labels.entry(key).or_default();
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }

    /// Says how long was profiled, from the first beginning to the last end, and the period that all profiles have.
    fn say_times(&self, dictionary: &mut OtlpDictionary) {
        let tables = &mut dictionary.tables;
        let starts = self.profiles.iter().map(|profile| profile.time);
        let ends = self.profiles.iter();
        let ends = ends.map(|profile| profile.time.saturating_add(profile.duration));
        let (start, end) = (starts.min().unwrap_or(0), ends.max().unwrap_or(0));
        let duration = i64::try_from(end.saturating_sub(start));
        tables.duration_nanoseconds = duration.unwrap_or_default();
        let mut periods = self.profiles.iter().map(|profile| &profile.period);
        let first = periods.next();
        if let Some(Some((kind, period))) = first
            && periods.all(|other| Some(other) == first)
        {
            tables.period_type = Some(*kind);
            tables.period = *period;
        }
    }

    /// Puts into the `run` record what its resources agree on.
    fn describe(&self, run: &mut RunRecord) {
        let creators = &self.creators;
        run.creator = creators
            .first()
            .filter(|first| creators.iter().all(|other| other == *first))
            .cloned();
        for (key, texts) in &self.labels {
            if let [text] = &texts[..] {
                run.sampling.labels.insert(key.clone(), text.clone());
            }
        }
    }
}

/// The name and version of an instrumentation scope.
fn creator(scope: MessageBytes) -> Result<Option<String>, Error> {
    let mut words = [String::new(), String::new()];
    let mut fields = scope.fields();
    while let Some((number, value)) = fields.next()? {
        if let (1 | 2, Some(text)) = (number, value.message()) {
            let word = &mut words[usize::from(number == 2)];
            *word = cg_stream::record::Name::from_bytes(text.bytes).into_string();
        }
    }
    let creator = words.join(" ");
    let creator = creator.trim();
    Ok((!creator.is_empty()).then(|| creator.to_owned()))
}

/// Whether an input that begins like this is of this format. Traces, logs and metrics of OpenTelemetry, and pprof's profiles,
/// begin with the same byte: a profile with a type of values and a sample has to be there.
pub fn is_profiles(head: &Head) -> bool {
    let whole = MessageBytes {
        bytes: head.bytes,
        start: 0,
    };
    has_profile(whole, 0) == Some(true)
}

/// By level: the field that the messages of the next level are in. Data, resources, scopes.
const NEXT_LEVEL: [u64; 3] = [1, 2, 2];

/// Whether a message has a profile in it; `None` where it cannot be of this format.
fn has_profile(message: MessageBytes, level: usize) -> Option<bool> {
    let Some(next) = NEXT_LEVEL.get(level) else {
        return profiles::is_profile(message);
    };
    let mut fields = message.beginning();
    loop {
        match fields.next() {
            Ok(Some((number, WireValue::Bytes(inner)))) if number == *next => {
                if has_profile(inner, level + 1)? {
                    return Some(true);
                }
            }
            Ok(Some((1..=3, WireValue::Bytes(_)))) => {}
            Ok(Some(_)) => return None,
            Ok(None) => return Some(false),
            Err(broken) => return broken.is_cut.then_some(false),
        }
    }
}

#[cfg(test)]
mod tests;
