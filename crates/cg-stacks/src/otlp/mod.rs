//! Profiles of OpenTelemetry: `ProfilesData`, and the collector's `ExportProfilesServiceRequest`, which is the same message.
//!
//! The format is `opentelemetry/proto/profiles/v1development/profiles.proto` of open-telemetry/opentelemetry-proto, which is
//! based on pprof's. One dictionary, mostly after the profiles, contains everything that profiles refer to. Its entries are
//! identified by position, and the first entry of each table means "none". Profiles are in scopes, and scopes are in
//! resources. All samples of a profile have one type.
//!
//! The format is in development, and releases changed its field numbers. A file does not contain its release. The reader
//! infers the release from the kinds of the fields (`profiles.rs`):
//!
//! | release | stacks | fields of a sample |
//! |---|---|---|
//! | 1.7 | ranges of `Profile.location_indices` | start 1, length 2, values 3, attributes 4, link 5, times 6 |
//! | 1.8, 1.9 | entries of the dictionary | stack 1, values 2, attributes 3, link 4, times 5 |
//! | 1.10, 1.11 | the same | stack 1, attributes 2, link 3, values 4, times 5 |
//!
//! - A sample without values counts 1 for each of its times. Several values of one sample are added up.
//! - All profiles of one sample type share one event, across resources. The process of a sample comes from the attributes of
//!   the sample or its resource.
//! - Before 1.7 each profile had its own tables. The reader rejects such files.

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
mod json;
mod profiles;

use attributes::OtlpOrigin;
use dictionary::OtlpDictionary;
use json::JsonMessages;
pub use json::is_json;
use profiles::{OtlpProfile, OtlpSamples};

/// Reads profiles of OpenTelemetry, as protocol buffer or JSON: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let bytes = reading.bytes()?;
    // The length of a message can look like a bracket.
    let is_json = matches!(bytes.trim_ascii_start(), [b'{' | b'[', ..]);
    let mut has_profiles = false;
    if !is_json || is_profiles(&Head::new(&bytes, true)) {
        has_profiles = parse_message(&bytes, reading)?;
    } else {
        let mut messages = JsonMessages::new(&bytes);
        while let Some(message) = messages.next()? {
            has_profiles |= parse_message(&message, reading).map_err(without_byte)?;
        }
    }
    match has_profiles {
        true => Ok(()),
        false => Err(Error::whole(
            "expected a profile with sample types, found none",
        )),
    }
}

/// Removes the position in the converted message from an error.
fn without_byte(error: Error) -> Error {
    match error {
        Error::Malformed {
            line: None,
            message,
        } if message.starts_with("byte ") => {
            let text = message.split_once(": ").map(|(_, text)| text.to_owned());
            Error::whole(text.unwrap_or(message))
        }
        other => other,
    }
}

/// Reads one message. Returns false if it has no profiles: the collector also writes such messages.
fn parse_message(bytes: &[u8], reading: &mut Reading) -> Result<bool, Error> {
    let outline = OtlpMessages::parse(bytes);
    if outline.resources.is_empty() && outline.read.is_ok() {
        return Ok(false);
    }
    let Some(dictionary) = outline.dictionary else {
        outline.read?;
        return Err(Error::whole(
            "expected a dictionary, which OTLP has since 1.7, found none",
        ));
    };
    let mut dictionary = OtlpDictionary::read(dictionary)?;
    let mut resources = Resources::default();
    for resource in &outline.resources {
        resources.read(*resource, &mut dictionary)?;
    }
    if dictionary.tables.sample_types.is_empty() {
        outline.read?;
        return Ok(false);
    }
    resources.set_times(&mut dictionary);
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
    write(run, &table, read.and(outline.read), reading.out)?;
    Ok(true)
}

/// The messages of a file, up to an error in `read`.
struct OtlpMessages<'a> {
    resources: Vec<MessageBytes<'a>>,
    dictionary: Option<MessageBytes<'a>>,
    read: Result<(), Error>,
}

impl<'a> OtlpMessages<'a> {
    fn parse(bytes: &'a [u8]) -> OtlpMessages<'a> {
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
                        "byte {}: expected one dictionary, found another: pass concatenated files to cg-parse separately",
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

/// The profiles of all resources, with their descriptions.
#[derive(Default)]
struct Resources<'a> {
    profiles: Vec<OtlpProfile<'a>>,
    creators: Vec<String>,
    /// The attributes of resources and profiles, each with its different values.
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

    /// Sets the duration, from the earliest start to the latest end, and the period if all profiles have the same one.
    fn set_times(&self, dictionary: &mut OtlpDictionary) {
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

    /// Adds the creator and the labels on which all resources agree to the `run` record.
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

/// Returns the name and version of an instrumentation scope.
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

/// Returns true if an input with this head is in this format. OpenTelemetry's traces, logs and metrics, and pprof's
/// profiles, begin with the same byte, so the head must contain a profile with a sample type and a sample.
pub fn is_profiles(head: &Head) -> bool {
    let whole = MessageBytes {
        bytes: head.bytes,
        start: 0,
    };
    has_profile(whole, 0) == Some(true)
}

/// By level (data, resources, scopes): the field that contains the messages of the next level.
const NEXT_LEVEL: [u64; 3] = [1, 2, 2];

/// Returns true if a message contains a profile; `None` if the message cannot be in this format.
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
