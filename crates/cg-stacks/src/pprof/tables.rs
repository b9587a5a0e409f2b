//! The tables of a pprof profile. Samples stay in the bytes of the file.

use cg_collections::maps::Map;
use cg_reader::Error;
use cg_stream::record::{HexAddress, MappingFacts, Name};

use super::wire::{MessageBytes, MessageFields, WireValue};

/// A map by id. Ids can be any numbers except 0.
pub(crate) type ById<T> = Map<u64, T>;

/// Everything that samples refer to.
#[derive(Default)]
pub(crate) struct PprofTables<'a> {
    pub(crate) strings: Vec<&'a [u8]>,
    pub(crate) sample_types: Vec<ValueType>,
    pub(crate) mappings: ById<PprofMapping>,
    /// The ids of mappings, in file order.
    mapping_ids: Vec<u64>,
    pub(crate) functions: ById<PprofFunction>,
    pub(crate) locations: ById<PprofLocation<'a>>,
    pub(super) drop_frames: i64,
    pub(super) keep_frames: i64,
    /// The time since 1970.
    pub(super) time_nanoseconds: i64,
    pub(crate) duration_nanoseconds: i64,
    pub(crate) period_type: Option<ValueType>,
    pub(crate) period: i64,
    pub(super) comments: Vec<u64>,
    pub(super) default_sample_type: i64,
}

/// The type and unit of a column, as positions in the string table.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ValueType {
    pub(crate) kind: i64,
    pub(crate) unit: i64,
}

/// A part of an object in the address space.
#[derive(Clone, Copy, Default)]
pub(crate) struct PprofMapping {
    pub(crate) memory_start: u64,
    pub(crate) memory_limit: u64,
    pub(crate) file_offset: u64,
    pub(crate) filename: i64,
    pub(crate) build_id: i64,
    /// True if functions, files, lines and inlined functions, respectively, were looked up.
    pub(crate) known: [bool; 4],
}

/// A function, by positions in the string table.
#[derive(Clone, Copy, Default)]
pub(crate) struct PprofFunction {
    pub(crate) name: i64,
    pub(crate) system_name: i64,
    pub(crate) filename: i64,
}

/// An address, and the functions there.
#[derive(Clone, Copy)]
pub(crate) struct PprofLocation<'a> {
    pub(crate) address: u64,
    pub(crate) mapping: u64,
    pub(crate) message: MessageBytes<'a>,
    /// The field number of its lines in the message.
    pub(crate) lines: u64,
    /// True if the profile marks the code as the kernel's.
    pub(crate) is_kernel: bool,
}

/// A function of a location, and the line in it.
#[derive(Clone, Copy, Default)]
pub(super) struct LocationLine {
    function: u64,
    pub(super) line: i64,
}

impl<'a> PprofTables<'a> {
    /// Reads everything in a profile except its samples.
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

    /// Returns a string by its position; `None` for an empty string, such as the first one, which means "no string".
    pub(crate) fn text(&self, position: i64) -> Result<Option<Name<'a>>, Error> {
        Ok(self.bytes(position)?.map(Name::from_bytes))
    }

    /// Returns the bytes of a string; `None` for an empty string.
    pub(crate) fn bytes(&self, position: i64) -> Result<Option<&'a [u8]>, Error> {
        let found = usize::try_from(position)
            .ok()
            .and_then(|position| self.strings.get(position));
        match found {
            Some(text) => Ok(Some(*text).filter(|text| !text.is_empty())),
            // A profile without strings may refer to string 0.
            None if position == 0 => Ok(None),
            None => Err(Error::whole(format!(
                "expected one of the {} strings of the string table, found number {position}",
                self.strings.len()
            ))),
        }
    }

    /// Returns a location by its id.
    pub(super) fn location(&self, id: u64) -> Result<PprofLocation<'a>, Error> {
        let found = self.locations.get(&id).copied();
        found.ok_or_else(|| {
            Error::whole(format!(
                "a sample refers to location {id}, which is not in the profile"
            ))
        })
    }

    /// Iterates over all locations, in arbitrary order.
    pub(super) fn locations(&self) -> impl Iterator<Item = &PprofLocation<'a>> {
        self.locations.values()
    }

    /// Returns the mapping of a location; `None` if it has none.
    pub(super) fn mapping_of(
        &self,
        location: &PprofLocation,
    ) -> Result<Option<&PprofMapping>, Error> {
        match self.mappings.get(&location.mapping) {
            None if location.mapping != 0 => Err(Error::whole(format!(
                "a location refers to mapping {}, which is not in the profile",
                location.mapping
            ))),
            found => Ok(found),
        }
    }

    /// Returns a mapping by its id; an empty one if the id is unknown.
    pub(super) fn mapping(&self, id: u64) -> PprofMapping {
        self.mappings.get(&id).copied().unwrap_or_default()
    }

    /// Returns the mapped objects, in file order.
    pub(super) fn mapped_objects(&self) -> Result<Vec<&'a [u8]>, Error> {
        let objects = (self.mapping_ids.iter()).map(|id| self.bytes(self.mapping(*id).filename));
        objects.filter_map(Result::transpose).collect()
    }

    /// Returns the mappings for the `run` record.
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
                    .map(|(name, _)| name.to_owned())
                    .collect(),
            })
        };
        self.mapping_ids.iter().map(facts).collect()
    }

    /// Returns the function of a line; `None` if the line has no function.
    pub(super) fn function_of(&self, line: &LocationLine) -> Result<Option<&PprofFunction>, Error> {
        match self.functions.get(&line.function) {
            None if line.function != 0 => Err(Error::whole(format!(
                "a location refers to function {}, which is not in the profile",
                line.function
            ))),
            found => Ok(found),
        }
    }
}

impl PprofLocation<'_> {
    /// Appends the location's lines to a list: the innermost inlined function first, its outermost inliner last.
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

/// Reads the type and unit of a column.
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
