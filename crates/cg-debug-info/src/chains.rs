//! The result: for each address the chain of functions whose code is there, inlined ones first.

use std::path::PathBuf;

use cg_stream::maps::Map;

/// A place that code can be in: a function, inlined into another or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainNodeId(u32);

/// A function, by name and declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChainFunctionId(u32);

/// The path of a source file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl ChainNodeId {
    /// Its position among [`Chains::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ChainFunctionId {
    /// Its position among [`Chains::functions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl FileId {
    /// Its position among [`Chains::files`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function as it stands in a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChainNode {
    /// The function that this one is inlined into, and where it is called there; none where it is not inlined.
    pub inlined_into: Option<(ChainNodeId, SourcePlace)>,
    /// The function.
    pub function: ChainFunctionId,
}

/// A line of a source file. Either is left out where the debug information leaves it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourcePlace {
    /// The file.
    pub file: Option<FileId>,
    /// The line, counted from 1; 0 where the compiler names none.
    pub line: u32,
}

/// What a line table has at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableLine {
    /// The line, counted from 1; 0 where the compiler names none.
    pub line: u32,
    /// Its file.
    pub file: Option<FileId>,
    /// The file of the first of the rows in front of it that have a line of this number, or its own. Valgrind takes such
    /// rows for one, and has this file for all of them.
    pub first_file: Option<FileId>,
}

/// A line of a line table, as interned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableLineId(u32);

/// A function as its debug information describes it. Two entries that say the same are one function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChainFunction {
    /// Demangled where it is mangled; else with the namespaces and types it is declared in. Empty where it has no name.
    pub name: Vec<u8>,
    /// Where it is declared.
    pub declared: SourcePlace,
}

/// The chains of sorted addresses of one object.
#[derive(Debug, Default)]
pub struct Chains {
    nodes: Vec<ChainNode>,
    functions: Vec<ChainFunction>,
    files: Vec<Vec<u8>>,
    table_lines: Vec<TableLine>,
    /// The innermost function of each address, in the order in which they were asked for.
    pub innermost: Vec<Option<ChainNodeId>>,
    /// What the line table has at each of them.
    pub lines: Vec<Option<TableLineId>>,
    /// What was damaged or missing on the way.
    pub troubles: Troubles,
    /// The files of split units that were read: what the object calls each, and where it was.
    pub split_files: Vec<(PathBuf, PathBuf)>,
}

/// The parts of the debug information that could not be used. All other results are valid.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Troubles {
    /// Units that hold addresses and could not be read to their ends.
    pub damaged_units: usize,
    /// Why the first of them could not.
    pub first_damage: Option<String>,
    /// Files that hold debug information of the addresses and are not there, each once: split units (`.dwo`), and what dwz
    /// moved to a file of its own. No more than some thousands are named.
    pub missing: Vec<String>,
    /// The work was ended by its limit; see [`Limits`](crate::Limits).
    pub exhausted: bool,
}

impl Troubles {
    /// Notes that a file is not there.
    pub(crate) fn miss(&mut self, name: &[u8]) {
        let name = String::from_utf8_lossy(&name[..name.len().min(LONGEST_MISSING)]);
        if self.missing.len() < MOST_MISSING
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

/// How many missing files are named, and how much of their names: they come out of a file that may be made up.
const MOST_MISSING: usize = 4096;
const LONGEST_MISSING: usize = 1024;

impl Chains {
    /// A node.
    pub fn node(&self, id: ChainNodeId) -> ChainNode {
        self.nodes[id.0 as usize]
    }

    /// A function.
    pub fn function(&self, id: ChainFunctionId) -> &ChainFunction {
        &self.functions[id.0 as usize]
    }

    /// Whether the line table has any of the addresses.
    pub fn has_lines(&self) -> bool {
        !self.table_lines.is_empty()
    }

    /// Whether all functions of a chain that are inlined have names, so that what is innermost is known. The function around
    /// them has one in the profile.
    pub fn has_names(&self, innermost: ChainNodeId) -> bool {
        let mut inlined = (self.chain(innermost)).filter(|node| node.inlined_into.is_some());
        inlined.all(|node| !self.function(node.function).name.is_empty())
    }

    /// A line of the line table.
    pub fn table_line(&self, id: TableLineId) -> TableLine {
        self.table_lines[id.0 as usize]
    }

    /// The path of a file, put together from its directories as Valgrind does: neither `.` nor `..` is resolved.
    pub fn file(&self, id: FileId) -> &[u8] {
        &self.files[id.0 as usize]
    }

    /// All nodes; inliners come before what is inlined into them.
    pub fn nodes(&self) -> impl Iterator<Item = (ChainNodeId, ChainNode)> {
        (0..).map(ChainNodeId).zip(self.nodes.iter().copied())
    }

    /// The paths of all files.
    pub fn files(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(Vec::as_slice)
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = (ChainFunctionId, &ChainFunction)> {
        (0..).map(ChainFunctionId).zip(self.functions.iter())
    }

    /// The nodes of a chain, innermost first.
    pub fn chain(&self, innermost: ChainNodeId) -> impl Iterator<Item = ChainNode> {
        std::iter::successors(Some(self.node(innermost)), |node| {
            node.inlined_into.map(|(host, _)| self.node(host))
        })
    }
}

/// Chains under construction; equal entries are interned.
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

    /// Says what the line table has at some of the addresses.
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

    /// Notes that a file of a split unit was read.
    pub(crate) fn read_split(&mut self, called: PathBuf, path: PathBuf) {
        self.chains.split_files.push((called, path));
    }

    pub(crate) fn troubles(&mut self) -> &mut Troubles {
        &mut self.chains.troubles
    }

    pub(crate) fn finish(self) -> Chains {
        self.chains
    }
}

/// How many there are, as the number of the next. Limits keep all tables far below 2^32 entries.
fn count<T>(items: &[T]) -> u32 {
    u32::try_from(items.len()).expect("limits keep tables small")
}
