//! Callers and callees from `call` records only. Arcs from several lines of one caller are added up.

use std::collections::HashMap;

use cg_collections::sorting::Order as _;
use cg_profile::{FunctionKey, Profile};
use cg_stream::record::{Count, RecordType, add_counts};

use super::{ArcEnd, ArcRow, FunctionOfPart, TreeRow, function_of_part};

struct CallArc {
    caller: FunctionKey,
    callee: FunctionKey,
    calls: Count,
    incl: Vec<Count>,
}

/// All arcs, with indexes by callee and by caller.
#[derive(Default)]
pub(super) struct CallArcs {
    arcs: Vec<CallArc>,
    incoming: HashMap<FunctionOfPart, Vec<usize>>,
    outgoing: HashMap<FunctionOfPart, Vec<usize>>,
    /// The rank of each arc.
    ranks: Vec<usize>,
}

impl CallArcs {
    /// Collects the arcs of a profile, and ranks them by their inclusive cost in this event.
    pub(super) fn collect(profile: &Profile, event: usize) -> CallArcs {
        let rows = profile.table(RecordType::Call);
        let mut arcs = CallArcs::default();
        let mut index: HashMap<(FunctionOfPart, FunctionKey), usize> = HashMap::new();
        for row in 0..rows.len() {
            let key = rows.key(row);
            let callee = key.callee.unwrap_or_default();
            let caller = function_of_part(&key, key.function);
            let arc = *index.entry((caller, callee)).or_insert_with(|| {
                arcs.arcs.push(CallArc {
                    caller: key.function,
                    callee,
                    calls: 0,
                    incl: vec![0; profile.events().len()],
                });
                let arc = arcs.arcs.len() - 1;
                arcs.outgoing.entry(caller).or_default().push(arc);
                arcs.incoming
                    .entry(function_of_part(&key, callee))
                    .or_default()
                    .push(arc);
                arc
            });
            let sum = &mut arcs.arcs[arc];
            sum.calls += rows.calls(row);
            add_counts(&mut sum.incl, rows.incl(row).unwrap_or_default());
        }
        arcs.ranks = arcs.compute_ranks(profile, event);
        arcs
    }

    /// Iterates over the callers of a function, in no particular order: names, number of calls, inclusive cost.
    pub(super) fn callers(
        &self,
        function: FunctionOfPart,
    ) -> impl Iterator<Item = (FunctionKey, Count, &[Count])> {
        let arcs = self.incoming.get(&function).into_iter().flatten();
        arcs.map(|arc| {
            let arc = &self.arcs[*arc];
            (arc.caller, arc.calls, &arc.incl[..])
        })
    }

    /// Returns the rows of the callers or callees of a function.
    pub(super) fn around(&self, function: FunctionOfPart, role: ArcEnd) -> Vec<TreeRow> {
        let arcs = match role {
            ArcEnd::Caller => &self.incoming,
            ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => &self.outgoing,
        };
        let mut arcs = arcs.get(&function).cloned().unwrap_or_default();
        arcs.order_by_key(|arc| self.ranks[*arc]);
        let row = |arc: usize| {
            let arc = &self.arcs[arc];
            let other = match role {
                ArcEnd::Caller => arc.caller,
                ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => arc.callee,
            };
            TreeRow {
                role,
                depth: 1,
                what: ArcRow::Called(other, arc.calls),
                cost: None,
                incl: Some(arc.incl.clone()),
            }
        };
        arcs.into_iter().map(row).collect()
    }

    /// Returns the ranks of all arcs, by inclusive cost, largest first, then by the names of both ends.
    fn compute_ranks(&self, profile: &Profile, event: usize) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.arcs.len()).collect();
        let cost = |arc: &CallArc| arc.incl.get(event).copied().unwrap_or(0);
        sorted.order_by(|a, b| {
            let (a, b) = (&self.arcs[*a], &self.arcs[*b]);
            cost(b)
                .cmp(&cost(a))
                .then_with(|| profile.order_of_functions(&a.caller, &b.caller))
                .then_with(|| profile.order_of_functions(&a.callee, &b.callee))
        });
        let mut ranks = vec![0; sorted.len()];
        for (rank, arc) in sorted.into_iter().enumerate() {
            ranks[arc] = rank;
        }
        ranks
    }
}
