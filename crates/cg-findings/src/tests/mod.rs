//! Logs and documents as Valgrind writes them, short ones, beside what is read of them.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_reader::{Lines, Options, Out, Reading};
use cg_stream::{Diagnostics, Writer};
use serde_json::Value;

use super::hand_on;
use super::process::Process;
use super::table::FindingTable;

mod document;
mod log;
mod sanitizers;
mod whole;

use document::{XML_END, XML_ERROR, XML_LEAK, document};
use log::{ERROR, PREAMBLE, SUMMARY};

/// What is read of an input.
struct LogReading {
    records: Vec<Value>,
    warnings: Vec<String>,
    troubles: Vec<String>,
}

impl LogReading {
    fn of_type(&self, wanted: &str) -> Vec<&Value> {
        let is = |record: &&Value| record["type"] == wanted;
        self.records.iter().filter(is).collect()
    }

    /// `kind what count`, or `kind bytes blocks indirect_bytes`, for each finding.
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
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let mut diagnostics = Diagnostics::to(move |text, is_trouble| {
        heard.lock().unwrap().push((text.to_owned(), is_trouble));
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
            diagnostics.trouble(error.in_file("log"));
        }
        writer.flush().unwrap();
    }
    let records = output
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let said = said.lock().unwrap();
    let told = |trouble: bool| {
        let is = |said: &&(String, bool)| said.1 == trouble;
        said.iter().filter(is).map(|said| said.0.clone()).collect()
    };
    LogReading {
        records,
        warnings: told(false),
        troubles: told(true),
    }
}

#[test]
fn nothing_is_handed_on_where_there_was_no_room_for_all_of_it() {
    let process = Process::default();
    let handed_on = |table: &FindingTable| {
        let mut output = Vec::new();
        let mut writer = Writer::new(&mut output);
        let result = hand_on(
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
    assert_eq!(handed_on(&FindingTable::new(true)), (Ok(()), 2));
    let message = "more than four billion different names, stacks or rows".to_owned();
    assert_eq!(handed_on(&FindingTable::full()), (Err(message), 0));
}

/// Every prefix is read without a panic, and none is whole but the whole one.
#[test]
fn no_prefix_is_whole() {
    let text = [PREAMBLE, ERROR, SUMMARY].concat();
    // The line's end says nothing that is not known without it.
    let text_end = text.len() - 1;
    let xml = document(&[XML_ERROR, XML_LEAK, XML_END].concat());
    let xml_end = xml.trim_end().len();
    for (input, end) in [(text, text_end), (xml, xml_end)] {
        for length in 0..input.len() {
            let reading = read(&input.as_bytes()[..length]);
            let is_whole = reading.troubles.is_empty();
            assert_eq!(is_whole, length >= end, "{:?}", &input[..length]);
            for run in reading.of_type("run") {
                assert_eq!(run["complete"], is_whole, "{:?}", &input[..length]);
            }
        }
    }
}
