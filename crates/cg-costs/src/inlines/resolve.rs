//! Finds out which functions the cost of a section is of, as if nothing had been inlined.

use std::io;

use cg_debug_info::{ChainNodeId, Chains, Search};
use cg_reader::Error;
use cg_stream::intern::TooMany;

use super::add_up::{CostLineSums, Roots, add_up};
use super::chain::ChainRows;
use super::inclusive::add_inclusive_of_callers;
use super::objects::{TracedObjects, Unresolved};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;
use crate::tables::NoRoom;

/// A function of a chain as records name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InlinedFunction {
    pub(super) name: StringId,
    pub(super) file: StringId,
}

/// The inlined functions of a section.
pub struct Inlines {
    pub(super) objects: TracedObjects,
    pub(super) chains: ChainRows,
    /// By object: its functions, in the order of [`Chains::functions`], and its files in that of [`Chains::files`].
    pub(super) functions: Vec<Vec<InlinedFunction>>,
    pub(super) files: Vec<Vec<StringId>>,
    /// Cost whose chain is known, by event.
    pub(super) resolved: Vec<u64>,
    /// Functions of which code may be each, where lines do not tell.
    pub(super) several: Vec<Vec<cg_debug_info::ChainFunctionId>>,
}

/// Resolves what the section's trace has.
pub fn resolve(section: &mut Section, search: &Search) -> Result<Option<Inlines>, Error> {
    let Some(trace) = &mut section.trace else {
        return Ok(None);
    };
    // The next part has a trace of its own.
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
    // An object is mostly the one that was profiled, so that its lines are added up by its chains while they are held
    // against its symbols, and once more only where it turns out to be another.
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
    Ok(Some(inlines))
}

impl Inlines {
    /// Finds out what the functions of chains are called in records.
    fn name(&mut self, roots: &Roots, section: &mut Section) -> Result<(), TooMany> {
        for (place, object) in self.objects.objects.iter().enumerate() {
            let (mut functions, mut files) = (Vec::new(), Vec::new());
            if let Some(chains) = object.chains() {
                for path in chains.files() {
                    files.push(section.strings.intern(path)?);
                }
                for (id, function) in chains.functions() {
                    let hosts = roots
                        .get(&(place, id.index()))
                        .map_or(&[][..], Vec::as_slice);
                    functions.push(match out_of_line(&function.name, hosts, section) {
                        Some(host) => {
                            let key = section.key_of(host);
                            InlinedFunction {
                                name: key.name,
                                file: key.file,
                            }
                        }
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
                    });
                }
            }
            self.functions.push(functions);
            self.files.push(files);
        }
        Ok(())
    }

    /// Why objects that cost something are not resolved, each with its cost by the event that ranks.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = (StringId, &Unresolved)> {
        (self.objects.objects.iter())
            .filter_map(|object| Some((object.name, object.unresolved.as_ref()?)))
    }

    /// The chain of an instruction of a function's object.
    pub(crate) fn at(
        &self,
        object: StringId,
        address: u64,
    ) -> Option<(usize, &Chains, ChainNodeId)> {
        let place = self.objects.position(object)?;
        let object = &self.objects.objects[place];
        let chains = object.chains.as_ref()?;
        let node = chains.innermost[object.index_of(address)?]?;
        Some((place, chains, node))
    }
}

/// The profile's function that is the out-of-line copy of an inlined one, so that both are one row: the host of the
/// same name, else the only other host, whose name is an alias or another spelling. A host whose name merely begins
/// with the function's name is a part or a clone of it, and not all of it.
fn out_of_line(name: &[u8], hosts: &[FunctionId], section: &Section) -> Option<FunctionId> {
    let name_of = |host: &FunctionId| section.strings.get(section.key_of(*host).name);
    if let Some(host) = hosts.iter().find(|host| name_of(host) == name) {
        return Some(*host);
    }
    let mut whole = hosts.iter().filter(|host| !name_of(host).starts_with(name));
    match (whole.next(), whole.next()) {
        (Some(host), None) => Some(*host),
        _ => None,
    }
}
