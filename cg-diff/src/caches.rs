//! The simulated caches of the runs, and the events that depend on them.

use std::collections::BTreeSet;

use cg_profile::Profile;
use cg_stream::record::{Description, RunRecord};

use crate::runs::Runs;

/// Returns true if the runs have different caches, so that their misses are not comparable. Ignores runs without cache
/// parameters.
pub(crate) fn have_different_caches(runs: &Runs) -> bool {
    let records = runs.profiles.iter().flat_map(Profile::runs);
    let distinct: BTreeSet<BTreeSet<String>> = records
        .map(parameters)
        .filter(|caches| !caches.is_empty())
        .collect();
    distinct.len() > 1
}

/// Returns a cache event that all runs count, if the runs have different caches.
pub(crate) fn find_incomparable_cache_event(runs: &Runs) -> Option<&str> {
    let common = (0..runs.events.len()).filter(|event| runs.is_common(*event));
    let mut common = common.map(|event| runs.events[event].as_str());
    common.find(|event| is_cache_event(event) && have_different_caches(runs))
}

/// Returns true for an event that depends on the simulated caches: misses, write-backs (`--simulate-wb`), the use of cache
/// lines (`--cacheuse`), and gungraun's hits.
pub(crate) fn is_cache_event(event: &str) -> bool {
    const OF_CACHES: [&str; 14] = [
        "I1m", "ILm", "D1m", "DLm", "LLm", "I2m", "D2m", "ILdm", "DLdm", "AcCost", "SpLoss",
        "L1hits", "LLhits", "RamHits",
    ];
    OF_CACHES.iter().any(|start| event.starts_with(start))
}

/// Returns the cache parameters, which Valgrind's tools write as `I1 cache`, `D1 cache` and `LL cache` in their headers.
pub(crate) fn parameters(run: &RunRecord) -> BTreeSet<String> {
    let Some(Description::ByKey(texts)) = &run.desc else {
        return BTreeSet::new();
    };
    let caches = texts.iter().filter(|(key, _)| key.ends_with("cache"));
    caches.map(|(key, text)| format!("{key} {text}")).collect()
}
