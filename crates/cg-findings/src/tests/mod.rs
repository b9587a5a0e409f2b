//! Tests with short logs and documents in Valgrind's form.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_reader::{Lines, Options, Out, Reading};
use cg_stream::{Diagnostics, Writer};
use serde_json::Value;

use super::process::Process;
use super::table::FindingTable;
use super::write_processes;

mod document;
mod log;
mod sanitizers;
mod whole;

use document::{XML_END, XML_ERROR, XML_LEAK, document};
use log::{ERROR, PREAMBLE, SUMMARY};

/// The result of reading an input.
struct LogReading {
    records: Vec<Value>,
    warnings: Vec<String>,
    errors: Vec<String>,
}

impl LogReading {
    fn records_of_type(&self, wanted: &str) -> Vec<&Value> {
        let is = |record: &&Value| record["type"] == wanted;
        self.records.iter().filter(is).collect()
    }

    /// Returns `kind: what xcount` for each error, and `kind: bytes+indirect_bytes bytes in blocks` for each leak.
    fn findings(&self) -> Vec<String> {
        self.records
            .iter()
            .filter_map(|record| {
                let kind = record["kind"].as_str()?;
                let cost = &record["cost"];
                Some(match record["type"].as_str() {
                    Some("error") => {
                        format!("{kind}: {} x{}", record["what"].as_str()?, cost["count"])
                    }
                    _ => format!(
                        "{kind}: {}+{} bytes in {}",
                        cost["bytes"], record["indirect_bytes"], cost["blocks"]
                    ),
                })
            })
            .collect()
    }
}

fn read(text: impl Into<Vec<u8>>) -> LogReading {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let received = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |text, is_error| {
        received.lock().unwrap().push((text.to_owned(), is_error));
    });
    let mut output = Vec::new();
    {
        let mut writer = Writer::new(&mut output);
        let mut out = Out::new(&mut writer);
        let text = text.into();
        let is_xml = memchr::memmem::find(&text, b"<valgrindoutput").is_some();
        let mut lines = Lines::new(Box::new(Cursor::new(text)));
        let parse = if is_xml {
            super::parse_documents
        } else {
            super::parse_logs
        };
        let mut reading = Reading {
            source: "log",
            lines: &mut lines,
            options: &Options::default(),
            out: &mut out,
            diagnostics: &mut diagnostics,
        };
        if let Err(error) = parse(&mut reading) {
            diagnostics.error(error.in_file("log"));
        }
        writer.flush().unwrap();
    }
    let records = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let messages = messages.lock().unwrap();
    let texts = |is_error: bool| {
        let matching = messages.iter().filter(|message| message.1 == is_error);
        matching.map(|message| message.0.clone()).collect()
    };
    LogReading {
        records,
        warnings: texts(false),
        errors: texts(true),
    }
}

#[test]
fn a_full_table_writes_nothing_and_is_an_error() {
    let process = Process::default();
    let write = |table: &FindingTable| {
        let mut output = Vec::new();
        let mut writer = Writer::new(&mut output);
        let result = write_processes(
            [(&process, None)].into_iter(),
            table,
            &mut Reading {
                source: "log",
                lines: &mut Lines::new(Box::new(Cursor::new(Vec::new()))),
                options: &Options::default(),
                out: &mut Out::new(&mut writer),
                diagnostics: &mut Diagnostics::to(|_, _| {}),
            },
        );
        drop(writer);
        let lines = output.split(|byte| *byte == b'\n').count() - 1;
        (result.map_err(|error| error.to_string()), lines)
    };
    assert_eq!(write(&FindingTable::new(true)), (Ok(()), 2));
    let message = "more than four billion different names, stacks or rows".to_owned();
    assert_eq!(write(&FindingTable::full()), (Err(message), 0));
}

/// Every prefix is read without a panic, and only the whole input is complete.
#[test]
fn no_prefix_is_complete() {
    let text = [PREAMBLE, ERROR, SUMMARY].concat();
    // The log is complete even without its last line end.
    let text_end = text.len() - 1;
    let xml = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let xml_end = xml.trim_end().len();
    for (input, end) in [(text, text_end), (xml, xml_end)] {
        for length in 0..input.len() {
            let reading = read(&input.as_bytes()[..length]);
            let is_whole = reading.errors.is_empty();
            assert_eq!(is_whole, length >= end, "{:?}", &input[..length]);
            for run in reading.records_of_type("run") {
                assert_eq!(run["complete"], is_whole, "{:?}", &input[..length]);
            }
        }
    }
}
