//! The names of slices, and the frames made from them.

use cg_collections::intern::{Bytes, Id as _, TooMany};
use cg_reader::number::whole_u64;

use super::super::table::{FrameId, FrameParts, StackTable};
use super::event::TraceEvent;

cg_collections::ids! {
    /// A name with its place.
    pub(super) struct NamedSliceId;
    /// A name without a place, which pairs ends with beginnings.
    pub(super) struct SliceNameId;
}

/// The names of slices, each parsed once.
#[derive(Default)]
pub(super) struct SliceNames {
    named: Bytes<NamedSliceId>,
    names: Bytes<SliceNameId>,
    key: Vec<u8>,
    /// By `named`: the name and the frame.
    made: Vec<(SliceNameId, FrameId)>,
}

impl SliceNames {
    /// Returns the id of an event's name and place.
    pub(super) fn intern(
        &mut self,
        event: &TraceEvent,
        demangle: bool,
        table: &mut StackTable,
    ) -> Result<NamedSliceId, TooMany> {
        let name = event.name();
        let place = event.place();
        self.key.clear();
        self.key.extend_from_slice(name);
        if let Some((file, line)) = &place {
            self.key.push(0);
            self.key.extend_from_slice(file.as_bytes());
            self.key.extend_from_slice(&line.unwrap_or(0).to_le_bytes());
        }
        let id = self.named.intern(&self.key)?;
        if id.index() == self.made.len() {
            let place = place.as_ref().map(|(file, line)| (file.as_bytes(), *line));
            let (function, place) = match place {
                Some(place) => (name, Some(place)),
                None => split_place(name),
            };
            let function = match function {
                b"" => b"(anonymous)",
                function => function,
            };
            let (file, line) = place.unwrap_or_default();
            let parts = FrameParts {
                name: table.function(function, demangle)?,
                file: table.text_unless_empty(file)?,
                line: line.filter(|line| *line > 0),
                ..FrameParts::default()
            };
            self.made
                .push((self.names.intern(name)?, table.frame(parts)?));
        }
        Ok(id)
    }

    /// Returns the name without the place.
    pub(super) fn name(&self, named: NamedSliceId) -> SliceNameId {
        self.made[named.index()].0
    }

    /// Returns true if the name is empty.
    pub(super) fn is_empty(&self, named: NamedSliceId) -> bool {
        self.names.get(self.name(named)).is_empty()
    }

    pub(super) fn frame(&self, named: NamedSliceId) -> FrameId {
        self.made[named.index()].1
    }
}

type PlacedName<'a> = (&'a [u8], Option<(&'a [u8], Option<u64>)>);

/// Splits viztracer's `f (app.py:3)` and PyTorch's `app.py(3): f` into function and place.
fn split_place(name: &[u8]) -> PlacedName<'_> {
    viztracer(name)
        .or_else(|| pytorch(name))
        .unwrap_or((name, None))
}

fn viztracer(name: &[u8]) -> Option<PlacedName<'_>> {
    let inside = name.strip_suffix(b")")?;
    let at = memchr::memmem::rfind(inside, b" (")?;
    let (function, place) = (&inside[..at], &inside[at + 2..]);
    let colon = memchr::memrchr(b':', place)?;
    let line = number(&place[colon + 1..])?;
    let is_place = colon > 0 && !function.is_empty();
    is_place.then_some((function, Some((&place[..colon], Some(line)))))
}

fn pytorch(name: &[u8]) -> Option<PlacedName<'_>> {
    let end = memchr::memmem::find(name, b"): ")?;
    let at = memchr::memrchr(b'(', &name[..end])?;
    let (file, function) = (&name[..at], &name[end + 3..]);
    let line = number(&name[at + 1..end])?;
    let is_place = file.ends_with(b".py") && !function.is_empty();
    is_place.then_some((function, Some((file, Some(line)))))
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.first()?.is_ascii_digit().then_some(())?;
    whole_u64(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_function_and_place() {
        for (name, function, file, line) in [
            ("f (/a b/app.py:3)", "f", "/a b/app.py", 3),
            ("<module> (<string>:1)", "<module>", "<string>", 1),
            (
                "torch/nn/module.py(1102): _call_impl",
                "_call_impl",
                "torch/nn/module.py",
                1102,
            ),
            ("run ; x", "run ; x", "", 0),
            ("operator() (int)", "operator() (int)", "", 0),
            ("emit<int>", "emit<int>", "", 0),
            ("f (a:b)", "f (a:b)", "", 0),
            (" (a.py:3)", " (a.py:3)", "", 0),
            ("call(3): f", "call(3): f", "", 0),
            ("a.py(x): f", "a.py(x): f", "", 0),
        ] {
            let (found, place) = split_place(name.as_bytes());
            let (in_file, in_line) = place.unwrap_or_default();
            assert_eq!(
                (found, in_file, in_line.unwrap_or(0)),
                (function.as_bytes(), file.as_bytes(), line),
                "{name}"
            );
        }
    }
}
