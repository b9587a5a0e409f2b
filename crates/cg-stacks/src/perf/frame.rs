//! A frame of a call chain: `12e6 work+0x16 (/opt/demo)`; with `-F +srcline`, its source line follows.
//!
//! Symbols are free text (`(anonymous namespace)::f`, `operator()(int) const`), and so are objects (`/memfd:x (deleted)`).
//! So the address is the first word, the object is the text in the parentheses at the end, and the symbol is the rest.

use std::hash::BuildHasher;

use cg_collections::intern::{Bytes, Id, TooMany};
use cg_stream::record::FrameMarks;
use foldhash::fast::FixedState;

use crate::table::{FrameId, FrameParts, StackTable};

cg_collections::ids! {
    struct PerfFrameId;
    struct ObjectTextId;
}

/// The result of parsing the text of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KnownText {
    frame: FrameId,
    /// The end of its symbol in the text.
    symbol_end: usize,
    /// Its object, if it was recognised by the end of a line.
    object: Option<ObjectTextId>,
    /// An inlined frame, which perf expanded from the debug information of the next frame that is not inlined.
    is_inlined: bool,
    /// Java code that was inlined into the frame, innermost first.
    inner: Box<[FrameId]>,
}

/// Interned frames by text, each parsed once. Offsets into functions make no difference.
#[derive(Default)]
pub(super) struct PerfFrames {
    texts: Bytes<PerfFrameId>,
    known: Vec<KnownText>,
    /// A buffer for the key to look up.
    wanted: Vec<u8>,
    /// A direct-mapped cache by a hash of symbol and object, because most frames are repeated soon. It fits into the
    /// processor's cache: in a recording of a whole system, 256 symbols cover nine tenths of the frames.
    recent: Vec<Option<PerfFrameId>>,
    /// The ends of recent lines, which contain the object. The last hit is first, because consecutive lines mostly have the
    /// same object.
    objects: Vec<ObjectEnd>,
    object_texts: Bytes<ObjectTextId>,
    hasher: FixedState,
    demangle: bool,
}

/// A frame that was looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundFrame {
    pub(super) address: u64,
    pub(super) frame: FrameId,
    /// An inlined frame, which perf expanded from the debug information of the next frame that is not inlined.
    pub(super) is_inlined: bool,
    has_inner: bool,
    known: PerfFrameId,
}

/// The end of a line, with an object.
struct ObjectEnd {
    /// Its last bytes, as one word. Most objects already differ in these bytes.
    last: u64,
    text: Vec<u8>,
    object: ObjectTextId,
}

/// Returns the last eight bytes of a text as one word; `None` if the text is shorter.
#[inline]
fn last_word(text: &[u8]) -> Option<u64> {
    text.last_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The number of slots in `recent`.
const RECENT: usize = 8192;

/// The maximum number of objects to compare with the end of a line before the line is parsed.
const OBJECTS: usize = 16;

impl PerfFrames {
    pub(super) fn new(demangle: bool) -> PerfFrames {
        PerfFrames {
            recent: vec![None; RECENT],
            demangle,
            ..PerfFrames::default()
        }
    }

    /// Parses a frame from a line without its leading tab; `None` if the line is not a frame.
    #[inline]
    pub(super) fn frame(
        &mut self,
        line: &[u8],
        table: &mut StackTable,
    ) -> Result<Option<FoundFrame>, TooMany> {
        let Some((address, text)) = split_address(line) else {
            return Ok(None);
        };
        let Some((symbol, object)) = self.split_known_object(text) else {
            return self.look_up(address, text, table).map(Some);
        };
        let slot = self.hasher.hash_one((symbol, object)) as usize % RECENT;
        let is_wanted = |recent: &PerfFrameId| {
            let known = &self.known[recent.index()];
            let text = &self.texts.get(*recent)[..known.symbol_end];
            known.object == Some(object)
                && matches!(text, [is_kernel, name @ ..]
                    if *is_kernel == u8::from(is_kernel_address(address)) && name == symbol)
        };
        if let Some(recent) = self.recent[slot].filter(is_wanted) {
            return Ok(Some(self.found(address, recent)));
        }
        let found = self.look_up(address, text, table)?;
        self.known[found.known.index()].object = Some(object);
        self.recent[slot] = Some(found.known);
        Ok(Some(found))
    }

    /// Returns the symbol and object of a text with the same end as one of the last lines.
    #[inline]
    fn split_known_object<'t>(&mut self, text: &'t [u8]) -> Option<(&'t [u8], ObjectTextId)> {
        let last = last_word(text)?;
        let position = self
            .objects
            .iter()
            .position(|end| end.last == last && text.ends_with(&end.text))?;
        if position > 0 {
            self.objects.swap(0, position);
        }
        let end = &self.objects[0];
        let symbol = without_offset(&text[..text.len() - end.text.len()]);
        (!symbol.is_empty()).then_some((symbol, end.object))
    }

    /// Remembers the end of a line if the end identifies the object: ` (/opt/demo)`, without inner parentheses.
    fn remember_object(&mut self, text: &[u8], object: &[u8]) -> Result<(), TooMany> {
        let length = object.len() + b" ()".len();
        let is_plain = !object.is_empty() && !object.iter().any(|byte| b"()".contains(byte));
        let end = text.len().checked_sub(length).map(|start| &text[start..]);
        let Some(end) = end.filter(|end| is_plain && end.starts_with(b" (") && end.ends_with(b")"))
        else {
            return Ok(());
        };
        if let Some(last) = last_word(end) {
            let end = ObjectEnd {
                last,
                text: end.to_vec(),
                object: self.object_texts.intern(object)?,
            };
            self.objects.insert(0, end);
            self.objects.truncate(OBJECTS);
        }
        Ok(())
    }

    /// Returns a known frame at an address.
    #[inline]
    fn found(&self, address: u64, known: PerfFrameId) -> FoundFrame {
        let KnownText {
            frame,
            is_inlined,
            inner,
            ..
        } = &self.known[known.index()];
        FoundFrame {
            address,
            frame: *frame,
            is_inlined: *is_inlined,
            has_inner: !inner.is_empty(),
            known,
        }
    }

    /// Returns the functions inlined into a frame of compiled code, innermost first.
    pub(super) fn inner(&self, found: FoundFrame) -> &[FrameId] {
        match found.has_inner {
            true => &self.known[found.known.index()].inner,
            false => &[],
        }
    }

    /// Interns the frame with this text and address.
    fn look_up(
        &mut self,
        address: u64,
        text: &[u8],
        table: &mut StackTable,
    ) -> Result<FoundFrame, TooMany> {
        let text = match memchr::memchr(b'\t', text) {
            Some(_) => &with_blanks(text),
            None => text,
        };
        let (symbol, object) = split_object(text);
        if !self.objects.iter().any(|end| text.ends_with(&end.text)) {
            self.remember_object(text, object)?;
        }
        self.intern(address, without_offset(symbol), object, table)
    }

    /// Interns the frame with this address, symbol and object.
    pub(super) fn intern(
        &mut self,
        address: u64,
        symbol: &[u8],
        object: &[u8],
        table: &mut StackTable,
    ) -> Result<FoundFrame, TooMany> {
        self.wanted.clear();
        self.wanted.push(u8::from(is_kernel_address(address)));
        match symbol.is_empty() {
            // Only the address distinguishes the frame from others.
            true => self
                .wanted
                .extend_from_slice(format!("{address:#x}").as_bytes()),
            false => self.wanted.extend_from_slice(symbol),
        }
        let symbol_end = self.wanted.len();
        self.wanted.push(0);
        self.wanted.extend_from_slice(object);
        let id = self.texts.intern(&self.wanted)?;
        if self.known.len() <= id.index() {
            let known = self.look_into(symbol_end, table)?;
            self.known.push(known);
        }
        Ok(self.found(address, id))
    }

    /// Parses the frame whose key is in `wanted`.
    #[cold]
    fn look_into(&self, symbol_end: usize, table: &mut StackTable) -> Result<KnownText, TooMany> {
        let is_kernel_address = self.wanted[0] == 1;
        let symbol = &self.wanted[1..symbol_end];
        let object = &self.wanted[symbol_end + 1..];
        let is_inlined = object == INLINED;
        let is_jit = is_jit(object);
        // Another run does not have a file that a JIT compiler wrote for one process, so it is not an object.
        let obj = match object {
            b"[unknown]" => None,
            _ if is_inlined || is_jit => None,
            _ => table.text_unless_empty(object)?,
        };
        let marks = FrameMarks {
            kernel: is_kernel(object, is_kernel_address),
            jit: is_jit,
            inlined: is_inlined,
            waker: false,
        };
        let mut frame = |name: &[u8], marks| {
            let name = table.function(name, self.demangle)?;
            table.frame(FrameParts {
                name,
                obj,
                marks,
                ..FrameParts::default()
            })
        };
        // perf-map-agent writes inlined functions outermost first: `a->b->c`.
        let outermost = match is_jit {
            true => memchr::memmem::find(symbol, b"->").unwrap_or(symbol.len()),
            false => symbol.len(),
        };
        let inner_marks = FrameMarks {
            inlined: true,
            ..marks
        };
        let mut inner = Vec::new();
        let mut rest = &symbol[outermost..];
        while let Some(arrow) = memchr::memmem::rfind(rest, b"->") {
            inner.push(frame(&rest[arrow + 2..], inner_marks)?);
            rest = &rest[..arrow];
        }
        Ok(KnownText {
            frame: frame(&symbol[..outermost], marks)?,
            symbol_end,
            object: None,
            is_inlined,
            inner: inner.into(),
        })
    }
}

/// Returns a frame with one blank for each row of tabs that separates its symbol and object.
#[cold]
fn with_blanks(text: &[u8]) -> Vec<u8> {
    let mut text = text.trim_ascii().to_vec();
    text.dedup_by(|second, first| *second == b'\t' && *first == b'\t');
    for byte in text.iter_mut().filter(|byte| **byte == b'\t') {
        *byte = b' ';
    }
    text
}

/// perf's text in place of the object of an inlined function.
const INLINED: &[u8] = b"inlined";

/// Returns true if a line is an instruction, which `-F +brstackinsn` and similar options print after the chain: an address
/// of sixteen digits, a tab, and the instruction. A frame with a tab has an object, or its address is not padded.
pub(super) fn is_instruction(line: &[u8]) -> bool {
    const PADDED: usize = 16;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let length = digits.count();
    let Some([b'\t', text @ ..]) = line.get(length..) else {
        return false;
    };
    line.starts_with(b"0") && length > 1
        || text.starts_with(b"insn:")
        || length == PADDED && split_object(text).1.is_empty() && text != b"[unknown]"
}

/// Returns a line that looks like an instruction as a frame: with a blank instead of the tab after its address of sixteen
/// digits. Addresses of the kernel have as many.
pub(super) fn with_blank(line: &[u8]) -> Option<Vec<u8>> {
    let tab = memchr::memchr(b'\t', line).filter(|tab| *tab == 16)?;
    let is_frame = is_instruction(line) && !line.starts_with(b"0");
    let mut frame = line.to_vec();
    frame[tab] = b' ';
    (is_frame && !frame[tab + 1..].starts_with(b"insn:")).then_some(frame)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Splits a frame after its address; `None` if the text is not a frame.
#[inline]
pub(super) fn split_address(text: &[u8]) -> Option<(u64, &[u8])> {
    let start = text.iter().position(|byte| !is_blank(*byte))?;
    let text = &text[start..];
    let mut address = 0u64;
    let mut length = 0;
    for byte in text {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => break,
        };
        address = address << 4 | u64::from(digit);
        length += 1;
    }
    match text.get(length) {
        _ if !(1..=16).contains(&length) => None,
        None => Some((address, b"")),
        Some(b' ') => Some((address, &text[length + 1..])),
        Some(b'\t') if !is_instruction(text) => Some((address, &text[length + 1..])),
        Some(_) => None,
    }
}

/// Splits a text into the symbol and the object, which is in the parentheses at the end; empty if there are none.
#[inline]
pub(super) fn split_object(text: &[u8]) -> (&[u8], &[u8]) {
    let text = text.trim_ascii_end();
    let Some(inside) = text.strip_suffix(b")") else {
        return (text, b"");
    };
    if let Some(open) = memchr::memrchr(b'(', inside)
        && (open == 0 || is_blank(inside[open - 1]))
        && !inside[open..].contains(&b')')
        && inside[open..] != *b"(deleted"
    {
        return (&inside[..open.saturating_sub(1)], &inside[open + 1..]);
    }
    split_nested_object(text, inside)
}

/// Does the same for an object that contains parentheses: the outer ones are balanced, and a blank precedes them. C++
/// symbols also end in parentheses if perf was not asked for objects. An object with a single parenthesis is recognised by
/// the beginning of its path.
#[cold]
fn split_nested_object<'t>(text: &'t [u8], inside: &'t [u8]) -> (&'t [u8], &'t [u8]) {
    let mut closed = 1;
    let balanced = inside.iter().rposition(|byte| {
        match byte {
            b')' => closed += 1,
            b'(' => closed -= 1,
            _ => {}
        }
        closed == 0
    });
    let path_start = || {
        let begins = [&b" (/"[..], b" (["].map(|words| memchr::memmem::rfind(inside, words));
        begins.into_iter().max().flatten()
    };
    let blank = balanced
        .and_then(|open| open.checked_sub(1))
        .filter(|before| inside[*before] == b' ')
        .or_else(path_start);
    let Some(blank) = blank else {
        return (text, b"");
    };
    let object = &inside[blank + 2..];
    let object = object.strip_suffix(b" (deleted)").unwrap_or(object);
    (&inside[..blank], object)
}

/// Removes an offset such as `+0x16`.
#[inline]
pub(super) fn without_offset(symbol: &[u8]) -> &[u8] {
    let digits = symbol
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    let front = &symbol[..symbol.len() - digits];
    match front.strip_suffix(b"+0x") {
        Some(name) if digits > 0 && !name.is_empty() => name,
        _ => symbol,
    }
}

/// Parses a source line such as `  inl.cpp:6 (inlined)`: the file and line, if known, and whether the frame is inlined.
pub(super) fn source_line(text: &[u8]) -> (Option<(&[u8], u64)>, bool) {
    let text = text.trim_ascii();
    let (place, is_inlined) = match text.strip_suffix(b"(inlined)") {
        Some([place @ .., b' ' | b'\t']) => (place, true),
        _ => (text, false),
    };
    let place = memchr::memrchr(b':', place).and_then(|colon| {
        let line = cg_reader::number::whole_u64(&place[colon + 1..]).filter(|line| *line > 0)?;
        let file = &place[..colon];
        (!matches!(file, b"" | b"??")).then_some((file, line))
    });
    (place, is_inlined)
}

/// Returns true if a line is the source line of a frame: `inl.cpp:6`, or `libfoo.so[1a2b]` if the line is unknown.
pub(super) fn is_source_line(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    source_line(text).0.is_some()
        || text.ends_with(b"]") && text.contains(&b'[')
        || matches!(text, b":0" | b"??:0")
}

/// Returns true for the upper half of the address space, which belongs to the kernel if addresses have 64 bits.
fn is_kernel_address(address: u64) -> bool {
    address >> 47 == 0x1_ffff
}

fn is_kernel(object: &[u8], is_kernel_address: bool) -> bool {
    let base = object
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    let is_module = || {
        let ends = [&b".ko"[..], b".ko.xz", b".ko.gz", b".ko.zst"];
        ends.iter().any(|end| base.ends_with(end)) || base.starts_with(b"vmlinux")
    };
    match object {
        b"[unknown]" | b"" => is_kernel_address,
        // Pages that Linux maps into every process, and memory without a file.
        [b'[', name @ .., _] => {
            let user_memory = [&b"v"[..], b"heap", b"stack", b"anon", b"uprobes", b"JIT"];
            !user_memory
                .iter()
                .any(|beginning| name.starts_with(beginning))
        }
        _ => is_kernel_address || is_module(),
    }
}

/// Returns true for files that JIT compilers write: `/tmp/perf-123.map`, `jitted-123-4.so`.
fn is_jit(object: &[u8]) -> bool {
    let base = object
        .rsplit(|byte| *byte == b'/')
        .next()
        .unwrap_or_default();
    let is_map = || {
        let number = base.strip_prefix(b"perf-")?.strip_suffix(b".map")?;
        Some(number.iter().all(u8::is_ascii_digit))
    };
    base.starts_with(b"jitted-") || object.starts_with(b"[JIT]") || is_map().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        std::str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_frame_has_an_address_a_symbol_and_an_object() {
        for (line, expected) in [
            (
                "            12e6 work+0x16 (/home/dev/inl)",
                "12e6|work|/home/dev/inl",
            ),
            (
                " ffffffff81000130 entry+0x76 ([kernel.kallsyms])",
                "ffffffff81000130|entry|[kernel.kallsyms]",
            ),
            (
                "    7f22c827a758 [unknown] ([unknown])",
                "7f22c827a758|[unknown]|[unknown]",
            ),
            (
                "8eb0214 (anonymous namespace)::Pruner::Clone+0x17ba (/l/librustc.so)",
                "8eb0214|(anonymous namespace)::Pruner::Clone|/l/librustc.so",
            ),
            (
                "1 operator()(int) const+0x1 (/x)",
                "1|operator()(int) const|/x",
            ),
            ("1 f (/memfd:x (deleted))", "1|f|/memfd:x"),
            (
                "1 f(int (*)(char)) (/opt/App (beta)/lib.so)",
                "1|f(int (*)(char))|/opt/App (beta)/lib.so",
            ),
            ("1 f (/tmp/a)b)", "1|f|/tmp/a)b"),
            ("1 f (/tmp/a(b)", "1|f|/tmp/a(b"),
            // Without objects.
            ("8cf3 check_match", "8cf3|check_match|"),
            ("8cf3 f(int, char (*)(int))", "8cf3|f(int, char (*)(int))|"),
            (
                "e460 resolve_map+0x840 (inlined)",
                "e460|resolve_map|inlined",
            ),
            ("12e6", "12e6||"),
            ("12e6 (/x)", "12e6||/x"),
            (
                "beef std::vector<int>+0xbeef (/x)",
                "beef|std::vector<int>|/x",
            ),
        ] {
            let (address, rest) = split_address(line.as_bytes()).unwrap();
            let (symbol, object) = split_object(rest);
            let found = [text(without_offset(symbol)), text(object)].join("|");
            assert_eq!(format!("{address:x}|{found}"), expected, "{line}");
        }
        for line in [
            "",
            "  work",
            "12g6 f (/x)",
            "0123\tpush",
            "11112222333344445 f (/x)",
        ] {
            assert_eq!(split_address(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn kernel_and_compiled_code_are_recognised_by_their_objects() {
        for (object, is_high, kernel, jit) in [
            ("[kernel.kallsyms]", true, true, false),
            ("[guest.kernel.kallsyms]", false, true, false),
            ("[nf_tables]", false, true, false),
            ("/lib/modules/6.1/kernel/fs/ext4.ko.xz", false, true, false),
            ("/usr/lib/debug/vmlinux-6.1", false, true, false),
            ("[unknown]", true, true, false),
            ("[unknown]", false, false, false),
            ("[vdso]", false, false, false),
            ("[vsyscall]", true, false, false),
            ("[heap]", false, false, false),
            ("//anon", false, false, false),
            ("/tmp/perf-4711.map", false, false, true),
            ("/home/x/jitted-4711-2.so", false, false, true),
            ("[JIT] tid 4711", false, false, true),
            ("/opt/perf-tool.map", false, false, false),
        ] {
            let object_bytes = object.as_bytes();
            assert_eq!(is_kernel(object_bytes, is_high), kernel, "{object}");
            assert_eq!(is_jit(object_bytes), jit, "{object}");
        }
        assert!(is_kernel_address(0xffff_ffff_8110_410b));
        assert!(is_kernel_address(0xffff_8000_0000_0000));
        assert!(!is_kernel_address(0x7fff_ffff_ffff));
    }

    #[test]
    fn source_lines_have_a_file_and_line_if_known() {
        for (line, expected) in [
            ("  inl.cpp:6", (Some(("inl.cpp", 6)), false)),
            ("  inl.cpp:6 (inlined)", (Some(("inl.cpp", 6)), true)),
            ("  C:\\x.cpp:6", (Some(("C:\\x.cpp", 6)), false)),
            ("  :0", (None, false)),
            ("  ??:0", (None, false)),
            ("  libfoo.so[1a2b]", (None, false)),
        ] {
            let (place, is_inlined) = source_line(line.as_bytes());
            let place = place.map(|(file, line)| (text(file), line));
            assert_eq!((place, is_inlined), expected, "{line}");
        }
    }
}
