//! Rendering of rows as JSON.
//!
//! A profile of instructions has millions of `line` rows and a few thousand names. Each name and each frame is rendered
//! once and then copied from a cache. This takes an eighth of the time of serializing a record for each row.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::{
    AddressRef, Cells, FrameId, FunctionRef, KnownIds, NameId, NameRef, Named, NamesRef, NotesRef,
    Row, RowTables, StackRef,
};
use crate::record::HeapBlock;
use crate::records;

/// A cache of the rendered names and frames of the current tables, and of the events of the current run.
#[derive(Default)]
pub(crate) struct Rendered {
    json: Vec<u8>,
    known: KnownIds<Rendering, Rendering>,
    /// Each event as a JSON key, with the colon.
    events: Vec<Vec<u8>>,
}

/// The position of a name or a frame in the rendered text. It is never empty, so that an `Option` of it has the same size.
#[derive(Clone, Copy)]
struct Rendering {
    start: usize,
    end: NonZeroUsize,
}

impl Rendering {
    fn new(range: Range<usize>) -> Rendering {
        Rendering {
            start: range.start,
            end: NonZeroUsize::new(range.end).unwrap_or(NonZeroUsize::MIN),
        }
    }

    fn range(self) -> Range<usize> {
        self.start..self.end.get()
    }
}

impl Rendered {
    /// Renders the events of a new run.
    pub(crate) fn begin_run(&mut self, events: &[String]) {
        self.events.clear();
        for event in events {
            let mut json = Vec::new();
            put_text(&mut json, event);
            json.push(b':');
            self.events.push(json);
        }
    }
}

/// Appends a JSON string. Cannot fail: every text has a JSON form, and a `Vec` accepts every write.
pub(super) fn put_text(json: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(json, text);
}

/// Writes the fields of one row.
pub(crate) struct RowWriter<'w> {
    buffer: &'w mut Vec<u8>,
    rendered: &'w mut Rendered,
    tables: &'w dyn RowTables,
}

/// Expands to the call that writes one field of a row, or leaves it out. The last arguments are the words in the field's
/// declaration.
macro_rules! put_field {
    ($to:ident, $key:expr, $field:expr, Option Function) => {
        $to.name($key, $field, Named::Function)
    };
    ($to:ident, $key:expr, $field:expr, Option File) => {
        $to.name($key, $field, Named::File)
    };
    ($to:ident, $key:expr, $field:expr, Option Object) => {
        $to.name($key, $field, Named::Object)
    };
    ($to:ident, $key:expr, $field:expr, Option Name) => {
        $to.name($key, $field, Named::Other)
    };
    ($to:ident, $key:expr, $field:expr, Option Text) => {
        $to.given_text($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option Address) => {
        $to.address($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option u64) => {
        $to.given_number($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option Counts) => {
        $to.given_counts($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option HeapBlock) => {
        $to.block($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option Accesses) => {
        $to.accesses($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Option Labels) => {
        $to.json($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Text) => {
        $to.text($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, u64) => {
        $to.number($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, NonZero) => {
        $to.given_number($key, Some($field).filter(|number| *number != 0))
    };
    ($to:ident, $key:expr, $field:expr, bool) => {
        $to.is_so($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Mark) => {
        $to.mark($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Counts) => {
        $to.counts($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Stack) => {
        $to.stack($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Inlined) => {
        $to.given_stack($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Callee) => {
        $to.callee($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Names) => {
        $to.names($key, $field)
    };
    ($to:ident, $key:expr, $field:expr, Notes) => {
        $to.notes($key, $field)
    };
}

/// Generates [`put`] from the declarations of the record types.
macro_rules! put_rows {
    ($($(#[$type_meta:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$field_meta:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
    })*) => {
        /// Appends a row as JSON without a newline. Returns false for [`Row::Unread`].
        pub(crate) fn put(
            row: &Row<'_>,
            tables: &dyn RowTables,
            rendered: &mut Rendered,
            buffer: &mut Vec<u8>,
        ) -> bool {
            if rendered.known.begin(tables) {
                rendered.json.clear();
            }
            let mut to = RowWriter { buffer, rendered, tables };
            match row {
                $(Row::$kind(row) => {
                    to.bytes(concat!("{\"type\":\"", $type, "\""));
                    $(put_field!(to, key!($field $($key)?), row.$field, $word $($of)?);)*
                })*
                Row::Snapshot(record) => {
                    // Cannot fail, as in `put_text`: the numbers of a snapshot fit in 64 bits.
                    let _ = serde_json::to_writer(&mut *to.buffer, record);
                    return true;
                }
                Row::Cause(record) => {
                    let _ = serde_json::to_writer(&mut *to.buffer, record);
                    return true;
                }
                Row::Step(record) => {
                    let _ = serde_json::to_writer(&mut *to.buffer, record);
                    return true;
                }
                Row::Series(record) => {
                    let _ = serde_json::to_writer(&mut *to.buffer, record);
                    return true;
                }
                Row::Unread(_) => return false,
            }
            to.bytes("}");
            true
        }
    };
}

records!(put_rows!);

impl RowWriter<'_> {
    #[inline]
    fn bytes(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    #[inline]
    fn name(&mut self, key: &str, name: Option<NameRef<'_>>, of: Named) {
        if let Some(name) = name {
            self.bytes(key);
            self.name_itself(name, of);
        }
    }

    #[inline]
    fn name_itself(&mut self, name: NameRef<'_>, of: Named) {
        match name {
            NameRef::Id(id) => {
                let rendering = match self.rendered.known.name(of, id) {
                    Some(rendering) => rendering,
                    None => self.render_name(id, of),
                };
                (self.buffer).extend_from_slice(&self.rendered.json[rendering.range()]);
            }
            NameRef::Text(text) => put_text(self.buffer, text),
        }
    }

    #[cold]
    fn render_name(&mut self, id: NameId, of: Named) -> Rendering {
        let start = self.rendered.json.len();
        put_text(&mut self.rendered.json, &self.tables.name(of, id));
        let rendering = Rendering::new(start..self.rendered.json.len());
        self.rendered.known.set_name(of, id, rendering);
        rendering
    }

    fn text(&mut self, key: &str, text: &str) {
        self.bytes(key);
        put_text(self.buffer, text);
    }

    fn given_text(&mut self, key: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    /// Writes a value that is already JSON.
    fn json(&mut self, key: &str, json: Option<&str>) {
        if let Some(json) = json {
            self.bytes(key);
            self.bytes(json);
        }
    }

    #[inline]
    fn number(&mut self, key: &str, number: u64) {
        self.bytes(key);
        self.integer(number);
    }

    #[inline]
    fn given_number(&mut self, key: &str, number: Option<u64>) {
        if let Some(number) = number {
            self.number(key, number);
        }
    }

    #[inline]
    fn integer(&mut self, number: impl itoa::Integer) {
        let mut digits = itoa::Buffer::new();
        self.bytes(digits.format(number));
    }

    fn address(&mut self, key: &str, address: Option<AddressRef<'_>>) {
        match address {
            None => {}
            Some(AddressRef::Text(text)) => self.text(key, text),
            Some(AddressRef::Number(address)) => {
                self.bytes(key);
                self.bytes("\"");
                address_text(address, self.buffer);
                self.bytes("\"");
            }
        }
    }

    fn is_so(&mut self, key: &str, is_so: bool) {
        self.bytes(key);
        self.bytes(if is_so { "true" } else { "false" });
    }

    #[inline]
    fn mark(&mut self, key: &str, is_so: bool) {
        if is_so {
            self.is_so(key, true);
        }
    }

    #[inline]
    fn given_counts(&mut self, key: &str, cells: Option<Cells<'_>>) {
        if let Some(cells) = cells {
            self.counts(key, cells);
        }
    }

    #[inline]
    fn counts(&mut self, key: &str, cells: Cells<'_>) {
        self.bytes(key);
        match cells {
            Cells::Unsigned(cells) => self.events(0, cells.iter().copied()),
            Cells::Signed(cells) => self.events(0, cells.iter().map(|cell| cell.cast_signed())),
            Cells::From(first, counts) => self.events(first, counts.iter().copied()),
            Cells::Named(counts) => {
                // Cannot fail: counts of a parsed record fit in 64 bits.
                let _ = serde_json::to_writer(&mut *self.buffer, counts);
            }
        }
    }

    /// Writes the first event always and the others if they are not 0, like `Counts::from_row`.
    #[inline]
    fn events<C: itoa::Integer + Copy + Default + PartialEq>(
        &mut self,
        first: usize,
        counts: impl IntoIterator<Item = C>,
    ) {
        self.buffer.push(b'{');
        let events = self.rendered.events.get(first..).unwrap_or_default();
        for (position, (event, count)) in events.iter().zip(counts).enumerate() {
            if position > 0 {
                if count == C::default() {
                    continue;
                }
                self.buffer.push(b',');
            }
            self.buffer.extend_from_slice(event);
            let mut digits = itoa::Buffer::new();
            self.buffer
                .extend_from_slice(digits.format(count).as_bytes());
        }
        self.buffer.push(b'}');
    }

    #[inline]
    fn stack(&mut self, key: &str, stack: StackRef<'_>) {
        self.bytes(key);
        match stack {
            StackRef::Ids(ids) => {
                let start = self.buffer.len();
                for id in ids {
                    let rendering = match self.rendered.known.frame(*id) {
                        Some(rendering) => *rendering,
                        None => self.render_frame(*id),
                    };
                    (self.buffer).extend_from_slice(&self.rendered.json[rendering.range()]);
                }
                match self.buffer.get_mut(start) {
                    // Replaces the comma before the first frame.
                    Some(comma) => *comma = b'[',
                    None => self.buffer.push(b'['),
                }
            }
            StackRef::Frames(frames) => {
                self.buffer.push(b'[');
                for (position, frame) in frames.iter().enumerate() {
                    if position > 0 {
                        self.buffer.push(b',');
                    }
                    // Cannot fail, as in `put_text`.
                    let _ = serde_json::to_writer(&mut *self.buffer, frame);
                }
            }
        }
        self.buffer.push(b']');
    }

    /// Renders a frame with a comma before it.
    #[cold]
    fn render_frame(&mut self, id: FrameId) -> Rendering {
        let start = self.rendered.json.len();
        self.rendered.json.push(b',');
        // Cannot fail, as in `put_text`.
        let _ = serde_json::to_writer(&mut self.rendered.json, &self.tables.frame(id));
        let rendering = Rendering::new(start..self.rendered.json.len());
        self.rendered.known.set_frame(id, rendering);
        rendering
    }

    #[inline]
    fn given_stack(&mut self, key: &str, stack: StackRef<'_>) {
        if !stack.is_empty() {
            self.stack(key, stack);
        }
    }

    fn callee(&mut self, key: &str, function: FunctionRef<'_>) {
        self.bytes(key);
        let start = self.buffer.len();
        self.name(key!(name "fn"), function.name, Named::Function);
        self.name(key!(file), function.file, Named::File);
        self.name(key!(obj), function.obj, Named::Object);
        self.close_object(start);
    }

    /// Encloses the fields that were written since `start` in braces.
    fn close_object(&mut self, start: usize) {
        match self.buffer.get_mut(start) {
            // Replaces the comma before the first key.
            Some(comma) => *comma = b'{',
            None => self.buffer.push(b'{'),
        }
        self.buffer.push(b'}');
    }

    fn names(&mut self, key: &str, names: NamesRef<'_>) {
        let mut names = names.iter().peekable();
        if names.peek().is_none() {
            return;
        }
        self.bytes(key);
        for (position, name) in names.enumerate() {
            self.bytes(if position == 0 { "[" } else { "," });
            self.name_itself(name, Named::Function);
        }
        self.bytes("]");
    }

    fn notes(&mut self, key: &str, notes: NotesRef<'_>) {
        let mut notes = notes.iter().peekable();
        if notes.peek().is_none() {
            return;
        }
        self.bytes(key);
        for (position, note) in notes.enumerate() {
            self.bytes(if position == 0 { "[" } else { "," });
            let start = self.buffer.len();
            self.given_text(key!(what), note.what);
            self.given_stack(key!(stack), note.stack);
            self.close_object(start);
        }
        self.bytes("]");
    }

    fn block(&mut self, key: &str, block: Option<&HeapBlock>) {
        if let Some(block) = block {
            self.bytes(key);
            // Cannot fail, as in `put_text`.
            let _ = serde_json::to_writer(&mut *self.buffer, block);
        }
    }

    fn accesses(&mut self, key: &str, accesses: Option<&[Option<u64>]>) {
        if let Some(accesses) = accesses {
            self.bytes(key);
            // Cannot fail, as in `put_text`.
            let _ = serde_json::to_writer(&mut *self.buffer, accesses);
        }
    }
}

/// Appends an address in the form of a stream: `0x` and hexadecimal digits without leading zeros.
pub fn address_text(address: u64, text: &mut Vec<u8>) {
    text.extend_from_slice(b"0x");
    let digits = (64 - address.leading_zeros()).div_ceil(4).max(1);
    for place in (0..digits).rev() {
        let digit = (address >> (4 * place) & 0xf) as usize;
        text.push(b"0123456789abcdef"[digit]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_no_leading_zeros() {
        for address in [0, 1, 0xf, 0x10, 0x401136, u64::MAX] {
            let mut text = Vec::new();
            address_text(address, &mut text);
            assert_eq!(String::from_utf8(text).unwrap(), format!("{address:#x}"));
        }
    }
}
