//! Writes chains of inlined functions as records.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::BuildHasher as _;

use cg_collections::intern::Id as _;
use cg_collections::sorting::Order as _;
use cg_debug_info::{ChainNodeId, Chains, SourcePlace};
use cg_reader::{Error, Out};
use cg_stream::rows::{InlineRow, NameId, NamesRef, StackRef};
use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::chain::{ChainKey, Inlined};
use super::paths::is_same_file;
use super::resolve::{InlinedFunction, Inlines};
use super::trace::At;
use crate::ids::{FunctionId, StringId};
use crate::section::Section;
use crate::write::PartAndThread;
use crate::write::tables::{ChainFrame, SectionTables, name};

/// A row to write: the cost of the code of one chain.
struct ChainRow<'i> {
    key: ChainKey,
    frames: Vec<ChainFrame>,
    /// The group of possible functions, if the code is ambiguous.
    several: Option<usize>,
    own: Cow<'i, [u64]>,
    inclusive: Option<Cow<'i, [u64]>>,
}

impl ChainRow<'_> {
    /// Adds the cost of code with the same record. Signed counts also add up modulo 2^64.
    fn add(&mut self, own: &[u64], inclusive: Option<&[u64]>) {
        let add = |sums: &mut Cow<[u64]>, counts: &[u64]| {
            for (sum, count) in sums.to_mut().iter_mut().zip(counts) {
                *sum = sum.wrapping_add(*count);
            }
        };
        add(&mut self.own, own);
        match (&mut self.inclusive, inclusive) {
            (Some(sums), Some(counts)) => add(sums, counts),
            (sums, _) => *sums = None,
        }
    }
}

impl InlinedFunction {
    /// Converts the function to a frame without a line.
    fn frame(self) -> ChainFrame {
        ChainFrame {
            name: self.name,
            file: self.file,
            line: 0,
            site: StringId::NOT_GIVEN,
        }
    }
}

impl Inlines {
    /// Writes an `inline` record for every chain that has cost, self or inclusive, and for every function.
    pub(crate) fn write(
        &self,
        tables: &mut SectionTables<'_>,
        part: PartAndThread,
        out: &mut Out,
    ) -> Result<(), Error> {
        let section = tables.section;
        let mut stack = Vec::new();
        for row in self.rows(section) {
            let host = section.key_of(row.key.host);
            let Some(innermost) = row.frames.first() else {
                continue;
            };
            let last = row.frames.len() - 1;
            stack.clear();
            for (position, frame) in row.frames.iter().enumerate() {
                let object = match position == last {
                    true => host.object,
                    false => StringId::NOT_GIVEN,
                };
                stack.push(tables.frame_in(*frame, object)?);
            }
            let ambiguous = self.ambiguous(section, row.key);
            let row = InlineRow {
                name: name(innermost.name),
                file: name(innermost.file),
                obj: name(host.object),
                ambiguous: NamesRef::Ids(&ambiguous),
                part: part.part,
                thread: part.thread,
                cost: tables.cells(&row.own),
                incl: row
                    .inclusive
                    .as_deref()
                    .map(|inclusive| tables.cells(inclusive)),
                stack: StackRef::Ids(&stack),
            };
            out.row(row, &*tables)?;
        }
        Ok(())
    }

    /// Returns the rows in the order of records. Chains with the same names at the same lines become one row, even if the
    /// debug information has several entries for them.
    fn rows<'i>(&'i self, section: &'i Section) -> Vec<ChainRow<'i>> {
        let chains = &self.chains;
        let mut rows: Vec<ChainRow> = Vec::new();
        let mut known = HashTable::new();
        let hasher = FixedState::default();
        for (row, key) in chains.all() {
            let frames = self.frames(section, key);
            let several = match key.inlined {
                Some(Inlined::OneOf(several)) => Some(several),
                _ => None,
            };
            let same = |row: &ChainRow| (row.key.host, row.several) == (key.host, several);
            let hash = hasher.hash_one((key.host, several, &frames));
            let found = known.find(hash, |index: &usize| {
                same(&rows[*index]) && rows[*index].frames == frames
            });
            let has_lines_only = self.objects.has_lines_only(section.key_of(key.host).object);
            let inclusive = match key.inlined {
                None => Some(section.inclusive(key.host)),
                Some(Inlined::Chain(_)) if !has_lines_only => Some(chains.inclusive(row)),
                Some(_) => None,
            };
            let inclusive = inclusive.filter(|_| section.has_inclusive());
            match found.copied() {
                Some(index) => rows[index].add(chains.own(row), inclusive),
                None => {
                    let index = rows.len();
                    rows.push(ChainRow {
                        key,
                        frames,
                        several,
                        own: Cow::Borrowed(chains.own(row)),
                        inclusive: inclusive.map(Cow::Borrowed),
                    });
                    known.insert_unique(hash, index, |index: &usize| {
                        let row: &ChainRow = &rows[*index];
                        hasher.hash_one((row.key.host, row.several, &row.frames))
                    });
                }
            }
        }
        let ranking = section.ranking_event();
        rows.order_by(|a, b| {
            section
                .by_cost(ranking, &a.own, &b.own)
                .then_with(|| by_frames(section, &a.frames, &b.frames))
                .then_with(|| {
                    section.by_function(section.key_of(a.key.host), section.key_of(b.key.host))
                })
        });
        rows
    }

    /// Returns the frames of a chain, innermost first. The last frame is the host.
    fn frames(&self, section: &Section, key: ChainKey) -> Vec<ChainFrame> {
        let host = section.key_of(key.host);
        let place = self.objects.position(host.object);
        let mut frames = Vec::new();
        if let Some(place) = place
            && let Some(chains) = self.objects.objects[place].chains()
        {
            match key.inlined {
                Some(Inlined::Chain(innermost)) => {
                    self.push_frames(section, place, chains, innermost, &mut frames);
                }
                // The functions between the innermost function and the host are unknown, and so is the line of the call.
                Some(Inlined::Innermost(function)) => {
                    let function = self.functions[place][function.index()];
                    frames.extend([function, function].map(InlinedFunction::frame));
                }
                Some(Inlined::OneOf(_)) | None => {}
            }
        }
        let host = InlinedFunction {
            name: host.name,
            file: host.file,
        };
        match frames.last_mut() {
            // Use the profile's name of the host.
            Some(last) => self.rename(section, last, host),
            None => frames.push(host.frame()),
        }
        frames
    }

    /// Returns the names of the functions that ambiguous code may belong to.
    fn ambiguous(&self, section: &Section, key: ChainKey) -> Vec<NameId> {
        let Some(Inlined::OneOf(several)) = key.inlined else {
            return Vec::new();
        };
        let Some(place) = self.objects.position(section.key_of(key.host).object) else {
            return Vec::new();
        };
        let names = self.several[several].iter();
        let names = names.map(|function| self.functions[place][function.index()].name);
        let mut names: Vec<StringId> = names.filter(|name| *name != StringId::NOT_GIVEN).collect();
        names.order_by(|a, b| section.by_string(*a, *b));
        names.dedup();
        let ids = names
            .iter()
            .filter_map(|name| NameId::at(name.index()).ok());
        ids.collect()
    }

    fn push_frames(
        &self,
        section: &Section,
        place: usize,
        chains: &Chains,
        innermost: ChainNodeId,
        frames: &mut Vec<ChainFrame>,
    ) {
        let mut call: Option<SourcePlace> = None;
        for node in chains.chain(innermost) {
            let function = self.functions[place][node.function.index()];
            let mut frame = function.frame();
            if let Some(call) = call {
                frame.line = u64::from(call.line);
                if let Some(file) = call.file {
                    frame.site = self.files[place][file.index()];
                    self.rename(section, &mut frame, function);
                }
            }
            frames.push(frame);
            call = node.inlined_into.map(|(_, call)| call);
        }
    }

    /// Gives a frame this function. The frame keeps the file of its line only if it differs from the function's file.
    fn rename(&self, section: &Section, frame: &mut ChainFrame, function: InlinedFunction) {
        let file = std::mem::replace(&mut frame.file, function.file);
        frame.name = function.name;
        let site = match frame.site {
            StringId::NOT_GIVEN if frame.line != 0 => file,
            site => site,
        };
        let is_own = is_same_file(
            section.strings.get(site),
            section.strings.get(function.file),
        );
        frame.site = if frame.line == 0 || is_own {
            StringId::NOT_GIVEN
        } else {
            site
        };
    }

    /// Returns the innermost function at an instruction of a function; `None` if it is not an inlined function.
    pub fn innermost(
        &self,
        section: &Section,
        function: FunctionId,
        at: At,
    ) -> Option<ChainNodeId> {
        let place = self.objects.position(section.key_of(function).object)?;
        let object = &self.objects.objects[place];
        let (chains, node) = object.innermost(function, at, section)?;
        chains.node(node).inlined_into.is_some().then_some(node)
    }

    /// Returns the inlined functions of a chain, without the function that they are inlined into.
    pub(crate) fn inlined(
        &self,
        section: &Section,
        object: StringId,
        innermost: ChainNodeId,
    ) -> Vec<ChainFrame> {
        let mut frames = Vec::new();
        if let Some(place) = self.objects.position(object)
            && let Some(chains) = self.objects.objects[place].chains()
        {
            self.push_frames(section, place, chains, innermost, &mut frames);
            frames.pop();
        }
        frames
    }
}

fn by_frames(section: &Section, a: &[ChainFrame], b: &[ChainFrame]) -> Ordering {
    let by_frame = |a: &ChainFrame, b: &ChainFrame| {
        section
            .by_string(a.name, b.name)
            .then_with(|| section.by_string(a.file, b.file))
            .then_with(|| a.line.cmp(&b.line))
            .then_with(|| section.by_string(a.site, b.site))
    };
    let differing = a
        .iter()
        .zip(b)
        .map(|(a, b)| by_frame(a, b))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}
