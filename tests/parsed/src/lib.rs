//! Results of readers, for the tests of the crates with readers.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_reader::{Error, Lines, Options, Out, ReadRecords, Reading};
use cg_stream::{Diagnostics, Writer};

/// The result of parsing a text.
pub struct Parsed {
    /// The records, one line each.
    pub records: Vec<String>,
    /// The errors and warnings. They call the file `in`.
    pub messages: Vec<String>,
    /// True if an error was reported, which makes the exit status 2.
    pub has_errors: bool,
}

impl Parsed {
    /// Returns the records of a type, in order, without their prefix `{"type":"…",`.
    pub fn records_of_type(&self, kind: &str) -> Vec<&str> {
        let prefix = format!("{{\"type\":\"{kind}\",");
        self.records
            .iter()
            .filter_map(|record| record.strip_prefix(&prefix))
            .collect()
    }

    /// Returns true if the stream has an `end` record.
    pub fn is_whole(&self) -> bool {
        self.records
            .last()
            .is_some_and(|record| record.starts_with("{\"type\":\"end\""))
    }
}

/// Reads bytes as an input called `in`.
pub fn read(reader: ReadRecords, text: &[u8], options: &Options) -> Parsed {
    parsed(|writer, diagnostics| {
        let mut lines = Lines::new(Box::new(Cursor::new(text.to_vec())));
        reader(&mut Reading {
            source: "in",
            lines: &mut lines,
            options,
            out: &mut Out::new(writer),
            diagnostics,
        })
    })
}

/// Runs a function that reads an input called `in`, and collects its records and messages.
pub fn parsed(
    read: impl FnOnce(&mut Writer<&mut Vec<u8>>, &mut Diagnostics) -> Result<(), Error>,
) -> Parsed {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |message, _| {
        sink.lock().unwrap().push(message.to_owned());
    });
    let mut output = Vec::new();
    let mut writer = Writer::new(&mut output);
    match read(&mut writer, &mut diagnostics) {
        Err(Error::Output(error)) => panic!("{error}"),
        Err(error) => diagnostics.error(error.in_file("in")),
        Ok(()) => {}
    }
    writer.flush().unwrap();
    let has_errors = diagnostics.has_errors();
    Parsed {
        records: String::from_utf8(output)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
        messages: messages.lock().unwrap().clone(),
        has_errors,
    }
}

/// Formats the stacks of a result, in the order of the stream, innermost frame first: `COUNT THREAD: fn@obj[marks]<…`. COUNT
/// is the first event's count.
pub fn shown_stacks(parsed: &Parsed) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let shown = parsed.records_of_type("stack").into_iter().map(|record| {
        let record: serde_json::Value = serde_json::from_str(&format!("{{{record}")).unwrap();
        let frames = record["stack"].as_array().unwrap().iter().map(|frame| {
            let mut shown = text(&frame["fn"]);
            if let Some(obj) = frame["obj"].as_str() {
                shown += &format!("@{obj}");
            }
            for mark in ["kernel", "jit", "inlined", "waker"] {
                if frame[mark] == true {
                    shown += &format!("[{mark}]");
                }
            }
            shown
        });
        let frames: Vec<String> = frames.collect();
        let count = record["cost"].as_object().unwrap().iter().next();
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        let first = run["events"][0].as_str().unwrap();
        let count = count.map_or(0, |_| record["cost"][first].as_i64().unwrap_or(0));
        let thread = record["thread"].as_str().map(|name| format!(" {name}"));
        format!(
            "{count}{}: {}",
            thread.unwrap_or_default(),
            frames.join("<")
        )
        .trim_end()
        .to_owned()
    });
    shown.collect()
}

/// Checks the law for every format: parsing a prefix of a file never panics, and its stream has an `end` exactly if no error
/// was reported.
pub fn check_all_prefixes(reader: ReadRecords, text: &[u8], options: &Options) {
    for length in 0..text.len() {
        let parsed = read(reader, &text[..length], options);
        assert_eq!(
            parsed.is_whole(),
            !parsed.has_errors,
            "prefix of {length} bytes: {:?}",
            parsed.messages
        );
    }
}
