//! The writer of a stream: `run` first, `end` last, one record per line.

use std::io::{self, Write};

use crate::Error;
use crate::record::{DiffRecord, EndRecord, Record, RecordType, RunRecord};
use crate::rows::{self, CauseNames, CauseRow, Rendered, Row, RowSink, RowTables};

/// Writes records to any output, through its own buffer.
///
/// To leave an incomplete stream without `end`, call [`Writer::flush`] instead of [`Writer::end`].
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
    /// Cache of rendered names, frames and events.
    rendered: Rendered,
    /// Records since the last `run`.
    records: u64,
}

/// The number of buffered bytes from which the buffer is written.
const BUFFER_SIZE: usize = 64 * 1024;

impl<W: Write> Writer<W> {
    /// Creates a writer to this output.
    pub fn new(output: W) -> Writer<W> {
        Writer {
            output,
            buffer: Vec::with_capacity(BUFFER_SIZE + 8 * 1024),
            rendered: Rendered::default(),
            records: 0,
        }
    }

    /// Begins a stream, or the next one after it.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn run(&mut self, record: &RunRecord) -> io::Result<()> {
        self.records = 0;
        self.put(record)
    }

    /// Writes a record.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written, and if a count does not fit in 64 bits.
    pub fn record<R: Record>(&mut self, record: &R) -> io::Result<()> {
        debug_assert!(
            !matches!(R::TYPE, RecordType::Run | RecordType::End),
            "run and end have methods of their own"
        );
        self.records += 1;
        self.put(record)
    }

    /// Writes a `cause` record.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written, and if a count does not fit in 64 bits.
    pub fn cause(&mut self, cause: &CauseRow, names: &CauseNames) -> io::Result<()> {
        self.records += 1;
        cause.put(names, &mut self.buffer)?;
        self.finish_line()
    }

    /// Writes a line unchanged and adds `\n`.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.records += 1;
        self.buffer.extend_from_slice(line);
        self.finish_line()
    }

    /// Ends the stream that [`Writer::run`] began, and writes the buffered bytes.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn end(&mut self) -> io::Result<()> {
        self.put(&EndRecord {
            records: self.records,
        })?;
        self.flush()
    }

    /// Writes the buffered bytes.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        self.output.flush()
    }

    /// Returns the output. Buffered bytes are lost.
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

impl<W: Write> RowSink for Writer<W> {
    fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
        self.rendered.begin_run(&run.events);
        Ok(Writer::run(self, run)?)
    }

    #[inline]
    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error> {
        if rows::put(row, tables, &mut self.rendered, &mut self.buffer) {
            self.records += 1;
            self.finish_line()?;
        }
        Ok(())
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        Ok(self.record(&record)?)
    }

    fn end(&mut self, _records: u64) -> Result<(), Error> {
        Ok(Writer::end(self)?)
    }

    fn cut(&mut self, _why: Option<&str>) -> Result<bool, Error> {
        self.flush()?;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Counts, FnRecord, Name};

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
    fn unknown_fields_of_a_run_are_written_once() {
        let text = "{\"type\":\"run\",\"stream\":1,\"events\":[\"Ir\"],\"total\":{\"Ir\":1},\"mode\":\"x\"}";
        let run: RunRecord = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&run).unwrap(), text);
    }

    #[test]
    fn each_end_counts_the_records_since_its_run() {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out);
        for records in [2, 0, 3] {
            writer.run(&RunRecord::new("callgrind")).unwrap();
            for _ in 0..records {
                writer.record(&FnRecord::default()).unwrap();
            }
            writer.end().unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        let ends: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("\"end\""))
            .collect();
        let end = |records: u64| format!("{{\"type\":\"end\",\"records\":{records}}}");
        assert_eq!(ends, [2, 0, 3].map(end));
    }
}
