//! `<error>`: an error, or a loss record if its kind begins with `Leak_`.

use cg_reader::number::whole_u64;
use cg_stream::record::LeakKind;

use super::frame;
use super::scanner::{XmlToken, unescape_into};
use crate::fields::whole_amount;
use crate::leak::{self, LossRecord};
use crate::process::{KeptError, Process};
use crate::stacks::GatheredStacks;
use crate::table::{FindingTable, NameId};

/// An `<error>` while it is read.
#[derive(Default)]
pub(super) struct ErrorElement {
    pub(super) unique: Option<u64>,
    /// True if the element mixes two errors: a part occurs twice that every error has once.
    pub(super) is_mixed_up: bool,
    thread: Option<u64>,
    thread_name: Option<NameId>,
    kind: Vec<u8>,
    what: Vec<u8>,
    leaked_bytes: Option<u64>,
    leaked_blocks: Option<u64>,
    stacks: GatheredStacks,
    inside: Inside,
    /// DRD's text for the object that was first observed here.
    observed: Vec<u8>,
    suppression: Option<NameId>,
}

/// The element inside `<error>` that decides what a text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    What,
    AuxiliaryWhat,
    FirstObserved,
    /// One of DRD's elements whose `<what>` is a note.
    Note,
    Suppression,
}

/// The result of an `<error>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FinishedError {
    /// An error, at this position of the process's errors.
    Error(usize),
    Leak,
    /// An element without a required part, because the document is truncated or a part was removed.
    Damaged,
}

impl ErrorElement {
    pub(super) fn take(&mut self, token: XmlToken, table: &mut FindingTable) {
        match token {
            XmlToken::Open(name) => self.open(name, table),
            XmlToken::Close(name) => self.close(name),
            XmlToken::Text(name, text) => self.text(name, text, table),
            XmlToken::Frame(raw) => {
                let frame = table.frame(raw, frame::parse);
                self.stacks.frame(frame);
            }
        }
    }

    fn open(&mut self, name: &[u8], table: &mut FindingTable) {
        match name {
            b"stack" => self.stacks.begin_stack(table),
            b"xwhat" => self.inside = Inside::What,
            b"xauxwhat" => self.inside = Inside::AuxiliaryWhat,
            b"first_observed_at" => self.inside = Inside::FirstObserved,
            b"confl_wait_call" | b"trace" => self.inside = Inside::Note,
            b"suppression" => self.inside = Inside::Suppression,
            // Add the words of DRD's text logs.
            b"acquired_at" => self.stacks.note(b"Acquired at:", table),
            b"other_segment_start" => self.stacks.note(b"Other segment start", table),
            b"other_segment_end" => self.stacks.note(b"Other segment end", table),
            b"allocation_context" => self.stacks.extend_note(b"Allocation context:", table),
            b"sframe" => {}
            _ => self.stacks.nameless_note(table),
        }
    }

    fn close(&mut self, name: &[u8]) {
        if !matches!(name, b"stack" | b"sframe" | b"frame") {
            self.inside = Inside::Nothing;
        }
    }

    fn text(&mut self, name: &[u8], text: &[u8], table: &mut FindingTable) {
        let mut unescaped = Vec::new();
        unescape_into(text.trim_ascii(), &mut unescaped);
        let text = unescaped.as_slice();
        match (self.inside, name) {
            (Inside::Suppression, b"rawtext") => {
                self.suppression = Some(table.name(without_cdata(text)));
            }
            (Inside::Suppression, _) => {}
            (Inside::FirstObserved, b"what") => self.observed = text.to_vec(),
            (Inside::FirstObserved, b"address") => {
                self.observed.push(b' ');
                self.observed.extend_from_slice(text);
                self.observed.extend_from_slice(b" was first observed at:");
                self.stacks.note(&self.observed, table);
            }
            (Inside::Note, b"what" | b"text") | (Inside::AuxiliaryWhat, b"text") => {
                self.stacks.note(text, table);
            }
            (_, b"auxwhat") => self.stacks.note(text, table),
            (Inside::Nothing, b"what") | (Inside::What, b"text") => self.sentence(text, table),
            (_, b"leakedbytes") => self.leaked_bytes = whole_amount(text),
            (_, b"leakedblocks") => self.leaked_blocks = whole_amount(text),
            (_, b"unique") => {
                self.is_mixed_up |= self.unique.is_some();
                self.unique = unique(text);
            }
            (_, b"kind") => {
                self.is_mixed_up |= !self.kind.is_empty();
                self.kind = text.to_vec();
            }
            (_, b"tid") => self.thread = whole_u64(text),
            (_, b"threadname") => self.thread_name = Some(table.name(text)),
            _ => {}
        }
    }

    /// Adds a part of the sentence. Some errors of Helgrind have two `<what>`, and the second continues the first.
    fn sentence(&mut self, text: &[u8], table: &mut FindingTable) {
        if !self.what.is_empty() {
            self.what.push(b' ');
        }
        self.what.extend_from_slice(text);
        self.stacks.expect_main(table);
    }

    /// Adds the error or leak to the process.
    pub(super) fn finish(
        mut self,
        process: &mut Process,
        table: &mut FindingTable,
    ) -> FinishedError {
        let loss = self.loss_record();
        let is_leak = self.kind.starts_with(b"Leak_");
        if self.kind.is_empty() || self.what.is_empty() || (is_leak && loss.is_none()) {
            return FinishedError::Damaged;
        }
        let suppression = self.suppression;
        let (stack, notes) = std::mem::take(&mut self.stacks).finish(table);
        if let Some(loss) = loss {
            process.add_leak(loss, stack);
            if let Some(leak) = process.leaks.last_mut() {
                leak.suppression = suppression;
            }
            return FinishedError::Leak;
        }
        process.errors.push(KeptError {
            kind: table.name(&self.kind),
            is_known: true,
            what: table.name(&self.what),
            count: 1,
            thread: self.thread,
            thread_name: self.thread_name,
            stack,
            notes: notes.into_boxed_slice(),
            suppression,
        });
        FinishedError::Error(process.errors.len() - 1)
    }

    /// Returns the loss record. Prefers the sentence, which separates direct and indirect bytes; `<leakedbytes>` is their
    /// sum.
    fn loss_record(&self) -> Option<LossRecord> {
        let kind = match self.kind.strip_prefix(b"Leak_")? {
            b"DefinitelyLost" => LeakKind::Definite,
            b"IndirectlyLost" => LeakKind::Indirect,
            b"PossiblyLost" => LeakKind::Possible,
            b"StillReachable" => LeakKind::Reachable,
            _ => return None,
        };
        leak::parse(&self.what).or_else(|| {
            Some(LossRecord {
                kind,
                bytes: self.leaked_bytes?,
                blocks: self.leaked_blocks?,
                indirect_bytes: 0,
                number: 0,
                of: 0,
                is_delta: false,
            })
        })
    }
}

/// Parses `0x1a`, the number with which `<errorcounts>` refers to an error.
pub(super) fn unique(text: &[u8]) -> Option<u64> {
    whole_u64(text.trim_ascii())
}

fn without_cdata(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"<![CDATA[").unwrap_or(text);
    text.strip_suffix(b"]]>").unwrap_or(text).trim_ascii()
}
