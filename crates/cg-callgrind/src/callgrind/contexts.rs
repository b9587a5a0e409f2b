//! The contexts of a part, for stacks: the recursion level in a node's name and, with `--separate-callers`, the callers.
//!
//! A name is `function['level]['caller]*`, nearest caller first, without the files and objects of the callers. The calls
//! identify a caller: mostly there is only one function called `main` among the callers of a function. A chain with the
//! maximum number of callers is incomplete, unless it ends in a function without callers. Callgrind restarts the chain
//! when a function calls itself directly, so a recursion of any depth is one caller.

use cg_collections::intern::Id as _;
use cg_collections::maps::{Map, Set};
use cg_costs::ids::{FileFunctionId, FunctionId, StringId};
use cg_costs::section::{Section, SectionFunction};
use cg_costs::stacks::graph::{Callers, Context, ContextId, StackGraph};
use cg_costs::tables::{Added, NoRoom};

use super::decoration::{parse_callers, parse_level};
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
        let context = match parse_callers(&text).filter(|_| shown.chains) {
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
                level: if node.is_deeper {
                    parse_level(&text)
                } else {
                    1
                },
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

/// The callers that a part's calls and names show.
#[derive(Default)]
struct KnownCallers {
    /// Maps a callee and the name of its caller to the caller.
    by_callee: Map<(FunctionId, Vec<u8>), FunctionId>,
    /// The first function of each name, for callers whose call is not in the part.
    by_name: Map<Vec<u8>, FunctionId>,
    /// The names of functions without callers.
    roots: Set<Vec<u8>>,
    /// The number of callers in the longest chain.
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
            let decorated = parse_callers(text);
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
                let entry = known.by_callee.entry((*callee, name.to_vec()));
                entry.or_insert(*caller);
            }
        }
        Ok(known)
    }

    /// Finds the functions of a chain of names, nearest caller first.
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
            let by_call = self.by_callee.get(&(at, name.to_vec()));
            at = match by_call.or_else(|| self.by_name.get(*name)) {
                Some(function) => *function,
                // A function without self cost may occur only in the names of others.
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
