//! The result of a lookup: for each address, the chain of functions of the code there, innermost inlined function first.

use std::path::PathBuf;

use cg_collections::maps::Map;

/// A function at one place: out of line, or inlined into another function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainNodeId(u32);

/// A function, by name and declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainFunctionId(u32);

/// The path of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl ChainNodeId {
    /// Returns the position in [`Chains::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ChainFunctionId {
    /// Returns the position in [`Chains::functions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl FileId {
    /// Returns the position in [`Chains::files`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainNode {
    /// The function that this function is inlined into, and the place of the call; `None` if it is not inlined.
    pub inlined_into: Option<(ChainNodeId, SourcePlace)>,
    /// The function.
    pub function: ChainFunctionId,
}

/// A line of a source file. The debug information may omit the file, the line, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file.
    pub file: Option<FileId>,
    /// The line, counted from 1; 0 if it is unknown.
    pub line: u32,
}

/// The entry of a line table for an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableLine {
    /// The line, counted from 1; 0 if it is unknown.
    pub line: u32,
    /// The file of the line.
    pub file: Option<FileId>,
    /// The file of the first row in the preceding run of rows with this line number, or else `file`. Valgrind merges such
    /// rows and uses this file for all of them.
    pub first_file: Option<FileId>,
    /// True if this run begins a sequence. Valgrind also merges it with the end of the preceding sequence, which can be in
    /// another unit, and then uses the file of that sequence.
    pub begins_sequence: bool,
}

/// The id of an interned line of a line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableLineId(u32);

/// A function, as described by its debug information. Entries with equal descriptions are one function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChainFunction {
    /// The demangled name. A name that is not mangled includes its namespaces and types. Empty if there is no name.
    pub name: Vec<u8>,
    /// The place of the declaration.
    pub declared: SourcePlace,
}

/// The chains of sorted addresses of one object.
#[derive(Debug, Default)]
pub struct Chains {
    nodes: Vec<ChainNode>,
    functions: Vec<ChainFunction>,
    files: Vec<Vec<u8>>,
    table_lines: Vec<TableLine>,
    /// The innermost function at each address, in the order of the addresses.
    pub innermost: Vec<Option<ChainNodeId>>,
    /// The entry of the line table for each address.
    pub lines: Vec<Option<TableLineId>>,
    /// The damaged or missing parts of the debug information.
    pub errors: Errors,
    /// The files of split units: the path in the object, and the path of the file that was read.
    pub split_files: Vec<(PathBuf, PathBuf)>,
}

/// The parts of the debug information that could not be used. All other results are valid.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Errors {
    /// The number of units with addresses that could not be read completely.
    pub damaged_units: usize,
    /// The error in the first of these units.
    pub first_damage: Option<String>,
    /// Missing files with debug information for the addresses, each once: split units (`.dwo`) and dwz's alternate files. At
    /// most a few thousand are listed.
    pub missing: Vec<String>,
    /// True if the work reached its limit; see [`Limits`](crate::Limits).
    pub exhausted: bool,
}

impl Errors {
    /// Records a missing file.
    pub(crate) fn add_missing(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(&name[..name.len().min(MAX_MISSING_LEN)]);
        if self.missing.len() < MAX_MISSING
            && !self
                .missing
                .iter()
                .rev()
                .take(64)
                .any(|known| *known == name)
        {
            self.missing.push(name.into_owned());
        }
    }
}

/// The maximum number of missing files to record. The file that names them may be malicious.
const MAX_MISSING: usize = 4096;
/// The maximum length of the name of a missing file.
const MAX_MISSING_LEN: usize = 1024;

impl Chains {
    /// Returns a node.
    pub fn node(&self, id: ChainNodeId) -> ChainNode {
        self.nodes[id.0 as usize]
    }

    /// Returns a function.
    pub fn function(&self, id: ChainFunctionId) -> &ChainFunction {
        &self.functions[id.0 as usize]
    }

    /// Returns true if the line table covers any of the addresses.
    pub fn has_lines(&self) -> bool {
        !self.table_lines.is_empty()
    }

    /// Returns true if all inlined functions of a chain have names, so that the innermost function is known. The outermost
    /// function has its name in the profile.
    pub fn has_names(&self, innermost: ChainNodeId) -> bool {
        let mut inlined = (self.chain(innermost)).filter(|node| node.inlined_into.is_some());
        inlined.all(|node| !self.function(node.function).name.is_empty())
    }

    /// Returns a line of the line table.
    pub fn table_line(&self, id: TableLineId) -> TableLine {
        self.table_lines[id.0 as usize]
    }

    /// Returns the path of a file, joined from its directories as in Valgrind, without resolving `.` and `..`.
    pub fn file(&self, id: FileId) -> &[u8] {
        &self.files[id.0 as usize]
    }

    /// Iterates over all nodes. Inliners precede their inlinees.
    pub fn nodes(&self) -> impl Iterator<Item = (ChainNodeId, ChainNode)> {
        (0..).map(ChainNodeId).zip(self.nodes.iter().copied())
    }

    /// Iterates over the paths of all files.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(Vec::as_slice)
    }

    /// Iterates over all functions.
    pub fn functions(&self) -> impl Iterator<Item = (ChainFunctionId, &ChainFunction)> {
        (0..).map(ChainFunctionId).zip(self.functions.iter())
    }

    /// Iterates over the nodes of a chain, innermost first.
    pub fn chain(&self, innermost: ChainNodeId) -> impl Iterator<Item = ChainNode> {
        std::iter::successors(Some(self.node(innermost)), |node| {
            node.inlined_into.map(|(host, _)| self.node(host))
        })
    }
}

/// Chains under construction. Equal entries are interned.
#[derive(Default)]
pub(crate) struct Builder {
    chains: Chains,
    node_ids: Map<ChainNode, ChainNodeId>,
    function_ids: Map<ChainFunction, ChainFunctionId>,
    file_ids: Map<Vec<u8>, FileId>,
    table_line_ids: Map<TableLine, TableLineId>,
}

impl Builder {
    pub(crate) fn new(addresses: usize) -> Builder {
        let mut builder = Builder::default();
        builder.chains.innermost = vec![None; addresses];
        builder.chains.lines = vec![None; addresses];
        builder
    }

    pub(crate) fn node(&mut self, node: ChainNode) -> ChainNodeId {
        *self.node_ids.entry(node).or_insert_with(|| {
            let id = ChainNodeId(count(&self.chains.nodes));
            self.chains.nodes.push(node);
            id
        })
    }

    pub(crate) fn function(&mut self, function: ChainFunction) -> ChainFunctionId {
        if let Some(id) = self.function_ids.get(&function) {
            return *id;
        }
        let id = ChainFunctionId(count(&self.chains.functions));
        self.chains.functions.push(function.clone());
        self.function_ids.insert(function, id);
        id
    }

    pub(crate) fn file(&mut self, path: Vec<u8>) -> FileId {
        if let Some(id) = self.file_ids.get(&path) {
            return *id;
        }
        let id = FileId(count(&self.chains.files));
        self.chains.files.push(path.clone());
        self.file_ids.insert(path, id);
        id
    }

    /// Sets the entry of the line table for a range of addresses, given by their indices.
    pub(crate) fn set_line(&mut self, addresses: std::ops::Range<usize>, line: TableLine) {
        let id = *self.table_line_ids.entry(line).or_insert_with(|| {
            let id = TableLineId(count(&self.chains.table_lines));
            self.chains.table_lines.push(line);
            id
        });
        self.chains.lines[addresses].fill(Some(id));
    }

    pub(crate) fn innermost(&mut self) -> &mut [Option<ChainNodeId>] {
        &mut self.chains.innermost
    }

    /// Records the file of a split unit that was read.
    pub(crate) fn add_split_file(&mut self, called: PathBuf, path: PathBuf) {
        self.chains.split_files.push((called, path));
    }

    pub(crate) fn errors(&mut self) -> &mut Errors {
        &mut self.chains.errors
    }

    pub(crate) fn finish(self) -> Chains {
        self.chains
    }
}

/// Returns the number of items, which is the id of the next item. Limits keep all tables far below 2^32 entries.
fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("limits keep tables small")
}
