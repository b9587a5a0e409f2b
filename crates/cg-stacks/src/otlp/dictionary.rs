//! The dictionary, converted to pprof's tables, which turn locations into frames.

use cg_reader::Error;

use super::super::pprof::tables::{
    PprofFunction, PprofLocation, PprofMapping, PprofTables, ValueType, each,
};
use super::super::wire::{MessageBytes, WireValue};
use super::attributes::OtlpAttribute;

/// Everything that profiles refer to.
#[derive(Default)]
pub(super) struct OtlpDictionary<'a> {
    /// Their sample types are the types of the profiles read so far.
    pub(super) tables: PprofTables<'a>,
    attributes: Vec<OtlpAttribute<'a>>,
    /// Used since 1.8. Before, the field holds the units of attributes.
    pub(super) stacks: Vec<MessageBytes<'a>>,
}

/// The attribute with the build id of a mapping's object, and the attribute with the kind of code at a location.
const BUILD_ID: &[u8] = b"process.executable.build_id.gnu";
const FRAME_TYPE: &[u8] = b"profile.frame.type";

impl<'a> OtlpDictionary<'a> {
    pub(super) fn read(message: MessageBytes<'a>) -> Result<OtlpDictionary<'a>, Error> {
        let mut dictionary = OtlpDictionary::default();
        let (mut mappings, mut locations, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
        let mut functions = 0..;
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            let Some(message) = value.message() else {
                continue;
            };
            let tables = &mut dictionary.tables;
            match number {
                1 => mappings.push(message),
                2 => locations.push(message),
                3 => {
                    let position = functions.next().unwrap_or(u64::MAX);
                    if position > 0 || !message.bytes.is_empty() {
                        tables.functions.insert(position, function(value)?);
                    }
                }
                5 => tables.strings.push(message.bytes),
                6 => attributes.push(message),
                7 => dictionary.stacks.push(message),
                _ => {}
            }
        }
        for message in attributes {
            let attribute = OtlpAttribute::read(message, &dictionary.tables.strings, true)?;
            dictionary.attributes.push(attribute);
        }
        for (position, message) in (0..).zip(mappings) {
            dictionary.mapping(position, message)?;
        }
        for (position, message) in (0..).zip(locations) {
            let location = dictionary.location(message)?;
            dictionary.tables.locations.insert(position, location);
        }
        Ok(dictionary)
    }

    /// Returns an attribute by its position; `None` for the entry that means "none".
    pub(super) fn attribute(&self, position: u64) -> Result<Option<&OtlpAttribute<'a>>, Error> {
        let found = usize::try_from(position).ok();
        let found = found.and_then(|position| self.attributes.get(position));
        match found {
            Some(attribute) => Ok(Some(attribute).filter(|attribute| !attribute.key.is_empty())),
            None if position == 0 => Ok(None),
            None => Err(Error::whole(format!(
                "expected one of the {} attributes of the dictionary, found number {position}",
                self.attributes.len()
            ))),
        }
    }

    pub(super) fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    /// Reads the attributes of a `Resource`.
    pub(super) fn attributes_of_resource(
        &self,
        resource: MessageBytes<'a>,
    ) -> Result<Vec<OtlpAttribute<'a>>, Error> {
        let mut attributes = Vec::new();
        let mut fields = resource.fields();
        while let Some((number, value)) = fields.next()? {
            if let (1, Some(message)) = (number, value.message()) {
                attributes.push(OtlpAttribute::read(message, &self.tables.strings, false)?);
            }
        }
        Ok(attributes)
    }

    /// Returns the column of a sample type: its position among the sample types of all profiles.
    pub(super) fn column(&mut self, sample_type: ValueType) -> usize {
        let columns = &mut self.tables.sample_types;
        let known = columns.iter().position(|known| *known == sample_type);
        known.unwrap_or_else(|| {
            columns.push(sample_type);
            columns.len() - 1
        })
    }

    fn mapping(&mut self, position: u64, message: MessageBytes<'a>) -> Result<(), Error> {
        let mut mapping = PprofMapping::default();
        let mut attributes = Vec::new();
        let mut read = Ok(());
        each(WireValue::Bytes(message), |number, value| match number {
            1 => mapping.memory_start = value.number(),
            3 => mapping.file_offset = value.number(),
            4 => mapping.filename = value.signed(),
            5 => read = value.push_to(&mut attributes),
            _ => {}
        })?;
        read?;
        for attribute in attributes {
            let Some(attribute) = self.attribute(attribute)? else {
                continue;
            };
            if attribute.key == BUILD_ID
                && let Some(std::borrow::Cow::Borrowed(id)) = attribute.value
            {
                mapping.build_id = self.tables.strings.len() as i64;
                self.tables.strings.push(id);
            }
        }
        if position > 0 || !message.bytes.is_empty() {
            self.tables.mappings.insert(position, mapping);
        }
        Ok(())
    }

    fn location(&self, message: MessageBytes<'a>) -> Result<PprofLocation<'a>, Error> {
        let mut location = PprofLocation {
            address: 0,
            mapping: 0,
            message,
            lines: 3,
            is_kernel: false,
        };
        let mut attributes = Vec::new();
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            match (number, value) {
                (1, _) => location.mapping = value.number(),
                (2, _) => location.address = value.number(),
                // Until 1.7, field 4 is a flag for folded code, and field 5 has the attributes.
                (4, WireValue::Bytes(_)) | (5, _) => value.push_to(&mut attributes)?,
                _ => {}
            }
        }
        for attribute in attributes {
            location.is_kernel |= self.attribute(attribute)?.is_some_and(|attribute| {
                attribute.key == FRAME_TYPE && attribute.value.as_deref() == Some(b"kernel")
            });
        }
        Ok(location)
    }
}

fn function(message: WireValue) -> Result<PprofFunction, Error> {
    let mut function = PprofFunction::default();
    each(message, |number, value| match number {
        1 => function.name = value.signed(),
        2 => function.system_name = value.signed(),
        3 => function.filename = value.signed(),
        _ => {}
    })?;
    Ok(function)
}
