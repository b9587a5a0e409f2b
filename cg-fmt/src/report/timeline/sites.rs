//! What the heap consisted of at each snapshot that has a tree: the functions that are to blame for most of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use cg_document::{Layer, Point};
use cg_stream::profile::{Profile, Symbol};
use cg_stream::record::{RecordType, SnapshotRecord};
use cg_stream::sorting::Order as _;

/// How many functions have a layer of their own; all others are one more.
const SITES: usize = 6;

/// A layer for each of the functions that held most at any snapshot, the largest lowest, and one for the rest; none where
/// fewer than two snapshots have a tree.
pub(super) fn layers(
    profile: &Profile,
    snapshots: &[&SnapshotRecord],
    point: impl Fn(&SnapshotRecord) -> Point,
) -> Vec<Layer> {
    let heap = profile.table(RecordType::Heap);
    let Some(event) = profile.event("bytes") else {
        return Vec::new();
    };
    let mut sites: BTreeMap<Option<&str>, HashMap<u64, u64>> = BTreeMap::new();
    let mut with_tree: HashSet<u64> = HashSet::new();
    let mut known: HashMap<[Option<Symbol>; 2], Option<&str>> = HashMap::new();
    for (row, key) in heap.keys().iter().enumerate() {
        let Some(snapshot) = key.snapshot else {
            continue;
        };
        let names = [key.function.name, key.function.obj];
        let name = *known.entry(names).or_insert_with(|| site(profile, names));
        let bytes = heap.cost(row).get(event).copied().unwrap_or(0);
        let site = sites.entry(name).or_default().entry(snapshot).or_insert(0);
        *site = site.saturating_add(u64::try_from(bytes).unwrap_or(0));
        with_tree.insert(snapshot);
    }
    if with_tree.len() < 2 {
        return Vec::new();
    }
    // The composition of an empty heap is known without a tree.
    let is_known = |snapshot: &&&SnapshotRecord| {
        snapshot.heap_bytes == 0 || with_tree.contains(&snapshot.snapshot)
    };
    let mut times: Vec<(u64, f64)> = Vec::new();
    let mut before = None;
    for (at, snapshot) in snapshots.iter().enumerate() {
        if !is_known(&snapshot) {
            continue;
        }
        let time = point(snapshot).time;
        // A snapshot's values hold until the next snapshot, so they are repeated there. Across a gap the line is
        // straight.
        if let Some((before, number)) = before
            && before + 1 == at
        {
            times.push((number, time));
        }
        times.push((snapshot.snapshot, time));
        before = Some((at, snapshot.snapshot));
    }
    // Stacks of which neither function nor object is known belong to the rest.
    let rest = sites.remove(&None).unwrap_or_default();
    let mut sites: Vec<(Option<&str>, HashMap<u64, u64>)> = sites.into_iter().collect();
    sites.order_by_key(|(_, bytes)| std::cmp::Reverse(bytes.values().copied().max()));
    let others = sites.split_off(sites.len().min(SITES));
    let mut layers: Vec<Layer> = sites
        .iter()
        .map(|(name, bytes)| layer(name.unwrap_or_default(), &times, |at| held(bytes, at)))
        .collect();
    let of_rest = |at: u64| {
        let others = others.iter().map(|(_, bytes)| held(bytes, at));
        others.fold(held(&rest, at), u64::saturating_add)
    };
    if times.iter().any(|(at, _)| of_rest(*at) > 0) {
        let words = match others.len() {
            0 => "other places".to_owned(),
            1 => "1 other function and places".to_owned(),
            others => format!("{others} other functions and places"),
        };
        layers.push(layer(&words, &times, of_rest));
    }
    layers
}

/// What a layer is called: the function to blame, or where its name is not known the file name of its object.
fn site(profile: &Profile, [function, obj]: [Option<Symbol>; 2]) -> Option<&str> {
    let function = profile.text(function).filter(|name| *name != "???");
    function.or_else(|| profile.text(obj)?.rsplit('/').next())
}

fn held(bytes: &HashMap<u64, u64>, at: u64) -> u64 {
    bytes.get(&at).copied().unwrap_or(0)
}

fn layer(name: &str, times: &[(u64, f64)], held: impl Fn(u64) -> u64) -> Layer {
    let point = |(at, time): &(u64, f64)| Point {
        time: *time,
        total: held(*at),
    };
    Layer {
        name: name.to_owned(),
        points: times.iter().map(point).collect(),
    }
}
