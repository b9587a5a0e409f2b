//! The shares of inlined functions in the cost of the functions that contain them.

use cg_collections::maps::Map;
use cg_profile::Profile;
use cg_stream::record::{Count, RecordType};
use cg_viewer::PageData;

use super::functions::{FunctionsOf, PageFunction, PageFunctions};

/// A chain of inlined functions, outermost first, and its self cost.
type Chain = (Vec<PageFunction>, Vec<Count>);

/// The chains of inlined functions in each function.
#[derive(Default)]
pub(super) struct InlinedCosts {
    of: Map<PageFunction, Vec<Chain>>,
}

impl InlinedCosts {
    /// Collects the chains of a profile, with the events at these positions.
    pub(super) fn collect(
        profile: &Profile,
        events: &[Option<usize>],
        (functions, data): (&mut PageFunctions, &mut PageData),
    ) -> InlinedCosts {
        let mut known = FunctionsOf::new(profile, false);
        let table = profile.table(RecordType::Inline);
        let mut costs = InlinedCosts::default();
        for (row, key) in table.keys().enumerate() {
            let frames = profile.stacks().frames_of(key.stack);
            let mut chain: Vec<PageFunction> = frames
                .iter()
                .rev()
                .map(|frame| known.get(frame.function, functions, data))
                .collect();
            if chain.is_empty() {
                continue;
            }
            let host = chain.remove(0);
            let count = |event: &Option<usize>| event.map_or(0, |event| table.count(row, event));
            let cost = events.iter().map(count).collect();
            costs.of.entry(host).or_default().push((chain, cost));
        }
        costs
    }

    /// Divides the self cost of a function among its chains, in proportion to their costs. The sum of the parts is the cost.
    pub(super) fn parts(&self, function: PageFunction, cost: Vec<Count>) -> Vec<Chain> {
        let Some(chains) = self.of.get(&function) else {
            return vec![(Vec::new(), cost)];
        };
        let mut parts: Vec<Chain> = chains
            .iter()
            .map(|(chain, _)| (chain.clone(), vec![0; cost.len()]))
            .collect();
        for (event, count) in cost.iter().enumerate() {
            let whole: Count = chains.iter().map(|(_, of_chain)| of_chain[event]).sum();
            if whole == 0 {
                parts.push((Vec::new(), vec![0; cost.len()]));
                if let Some((_, last)) = parts.last_mut() {
                    last[event] = *count;
                }
                continue;
            }
            // Rounds the running sum, so that no unit is lost.
            let (mut seen, mut given) = (0, 0);
            for ((_, of_chain), (_, part)) in chains.iter().zip(&mut parts) {
                seen += of_chain[event];
                let until = (*count as f64 * seen as f64 / whole as f64).round() as Count;
                let until = if seen == whole { *count } else { until };
                part[event] = until - given;
                given = until;
            }
        }
        parts
    }
}
