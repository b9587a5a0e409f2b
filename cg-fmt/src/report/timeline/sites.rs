//! The composition of the heap at each snapshot, by its newest tree: the functions to blame for most of the memory.

use std::collections::{BTreeMap, HashMap, HashSet};

use cg_collections::sorting::Order as _;
use cg_document::Layer;
use cg_profile::{Profile, Symbol};
use cg_stream::record::{RecordType, SnapshotRecord};

/// The maximum number of functions with a separate layer. The other functions share one layer.
const SITES: usize = 6;

/// Returns a layer for each function that held most memory at any snapshot, the largest first, and a layer for the rest. The
/// list is empty if no snapshot has a tree. A tree is valid until the next tree, or until the heap is empty.
pub(super) fn layers(profile: &Profile, snapshots: &[&SnapshotRecord]) -> Vec<Layer> {
    let heap = profile.table(RecordType::Heap);
    let Some(event) = profile.event("bytes") else {
        return Vec::new();
    };
    let mut sites: BTreeMap<Option<Site>, SiteBytes> = BTreeMap::new();
    let mut with_tree: HashSet<u64> = HashSet::new();
    let mut known: HashMap<[Option<Symbol>; 2], Option<Site>> = HashMap::new();
    for (row, key) in heap.keys().enumerate() {
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
            // The composition of an empty heap is known without a tree.
            newest = None;
        }
        newest
    });
    let trees: Vec<Option<u64>> = trees.collect();
    // Stacks with unknown function and object belong to the rest.
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
    let rest = trees.iter().map(|tree| {
        let others = others.iter().map(|(_, bytes)| held(bytes, *tree));
        others.fold(held(&rest, *tree), u64::saturating_add)
    });
    let rest: Vec<u64> = rest.collect();
    if rest.iter().any(|bytes| *bytes > 0) {
        layers.push(Layer {
            name: match others.len() {
                0 => "other places".to_owned(),
                1 => "1 other function and places".to_owned(),
                others => format!("{others} other functions and places"),
            },
            is_function: false,
            held: rest,
        });
    }
    layers
}

/// The bytes of a site, by the snapshot of the tree.
type SiteBytes = HashMap<u64, u64>;

/// The name of a layer, and true if it is the name of a function.
type Site<'p> = (&'p str, bool);

/// Returns the function to blame, or if its name is unknown, the file name of its object.
fn site(profile: &Profile, [function, obj]: [Option<Symbol>; 2]) -> Option<Site<'_>> {
    let function = profile.text(function).filter(|name| *name != "???");
    let object = || Some((profile.text(obj)?.rsplit('/').next()?, false));
    function.map(|name| (name, true)).or_else(object)
}

/// Returns the bytes of a site in a tree; 0 without a tree.
fn held(bytes: &SiteBytes, tree: Option<u64>) -> u64 {
    tree.and_then(|tree| bytes.get(&tree).copied()).unwrap_or(0)
}
