//! Writing a stream: `run` first, `end` last, one record a line.

use std::io::{self, Write};

use crate::record::{EndRecord, Frame, Record, RecordType, RunRecord};

/// Writes records to any output, through a buffer of its own.
///
/// A stream that cannot be finished is left without `end` by not calling [`Writer::end`]; [`Writer::flush`] then
/// writes out what there is.
pub struct Writer<W: Write> {
    output: W,
    buffer: Vec<u8>,
    /// Records since the last `run`.
    records: u64,
}

/// A frame as it stands in a record. Heap profiles have few frames in many stacks, and writing a frame anew for each
/// stack it is in takes most of the time.
pub struct RenderedFrame(Vec<u8>);

impl RenderedFrame {
    /// The frame, ready to be written.
    ///
    /// # Errors
    /// None that a frame can cause; the serialiser's signature has one.
    pub fn new(frame: &Frame) -> io::Result<RenderedFrame> {
        let json = serde_json::to_vec(frame).map_err(io::Error::from)?;
        Ok(RenderedFrame(json))
    }
}

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
            records: 0,
        }
    }

    /// Begins a stream, or the next one behind it.
    ///
    /// # Errors
    /// What the output reports.
    pub fn run(&mut self, record: &RunRecord) -> io::Result<()> {
        self.records = 0;
        self.put(record)
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
        for (position, RenderedFrame(frame)) in stack.into_iter().enumerate() {
            if position > 0 {
                self.buffer.push(b',');
            }
            self.buffer.extend_from_slice(frame);
        }
        self.buffer.extend_from_slice(b"]}");
        self.finish_line()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Counts, FnRecord, HeapRecord, Name, ProgramPointRecord};

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
    fn unknown_fields_of_a_run_survive_once() {
        let text = "{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{\"Ir\":1},\"mode\":\"x\"}";
        let run: RunRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&run).unwrap(), text);
    }
}
