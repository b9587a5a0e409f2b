//! Adds up the cost lines by chain of inlined functions.

use std::io;

use cg_collections::maps::Map;
use cg_debug_info::{ChainNodeId, Chains};

use super::chain::{ChainId, ChainKey, ChainRows, Inlined};
use super::inclusive::Recursion;
use super::lines::Allowed;
use super::objects::{TracedObject, TracedObjects};
use super::spans::SpanOwner;
use super::trace::{At, CostLines, CostRun, CountsKind, TakeLines, Traced};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;
use crate::tables::{Added, CostRows, NoRoom, Signedness};

/// The totals of all lines.
pub(super) struct CostLineSums {
    /// The self cost of each chain at all levels, and its inclusive cost at first levels.
    pub(super) chains: ChainRows,
    pub(super) recursion: Recursion,
    /// The cost with a known chain, by event.
    pub(super) resolved: Vec<u64>,
    /// Groups of functions, for ambiguous lines. The code of a line belongs to one of the group's functions.
    pub(super) several: Vec<Vec<cg_debug_info::ChainFunctionId>>,
    pub(super) roots: Roots,
}

/// Maps an object and a function in its debug information to the functions of the profile with its out-of-line code.
pub(super) type Roots = Map<(usize, usize), Vec<FunctionId>>;

/// Adds every line to the row of its chain. Adds its cost by the event `ranking` to the evidence about its object.
pub(super) fn add_up(
    trace: &mut CostLines,
    objects: &mut TracedObjects,
    section: &Section,
    ranking: usize,
) -> io::Result<Result<CostLineSums, NoRoom>> {
    let events = section.event_count();
    let mut sums = LineSums {
        added: CostLineSums {
            chains: CostRows::new(events),
            recursion: Recursion::new(events),
            resolved: vec![0; events],
            several: Vec::new(),
            roots: Roots::default(),
        },
        several_ids: Map::default(),
        by_line: Map::default(),
        signedness: section.signedness(),
        ranking,
        last: None,
        rows_of_nodes: Vec::new(),
    };
    let mut lines = AddLines {
        sums: &mut sums,
        objects,
        section,
        result: Ok(()),
    };
    trace.read(&mut lines)?;
    let result = lines.result.and_then(|()| sums.add_spans(objects, section));
    Ok(result.map(|()| sums.added))
}

/// The rows of chains while lines are added.
struct LineSums {
    added: CostLineSums,
    signedness: Signedness,
    /// The event for comparing objects with the profile.
    ranking: usize,
    several_ids: Map<Vec<cg_debug_info::ChainFunctionId>, usize>,
    /// Cache for lines without addresses: the code by function, file and line.
    by_line: Map<(FunctionId, StringId, u64), LineCode>,
    /// Cache of the last line: its function, the function that it was merged into, and the position of its object.
    last: Option<(FunctionId, FunctionId, usize)>,
    /// Cache by object and chain node: the last host of the code, and its row. A node is mostly in one host.
    rows_of_nodes: Vec<Vec<Option<(FunctionId, ChainId)>>>,
}

/// Adds lines to their rows, until an error occurs.
struct AddLines<'l> {
    sums: &'l mut LineSums,
    objects: &'l mut TracedObjects,
    section: &'l Section,
    result: Added,
}

impl TakeLines for AddLines<'_> {
    fn line(&mut self, line: &Traced) {
        if self.result.is_ok() {
            self.result = self.sums.add(line, self.objects, self.section);
        }
    }

    /// Adds consecutive lines of one span and source line as a single line with their sum. The sum is small, because a run
    /// is at most as long as a buffer.
    fn run(&mut self, function: FunctionId, is_first: bool, run: &mut CostRun) {
        let (_, place) = (self.sums).place_of(function, self.objects, self.section);
        let mut next = run.next();
        while let Some((address, line, mut sum)) = next {
            let spans = &mut self.objects.objects[place].spans;
            let position = spans.holding(address);
            let code = spans.bounds(position);
            next = loop {
                match run.next() {
                    Some((address, same, count)) if same == line && code.contains(&address) => {
                        sum += count;
                    }
                    other => break other,
                }
            };
            if let Some(at) = run.at(address, line) {
                self.line(&Traced::own(function, is_first, at, &[sum]));
            }
        }
    }
}

/// The maximum sum that is collected in a span.
const MAX_SPAN_SUM: u64 = i64::MAX.cast_unsigned();

/// The facts about a line's code.
#[derive(Clone, Copy, Default)]
struct LineCode {
    inlined: Option<Inlined>,
    /// True if the innermost function is known.
    is_resolved: bool,
    /// The node of the chain, if it is known.
    node: Option<ChainNodeId>,
}

impl LineSums {
    /// Returns the function that this function was merged into, and the position of its object.
    #[inline]
    fn place_of(
        &mut self,
        function: FunctionId,
        objects: &mut TracedObjects,
        section: &Section,
    ) -> (FunctionId, usize) {
        let (host, place) = match self.last {
            Some((last, host, place)) if last == function => (host, place),
            _ => {
                let host = section.merged_into(function);
                (host, objects.place(host, section))
            }
        };
        self.last = Some((function, host, place));
        (host, place)
    }

    #[inline]
    fn add(&mut self, line: &Traced, objects: &mut TracedObjects, section: &Section) -> Added {
        let (host, place) = self.place_of(line.function, objects, section);
        let object = &mut objects.objects[place];
        let Some(address) = line.at.address else {
            let found = self.at_line(object, host, line.at, section);
            let row = self.row(host, found, place, object)?;
            return self.add_counts(row, line, found.is_resolved);
        };
        let position = object.spans.holding(address);
        let span = object.spans.at(position);
        let owner = match span.owner {
            Some(owner) if owner.owns(line) => {
                // Sums in this range have the same value as signed and unsigned numbers.
                if let ([count], CountsKind::Own) = (line.counts, line.counted)
                    && let Some(sum @ 0..=MAX_SPAN_SUM) = span.own.checked_add(*count)
                {
                    span.own = sum;
                    return Ok(());
                }
                owner
            }
            _ => {
                self.add_span(object, position, section)?;
                let evidence = object.evidence(position, line.at, section);
                let node = object.spans.at(position).facts.node;
                let found = match (node, &object.chains) {
                    (Some(node), Some(chains)) if object.has(host, evidence) => {
                        LineCode::new(chains, node)
                    }
                    _ => LineCode::default(),
                };
                let row = self.row(host, found, place, object)?;
                let owner = SpanOwner::new(line, evidence, row, found.is_resolved);
                object.spans.at(position).owner = Some(owner);
                owner
            }
        };
        if line.counted == CountsKind::Own {
            object.add_evidence(
                host,
                position,
                owner.place,
                self.ranked(line.counts),
                section,
            );
        }
        self.add_counts(owner.row, line, owner.is_resolved)
    }

    fn ranked(&self, counts: &[u64]) -> u64 {
        counts.get(self.ranking).copied().unwrap_or(0)
    }

    /// Adds a line to its row.
    fn add_counts(&mut self, row: ChainId, line: &Traced, is_resolved: bool) -> Added {
        if line.counted == CountsKind::Own {
            self.added
                .chains
                .add_own(row, line.counts, self.signedness)?;
            if is_resolved {
                for (sum, count) in self.added.resolved.iter_mut().zip(line.counts) {
                    *sum = sum.wrapping_add(*count);
                }
            }
        }
        if line.is_first {
            self.added
                .chains
                .add_inclusive(row, line.counts, self.signedness)?;
        }
        let differing = match (line.is_first, line.counted) {
            (true, CountsKind::CallsBack) => Some(&mut self.added.recursion.back),
            (false, CountsKind::Own | CountsKind::Calls) => Some(&mut self.added.recursion.deeper),
            _ => None,
        };
        if let Some(differing) = differing {
            let key = self.added.chains.key(row);
            if key.inlined.is_some() {
                let row = differing.row(key)?;
                differing.add_inclusive(row, line.counts, self.signedness)?;
            }
        }
        Ok(())
    }

    /// Adds the collected cost of a span to the row of its owner.
    fn add_span(&mut self, object: &mut TracedObject, position: usize, section: &Section) -> Added {
        let span = object.spans.at(position);
        let (Some(owner), count @ 1..) = (span.owner, std::mem::take(&mut span.own)) else {
            return Ok(());
        };
        let counts = &[count];
        self.add_counts(owner.row, &owner.own_cost(counts), owner.is_resolved)?;
        let host = section.merged_into(owner.function());
        object.add_evidence(host, position, owner.place, self.ranked(counts), section);
        Ok(())
    }

    /// Adds the collected cost of all spans.
    fn add_spans(&mut self, objects: &mut TracedObjects, section: &Section) -> Added {
        for object in &mut objects.objects {
            for position in 0..object.spans.len() {
                self.add_span(object, position, section)?;
                object.spans.at(position).owner = None;
            }
        }
        Ok(())
    }

    /// Returns the row of code in a host. Records that the host has the out-of-line code of the chain's outermost function.
    fn row(
        &mut self,
        host: FunctionId,
        found: LineCode,
        place: usize,
        object: &TracedObject,
    ) -> Result<ChainId, NoRoom> {
        let key = ChainKey {
            host,
            inlined: found.inlined,
        };
        let Some(node) = found.node else {
            return Ok(self.added.chains.row(key)?);
        };
        if self.rows_of_nodes.len() <= place {
            self.rows_of_nodes.resize_with(place + 1, Vec::new);
        }
        let rows = &mut self.rows_of_nodes[place];
        if rows.len() <= node.index() {
            rows.resize(node.index() + 1, None);
        }
        let known = &mut rows[node.index()];
        if let Some((known_host, row)) = *known
            && known_host == host
        {
            return Ok(row);
        }
        let row = self.added.chains.row(key)?;
        *known = Some((host, row));
        if let Some(chains) = object.chains()
            && let Some(root) = chains.chain(node).last()
        {
            let root = (place, root.function.index());
            let hosts = self.added.roots.entry(root).or_default();
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        Ok(row)
    }

    /// Returns the facts about the code of a line without an address, from the line table.
    fn at_line(
        &mut self,
        object: &TracedObject,
        host: FunctionId,
        at: At,
        section: &Section,
    ) -> LineCode {
        let At { file, line, .. } = at;
        let Some(lines) = &object.lines else {
            return LineCode::default();
        };
        if let Some(found) = self.by_line.get(&(host, file, line)) {
            return *found;
        }
        let found = match lines.at(host, section.strings.get(file), line) {
            Allowed::Nothing => LineCode::default(),
            Allowed::Chain(node) => LineCode::new(&lines.chains, node),
            Allowed::Innermost(function) => LineCode {
                inlined: Some(Inlined::Innermost(function)),
                is_resolved: true,
                node: None,
            },
            Allowed::OneOf(functions) => {
                let several = &mut self.added.several;
                let id = *self
                    .several_ids
                    .entry(functions)
                    .or_insert_with_key(|functions| {
                        several.push(functions.clone());
                        several.len() - 1
                    });
                LineCode {
                    inlined: Some(Inlined::OneOf(id)),
                    ..LineCode::default()
                }
            }
        };
        self.by_line.insert((host, file, line), found);
        found
    }
}

impl LineCode {
    fn new(chains: &Chains, node: ChainNodeId) -> LineCode {
        let is_inlined = chains.node(node).inlined_into.is_some();
        LineCode {
            inlined: is_inlined.then_some(Inlined::Chain(node)),
            is_resolved: chains.has_names(node),
            node: Some(node),
        }
    }
}
