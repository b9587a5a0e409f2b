//! Names in their normal form: a stream in which every build of a program calls its functions alike.
//!
//! The records of all formats pass here as lines, behind whoever wrote them, so no format knows of it. What is not a name
//! stays byte for byte. Functions whose names become one keep their records, which whoever reads them adds up.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use cg_names::identity::{normal_file, normal_function, normal_object};
use cg_stream::fields::{Fields, Malformed, Value};
use foldhash::fast::FixedState;

/// An output that is given lines of a stream and writes them with normal names.
pub(crate) struct StableNames<'a> {
    output: &'a mut dyn Write,
    /// The beginning of a line whose end was not written yet.
    pending: Vec<u8>,
    /// Lines ready to be written.
    ready: Vec<u8>,
    names: NormalForms,
}

/// When lines are written out.
const READY_SIZE: usize = 64 * 1024;

impl<'a> StableNames<'a> {
    pub(crate) fn new(output: &'a mut dyn Write) -> StableNames<'a> {
        StableNames {
            output,
            pending: Vec::new(),
            ready: Vec::with_capacity(READY_SIZE),
            names: NormalForms::default(),
        }
    }

    /// Takes what is behind the end of the last line into account.
    fn take_lines(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            bytes = &rest[1..];
            if self.pending.is_empty() {
                self.names.rewrite(line, &mut self.ready);
            } else {
                self.pending.extend_from_slice(line);
                self.names.rewrite(&self.pending, &mut self.ready);
                self.pending.clear();
            }
            self.ready.push(b'\n');
            if self.ready.len() >= READY_SIZE {
                self.write_ready()?;
            }
        }
        self.pending.extend_from_slice(bytes);
        Ok(())
    }

    fn write_ready(&mut self) -> io::Result<()> {
        self.output.write_all(&self.ready)?;
        self.ready.clear();
        Ok(())
    }
}

impl Write for StableNames<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take_lines(bytes)?;
        Ok(bytes.len())
    }

    /// Writes out all whole lines.
    fn flush(&mut self) -> io::Result<()> {
        self.write_ready()?;
        self.output.flush()
    }
}

/// What a name is the name of.
#[derive(Clone, Copy)]
enum Named {
    Function,
    File,
    Object,
}

/// The normal form of every name that was met, each as the JSON string it is written as.
#[derive(Default)]
struct NormalForms {
    functions: Forms,
    files: Forms,
    objects: Forms,
    /// Where in a line another name is to stand.
    changes: Vec<(Range<usize>, Named)>,
}

/// A name as it stands in a record, and its normal form if that is another.
type Forms = HashMap<Vec<u8>, Option<Vec<u8>>, FixedState>;

impl NormalForms {
    /// Appends a line with its names in their normal form.
    fn rewrite(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        // A line that is not a record has no names.
        let found = find_names(line, line, &mut changes);
        let mut written = 0;
        for (range, named) in found.map(|()| changes.as_slice()).unwrap_or_default() {
            if let Some(form) = self.of(*named, &line[range.clone()]) {
                out.extend_from_slice(&line[written..range.start]);
                out.extend_from_slice(form);
                written = range.end;
            }
        }
        out.extend_from_slice(&line[written..]);
        self.changes = changes;
    }

    /// The normal form of a name, if it is not that itself.
    fn of(&mut self, named: Named, json: &[u8]) -> Option<&[u8]> {
        let forms = match named {
            Named::Function => &mut self.functions,
            Named::File => &mut self.files,
            Named::Object => &mut self.objects,
        };
        if !forms.contains_key(json) {
            forms.insert(json.to_owned(), normal_form(named, json));
        }
        forms.get(json)?.as_deref()
    }
}

fn normal_form(named: Named, json: &[u8]) -> Option<Vec<u8>> {
    let name: String = serde_json::from_slice(json).ok()?;
    let form = match named {
        Named::Function => normal_function(&name),
        Named::File => Cow::Borrowed(normal_file(&name)),
        Named::Object => normal_object(&name),
    };
    (form != name).then(|| serde_json::to_vec(&form).ok())?
}

/// Finds the names of a record, and of everything in it that has some: frames, notes, the called function.
fn find_names(
    line: &[u8],
    object: &[u8],
    found: &mut Vec<(Range<usize>, Named)>,
) -> Result<(), Malformed> {
    for field in Fields::of(object)? {
        let (key, value) = field?;
        match &*key {
            b"fn" => add(line, value, Named::Function, found),
            b"file" | b"site" => add(line, value, Named::File, found),
            b"obj" => add(line, value, Named::Object, found),
            b"callee" => find_names(line, value.raw(), found)?,
            b"stack" | b"inlined" | b"notes" => {
                for element in value.elements().into_iter().flatten() {
                    find_names(line, element?.raw(), found)?;
                }
            }
            b"ambiguous" => {
                for element in value.elements().into_iter().flatten() {
                    add(line, element?, Named::Function, found);
                }
            }
            // What a run says of itself is no part of what makes functions the same.
            b"type" if value.raw() == b"\"run\"" => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}

fn add(line: &[u8], value: Value<'_>, named: Named, found: &mut Vec<(Range<usize>, Named)>) {
    let json = value.raw();
    if json.starts_with(b"\"") {
        // The value is a part of the line.
        let start = json.as_ptr() as usize - line.as_ptr() as usize;
        found.push((start..start + json.len(), named));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        let mut out = Vec::new();
        let mut names = StableNames::new(&mut out);
        // Writes end anywhere.
        for bytes in text.as_bytes().chunks(7) {
            names.write_all(bytes).unwrap();
        }
        names.flush().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_name_of_a_record_is_normal_and_nothing_else_changes() {
        let line = concat!(
            r#"{"type":"call","fn":"demo::f::h0123456789abcdef","file":"/home/a/src/main.rs","obj":"/lib/libc-2.31.so","#,
            r#""site":"/x/lib.rs","line":3,"inlined":[{"fn":"g [clone .isra.0]","what":"g [clone .isra.0]"}],"#,
            r#""callee":{"fn":"memcpy@@GLIBC_2.14","file":"a/b.c"},"calls":1,"incl":{"fn":1}}"#,
            "\n",
        );
        let normal = concat!(
            r#"{"type":"call","fn":"demo::f","file":"main.rs","obj":"libc.so","#,
            r#""site":"lib.rs","line":3,"inlined":[{"fn":"g","what":"g [clone .isra.0]"}],"#,
            r#""callee":{"fn":"memcpy","file":"b.c"},"calls":1,"incl":{"fn":1}}"#,
            "\n",
        );
        assert_eq!(rewritten(line), normal);
        assert_eq!(rewritten(normal), normal);
    }

    #[test]
    fn stacks_of_notes_and_names_to_choose_from_are_names_too() {
        let line = concat!(
            r#"{"type":"error","fn":"f.part.1","stack":[{"fn":"f.part.1"},{"obj":"/a/b"}],"#,
            r#""notes":[{"what":"Address 0x1 is in f.part.1","stack":[{"fn":"f.cold"}]}],"ambiguous":["f.cold","g"]}"#,
            "\n",
        );
        let normal = concat!(
            r#"{"type":"error","fn":"f","stack":[{"fn":"f"},{"obj":"b"}],"#,
            r#""notes":[{"what":"Address 0x1 is in f.part.1","stack":[{"fn":"f"}]}],"ambiguous":["f","g"]}"#,
            "\n",
        );
        assert_eq!(rewritten(line), normal);
    }

    #[test]
    fn runs_and_what_is_no_record_stay() {
        let text = "{\"type\":\"run\",\"file\":\"/a/b\",\"obj\":\"/a/b\"}\nnot a record \"fn\":\"f.cold\"\n{\"fn\":\"f.cold\"\n";
        assert_eq!(rewritten(text), text);
    }
}
