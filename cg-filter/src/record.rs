//! A line of a stream, parsed field by field, and only as far as a condition needs.

use std::borrow::Cow;
use std::sync::LazyLock;

use cg_stream::fields::{Fields, Malformed, Value};
use cg_stream::record::RecordType;
use cg_stream::{Error, Line};
use memchr::memmem::Finder;

use crate::arcs::push_part;

/// Built once, because this takes longer than a search in the rest of a line.
static INLINED_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("inlined"));
/// The beginning of the called function of an arc, as our own writers write it.
static CALLEE_START: LazyLock<Finder<'static>> =
    LazyLock::new(|| Finder::new(r#""callee":{"fn":""#));

/// Defines [`Field`] from its variants and their keys in a stream.
macro_rules! fields {
    ($($field:ident $key:literal,)*) => {
        /// The fields that conditions and keys use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field {
            $($field,)*
        }

        const FIELD_COUNT: usize = [$(Field::$field),*].len();

        impl Field {
            fn with_key(key: &[u8]) -> Option<Field> {
                match key {
                    $($key => Some(Field::$field),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    // Only for unknown types. The line itself has a known type.
    Type b"type", Name b"fn", File b"file", Obj b"obj", Site b"site", Line b"line", Addr b"addr",
    Callee b"callee", Kind b"kind", What b"what", Snapshot b"snapshot", Part b"part", Thread b"thread",
    Tid b"tid", Process b"process", Pid b"pid", Of b"of", Cost b"cost", Incl b"incl", Stack b"stack",
    Inlined b"inlined", Labels b"labels", Details b"details", Bench b"bench", Time b"time",
}

/// A record that is parsed only up to the last requested field.
///
/// Our own writers put `type` and `fn` first, so a condition on the name reads only two short strings. Keys in any other
/// order are also found.
pub(crate) struct RecordFields<'a> {
    line: Line<'a>,
    rest: Fields<'a>,
    found: [Option<Value<'a>>; FIELD_COUNT],
}

impl<'a> RecordFields<'a> {
    pub(crate) fn new(line: Line<'a>) -> Result<RecordFields<'a>, Error> {
        match line.fields() {
            Ok(rest) => Ok(RecordFields {
                line,
                rest,
                found: [None; FIELD_COUNT],
            }),
            Err(Malformed) => Err(malformed(&line)),
        }
    }

    /// The whole line.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.line.bytes
    }

    /// Returns the type of the record; for a diff record, the compared type.
    pub(crate) fn kind(&mut self) -> Result<RecordType, Error> {
        if self.line.kind != RecordType::Diff {
            return Ok(self.line.kind);
        }
        let of = self.text(Field::Of)?;
        Ok(std::str::from_utf8(&of).map_or(RecordType::Other, RecordType::from_name))
    }

    /// Returns the value of a field; `None` if it is missing or `null`.
    #[inline]
    pub(crate) fn get(&mut self, field: Field) -> Result<Option<Value<'a>>, Error> {
        while self.found[field as usize].is_none() {
            match self.rest.next() {
                None => return Ok(None),
                Some(Err(Malformed)) => return Err(malformed(&self.line)),
                Some(Ok((key, value))) => {
                    if let Some(known) = Field::with_key(&key) {
                        self.found[known as usize].get_or_insert(value);
                    }
                }
            }
        }
        Ok(self.found[field as usize].filter(|value| value.raw() != b"null"))
    }

    /// Returns the text of a field; empty if it is missing.
    #[inline]
    pub(crate) fn text(&mut self, field: Field) -> Result<Cow<'a, [u8]>, Error> {
        match self.get(field)? {
            None => Ok(Cow::Borrowed(b"")),
            Some(value) => value
                .text()
                .ok_or_else(|| self.unexpected("a string", value)),
        }
    }

    /// Returns the text of a field that is a name or a number; empty if it is missing.
    pub(crate) fn label(&mut self, field: Field) -> Result<Cow<'a, [u8]>, Error> {
        let value = self.get(field)?;
        Ok(value.map_or(Cow::Borrowed(b""), |value| {
            value.text().unwrap_or(Cow::Borrowed(value.raw()))
        }))
    }

    /// Returns the fields of an object such as `cost`.
    pub(crate) fn object(&mut self, field: Field) -> Result<Option<Fields<'a>>, Error> {
        match self.get(field)? {
            None => Ok(None),
            Some(value) => match value.fields() {
                Some(fields) => Ok(Some(fields)),
                None => Err(self.unexpected("an object", value)),
            },
        }
    }

    /// Returns the value of a field in an object such as `cost`; `None` if one of them is missing.
    pub(crate) fn find_in(&mut self, field: Field, key: &str) -> Result<Option<Value<'a>>, Error> {
        match self.object(field)? {
            Some(fields) => (fields.find(key)).map_err(|Malformed| self.malformed()),
            None => Ok(None),
        }
    }

    /// Returns the value of any top-level field, by its key.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Value<'a>>, Error> {
        Fields::parse(self.line.bytes)
            .and_then(|fields| fields.find(key))
            .map_err(|Malformed| malformed(&self.line))
    }

    /// Returns the frames of the stack, innermost first; empty if the record has no stack.
    pub(crate) fn frames(&mut self) -> Result<Vec<NamedFrame<'a>>, Error> {
        self.read_frames(Field::Stack, usize::MAX)
    }

    /// Returns the record's own function.
    pub(crate) fn function(&mut self) -> Result<NamedFrame<'a>, Error> {
        Ok(NamedFrame {
            name: self.text(Field::Name)?,
            file: self.text(Field::File)?,
            obj: self.text(Field::Obj)?,
            ..NamedFrame::default()
        })
    }

    /// Returns the innermost frame of the stack.
    pub(crate) fn innermost(&mut self) -> Result<Option<NamedFrame<'a>>, Error> {
        Ok(self.read_frames(Field::Stack, 1)?.pop())
    }

    /// Returns the functions of a call except its caller: the callee, and the inlined functions that contain the call, which
    /// are in the caller's object.
    pub(crate) fn other_ends(&mut self) -> Result<Vec<NamedFrame<'a>>, Error> {
        let mut ends = self.inlined()?;
        ends.extend(self.callee()?);
        Ok(ends)
    }

    /// Returns the inlined functions that contain a call. Most calls have none, so a search for the key in the rest of the
    /// line comes first, which is faster than parsing the fields.
    pub(crate) fn inlined(&mut self) -> Result<Vec<NamedFrame<'a>>, Error> {
        if self.found[Field::Inlined as usize].is_none()
            && INLINED_KEY.find(self.rest.rest()).is_none()
        {
            return Ok(Vec::new());
        }
        let mut inlined = self.read_frames(Field::Inlined, usize::MAX)?;
        if !inlined.is_empty() {
            let obj = self.text(Field::Obj)?;
            inlined.iter_mut().for_each(|frame| frame.obj = obj.clone());
        }
        Ok(inlined)
    }

    /// Returns the functions that the details of a cause name.
    pub(crate) fn details(&mut self) -> Result<Vec<NamedFrame<'a>>, Error> {
        self.read_frames(Field::Details, usize::MAX)
    }

    /// Returns at most `most` frames from a list of frames; empty if the field is missing.
    fn read_frames(&mut self, field: Field, most: usize) -> Result<Vec<NamedFrame<'a>>, Error> {
        let Some(stack) = self.get(field)? else {
            return Ok(Vec::new());
        };
        let elements = stack
            .elements()
            .ok_or_else(|| self.unexpected("an array", stack))?;
        elements
            .take(most)
            .map(|element| {
                let frame = element.map_err(|Malformed| malformed(&self.line))?;
                NamedFrame::read(frame).map_err(|Malformed| malformed(&self.line))
            })
            .collect()
    }

    /// Returns the called function of an arc.
    pub(crate) fn callee(&mut self) -> Result<Option<NamedFrame<'a>>, Error> {
        match self.get(Field::Callee)? {
            None => Ok(None),
            Some(callee) => NamedFrame::read(callee)
                .map(Some)
                .map_err(|Malformed| malformed(&self.line)),
        }
    }

    /// Returns the name of the called function of an arc; empty if the callee has other fields but no name.
    pub(crate) fn callee_name(&mut self) -> Result<Option<Cow<'a, [u8]>>, Error> {
        if let Some(name) = self.plain_callee_name() {
            return Ok(Some(Cow::Borrowed(name)));
        }
        let Some(fields) = self.object(Field::Callee)? else {
            return Ok(None);
        };
        match fields.find("fn") {
            Ok(name) => Ok(Some(name.and_then(Value::text).unwrap_or_default())),
            Err(Malformed) => Err(self.malformed()),
        }
    }

    /// Returns the name of the called function by a search instead of parsing each field. `None` unless it is written as by
    /// our own writers, without an escape before or in it, and without a list or object before it that may contain it.
    fn plain_callee_name(&self) -> Option<&'a [u8]> {
        if self.found[Field::Callee as usize].is_some() {
            return None;
        }
        let rest = self.rest.rest();
        let (before, after) = rest.split_at(CALLEE_START.find(rest)?);
        let name = &after[CALLEE_START.needle().len()..];
        let length = memchr::memchr2(b'"', b'\\', name)?;
        let is_plain = name[length] == b'"' && memchr::memchr3(b'\\', b'{', b'[', before).is_none();
        is_plain.then(|| &name[..length])
    }

    /// Makes an error about a value of this record.
    pub(crate) fn unexpected(&self, expected: &str, found: Value<'_>) -> Error {
        const LONGEST: usize = 40;
        let found = found.raw();
        let excerpt = String::from_utf8_lossy(&found[..found.len().min(LONGEST)]);
        Error::at(
            self.line.number,
            format!("expected {expected}, found {excerpt}"),
        )
    }

    /// Makes an error about malformed JSON in this record.
    pub(crate) fn malformed(&self) -> Error {
        malformed(&self.line)
    }
}

/// The function of a stack frame, or the called function of an arc.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedFrame<'a> {
    pub(crate) name: Cow<'a, [u8]>,
    pub(crate) file: Cow<'a, [u8]>,
    pub(crate) obj: Cow<'a, [u8]>,
    /// The line number as text.
    pub(crate) line: &'a [u8],
    pub(crate) addr: Cow<'a, [u8]>,
    pub(crate) is_kernel: bool,
}

impl<'a> NamedFrame<'a> {
    /// Returns a key for caches: name, file and object.
    pub(crate) fn key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(64);
        for part in [&self.name, &self.file, &self.obj] {
            push_part(&mut key, part);
        }
        key
    }

    fn read(value: Value<'a>) -> Result<NamedFrame<'a>, Malformed> {
        let mut frame = NamedFrame::default();
        for field in value.fields().ok_or(Malformed)? {
            let (key, value) = field?;
            match &*key {
                b"fn" => frame.name = value.text().unwrap_or_default(),
                b"file" => frame.file = value.text().unwrap_or_default(),
                b"obj" => frame.obj = value.text().unwrap_or_default(),
                b"line" => frame.line = value.raw(),
                b"addr" => frame.addr = value.text().unwrap_or_default(),
                b"kernel" => frame.is_kernel = value.raw() == b"true",
                _ => {}
            }
        }
        Ok(frame)
    }
}

fn malformed(line: &Line<'_>) -> Error {
    Error::at(line.number, "not a stream record: the JSON is malformed")
}
