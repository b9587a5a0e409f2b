//! The output of `perf data convert --to-json`: an object with `headers` and a list of `samples`.
//!
//! The file has neither events nor periods (`tools/perf/util/data-convert-json.c`), so it counts samples. perf writes only
//! addresses for frames without symbols, and only names without directories for objects.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cg_reader::json::{JsonText, Scanner, Window, bytes_or_empty};
use cg_reader::{Error, Head, Options, Reading};
use cg_stream::record::RunRecord;
use serde::Deserialize;
use serde_json::Value;

use super::chain::PerfChain;
use super::frame::PerfFrames;
use super::header::set_run_field;
use super::recording::{Recording, SAMPLES};
use crate::table::{NameId, StackKey, StackTable};

/// perf's name for a function without a symbol, or an object that it does not know.
const UNKNOWN: &[u8] = b"[unknown]";

/// Returns true if a document is a recording that perf has converted.
pub fn is_json(head: &Head) -> bool {
    Scanner::new(head.bytes).has_any_key(&[b"linux-perf-json-version"])
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct PerfJsonSample<'a> {
    timestamp: Option<u64>,
    pid: Option<i64>,
    tid: Option<i64>,
    comm: Option<JsonText<'a>>,
    #[serde(default)]
    callchain: Vec<PerfJsonFrame<'a>>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct PerfJsonFrame<'a> {
    ip: Cow<'a, str>,
    symbol: Option<JsonText<'a>>,
    dso: Option<JsonText<'a>>,
}

/// Reads what `perf data convert --to-json` writes: a [`cg_reader::ReadRecords`].
pub fn parse_json(reading: &mut Reading) -> Result<(), Error> {
    let mut file = JsonRecording::new(reading.run("perf"), reading.options);
    let read = file.read(&mut Window::new(reading.lines));
    let recording = Recording {
        run: file.run,
        table: file.table,
        events: Vec::new(),
        threads: file.threads,
        duration: file.times.map(|(first, last)| last - first),
        begin: file.times.map(|(first, _)| first),
    };
    recording.write(read, reading.out)
}

/// The state of reading a file.
struct JsonRecording {
    run: RunRecord,
    table: StackTable,
    frames: PerfFrames,
    chain: PerfChain,
    threads: BTreeMap<(Option<u64>, Option<u64>), NameId>,
    /// The times of the first and the last sample.
    times: Option<(u64, u64)>,
    keeps_times: bool,
}

impl JsonRecording {
    fn new(run: RunRecord, options: &Options) -> JsonRecording {
        JsonRecording {
            run,
            table: StackTable::new([SAMPLES]),
            frames: PerfFrames::new(options.demangle),
            chain: PerfChain::default(),
            threads: BTreeMap::new(),
            times: None,
            keeps_times: options.times,
        }
    }

    fn read(&mut self, window: &mut Window) -> Result<(), Error> {
        window.expect(b'{')?;
        while let Some(key) = window.next_key()? {
            match &key[..] {
                b"headers" => {
                    let length = window.load_value()?;
                    self.describe(&window.read(length)?);
                    window.consume(length);
                }
                b"samples" => {
                    window.expect(b'[')?;
                    while window.next_element()? {
                        let length = window.load_value()?;
                        let sample: PerfJsonSample = window.read(length)?;
                        let line = window.line();
                        self.add(&sample).map_err(|error| error.or_at(line))?;
                        window.consume(length);
                    }
                }
                _ => window.skip_value()?,
            }
        }
        window.expect_end()
    }

    /// Adds the facts about the run to its record, as for the header of `perf script`.
    fn describe(&mut self, headers: &Value) {
        for (theirs, ours) in [
            ("hostname", "hostname"),
            ("os-release", "os release"),
            ("perf-version", "perf version"),
            ("arch", "arch"),
            ("cpu-desc", "cpudesc"),
        ] {
            if let Some(text) = headers.get(theirs).and_then(Value::as_str) {
                set_run_field(ours, text, &mut self.run);
            }
        }
        if let Some(words) = headers.get("cmdline").and_then(Value::as_array) {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            set_run_field("cmdline", &words.join(" "), &mut self.run);
        }
    }

    fn add(&mut self, sample: &PerfJsonSample) -> Result<(), Error> {
        self.chain.clear();
        for frame in &sample.callchain {
            let address = frame.ip.strip_prefix("0x").unwrap_or(&frame.ip);
            let address = u64::from_str_radix(address, 16).map_err(|_| {
                Error::unexpected_text("the address of a frame", frame.ip.as_bytes())
            })?;
            let known = |text: &Option<JsonText<'_>>| match bytes_or_empty(text) {
                [] => UNKNOWN.to_vec(),
                text => text.to_vec(),
            };
            let (symbol, object) = (known(&frame.symbol), known(&frame.dso));
            let found = (self.frames).intern(address, &symbol, &object, &mut self.table)?;
            self.chain.push(found, &self.frames);
        }
        let chain = self.chain.finish(&mut self.table)?;
        let stack = self.table.stack(chain.frames)?;
        let id = |id: Option<i64>| id.and_then(|id| u64::try_from(id).ok());
        let (pid, tid) = (id(sample.pid), id(sample.tid));
        let thread = self.table.text_unless_empty(bytes_or_empty(&sample.comm))?;
        if let Some(name) = thread {
            self.threads.insert((pid, tid), name);
        }
        if let Some(time) = sample.timestamp {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let row = self.table.row(StackKey {
            stack,
            thread,
            tid,
            pid,
            cut: chain.is_cut,
            time: sample.timestamp.filter(|_| self.keeps_times),
            ..StackKey::default()
        })?;
        self.table.add(row, 0, 1);
        Ok(())
    }
}
