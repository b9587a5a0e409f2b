//! Normal forms of names, which are the same in every build of a program.
//!
//! The rows of all formats pass through here on the way to a sink, so formats need no code for this. The rows do not change,
//! but their tables return normalised names. Functions whose names become equal keep separate records, and readers of the
//! stream add them up.

use cg_names::identity::{normal_file, normal_function, normal_object};
use cg_stream::Error;
use cg_stream::record::{DiffRecord, Frame, Name, RecordType, RunRecord};
use cg_stream::rows::{FrameId, NameId, Named, Row, RowSink, RowTables, TableNumber};

/// A sink that passes rows with normalised names to another sink.
pub(crate) struct StableNames<'a> {
    sink: &'a mut dyn RowSink,
}

impl<'a> StableNames<'a> {
    pub(crate) fn new(sink: &'a mut dyn RowSink) -> StableNames<'a> {
        StableNames { sink }
    }
}

impl RowSink for StableNames<'_> {
    /// Passes the record on unchanged: it contains no names of functions to normalise.
    fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
        self.sink.run(run)
    }

    fn expect(&mut self, kind: RecordType, rows: usize) {
        self.sink.expect(kind, rows);
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error> {
        self.sink.row(row, &StableTables { tables })
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        self.sink.diff(DiffRecord {
            name: record.name.map(|name| normal(Named::Function, name)),
            file: record.file.map(|name| normal(Named::File, name)),
            obj: record.obj.map(|name| normal(Named::Object, name)),
            stack: record.stack.into_iter().map(normal_frame).collect(),
            ..record
        })
    }

    fn end(&mut self, records: u64) -> Result<(), Error> {
        self.sink.end(records)
    }

    fn cut(&mut self, why: Option<&str>) -> Result<bool, Error> {
        self.sink.cut(why)
    }
}

/// Wraps a reader's tables and normalises the names they return. Nothing is cached, as a sink asks for each name once.
struct StableTables<'t> {
    tables: &'t dyn RowTables,
}

impl RowTables for StableTables<'_> {
    fn number(&self) -> TableNumber {
        self.tables.number()
    }

    fn name(&self, kind: Named, id: NameId) -> Name<'_> {
        normal(kind, self.tables.name(kind, id))
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        normal_frame(self.tables.frame(id))
    }
}

fn normal(kind: Named, name: Name<'_>) -> Name<'_> {
    let form = match kind {
        Named::Function => normal_function(&name).into_owned(),
        Named::File => normal_file(&name).to_owned(),
        Named::Object => normal_object(&name).into_owned(),
        Named::Other => return name,
    };
    Name::from(form)
}

fn normal_frame(frame: Frame<'_>) -> Frame<'_> {
    Frame {
        name: frame.name.map(|name| normal(Named::Function, name)),
        file: frame.file.map(|name| normal(Named::File, name)),
        site: frame.site.map(|name| normal(Named::File, name)),
        obj: frame.obj.map(|name| normal(Named::Object, name)),
        ..frame
    }
}

#[cfg(test)]
mod tests {
    use cg_collections::intern::{Id as _, Texts};
    use cg_stream::Writer;
    use cg_stream::rows::{
        CallRow, ErrorRow, FunctionRef, InlineRow, NameRef, NamesRef, NoteRef, NotesRef, StackRef,
    };

    use super::*;

    /// Names, and one frame per name that uses it as function, file and object.
    struct Tables {
        number: TableNumber,
        names: Texts<NameId>,
    }

    impl RowTables for Tables {
        fn number(&self) -> TableNumber {
            self.number
        }

        fn name(&self, _: Named, id: NameId) -> Name<'_> {
            Name::from(self.names.text(id))
        }

        fn frame(&self, id: FrameId) -> Frame<'_> {
            let name = self.names.all().nth(id.index()).map(Name::from);
            Frame {
                name: name.clone(),
                site: name.clone(),
                obj: name,
                ..Frame::default()
            }
        }
    }

    /// Returns the line of output for a row with these names.
    fn written(
        names: &[&str],
        row: impl Fn(&[NameRef<'static>], &[FrameId]) -> Row<'static>,
    ) -> String {
        let mut tables = Tables {
            number: TableNumber::new(),
            names: Texts::default(),
        };
        let (mut refs, mut frames) = (Vec::new(), Vec::new());
        for name in names {
            let id = tables.names.intern(name).unwrap();
            refs.push(NameRef::Id(id));
            frames.push(FrameId::at(id.index()).unwrap());
        }
        let mut writer = Writer::new(Vec::new());
        let row = row(&refs, &frames);
        StableNames::new(&mut writer).row(&row, &tables).unwrap();
        writer.flush().unwrap();
        String::from_utf8(writer.into_inner()).unwrap()
    }

    #[test]
    fn names_of_functions_files_and_objects_are_normalised_differently() {
        let names = [
            "f.cold",
            "/x/f.part.1",
            "/lib/libc-2.31.so",
            "g [clone .isra.0]",
        ];
        let line = written(&names, |names, _| {
            let [name, file, obj, callee] = [0, 1, 2, 3].map(|at| Some(names[at]));
            Row::Call(CallRow {
                name,
                file,
                obj,
                site: obj,
                line: 3,
                callee: FunctionRef {
                    name: callee,
                    file: callee,
                    obj: None,
                },
                ..CallRow::default()
            })
        });
        assert_eq!(
            line,
            concat!(
                r#"{"type":"call","fn":"f","file":"f.part.1","obj":"libc.so","site":"libc-2.31.so","line":3,"#,
                r#""callee":{"fn":"g","file":"g [clone .isra.0]"},"calls":0,"incl":{}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn names_in_frames_notes_and_ambiguous_names_are_normalised() {
        let line = written(&["f.part.1", "/a/b"], |_, frames| {
            let frames: &'static [FrameId] = Vec::leak(frames.to_vec());
            let note = NoteRef {
                what: Some("Address 0x1 is in f.part.1"),
                stack: StackRef::Ids(&frames[..1]),
            };
            Row::Error(ErrorRow {
                kind: "f.part.1",
                stack: StackRef::Ids(&frames[1..]),
                notes: NotesRef::Refs(Vec::leak(vec![note])),
                ..ErrorRow::default()
            })
        });
        assert!(line.contains(r#""kind":"f.part.1","#), "{line}");
        assert!(
            line.contains(r#""stack":[{"fn":"/a/b","site":"b","obj":"b"}]"#),
            "{line}"
        );
        let note = r#"{"what":"Address 0x1 is in f.part.1","stack":[{"fn":"f","site":"f.part.1","obj":"f.part.1"}]}"#;
        assert!(line.contains(note), "{line}");
        let line = written(&["f.cold", "g"], |names, _| {
            let ids = names.iter().filter_map(|name| match name {
                NameRef::Id(id) => Some(*id),
                NameRef::Text(_) => None,
            });
            Row::Inline(InlineRow {
                ambiguous: NamesRef::Ids(Vec::leak(ids.collect())),
                ..InlineRow::default()
            })
        });
        assert!(line.contains(r#""ambiguous":["f","g"]"#), "{line}");
    }
}
