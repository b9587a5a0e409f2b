//! The reader of a recording: fills the tables line by line, and replays the events.

use cg_collections::maps::Map;
use cg_reader::number::leading_hex;
use cg_reader::{Error, Lines, excerpt};
use cg_stream::record::Name;

use super::replay::Replay;
use super::symbols::{FunctionPlace, SymbolTables};
use super::timeline::HeapTimeline;
use super::trees::HeapTrees;

/// The newest supported format of files.
const NEWEST_FORMAT: u64 = 3;

/// heaptrack's version before its first release. It writes format 1 without the number of the format.
const UNRELEASED: u64 = 0x01_02_00;

/// The maximum number of bytes after `X` in which to look for the `I` line, which ends a command of several lines.
const LONGEST_COMMAND: usize = 128 * 1024;

/// The contents of a file.
pub(super) struct Recording {
    /// heaptrack's version: two digits each for major, minor and patch.
    pub(super) version: u64,
    format: u64,
    pub(super) command: Option<String>,
    page_size: u64,
    /// True if heaptrack was attached to a running program.
    pub(super) is_attached: bool,
    /// Patterns of leaks that must not be reported.
    pub(super) suppressions: Vec<String>,
    pub(super) symbols: SymbolTables,
    pub(super) replay: Replay,
    pub(super) timeline: HeapTimeline,
    /// The contents of the heap over time; `None` if they were not requested.
    pub(super) trees: Option<HeapTrees>,
    /// Blocks by address, for format 0, which does not number the kinds.
    blocks: UnpackedBlocks,
    /// True if the comments at the end were read.
    has_trailer: bool,
    /// True if the heap changed after the last time stamp.
    pub(super) ends_in_change: bool,
    places: Vec<FunctionPlace>,
}

#[derive(Default)]
struct UnpackedBlocks {
    live: Map<u64, usize>,
    kinds: Map<(u64, u32), usize>,
}

impl Recording {
    pub(super) fn new(with_trees: bool) -> Recording {
        Recording {
            version: 0,
            format: 0,
            command: None,
            page_size: 0,
            is_attached: false,
            suppressions: Vec::new(),
            symbols: SymbolTables::default(),
            replay: Replay::default(),
            timeline: HeapTimeline::new(),
            trees: with_trees.then(HeapTrees::new),
            blocks: UnpackedBlocks::default(),
            has_trailer: false,
            ends_in_change: false,
            places: Vec::new(),
        }
    }

    /// Reads the file to its end or to the first invalid line.
    pub(super) fn read(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let read = self.read_lines(lines);
        self.replay.finish();
        read?;
        if !lines.ended_with_newline() && !self.has_trailer {
            return Err(cut_short(lines));
        }
        // heaptrack writes a last time stamp if the program exits, and comments at the end in all cases.
        if !self.has_trailer && self.ends_in_change {
            return Err(cut_short(lines));
        }
        Ok(())
    }

    fn read_lines(&mut self, lines: &mut Lines) -> Result<(), Error> {
        while lines.advance().map_err(Error::Input)? {
            let line = lines.last_line();
            let taken = match line {
                [b'+', b' ', rest @ ..] => self.allocate(rest),
                [b'-', b' ', rest @ ..] => self.free(rest),
                [b't', b' ', rest @ ..] => self.trace(rest),
                [b'a', b' ', rest @ ..] => self.kind(rest),
                [b's', b' ', ..] => {
                    self.string(lines)?;
                    continue;
                }
                [b'i', b' ', rest @ ..] => self.pointer(rest),
                [b'c', b' ', rest @ ..] => match numbers(rest) {
                    Some([time]) => {
                        let live = self.replay.live();
                        self.timeline.stamp(time, live).map_err(Error::Input)?;
                        self.ends_in_change = false;
                        if let Some(trees) = &mut self.trees {
                            trees.stamp(self.timeline.stamps(), &self.replay)?;
                        }
                        Ok(())
                    }
                    None => Err(Wrong::Line),
                },
                [b'R', b' ', rest @ ..] => match numbers(rest) {
                    Some([pages]) => {
                        self.timeline.rss(pages.saturating_mul(self.page_size));
                        Ok(())
                    }
                    None => Err(Wrong::Line),
                },
                [] => Ok(()),
                [b'#', ..] => {
                    self.has_trailer |= line.starts_with(b"# strings:");
                    Ok(())
                }
                [b'v', b' ', rest @ ..] => self.version(rest),
                [b'X', b' ', ..] | [b'X'] => {
                    self.command(lines)?;
                    continue;
                }
                [b'I', b' ', rest @ ..] => match numbers(rest) {
                    Some([page_size, _pages]) => {
                        self.page_size = page_size;
                        Ok(())
                    }
                    None => Err(Wrong::Line),
                },
                [b'A'] => {
                    self.is_attached = true;
                    self.replay.attach();
                    Ok(())
                }
                [b'S', b' ', rest @ ..] => {
                    self.suppressions.extend(suppression(rest));
                    Ok(())
                }
                [b'x' | b'm', b' ', ..] => {
                    return Err(Error::at(
                        lines.line_number(),
                        "this is a raw recording of heaptrack; zstd -dcf FILE | PATH=$PATH:/usr/lib/heaptrack/libexec \
                         heaptrack_interpret | cg-parse, on the machine where it was recorded",
                    ));
                }
                _ => Err(Wrong::Line),
            };
            taken.map_err(|wrong| wrong.at(lines))?;
        }
        Ok(())
    }

    fn version(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let (version, format) = match (numbers(rest), numbers(rest)) {
            (Some([version, format]), _) => (version, format),
            (None, Some([UNRELEASED])) => (UNRELEASED, 1),
            (None, Some([version])) => (version, 0),
            (None, None) => return Err(Wrong::Line),
        };
        if self.version != 0 {
            return Err(Wrong::Value("a second recording begins here".to_owned()));
        }
        if format > NEWEST_FORMAT {
            return Err(Wrong::Value(format!(
                "heaptrack's format {format:x} is not supported; the newest supported format is {NEWEST_FORMAT}"
            )));
        }
        (self.version, self.format) = (version, format);
        Ok(())
    }

    /// Reads the command. Its arguments may contain line breaks, and heaptrack's own reader mistakes the text after them for
    /// records. A separate line with facts about the machine follows the command.
    fn command(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let text = lines.last_line().strip_prefix(b"X ").unwrap_or_default();
        let mut command = text.to_vec();
        let ahead = lines.peek(LONGEST_COMMAND).map_err(Error::Input)?;
        let mut length = 0;
        let further = ahead
            .split_inclusive(|byte| *byte == b'\n')
            .find_map(|line| {
                let is_end = line
                    .trim_ascii_end()
                    .strip_prefix(b"I ")
                    .is_some_and(|rest| numbers::<2>(rest).is_some());
                let before = length;
                length += line.len();
                is_end.then_some(before)
            });
        if let Some(further) = further.filter(|further| *further > 0) {
            command.push(b'\n');
            command.extend_from_slice(&ahead[..further - 1]);
            lines.consume(further);
        }
        self.command = Some(Name::from_bytes(&command).into_string());
        Ok(())
    }

    /// Reads `s SIZE TEXT`, with a size in bytes and a text that may contain line breaks; before format 3 `s TEXT`.
    fn string(&mut self, lines: &mut Lines) -> Result<(), Error> {
        let text = &lines.last_line()[2..];
        if self.format < 3 {
            self.symbols.add_string(text);
            return Ok(());
        }
        let sized =
            leading_hex(text).and_then(|(size, rest)| Some((size, rest.strip_prefix(b" ")?)));
        let Some((size, text)) = sized else {
            return Err(Wrong::Line.at(lines));
        };
        if text.len() as u64 == size {
            self.symbols.add_string(text);
            return Ok(());
        }
        let mut whole = text.to_vec();
        while (whole.len() as u64) < size {
            whole.push(b'\n');
            match lines.next_line().map_err(Error::Input)? {
                Some(line) => whole.extend_from_slice(line),
                None => return Err(cut_short(lines)),
            }
        }
        if whole.len() as u64 > size {
            return Err(Error::at(
                lines.line_number(),
                format!("a string of {size} bytes has {}", whole.len()),
            ));
        }
        self.symbols.add_string(&whole);
        Ok(())
    }

    /// Reads `i IP MODULE [FN [FILE LINE [FN FILE LINE]…]]`.
    fn pointer(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let mut rest = Some(rest);
        let mut next = || -> Result<Option<u64>, Wrong> {
            let Some(text) = rest.filter(|text| !text.is_empty()) else {
                return Ok(None);
            };
            let (number, after_number) = leading_hex(text).ok_or(Wrong::Line)?;
            rest = match after_number {
                [] => None,
                [b' ', rest @ ..] => Some(rest),
                _ => return Err(Wrong::Line),
            };
            Ok(Some(number))
        };
        let (Some(address), Some(module)) = (next()?, next()?) else {
            return Err(Wrong::Line);
        };
        self.places.clear();
        while let Some(function) = next()? {
            let file = next()?;
            let line = next()?;
            // Only the first place may lack its file, and then it is the only place.
            if line.is_none() && (file.is_some() || !self.places.is_empty()) {
                return Err(Wrong::Line);
            }
            self.places.push(FunctionPlace {
                function: index(function)?,
                file: index(file.unwrap_or(0))?,
                line: line.unwrap_or(0),
            });
        }
        let module = index(module)?;
        self.symbols
            .add_pointer(address, module, &self.places)
            .map_err(Wrong::Value)
    }

    /// Reads `t IP PARENT`.
    fn trace(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let [pointer, parent] = numbers(rest).ok_or(Wrong::Line)?;
        self.symbols
            .add_trace(index(pointer)?, index(parent)?)
            .map_err(Wrong::Value)
    }

    /// Reads `a SIZE TRACE`.
    fn kind(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let [size, trace] = numbers(rest).ok_or(Wrong::Line)?;
        let trace = self.known_trace(trace)?;
        self.replay.add_kind(size, trace);
        Ok(())
    }

    fn known_trace(&self, trace: u64) -> Result<u32, Wrong> {
        let trace = index(trace)?;
        if !self.symbols.has_trace(trace) {
            return Err(Wrong::Value(format!("there is no trace {trace:x}")));
        }
        Ok(trace)
    }

    /// Reads `+ KIND`; in format 0 `+ SIZE TRACE ADDRESS`.
    fn allocate(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let stamps = self.timeline.stamps();
        self.ends_in_change = true;
        if self.format == 0 {
            let [size, trace, address] = numbers(rest).ok_or(Wrong::Line)?;
            let trace = self.known_trace(trace)?;
            let kind = *self
                .blocks
                .kinds
                .entry((size, trace))
                .or_insert_with(|| self.replay.add_kind(size, trace));
            self.blocks.live.insert(address, kind);
            return self
                .replay
                .allocate(kind, address, stamps)
                .map_err(Wrong::Value);
        }
        let [kind] = numbers(rest).ok_or(Wrong::Line)?;
        self.replay
            .allocate(kind_index(kind)?, kind, stamps)
            .map_err(Wrong::Value)
    }

    /// Reads `- KIND`; in format 0 `- ADDRESS`. Blocks that were allocated before heaptrack was attached are also freed.
    fn free(&mut self, rest: &[u8]) -> Result<(), Wrong> {
        let [freed] = numbers(rest).ok_or(Wrong::Line)?;
        self.ends_in_change = true;
        if self.format == 0 {
            let Some(kind) = self.blocks.live.remove(&freed) else {
                self.replay.unknown_frees += 1;
                return Ok(());
            };
            return self.replay.free(kind, freed).map_err(Wrong::Value);
        }
        let kind = kind_index(freed)?;
        match self.replay.free(kind, freed) {
            Err(_) if self.is_attached && kind < self.replay.kinds().len() => {
                self.replay.unknown_frees += 1;
                Ok(())
            }
            result => result.map_err(Wrong::Value),
        }
    }
}

/// An error in a line.
enum Wrong {
    /// The line does not have the syntax of the format.
    Line,
    /// The line has impossible values.
    Value(String),
}

impl Wrong {
    /// Returns the error for the last line. If the line has no line break, the file is truncated.
    fn at(self, lines: &Lines) -> Error {
        match self {
            _ if !lines.ended_with_newline() => cut_short(lines),
            Wrong::Line => Error::at(
                lines.line_number(),
                format!(
                    "expected a line of a heaptrack recording, found {}",
                    excerpt(lines.last_line())
                ),
            ),
            Wrong::Value(message) => Error::at(lines.line_number(), message),
        }
    }
}

fn cut_short(lines: &Lines) -> Error {
    Error::at(
        lines.line_number(),
        "the recording is cut short: allocations and frees after this line are missing",
    )
}

/// Parses exactly `COUNT` hexadecimal numbers, separated by blanks.
#[inline]
fn numbers<const COUNT: usize>(text: &[u8]) -> Option<[u64; COUNT]> {
    let mut found = [0; COUNT];
    let mut rest = text;
    for (position, number) in found.iter_mut().enumerate() {
        if position > 0 {
            rest = rest.strip_prefix(b" ")?;
        }
        (*number, rest) = leading_hex(rest)?;
    }
    rest.is_empty().then_some(found)
}

/// Returns the index of a kind of allocation. A number that does not fit into an index of this machine names no kind.
fn kind_index(kind: u64) -> Result<usize, Wrong> {
    usize::try_from(kind).map_err(|_| Wrong::Value(format!("there is no allocation {kind:x}")))
}

fn index(number: u64) -> Result<u32, Wrong> {
    u32::try_from(number).map_err(|_| Wrong::Value(format!("there is no index {number:x}")))
}

/// Returns the pattern of a leak suppression; `None` for comments and other kinds of suppressions.
fn suppression(line: &[u8]) -> Option<String> {
    let pattern = line.trim_ascii().strip_prefix(b"leak:")?;
    Some(Name::from_bytes(pattern).into_string())
}
