//! Records of costs from names that are rendered once and counts that stand in a table.
//!
//! A profile of instructions is millions of `line` records under a few thousand names. Making a record of each and
//! serialising that costs eight times what copying its names and writing its numbers does. These structs are written as
//! the record of the same type is that says the same; a test compares the two.

use std::marker::PhantomData;
use std::ops::Range;

use crate::intern::Id;
use crate::record::{Count, Frame, Name};

/// Names as they stand in records, under the ids of the table that they are from.
pub struct RenderedNames<I> {
    json: Vec<u8>,
    /// Where each name is; empty for one that was not rendered.
    places: Vec<Range<usize>>,
    id: PhantomData<I>,
}

impl<I> Default for RenderedNames<I> {
    fn default() -> RenderedNames<I> {
        RenderedNames {
            json: Vec::new(),
            places: Vec::new(),
            id: PhantomData,
        }
    }
}

impl<I: Id> RenderedNames<I> {
    /// Renders a name, unless that was done before.
    pub fn render<'n>(&mut self, id: I, name: impl FnOnce() -> Name<'n>) {
        let index = id.index();
        if self.places.len() <= index {
            self.places.resize(index + 1, 0..0);
        }
        if self.places[index].is_empty() {
            let start = self.json.len();
            // A string in memory is something that JSON always has.
            let _ = serde_json::to_writer(&mut self.json, &name());
            self.places[index] = start..self.json.len();
        }
    }

    /// A name that was rendered.
    #[inline]
    pub fn get(&self, id: I) -> RenderedName<'_> {
        RenderedName(&self.json[self.places[id.index()].clone()])
    }
}

/// A name as it stands in a record.
#[derive(Clone, Copy)]
pub struct RenderedName<'a>(&'a [u8]);

/// Frames as they stand in a record.
pub struct RenderedStack(Vec<u8>);

impl RenderedStack {
    /// Renders frames.
    pub fn new(frames: &[Frame]) -> RenderedStack {
        let mut json = Vec::new();
        // As in [`RenderedNames::render`].
        let _ = serde_json::to_writer(&mut json, frames);
        RenderedStack(json)
    }
}

/// The names of a function as they stand in a record.
#[derive(Clone, Copy, Default)]
pub struct RenderedFunction<'a> {
    /// The function's name.
    pub name: Option<RenderedName<'a>>,
    /// Its file; in a `line` record that of the line.
    pub file: Option<RenderedName<'a>>,
    /// The ELF object.
    pub obj: Option<RenderedName<'a>>,
}

/// The part and the thread that a record is of, where they are kept apart.
#[derive(Clone, Copy, Default)]
pub struct RenderedLabels {
    /// The part's number.
    pub part: Option<u64>,
    /// The thread's number.
    pub thread: Option<u64>,
}

/// The names of events as they stand in counts.
pub struct RenderedEvents(Vec<Vec<u8>>);

impl RenderedEvents {
    /// Renders the events of a run.
    pub fn new(events: &[String]) -> RenderedEvents {
        let render = |event: &String| {
            let mut json = Vec::new();
            // As in [`RenderedNames::render`].
            let _ = serde_json::to_writer(&mut json, event);
            json.push(b':');
            json
        };
        RenderedEvents(events.iter().map(render).collect())
    }
}

/// A row of a cost table: a cell an event.
#[derive(Clone, Copy)]
pub struct RenderedCounts<'a> {
    /// The events.
    pub events: &'a RenderedEvents,
    /// Their counts.
    pub cells: &'a [u64],
    /// Whether the cells are numbers in two's complement.
    pub is_signed: bool,
}

/// A `fn` record.
pub struct RenderedFn<'a> {
    /// The function.
    pub function: RenderedFunction<'a>,
    /// Part and thread.
    pub labels: RenderedLabels,
    /// As in the record.
    pub calls: Option<u64>,
    /// Self cost.
    pub cost: RenderedCounts<'a>,
    /// Inclusive cost, where there is one.
    pub incl: Option<RenderedCounts<'a>>,
    /// As in the record.
    pub cycle: Option<u64>,
}

/// A `line` record.
pub struct RenderedLine<'a> {
    /// The function, with the file of the line.
    pub function: RenderedFunction<'a>,
    /// The line.
    pub line: u64,
    /// The instruction's address.
    pub addr: Option<u64>,
    /// The inlined functions that the instruction is of, where there are any.
    pub inlined: Option<&'a RenderedStack>,
    /// Part and thread.
    pub labels: RenderedLabels,
    /// Self cost.
    pub cost: RenderedCounts<'a>,
    /// Inclusive cost, where there is one.
    pub incl: Option<RenderedCounts<'a>>,
}

/// A `call` record.
pub struct RenderedCall<'a> {
    /// The calling function.
    pub function: RenderedFunction<'a>,
    /// The file of the call site, where it is another one.
    pub site: Option<RenderedName<'a>>,
    /// The line of the call site.
    pub line: u64,
    /// The address of the call instruction.
    pub addr: Option<u64>,
    /// The inlined functions that the call leaves from, where there are any.
    pub inlined: Option<&'a RenderedStack>,
    /// Part and thread.
    pub labels: RenderedLabels,
    /// The called function.
    pub callee: RenderedFunction<'a>,
    /// As in the record.
    pub calls: u64,
    /// Inclusive cost of the calls.
    pub incl: RenderedCounts<'a>,
}

/// A `stack` record without its stack.
pub struct RenderedStackRecord<'a> {
    /// The function of the frame to blame.
    pub function: RenderedFunction<'a>,
    /// Its line.
    pub line: Option<u64>,
    /// The thread's name.
    pub thread_name: Option<RenderedName<'a>>,
    /// The process's name.
    pub process: Option<RenderedName<'a>>,
    /// As in the record.
    pub pid: Option<u64>,
    /// As in the record.
    pub estimated: bool,
    /// As in the record.
    pub cut: bool,
    /// The events.
    pub events: &'a RenderedEvents,
    /// Self cost, a count an event.
    pub cost: &'a [Count],
}

/// What a [`Writer`](super::Writer) writes from rendered pieces.
pub trait RenderedRecord {
    /// What the record begins with.
    #[doc(hidden)]
    const HEAD: &'static [u8];
    /// Writes the fields behind `type`, in the order of the record's declaration.
    #[doc(hidden)]
    fn put(&self, fields: &mut FieldWriter<'_>);
}

impl RenderedRecord for RenderedFn<'_> {
    const HEAD: &'static [u8] = b"{\"type\":\"fn\"";

    #[inline]
    fn put(&self, fields: &mut FieldWriter<'_>) {
        fields.function(self.function);
        fields.labels(self.labels);
        fields.number(b"calls", self.calls);
        fields.counts(b"cost", self.cost);
        if let Some(incl) = self.incl {
            fields.counts(b"incl", incl);
        }
        fields.number(b"cycle", self.cycle);
    }
}

impl RenderedRecord for RenderedLine<'_> {
    const HEAD: &'static [u8] = b"{\"type\":\"line\"";

    #[inline]
    fn put(&self, fields: &mut FieldWriter<'_>) {
        fields.function(self.function);
        fields.number(b"line", Some(self.line));
        fields.address(b"addr", self.addr);
        fields.stack(b"inlined", self.inlined);
        fields.labels(self.labels);
        fields.counts(b"cost", self.cost);
        if let Some(incl) = self.incl {
            fields.counts(b"incl", incl);
        }
    }
}

impl RenderedRecord for RenderedCall<'_> {
    const HEAD: &'static [u8] = b"{\"type\":\"call\"";

    #[inline]
    fn put(&self, fields: &mut FieldWriter<'_>) {
        fields.function(self.function);
        fields.name(b"site", self.site);
        fields.number(b"line", Some(self.line).filter(|line| *line != 0));
        fields.address(b"addr", self.addr);
        fields.stack(b"inlined", self.inlined);
        fields.labels(self.labels);
        fields.object(b"callee", |fields| fields.function(self.callee));
        fields.number(b"calls", Some(self.calls));
        fields.counts(b"incl", self.incl);
    }
}

impl RenderedRecord for RenderedStackRecord<'_> {
    const HEAD: &'static [u8] = b"{\"type\":\"stack\"";

    #[inline]
    fn put(&self, fields: &mut FieldWriter<'_>) {
        fields.name(b"fn", self.function.name);
        fields.name(b"file", self.function.file);
        fields.number(b"line", self.line);
        fields.name(b"obj", self.function.obj);
        fields.name(b"thread", self.thread_name);
        fields.name(b"process", self.process);
        fields.number(b"pid", self.pid);
        fields.mark(b"estimated", self.estimated);
        fields.mark(b"cut", self.cut);
        fields.events(b"cost", self.events, self.cost.iter().copied());
    }
}

/// Writes the fields of one record.
#[doc(hidden)]
pub struct FieldWriter<'b> {
    pub(super) buffer: &'b mut Vec<u8>,
}

impl FieldWriter<'_> {
    #[inline]
    fn key(&mut self, key: &[u8]) {
        let is_first = self.buffer.last() == Some(&b'{');
        self.buffer
            .extend_from_slice(if is_first { b"\"" } else { b",\"" });
        self.buffer.extend_from_slice(key);
        self.buffer.extend_from_slice(b"\":");
    }

    #[inline]
    fn name(&mut self, key: &[u8], name: Option<RenderedName>) {
        if let Some(RenderedName(json)) = name {
            self.key(key);
            self.buffer.extend_from_slice(json);
        }
    }

    #[inline]
    fn stack(&mut self, key: &[u8], stack: Option<&RenderedStack>) {
        if let Some(RenderedStack(json)) = stack {
            self.key(key);
            self.buffer.extend_from_slice(json);
        }
    }

    #[inline]
    fn function(&mut self, function: RenderedFunction) {
        self.name(b"fn", function.name);
        self.name(b"file", function.file);
        self.name(b"obj", function.obj);
    }

    #[inline]
    fn labels(&mut self, labels: RenderedLabels) {
        self.number(b"part", labels.part);
        self.number(b"thread", labels.thread);
    }

    #[inline]
    fn number(&mut self, key: &[u8], number: Option<u64>) {
        if let Some(number) = number {
            self.key(key);
            self.integer(number);
        }
    }

    #[inline]
    fn integer(&mut self, number: impl itoa::Integer) {
        let mut digits = itoa::Buffer::new();
        self.buffer
            .extend_from_slice(digits.format(number).as_bytes());
    }

    fn address(&mut self, key: &[u8], address: Option<u64>) {
        let Some(address) = address else { return };
        self.key(key);
        self.buffer.extend_from_slice(b"\"0x");
        let digits = (64 - address.leading_zeros()).div_ceil(4).max(1);
        for place in (0..digits).rev() {
            let digit = (address >> (4 * place) & 0xf) as usize;
            self.buffer.push(b"0123456789abcdef"[digit]);
        }
        self.buffer.push(b'"');
    }

    #[inline]
    fn object(&mut self, key: &[u8], put: impl FnOnce(&mut Self)) {
        self.key(key);
        self.buffer.push(b'{');
        put(self);
        self.buffer.push(b'}');
    }

    /// A field that stands only where it is true.
    #[inline]
    fn mark(&mut self, key: &[u8], is_true: bool) {
        if is_true {
            self.key(key);
            self.buffer.extend_from_slice(b"true");
        }
    }

    #[inline]
    fn counts(&mut self, key: &[u8], counts: RenderedCounts) {
        if counts.is_signed {
            let cells = counts.cells.iter().map(|cell| cell.cast_signed());
            self.events(key, counts.events, cells);
        } else {
            self.events(key, counts.events, counts.cells.iter().copied());
        }
    }

    /// The first event always, the others where they are not 0, as `Counts::from_row` has it.
    #[inline]
    fn events<C: itoa::Integer + Copy + Default + PartialEq>(
        &mut self,
        key: &[u8],
        RenderedEvents(events): &RenderedEvents,
        counts: impl IntoIterator<Item = C>,
    ) {
        self.key(key);
        self.buffer.push(b'{');
        for (position, (event, count)) in events.iter().zip(counts).enumerate() {
            if position > 0 {
                if count == C::default() {
                    continue;
                }
                self.buffer.push(b',');
            }
            self.buffer.extend_from_slice(event);
            self.integer(count);
        }
        self.buffer.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use crate::record::{CallRecord, Counts, FnRecord, FunctionName, LineRecord, StackRecord};
    use crate::writer::RenderedFrame;

    crate::ids! {
        struct NameId;
    }

    const TEXTS: [&str; 3] = ["a \"b\"\n", "", "src/ü.c"];

    /// Each of three names, or none, by the bits of a number.
    fn pick<T>(bits: usize, get: impl Fn(usize) -> T) -> [Option<T>; 3] {
        [0, 1, 2].map(|position| (bits >> position & 1 == 1).then(|| get(position)))
    }

    #[test]
    fn rendered_records_are_written_as_records_are() {
        let events = ["Ir", "q\"", "Dw"].map(str::to_owned);
        let rendered_events = RenderedEvents::new(&events);
        let mut names = RenderedNames::<NameId>::default();
        for (position, text) in TEXTS.iter().enumerate() {
            names.render(NameId::at(position).unwrap(), || Name::from(*text));
        }
        let frames = vec![
            Frame {
                name: Some(Name::from(TEXTS[0])),
                line: Some(7),
                ..Frame::default()
            },
            Frame::default(),
        ];
        let stack = RenderedStack::new(&frames);
        let rendered_frames =
            [&frames[0], &frames[1]].map(|frame| RenderedFrame::new(frame).unwrap());
        let mut writer = Writer::new(Vec::new());
        for bits in 0..8 {
            let texts = || pick(bits, |position| Name::from(TEXTS[position]));
            let [name, file, obj] = pick(bits, |position| names.get(NameId::at(position).unwrap()));
            let function = RenderedFunction { name, file, obj };
            for (cells, is_signed) in [
                ([0, 0, 0], false),
                ([7, 0, u64::MAX], false),
                ([u64::MAX, 3, 0], true),
            ] {
                let number = (bits % 3 != 0).then_some(cells[0] >> bits);
                let labels = RenderedLabels {
                    part: number,
                    thread: number.filter(|_| bits > 4),
                };
                let cost = RenderedCounts {
                    events: &rendered_events,
                    cells: &cells,
                    is_signed,
                };
                let counts = || {
                    let cells = cells.iter().map(|cell| match is_signed {
                        true => Count::from(cell.cast_signed()),
                        false => Count::from(*cell),
                    });
                    Counts::from_row(&events, cells)
                };
                let has_incl = bits & 1 == 0;
                let incl = || {
                    if has_incl {
                        counts()
                    } else {
                        Counts::default()
                    }
                };
                let (part, thread) = (labels.part, labels.thread);
                let [name, file, obj] = texts();
                let record = FnRecord {
                    name,
                    file,
                    obj,
                    part,
                    thread,
                    calls: number,
                    cost: counts(),
                    incl: incl(),
                    cycle: number,
                };
                writer.record(&record).unwrap();
                let rendered = RenderedFn {
                    function,
                    labels,
                    calls: number,
                    cost,
                    incl: has_incl.then_some(cost),
                    cycle: number,
                };
                writer.rendered(&rendered).unwrap();
                let [name, file, obj] = texts();
                let record = LineRecord {
                    name,
                    file,
                    obj,
                    line: cells[2],
                    addr: number.map(|address| Name::from(format!("0x{address:x}"))),
                    inlined: number.map_or(Vec::new(), |_| frames.clone()),
                    part,
                    thread,
                    cost: counts(),
                    incl: incl(),
                };
                writer.record(&record).unwrap();
                let rendered = RenderedLine {
                    function,
                    line: cells[2],
                    addr: number,
                    inlined: number.map(|_| &stack),
                    labels,
                    cost,
                    incl: has_incl.then_some(cost),
                };
                writer.rendered(&rendered).unwrap();
                let ([name, file, obj], [callee, callee_file, site]) = (texts(), texts());
                let record = CallRecord {
                    name,
                    file,
                    obj,
                    site,
                    line: cells[1],
                    addr: number.map(|address| Name::from(format!("0x{address:x}"))),
                    inlined: number.map_or(Vec::new(), |_| frames.clone()),
                    part,
                    thread,
                    callee: FunctionName {
                        name: callee,
                        file: callee_file,
                        obj: None,
                    },
                    calls: cells[2],
                    incl: counts(),
                };
                writer.record(&record).unwrap();
                let rendered = RenderedCall {
                    function,
                    site: function.obj,
                    line: cells[1],
                    addr: number,
                    inlined: number.map(|_| &stack),
                    labels,
                    callee: RenderedFunction {
                        obj: None,
                        ..function
                    },
                    calls: cells[2],
                    incl: cost,
                };
                writer.rendered(&rendered).unwrap();
                let [name, file, obj] = texts();
                let [thread_name, process, _] = texts();
                let cells = cells.map(|cell| match is_signed {
                    true => Count::from(cell.cast_signed()),
                    false => Count::from(cell),
                });
                let record = StackRecord {
                    name,
                    file,
                    line: number,
                    obj,
                    thread_name,
                    process,
                    pid: number,
                    estimated: is_signed,
                    cut: has_incl,
                    cost: counts(),
                    stack: frames.clone(),
                };
                writer.record(&record).unwrap();
                let rendered = RenderedStackRecord {
                    function,
                    line: number,
                    thread_name: function.name,
                    process: function.file,
                    pid: number,
                    estimated: is_signed,
                    cut: has_incl,
                    events: &rendered_events,
                    cost: &cells,
                };
                writer
                    .rendered_with_stack(&rendered, &rendered_frames)
                    .unwrap();
            }
        }
        writer.flush().unwrap();
        let text = String::from_utf8(writer.into_inner()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8 * 3 * 8);
        for pair in lines.chunks(2) {
            assert_eq!(pair[0], pair[1]);
        }
    }

    #[test]
    fn addresses_have_no_leading_zeros() {
        for address in [0, 1, 0xf, 0x10, 0x401136, u64::MAX] {
            let mut buffer = b"{".to_vec();
            FieldWriter {
                buffer: &mut buffer,
            }
            .address(b"addr", Some(address));
            assert_eq!(
                String::from_utf8(buffer).unwrap(),
                format!("{{\"addr\":\"0x{address:x}\"")
            );
        }
    }
}
