//! The tables of a pprof profile: everything but its samples, which stay where they are in the file.

use cg_reader::Error;
use cg_stream::maps::Map;
use cg_stream::record::{HexAddress, MappingFacts, Name};

use super::wire::{MessageBytes, MessageFields, WireValue};

/// Maps of ids. These are any numbers but 0.
pub(crate) type ById<T> = Map<u64, T>;

/// What samples refer to.
#[derive(Default)]
pub(crate) struct PprofTables<'a> {
    pub(crate) strings: Vec<&'a [u8]>,
    pub(crate) sample_types: Vec<ValueType>,
    pub(crate) mappings: ById<PprofMapping>,
    /// Their ids in the order of the file.
    mapping_ids: Vec<u64>,
    pub(crate) functions: ById<PprofFunction>,
    pub(crate) locations: ById<PprofLocation<'a>>,
    pub(super) drop_frames: i64,
    pub(super) keep_frames: i64,
    /// Since 1970.
    pub(super) time_nanoseconds: i64,
    pub(crate) duration_nanoseconds: i64,
    pub(crate) period_type: Option<ValueType>,
    pub(crate) period: i64,
    pub(super) comments: Vec<u64>,
    pub(super) default_sample_type: i64,
}

/// What a column of values counts, as positions in the string table.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValueType {
    pub(crate) kind: i64,
    pub(crate) unit: i64,
}

/// A piece of an object in the address space.
#[derive(Clone, Copy, Default)]
pub(crate) struct PprofMapping {
    pub(crate) memory_start: u64,
    pub(crate) memory_limit: u64,
    pub(crate) file_offset: u64,
    pub(crate) filename: i64,
    pub(crate) build_id: i64,
    /// Whether functions, files, lines and inlined functions were looked up.
    pub(crate) known: [bool; 4],
}

/// A function, by positions in the string table.
#[derive(Clone, Copy, Default)]
pub(crate) struct PprofFunction {
    pub(crate) name: i64,
    pub(crate) system_name: i64,
    pub(crate) filename: i64,
}

/// An address, and the functions that its code is of.
#[derive(Clone, Copy)]
pub(crate) struct PprofLocation<'a> {
    pub(crate) address: u64,
    pub(crate) mapping: u64,
    pub(crate) message: MessageBytes<'a>,
    /// The field of the message that its lines are in.
    pub(crate) lines: u64,
    /// Whether the profile says that its code is the kernel's.
    pub(crate) is_kernel: bool,
}

/// A function of a location, and the line in it.
#[derive(Clone, Copy, Default)]
pub(super) struct LocationLine {
    function: u64,
    pub(super) line: i64,
}

impl<'a> PprofTables<'a> {
    /// Reads all of a profile but its samples.
    pub(super) fn read(bytes: &'a [u8]) -> Result<PprofTables<'a>, Error> {
        let mut tables = PprofTables::default();
        let mut fields = MessageFields::new(bytes);
        while let Some((number, value)) = fields.next()? {
            match number {
                1 => tables.sample_types.push(value_type(value)?),
                3 => {
                    let (id, mapping) = mapping(value)?;
                    tables.mappings.insert(id, mapping);
                    tables.mapping_ids.push(id);
                }
                4 => {
                    let (id, location) = location(value)?;
                    tables.locations.insert(id, location);
                }
                5 => {
                    let (id, function) = function(value)?;
                    tables.functions.insert(id, function);
                }
                6 => tables
                    .strings
                    .push(value.message().map_or(&[][..], |text| text.bytes)),
                7 => tables.drop_frames = value.signed(),
                8 => tables.keep_frames = value.signed(),
                9 => tables.time_nanoseconds = value.signed(),
                10 => tables.duration_nanoseconds = value.signed(),
                11 => tables.period_type = Some(value_type(value)?),
                12 => tables.period = value.signed(),
                13 => value.push_to(&mut tables.comments)?,
                14 => tables.default_sample_type = value.signed(),
                _ => {}
            }
        }
        if tables
            .strings
            .first()
            .is_some_and(|first| !first.is_empty())
        {
            return Err(Error::whole(
                "expected an empty string at the beginning of the string table, found another",
            ));
        }
        Ok(tables)
    }

    /// A string by its position. The first is empty, and says that there is none.
    pub(crate) fn text(&self, position: i64) -> Result<Option<Name<'a>>, Error> {
        Ok(self.bytes(position)?.map(Name::from_bytes))
    }

    /// The bytes of a string; `None` for an empty one.
    pub(crate) fn bytes(&self, position: i64) -> Result<Option<&'a [u8]>, Error> {
        let found = usize::try_from(position)
            .ok()
            .and_then(|position| self.strings.get(position));
        match found {
            Some(text) => Ok(Some(*text).filter(|text| !text.is_empty())),
            // A profile without any string may say that it has none.
            None if position == 0 => Ok(None),
            None => Err(Error::whole(format!(
                "expected one of the {} strings of the string table, found number {position}",
                self.strings.len()
            ))),
        }
    }

    /// A location by its id.
    pub(super) fn location(&self, id: u64) -> Result<PprofLocation<'a>, Error> {
        let found = self.locations.get(&id).copied();
        found.ok_or_else(|| {
            Error::whole(format!(
                "a sample names location {id}, which the profile has not"
            ))
        })
    }

    /// All locations, in no order.
    pub(super) fn locations(&self) -> impl Iterator<Item = &PprofLocation<'a>> {
        self.locations.values()
    }

    /// The mapping that a location is in, if it says so.
    pub(super) fn mapping_of(
        &self,
        location: &PprofLocation,
    ) -> Result<Option<&PprofMapping>, Error> {
        match self.mappings.get(&location.mapping) {
            None if location.mapping != 0 => Err(Error::whole(format!(
                "a location names mapping {}, which the profile has not",
                location.mapping
            ))),
            found => Ok(found),
        }
    }

    /// A mapping by its id.
    pub(super) fn mapping(&self, id: u64) -> PprofMapping {
        self.mappings.get(&id).copied().unwrap_or_default()
    }

    /// The objects that were mapped, in the order in which the profile has them.
    pub(super) fn mapped_objects(&self) -> Result<Vec<&'a [u8]>, Error> {
        let objects = (self.mapping_ids.iter()).map(|id| self.bytes(self.mapping(*id).filename));
        objects.filter_map(Result::transpose).collect()
    }

    /// The mappings as a stream has them.
    pub(super) fn mapping_facts(&self) -> Result<Vec<MappingFacts>, Error> {
        let text = |position| {
            let text = self.text(position)?;
            Ok::<_, Error>(text.map(Name::into_string))
        };
        let facts = |id: &u64| {
            let mapping = self.mapping(*id);
            Ok(MappingFacts {
                obj: text(mapping.filename)?,
                start: HexAddress(mapping.memory_start),
                end: HexAddress(mapping.memory_limit),
                offset: HexAddress(mapping.file_offset),
                build_id: text(mapping.build_id)?,
                known: MappingFacts::KNOWN
                    .into_iter()
                    .zip(mapping.known)
                    .filter(|(_, is_known)| *is_known)
                    .map(|(what, _)| what.to_owned())
                    .collect(),
            })
        };
        self.mapping_ids.iter().map(facts).collect()
    }

    /// The function of a line; `None` where it is not known.
    pub(super) fn function_of(&self, line: &LocationLine) -> Result<Option<&PprofFunction>, Error> {
        match self.functions.get(&line.function) {
            None if line.function != 0 => Err(Error::whole(format!(
                "a location names function {}, which the profile has not",
                line.function
            ))),
            found => Ok(found),
        }
    }
}

impl PprofLocation<'_> {
    /// Adds its lines to a list: the innermost inlined function first, the one they were inlined into last.
    pub(super) fn lines(&self, lines: &mut Vec<LocationLine>) -> Result<(), Error> {
        let mut fields = self.message.fields();
        while let Some((number, value)) = fields.next()? {
            if number != self.lines {
                continue;
            }
            let mut line = LocationLine::default();
            each(value, |number, value| match number {
                1 => line.function = value.number(),
                2 => line.line = value.signed(),
                _ => {}
            })?;
            lines.push(line);
        }
        Ok(())
    }
}

/// Calls a function with each field of a message.
pub(crate) fn each<'a>(
    message: WireValue<'a>,
    mut take: impl FnMut(u64, WireValue<'a>),
) -> Result<(), Error> {
    if let Some(message) = message.message() {
        let mut fields = message.fields();
        while let Some((number, value)) = fields.next()? {
            take(number, value);
        }
    }
    Ok(())
}

/// The type and the unit of a column, as places in the table of strings.
pub(crate) fn value_type(message: WireValue) -> Result<ValueType, Error> {
    let mut found = ValueType::default();
    each(message, |number, value| match number {
        1 => found.kind = value.signed(),
        2 => found.unit = value.signed(),
        _ => {}
    })?;
    Ok(found)
}

fn mapping(message: WireValue) -> Result<(u64, PprofMapping), Error> {
    let (mut id, mut found) = (0, PprofMapping::default());
    each(message, |number, value| match number {
        1 => id = value.number(),
        2 => found.memory_start = value.number(),
        3 => found.memory_limit = value.number(),
        4 => found.file_offset = value.number(),
        5 => found.filename = value.signed(),
        6 => found.build_id = value.signed(),
        7..=10 => found.known[number as usize - 7] = value.number() != 0,
        _ => {}
    })?;
    Ok((id, found))
}

fn function(message: WireValue) -> Result<(u64, PprofFunction), Error> {
    let (mut id, mut found) = (0, PprofFunction::default());
    each(message, |number, value| match number {
        1 => id = value.number(),
        2 => found.name = value.signed(),
        3 => found.system_name = value.signed(),
        4 => found.filename = value.signed(),
        _ => {}
    })?;
    Ok((id, found))
}

fn location(value: WireValue) -> Result<(u64, PprofLocation), Error> {
    let (mut id, mut address, mut mapping) = (0, 0, 0);
    each(value, |number, value| match number {
        1 => id = value.number(),
        2 => mapping = value.number(),
        3 => address = value.number(),
        _ => {}
    })?;
    let message = value
        .message()
        .ok_or_else(|| Error::whole("expected a location, found a number"))?;
    Ok((
        id,
        PprofLocation {
            address,
            mapping,
            message,
            lines: 4,
            is_kernel: false,
        },
    ))
}
