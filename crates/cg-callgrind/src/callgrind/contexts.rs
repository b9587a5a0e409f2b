//! The contexts of a part, for stacks: what a node's name says of recursion and, with `--separate-callers`, of callers.
//!
//! A name is `function['level]['caller]*`, the nearest caller first, and says neither file nor object of the callers. The
//! calls do: of all functions called `main` that call this one, there is mostly one. A chain of as many callers as the
//! longest has goes on, unless it ends in a function that nobody calls. Callgrind begins a chain anew for a function that
//! calls itself directly, so that a recursion is one caller whatever its depth.

use cg_costs::ids::{FileFunctionId, FunctionId, StringId};
use cg_costs::section::{Section, SectionFunction};
use cg_costs::stacks::graph::{Callers, Context, ContextId, StackGraph};
use cg_costs::tables::{Added, NoRoom};
use cg_stream::intern::Id as _;
use cg_stream::maps::{Map, Set};

use super::decoration::{callers_of, level_of};
use super::functions::{FileFunctionNames, FileFunctions};
use super::part::PartSums;
use super::recursion::{FoldedNode, RecursionSigns};

/// Adds a part to the contexts of a section.
pub(super) fn add(
    part: &PartSums,
    nodes: &FileFunctions,
    names: &FileFunctionNames,
    shown: RecursionSigns,
    folded: &[FoldedNode],
    section: &mut Section,
    graph: &mut StackGraph,
) -> Added {
    let text_of = |node: FileFunctionId| names.text(nodes.get(node).name);
    let known = if shown.chains {
        KnownCallers::new(part, folded, text_of, section)?
    } else {
        KnownCallers::default()
    };
    let mut contexts: Vec<Option<ContextId>> = vec![None; nodes.len()];
    for node in folded {
        let text = section.strings.get(text_of(node.node)).to_vec();
        let context = match callers_of(&text).filter(|_| shown.chains) {
            Some(decorated) => {
                let callers = known.resolve(node.function, &decorated.callers, names, section)?;
                let is_cut = decorated.callers.len() == known.longest
                    && (decorated.callers.last()).is_some_and(|last| !known.roots.contains(*last));
                Context {
                    function: node.function,
                    level: decorated.level,
                    callers: graph.known_callers(&callers, is_cut)?,
                }
            }
            None => Context {
                function: node.function,
                level: if node.is_deeper { level_of(&text) } else { 1 },
                callers: match shown.chains {
                    true => graph.known_callers(&[], false)?,
                    false => Callers::Unknown,
                },
            },
        };
        let own = part.own.row(node.node.index());
        contexts[node.node.index()] = Some(graph.add_own(context, own, part.signedness)?);
    }
    let arcs = part.arcs.as_ref().filter(|_| !shown.chains);
    for (arc, (caller, callee)) in arcs.iter().flat_map(|arcs| arcs.all()) {
        let ends = [caller, callee].map(|node| contexts[node.index()]);
        if let ([Some(caller), Some(callee)], Some(arcs)) = (ends, arcs) {
            let (calls, cost) = (*arcs.facts(arc), arcs.inclusive(arc));
            graph.add_calls(caller, callee, calls, cost, part.signedness)?;
        }
    }
    Ok(())
}

/// What a part's calls and names tell about callers.
#[derive(Default)]
struct KnownCallers {
    /// Maps a callee and the name of its caller to the caller.
    of_function: Map<(FunctionId, Vec<u8>), FunctionId>,
    /// The first function of each name, for callers whose call is not in the part.
    by_name: Map<Vec<u8>, FunctionId>,
    /// Names of functions that nobody calls.
    roots: Set<Vec<u8>>,
    /// How many callers the longest chain has.
    longest: usize,
}

impl KnownCallers {
    fn new(
        part: &PartSums,
        folded: &[FoldedNode],
        text_of: impl Fn(FileFunctionId) -> StringId,
        section: &Section,
    ) -> Result<KnownCallers, NoRoom> {
        let mut known = KnownCallers::default();
        let mut by_node: Map<FileFunctionId, (&[u8], FunctionId)> = Map::default();
        for node in folded {
            let text = section.strings.get(text_of(node.node));
            let decorated = callers_of(text);
            let name = match &decorated {
                Some(decorated) => decorated.function,
                None => text,
            };
            match &decorated {
                Some(decorated) => known.longest = known.longest.max(decorated.callers.len()),
                None => {
                    known.roots.insert(text.to_vec());
                }
            }
            known.by_name.entry(name.to_vec()).or_insert(node.function);
            by_node.insert(node.node, (name, node.function));
        }
        for (_, (caller, callee)) in part.arcs.iter().flat_map(|arcs| arcs.all()) {
            if let (Some((name, caller)), Some((_, callee))) =
                (by_node.get(&caller), by_node.get(&callee))
            {
                let entry = known.of_function.entry((*callee, name.to_vec()));
                entry.or_insert(*caller);
            }
        }
        Ok(known)
    }

    /// The functions of a chain of names, the nearest caller first.
    fn resolve(
        &self,
        function: FunctionId,
        callers: &[&[u8]],
        names: &FileFunctionNames,
        section: &mut Section,
    ) -> Result<Vec<FunctionId>, NoRoom> {
        let mut at = function;
        let mut functions = Vec::with_capacity(callers.len());
        for name in callers {
            let by_call = self.of_function.get(&(at, name.to_vec()));
            at = match by_call.or_else(|| self.by_name.get(*name)) {
                Some(function) => *function,
                // Of a function that costs nothing itself the part may say nothing else.
                None => {
                    let name = names.readable_text(name, &mut section.strings)?;
                    section.function(SectionFunction {
                        name,
                        file: StringId::NOT_GIVEN,
                        object: StringId::NOT_GIVEN,
                    })?
                }
            };
            functions.push(at);
        }
        Ok(functions)
    }
}
