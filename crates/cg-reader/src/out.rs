//! The output of readers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cg_stream::Framing;
use cg_stream::record::{DiffRecord, RecordType, RunRecord};
use cg_stream::rows::{Row, RowSink, RowTables};

use crate::error::Error;

/// A sink with counts of the written records, and labels for all `run` records.
pub struct Out<'a> {
    sink: &'a mut dyn RowSink,
    /// Labels that a run's labels of the same key override.
    labels: BTreeMap<String, String>,
    /// Labels that override a run's labels of the same key.
    overriding_labels: BTreeMap<String, String>,
    framing: Framing,
    /// The number of records before the last `run`.
    records_before: u64,
    /// True if the input ended with an error.
    has_failed: Option<Rc<Cell<bool>>>,
    /// True if the reader printed the reason why an input has no records.
    expects_nothing: bool,
    /// The number of records before an input that must have records; `None` if the input can lack them.
    required_after: Option<u64>,
    /// True if the last section waits for its `end`, because its input has no records yet.
    is_end_held: bool,
}

impl<'a> Out<'a> {
    /// Creates an output to this sink, without labels.
    pub fn new(sink: &'a mut dyn RowSink) -> Out<'a> {
        Out {
            sink,
            labels: BTreeMap::new(),
            overriding_labels: BTreeMap::new(),
            framing: Framing::default(),
            records_before: 0,
            has_failed: None,
            expects_nothing: false,
            required_after: None,
            is_end_held: false,
        }
    }

    /// Adds these labels to all `run` records. A run's labels of the same key win.
    pub fn with_labels(self, labels: BTreeMap<String, String>) -> Out<'a> {
        Out { labels, ..self }
    }

    /// Adds these labels to all `run` records. They replace a run's labels of the same key.
    pub fn with_overriding_labels(self, overriding_labels: BTreeMap<String, String>) -> Out<'a> {
        Out {
            overriding_labels,
            ..self
        }
    }

    /// Sets a flag that becomes true when the input has an error. After that, sections end without `end`.
    pub fn watch(&mut self, has_failed: Rc<Cell<bool>>) {
        self.has_failed = Some(has_failed);
    }

    /// Returns the counts of the written records.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Notes that the input has no records, and that a message explains why.
    pub fn expect_nothing(&mut self) {
        self.expects_nothing = true;
    }

    /// Returns true if a message explains why the input has no records. Resets this for the next input.
    pub fn take_expects_nothing(&mut self) -> bool {
        std::mem::take(&mut self.expects_nothing)
    }

    /// Begins an input that must have records. Until it has some, its last section has no `end`.
    pub fn require_records(&mut self) {
        self.required_after = Some(self.framing.records);
    }

    /// Finishes an input. If a section still waits for its `end`, writes it if the input is complete.
    pub fn finish_input(&mut self, is_complete: bool) -> Result<(), Error> {
        self.required_after = None;
        match (std::mem::take(&mut self.is_end_held), is_complete) {
            (false, _) => Ok(()),
            (true, true) => self.write_end(),
            (true, false) => self.cut(None).map(drop),
        }
    }

    /// Begins a section.
    pub fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
        if std::mem::take(&mut self.is_end_held) {
            self.write_end()?;
        }
        self.framing.runs += 1;
        self.records_before = self.framing.records;
        if self.labels.is_empty() && self.overriding_labels.is_empty() {
            return Ok(self.sink.run(run)?);
        }
        let mut labelled = run.clone();
        let labels = &mut labelled.sampling.labels;
        for (key, text) in &self.labels {
            labels.entry(key.clone()).or_insert_with(|| text.clone());
        }
        labels.extend(self.overriding_labels.clone());
        Ok(self.sink.run(&labelled)?)
    }

    /// Passes on the hint that this number of rows of a type follows.
    pub fn expect(&mut self, kind: RecordType, rows: usize) {
        self.sink.expect(kind, rows);
    }

    /// Passes on a row. Its ids belong to `tables`.
    #[inline]
    pub fn row<'r>(
        &mut self,
        row: impl Into<Row<'r>>,
        tables: &dyn RowTables,
    ) -> Result<(), Error> {
        self.framing.records += 1;
        Ok(self.sink.row(&row.into(), tables)?)
    }

    /// Passes on a row of a diff.
    pub fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        self.framing.records += 1;
        Ok(self.sink.diff(record)?)
    }

    /// Ends a complete section.
    pub fn end(&mut self) -> Result<(), Error> {
        if self
            .has_failed
            .as_ref()
            .is_some_and(|has_failed| has_failed.get())
        {
            return self.cut(None).map(drop);
        }
        if self.required_after == Some(self.framing.records) {
            self.is_end_held = true;
            return Ok(());
        }
        self.write_end()
    }

    fn write_end(&mut self) -> Result<(), Error> {
        self.framing.ends += 1;
        Ok(self.sink.end(self.framing.records - self.records_before)?)
    }

    /// Leaves a section without `end`, with the reason if it is known. Returns true if the sink reports the reason.
    pub fn cut(&mut self, why: Option<&str>) -> Result<bool, Error> {
        let is_taken = self.sink.cut(why)?;
        // A sink that reports the reason ends the section.
        self.framing.ends += u64::from(is_taken);
        Ok(is_taken)
    }
}

#[cfg(test)]
mod tests {
    use cg_stream::rows::NoTables;

    use super::*;

    /// A sink that keeps the labels of each `run`, and the number of records in each `end`.
    #[derive(Default)]
    struct KeptFrames {
        labels: Vec<BTreeMap<String, String>>,
        ends: Vec<u64>,
        cuts: usize,
    }

    impl RowSink for KeptFrames {
        fn run(&mut self, run: &RunRecord) -> Result<(), cg_stream::Error> {
            self.labels.push(run.sampling.labels.clone());
            Ok(())
        }

        fn row(&mut self, _: &Row<'_>, _: &dyn RowTables) -> Result<(), cg_stream::Error> {
            Ok(())
        }

        fn diff(&mut self, _: DiffRecord<'_>) -> Result<(), cg_stream::Error> {
            Ok(())
        }

        fn end(&mut self, records: u64) -> Result<(), cg_stream::Error> {
            self.ends.push(records);
            Ok(())
        }

        fn cut(&mut self, _: Option<&str>) -> Result<bool, cg_stream::Error> {
            self.cuts += 1;
            Ok(false)
        }
    }

    fn write_section(out: &mut Out, records: usize) {
        let text = r#"{"snapshot":0,"time":0,"heap_bytes":0,"extra_bytes":0,"stacks_bytes":0,"detail":""}"#;
        let snapshot = serde_json::from_str(text).unwrap();
        out.run(&RunRecord::default()).unwrap();
        for _ in 0..records {
            out.row(Row::Snapshot(&snapshot), &NoTables).unwrap();
        }
        out.end().unwrap();
    }

    #[test]
    fn end_has_the_number_of_records_in_its_own_section() {
        let mut sink = KeptFrames::default();
        let mut out = Out::new(&mut sink);
        for records in [3, 2, 0, 4] {
            write_section(&mut out, records);
        }
        let framing = out.framing();
        assert_eq!((framing.runs, framing.ends, framing.records), (4, 4, 9));
        assert_eq!(sink.ends, [3, 2, 0, 4]);
    }

    #[test]
    fn sections_after_an_error_have_no_end() {
        let mut sink = KeptFrames::default();
        let mut out = Out::new(&mut sink);
        let has_failed = Rc::new(Cell::new(false));
        out.watch(Rc::clone(&has_failed));
        write_section(&mut out, 1);
        has_failed.set(true);
        write_section(&mut out, 1);
        let framing = out.framing();
        assert_eq!((framing.runs, framing.ends), (2, 1));
        assert_eq!((sink.ends, sink.cuts), (vec![1], 1));
    }

    #[test]
    fn an_input_that_must_have_records_has_no_end_without_them() {
        for (sections, is_complete, ends, cuts) in [
            (&[0][..], false, &[][..], 1),
            (&[0], true, &[0], 0),
            (&[0, 0], false, &[0], 1),
            (&[0, 2], true, &[0, 2], 0),
            (&[2, 0], true, &[2, 0], 0),
        ] {
            let mut sink = KeptFrames::default();
            let mut out = Out::new(&mut sink);
            out.require_records();
            for records in sections {
                write_section(&mut out, *records);
            }
            out.finish_input(is_complete).unwrap();
            assert_eq!(out.framing().ends, ends.len() as u64);
            assert_eq!((&sink.ends[..], sink.cuts), (ends, cuts), "{sections:?}");
        }
    }

    #[test]
    fn labels_override_the_labels_of_a_run_only_if_asked_to() {
        let labels = |value: &str| BTreeMap::from([("bench".to_owned(), value.to_owned())]);
        let mut run = RunRecord::default();
        run.sampling.labels = labels("run");
        let mut sink = KeptFrames::default();
        for (weak, strong) in [("weak", None), ("weak", Some("strong"))] {
            let out = Out::new(&mut sink).with_labels(labels(weak));
            let mut out = out.with_overriding_labels(strong.map(labels).unwrap_or_default());
            out.run(&run).unwrap();
            out.run(&RunRecord::default()).unwrap();
        }
        let expected = ["run", "weak", "strong", "strong"].map(labels);
        assert_eq!(sink.labels, expected);
    }
}
