//! Attributes the cost of a section to functions as if nothing had been inlined.

use std::io;

use cg_collections::intern::TooMany;
use cg_collections::maps::Map;
use cg_debug_info::{ChainFunction, Chains, KeptObjects, Search, path_from_bytes};
use cg_reader::Error;

use super::add_up::{CostLineSums, Roots, add_up};
use super::chain::ChainRows;
use super::inclusive::add_inclusive_of_callers;
use super::objects::{TracedObjects, Unresolved};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;
use crate::tables::NoRoom;

/// A function of a chain, with its name and file in records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InlinedFunction {
    pub(super) name: StringId,
    pub(super) file: StringId,
}

/// The inlined functions of a section.
pub struct Inlines {
    pub(super) objects: TracedObjects,
    pub(super) chains: ChainRows,
    /// The functions of each object, in the order of [`Chains::functions`].
    pub(super) functions: Vec<Vec<InlinedFunction>>,
    /// The files of each object, in the order of [`Chains::files`].
    pub(super) files: Vec<Vec<StringId>>,
    /// The cost with a known chain, by event.
    pub(super) resolved: Vec<u64>,
    /// Groups of functions for ambiguous lines. The code of a line belongs to one of the group's functions.
    pub(super) several: Vec<Vec<cg_debug_info::ChainFunctionId>>,
}

/// Resolves the inlined functions of the section's cost lines; `None` if it has no cost lines.
pub fn resolve(section: &mut Section, search: &Search) -> Result<Option<Inlines>, Error> {
    let Some(trace) = &mut section.trace else {
        return Ok(None);
    };
    // The next part begins with an empty trace.
    let mut trace = std::mem::take(trace);
    let ranking = section.ranking_event();
    let kept = |error: io::Error| {
        Error::whole(format!(
            "cannot keep cost lines in a temporary file: {error}"
        ))
    };
    let mut objects = TracedObjects::collect(&mut trace, section).map_err(kept)?;
    objects.find_candidates(section, search);
    objects
        .check_lines(&mut trace, section, ranking)
        .map_err(kept)?;
    let no_room = |no_room: NoRoom| Error::whole(no_room.to_string());
    // An object is usually the profiled build. So its lines are added up by its chains and compared with its symbols in one
    // pass. Only if the object proves to be another build, the lines are added up again.
    let mut added = None;
    let added = loop {
        let is_tried = objects.try_next(search);
        if let Some(added) = added.take_if(|_| !is_tried) {
            break added;
        }
        let sums = add_up(&mut trace, &mut objects, section, ranking);
        let sums = sums.map_err(kept)?.map_err(no_room)?;
        added = objects.judge().then_some(sums);
    };
    let CostLineSums {
        mut chains,
        recursion,
        resolved,
        several,
        roots,
    } = added;
    add_inclusive_of_callers(&mut chains, recursion, &mut objects, section).map_err(no_room)?;
    let mut inlines = Inlines {
        objects,
        chains,
        functions: Vec::new(),
        files: Vec::new(),
        resolved,
        several,
    };
    inlines.name(&roots, section)?;
    if let Some(store) = &search.keep {
        inlines.keep(section, store)?;
    }
    Ok(Some(inlines))
}

impl Inlines {
    /// Copies the files of all resolved objects to a store.
    fn keep(&self, section: &Section, store: &KeptObjects) -> Result<(), Error> {
        for object in &self.objects.objects {
            if let (Some(files), None) = (&object.files, &object.unresolved) {
                let path = &path_from_bytes(section.strings.get(object.name));
                files.keep(path, store).map_err(|error| {
                    Error::whole(format!(
                        "cannot keep {} in {}: {error}",
                        path.display(),
                        store.directory().display()
                    ))
                })?;
            }
        }
        Ok(())
    }

    /// Determines the names of the chains' functions in records.
    fn name(&mut self, roots: &Roots, section: &mut Section) -> Result<(), TooMany> {
        for (place, object) in self.objects.objects.iter().enumerate() {
            let (mut functions, mut files) = (Vec::new(), Vec::new());
            if let Some(chains) = object.chains() {
                for path in chains.files() {
                    files.push(section.strings.intern(path)?);
                }
                functions = named_functions(place, chains, &files, roots, section)?;
            }
            self.functions.push(functions);
            self.files.push(files);
        }
        Ok(())
    }

    /// Returns the unresolved objects, each with the reason.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = (StringId, &Unresolved)> {
        (self.objects.objects.iter())
            .filter_map(|object| Some((object.name, object.unresolved.as_ref()?)))
    }
}

/// Determines the names of the functions of one object's chains in records.
fn named_functions(
    place: usize,
    chains: &Chains,
    files: &[StringId],
    roots: &Roots,
    section: &mut Section,
) -> Result<Vec<InlinedFunction>, TooMany> {
    let key_of = |function: &ChainFunction| (function.name.clone(), function.declared.file);
    let mut by_name = Map::<_, InlinedFunction>::default();
    let mut out = Vec::new();
    for (id, function) in chains.functions() {
        let hosts = roots.get(&(place, id.index()));
        let hosts = hosts.map_or(&[][..], Vec::as_slice);
        let found = match find_out_of_line(&function.name, hosts, section) {
            Some((host, name)) => Some(InlinedFunction {
                name: section.strings.intern(&name)?,
                file: section.key_of(host).file,
            }),
            None => None,
        };
        if let Some(found) = found.filter(|_| !function.name.is_empty()) {
            by_name.entry(key_of(function)).or_insert(found);
        }
        out.push(found);
    }
    let mut named = Vec::with_capacity(out.len());
    for ((_, function), found) in chains.functions().zip(out) {
        // Each unit has its own entries for a function.
        named.push(
            match found.or_else(|| by_name.get(&key_of(function)).copied()) {
                Some(found) => found,
                None => InlinedFunction {
                    name: match function.name.as_slice() {
                        b"" => section.strings.intern(b"???")?,
                        name => section.strings.intern(name)?,
                    },
                    file: match function.declared.file {
                        Some(file) => files[file.index()],
                        None => StringId::NOT_GIVEN,
                    },
                },
            },
        );
    }
    Ok(named)
}

/// Finds the profile's function that is the out-of-line copy of an inlined function. Returns it with a common name, so that
/// they share a row. This is the host with the same name, or else the only host that is not a clone; its name is then an
/// alias or another spelling. If there are only clones and parts, the common name is their name without the compiler's
/// suffix.
fn find_out_of_line(
    name: &[u8],
    hosts: &[FunctionId],
    section: &Section,
) -> Option<(FunctionId, Vec<u8>)> {
    let name_of = |host: &FunctionId| section.strings.get(section.key_of(*host).name);
    if let Some(host) = hosts.iter().find(|host| name_of(host) == name) {
        return Some((*host, name.to_vec()));
    }
    let is_whole = |host: &&FunctionId| without_clone(name_of(host)) == name_of(host);
    let mut whole = hosts.iter().filter(is_whole);
    match (whole.next(), whole.next()) {
        (Some(host), None) => Some((*host, name_of(host).to_vec())),
        (Some(_), Some(_)) => None,
        (None, _) => {
            let host = hosts.first()?;
            let called = without_clone(name_of(host));
            let is_one = hosts
                .iter()
                .all(|host| without_clone(name_of(host)) == called);
            is_one.then(|| (*host, called.to_vec()))
        }
    }
}

/// Removes the suffixes that GCC and LLVM append to the names of parts and clones of a function.
fn without_clone(name: &[u8]) -> &[u8] {
    const MARKS: [&str; 7] = [
        " [clone ",
        ".part.",
        ".isra.",
        ".constprop.",
        ".cold",
        ".lto_priv.",
        ".llvm.",
    ];
    let marks = MARKS.iter().filter_map(|mark| find(name, mark.as_bytes()));
    marks.min().map_or(name, |end| &name[..end])
}

fn find(name: &[u8], mark: &[u8]) -> Option<usize> {
    name.windows(mark.len()).position(|part| part == mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_of_clones_are_removed_from_names() {
        for (name, expected) in [
            (
                "app::weigh(int, int) [clone .part.0]",
                "app::weigh(int, int)",
            ),
            ("weigh.constprop.0.isra.1", "weigh"),
            ("log(char const*, ...)", "log(char const*, ...)"),
            ("weigh", "weigh"),
        ] {
            assert_eq!(without_clone(name.as_bytes()), expected.as_bytes());
        }
    }
}
