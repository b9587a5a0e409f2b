//! The call arcs between the rows of a comparison, over all runs.

use cg_collections::maps::Map;
use cg_stream::record::{Count, RecordType};

use crate::join::FunctionRows;
use crate::runs::Runs;

/// The arcs that leave some of the rows.
pub(crate) struct Arcs {
    arcs: Vec<Arc>,
    from: Map<usize, Vec<usize>>,
}

/// All calls from one row to another.
pub(crate) struct Arc {
    pub(crate) callee: usize,
    /// For each side, the number of calls, summed over its files.
    pub(crate) calls: Vec<Count>,
    /// For each side, the inclusive cost of the first event, summed over its files.
    pub(crate) incl: Vec<Count>,
}

impl Arcs {
    /// Collects the arcs of wanted callers. Skips arcs from a row to itself.
    pub(crate) fn collect(
        runs: &Runs,
        rows: &FunctionRows,
        is_wanted: impl Fn(usize) -> bool,
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
            for (record, key) in table.keys().enumerate() {
                let callee = key.callee.and_then(|callee| rows.row(callee, &key));
                let (Some(caller), Some(callee)) = (rows.row(runs.caller(&key), &key), callee)
                else {
                    continue;
                };
                if caller == callee || !is_wanted(caller) {
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

    /// Returns the arcs that leave a row.
    pub(crate) fn from(&self, caller: usize) -> impl Iterator<Item = &Arc> {
        let arcs = self.from.get(&caller).into_iter().flatten();
        arcs.map(|arc| &self.arcs[*arc])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::{join, tests::options};
    use crate::runs::tests::sides;

    fn function(name: &str) -> String {
        format!("{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":1,\"cost\":{{\"Ir\":5}}}}\n")
    }

    fn call(caller: &str, callee: &str, line: u64, calls: u64, incl: u64) -> String {
        format!(
            "{{\"type\":\"call\",\"fn\":\"{caller}\",\"line\":{line},\"callee\":{{\"fn\":\"{callee}\"}},\"calls\":{calls},\"incl\":{{\"Ir\":{incl}}}}}\n"
        )
    }

    #[test]
    fn arcs_of_wanted_callers_are_added_up_for_each_side() {
        let functions = ["f", "g", "h"].map(function).concat();
        let one = functions.clone()
            + &call("f", "g", 1, 2, 10)
            + &call("f", "g", 2, 3, 20)
            + &call("f", "f", 3, 9, 90)
            + &call("h", "g", 1, 7, 70);
        let two = functions.clone() + &call("f", "g", 1, 5, 100);
        let new = functions + &call("f", "g", 9, 1, 1) + &call("f", "h", 9, 4, 4);
        let mut runs = sides(&[&[&one, &two], &[&new]]);
        let joined = join(&mut runs, &options());
        let rows = FunctionRows::collect(&runs, &joined);
        let name = |row: usize| {
            let key = crate::compare::first_key(&runs, &joined, row).unwrap();
            runs.names.symbols.text(key.function.name.unwrap())
        };
        let row = |wanted: &str| {
            (0..joined.rows.len())
                .find(|row| name(*row) == wanted)
                .unwrap()
        };
        let arcs = Arcs::collect(&runs, &rows, |caller| name(caller) == "f");
        let found: Vec<_> = arcs
            .from(row("f"))
            .map(|arc| (name(arc.callee), arc.calls.clone(), arc.incl.clone()))
            .collect();
        assert_eq!(
            found,
            [
                ("g", vec![10, 1], vec![130, 1]),
                ("h", vec![0, 4], vec![0, 4])
            ]
        );
        assert_eq!(arcs.from(row("h")).count(), 0);
    }
}
