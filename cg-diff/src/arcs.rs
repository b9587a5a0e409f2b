//! The call arcs of all runs between the rows of a comparison.

use cg_stream::maps::Map;
use cg_stream::record::{Count, RecordType};

use crate::join::FunctionRows;
use crate::runs::Runs;

/// Arcs from the rows that were asked for.
pub(crate) struct Arcs {
    arcs: Vec<Arc>,
    from: Map<usize, Vec<usize>>,
}

/// All calls from one row to another: the callee, and figures.
pub(crate) struct Arc {
    pub(crate) callee: usize,
    /// Call counts, a side each, summed over its files.
    pub(crate) calls: Vec<Count>,
    /// Inclusive cost of the first event, a side each, summed over its files.
    pub(crate) incl: Vec<Count>,
}

impl Arcs {
    /// The arcs of which the caller is asked for. A row has no arc to itself here.
    pub(crate) fn of(
        runs: &Runs,
        rows: &FunctionRows,
        is_asked_for: impl Fn(usize) -> bool,
    ) -> Arcs {
        let sides = runs.sides.len();
        let mut result = Arcs {
            arcs: Vec::new(),
            from: Map::default(),
        };
        let mut known: Map<(usize, usize), usize> = Map::default();
        for (side, profile) in runs.files() {
            let event = runs.position(profile, 0).unwrap_or(usize::MAX);
            let table = runs.profiles[profile].table(RecordType::Call);
            for (record, key) in table.keys().iter().enumerate() {
                let callee = key.callee.and_then(|callee| rows.row(callee, key));
                let (Some(caller), Some(callee)) = (rows.row(runs.caller(key), key), callee) else {
                    continue;
                };
                if caller == callee || !is_asked_for(caller) {
                    continue;
                }
                let arc = *known.entry((caller, callee)).or_insert_with(|| {
                    let arc = result.arcs.len();
                    result.arcs.push(Arc {
                        callee,
                        calls: vec![0; sides],
                        incl: vec![0; sides],
                    });
                    result.from.entry(caller).or_default().push(arc);
                    arc
                });
                let incl = table.incl(record).and_then(|incl| incl.get(event));
                result.arcs[arc].calls[side] += table.calls(record);
                result.arcs[arc].incl[side] += incl.copied().unwrap_or(0);
            }
        }
        result
    }

    /// The arcs that leave a row.
    pub(crate) fn from(&self, caller: usize) -> impl Iterator<Item = &Arc> {
        let arcs = self.from.get(&caller).into_iter().flatten();
        arcs.map(|arc| &self.arcs[*arc])
    }
}
