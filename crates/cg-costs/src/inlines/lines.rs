//! Inlined functions of profiles without addresses: what the lines of a function allow.
//!
//! The line table and the ranges of inlined code say which functions each line of a function is of. Where that is one,
//! it is known; where it is several, as on a line with a whole `struct` or a macro, the cost stays the function's and the
//! names are said. Cost is never split in proportion.

use std::ops::Range;

use cg_debug_info::{
    ChainNodeId, Chains, CoveringSymbols, DebugInfo, ElfSymbol, Error, LineTableRow, ObjectFile,
    SourcePlace,
};
use cg_stream::maps::{Map, Set};
use cg_stream::sorting::Order as _;

use super::evidence::bare_name;
use super::paths::is_same_file;
use crate::ids::FunctionId;
use crate::section::Section;

/// The chains that lines of functions are of.
pub(super) struct LineChains {
    pub(super) chains: Chains,
    /// The paths that the line table has, in the order of its files.
    paths: Vec<Vec<u8>>,
    /// For a function and a line number, of whichever file.
    lines: Map<(FunctionId, u32), Vec<LineChain>>,
    /// The functions that a symbol names.
    known: Set<FunctionId>,
}

/// The file of a line, by its position among the paths, and the innermost function there.
type LineChain = (Option<usize>, ChainNodeId);

/// What the lines of a function allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Nothing is known of the line.
    Nothing,
    /// One chain.
    Chain(ChainNodeId),
    /// Chains with one innermost function.
    Innermost(cg_debug_info::ChainFunctionId),
    /// Several functions, sorted.
    OneOf(Vec<cg_debug_info::ChainFunctionId>),
}

impl LineChains {
    /// Finds the lines of those functions of an object that its symbols name.
    pub(super) fn of(
        object: &ObjectFile,
        info: &DebugInfo,
        functions: &[FunctionId],
        section: &Section,
    ) -> Result<LineChains, Error> {
        let files: Vec<&ObjectFile> = std::iter::once(object).chain(info.file()).collect();
        let symbols = CoveringSymbols::all(&files)?;
        let mut owners = owners(&symbols, functions, section);
        owners.order_by_key(|(range, function)| (range.start, range.end, *function));
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for (range, _) in &owners {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range.clone()),
            }
        }
        let (rows, table) = info.rows(&ranges);
        // A row can span several chains: inlined code begins or ends in it.
        let mut begins: Vec<u64> = rows.iter().map(|row| row.begin).collect();
        begins.dedup();
        let edges = info.edges(&begins);
        let inside = |row: &LineTableRow| {
            let first = edges.partition_point(|edge| *edge <= row.begin);
            let length = edges[first..].partition_point(|edge| *edge < row.end);
            std::iter::once(row.begin).chain(edges[first..first + length].to_vec())
        };
        let mut addresses: Vec<u64> = rows.iter().flat_map(inside).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let mut found = LineChains {
            chains: info.chains(&addresses),
            paths: table.files().map(<[u8]>::to_vec).collect(),
            lines: Map::default(),
            known: owners.iter().map(|(_, function)| *function).collect(),
        };
        for row in &rows {
            for address in inside(row) {
                let index = addresses.binary_search(&address).ok();
                let Some(node) = index.and_then(|index| found.chains.innermost[index]) else {
                    continue;
                };
                let end = owners.partition_point(|(range, _)| range.start <= address);
                let holds = owners[..end].iter().rev().take(MOST_ALIASES);
                for (_, function) in holds.filter(|(range, _)| range.contains(&address)) {
                    found.add(*function, row.place, node);
                }
            }
        }
        Ok(found)
    }

    fn add(&mut self, function: FunctionId, place: SourcePlace, node: ChainNodeId) {
        let nodes = self.lines.entry((function, place.line)).or_default();
        let new = (place.file.map(cg_debug_info::FileId::index), node);
        if !nodes.contains(&new) {
            nodes.push(new);
        }
    }

    /// Whether the object has a function of this name.
    pub(super) fn knows(&self, function: FunctionId) -> bool {
        self.known.contains(&function)
    }

    /// What a line of a function allows.
    pub(super) fn at(&self, function: FunctionId, file: &[u8], line: u64) -> Allowed {
        let line = u32::try_from(line).unwrap_or(0);
        let Some(nodes) = self.lines.get(&(function, line)).filter(|_| line != 0) else {
            return Allowed::Nothing;
        };
        let nodes: Vec<ChainNodeId> = (nodes.iter())
            .filter(|(path, _)| path.is_some_and(|path| is_same_file(&self.paths[path], file)))
            .map(|(_, node)| *node)
            .collect();
        let Some(first) = nodes.first() else {
            return Allowed::Nothing;
        };
        if nodes.iter().all(|node| node == first) {
            return Allowed::Chain(*first);
        }
        let mut functions: Vec<_> = nodes
            .iter()
            .map(|node| self.chains.node(*node).function)
            .collect();
        functions.sort_unstable();
        functions.dedup();
        match functions[..] {
            [function] => Allowed::Innermost(function),
            _ => Allowed::OneOf(functions),
        }
    }
}

/// The address ranges of symbols that can be a function of the profile, and which.
fn owners(
    symbols: &CoveringSymbols,
    functions: &[FunctionId],
    section: &Section,
) -> Vec<(Range<u64>, FunctionId)> {
    let names: Map<&[u8], Vec<FunctionId>> = {
        let mut names: Map<&[u8], Vec<FunctionId>> = Map::default();
        for function in functions {
            let name = section.strings.get(section.key_of(*function).name);
            names.entry(name).or_default().push(*function);
        }
        names
    };
    let mut owners = Vec::new();
    let mut others: Vec<&ElfSymbol> = Vec::new();
    for symbol in symbols.iter() {
        let demangled = cg_names::demangle::demangle(&symbol.name);
        let known = names.get(&*demangled).or_else(|| names.get(&*symbol.name));
        for function in known.into_iter().flatten() {
            owners.push((symbol.addresses.clone(), *function));
        }
        if known.is_none() {
            others.push(symbol);
        }
    }
    // Demanglers spell parameters in their own ways. What several symbols can be is each of them: lines are then of more
    // functions than they might be, and of none that they cannot be.
    let found: Set<FunctionId> = owners.iter().map(|(_, function)| *function).collect();
    let mut bare: Map<Vec<Vec<u8>>, Vec<FunctionId>> = Map::default();
    for function in functions
        .iter()
        .filter(|function| !found.contains(*function))
    {
        let name = section.strings.get(section.key_of(*function).name);
        bare.entry(bare_name(name)).or_default().push(*function);
    }
    for symbol in others.into_iter().filter(|_| !bare.is_empty()) {
        let demangled = cg_names::demangle::demangle(symbol.name_without_version());
        for function in bare.get(&bare_name(&demangled)).into_iter().flatten() {
            owners.push((symbol.addresses.clone(), *function));
        }
    }
    owners
}

/// How many symbols that begin before an address are looked at for those that hold it.
const MOST_ALIASES: usize = 64;
