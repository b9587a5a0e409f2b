//! Lines of the body except cost lines: positions, names and calls.

use cg_costs::ids::StringId;
use cg_costs::section::Section;
use cg_reader::excerpt;
use cg_reader::number::leading_u64;

use super::{CallgrindReader, InForce, NamedFunction, Numbered, Stage};
use crate::callgrind::names::{self, Compressed, NumberTable};
use crate::continued::{NameLine, append_to_name};
use crate::refusal::Refusal;

/// The compression of a part's names.
///
/// Callgrind compresses either all names or none (`--compress-strings=no`). Without compression, the name of a function
/// called `(7)` looks like a reference. A part written by Callgrind is plain if no name up to its first function is
/// compressed. Other producers mix both forms, and their numbers are always references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    /// No compressed name and no function so far. Callgrind's first name is the name of an object.
    Unknown {
        has_object: bool,
    },
    Numbers,
    Plain,
}

impl Default for Compression {
    fn default() -> Compression {
        Compression::Unknown { has_object: false }
    }
}

/// The key at the beginning of a body line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyKey {
    Function,
    FunctionFile,
    LineFile,
    Object,
    CalledFunction,
    CalledFile,
    CalledObject,
    Calls,
    /// Jumps are not kept, but their lines define names.
    FileOfJump,
    FunctionOfJump,
    /// Jumps, and the lines that the undocumented options `--mangle-names=no` and `--dump-bbs=yes` add.
    Skipped,
}

/// Splits a position, call or jump line into its key and its value, the text after the `=`; `None` for other lines.
#[inline]
fn key_of(line: &[u8]) -> Option<(BodyKey, &[u8])> {
    Some(match line {
        [b'f', b'n', b'=', value @ ..] => (BodyKey::Function, value),
        [b'c', b'f', b'n', b'=', value @ ..] => (BodyKey::CalledFunction, value),
        [b'c', b'f', b'i' | b'l', b'=', value @ ..] => (BodyKey::CalledFile, value),
        // KCachegrind reads both keys, and treats recursive calls as calls.
        [b'c', b'a', b'l', b'l', b's', b'=', value @ ..]
        | [b'r', b'c', b'a', b'l', b'l', b's', b'=', value @ ..] => (BodyKey::Calls, value),
        [b'j', b'u', b'm', b'p', b'=', value @ ..] | [b'j', b'c', b'n', b'd', b'=', value @ ..] => {
            (BodyKey::Skipped, value)
        }
        [b'f', b'i' | b'e', b'=', value @ ..] => (BodyKey::LineFile, value),
        [b'f', b'l', b'=', value @ ..] => (BodyKey::FunctionFile, value),
        [b'c', b'o', b'b', b'=', value @ ..] => (BodyKey::CalledObject, value),
        [b'o', b'b', b'=', value @ ..] => (BodyKey::Object, value),
        [b'j', b'f', b'i', b'=', value @ ..] => (BodyKey::FileOfJump, value),
        [b'j', b'f', b'n', b'=', value @ ..] | [b'f', b'r', b'f', b'n', b'=', value @ ..] => {
            (BodyKey::FunctionOfJump, value)
        }
        [b'r', b'e', b'c', b'=', value @ ..]
        | [b'b', b'b', b'=', value @ ..]
        | [b'l', b'n', b'=', value @ ..] => (BodyKey::Skipped, value),
        _ => return None,
    })
}

impl CallgrindReader<'_> {
    /// Reads any line except a cost line.
    pub(super) fn other_line(&mut self, line: &[u8]) -> Result<(), Refusal> {
        if line.trim_ascii_start().is_empty() {
            return Ok(());
        }
        let Some((key, value)) = key_of(line) else {
            return self.header_line(line);
        };
        if self.stage != Stage::Body {
            self.begin_body("a position")?;
        }
        if let Compression::Unknown { has_object } = self.state.compression {
            self.look_for_compression(key, value, has_object);
        }
        match key {
            BodyKey::Calls => self.calls_line(value),
            BodyKey::Skipped => Ok(()),
            _ => {
                let name = self.name(value);
                if let Some(number) = name.defined() {
                    self.name_line = Some(NameLine::new(self.line_number, (key, number)));
                }
                self.name_position(key, name)
            }
        }
    }

    /// Applies the name of a position line to the state.
    #[inline(always)]
    fn name_position(&mut self, key: BodyKey, name: Compressed) -> Result<(), Refusal> {
        match key {
            BodyKey::Function => {
                self.flush_calls()?;
                self.state.function = Some(self.function_name(name)?);
                self.state.node = None;
                if self.state.function_file.name == StringId::NOT_GIVEN || self.state.fi_replaces_fl
                {
                    // lsprofcalltree and Mercurial never write fl=. Their fi= is the function's file.
                    self.state.fi_replaces_fl = true;
                    self.state.function_file = InForce {
                        name: self.state.file,
                        is_fresh: self.state.file_is_fresh,
                    };
                }
                self.state.file = self.state.function_file.name;
                self.state.file_is_fresh = false;
                self.state.callee = None;
                self.state.called_file = None;
                self.state.called_object = None;
            }
            BodyKey::CalledFunction => {
                self.flush_calls()?;
                self.state.callee = Some(self.function_name(name)?);
                self.state.callee_file = self.state.called_file.take();
                self.state.callee_object = self.state.called_object.take();
            }
            BodyKey::FunctionFile => {
                self.state.file = self.file_name(name)?;
                self.state.function_file = InForce {
                    name: self.state.file,
                    is_fresh: true,
                };
                self.state.fi_replaces_fl = false;
            }
            BodyKey::LineFile => {
                self.state.file = self.file_name(name)?;
                self.state.file_is_fresh = true;
                if let Some(node) = self.state.node {
                    self.note_file(node);
                }
            }
            BodyKey::CalledFile => self.state.called_file = Some(self.file_name(name)?),
            BodyKey::Object => {
                self.state.object = InForce {
                    name: self.object_name(name)?,
                    is_fresh: true,
                };
            }
            BodyKey::CalledObject => self.state.called_object = Some(self.object_name(name)?),
            BodyKey::FileOfJump => {
                self.file_name(name)?;
            }
            BodyKey::FunctionOfJump => {
                self.function_name(name)?;
            }
            BodyKey::Calls | BodyKey::Skipped => {}
        }
        Ok(())
    }

    /// Reads a line that the format does not define as the rest of the name on the previous line. Paths and symbols may have
    /// line ends, which Callgrind does not escape. Returns false if the previous line has no name.
    #[cold]
    pub(super) fn continue_name(&mut self, line: &[u8]) -> Result<bool, Refusal> {
        let given = self
            .name_line
            .filter(|_| self.stage == Stage::Body)
            .and_then(|name| name.continued_at(self.line_number));
        let Some((key, number)) = given else {
            return Ok(false);
        };
        let function =
            |named: Option<NamedFunction>| named.map(|named| self.function_names.text(named.name));
        let numbered = |table: &NumberTable<StringId>| number.and_then(|number| table.get(number));
        let begun = match key {
            BodyKey::Function => function(self.state.function),
            BodyKey::CalledFunction => {
                self.state.called_file = self.state.callee_file;
                self.state.called_object = self.state.callee_object;
                function(self.state.callee)
            }
            BodyKey::FunctionFile | BodyKey::LineFile => Some(self.state.file),
            BodyKey::CalledFile => self.state.called_file,
            BodyKey::Object => Some(self.state.object.name),
            BodyKey::CalledObject => self.state.called_object,
            BodyKey::FileOfJump => numbered(&self.files),
            BodyKey::FunctionOfJump => number
                .and_then(|number| self.functions.get(number))
                .map(|numbered| self.function_names.text(numbered.name)),
            BodyKey::Calls | BodyKey::Skipped => None,
        };
        let Some(begun) = begun else {
            return Ok(false);
        };
        let name = append_to_name(
            self.section.strings.get(begun),
            line,
            self.source,
            self.line_number,
            self.diagnostics,
        );
        self.has_continued_names = true;
        self.name_line = Some(NameLine::new(self.line_number, (key, number)));
        let name = match number {
            Some(number) => Compressed::Definition(number, &name),
            None => Compressed::Name(&name),
        };
        self.name_position(key, name)?;
        Ok(true)
    }

    /// Parses the value of a position line: the text after the `=`.
    #[inline]
    fn name<'n>(&self, value: &'n [u8]) -> Compressed<'n> {
        match self.state.compression {
            Compression::Plain => Compressed::Name(value),
            _ => names::read(value),
        }
    }

    /// Updates the part's compression by a position line. The part's first function settles it.
    #[cold]
    fn look_for_compression(&mut self, key: BodyKey, value: &[u8], had_object: bool) {
        let has_object = had_object || key == BodyKey::Object;
        let is_compressed = !matches!(names::read(value), Compressed::Name(_));
        self.state.compression = match key {
            _ if is_compressed || !self.shown.is_callgrind => Compression::Numbers,
            BodyKey::Function if has_object => Compression::Plain,
            BodyKey::Function => Compression::Numbers,
            _ => Compression::Unknown { has_object },
        };
    }

    /// Reads `calls=N TARGET`, with any blanks before the number. Ignores the target, because other producers omit it or give
    /// it another meaning.
    fn calls_line(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let refused = || format!("expected the number of calls, found {}", excerpt(value));
        let (calls, rest) = leading_u64(value.trim_ascii_start()).ok_or_else(refused)?;
        if !matches!(rest, [] | [b' ' | b'\t', ..]) {
            return Err(refused().into());
        }
        self.calls = Some(calls);
        Ok(())
    }

    fn function_name(&mut self, name: Compressed) -> Result<NamedFunction, Refusal> {
        let (number, text) = match name {
            Compressed::Reference(number) => {
                let numbered = self
                    .functions
                    .get(number)
                    .ok_or_else(|| undefined("function", number))?;
                return Ok(NamedFunction {
                    name: numbered.name,
                    number: Some(number),
                });
            }
            Compressed::Definition(number, text) => (Some(number), text),
            Compressed::Name(text) => (None, text),
            Compressed::Beyond(digits) => return Err(beyond(digits).into()),
        };
        let expanded = self.expanded(text);
        let text = expanded.as_deref().unwrap_or(text);
        let name = self
            .function_names
            .intern(text, &mut self.section.strings)?;
        if let Some(number) = number {
            self.functions.define(number, Numbered { name, node: None });
        }
        if !self.shown.levels && self.function_names.has_level(name, &self.section.strings) {
            self.shown.levels = true;
            if !self.wanted.arcs {
                self.part.arcs = None;
            }
        }
        Ok(NamedFunction { name, number })
    }

    /// Expands a name that consists of numbers, such as `(1234)'2'(1216)`; `None` for other names. Callgrind writes callers
    /// like this with `--compress-mangled=yes`.
    fn expanded(&self, text: &[u8]) -> Option<Vec<u8>> {
        if !text.starts_with(b"(") || memchr::memchr(b'\'', text).is_none() {
            return None;
        }
        let mut expanded = Vec::new();
        for (index, piece) in text.split(|byte| *byte == b'\'').enumerate() {
            if index > 0 {
                expanded.push(b'\'');
            }
            match names::read(piece) {
                Compressed::Reference(number) => {
                    let name = self.functions.get(number)?.name;
                    let text = self.function_names.text(name);
                    expanded.extend_from_slice(self.section.strings.get(text));
                }
                Compressed::Name(level) if index == 1 && level.iter().all(u8::is_ascii_digit) => {
                    expanded.extend_from_slice(level);
                }
                _ => return None,
            }
        }
        Some(expanded)
    }

    fn file_name(&mut self, name: Compressed) -> Result<StringId, Refusal> {
        plain_name(name, "file", &mut self.files, self.section)
    }

    fn object_name(&mut self, name: Compressed) -> Result<StringId, Refusal> {
        plain_name(name, "object", &mut self.objects, self.section)
    }
}

/// Resolves the name of a file or object.
fn plain_name(
    name: Compressed,
    what: &str,
    numbers: &mut NumberTable<StringId>,
    section: &mut Section,
) -> Result<StringId, Refusal> {
    match name {
        Compressed::Reference(number) => {
            Ok(numbers.get(number).ok_or_else(|| undefined(what, number))?)
        }
        Compressed::Definition(number, text) => {
            let name = section.strings.intern(text)?;
            numbers.define(number, name);
            Ok(name)
        }
        Compressed::Name(text) => Ok(section.strings.intern(text)?),
        Compressed::Beyond(digits) => Err(beyond(digits).into()),
    }
}

#[cold]
fn beyond(digits: &[u8]) -> String {
    format!(
        "expected the number of a name, of at most 64 bits, found {}",
        excerpt(digits)
    )
}

fn undefined(what: &str, number: u64) -> String {
    format!("({number}) is not the number of a {what} on an earlier line")
}
