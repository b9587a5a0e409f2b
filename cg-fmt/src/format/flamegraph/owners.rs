//! The texts of frames by the owner of their code. A text has one colour, so a name with several owners gets suffixes.

use std::cell::Cell;

use cg_collections::intern::{Id, Made, TooMany};
use cg_names::code_origin::{CodeOwner, Facts, FactsFinder, classify_frame};
use cg_stream::record::Frame;

use super::super::stacks::{CountedStack, FrameTexts, WrittenFrameId, WrittenStacks, frame_name};

/// The number of owners that a frame can have.
const OWNERS: usize = CodeOwner::ALL.len();

/// Finds the owner of each frame, and the text for it.
#[derive(Default)]
pub(super) struct FrameOwners {
    facts: Made<Facts>,
    finder: FactsFinder,
    /// Cache of the text of each frame that has the same owner in all stacks.
    fixed: Made<WrittenFrameId>,
    /// Cache of the text of each other frame, by frame and owner.
    varying: Made<WrittenFrameId>,
    /// The owner of each text.
    owners: Vec<CodeOwner>,
}

impl FrameOwners {
    /// Adds the texts of a stack's frames to `frames`, innermost first.
    pub(super) fn push_frames(
        &mut self,
        stacks: &WrittenStacks<'_>,
        stack: &CountedStack<'_, '_>,
        texts: &mut FrameTexts,
        frames: &mut Vec<WrittenFrameId>,
    ) -> Result<(), TooMany> {
        let numbers = stack.numbers();
        let start = frames.len();
        // Most frames have a known text.
        let fixed = numbers.iter().map_while(|number| self.fixed.get(*number));
        frames.extend(fixed);
        let known = frames.len() - start;
        if known == numbers.len() {
            return Ok(());
        }
        for number in &numbers[known..] {
            self.find_facts(*number, stack.frame(*number))?;
        }
        for (position, number) in numbers.iter().enumerate().skip(known) {
            let text = match self.fixed.get(*number).copied() {
                Some(text) => text,
                None => {
                    let frame = stack.frame(*number);
                    self.find_text(stacks, numbers, position, frame, texts)?
                }
            };
            frames.push(text);
        }
        Ok(())
    }

    /// Returns the owner of each text, in the order of the texts' ids.
    pub(super) fn into_owners(self) -> Vec<CodeOwner> {
        self.owners
    }

    fn find_facts(&mut self, number: usize, frame: &Frame<'_>) -> Result<Facts, TooMany> {
        self.facts
            .get_or_make(number, || Ok(self.finder.find(frame)))
    }

    /// Returns the text of the frame at a position of a stack. `numbers` are the stack's frames, whose facts are known.
    fn find_text(
        &mut self,
        stacks: &WrittenStacks<'_>,
        numbers: &[usize],
        position: usize,
        frame: &Frame<'_>,
        texts: &mut FrameTexts,
    ) -> Result<WrittenFrameId, TooMany> {
        let number = numbers[position];
        let facts = self.find_facts(number, frame)?;
        let origin = classify_frame(position, |position| {
            let number = numbers.get(position)?;
            self.facts.get(*number).copied()
        });
        let owner = facts.owner(origin);
        let key = number * OWNERS + owner as usize;
        if let Some(text) = self.varying.get(key) {
            return Ok(*text);
        }
        let written = stacks.written(frame);
        let text = self.intern(&frame_name(&written), owner, texts)?;
        match has_fixed_owner(facts) {
            true => self.fixed.set(number, text),
            false => self.varying.set(key, text),
        }
        Ok(text)
    }

    /// Interns the text for a name with this owner. The first owner of a name gets the name without a suffix.
    fn intern(
        &mut self,
        name: &str,
        owner: CodeOwner,
        texts: &mut FrameTexts,
    ) -> Result<WrittenFrameId, TooMany> {
        let text = texts.intern(name, "")?;
        if self.owner_or_set(text, owner) == owner {
            return Ok(text);
        }
        let text = texts.intern(name, &format!(" [{}]", owner.word()))?;
        self.owner_or_set(text, owner);
        Ok(text)
    }

    /// Returns the owner of a text. A new text gets this owner.
    fn owner_or_set(&mut self, text: WrittenFrameId, owner: CodeOwner) -> CodeOwner {
        if text.index() == self.owners.len() {
            self.owners.push(owner);
        }
        self.owners[text.index()]
    }
}

/// Returns true if the owner of a frame does not depend on the frames around it: its classification does not read them.
fn has_fixed_owner(facts: Facts) -> bool {
    const POSITION: usize = 1;
    let is_fixed = Cell::new(true);
    classify_frame(POSITION, |position| {
        if position == POSITION {
            return Some(facts);
        }
        is_fixed.set(false);
        None
    });
    is_fixed.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ambiguous_frames_depend_on_their_neighbours() {
        for (name, file, is_fixed) in [
            ("malloc", None, true),
            ("std::rt::lang_start", None, true),
            ("demo::parse", None, true),
            ("parse", Some("/home/me/demo/src/parse.c"), true),
            ("main", Some("/home/me/demo/src/main.c"), true),
            // The program's function, or Rust's wrapper of it.
            ("main", None, false),
            // An inlined function of the program or of Rust's library.
            ("parse", Some("mod.rs"), false),
            // A dependency of the program or of Rust's library.
            ("hashbrown::map::insert", None, false),
        ] {
            let frame = Frame {
                name: Some(name.into()),
                file: file.map(Into::into),
                ..Frame::default()
            };
            let facts = Facts::from_frame(&frame);
            assert_eq!(has_fixed_owner(facts), is_fixed, "{name} in {file:?}");
        }
    }
}
