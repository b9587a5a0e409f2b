//! The types of a chunk, from its metadata: a tree of elements with attributes. `class` elements contain `field` elements.
//!
//! Each type is compiled once into a list of steps. The steps read or skip a value of the type.

use cg_collections::maps::Map;
use cg_reader::Error;

use super::cursor::{JfrCursor, JfrText};

/// The types of a chunk, by id.
#[derive(Default)]
pub(super) struct JfrTypes {
    types: Map<u64, JfrType>,
}

#[derive(Default)]
struct JfrType {
    name: Vec<u8>,
    fields: Vec<JfrField>,
}

#[derive(Clone, Default)]
struct JfrField {
    name: Vec<u8>,
    type_id: u64,
    is_pooled: bool,
    is_array: bool,
}

/// One step in reading a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Number,
    /// A fixed number of bytes.
    Bytes(u64),
    Text,
    /// The steps for each element.
    Array(Vec<Step>),
    /// Stores the next step's value in this slot.
    Take(usize),
}

/// The maximum number of values to read from an object.
pub(super) const SLOTS: usize = 7;

/// The values read from an object. For an array, the number is its offset in the chunk.
#[derive(Default)]
pub(super) struct Taken<'a> {
    pub(super) numbers: [u64; SLOTS],
    pub(super) texts: [Option<JfrText<'a>>; SLOTS],
}

/// The maximum nesting of types, deeper than any recorder writes.
const DEEPEST: usize = 16;
const MOST_STEPS: usize = 4096;

impl JfrTypes {
    /// Reads a metadata event. The cursor is after its size and type.
    pub(super) fn read(mut cursor: JfrCursor) -> Result<JfrTypes, Error> {
        for _ in ["start", "duration", "id"] {
            cursor.number()?;
        }
        let count = cursor.number()?;
        let mut strings = Vec::new();
        for _ in 0..count {
            strings.push(match cursor.text()? {
                JfrText::Given(text) => text,
                JfrText::Pooled(_) => return Err(cursor.error("expected a text of metadata")),
            });
        }
        let mut types = JfrTypes::default();
        // For each open element: the number of children still to read, and the type that it describes.
        let mut open: Vec<(u64, Option<u64>)> = vec![(1, None)];
        while let Some((children, parent)) = open.last_mut() {
            if *children == 0 {
                open.pop();
                continue;
            }
            *children -= 1;
            let parent = *parent;
            let word = |cursor: &mut JfrCursor| {
                let position = cursor.number()?;
                let word = usize::try_from(position).ok();
                word.and_then(|word| strings.get(word))
                    .ok_or_else(|| cursor.error("expected one of the texts of metadata"))
            };
            let element = word(&mut cursor)?;
            let mut attributes = Vec::new();
            for _ in 0..cursor.number()? {
                let key = word(&mut cursor)?;
                attributes.push((&**key, &**word(&mut cursor)?));
            }
            let described = types.element(element, parent, &attributes);
            let children = cursor.number()?;
            if open.len() > DEEPEST {
                return Err(cursor.error("metadata is nested too deeply"));
            }
            open.push((children, described));
        }
        Ok(types)
    }

    /// Adds an element to the types. Returns the id of the type that the element describes, if any.
    fn element(
        &mut self,
        element: &[u8],
        parent: Option<u64>,
        attributes: &[(&[u8], &[u8])],
    ) -> Option<u64> {
        let attribute = |key: &[u8]| {
            let found = attributes.iter().find(|(known, _)| *known == key);
            found.map_or(&b""[..], |(_, value)| value)
        };
        let number = |key| std::str::from_utf8(attribute(key)).ok()?.parse().ok();
        match (element, parent) {
            (b"class", _) => {
                let id = number(b"id")?;
                let known = self.types.entry(id).or_default();
                known.name = attribute(b"name").to_vec();
                Some(id)
            }
            (b"field", Some(parent)) => {
                let field = JfrField {
                    name: attribute(b"name").to_vec(),
                    type_id: number(b"class")?,
                    is_pooled: attribute(b"constantPool") == b"true",
                    is_array: !matches!(attribute(b"dimension"), b"" | b"0"),
                };
                self.types.get_mut(&parent)?.fields.push(field);
                None
            }
            _ => None,
        }
    }

    pub(super) fn name(&self, id: u64) -> Option<&[u8]> {
        self.types.get(&id).map(|described| &described.name[..])
    }

    /// All types, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let types = self.types.iter();
        types.map(|(id, described)| (*id, &described.name[..]))
    }

    /// Returns true if a type has this field.
    pub(super) fn has_field(&self, id: u64, field: &[u8]) -> bool {
        let described = self.types.get(&id);
        described.is_some_and(|owner| owner.fields.iter().any(|known| known.name == field))
    }

    /// Returns the type of a field, or of its elements if the field is an array.
    pub(super) fn field_type(&self, name: &[u8], field: &[u8]) -> Option<u64> {
        let owner = self.types.values().find(|owner| owner.name == name)?;
        let field = owner.fields.iter().find(|known| known.name == field)?;
        Some(field.type_id)
    }

    /// Returns the steps for a value of a type. They store the fields called `wanted` in slots, in that order.
    pub(super) fn steps(&self, type_id: u64, wanted: &[&str]) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        let mut left = MOST_STEPS;
        self.add_steps(type_id, wanted, DEEPEST, &mut left, &mut steps)?;
        Ok(steps)
    }

    fn add_steps(
        &self,
        type_id: u64,
        wanted: &[&str],
        depth: usize,
        left: &mut usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let nested = || Error::whole("metadata describes a type that is nested too deeply");
        let unknown = || Error::whole(format!("metadata does not describe the type {type_id}"));
        let described = self.types.get(&type_id).ok_or_else(unknown)?;
        *left = left.checked_sub(1).ok_or_else(nested)?;
        match (&described.name[..], depth) {
            (b"boolean" | b"byte", _) => steps.push(Step::Bytes(1)),
            (b"char" | b"short" | b"int" | b"long", _) => steps.push(Step::Number),
            (b"float", _) => steps.push(Step::Bytes(4)),
            (b"double", _) => steps.push(Step::Bytes(8)),
            (b"java.lang.String", _) => steps.push(Step::Text),
            (_, 0) => return Err(nested()),
            _ => {
                for field in &described.fields {
                    *left = left.checked_sub(1).ok_or_else(nested)?;
                    let slot = wanted.iter().position(|name| name.as_bytes() == field.name);
                    steps.extend(slot.map(Step::Take));
                    let mut element = Vec::new();
                    match field.is_pooled {
                        true => element.push(Step::Number),
                        false => {
                            self.add_steps(field.type_id, &[], depth - 1, left, &mut element)?
                        }
                    }
                    match field.is_array {
                        true => steps.push(Step::Array(element)),
                        false => steps.append(&mut element),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads a value and stores the wanted fields.
pub(super) fn run<'a>(
    steps: &[Step],
    cursor: &mut JfrCursor<'a>,
    taken: &mut Taken<'a>,
) -> Result<(), Error> {
    let mut wanted = None;
    for step in steps {
        let slot = wanted.take();
        match step {
            Step::Take(slot) => wanted = Some(*slot),
            Step::Number => {
                let number = cursor.number()?;
                if let Some(slot) = slot {
                    taken.numbers[slot] = number;
                }
            }
            Step::Bytes(length) => {
                let bytes = cursor.take(*length)?;
                if let (Some(slot), [byte]) = (slot, bytes) {
                    taken.numbers[slot] = u64::from(*byte);
                }
            }
            Step::Text => {
                let text = cursor.text()?;
                if let Some(slot) = slot {
                    taken.texts[slot] = Some(text);
                }
            }
            Step::Array(element) => {
                if let Some(slot) = slot {
                    taken.numbers[slot] = cursor.position as u64;
                }
                let count = cursor.number()?;
                // Empty elements take no bytes, so `count` could be huge.
                if !element.is_empty() {
                    for _ in 0..count {
                        run(element, cursor, taken)?;
                    }
                }
            }
        }
    }
    Ok(())
}
