//! The functions of both runs: one node for each name, file and object that a row of the output can have.
//!
//! Parts, threads and records that are joined are one node, so their figures are added up before anything else.

use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;
use cg_names::rules::{Part, Rules, Strength};
use cg_profile::{FunctionKey, Key, Names};
use cg_stream::record::{FunctionName, Name, RecordType};

use crate::compare::{Change, Comparison};
use crate::join::{Certainty, FunctionRows};
use crate::runs::Runs;

/// The position of a function in [`Nodes`].
pub(crate) type Node = usize;

/// The node without a row or a name.
const UNKNOWN: Node = usize::MAX;

/// The functions of both runs, sorted by name, file and object.
pub(super) struct Nodes<'a, 'r> {
    pub(super) functions: Vec<NodeFunction<'a>>,
    /// The node of each row of the comparison.
    by_row: Vec<Node>,
    /// The nodes of functions without a row, which have no self cost.
    by_key: Map<FunctionKey, Node>,
    rows: &'r FunctionRows,
    /// True if chains of inlined functions are known. A function is then the code of one symbol.
    pub(super) has_chains: bool,
}

/// A function of a comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFunction<'a> {
    pub(crate) name: FunctionName<'a>,
    /// True if the functions of the runs were paired by a guess.
    pub(crate) is_guess: bool,
}

/// The source of a node: a row of the comparison, or a function without a row.
enum Source {
    Row(usize),
    Key(FunctionKey),
}

impl<'a, 'r> Nodes<'a, 'r> {
    pub(super) fn collect(
        comparison: &Comparison<'a>,
        rows: &'r FunctionRows,
        rules: &Rules,
    ) -> Nodes<'a, 'r> {
        let (runs, joined) = (comparison.runs, comparison.joined);
        let mut nodes = Nodes {
            functions: Vec::new(),
            by_row: vec![UNKNOWN; joined.rows.len()],
            by_key: Map::default(),
            rows,
            has_chains: !runs.out_of_line.is_empty(),
        };
        let mut named: Vec<(NodeFunction<'a>, Source)> = Vec::new();
        for change in &comparison.changes {
            let row = &joined.rows[change.row];
            if row.kind == RecordType::Fn {
                let function = NodeFunction {
                    name: row_name(runs, rules, change),
                    is_guess: row.certainty > Certainty::Certain,
                };
                named.push((function, Source::Row(change.row)));
            }
        }
        for key in nodes.keys_without_row(runs) {
            let function = NodeFunction {
                name: function_name(&runs.names, key),
                is_guess: false,
            };
            named.push((function, Source::Key(key)));
        }
        named.order_by(|(a, _), (b, _)| texts(&a.name).cmp(&texts(&b.name)));
        for (function, source) in named {
            match nodes.functions.last_mut() {
                Some(last) if last.name == function.name => last.is_guess |= function.is_guess,
                _ => nodes.functions.push(function),
            }
            let node = nodes.functions.len() - 1;
            match source {
                Source::Row(row) => nodes.by_row[row] = node,
                Source::Key(key) => drop(nodes.by_key.insert(key, node)),
            }
        }
        nodes
    }

    /// Returns the functions in chains and calls that have no row. Without chains, a call of such a function is an error.
    fn keys_without_row(&self, runs: &Runs) -> Vec<FunctionKey> {
        let mut keys = Vec::new();
        let profiles = runs.profiles.iter().filter(|_| self.has_chains);
        for profile in profiles {
            for kind in [RecordType::Inline, RecordType::Call] {
                for key in profile.table(kind).keys() {
                    let frames = runs.names.stacks.frames_of(key.stack).iter();
                    let frames = frames.map(|frame| frame.function);
                    let frames = frames.filter(|function| {
                        self.rows.row(with_object(*function, &key), &key).is_none()
                    });
                    let ends = [Some(key.function), key.callee].into_iter().flatten();
                    keys.extend(
                        frames
                            .chain(ends)
                            .filter(|function| self.rows.row(*function, &key).is_none()),
                    );
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// Returns the node of a function in a record with this key.
    pub(super) fn node(&self, function: FunctionKey, key: &Key) -> Option<Node> {
        let node = match self.rows.row(function, key) {
            Some(row) => self.by_row[row],
            None => *self.by_key.get(&function)?,
        };
        (node != UNKNOWN).then_some(node)
    }

    /// Returns the node of a function in a chain. Its frame has no object, but the record has the object of the chain, and the
    /// function's row too.
    pub(super) fn inlined_node(&self, function: FunctionKey, key: &Key) -> Option<Node> {
        self.node(with_object(function, key), key)
            .or_else(|| self.node(function, key))
    }

    /// Returns the node of a row.
    pub(super) fn of_row(&self, row: usize) -> Option<Node> {
        Some(self.by_row[row]).filter(|node| *node != UNKNOWN)
    }

    /// Returns a number for each function that is equal for the same code: an inlined function has no object, and its
    /// out-of-line copy may have the suffix of a compiler. Empty if no chains of inlined functions are known.
    pub(super) fn code_numbers(&self, rules: &Rules) -> Vec<usize> {
        let mut numbers: Map<(String, &str), usize> = Map::default();
        let functions = self.functions.iter().filter(|_| self.has_chains);
        let numbers = functions.map(|function| {
            let [name, file, _] = texts(&function.name).map(Option::unwrap_or_default);
            let (normal, _) = rules.apply(name, Part::Function, Strength::Counter);
            let file = file.rsplit('/').next().unwrap_or(file);
            let next = numbers.len();
            *numbers.entry((normal.into_owned(), file)).or_insert(next)
        });
        numbers.collect()
    }

    /// Returns the functions, by node.
    pub(super) fn into_functions(self) -> Vec<NodeFunction<'a>> {
        self.functions
    }

    /// The number of functions. It is also the node of everything outside of the program.
    pub(super) fn len(&self) -> usize {
        self.functions.len()
    }
}

/// Returns a function of a chain with the object of the chain's record, unless it has one.
fn with_object(function: FunctionKey, key: &Key) -> FunctionKey {
    FunctionKey {
        obj: function.obj.or(key.function.obj),
        ..function
    }
}

fn texts<'n>(function: &'n FunctionName) -> [Option<&'n str>; 3] {
    [&function.name, &function.file, &function.obj]
        .map(|name| name.as_ref().map(|name| name.as_str()))
}

pub(crate) fn function_name(names: &Names, function: FunctionKey) -> FunctionName<'_> {
    FunctionName {
        name: names.name(function.name),
        file: names.name(function.file),
        obj: names.name(function.obj),
    }
}

/// Returns the name of a row. A sum of functions has their common name.
pub(crate) fn row_name<'r>(runs: &'r Runs, rules: &Rules, change: &Change) -> FunctionName<'r> {
    let function = change.shown.function;
    let name = function_name(&runs.names, function);
    match function.name.filter(|_| change.has_several_names) {
        None => name,
        Some(symbol) => {
            let text = runs.names.symbols.text(symbol);
            let (common, _) = rules.apply(text, Part::Function, Strength::Counter);
            FunctionName {
                name: Some(Name::from(common.into_owned())),
                ..name
            }
        }
    }
}
