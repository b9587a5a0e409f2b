//! The rows of the lines of a stream, with names and frames as ids.
//!
//! A general JSON parser takes about ten times the instructions that the contents of a line need. So a line in the form of
//! our own writer is read field by field, in the order of the declaration, by code that a macro generates. Most names and
//! frames recur: each distinct text is decoded once, and sinks look up each distinct name and frame once, as for rows of a
//! reader. Every other line is parsed as JSON: with white space, another order, unknown fields, or an error.

use super::plain_fields::{LineBuffers, PlainFields, StreamTables};
use super::{
    AddressRef, Cells, FunctionRef, NameRef, NamesRef, NotesRef, Row, RowSink, StackRef, hand_over,
};
use crate::record::{HeapBlock, Name, Note, RecordType, SampleLabels};
use crate::rows::{
    CallRow, ErrorRow, FnRow, HeapRow, InlineRow, LeakRow, LineRow, ProgramPointRow, StackRow,
};
use crate::{Error, Line, records};

/// Turns the lines of one stream into rows.
#[derive(Default)]
pub struct StreamRows {
    tables: StreamTables,
    buffers: LineBuffers,
}

impl StreamRows {
    /// Parses a line of the stream and passes it to the sink.
    ///
    /// # Errors
    /// Returns the errors of [`hand_over`].
    pub fn hand_over(&mut self, line: &Line<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
        if !sink.wants(line.kind) {
            return hand_over(line, sink);
        }
        match self.pass_plain(line, sink) {
            Some(passed) => passed.map_err(|error| error.with_line(line.number)),
            None => hand_over(line, sink),
        }
    }
}

/// Expands to the call that reads a field. The arguments are the words in the field's declaration.
macro_rules! read_field {
    ($fields:ident, Option Text) => {
        $fields.text()
    };
    ($fields:ident, Option Address) => {
        $fields.text()
    };
    ($fields:ident, Option u64) => {
        $fields.number()
    };
    ($fields:ident, Option Counts) => {
        $fields.counts()
    };
    ($fields:ident, Option HeapBlock) => {
        $fields.parsed::<HeapBlock>()
    };
    ($fields:ident, Option Accesses) => {
        $fields.parsed::<Vec<Option<u64>>>()
    };
    ($fields:ident, Option Labels) => {
        $fields.parsed::<SampleLabels>()
    };
    ($fields:ident, Option Object) => {
        $fields.object()
    };
    ($fields:ident, Option $name:ident) => {
        $fields.name()
    };
    ($fields:ident, Text) => {
        $fields.text()
    };
    ($fields:ident, u64) => {
        $fields.number()
    };
    ($fields:ident, NonZero) => {
        $fields.number()
    };
    ($fields:ident, bool) => {
        $fields.is_so()
    };
    ($fields:ident, Mark) => {
        $fields.is_so()
    };
    ($fields:ident, Counts) => {
        $fields.counts()
    };
    ($fields:ident, Stack) => {
        $fields.frames()
    };
    ($fields:ident, Inlined) => {
        $fields.frames()
    };
    ($fields:ident, Callee) => {
        $fields.callee()
    };
    ($fields:ident, Names) => {
        $fields.parsed::<Vec<Name>>()
    };
    ($fields:ident, Notes) => {
        $fields.parsed::<Vec<Note>>()
    };
}

/// Expands to the value of a row's field. `$field` is what [`read_field!`] read, or `None` if the line lacks the field.
macro_rules! ref_of_read {
    ($field:ident, $buffers:ident, Option Text) => {
        $field
    };
    ($field:ident, $buffers:ident, Option Address) => {
        $field.map(AddressRef::Text)
    };
    ($field:ident, $buffers:ident, Option u64) => {
        $field
    };
    ($field:ident, $buffers:ident, Option Counts) => {
        Some(Cells::Named($buffers.counts($field))).filter(|_| !$buffers.counts($field).is_empty())
    };
    ($field:ident, $buffers:ident, Option HeapBlock) => {
        $field.as_ref()
    };
    ($field:ident, $buffers:ident, Option Accesses) => {
        $field.as_deref()
    };
    ($field:ident, $buffers:ident, Option Labels) => {
        $field.as_ref().map(SampleLabels::text)
    };
    ($field:ident, $buffers:ident, Option $name:ident) => {
        $field.map(NameRef::Id)
    };
    ($field:ident, $buffers:ident, Counts) => {
        Cells::Named($buffers.counts($field))
    };
    ($field:ident, $buffers:ident, Stack) => {
        $field.map_or_else(StackRef::default, |frames| {
            StackRef::Ids(&$buffers.frames[frames])
        })
    };
    ($field:ident, $buffers:ident, Inlined) => {
        $field.map_or_else(StackRef::default, |frames| {
            StackRef::Ids(&$buffers.frames[frames])
        })
    };
    ($field:ident, $buffers:ident, Callee) => {{
        let [name, file, obj] = $field.unwrap_or_default().map(|name| name.map(NameRef::Id));
        FunctionRef { name, file, obj }
    }};
    ($field:ident, $buffers:ident, Names) => {
        $field
            .as_deref()
            .map_or_else(NamesRef::default, NamesRef::Names)
    };
    ($field:ident, $buffers:ident, Notes) => {
        $field
            .as_deref()
            .map_or_else(NotesRef::default, NotesRef::Notes)
    };
    ($field:ident, $buffers:ident, $plain:ident) => {
        $field.unwrap_or_default()
    };
}

/// Generates [`StreamRows::pass_plain`] from the declarations of the record types.
macro_rules! pass_plain {
    ($($(#[$type_meta:meta])* $kind:ident $type:literal $record:ident $row:ident {
        $($(#[$field_meta:meta])* $role:ident $field:ident $(as $key:literal)?: $word:ident $(<$of:ident>)?,)*
    })*) => {
        impl StreamRows {
            /// Passes a line to the sink if it has the form of our own writer; otherwise returns `None`.
            fn pass_plain(
                &mut self,
                line: &Line<'_>,
                sink: &mut dyn RowSink,
            ) -> Option<Result<(), Error>> {
                let StreamRows { tables, buffers } = self;
                match line.kind {
                    $(RecordType::$kind => {
                        let start = concat!("{\"type\":\"", $type, "\"");
                        let mut fields = PlainFields::begin(line.bytes, start, tables, buffers)?;
                        $(let $field = match fields.take_key(key!($field $($key)?)) {
                            true => Some(read_field!(fields, $word $($of)?)?),
                            false => None,
                        };)*
                        fields.end()?;
                        let row = $row {
                            $($field: ref_of_read!($field, buffers, $word $($of)?),)*
                        };
                        Some(sink.row(&Row::$kind(row), tables))
                    })*
                    _ => None,
                }
            }
        }
    };
}

records!(pass_plain!);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    /// Writes the lines again: in their plain form, or each line parsed as JSON.
    fn written(lines: &[&str], plain: bool) -> Vec<Result<String, String>> {
        let mut rows = StreamRows::default();
        let parse = |(line, number): (&&str, u64)| {
            let mut writer = Writer::new(Vec::new());
            let line = Line::parse_header(line.as_bytes(), number).unwrap();
            let taken = match plain {
                true => rows.hand_over(&line, &mut writer),
                false => hand_over(&line, &mut writer),
            };
            taken.map_err(|error| error.to_string())?;
            writer.flush().unwrap();
            Ok(String::from_utf8(writer.into_inner()).unwrap())
        };
        lines.iter().zip(1..).map(parse).collect()
    }

    /// A line of each type with each field, as our writer writes it.
    const WHOLE: [&str; 9] = [
        r#"{"type":"fn","fn":"a\"b","file":"f","obj":"o","part":1,"thread":2,"calls":3,"cost":{"s":1,"t":-2},"incl":{"s":3},"cycle":4,"code":"x","code_ran":"y"}"#,
        r#"{"type":"line","fn":"f","file":"f","obj":"o","line":0,"addr":"0x12","inlined":[{"fn":"i"}],"part":1,"thread":2,"cost":{"s":1},"incl":{"s":3}}"#,
        r#"{"type":"call","fn":"f","file":"f","obj":"o","site":"s","line":7,"callee":{"fn":"g","file":"h","obj":"p"},"calls":1,"incl":{"s":3}}"#,
        r#"{"type":"inline","fn":"f","file":"f","obj":"o","stack":[{"fn":"g"},{"fn":"f"}],"ambiguous":["g","h"],"cost":{"s":1}}"#,
        r#"{"type":"leak","kind":"Leak_DefinitelyLost","fn":"f","file":"f","line":3,"obj":"o","cost":{"s":1},"stack":[{"fn":"malloc"},{"fn":"f"}],"suppression":"{}"}"#,
        r#"{"type":"error","kind":"InvalidRead","what":"Invalid read","fn":"f","cost":{"s":1},"stack":[{"fn":"f"}],"notes":[{"what":"Address","stack":[{"fn":"g"}]}]}"#,
        r#"{"type":"heap","snapshot":1,"peak":true,"fn":"f","cost":{"s":1},"stack":[{"fn":"f"}]}"#,
        r#"{"type":"program_point","fn":"f","file":"f","line":3,"cost":{"s":1},"stack":[{"fn":"f"}]}"#,
        r#"{"type":"stack","fn":"f","file":"f","line":3,"obj":"o","thread":"t","tid":1,"process":"p","pid":2,"estimated":true,"cut":true,"time":5,"labels":{"k":"v"},"cost":{"s":1},"stack":[{"fn":"f"}]}"#,
    ];

    /// Returns true if a line is read without the JSON parser.
    fn is_plain(line: &str) -> bool {
        let mut writer = Writer::new(Vec::new());
        let line = Line::parse_header(line.as_bytes(), 1).unwrap();
        StreamRows::default()
            .pass_plain(&line, &mut writer)
            .is_some()
    }

    #[test]
    fn each_type_of_record_is_read_field_by_field() {
        for line in WHOLE {
            let [again] = &written(&[line], false)[..] else {
                panic!("{line}")
            };
            let again = again.as_ref().unwrap().trim_end();
            assert!(is_plain(again), "{again}");
        }
        assert_eq!(written(&WHOLE, true), written(&WHOLE, false));
    }

    #[test]
    fn every_cut_and_every_changed_byte_gives_the_same_record_or_error() {
        for line in WHOLE {
            for at in 26..line.len() {
                let (start, end) = (&line[..at], &line[at + 1..]);
                let changed =
                    ["\"", "}", "0", " ", "\\", ","].map(|byte| format!("{start}{byte}{end}"));
                let lines = changed.iter().map(String::as_str).chain([start, line]);
                let lines: Vec<&str> = lines.collect();
                assert_eq!(written(&lines, true), written(&lines, false), "{start}");
            }
        }
    }

    #[test]
    fn plain_lines_change_no_record_and_no_error() {
        let run = r#"{"type":"run","stream":1,"events":["s"],"total":{"s":3}}"#;
        let closure = r#"{"fn":"a::{closure#0}","file":"a \"} b.rs","line":3}"#;
        let lines = [
            run,
            r#"{"type":"stack","fn":"f","cost":{"s":1},"stack":[{"fn":"f"},{"fn":"main","addr":"0x12"}]}"#,
            r#"{"type":"stack","fn":"f","cost":{"s":2},"stack":[{"fn":"main","addr":"0x12"},{"fn":"f"}]}"#,
            &format!(
                r#"{{"type":"stack","cost":{{"s":1}},"stack":[{closure},{{"fn":"f"}},{closure}]}}"#
            ),
            r#"{"type":"stack","cost":{"s":1},"stack":[]}"#,
            r#"{"type":"stack","cost":{"s":1},"stack":[{}],"cut":true}"#,
            r#"{"type":"fn","fn":"a\u00e9b","cost":{"s":1}}"#,
            r#"{"type":"fn","fn":"aéb","cost":{"s":1,"s":2}}"#,
            r#"{"type":"fn","fn":"","cost":{"t":1}}"#,
            r#"{"type":"fn","fn":null,"calls":null,"cost":{}}"#,
            r#"{"type":"fn","fn":"f","new":[1],"cost":{"s":18446744073709551615}}"#,
            r#"{"type":"call","fn":"f","callee":{},"calls":1,"incl":{"s":-9223372036854775808}}"#,
            // White space, an earlier place, and another type of value.
            r#"{"type":"stack","stack":[{"fn":"f"}],"cost":{"s":1}}"#,
            r#"{"type":"stack","cost":{"s":1},"stack":[{"fn":"f"} , {"fn":"main"}]}"#,
            r#"{"type":"stack","fn":",\"stack\":[{}]","cost":{"s":1},"stack":[{"fn":"f"}]}"#,
            // Errors.
            r#"{"type":"stack","cost":{"s":1},"stack":[{"fn":"f"},]}"#,
            r#"{"type":"stack","cost":{"s":1},"stack":[{"fn":"f"},{"fn":3}]}"#,
            r#"{"type":"stack","cost":{"s":1},"stack":[{"fn":"f"}],"stack":[]}"#,
            r#"{"type":"stack","cost":{"s":true},"stack":[{"fn":"f"}]}"#,
            r#"{"type":"stack","cost":{"s":1},"stack":[{"fn":"f"}"#,
        ];
        let alone = written(&lines, false);
        assert_eq!(written(&lines, true), alone);
        assert_eq!(alone.iter().filter(|line| line.is_err()).count(), 5);
    }
}
