//! Tables that `xctrace export` writes from recordings of Instruments: `--xpath '//table[@schema="time-profile"]'`,
//! `time-sample`, `cpu-profile` and others.
//!
//! ```text
//! <trace-query-result> <node> <schema …>…</schema>
//!   <row> <sample-time id="1">…</sample-time> <thread id="2" fmt="main  0x3c (demo, pid: 7)">…</thread> <process ref="4"/>
//!         <weight id="9" fmt="1.00 ms">1000000</weight>
//!         <backtrace id="10"> <frame id="11" name="main" addr="0x10"> <binary id="12" name="demo" path="/opt/demo"/>
//!           <source line="24"> <path id="13">/src/main.rs</path> </source> </frame> <frame ref="5"/> </backtrace> </row>
//! ```
//!
//! Each value is written once. Further uses in the document refer to its number (`ref`). Frames are in order from the
//! innermost. A row is a sample. Its weight is in nanoseconds; in a CPU profile (`cycle-weight`) it is in cycles.

use std::io::BufReader;

use cg_collections::maps::Map;
use cg_reader::number::whole_u64;
use cg_reader::{Error, Head, Lines, Reading};
use cg_stream::record::FrameMarks;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::table::{FrameId, FrameParts, NameId, StackKey, StackLinkId, StackTable};
use super::write;

const SAMPLES: &str = "samples";

/// Returns true if an input begins like the output of `xctrace export`.
pub fn is_export(head: &Head) -> bool {
    let beginning = &head.bytes[..head.bytes.len().min(4096)];
    beginning.trim_ascii_start().starts_with(b"<")
        && memchr::memmem::find(beginning, b"<trace-query-result").is_some()
}

/// Reads a table that `xctrace` exported: a [`cg_reader::ReadRecords`].
pub fn parse(reading: &mut Reading) -> Result<(), Error> {
    let mut run = reading.run("xctrace");
    let mut export = Export {
        table: StackTable::new([SAMPLES]),
        demangle: reading.options.demangle,
        values: Map::default(),
        open: Vec::new(),
        row: None,
    };
    let read = export.read(reading.lines);
    let mut order: Vec<usize> = (1..export.table.events().len()).collect();
    order.push(0);
    export.table.reorder_events(&order);
    for event in export.table.events() {
        if event == "weight" {
            let units = &mut run.sampling.units;
            units.insert(event.clone(), "ns".to_owned());
        }
    }
    write::write(run, &export.table, read, reading.out)
}

/// A value that later elements may refer to.
#[derive(Clone, Copy)]
enum XmlValue {
    Text(NameId),
    Number(u64),
    Frame(FrameId),
    Stack(Option<StackLinkId>),
    Thread(XctraceThread),
}

/// The thread and the process of a sample.
#[derive(Clone, Copy, Default)]
struct XctraceThread {
    name: Option<NameId>,
    process: Option<NameId>,
    pid: Option<u64>,
}

/// An open element.
struct Element {
    name: Vec<u8>,
    id: Option<u64>,
    text: Vec<u8>,
    /// The value of a frame, a binary or a source.
    parts: FrameParts,
    /// The value of a thread or a process.
    thread: XctraceThread,
    /// The frames of a backtrace, innermost first.
    frames: Vec<FrameId>,
    /// The stack of a `tagged-backtrace`.
    stack: Option<Option<StackLinkId>>,
}

/// The state of reading a row.
#[derive(Default)]
struct XctraceSample {
    stack: Option<StackLinkId>,
    thread: XctraceThread,
    /// The event of the weight, and the weight.
    weight: Option<(&'static str, u64)>,
}

/// The state of reading a document.
struct Export {
    table: StackTable,
    demangle: bool,
    values: Map<u64, XmlValue>,
    open: Vec<Element>,
    row: Option<XctraceSample>,
}

impl Export {
    fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let mut reader = quick_xml::Reader::from_reader(BufReader::new(lines));
        let mut buffer = Vec::new();
        let mut has_root = false;
        loop {
            buffer.clear();
            let at = reader.buffer_position();
            let malformed = |message: String| Error::whole(format!("at byte {at}: {message}"));
            let event = reader.read_event_into(&mut buffer);
            match event.map_err(|error| match error {
                quick_xml::Error::Io(error) => {
                    Error::Input(std::io::Error::new(error.kind(), error.to_string()))
                }
                other => malformed(other.to_string()),
            })? {
                Event::Start(start) => {
                    has_root = true;
                    self.start(&start).map_err(|error| at_byte(error, at))?;
                }
                Event::Empty(start) => {
                    self.start(&start).map_err(|error| at_byte(error, at))?;
                    self.end().map_err(|error| at_byte(error, at))?;
                }
                Event::End(_) => self.end().map_err(|error| at_byte(error, at))?,
                Event::Text(text) => {
                    if let Some(element) = self.open.last_mut() {
                        element.text.extend_from_slice(&text);
                    }
                }
                Event::GeneralRef(reference) => {
                    let name = reference.decode().unwrap_or_default().into_owned();
                    let resolved = quick_xml::escape::resolve_predefined_entity(&name);
                    if let (Some(element), Some(text)) = (self.open.last_mut(), resolved) {
                        element.text.extend_from_slice(text.as_bytes());
                    }
                }
                Event::Eof if has_root && self.open.is_empty() => return Ok(()),
                Event::Eof => {
                    return Err(malformed(
                        "expected the end of <trace-query-result>, found the end of the input"
                            .to_owned(),
                    ));
                }
                _ => {}
            }
        }
    }

    fn start(&mut self, start: &BytesStart) -> Result<(), Error> {
        let name = start.local_name().as_ref().to_vec();
        let attribute = |wanted: &str| -> Result<Option<Vec<u8>>, Error> {
            let found = start
                .try_get_attribute(wanted)
                .map_err(|error| Error::whole(error.to_string()))?;
            let Some(found) = found else { return Ok(None) };
            let value = found
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| Error::whole(error.to_string()))?;
            Ok(Some(value.into_owned().into_bytes()))
        };
        let number = |text: Option<Vec<u8>>| text.and_then(|text| whole_u64(&text));
        if name == b"row" {
            self.row = Some(XctraceSample::default());
        }
        let mut element = Element {
            id: number(attribute("id")?),
            text: Vec::new(),
            parts: FrameParts::default(),
            thread: XctraceThread::default(),
            frames: Vec::new(),
            stack: None,
            name,
        };
        if let Some(reference) = attribute("ref")? {
            let value = whole_u64(&reference)
                .and_then(|id| self.values.get(&id))
                .copied();
            self.open.push(element);
            if let Some(value) = value {
                self.take(value)?;
            } else if self.is_wanted() {
                return Err(Error::whole(format!(
                    "ref=\"{}\" does not refer to an earlier value",
                    String::from_utf8_lossy(&reference)
                )));
            }
            return Ok(());
        }
        match element.name.as_slice() {
            b"frame" => {
                let name = attribute("name")?.unwrap_or_default();
                element.parts.name = self.table.function(&name, self.demangle)?;
            }
            b"binary" => {
                let path = attribute("path")?.filter(|path| !path.is_empty());
                let path = match path {
                    Some(path) => path,
                    None => attribute("name")?.unwrap_or_default(),
                };
                element.parts.obj = self.table.text_unless_empty(&path)?;
                element.parts.marks = FrameMarks {
                    kernel: path.starts_with(b"/System/Library/Kernels/"),
                    ..FrameMarks::default()
                };
            }
            b"source" => element.parts.line = number(attribute("line")?).filter(|line| *line > 0),
            b"thread" => {
                let text = attribute("fmt")?.unwrap_or_default();
                let end = memchr::memmem::rfind(&text, b" 0x").unwrap_or(text.len());
                element.thread.name = self.table.text_unless_empty(text[..end].trim_ascii())?;
            }
            b"process" => {
                let text = attribute("fmt")?.unwrap_or_default();
                let end = memchr::memmem::rfind(&text, b" (").unwrap_or(text.len());
                element.thread.process = self.table.text_unless_empty(&text[..end])?;
            }
            _ => {}
        }
        self.open.push(element);
        Ok(())
    }

    /// Returns true if the value of the innermost open element is used.
    fn is_wanted(&self) -> bool {
        let wanted: [&[u8]; 9] = [
            b"frame",
            b"binary",
            b"path",
            b"backtrace",
            b"tagged-backtrace",
            b"thread",
            b"process",
            b"weight",
            b"cycle-weight",
        ];
        let last = self.open.last();
        last.is_some_and(|element| wanted.contains(&element.name.as_slice()))
    }

    /// Ends the innermost open element: stores its value under its id, and passes the value to the enclosing element or row.
    fn end(&mut self) -> Result<(), Error> {
        let Some(element) = self.open.last() else {
            return Ok(());
        };
        let text = element.text.trim_ascii();
        let value = match element.name.as_slice() {
            b"row" => {
                self.open.pop();
                return self.end_row();
            }
            b"frame" => Some(XmlValue::Frame(self.table.frame(element.parts)?)),
            b"path" => self.table.text_unless_empty(text)?.map(XmlValue::Text),
            b"pid" | b"weight" | b"cycle-weight" => whole_u64(text).map(XmlValue::Number),
            b"thread" | b"process" => Some(XmlValue::Thread(element.thread)),
            b"backtrace" => {
                let frames = &element.frames;
                Some(XmlValue::Stack(self.table.stack(frames)?))
            }
            b"tagged-backtrace" => element.stack.map(XmlValue::Stack),
            _ => None,
        };
        // A reference has no value here: its start tag passed the value on.
        let Some(element) = self.open.last() else {
            return Ok(());
        };
        let (id, is_binary, parts) = (element.id, element.name == b"binary", element.parts);
        if is_binary {
            let frame = XmlValue::Frame(self.table.frame(parts)?);
            self.values.extend(id.map(|id| (id, frame)));
            if id.is_some() {
                self.take(frame)?;
            }
        } else if let Some(value) = value
            && let Some(id) = id
        {
            self.values.insert(id, value);
            self.take(value)?;
        }
        let ended = self.open.pop();
        if let (Some(ended), Some(outer)) = (ended, self.open.last_mut())
            && ended.name == b"source"
        {
            outer.parts.file = ended.parts.file;
            outer.parts.line = ended.parts.line;
        }
        Ok(())
    }

    /// Passes the value of the innermost open element to the enclosing element or row.
    fn take(&mut self, value: XmlValue) -> Result<(), Error> {
        let Some((element, outer)) = self.open.split_last_mut() else {
            return Ok(());
        };
        let outer_name = outer.last().map_or(&b""[..], |outer| &outer.name);
        let is_in_row = outer_name == b"row";
        let outer = outer.last_mut();
        match (element.name.as_slice(), value) {
            (b"binary", XmlValue::Frame(binary)) => {
                let binary = self.table.frames()[cg_collections::intern::Id::index(binary)];
                if let Some(outer) = outer {
                    outer.parts.obj = binary.obj;
                    outer.parts.marks = binary.marks;
                }
            }
            (b"frame", XmlValue::Frame(frame)) => {
                if let Some(outer) = outer {
                    outer.frames.push(frame);
                }
            }
            (b"path", XmlValue::Text(path)) => {
                if let Some(outer) = outer {
                    outer.parts.file = Some(path);
                }
            }
            (b"pid", XmlValue::Number(pid)) => {
                if let Some(outer) = outer {
                    outer.thread.pid = Some(pid);
                }
            }
            (b"process", XmlValue::Thread(process)) => {
                let thread = match (outer, &mut self.row) {
                    (_, Some(row)) if is_in_row => &mut row.thread,
                    (Some(outer), _) => &mut outer.thread,
                    _ => return Ok(()),
                };
                thread.process = process.process;
                thread.pid = process.pid;
            }
            (b"thread", XmlValue::Thread(thread)) => {
                if let (true, Some(row)) = (is_in_row, &mut self.row) {
                    row.thread = thread;
                }
            }
            (b"backtrace" | b"tagged-backtrace", XmlValue::Stack(stack)) => match &mut self.row {
                Some(row) if is_in_row => row.stack = stack,
                _ => {
                    if let Some(outer) = outer {
                        outer.stack = Some(stack);
                    }
                }
            },
            (b"weight", XmlValue::Number(weight)) => {
                if let (true, Some(row)) = (is_in_row, &mut self.row) {
                    row.weight = Some(("weight", weight));
                }
            }
            (b"cycle-weight", XmlValue::Number(weight)) => {
                if let (true, Some(row)) = (is_in_row, &mut self.row) {
                    row.weight = Some(("cycles", weight));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), Error> {
        let Some(sample) = self.row.take() else {
            return Ok(());
        };
        let row = self.table.row(StackKey {
            stack: sample.stack,
            thread: sample.thread.name,
            process: sample.thread.process,
            pid: sample.thread.pid,
            ..StackKey::default()
        })?;
        self.table.add(row, 0, 1);
        if let Some((event, weight)) = sample.weight {
            let event = self.table.event(event);
            self.table.add(row, event, weight.into());
        }
        Ok(())
    }
}

/// Adds the position in the document to an error without a position.
fn at_byte(error: Error, at: u64) -> Error {
    match error {
        Error::Malformed {
            line: None,
            message,
        } => Error::whole(format!("at byte {at}: {message}")),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use cg_reader::Options;
    use parsed::{check_all_prefixes, shown_stacks};

    const TEXT: &str = include_str!("../../../tests/data/printouts/xctrace.xml");

    #[test]
    fn rows_are_samples_with_a_weight() {
        let parsed = parsed::read(super::parse, TEXT.as_bytes(), &Options::default());
        assert_eq!(
            shown_stacks(&parsed),
            [
                "3500000 main thread: demo::main@/opt/demo<start@/usr/lib/dyld",
                "2000000 main thread: demo::f@/opt/demo",
                "1000000 main thread:",
                "1000000 main thread: 0x1047b15cd",
                "1000000 main thread: dyld4::prepare(dyld4::APIs&)@/usr/lib/dyld<start@/usr/lib/dyld",
            ]
        );
        assert!(!parsed.has_errors, "{:?}", parsed.messages);
        let run: serde_json::Value = serde_json::from_str(&parsed.records[0]).unwrap();
        assert_eq!(
            run["total"],
            serde_json::json!({"weight": 8_500_000, "samples": 7})
        );
        let main: serde_json::Value = serde_json::from_str(&parsed.records[1]).unwrap();
        assert_eq!(
            (&main["file"], &main["line"]),
            (&"/src/main.rs".into(), &24.into())
        );
        assert_eq!(
            (&main["process"], &main["pid"]),
            (&"demo".into(), &21790.into())
        );
    }

    #[test]
    fn a_dangling_reference_is_an_error() {
        let text = TEXT.replace("<backtrace ref=\"28\"/>", "<backtrace ref=\"99\"/>");
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert!(parsed.messages[0].ends_with("ref=\"99\" does not refer to an earlier value"));
        assert_eq!(parsed.records_of_type("stack").len(), 3);
    }

    #[test]
    fn no_prefix_panics_and_no_error_is_silent() {
        check_all_prefixes(super::parse, TEXT.as_bytes(), &Options::default());
    }
}
