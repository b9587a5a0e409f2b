//! What the heap consisted of by the newest tree at each snapshot: the functions that are to blame for most of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use cg_document::Layer;
use cg_stream::profile::{Profile, Symbol};
use cg_stream::record::{RecordType, SnapshotRecord};
use cg_stream::sorting::Order as _;

/// How many functions have a layer of their own; all others are one more.
const SITES: usize = 6;

/// A layer for each of the functions that held most at any snapshot, the largest lowest, and one for the rest; none where
/// no snapshot has a tree. What a tree says holds until the next tree, or until nothing is on the heap.
pub(super) fn layers(profile: &Profile, snapshots: &[&SnapshotRecord]) -> Vec<Layer> {
    let heap = profile.table(RecordType::Heap);
    let Some(event) = profile.event("bytes") else {
        return Vec::new();
    };
    let mut sites: BTreeMap<Option<Site>, SiteBytes> = BTreeMap::new();
    let mut with_tree: HashSet<u64> = HashSet::new();
    let mut known: HashMap<[Option<Symbol>; 2], Option<Site>> = HashMap::new();
    for (row, key) in heap.keys().iter().enumerate() {
        let Some(snapshot) = key.snapshot else {
            continue;
        };
        let names = [key.function.name, key.function.obj];
        let name = *known.entry(names).or_insert_with(|| site(profile, names));
        let bytes = heap.count(row, event);
        let site = sites.entry(name).or_default().entry(snapshot).or_insert(0);
        *site = site.saturating_add(u64::try_from(bytes).unwrap_or(0));
        with_tree.insert(snapshot);
    }
    if with_tree.is_empty() {
        return Vec::new();
    }
    let mut newest = None;
    let trees = snapshots.iter().map(|snapshot| {
        if with_tree.contains(&snapshot.snapshot) {
            newest = Some(snapshot.snapshot);
        } else if snapshot.heap_bytes == 0 {
            // What an empty heap consists of is known without a tree.
            newest = None;
        }
        newest
    });
    let trees: Vec<Option<u64>> = trees.collect();
    // Stacks of which neither function nor object is known belong to the rest.
    let rest = sites.remove(&None).unwrap_or_default();
    let mut sites: Vec<(Option<Site>, SiteBytes)> = sites.into_iter().collect();
    sites.order_by_key(|(_, bytes)| std::cmp::Reverse(bytes.values().copied().max()));
    let others = sites.split_off(sites.len().min(SITES));
    let mut layers: Vec<Layer> = Vec::new();
    for (site, bytes) in &sites {
        let held = trees.iter().map(|tree| held(bytes, *tree));
        let (name, is_function) = site.unwrap_or_default();
        layers.push(Layer {
            name: name.to_owned(),
            is_function,
            held: held.collect(),
        });
    }
    let of_rest = |tree: &Option<u64>| {
        let others = others.iter().map(|(_, bytes)| held(bytes, *tree));
        others.fold(held(&rest, *tree), u64::saturating_add)
    };
    let of_rest: Vec<u64> = trees.iter().map(of_rest).collect();
    if of_rest.iter().any(|bytes| *bytes > 0) {
        layers.push(Layer {
            name: match others.len() {
                0 => "other places".to_owned(),
                1 => "1 other function and places".to_owned(),
                others => format!("{others} other functions and places"),
            },
            is_function: false,
            held: of_rest,
        });
    }
    layers
}

/// The bytes of a site, by the snapshot whose tree tells them.
type SiteBytes = HashMap<u64, u64>;

/// What a layer is called, and whether that is a function.
type Site<'p> = (&'p str, bool);

/// The function to blame, or where its name is not known the file name of its object.
fn site(profile: &Profile, [function, obj]: [Option<Symbol>; 2]) -> Option<Site<'_>> {
    let function = profile.text(function).filter(|name| *name != "???");
    let object = || Some((profile.text(obj)?.rsplit('/').next()?, false));
    function.map(|name| (name, true)).or_else(object)
}

/// What a site held by a tree; of an empty heap, nothing.
fn held(bytes: &SiteBytes, tree: Option<u64>) -> u64 {
    tree.and_then(|tree| bytes.get(&tree).copied()).unwrap_or(0)
}
