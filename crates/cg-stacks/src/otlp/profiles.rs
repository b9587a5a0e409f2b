//! Profiles and their samples, in the field numbers of each release.

use std::collections::BTreeMap;

use cg_collections::maps::Map;
use cg_reader::{Error, plural};
use cg_stream::record::Count;

use super::super::pprof::samples::PprofSamples;
use super::super::pprof::tables::{ValueType, value_type};
use super::super::table::{FrameId, StackKey, StackLinkId};
use super::super::wire::{MessageBytes, WireValue};
use super::attributes::OtlpOrigin;
use super::dictionary::OtlpDictionary;

/// A profile whose samples are not decoded yet.
#[derive(Default)]
pub(super) struct OtlpProfile<'a> {
    samples: Vec<MessageBytes<'a>>,
    /// In 1.7: the locations; each sample has a range of them.
    locations: Vec<u64>,
    /// The columns of its sample types.
    columns: Vec<usize>,
    pub(super) attributes: Vec<u64>,
    origin: OtlpOrigin,
    pub(super) time: u64,
    pub(super) duration: u64,
    pub(super) period: Option<(ValueType, i64)>,
    /// True if the profile's own fields show that it is from 1.7.
    has_ranges: bool,
}

/// Returns true if a message is a profile with a sample; `None` if it is not a profile. Checks only the first fields.
pub(super) fn is_profile(message: MessageBytes) -> Option<bool> {
    const ENOUGH: usize = 64;
    let (mut types, mut samples) = (0, 0);
    let mut fields = message.beginning();
    for _ in 0..ENOUGH {
        let is_known = match fields.next() {
            Ok(Some((1, WireValue::Bytes(kind)))) => {
                types += 1;
                has_only(kind, |number, value| {
                    matches!((number, value), (1..=3, WireValue::Varint(_)))
                })
            }
            Ok(Some((2, WireValue::Bytes(sample)))) => {
                samples += 1;
                has_only(sample, |number, value| match value {
                    WireValue::Varint(_) | WireValue::Bytes(_) => (1..=6).contains(&number),
                    WireValue::Fixed64(_) => number == 5,
                    WireValue::Fixed32 => false,
                })
            }
            Ok(Some((3..=14, _))) => true,
            Ok(Some(_)) => false,
            Ok(None) => break,
            Err(broken) if broken.is_cut => break,
            Err(_) => false,
        };
        if !is_known {
            return None;
        }
    }
    Some(types > 0 && samples > 0)
}

/// Returns true if a message, which may be truncated, has only known fields.
fn has_only(message: MessageBytes, is_known: impl Fn(u64, WireValue) -> bool) -> bool {
    let mut fields = message.beginning();
    loop {
        match fields.next() {
            Ok(Some((number, value))) if is_known(number, value) => {}
            Ok(None) => return true,
            Err(broken) => return broken.is_cut,
            Ok(Some(_)) => return false,
        }
    }
}

impl<'a> OtlpProfile<'a> {
    /// Reads a profile. Adds its sample types to the dictionary's columns.
    pub(super) fn read(
        message: MessageBytes<'a>,
        origin: OtlpOrigin,
        dictionary: &mut OtlpDictionary<'a>,
    ) -> Result<OtlpProfile<'a>, Error> {
        let mut profile = OtlpProfile {
            origin,
            ..OtlpProfile::default()
        };
        let mut later_fields = Vec::new();
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, _) => profile.columns.push(dictionary.column(value_type(value)?)),
                (2, WireValue::Bytes(sample)) => profile.samples.push(sample),
                // Later releases have the time in this field.
                (3, WireValue::Bytes(_)) => {
                    profile.has_ranges = true;
                    value.push_many_to(&mut profile.locations)?;
                }
                (3..=14, _) => later_fields.push((number, value)),
                _ => {}
            }
        }
        let moved = u64::from(profile.has_ranges);
        let mut period = (None, 0);
        for (number, value) in later_fields {
            match number - moved {
                3 => profile.time = value.number(),
                4 => profile.duration = value.number(),
                5 => period.0 = Some(value_type(value)?),
                6 => period.1 = value.signed(),
                11..=13 => profile.attributes.extend(attributes(value, dictionary)),
                _ => {}
            }
        }
        profile.period = period.0.map(|kind| (kind, period.1));
        Ok(profile)
    }
}

/// Returns the attributes of a profile. Their field differs between releases. In some releases, this field has bytes of
/// another format, which are not positions of attributes.
fn attributes(value: WireValue, dictionary: &OtlpDictionary) -> Vec<u64> {
    let mut attributes = Vec::new();
    let is_list = value.message().is_some() && value.push_to(&mut attributes).is_ok();
    let is_known = |attribute: &u64| dictionary.attribute(*attribute).is_ok();
    match is_list && attributes.iter().all(is_known) {
        true => attributes,
        false => Vec::new(),
    }
}

/// The field numbers of a sample, which releases changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SampleFields {
    has_ranges: bool,
    values: u64,
    attributes: u64,
    times: u64,
}

const RELEASE_1_7: SampleFields = SampleFields {
    has_ranges: true,
    values: 3,
    attributes: 4,
    times: 6,
};
const RELEASE_1_9: SampleFields = SampleFields {
    has_ranges: false,
    values: 2,
    attributes: 3,
    times: 5,
};
const RELEASE_1_10: SampleFields = SampleFields {
    has_ranges: false,
    values: 4,
    attributes: 2,
    times: 5,
};

/// Infers the release from the kinds of all samples' fields (lists or single numbers), and returns its field numbers.
fn infer_fields(
    profiles: &[OtlpProfile],
    dictionary: &OtlpDictionary,
) -> Result<SampleFields, Error> {
    if profiles.iter().any(|profile| profile.has_ranges) {
        return Ok(RELEASE_1_7);
    }
    let mut numbers = Vec::new();
    // If only field 2 distinguishes the releases: it has attributes if all its numbers are attributes of the dictionary and
    // the samples have times.
    let mut can_be_attributes = true;
    for sample in profiles.iter().flat_map(|profile| &profile.samples) {
        let (mut second, mut times) = (None, 0);
        let mut fields = sample.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (2, WireValue::Varint(_)) | (6, _) => return Ok(RELEASE_1_7),
                (3, WireValue::Varint(_)) | (4, WireValue::Bytes(_)) => return Ok(RELEASE_1_10),
                (3, WireValue::Bytes(_)) | (4, WireValue::Varint(_)) => return Ok(RELEASE_1_9),
                (2, _) => second = Some(value),
                (5, _) => times += count_times(value),
                _ => {}
            }
        }
        if let Some(second) = second {
            numbers.clear();
            second.push_to(&mut numbers)?;
            let count = dictionary.attribute_count() as u64;
            can_be_attributes &=
                times > 0 && numbers.iter().all(|number| (1..count).contains(number));
        }
    }
    Ok(if can_be_attributes {
        RELEASE_1_10
    } else {
        RELEASE_1_9
    })
}

/// Returns the number of times in a field. Since 1.8 they have 64 bits each. Before, they are varints, and a time since 1970
/// takes nine bytes.
fn count_times(value: WireValue) -> u64 {
    let WireValue::Bytes(packed) = value else {
        return 1;
    };
    let is_varint = |bytes: &[u8]| {
        let ends = bytes.iter().position(|byte| byte & 0x80 == 0);
        bytes.len() == 9 && ends == Some(8)
    };
    let count = match packed.bytes.chunks(9).all(is_varint) {
        true => packed.bytes.len() / 9,
        false => packed.bytes.len() / 8,
    };
    count as u64
}

/// Reads samples into a table of stacks.
pub(super) struct OtlpSamples<'d, 'a, 't> {
    dictionary: &'d OtlpDictionary<'a>,
    frames: PprofSamples<'d, 'a, 't>,
    /// By position of a stack in the dictionary: its id in the table, once it is known.
    known: Vec<Option<Option<StackLinkId>>>,
    /// By the attributes of a sample and the number of its profile: the key without the stack.
    origins: Map<Vec<u64>, StackKey>,
    /// By position of an attribute: the number of samples that lose it.
    left_out: Vec<u64>,
    /// Buffers for the sample that is being read.
    locations: Vec<u64>,
    stack: Vec<FrameId>,
    sample: OtlpSample,
}

#[derive(Default)]
struct OtlpSample {
    first: u64,
    length: u64,
    values: Vec<u64>,
    attributes: Vec<u64>,
    times: u64,
}

impl<'d, 'a, 't> OtlpSamples<'d, 'a, 't> {
    pub(super) fn new(
        dictionary: &'d OtlpDictionary<'a>,
        frames: PprofSamples<'d, 'a, 't>,
    ) -> OtlpSamples<'d, 'a, 't> {
        OtlpSamples {
            dictionary,
            frames,
            known: vec![None; dictionary.stacks.len()],
            origins: Map::default(),
            left_out: vec![0; dictionary.attribute_count()],
            locations: Vec::new(),
            stack: Vec::new(),
            sample: OtlpSample::default(),
        }
    }

    /// Reads all samples.
    pub(super) fn read(&mut self, profiles: &[OtlpProfile<'a>]) -> Result<(), Error> {
        let fields = infer_fields(profiles, self.dictionary)?;
        for (number, profile) in (0..).zip(profiles) {
            for sample in &profile.samples {
                self.sample.read(*sample, fields)?;
                self.add(number, profile, *sample, fields)?;
            }
        }
        Ok(())
    }

    /// Returns the keys of lost attributes, each with the number of samples that had it.
    pub(super) fn attributes_left_out(&self) -> Vec<String> {
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for (position, count) in (0..).zip(&self.left_out) {
            if let (Ok(Some(attribute)), 1..) = (self.dictionary.attribute(position), *count) {
                let key = cg_stream::record::Name::from_bytes(attribute.key);
                *counts.entry(key.into_string()).or_default() += count;
            }
        }
        let shown = |(key, count)| format!("{key} ({})", plural(count, "sample", "samples"));
        counts.into_iter().map(shown).collect()
    }

    fn add(
        &mut self,
        number: u64,
        profile: &OtlpProfile<'a>,
        message: MessageBytes,
        fields: SampleFields,
    ) -> Result<(), Error> {
        let stack = match fields.has_ranges {
            true => self.range(profile, message)?,
            false => self.stack(message)?,
        };
        let origin = self.origin(number, profile)?;
        let table = &mut *self.frames.table;
        let row = table.row(StackKey { stack, ..origin })?;
        let values = &self.sample.values;
        match profile.columns[..] {
            [column] => {
                let counted = || values.iter().map(|value| Count::from(*value as i64)).sum();
                let count = if values.is_empty() {
                    self.sample.times.into()
                } else {
                    counted()
                };
                table.add(row, column, count);
            }
            ref columns if columns.len() == values.len() => {
                for (column, value) in columns.iter().zip(values) {
                    table.add(row, *column, Count::from(*value as i64));
                }
            }
            ref columns => {
                return Err(Error::whole(format!(
                    "byte {}: expected a sample with {} values, found {}",
                    message.start,
                    columns.len(),
                    values.len()
                )));
            }
        }
        Ok(())
    }

    /// Returns the key, without the stack, of the current sample.
    fn origin(&mut self, number: u64, profile: &OtlpProfile<'a>) -> Result<StackKey, Error> {
        let attributes = &mut self.sample.attributes;
        for position in &*attributes {
            let attribute = self.dictionary.attribute(*position)?;
            if attribute.is_some_and(|attribute| !attribute.is_origin()) {
                self.left_out[*position as usize] += 1;
            }
        }
        attributes.push(number);
        if let Some(known) = self.origins.get(&attributes[..]) {
            return Ok(*known);
        }
        let mut origin = profile.origin.clone();
        for position in &attributes[..attributes.len() - 1] {
            if let Some(attribute) = self.dictionary.attribute(*position)? {
                origin.read(attribute);
            }
        }
        let mut name = |first: &Option<Vec<u8>>, second: &Option<Vec<u8>>| {
            let text = first.as_deref().or(second.as_deref());
            self.frames
                .table
                .text_unless_empty(text.unwrap_or_default())
        };
        let key = StackKey {
            thread: name(&origin.thread, &origin.thread_number)?,
            process: name(&origin.process, &origin.service)?,
            pid: origin.pid,
            ..StackKey::default()
        };
        self.origins.insert(attributes.clone(), key);
        Ok(key)
    }

    /// Returns the stack of a sample that refers to an entry of the dictionary.
    fn stack(&mut self, message: MessageBytes) -> Result<Option<StackLinkId>, Error> {
        let position = usize::try_from(self.sample.first).ok();
        let position = position.filter(|position| *position < self.known.len());
        let Some(position) = position else {
            return match self.sample.first {
                0 => Ok(None),
                number => Err(Error::whole(format!(
                    "byte {}: a sample refers to stack {number}, but the dictionary has {}",
                    message.start,
                    self.known.len()
                ))),
            };
        };
        if let Some(known) = self.known[position] {
            return Ok(known);
        }
        self.locations.clear();
        self.dictionary.stacks[position].push_numbers(1, &mut self.locations)?;
        let locations = std::mem::take(&mut self.locations);
        let stack = self.linked(&locations)?;
        self.locations = locations;
        self.known[position] = Some(stack);
        Ok(stack)
    }

    /// Returns the stack of a sample that refers to a range of its profile's locations.
    fn range(
        &mut self,
        profile: &OtlpProfile<'a>,
        message: MessageBytes,
    ) -> Result<Option<StackLinkId>, Error> {
        let OtlpSample { first, length, .. } = self.sample;
        let end = first
            .checked_add(length)
            .and_then(|end| usize::try_from(end).ok());
        let range = end.and_then(|end| profile.locations.get(first as usize..end));
        let range = range.ok_or_else(|| {
            Error::whole(format!(
                "byte {}: a sample refers to {length} locations from number {first}, but its profile has {}",
                message.start,
                profile.locations.len()
            ))
        })?;
        self.linked(range)
    }

    fn linked(&mut self, locations: &[u64]) -> Result<Option<StackLinkId>, Error> {
        self.stack.clear();
        for location in locations {
            self.frames.push_frames(*location, &mut self.stack)?;
        }
        Ok(self.frames.table.rare_stack(&self.stack)?)
    }
}

impl OtlpSample {
    fn read(&mut self, message: MessageBytes, numbers: SampleFields) -> Result<(), Error> {
        (self.first, self.length, self.times) = (0, 0, 0);
        self.values.clear();
        self.attributes.clear();
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => self.first = value.number(),
                2 if numbers.has_ranges => self.length = value.number(),
                _ if number == numbers.values => value.push_to(&mut self.values)?,
                _ if number == numbers.attributes => value.push_to(&mut self.attributes)?,
                _ if number == numbers.times => self.times += count_times(value),
                _ => {}
            }
        }
        Ok(())
    }
}
