//! The stack data in a profile: functions by level and callers, and calls between functions whose callers are not recorded.

use cg_collections::intern::{Slices, TooMany};

use crate::ids::{ArcId, FunctionId};
use crate::tables::{Added, CostRows, NoRoom, Signedness, add_calls};

cg_collections::ids! {
    /// A function with its recursion level and its callers, which may be unknown.
    pub struct ContextId;
    /// The callers of a context.
    pub struct CallersId;
}

/// A function at one recursion level, with one chain of callers if the profile records them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Context {
    /// The function.
    pub function: FunctionId,
    /// The recursion level, counted from 1. The last level includes all deeper levels.
    pub level: u64,
    /// The callers of the function.
    pub callers: Callers,
}

/// The callers of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callers {
    /// The profile does not record the callers.
    Unknown,
    /// The profile records the callers.
    Known {
        /// The callers, nearest first.
        callers: CallersId,
        /// True if the last caller has unrecorded callers.
        is_cut: bool,
    },
}

/// The contexts of a section.
pub struct StackGraph {
    callers: Slices<CallersId, FunctionId>,
    contexts: CostRows<ContextId, Context, ()>,
    calls: CostRows<ArcId, (ContextId, ContextId), u64>,
}

impl Default for StackGraph {
    fn default() -> StackGraph {
        StackGraph {
            callers: Slices::default(),
            contexts: CostRows::new(0),
            calls: CostRows::for_arcs(0),
        }
    }
}

impl StackGraph {
    /// Adds columns for more events to every context.
    pub(crate) fn widen(&mut self, events: usize) {
        self.contexts.widen(events);
        self.calls.widen(events);
    }

    /// Interns callers that the file records, innermost first. `is_cut` is true if there were more callers.
    pub fn known_callers(
        &mut self,
        callers: &[FunctionId],
        is_cut: bool,
    ) -> Result<Callers, TooMany> {
        let callers = self.callers.intern(callers)?;
        Ok(Callers::Known { callers, is_cut })
    }

    /// Adds self cost to a context.
    pub fn add_own(
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
    pub fn add_calls(
        &mut self,
        caller: ContextId,
        callee: ContextId,
        calls: u64,
        cost: &[u64],
        signedness: Signedness,
    ) -> Added {
        let arc = self.calls.row((caller, callee))?;
        add_calls(self.calls.facts_mut(arc), calls)?;
        self.calls.add_inclusive(arc, cost, signedness)
    }

    pub(super) fn context_count(&self) -> usize {
        self.contexts.row_count()
    }

    pub(super) fn contexts(&self) -> impl Iterator<Item = (ContextId, Context)> {
        self.contexts.all()
    }

    pub(super) fn own(&self, context: ContextId) -> &[u64] {
        self.contexts.own(context)
    }

    /// Returns the callers, nearest first.
    pub(super) fn callers(&self, callers: CallersId) -> &[FunctionId] {
        self.callers.get(callers)
    }

    /// Iterates over the calls: caller, callee, number of calls and cost.
    pub(super) fn calls(&self) -> impl Iterator<Item = (ContextId, ContextId, u64, &[u64])> {
        self.calls.all().map(|(arc, (caller, callee))| {
            let calls = *self.calls.facts(arc);
            (caller, callee, calls, self.calls.inclusive(arc))
        })
    }
}
