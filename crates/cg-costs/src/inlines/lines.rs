//! Inlined functions of profiles without addresses, found by the lines of a function.
//!
//! The line table and the ranges of inlined code show the functions that each line may belong to. With one such function,
//! the line is resolved. A line with a macro or a whole `struct` can belong to several functions. Its cost then stays with
//! the host function, and the record lists the names. Cost is never split in proportion.

use std::ops::Range;

use cg_collections::maps::{Map, Set};
use cg_collections::sorting::Order as _;
use cg_debug_info::{
    ChainNodeId, Chains, CoveringSymbols, DebugInfo, ElfSymbol, Error, LineTableRow, ObjectFile,
    SourcePlace,
};

use super::evidence::bare_name;
use super::paths::is_same_file;
use crate::ids::FunctionId;
use crate::section::Section;

/// The chains of lines of functions.
pub(super) struct LineChains {
    pub(super) chains: Chains,
    /// The paths in the line table, in the order of its files.
    paths: Vec<Vec<u8>>,
    /// The chains by function and line number, for all files.
    lines: Map<(FunctionId, u32), Vec<LineChain>>,
    /// The functions with a matching symbol.
    known: Set<FunctionId>,
}

/// The file of a line, by its position among the paths, and the innermost function at the line.
type LineChain = (Option<usize>, ChainNodeId);

/// The functions that a line may belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Allowed {
    /// The line is unknown.
    Nothing,
    /// The line has one chain.
    Chain(ChainNodeId),
    /// The line has several chains with the same innermost function.
    Innermost(cg_debug_info::ChainFunctionId),
    /// The line has several innermost functions, sorted here.
    OneOf(Vec<cg_debug_info::ChainFunctionId>),
}

impl LineChains {
    /// Finds the lines of an object's functions that have a matching symbol.
    pub(super) fn read(
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
        // A row can span several chains if inlined code begins or ends in it.
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
                let near = owners[..end].iter().rev().take(MAX_ALIASES);
                for (_, function) in near.filter(|(range, _)| range.contains(&address)) {
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

    /// Returns true if the object has a symbol for this function.
    pub(super) fn knows(&self, function: FunctionId) -> bool {
        self.known.contains(&function)
    }

    /// Returns the functions that a line of a function may belong to.
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

/// Returns the address ranges of symbols that can be a function of the profile, each with the function.
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
    // Demanglers differ in how they write parameters. If a function can be several symbols, it gets the ranges of all of
    // them. Lines then have some functions too many, but never lack the right function.
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

/// The maximum number of preceding symbols to check for one that covers an address.
const MAX_ALIASES: usize = 64;
