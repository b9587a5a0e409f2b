//! The rows of the lines of a stream, with the frames of `stack` records as ids.
//!
//! Most frames of a stream recur. So each distinct text of a frame is parsed once, and sinks look up each distinct frame
//! once, as for rows of a reader. A line with white space between the frames is parsed as any other record.

use cg_collections::intern::{Bytes, Id as _};

use super::{
    FrameId, NameId, Named, Row, RowSink, RowTables, StackRef, StackRow, TableNumber, hand_over,
};
use crate::fields::{Fields, value_length};
use crate::record::{Frame, Name, RecordType, StackRecord};
use crate::{Error, Line};

/// The maximum number of distinct frames that are kept. A stream with more of them, such as one with an address in each
/// frame, begins again with empty tables.
const MOST_FRAMES: usize = 1 << 18;

/// The key of a stack and the bracket before its first frame.
const STACK: &[u8] = b",\"stack\":[";

/// Turns the lines of one stream into rows.
#[derive(Default)]
pub struct StreamRows {
    frames: KnownFrames,
    /// A buffer for the frames of a line.
    ids: Vec<FrameId>,
    /// A buffer for a line without the frames of its stack.
    rest: Vec<u8>,
}

/// The distinct frames of a stream.
#[derive(Default)]
struct KnownFrames {
    number: TableNumber,
    /// The frames as JSON.
    texts: Bytes<FrameId>,
    frames: Vec<Frame<'static>>,
}

impl StreamRows {
    /// Parses a line of the stream and passes it to the sink.
    ///
    /// # Errors
    /// Returns the errors of [`hand_over`].
    pub fn hand_over(&mut self, line: &Line<'_>, sink: &mut dyn RowSink) -> Result<(), Error> {
        if line.kind != RecordType::Stack
            || !sink.wants(RecordType::Stack)
            || self.read_frames(line.bytes).is_none()
        {
            return hand_over(line, sink);
        }
        let Ok(record) = serde_json::from_slice::<StackRecord>(&self.rest) else {
            // The error has the column in the whole line.
            return hand_over(line, sink);
        };
        let row = StackRow {
            stack: StackRef::Ids(&self.ids),
            ..StackRow::from(&record)
        };
        sink.row(&Row::Stack(row), &self.frames)
            .map_err(|error| error.with_line(line.number))
    }

    /// Reads the frames of a line into `ids`, and the rest of the line into `rest`; `None` if the line has another form.
    fn read_frames(&mut self, line: &[u8]) -> Option<()> {
        let mut fields = Fields::parse(line).ok()?;
        let frames = loop {
            match fields.rest().strip_prefix(STACK) {
                Some(frames) => break frames,
                None => drop(fields.next()?.ok()?),
            }
        };
        self.frames.make_room();
        self.ids.clear();
        let mut after = frames;
        while !after.starts_with(b"]") {
            let (id, length) = self.frames.first_frame(after)?;
            self.ids.push(id);
            after = &after[length..];
            match after {
                [b',', next @ ..] if next.starts_with(b"{") => after = next,
                [b']', ..] => {}
                _ => return None,
            }
        }
        self.rest.clear();
        self.rest
            .extend_from_slice(&line[..line.len() - frames.len()]);
        self.rest.extend_from_slice(after);
        Some(())
    }
}

impl KnownFrames {
    /// Forgets all frames if there are too many.
    fn make_room(&mut self) {
        if self.frames.len() >= MOST_FRAMES {
            *self = KnownFrames::default();
        }
    }

    /// Returns the id and the length of the frame that a text begins with; `None` if the text does not begin with a frame.
    #[inline]
    fn first_frame(&mut self, text: &[u8]) -> Option<(FrameId, usize)> {
        // A brace in a name ends the search too early. Then the text up to the brace is not a frame, so it is not known.
        let end = memchr::memchr(b'}', text)? + 1;
        if let Some(id) = self.texts.find(&text[..end]) {
            return Some((id, end));
        }
        let length = value_length(text).ok()?;
        if let Some(id) = self.texts.find(&text[..length]) {
            return Some((id, length));
        }
        let frame: Frame = serde_json::from_slice(&text[..length]).ok()?;
        let id = self.texts.intern(&text[..length]).ok()?;
        debug_assert_eq!(id.index(), self.frames.len());
        self.frames.push(frame.into_owned());
        Some((id, length))
    }
}

impl RowTables for KnownFrames {
    fn number(&self) -> TableNumber {
        self.number
    }

    /// Names of rows are text, not ids.
    fn name(&self, _: Named, _: NameId) -> Name<'_> {
        Name::default()
    }

    fn frame(&self, id: FrameId) -> Frame<'_> {
        self.frames[id.index()].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    /// Writes the lines again: with shared frames, or each line for itself.
    fn written(lines: &[&str], shared: bool) -> Vec<Result<String, String>> {
        let mut rows = StreamRows::default();
        let parse = |(line, number): (&&str, u64)| {
            let mut writer = Writer::new(Vec::new());
            let line = Line::parse_header(line.as_bytes(), number).unwrap();
            let taken = match shared {
                true => rows.hand_over(&line, &mut writer),
                false => hand_over(&line, &mut writer),
            };
            taken.map_err(|error| error.to_string())?;
            writer.flush().unwrap();
            Ok(String::from_utf8(writer.into_inner()).unwrap())
        };
        lines.iter().zip(1..).map(parse).collect()
    }

    #[test]
    fn shared_frames_change_no_record_and_no_error() {
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

    #[test]
    fn a_full_table_begins_again() {
        let mut rows = StreamRows::default();
        rows.read_frames(br#"{"type":"stack","stack":[{"fn":"f"}]}"#)
            .unwrap();
        let first = rows.frames.number;
        let frame = Frame::default();
        rows.frames.frames.resize(MOST_FRAMES, frame);
        rows.read_frames(br#"{"type":"stack","stack":[{"fn":"g"}]}"#)
            .unwrap();
        assert_ne!(rows.frames.number, first);
        assert_eq!(rows.frames.frame(rows.ids[0]).name.as_deref(), Some("g"));
    }
}
