//! Where readers of formats hand their rows.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use cg_stream::Framing;
use cg_stream::record::{DiffRecord, RecordType, RunRecord};
use cg_stream::rows::{Row, RowSink, RowTables};

use crate::error::Error;

/// A sink, the labels that all `run` records get, and counts of what was handed on.
pub struct Out<'a> {
    sink: &'a mut dyn RowSink,
    /// Labels that a run's own labels of the same key override.
    labels: BTreeMap<String, String>,
    /// Labels that override a run's own.
    overriding_labels: BTreeMap<String, String>,
    framing: Framing,
    /// Records before the last `run`.
    records_before: u64,
    /// Whether the input ended with an error.
    has_failed: Option<Rc<Cell<bool>>>,
}

impl<'a> Out<'a> {
    /// Hands rows to this sink, without labels.
    pub fn new(sink: &'a mut dyn RowSink) -> Out<'a> {
        Out {
            sink,
            labels: BTreeMap::new(),
            overriding_labels: BTreeMap::new(),
            framing: Framing::default(),
            records_before: 0,
            has_failed: None,
        }
    }

    /// The same; all `run` records have these labels besides their own.
    pub fn with_labels(self, labels: BTreeMap<String, String>) -> Out<'a> {
        Out { labels, ..self }
    }

    /// The same; all `run` records have these labels in the place of others of the same key.
    pub fn with_overriding_labels(self, overriding_labels: BTreeMap<String, String>) -> Out<'a> {
        Out {
            overriding_labels,
            ..self
        }
    }

    /// Sections that end behind an error of the input, which this tells of, are cut short.
    pub fn watch(&mut self, has_failed: Rc<Cell<bool>>) {
        self.has_failed = Some(has_failed);
    }

    /// What was handed on so far.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Begins a section.
    pub fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
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

    /// Hands on the hint that so many rows of a type follow.
    pub fn expect(&mut self, of: RecordType, rows: usize) {
        self.sink.expect(of, rows);
    }

    /// Hands on a row, whose ids are those of these tables.
    #[inline]
    pub fn row<'r>(
        &mut self,
        row: impl Into<Row<'r>>,
        tables: &dyn RowTables,
    ) -> Result<(), Error> {
        self.framing.records += 1;
        Ok(self.sink.row(&row.into(), tables)?)
    }

    /// Hands on a row of a comparison.
    pub fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        self.framing.records += 1;
        Ok(self.sink.diff(record)?)
    }

    /// Ends a section that is whole.
    pub fn end(&mut self) -> Result<(), Error> {
        if self
            .has_failed
            .as_ref()
            .is_some_and(|has_failed| has_failed.get())
        {
            return self.cut(None).map(drop);
        }
        self.framing.ends += 1;
        Ok(self.sink.end(self.framing.records - self.records_before)?)
    }

    /// Leaves a section without its end, for this reason if one is known. True if the sink reports the reason itself.
    pub fn cut(&mut self, why: Option<&str>) -> Result<bool, Error> {
        let is_taken = self.sink.cut(why)?;
        // Who says the reason has come to an end with the section.
        self.framing.ends += u64::from(is_taken);
        Ok(is_taken)
    }
}
