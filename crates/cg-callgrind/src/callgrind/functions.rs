//! The functions of a file under the file's own names, before recursion levels and callers are folded.
//!
//! A position is explicit if its line directly precedes the use (`fl=` before `fn=`, `cfi=` before `cfn=`). Otherwise it is
//! the position in force.
//!
//! In Callgrind's files each number means one function, and an omitted position is the position in force. But Callgrind may
//! omit an `fe=` or change a file silently (seen in 3.10 and 3.22). The number then still means the same function, and
//! KCachegrind reads it like this too. Other producers number only names and always give the file, so a number with
//! another file means another function.
//!
//! The rule: a number means one function from its first use on. A different explicit position means another function,
//! unless the first position was only assumed from a call.

use std::borrow::Cow;
use std::ops::Range;

use cg_collections::intern::{Id as _, Keys, TooMany};
use cg_collections::maps::Map;
use cg_costs::ids::{FileFunctionId, StringId, Strings};
use cg_names::code_origin::{FileFit, fit_file};
use cg_names::demangle::demangle;
use cg_stream::record::Name;

use super::decoration::{Decoration, parse_decoration};

cg_collections::ids! {
    /// A function's name in the file, with its decorations.
    pub(crate) struct DecoratedId;
}

/// All names of functions that a file uses.
#[derive(Default)]
pub(crate) struct FileFunctionNames {
    demangle: bool,
    /// True if each recursion level is a separate function, with its name in the file.
    keeps_levels: bool,
    /// Ids indexed by interned text.
    by_text: Vec<Option<DecoratedId>>,
    names: Vec<DecoratedName>,
    decorations: Vec<Decoration>,
}

#[derive(Clone, Copy)]
struct DecoratedName {
    text: StringId,
    /// The name in records, if it has no decoration.
    plain: StringId,
    /// Index of its decoration in `decorations`.
    decoration: Option<usize>,
}

/// The name that a decorated name folds into. It depends on the way in which the file decorates names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoldedName {
    pub(crate) name: StringId,
    /// True for the second and deeper activations of a recursive function.
    pub(crate) is_deeper: bool,
}

impl FileFunctionNames {
    pub(crate) fn new(demangle: bool, keeps_levels: bool) -> FileFunctionNames {
        FileFunctionNames {
            demangle,
            keeps_levels,
            ..FileFunctionNames::default()
        }
    }

    pub(crate) fn keeps_levels(&self) -> bool {
        self.keeps_levels
    }

    /// Returns the id of a name.
    pub(crate) fn intern(
        &mut self,
        text: &[u8],
        strings: &mut Strings,
    ) -> Result<DecoratedId, TooMany> {
        let text_id = strings.intern(text)?;
        if let Some(id) = self.find_text(text_id) {
            return Ok(id);
        }
        let decoration = parse_decoration(text).map(|decoration| {
            self.decorations.push(decoration);
            self.decorations.len() - 1
        });
        let plain = match decoration {
            Some(_) => text_id,
            None => self.readable(text_id, 0..text.len(), strings)?,
        };
        let id = DecoratedId::at(self.names.len())?;
        self.names.push(DecoratedName {
            text: text_id,
            plain,
            decoration,
        });
        if self.by_text.len() <= text_id.index() {
            self.by_text.resize(text_id.index() + 1, None);
        }
        self.by_text[text_id.index()] = Some(id);
        Ok(id)
    }

    fn find_text(&self, text: StringId) -> Option<DecoratedId> {
        self.by_text.get(text.index()).copied().flatten()
    }

    /// Returns the interned name, demangled if `demangle` is set.
    pub(crate) fn readable_text(
        &self,
        text: &[u8],
        strings: &mut Strings,
    ) -> Result<StringId, TooMany> {
        match self.demangle {
            true => strings.intern(&demangle(text)),
            false => strings.intern(text),
        }
    }

    /// Returns a piece of an interned text, demangled if `demangle` is set.
    fn readable(
        &self,
        text: StringId,
        piece: Range<usize>,
        strings: &mut Strings,
    ) -> Result<StringId, TooMany> {
        let whole = strings.get(text);
        let is_whole = piece.len() == whole.len();
        let piece = &whole[piece];
        let name = match self.demangle.then(|| demangle(piece)) {
            Some(Cow::Owned(demangled)) => demangled,
            _ if is_whole => return Ok(text),
            _ => piece.to_vec(),
        };
        strings.intern(&name)
    }

    /// Returns the name in the file.
    pub(crate) fn text(&self, id: DecoratedId) -> StringId {
        self.names[id.index()].text
    }

    fn decoration(&self, id: DecoratedId) -> Option<&Decoration> {
        self.names[id.index()]
            .decoration
            .map(|position| &self.decorations[position])
    }

    /// Returns true if a name certainly has a recursion level, because the name without the level is known too.
    pub(crate) fn has_level(&self, id: DecoratedId, strings: &Strings) -> bool {
        self.decoration(id)
            .and_then(|decoration| decoration.without_level.clone())
            .is_some_and(|range| self.is_known(&strings.get(self.text(id))[range], strings))
    }

    fn is_known(&self, text: &[u8], strings: &Strings) -> bool {
        strings
            .find(text)
            .is_some_and(|text| self.find_text(text).is_some())
    }

    /// Returns true if a call from `caller` to `callee` shows that names contain their callers.
    pub(crate) fn shows_chains(
        &self,
        caller: DecoratedId,
        callee: DecoratedId,
        strings: &Strings,
    ) -> bool {
        let Some(chain) = self
            .decoration(callee)
            .and_then(|decoration| decoration.chain.as_ref())
        else {
            return false;
        };
        let caller_text = strings.get(self.text(caller));
        let caller_name = match self.decoration(caller) {
            Some(Decoration {
                chain: Some(chain), ..
            }) => &caller_text[chain.function.clone()],
            Some(Decoration {
                without_level: Some(range),
                ..
            }) => &caller_text[range.clone()],
            _ => caller_text,
        };
        &strings.get(self.text(callee))[chain.first_caller.clone()] == caller_name
    }

    /// Folds a name. `has_chains` is true if names contain their callers.
    pub(crate) fn folded(
        &self,
        id: DecoratedId,
        has_chains: bool,
        strings: &mut Strings,
    ) -> Result<FoldedName, TooMany> {
        let name = self.names[id.index()];
        let Some(decoration) = self.decoration(id) else {
            return Ok(FoldedName {
                name: name.plain,
                is_deeper: false,
            });
        };
        let (piece, is_deeper) = match (&decoration.chain, &decoration.without_level) {
            (Some(chain), _) if has_chains => (chain.function.clone(), chain.has_level),
            (_, Some(range))
                if has_chains || self.is_known(&strings.get(name.text)[range.clone()], strings) =>
            {
                (range.clone(), true)
            }
            _ => (0..strings.get(name.text).len(), false),
        };
        let level = piece.end..strings.get(name.text).len();
        let folded = self.readable(name.text, piece, strings)?;
        if !is_deeper || !self.keeps_levels {
            return Ok(FoldedName {
                name: folded,
                is_deeper,
            });
        }
        let level = level_at(&strings.get(name.text)[level]);
        let level = [strings.get(folded), level].concat();
        Ok(FoldedName {
            name: strings.intern(&level)?,
            is_deeper: false,
        })
    }
}

/// Returns the level at the beginning of a text, such as `'2` in `'2'main`.
fn level_at(text: &[u8]) -> &[u8] {
    let digits = text.iter().skip(1).take_while(|byte| byte.is_ascii_digit());
    &text[..text.len().min(1 + digits.count())]
}

/// The key of a function in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileFunction {
    pub(crate) name: DecoratedId,
    pub(crate) object: StringId,
    pub(crate) file: StringId,
}

/// The evidence for a position, least reliable first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PositionCertainty {
    /// A call omitted it, so the caller's position was used.
    Assumed,
    /// In force at the beginning of the function itself.
    InForce,
    /// Given directly before the use.
    Explicit,
}

/// An object or a file, and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) name: StringId,
    pub(crate) certainty: PositionCertainty,
}

/// All functions of a file.
#[derive(Default)]
pub(crate) struct FileFunctions {
    nodes: Keys<FileFunctionId, FileFunction>,
    /// Each node with its final object and file, which may replace positions assumed from a call.
    corrected: Vec<FileFunction>,
    certainty: Vec<(PositionCertainty, PositionCertainty)>,
    /// For functions whose `fl=` belongs to another project, the file of their own code, if the profile names it.
    own_files: Map<FileFunctionId, StringId>,
    /// For each function, true if its `fl=` belongs to another project; `None` if this has not been checked.
    doubted: Vec<Option<bool>>,
}

impl FileFunctions {
    /// Returns the file of a function. Callgrind names the file of its first instruction, which may be inlined code of another
    /// project.
    pub(crate) fn own_file(&self, id: FileFunctionId) -> StringId {
        let own = self.own_files.get(&id).copied();
        own.unwrap_or_else(|| self.get(id).file)
    }

    /// Takes a file in which a function has code. It replaces the file of the function if it fits the function's name better.
    pub(crate) fn note_file(
        &mut self,
        id: FileFunctionId,
        file: StringId,
        names: &FileFunctionNames,
        strings: &Strings,
    ) {
        let known = self.get(id);
        if file == known.file || self.own_files.get(&id) == Some(&file) {
            return;
        }
        if self.doubted.len() <= id.index() {
            self.doubted.resize(id.index() + 1, None);
        }
        if self.doubted[id.index()] == Some(false) {
            return;
        }
        let name = demangle(strings.get(names.text(known.name)));
        let name = Name::from_bytes(&name);
        let fit = |file: StringId| fit_file(&name, &Name::from_bytes(strings.get(file)));
        let own = self.own_file(id);
        // A file that may be the function's own is not doubted.
        let is_doubted = fit(known.file) == FileFit::Other;
        self.doubted[id.index()] = Some(is_doubted);
        if is_doubted && fit(file) > fit(own) {
            self.own_files.insert(id, file);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.corrected.len()
    }

    #[inline]
    pub(crate) fn get(&self, id: FileFunctionId) -> FileFunction {
        self.corrected[id.index()]
    }

    /// Returns the function with this name and these positions. Adds it if it is new.
    pub(crate) fn find(
        &mut self,
        name: DecoratedId,
        object: Position,
        file: Position,
    ) -> Result<FileFunctionId, TooMany> {
        let node = FileFunction {
            name,
            object: object.name,
            file: file.name,
        };
        let id = self.nodes.intern(node)?;
        if self.corrected.len() < self.nodes.len() {
            self.corrected.push(node);
            self.certainty.push((object.certainty, file.certainty));
        }
        self.confirm(id, object, file);
        Ok(id)
    }

    /// Returns true if a number, used with these positions, still means the same function. Replaces positions that were only
    /// assumed from a call.
    #[inline]
    pub(crate) fn reuse(&mut self, id: FileFunctionId, object: Position, file: Position) -> bool {
        let node = self.corrected[id.index()];
        if node.object == object.name && node.file == file.name {
            self.confirm(id, object, file);
            return true;
        }
        let (object_certainty, file_certainty) = self.certainty[id.index()];
        let is_other = |known: StringId, certainty: PositionCertainty, position: Position| {
            known != position.name
                && position.certainty == PositionCertainty::Explicit
                && certainty > PositionCertainty::Assumed
        };
        if is_other(node.object, object_certainty, object)
            || is_other(node.file, file_certainty, file)
        {
            return false;
        }
        let node = &mut self.corrected[id.index()];
        let certainty = &mut self.certainty[id.index()];
        if object_certainty == PositionCertainty::Assumed
            && object.certainty > PositionCertainty::Assumed
        {
            node.object = object.name;
            certainty.0 = object.certainty;
        }
        if file_certainty == PositionCertainty::Assumed
            && file.certainty > PositionCertainty::Assumed
        {
            node.file = file.name;
            certainty.1 = file.certainty;
        }
        true
    }

    #[inline]
    fn confirm(&mut self, id: FileFunctionId, object: Position, file: Position) {
        let node = self.corrected[id.index()];
        let certainty = &mut self.certainty[id.index()];
        if node.object == object.name {
            certainty.0 = certainty.0.max(object.certainty);
        }
        if node.file == file.name {
            certainty.1 = certainty.1.max(file.certainty);
        }
    }
}
