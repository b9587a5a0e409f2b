//! What a profile records of stacks: functions by level and callers, and the calls between functions whose callers it
//! does not record.

use cg_stream::intern::{Slices, TooMany};

use crate::costs::ids::{ArcId, FunctionId};
use crate::costs::tables::{CostRows, NoRoom, Signedness, add_calls};

cg_stream::ids! {
    /// A function with its recursion level and its callers, as far as they are known.
    pub(crate) struct ContextId;
    /// The callers of a context.
    pub(crate) struct CallersId;
}

/// A function at one recursion level, reached through one chain of callers where the profile records them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) function: FunctionId,
    /// Recursion level, counted from 1; the last one stands for all deeper ones.
    pub(crate) level: u64,
    pub(crate) callers: Callers,
}

/// The callers of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callers {
    /// The profile does not record them.
    Unknown,
    /// Nearest caller first. If `is_cut`, the chain goes on beyond the last caller.
    Known { callers: CallersId, is_cut: bool },
}

/// The contexts of a section.
pub(crate) struct StackGraph {
    callers: Slices<CallersId, FunctionId>,
    contexts: CostRows<ContextId, Context, ()>,
    calls: CostRows<ArcId, (ContextId, ContextId), u64>,
}

impl StackGraph {
    pub(crate) fn new() -> StackGraph {
        StackGraph {
            callers: Slices::default(),
            contexts: CostRows::new(0),
            calls: CostRows::of_arcs(0),
        }
    }

    /// Gives every context counts of more events.
    pub(crate) fn widen(&mut self, events: usize) {
        self.contexts.widen(events);
        self.calls.widen(events);
    }

    pub(crate) fn known_callers(
        &mut self,
        callers: &[FunctionId],
        is_cut: bool,
    ) -> Result<Callers, TooMany> {
        let callers = self.callers.intern(callers)?;
        Ok(Callers::Known { callers, is_cut })
    }

    /// Adds self cost to a context.
    pub(crate) fn add_own(
        &mut self,
        context: Context,
        cost: &[u64],
        signedness: Signedness,
    ) -> Result<ContextId, NoRoom> {
        let id = self.contexts.row(context)?;
        self.contexts.add_own(id, cost, signedness)?;
        Ok(id)
    }

    /// Adds calls between two contexts whose callers are unknown.
    pub(crate) fn add_calls(
        &mut self,
        caller: ContextId,
        callee: ContextId,
        calls: u64,
        cost: &[u64],
        signedness: Signedness,
    ) -> Result<(), NoRoom> {
        let arc = self.calls.row((caller, callee))?;
        add_calls(self.calls.facts_mut(arc), calls)?;
        self.calls.add_inclusive(arc, cost, signedness)
    }

    pub(super) fn context_count(&self) -> usize {
        self.contexts.len()
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = (ContextId, Context)> {
        self.contexts.all()
    }

    pub(super) fn own(&self, context: ContextId) -> &[u64] {
        self.contexts.own(context)
    }

    /// The nearest first.
    pub(super) fn callers(&self, callers: CallersId) -> &[FunctionId] {
        self.callers.get(callers)
    }

    /// Calls: caller, callee, how many and their cost.
    pub(super) fn calls(&self) -> impl Iterator<Item = (ContextId, ContextId, u64, &[u64])> {
        self.calls.all().map(|(arc, (caller, callee))| {
            let calls = *self.calls.facts(arc);
            (caller, callee, calls, self.calls.inclusive(arc))
        })
    }
}
