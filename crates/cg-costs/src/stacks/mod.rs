//! Stacks of callgrind profiles (`--stacks`).
//!
//! A profile taken with `--separate-callers=N` has them: a name is that of a function with up to N functions that called
//! it, and its self cost is that of this stack. Any other profile is a graph of calls, of which stacks can only be
//! estimated: a function's cost is divided among the ways in which it was called in proportion to what the calls cost.
//! [`graph`] keeps what is known of either kind, `expand` estimates, and `write()` makes records of both.

mod apportion;
mod expand;
pub mod graph;
mod units;

use cg_reader::{Error, Out};
use cg_stacks::table::{FrameId, FrameParts, StackKey, StackLinkId, StackTable};
use cg_stream::intern::{Id as _, TooMany};
use cg_stream::record::RunRecord;

use crate::ids::FunctionId;
use crate::section::Section;
use crate::tables::{Added, NoRoom, Signedness};
use expand::{Estimate, PathFrame, estimate};
use graph::{Callers, Context, StackGraph};
use units::{ContextArc, ContextGraph};

/// What stands for the calls that an estimate does not follow.
const PRUNED: &[u8] = b"[pruned]";

/// A recursion level becomes at most this many frames; the last level stands for all deeper ones.
const MOST_COPIES: u64 = 200;

/// Writes the stacks of a section; says what of them is estimated.
pub(crate) fn write(
    section: &Section,
    graph: &StackGraph,
    run: RunRecord,
    out: &mut Out,
) -> Result<Option<String>, Error> {
    let is_guessed = |context: Context| context.callers == Callers::Unknown;
    let has_guesses = graph.contexts().any(|(_, context)| is_guessed(context));
    if section.signedness() == Signedness::Signed && has_guesses {
        return Err(Error::whole(
            "expected counts of a run, found negative ones: stacks of a difference cannot be estimated",
        ));
    }
    let mut stacks = Stacked::new(section, graph);
    let said = stacks
        .add_all()
        .map_err(|no_room| Error::whole(no_room.to_string()))?;
    cg_stacks::write::write_open(run, &stacks.table, out)?;
    Ok(said)
}

/// A table of stacks in the making.
struct Stacked<'s> {
    section: &'s Section,
    graph: &'s StackGraph,
    table: StackTable,
    /// By function.
    frames: Vec<Option<FrameId>>,
}

impl<'s> Stacked<'s> {
    fn new(section: &'s Section, graph: &'s StackGraph) -> Stacked<'s> {
        Stacked {
            section,
            graph,
            table: StackTable::new(section.events().iter().cloned()),
            frames: Vec::new(),
        }
    }

    fn add_all(&mut self) -> Result<Option<String>, NoRoom> {
        let graph = self.graph;
        let mut is_guessed = false;
        for (id, context) in graph.contexts() {
            match context.callers {
                Callers::Known { callers, is_cut } => {
                    self.add_known(context, graph.callers(callers), is_cut, graph.own(id))?;
                }
                Callers::Unknown => is_guessed = true,
            }
        }
        if is_guessed {
            return self.add_estimate().map(Some);
        }
        Ok(None)
    }

    /// A stack that the profile has.
    fn add_known(
        &mut self,
        context: Context,
        callers: &[FunctionId],
        is_cut: bool,
        own: &[u64],
    ) -> Added {
        if own.iter().all(|count| *count == 0) {
            return Ok(());
        }
        let mut stack = None;
        for caller in callers.iter().rev() {
            stack = Some(self.push(stack, *caller)?);
        }
        // A level counts all activations of the function on the stack, including those among its callers.
        let among = callers.iter().filter(|caller| **caller == context.function);
        let copies = context.level.saturating_sub(among.count() as u64).max(1);
        for _ in 0..copies.min(MOST_COPIES) {
            stack = Some(self.push(stack, context.function)?);
        }
        let row = StackKey {
            stack,
            cut: is_cut || copies > MOST_COPIES,
            ..StackKey::default()
        };
        self.add(row, own)
    }

    /// Estimates the stacks of functions whose callers the profile does not record.
    fn add_estimate(&mut self) -> Result<String, NoRoom> {
        let graph = self.graph;
        let ids = || {
            graph
                .contexts()
                .filter(|(_, context)| context.callers == Callers::Unknown)
        };
        let contexts: Vec<Context> = ids().map(|(_, context)| context).collect();
        let mut positions = vec![0; graph.context_count()];
        for (position, (id, _)) in ids().enumerate() {
            positions[id.index()] = position;
        }
        let calls = ContextGraph {
            ranking: self.section.ranking_event(),
            own: ids().map(|(id, _)| graph.own(id)).collect(),
            arcs: (graph.calls())
                .map(|(caller, callee, calls, cost)| ContextArc {
                    caller: positions[caller.index()],
                    callee: positions[callee.index()],
                    calls,
                    cost,
                })
                .collect(),
        };
        let Estimate {
            paths,
            rows,
            certain,
            pruned,
            pruned_functions,
        } = estimate(&calls);
        let mut stacks: Vec<StackLinkId> = Vec::with_capacity(paths.len());
        for path in paths {
            // A path comes after its caller's path.
            let outer = path.outer.map(|outer| stacks[outer]);
            stacks.push(match path.at {
                PathFrame::Context(context) => self.push(outer, contexts[context].function)?,
                PathFrame::Pruned => {
                    let name = Some(self.table.text(PRUNED)?);
                    let frame = self.table.frame(FrameParts {
                        name,
                        ..FrameParts::default()
                    })?;
                    self.table.push(outer, frame)?
                }
            });
        }
        for row in &rows {
            let estimated = StackKey {
                stack: Some(stacks[row.path]),
                estimated: true,
                ..StackKey::default()
            };
            self.add(estimated, &row.cost)?;
        }
        let mut said = self.how_certain(certain, &calls);
        if pruned_functions > 0 {
            said.push_str(&self.how_much_is_pruned(pruned, pruned_functions, &calls));
        }
        Ok(said)
    }

    /// What the estimate does not follow: how much, and of how many functions.
    fn how_much_is_pruned(&self, pruned: u128, functions: usize, calls: &ContextGraph) -> String {
        let own = calls.own.iter().filter_map(|own| own.get(calls.ranking));
        let total: u128 = own.map(|count| u128::from(*count)).sum();
        // Rounded up: it is something.
        let thousandths = (pruned * 100_000).div_ceil(total.max(1));
        let event = self.section.events().get(calls.ranking);
        format!(
            "; {pruned} {} ({}.{:03}%) of {functions} {} in frames {}: ways that cost too little or are too deep to be followed",
            event.map_or("", String::as_str),
            thousandths / 1000,
            thousandths % 1000,
            if functions == 1 {
                "function is"
            } else {
                "functions are"
            },
            String::from_utf8_lossy(PRUNED),
        )
    }

    fn how_certain(&self, certain: u128, calls: &ContextGraph) -> String {
        let own = calls.own.iter().filter_map(|own| own.get(calls.ranking));
        let total: u128 = own.map(|count| u128::from(*count)).sum();
        let tenths = (certain * 1000).checked_div(total).unwrap_or(0);
        let event = self.section.events().get(calls.ranking);
        format!(
            "stacks are estimated from a graph of calls: of {}, {}.{}% is of functions that one chain of calls leads to, whose stacks are exact; valgrind --tool=callgrind --separate-callers=N keeps N callers apart",
            event.map_or("", String::as_str),
            tenths / 10,
            tenths % 10
        )
    }

    fn add(&mut self, row: StackKey, cost: &[u64]) -> Added {
        let row = self.table.row(row)?;
        for (event, cell) in cost.iter().enumerate() {
            let count = self.section.signedness().count(*cell);
            if count != 0 {
                self.table.add(row, event, count);
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        outer: Option<StackLinkId>,
        function: FunctionId,
    ) -> Result<StackLinkId, TooMany> {
        let function = self.section.merged_into(function);
        let position = function.index();
        if self.frames.len() <= position {
            self.frames.resize(position + 1, None);
        }
        let frame = match self.frames[position] {
            Some(frame) => frame,
            None => {
                let key = self.section.key_of(function);
                let strings = &self.section.strings;
                let frame = FrameParts {
                    name: self.table.given(strings.get(key.name))?,
                    file: self.table.given(strings.get(key.file))?,
                    obj: self.table.given(strings.get(key.object))?,
                    ..FrameParts::default()
                };
                let frame = self.table.frame(frame)?;
                self.frames[position] = Some(frame);
                frame
            }
        };
        self.table.push(outer, frame)
    }
}
