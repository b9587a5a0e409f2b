//! The functions with a matching caller or callee, for `--caller` and `--callee`.

use cg_collections::maps::OrderedSet;
use cg_stream::Error;

use crate::predicate::NamePredicates;
use crate::record::{Field, RecordFields};

/// A function of one [`FunctionIds`] table.
pub(crate) type ArcFunctionId = u32;

/// Numbers for functions. Each function has one number for name, file and object, and one without the file, because a `line`
/// record has the file of the line instead.
#[derive(Default)]
pub(crate) struct FunctionIds(OrderedSet<Box<[u8]>>);

impl FunctionIds {
    pub(crate) fn with_file(&mut self, name: &[u8], file: &[u8], obj: &[u8]) -> ArcFunctionId {
        self.intern(&[b"file", name, file, obj])
    }

    pub(crate) fn without_file(&mut self, name: &[u8], obj: &[u8]) -> ArcFunctionId {
        self.intern(&[b"", name, obj])
    }

    fn intern(&mut self, parts: &[&[u8]]) -> ArcFunctionId {
        let mut key = Vec::with_capacity(64);
        for part in parts {
            push_part(&mut key, part);
        }
        let index = match self.0.get_index_of(&*key) {
            Some(index) => index,
            None => self.0.insert_full(key.into()).0,
        };
        // Four billion distinct functions do not fit in memory.
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}

/// Appends a part to a key. Keys are equal if all parts are equal, and sort like their parts. Two NULs end a part; a NUL
/// inside a part is escaped, because the names of PHP's anonymous classes contain NULs.
pub(crate) fn push_part(key: &mut Vec<u8>, part: &[u8]) {
    for piece in part.split_inclusive(|byte| *byte == 0) {
        key.extend_from_slice(piece);
        if piece.ends_with(&[0]) {
            key.push(1);
        }
    }
    key.extend_from_slice(&[0, 0]);
}

/// The functions that have a matching caller or callee.
#[derive(Default)]
pub(crate) struct NeighbourFunctions {
    functions: FunctionIds,
    neighbours: Vec<Neighbours>,
    is_any_known: bool,
}

#[derive(Clone, Copy, Default)]
struct Neighbours {
    caller_matches: bool,
    callee_matches: bool,
}

impl NeighbourFunctions {
    /// Adds a `call` record.
    pub(crate) fn add(
        &mut self,
        record: &mut RecordFields<'_>,
        names: &NamePredicates,
    ) -> Result<(), Error> {
        self.is_any_known = true;
        let name = record.text(Field::Name)?;
        let callee = record.callee()?.unwrap_or_default();
        if let Some(patterns) = &names.caller
            && patterns.match_in(&name)
        {
            self.mark(&callee.name, &callee.file, &callee.obj, |neighbours| {
                neighbours.caller_matches = true;
            });
        }
        if let Some(patterns) = &names.callee
            && patterns.match_in(&callee.name)
        {
            let (file, obj) = (record.text(Field::File)?, record.text(Field::Obj)?);
            self.mark(&name, &file, &obj, |neighbours| {
                neighbours.callee_matches = true;
            });
        }
        Ok(())
    }

    fn mark(&mut self, name: &[u8], file: &[u8], obj: &[u8], set: impl Fn(&mut Neighbours)) {
        for id in [
            self.functions.with_file(name, file, obj),
            self.functions.without_file(name, obj),
        ] {
            let index = id as usize;
            if self.neighbours.len() <= index {
                self.neighbours.resize(index + 1, Neighbours::default());
            }
            set(&mut self.neighbours[index]);
        }
    }

    /// Returns the id of the function of a `fn` or `line` record, for a match when all arcs are known.
    pub(crate) fn function(
        &mut self,
        record: &mut RecordFields<'_>,
        is_line: bool,
    ) -> Result<ArcFunctionId, Error> {
        let (name, obj) = (record.text(Field::Name)?, record.text(Field::Obj)?);
        Ok(match is_line {
            true => self.functions.without_file(&name, &obj),
            false => {
                let file = record.text(Field::File)?;
                self.functions.with_file(&name, &file, &obj)
            }
        })
    }

    /// Returns true if a function has the wanted caller and callee.
    pub(crate) fn match_function(&self, function: ArcFunctionId, names: &NamePredicates) -> bool {
        let neighbours = self.neighbours.get(function as usize);
        let neighbours = neighbours.copied().unwrap_or_default();
        (names.caller.is_none() || neighbours.caller_matches)
            && (names.callee.is_none() || neighbours.callee_matches)
    }

    /// Returns true if there was a `call` record.
    pub(crate) fn has_call_records(&self) -> bool {
        self.is_any_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_compare_like_their_parts() {
        let key = |parts: &[&str]| {
            let mut key = Vec::new();
            for part in parts {
                push_part(&mut key, part.as_bytes());
            }
            key
        };
        assert_ne!(key(&["a\0", "b"]), key(&["a", "\0b"]));
        let sorted = [key(&["a", "z"]), key(&["a\0", "a"]), key(&["ab", "a"])];
        assert!(sorted.is_sorted());
    }
}
