//! Stacks of Callgrind profiles (`--stacks`).
//!
//! A profile made with `--separate-callers=N` contains stacks: each name has a function and up to N callers, and its self
//! cost is the cost of this stack. Other profiles contain only a call graph, so stacks have to be estimated. A
//! function's cost is divided among its callers in proportion to the cost of their calls. [`graph`] stores both kinds of
//! data, `expand` estimates stacks, and `write()` writes the records.

mod apportion;
mod expand;
pub mod graph;
mod unfollowed;
mod units;

use cg_collections::intern::{Id as _, TooMany};
use cg_reader::{Error, Out};
use cg_stacks::table::{FrameId, FrameParts, StackKey, StackLinkId, StackTable};
use cg_stream::record::RunRecord;

use crate::ids::FunctionId;
use crate::section::Section;
use crate::tables::{Added, NoRoom, Signedness};
use expand::{Estimate, PathFrame, estimate};
use graph::{Callers, Context, StackGraph};
use units::{ContextArc, ContextGraph};

/// The size of a frame in a record besides its names, in bytes: `{"fn":"","file":"","obj":""},`.
const FRAME_BYTES: usize = 30;

/// The size of the numbers of a `fn` or `call` record and of their keys, in bytes.
const NUMBERS_BYTES: usize = 50;

/// The size of estimated stacks up to which nothing is folded for its size, in bytes.
const SMALL_BYTES: usize = 64 * 1024;

/// The name of the frame that replaces the frames of calls that an estimate does not follow.
const PRUNED: &[u8] = b"[pruned]";

/// The maximum number of frames for a recursive function. The last frame includes all deeper levels.
const MAX_COPIES: u64 = 200;

/// Writes the stacks of a section, after `run` if there is one. Returns a message if stacks are estimated.
pub(crate) fn write(
    section: &Section,
    graph: &StackGraph,
    run: Option<RunRecord>,
    out: &mut Out,
) -> Result<Option<String>, Error> {
    let is_guessed = |context: Context| context.callers == Callers::Unknown;
    let has_guesses = graph.contexts().any(|(_, context)| is_guessed(context));
    if section.signedness() == Signedness::Signed && has_guesses {
        return Err(Error::whole(
            "expected counts of a run, found negative counts; stacks of a difference cannot be estimated",
        ));
    }
    let mut stacks = Stacked::new(section, graph);
    let message = stacks
        .add_all()
        .map_err(|no_room| Error::whole(no_room.to_string()))?;
    match run {
        Some(run) => cg_stacks::write::write_open(run, &stacks.table, out)?,
        None => cg_stacks::write::write_rows(&stacks.table, out)?,
    }
    Ok(message)
}

/// An unfinished table of stacks.
struct Stacked<'s> {
    section: &'s Section,
    graph: &'s StackGraph,
    table: StackTable,
    /// The frame of each function.
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

    /// Adds a stack that the profile contains.
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
        // A level counts all activations of the function on the stack, including activations among its callers.
        let among = callers.iter().filter(|caller| **caller == context.function);
        let copies = context.level.saturating_sub(among.count() as u64).max(1);
        for _ in 0..copies.min(MAX_COPIES) {
            stack = Some(self.push(stack, context.function)?);
        }
        let row = StackKey {
            stack,
            cut: is_cut || copies > MAX_COPIES,
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
        let bytes: Vec<usize> = (contexts.iter())
            .map(|context| self.frame_bytes(context.function))
            .collect();
        let calls = ContextGraph {
            ranking: self.section.ranking_event(),
            own: ids().map(|(id, _)| graph.own(id)).collect(),
            most_bytes: self.most_bytes(&bytes, &positions),
            bytes,
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
            // A path follows its caller's path.
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
                estimated: !row.is_certain,
                ..StackKey::default()
            };
            self.add(estimated, &row.cost)?;
        }
        let mut message = self.estimate_message(certain, &calls);
        if pruned_functions > 0 {
            message.push_str(&self.pruned_message(pruned, pruned_functions, &calls));
        }
        Ok(message)
    }

    /// Returns the approximate size of a function's frame in a record.
    fn frame_bytes(&self, function: FunctionId) -> usize {
        let key = self.section.key_of(self.section.merged_into(function));
        let text = |id| self.section.strings.get(id).len();
        FRAME_BYTES + text(key.name) + text(key.file) + text(key.object)
    }

    /// Returns the maximum size of estimated stacks: almost three times that of the records of functions and calls.
    fn most_bytes(&self, frames: &[usize], positions: &[usize]) -> usize {
        let functions: usize = frames.iter().map(|frame| frame + NUMBERS_BYTES).sum();
        let calls = self.graph.calls().map(|(caller, callee, ..)| {
            let ends = [caller, callee].map(|end| frames[positions[end.index()]]);
            ends.iter().sum::<usize>() + NUMBERS_BYTES
        });
        SMALL_BYTES.max((functions + calls.sum::<usize>()) * 11 / 4)
    }

    /// Describes the cost that the estimate does not follow, and its number of functions.
    fn pruned_message(&self, pruned: u128, functions: usize, calls: &ContextGraph) -> String {
        let own = calls.own.iter().filter_map(|own| own.get(calls.ranking));
        let total: u128 = own.map(|count| u128::from(*count)).sum();
        // Rounded up, so that a cost above 0 never shows as 0 %.
        let thousandths = (pruned * 100_000).div_ceil(total.max(1));
        let event = self.section.events().get(calls.ranking);
        format!(
            "; {pruned} {} ({}.{:03}%) of {functions} {} below frames {}, on paths too cheap or too deep to follow",
            event.map_or("", String::as_str),
            thousandths / 1000,
            thousandths % 1000,
            if functions == 1 {
                "function"
            } else {
                "functions"
            },
            String::from_utf8_lossy(PRUNED),
        )
    }

    fn estimate_message(&self, certain: u128, calls: &ContextGraph) -> String {
        let own = calls.own.iter().filter_map(|own| own.get(calls.ranking));
        let total: u128 = own.map(|count| u128::from(*count)).sum();
        let tenths = (certain * 1000).checked_div(total).unwrap_or(0);
        let event = self.section.events().get(calls.ranking);
        format!(
            "stacks are estimated from a call graph: exact for {}.{}% of {} (functions with only one chain of callers); valgrind --tool=callgrind --separate-callers=N records N callers",
            tenths / 10,
            tenths % 10,
            event.map_or("", String::as_str)
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
                    name: self.table.text_unless_empty(strings.get(key.name))?,
                    file: self.table.text_unless_empty(strings.get(key.file))?,
                    obj: self.table.text_unless_empty(strings.get(key.object))?,
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

#[cfg(test)]
mod tests;
