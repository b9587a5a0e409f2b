//! The numbered data of a sequence: strings, mappings, frames and stacks. It grows with each packet until a packet resets
//! it.

use cg_reader::Error;
use cg_stream::record::FrameMarks;

use super::super::address;
use super::super::pprof::tables::ById;
use super::super::table::{FrameId, FrameParts, StackLinkId, StackTable};
use super::super::wire::MessageBytes;
use super::names::{SymbolLine, TraceNames, WantedFields};

#[derive(Default)]
pub(super) struct Interned<'a> {
    functions: ById<&'a [u8]>,
    build_ids: ById<&'a [u8]>,
    paths: ById<&'a [u8]>,
    sources: ById<&'a [u8]>,
    event_names: ById<&'a [u8]>,
    mappings: ById<MessageBytes<'a>>,
    frames: ById<MessageBytes<'a>>,
    callstacks: ById<MessageBytes<'a>>,
    /// For `stack_sample`: threads and counters.
    pub(super) tasks: ById<MessageBytes<'a>>,
    pub(super) counters: ById<MessageBytes<'a>>,
    /// The frames and stacks in the table, once they were used. Each list of frames is innermost first.
    known_frames: ById<Vec<FrameId>>,
    known_stacks: ById<StackLinkId>,
}

impl<'a> Interned<'a> {
    /// Adds the entries of an `InternedData`.
    pub(super) fn read(&mut self, data: MessageBytes<'a>) -> Result<(), Error> {
        let mut fields = data.fields();
        while let Some((number, value)) = fields.next()? {
            let Some(message) = value.message() else {
                continue;
            };
            let strings = match number {
                2 => &mut self.event_names,
                5 => &mut self.functions,
                16 => &mut self.build_ids,
                17 => &mut self.paths,
                18 => &mut self.sources,
                _ => {
                    let messages = match number {
                        6 => &mut self.frames,
                        7 => &mut self.callstacks,
                        19 => &mut self.mappings,
                        48 => &mut self.tasks,
                        50 => &mut self.counters,
                        _ => continue,
                    };
                    let id = WantedFields::read(message, [1])?.numbers[0];
                    messages.insert(id, message);
                    // A producer may reuse a number.
                    match number {
                        6 => drop(self.known_frames.remove(&id)),
                        7 => drop(self.known_stacks.remove(&id)),
                        _ => {}
                    }
                    continue;
                }
            };
            let string = WantedFields::read(message, [1, 2])?;
            strings.insert(string.numbers[0], string.text(1));
        }
        Ok(())
    }

    /// Adds the tables in the packets of Android 10's heapprofd, which have separate field numbers.
    pub(super) fn read_heap_tables(
        &mut self,
        number: u64,
        message: MessageBytes<'a>,
    ) -> Result<(), Error> {
        let id = WantedFields::read(message, [1, 2])?;
        let key = id.numbers[0];
        match number {
            // One table of strings contains names, paths and build ids.
            1 => {
                for strings in [&mut self.functions, &mut self.paths, &mut self.build_ids] {
                    strings.insert(key, id.text(1));
                }
            }
            2 => drop(self.frames.insert(key, message)),
            3 => drop(self.callstacks.insert(key, message)),
            4 => drop(self.mappings.insert(key, message)),
            _ => {}
        }
        Ok(())
    }

    pub(super) fn event_name(&self, id: u64) -> Option<&'a [u8]> {
        self.event_names.get(&id).copied()
    }

    /// Returns a stack by its number; `None` if the sequence does not have it. A stack without frames is `Some(None)`.
    pub(super) fn stack(
        &mut self,
        id: u64,
        names: &TraceNames,
        is_demangled: bool,
        table: &mut StackTable,
    ) -> Result<Option<Option<StackLinkId>>, Error> {
        if let Some(known) = self.known_stacks.get(&id) {
            return Ok(Some(Some(*known)));
        }
        let Some(callstack) = self.callstacks.get(&id) else {
            return Ok(None);
        };
        let mut frames = Vec::new();
        callstack.push_numbers(2, &mut frames)?;
        // Outermost first (`src/profiling/common/callstack_trie.cc`).
        let mut stack = None;
        for frame in frames {
            if !self.known_frames.contains_key(&frame) {
                let made = self.frames_of(frame, names, is_demangled, table)?;
                self.known_frames.insert(frame, made);
            }
            for frame in self.known_frames[&frame].iter().rev() {
                stack = Some(table.push(stack, *frame)?);
            }
        }
        self.known_stacks.extend(stack.map(|stack| (id, stack)));
        Ok(Some(stack))
    }

    /// Returns the frames for a frame number, innermost first: several if functions were inlined.
    fn frames_of(
        &self,
        id: u64,
        names: &TraceNames,
        is_demangled: bool,
        table: &mut StackTable,
    ) -> Result<Vec<FrameId>, Error> {
        const KERNEL: u64 = 2;
        let Some(frame) = self.frames.get(&id) else {
            return Ok(vec![table.frame(FrameParts::default())?]);
        };
        let frame = WantedFields::read(*frame, [2, 3, 4, 5, 6, 7])?;
        let [function, mapping, address, source, line, kind] = frame.numbers;
        let (object, build_id) = self.mapping(mapping)?;
        let text = |strings: &ById<&'a [u8]>, id| strings.get(&id).copied().unwrap_or_default();
        let own = [SymbolLine {
            function: text(&self.functions, function),
            file: text(&self.sources, source),
            line,
        }];
        let symbols = names.symbols.get(&(build_id, address)).map(Vec::as_slice);
        let symbols = symbols
            .filter(|symbols| !symbols.is_empty())
            .unwrap_or(&own);
        let address = (mapping != 0).then_some(address);
        let mut frames = Vec::new();
        for (level, symbol) in symbols.iter().enumerate() {
            let marks = FrameMarks {
                kernel: kind == KERNEL || address::marks_of(&object).kernel,
                inlined: level + 1 < symbols.len(),
                ..FrameMarks::default()
            };
            let parts = match (symbol.function, address) {
                (b"", Some(address)) => address::in_object(table, &object, address)?,
                (name, address) => FrameParts {
                    name: table.function(name, is_demangled)?,
                    file: table.text_unless_empty(symbol.file)?,
                    line: Some(symbol.line).filter(|line| *line > 0),
                    obj: table.text_unless_empty(&object)?,
                    addr: address,
                    ..FrameParts::default()
                },
            };
            frames.push(table.frame(FrameParts { marks, ..parts })?);
        }
        Ok(frames)
    }

    /// Returns the path of a mapping's object, and its build id.
    fn mapping(&self, id: u64) -> Result<(Vec<u8>, &'a [u8]), Error> {
        let Some(mapping) = self.mappings.get(&id) else {
            return Ok((Vec::new(), &[]));
        };
        let build_id = WantedFields::read(*mapping, [2])?.numbers[0];
        let mut parts = Vec::new();
        mapping.push_numbers(7, &mut parts)?;
        let parts = parts.iter().filter_map(|part| self.paths.get(part));
        let mut path = Vec::new();
        for part in parts {
            // `[vdso]` and `[kernel.kallsyms]` are not paths.
            if !(path.is_empty() && part.starts_with(b"[") || part.starts_with(b"/")) {
                path.push(b'/');
            }
            path.extend_from_slice(part);
        }
        let build_id = self.build_ids.get(&build_id).copied();
        Ok((path, build_id.unwrap_or_default()))
    }
}
