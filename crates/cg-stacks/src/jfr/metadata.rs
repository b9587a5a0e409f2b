//! What a chunk says of its types: a tree of elements with attributes. `class` elements have `field` elements.
//!
//! A value of a type is read, or stepped over, by a program of steps that is made of the type once.

use cg_reader::Error;
use cg_stream::maps::Map;

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
    of: u64,
    is_pooled: bool,
    is_array: bool,
}

/// How one thing of a value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Number,
    /// So many bytes.
    Bytes(u64),
    Text,
    /// Steps of each element.
    Array(Vec<Step>),
    /// The next step's value is wanted, in this slot.
    Take(usize),
}

/// How many values of an object are wanted at most.
pub(super) const SLOTS: usize = 6;

/// The wanted values of an object. Of an array it is the position in the chunk.
#[derive(Default)]
pub(super) struct Taken<'a> {
    pub(super) numbers: [u64; SLOTS],
    pub(super) texts: [Option<JfrText<'a>>; SLOTS],
}

/// Types within types, deeper than any that a recorder writes.
const DEEPEST: usize = 16;
const MOST_STEPS: usize = 4096;

impl JfrTypes {
    /// Reads a metadata event, behind its size and type.
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
        // Of each open element: how many children are to come, and the type that it describes.
        let mut open: Vec<(u64, Option<u64>)> = vec![(1, None)];
        while let Some((children, of)) = open.last_mut() {
            if *children == 0 {
                open.pop();
                continue;
            }
            *children -= 1;
            let of = *of;
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
            let described = types.element(element, of, &attributes);
            let children = cursor.number()?;
            if open.len() > DEEPEST {
                return Err(cursor.error("metadata is nested too deeply"));
            }
            open.push((children, described));
        }
        Ok(types)
    }

    /// Takes an element that stands in one of a type; the id of the type that it describes itself.
    fn element(
        &mut self,
        element: &[u8],
        of: Option<u64>,
        attributes: &[(&[u8], &[u8])],
    ) -> Option<u64> {
        let attribute = |key: &[u8]| {
            let found = attributes.iter().find(|(known, _)| *known == key);
            found.map_or(&b""[..], |(_, value)| value)
        };
        let number = |key| std::str::from_utf8(attribute(key)).ok()?.parse().ok();
        match (element, of) {
            (b"class", _) => {
                let id = number(b"id")?;
                let known = self.types.entry(id).or_default();
                known.name = attribute(b"name").to_vec();
                Some(id)
            }
            (b"field", Some(of)) => {
                let field = JfrField {
                    name: attribute(b"name").to_vec(),
                    of: number(b"class")?,
                    is_pooled: attribute(b"constantPool") == b"true",
                    is_array: !matches!(attribute(b"dimension"), b"" | b"0"),
                };
                self.types.get_mut(&of)?.fields.push(field);
                None
            }
            _ => None,
        }
    }

    pub(super) fn name(&self, id: u64) -> Option<&[u8]> {
        self.types.get(&id).map(|of| &of.name[..])
    }

    /// All types, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.types.iter().map(|(id, of)| (*id, &of.name[..]))
    }

    /// The type of the elements of a field, by the names of its type and the field.
    pub(super) fn field_type(&self, name: &[u8], field: &[u8]) -> Option<u64> {
        let of = self.types.values().find(|of| of.name == name)?;
        let field = of.fields.iter().find(|known| known.name == field)?;
        Some(field.of)
    }

    /// The steps over a value of a type, which put the fields of these names into slots, in their order.
    pub(super) fn steps(&self, of: u64, wanted: &[&str]) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        let mut left = MOST_STEPS;
        self.add_steps(of, wanted, DEEPEST, &mut left, &mut steps)?;
        Ok(steps)
    }

    fn add_steps(
        &self,
        of: u64,
        wanted: &[&str],
        depth: usize,
        left: &mut usize,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let nested = || Error::whole("metadata describes a type that is nested too deeply");
        let of = self
            .types
            .get(&of)
            .ok_or_else(|| Error::whole(format!("metadata does not describe the type {of}")))?;
        *left = left.checked_sub(1).ok_or_else(nested)?;
        match (&of.name[..], depth) {
            (b"boolean" | b"byte", _) => steps.push(Step::Bytes(1)),
            (b"char" | b"short" | b"int" | b"long", _) => steps.push(Step::Number),
            (b"float", _) => steps.push(Step::Bytes(4)),
            (b"double", _) => steps.push(Step::Bytes(8)),
            (b"java.lang.String", _) => steps.push(Step::Text),
            (_, 0) => return Err(nested()),
            _ => {
                for field in &of.fields {
                    *left = left.checked_sub(1).ok_or_else(nested)?;
                    let slot = wanted.iter().position(|name| name.as_bytes() == field.name);
                    steps.extend(slot.map(Step::Take));
                    let mut element = Vec::new();
                    match field.is_pooled {
                        true => element.push(Step::Number),
                        false => self.add_steps(field.of, &[], depth - 1, left, &mut element)?,
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

/// Reads a value, as far as it is wanted.
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
                // Elements without anything take no bytes, however many they are.
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
