//! Writing a stream: `run` first, `end` last, one record a line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use memchr::memmem::Finder;

use crate::record::{EndRecord, Frame, Record, RecordType, RunRecord};

pub mod rendered;

use rendered::{FieldWriter, RenderedRecord};

/// Writes records to any output, through a buffer of its own.
///
/// A stream that cannot be finished is left without `end` by not calling [`Writer::end`]; [`Writer::flush`] then
/// writes out what there is.
///
/// ```
/// use cg_stream::Writer;
/// use cg_stream::record::RunRecord;
///
/// # fn main() -> std::io::Result<()> {
/// let mut writer = Writer::new(Vec::new());
/// writer.run(&RunRecord { events: vec!["Ir".to_owned()], ..RunRecord::default() })?;
/// writer.end()?;
/// let text = String::from_utf8(writer.into_inner()).expect("JSON is UTF-8");
/// assert!(text.starts_with(r#"{"type":"run","#));
/// assert_eq!(text.lines().last(), Some(r#"{"type":"end","records":0}"#));
/// # Ok(())
/// # }
/// ```
pub struct Writer<W: Write> {
    output: W,
    buffer: Vec<u8>,
    /// A record whose stacks are still to be put into it.
    record: Vec<u8>,
    placeholder: Finder<'static>,
    /// Records since the last `run`.
    records: u64,
    /// What all `run` records say besides their own labels.
    labels: BTreeMap<String, String>,
    /// What all `run` records say, whatever their own labels are.
    overriding_labels: BTreeMap<String, String>,
}

/// A frame as it stands in a record. Heap profiles have few frames in many stacks, and writing a frame anew for each
/// stack it is in takes most of the time. A comma stands behind it.
pub struct RenderedFrame(Vec<u8>);

impl RenderedFrame {
    /// The frame, ready to be written.
    ///
    /// # Errors
    /// None that a frame can cause; the serialiser's signature has one.
    pub fn new(frame: &Frame) -> io::Result<RenderedFrame> {
        let mut json = serde_json::to_vec(frame).map_err(io::Error::from)?;
        json.push(b',');
        Ok(RenderedFrame(json))
    }
}

impl RenderedFrame {
    /// A stack that stands for one to be written in its place; see [`Writer::record_with_stacks`].
    pub fn placeholder() -> Vec<Frame<'static>> {
        vec![Frame::default()]
    }
}

/// What [`RenderedFrame::placeholder`] is in a record. A quote inside a string is escaped, so that no text has this.
const PLACEHOLDER: &[u8] = b"\"stack\":[{}]";

/// What a record with an empty stack ends with, where the stack is its last field.
const EMPTY_STACK: &[u8] = b"\"stack\":[]}";

/// When the buffer is written out.
const BUFFER_SIZE: usize = 64 * 1024;

impl<W: Write> Writer<W> {
    /// A writer to this output.
    pub fn new(output: W) -> Writer<W> {
        Writer {
            output,
            buffer: Vec::with_capacity(BUFFER_SIZE + 8 * 1024),
            record: Vec::new(),
            placeholder: Finder::new(PLACEHOLDER),
            records: 0,
            labels: BTreeMap::new(),
            overriding_labels: BTreeMap::new(),
        }
    }

    /// The writer, whose `run` records all have these labels besides their own.
    pub fn with_labels(self, labels: BTreeMap<String, String>) -> Writer<W> {
        Writer { labels, ..self }
    }

    /// The writer, whose `run` records all have these labels, in the place of others of the same key.
    pub fn with_overriding_labels(self, overriding_labels: BTreeMap<String, String>) -> Writer<W> {
        Writer {
            overriding_labels,
            ..self
        }
    }

    /// Begins a stream, or the next one behind it.
    ///
    /// # Errors
    /// What the output reports.
    pub fn run(&mut self, record: &RunRecord) -> io::Result<()> {
        self.records = 0;
        if self.labels.is_empty() && self.overriding_labels.is_empty() {
            return self.put(record);
        }
        let mut labelled = record.clone();
        let labels = &mut labelled.sampling.labels;
        for (key, text) in &self.labels {
            labels.entry(key.clone()).or_insert_with(|| text.clone());
        }
        labels.extend(self.overriding_labels.clone());
        self.put(&labelled)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// What the output reports, and a count that does not fit in 64 bits.
    pub fn record<R: Record>(&mut self, record: &R) -> io::Result<()> {
        debug_assert!(
            !matches!(R::TYPE, RecordType::Run | RecordType::End),
            "run and end have methods of their own"
        );
        self.records += 1;
        self.put(record)
    }

    /// Writes a record whose own stack is empty with this one in its place. The record's type must have `stack` as its
    /// last field.
    ///
    /// # Errors
    /// As [`Writer::record`].
    pub fn record_with_stack<'f, R: Record>(
        &mut self,
        record: &R,
        stack: impl IntoIterator<Item = &'f RenderedFrame>,
    ) -> io::Result<()> {
        self.records += 1;
        serde_json::to_writer(&mut self.buffer, record).map_err(io::Error::from)?;
        debug_assert!(self.buffer.ends_with(EMPTY_STACK));
        self.buffer.truncate(self.buffer.len() - b"]}".len());
        self.finish_stack(stack)
    }

    /// Writes a record with these stacks where it has a placeholder, in the order of its fields: its own stack and those
    /// of its notes. There is a stack for each placeholder, and no stack is one of a frame that nothing is known of.
    ///
    /// # Errors
    /// As [`Writer::record`].
    pub fn record_with_stacks<'f, R: Record, S>(
        &mut self,
        record: &R,
        stacks: impl IntoIterator<Item = S>,
    ) -> io::Result<()>
    where
        S: IntoIterator<Item = &'f RenderedFrame>,
    {
        self.records += 1;
        self.record.clear();
        serde_json::to_writer(&mut self.record, record).map_err(io::Error::from)?;
        let mut rest = self.record.as_slice();
        for stack in stacks {
            let Some(found) = self.placeholder.find(rest) else {
                debug_assert!(false, "more stacks than placeholders");
                break;
            };
            let (before, after) = rest.split_at(found + b"\"stack\":[".len());
            self.buffer.extend_from_slice(before);
            put_stack(&mut self.buffer, stack);
            rest = &after[b"{}".len()..];
        }
        debug_assert!(self.placeholder.find(rest).is_none());
        self.buffer.extend_from_slice(rest);
        self.finish_line()
    }

    /// Writes a record from rendered names and rows of counts.
    ///
    /// # Errors
    /// What the output reports.
    #[inline]
    pub fn rendered<R: RenderedRecord>(&mut self, record: &R) -> io::Result<()> {
        self.records += 1;
        self.put_rendered(record);
        self.buffer.push(b'}');
        self.finish_line()
    }

    /// Writes a record from rendered names and counts, and a stack as its last field.
    ///
    /// # Errors
    /// What the output reports.
    #[inline]
    pub fn rendered_with_stack<'f, R: RenderedRecord>(
        &mut self,
        record: &R,
        stack: impl IntoIterator<Item = &'f RenderedFrame>,
    ) -> io::Result<()> {
        self.records += 1;
        self.put_rendered(record);
        self.buffer.extend_from_slice(b",\"stack\":[");
        self.finish_stack(stack)
    }

    /// Writes the frames of a stack that has begun, and ends the record with it.
    #[inline]
    fn finish_stack<'f>(
        &mut self,
        stack: impl IntoIterator<Item = &'f RenderedFrame>,
    ) -> io::Result<()> {
        put_stack(&mut self.buffer, stack);
        self.buffer.extend_from_slice(b"]}");
        self.finish_line()
    }

    #[inline]
    fn put_rendered<R: RenderedRecord>(&mut self, record: &R) {
        self.buffer.extend_from_slice(R::HEAD);
        record.put(&mut FieldWriter {
            buffer: &mut self.buffer,
        });
    }

    /// Passes a line on as it is, `\n` added.
    ///
    /// # Errors
    /// What the output reports.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.records += 1;
        self.buffer.extend_from_slice(line);
        self.finish_line()
    }

    /// Ends the stream that [`Writer::run`] began, and writes out what is buffered.
    ///
    /// # Errors
    /// What the output reports.
    pub fn end(&mut self) -> io::Result<()> {
        self.put(&EndRecord {
            records: self.records,
        })?;
        self.flush()
    }

    /// Writes out what is buffered.
    ///
    /// # Errors
    /// What the output reports.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        self.output.flush()
    }

    /// The output, for what is not a record.
    pub fn into_inner(self) -> W {
        self.output
    }

    fn put<R: Record>(&mut self, record: &R) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, record).map_err(io::Error::from)?;
        self.finish_line()
    }

    fn finish_line(&mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_SIZE {
            self.output.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn put_stack<'f>(buffer: &mut Vec<u8>, stack: impl IntoIterator<Item = &'f RenderedFrame>) {
    for RenderedFrame(frame) in stack {
        buffer.extend_from_slice(frame);
    }
    if buffer.last() == Some(&b',') {
        buffer.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{
        Counts, ErrorRecord, FnRecord, HeapRecord, Name, Note, ProgramPointRecord,
    };

    #[test]
    fn type_is_the_first_key_and_end_counts_records() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        let mut run = RunRecord::new("callgrind");
        run.extra.insert("parts".into(), 2.into());
        writer.run(&run).unwrap();
        writer
            .record(&FnRecord {
                name: Some(Name::from("f")),
                cost: Counts::from([("Ir", 3)]),
                ..FnRecord::default()
            })
            .unwrap();
        writer.end().unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                "{\"type\":\"run\",\"stream\":1,\"tool\":\"callgrind\",\"events\":[],\"total\":{},\"parts\":2}\n",
                "{\"type\":\"fn\",\"fn\":\"f\",\"cost\":{\"Ir\":3}}\n",
                "{\"type\":\"end\",\"records\":1}\n"
            )
        );
    }

    #[test]
    fn a_rendered_stack_is_the_stack() {
        let frame = |name: &'static str| Frame {
            name: Some(Name::from(name)),
            line: Some(3),
            ..Frame::default()
        };
        for stack in [
            vec![],
            vec![frame("f")],
            vec![frame("f"), frame("\"main\"")],
        ] {
            let rendered: Vec<RenderedFrame> = stack
                .iter()
                .map(|frame| RenderedFrame::new(frame).unwrap())
                .collect();
            let mut writer = Writer::new(Vec::new());
            let mut heap = HeapRecord {
                places: Some(2),
                ..HeapRecord::default()
            };
            let mut point = ProgramPointRecord {
                accesses: Some(vec![]),
                ..ProgramPointRecord::default()
            };
            writer.record_with_stack(&heap, &rendered).unwrap();
            writer.record_with_stack(&point, &rendered).unwrap();
            heap.stack.clone_from(&stack);
            point.stack = stack;
            writer.record(&heap).unwrap();
            writer.record(&point).unwrap();
            writer.flush().unwrap();
            let text = String::from_utf8(writer.into_inner()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[..2], lines[2..]);
        }
    }

    #[test]
    fn rendered_stacks_stand_where_their_placeholders_did() {
        let frame = |name: &'static str| Frame {
            name: Some(Name::from(name)),
            ..Frame::default()
        };
        let render = |stack: &[Frame]| -> Vec<RenderedFrame> {
            let frames = stack.iter().map(|frame| RenderedFrame::new(frame).unwrap());
            frames.collect()
        };
        let stacks = [
            vec![frame("a"), frame("b")],
            vec![],
            vec![frame("\"stack\":[{}]")],
        ];
        for of_record in 0..3 {
            let error = |stack_of: &dyn Fn(usize) -> Vec<Frame<'static>>| ErrorRecord {
                what: Name::from("\"stack\":[{}]"),
                stack: stack_of(of_record),
                notes: Vec::from_iter((0..3).map(|of_note| Note {
                    what: None,
                    stack: stack_of(of_note),
                })),
                suppression: Some(Name::from("{}]")),
                ..ErrorRecord::default()
            };
            let mut writer = Writer::new(Vec::new());
            writer.record(&error(&|at| stacks[at].clone())).unwrap();
            let with_placeholders = error(&|at| match stacks[at].is_empty() {
                true => Vec::new(),
                false => RenderedFrame::placeholder(),
            });
            let rendered: Vec<_> = [of_record, 0, 1, 2]
                .iter()
                .map(|at| render(&stacks[*at]))
                .filter(|stack| !stack.is_empty())
                .collect();
            writer
                .record_with_stacks(&with_placeholders, &rendered)
                .unwrap();
            writer.flush().unwrap();
            let text = String::from_utf8(writer.into_inner()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0], lines[1]);
        }
    }

    #[test]
    fn unknown_fields_of_a_run_survive_once() {
        let text = "{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{\"Ir\":1},\"mode\":\"x\"}";
        let run: RunRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&run).unwrap(), text);
    }
}
