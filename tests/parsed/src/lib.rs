//! What a reader makes of a text: for the tests of the crates that read.
#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_reader::{Error, Lines, Options, Out, ReadRecords, Reading};
use cg_stream::{Diagnostics, Writer};

/// What a parse of some text came to.
pub struct Parsed {
    /// The records, a line each.
    pub records: Vec<String>,
    /// What was said, trouble and warnings alike, with the file called `in`.
    pub messages: Vec<String>,
    /// Whether some of it was trouble, which is exit status 2.
    pub trouble: bool,
}

impl Parsed {
    /// The records of a type, in order, without `{"type":"…",` in front.
    pub fn of(&self, kind: &str) -> Vec<&str> {
        let prefix = format!("{{\"type\":\"{kind}\",");
        self.records
            .iter()
            .filter_map(|record| record.strip_prefix(&prefix))
            .collect()
    }

    /// True where the stream has its `end`.
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

/// What this reading of an input called `in` comes to.
pub fn parsed(
    read: impl FnOnce(&mut Writer<&mut Vec<u8>>, &mut Diagnostics) -> Result<(), Error>,
) -> Parsed {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |message, _| {
        said.lock().unwrap().push(message.to_owned());
    });
    let mut output = Vec::new();
    let mut writer = Writer::new(&mut output);
    match read(&mut writer, &mut diagnostics) {
        Err(Error::Output(error)) => panic!("{error}"),
        Err(error) => diagnostics.trouble(error.in_file("in")),
        Ok(()) => {}
    }
    writer.flush().unwrap();
    let trouble = diagnostics.had_trouble();
    Parsed {
        records: String::from_utf8(output)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
        messages: messages.lock().unwrap().clone(),
        trouble,
    }
}

/// The stacks of a parse, innermost frame first, in the order they were written: `COUNT THREAD: fn@obj[marks]<…`, with the
/// first event's count.
pub fn shown_stacks(parsed: &Parsed) -> Vec<String> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let shown = parsed.of("stack").into_iter().map(|record| {
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

/// The law for every format: a prefix of a file is a result or an error, and never a panic; and where it is no trouble,
/// its stream is whole.
pub fn check_all_prefixes(reader: ReadRecords, text: &[u8], options: &Options) {
    for length in 0..text.len() {
        let parsed = read(reader, &text[..length], options);
        assert_eq!(
            parsed.is_whole(),
            !parsed.trouble,
            "prefix of {length} bytes: {:?}",
            parsed.messages
        );
    }
}
