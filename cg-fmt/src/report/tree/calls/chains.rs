//! Callers and callees as in the source, from the chains of inlined functions in `inline` and `call` records.
//!
//! The rows below a function are the functions inlined into it, directly and indirectly, and the functions called from
//! there. The rows above it are its inliners, up to the function in the profile, and the callers of this function. A call
//! starts at the innermost function of its place, so every path ends with the first real call. The callers of the outermost
//! inliner have no cost, because it is unknown how much of the inlined cost each of their calls caused.

use std::collections::{HashMap, HashSet};

use cg_collections::sorting::Order as _;
use cg_profile::{FunctionKey, Key, Profile, StackId};
use cg_stream::record::{Count, RecordType, add_counts_growing};

use super::{ArcEnd, ArcRow, FunctionOfPart, TreeRow, function_of_part};
use crate::report::passed_through::PassedThrough;

/// The chains with the functions to show.
pub(super) struct ShownChains<'p> {
    profile: &'p Profile,
    /// `inline` rows by the functions in them, only for functions to show.
    inlines: HashMap<FunctionOfPart, Vec<usize>>,
    /// `call` rows by the functions of the calling chain, only for functions to show.
    leaving: HashMap<FunctionOfPart, Vec<usize>>,
    /// `call` rows by callee.
    entering: HashMap<FunctionOfPart, Vec<usize>>,
    /// An event and a threshold. Rows with a smaller count of the event are folded.
    pruning: (usize, Count),
}

/// The paths from a function as a tree, which shares equal beginnings. Node 0 is the function.
struct CallPaths<'p> {
    profile: &'p Profile,
    nodes: Vec<CallPathNode>,
    index: HashMap<(usize, ChainStep), usize>,
}

struct CallPathNode {
    step: ChainStep,
    cost: Option<Vec<Count>>,
    incl: Option<Vec<Count>>,
    calls: Count,
    /// Ranks a node that has neither inclusive cost nor self cost.
    weight: Count,
    children: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum ChainStep {
    Inlined(FunctionKey),
    Called(FunctionKey),
}

impl<'p> ShownChains<'p> {
    /// Collects the chains with the functions to show.
    pub(super) fn collect(
        profile: &'p Profile,
        shown: HashSet<FunctionOfPart>,
        pruning: (usize, Count),
    ) -> ShownChains<'p> {
        let mut chains = ShownChains {
            profile,
            inlines: HashMap::new(),
            leaving: HashMap::new(),
            entering: HashMap::new(),
            pruning,
        };
        let add_row =
            |rows: &mut HashMap<_, Vec<usize>>, key: &Key, path: Vec<FunctionKey>, row| {
                for function in path {
                    let function = function_of_part(key, function);
                    if shown.contains(&function) {
                        let rows: &mut Vec<usize> = rows.entry(function).or_default();
                        // A function can occur several times in a chain.
                        if rows.last() != Some(&row) {
                            rows.push(row);
                        }
                    }
                }
            };
        for (row, key) in profile.table(RecordType::Inline).keys().enumerate() {
            let path = chains.inlined(&key);
            add_row(&mut chains.inlines, &key, path, row);
        }
        for (row, key) in profile.table(RecordType::Call).keys().enumerate() {
            let path = chains.caller(&key);
            add_row(&mut chains.leaving, &key, path, row);
            let callee = function_of_part(&key, key.callee.unwrap_or_default());
            chains.entering.entry(callee).or_default().push(row);
        }
        chains
    }

    /// Returns the rows above or below a function.
    pub(super) fn around(&self, function: FunctionOfPart, role: ArcEnd) -> Vec<TreeRow> {
        let paths = match role {
            ArcEnd::Caller => self.outwards(function),
            ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => self.inwards(function),
        };
        let mut rows = Vec::new();
        paths.show(0, 0, role, self.pruning, &mut rows);
        rows
    }

    /// Returns the functions of an `inline` record, outermost first.
    fn inlined(&self, key: &Key) -> Vec<FunctionKey> {
        match self.functions(key, key.stack) {
            functions if functions.is_empty() => vec![key.function],
            functions => functions,
        }
    }

    /// Returns the chain of functions at the start of a call, outermost first.
    fn caller(&self, key: &Key) -> Vec<FunctionKey> {
        let mut functions = vec![key.function];
        functions.extend(self.functions(key, key.inlined));
        functions
    }

    /// Returns the functions of a chain, outermost first. Inlined functions get the object of the function in the profile.
    fn functions(&self, key: &Key, chain: Option<StackId>) -> Vec<FunctionKey> {
        let frames = self.profile.stacks().frames_of(chain);
        let in_object = |frame: FunctionKey| FunctionKey {
            obj: key.function.obj,
            ..frame
        };
        (frames.iter().rev())
            .map(|frame| in_object(frame.function))
            .collect()
    }

    /// Returns the functions inlined into a function, and the functions called from there.
    fn inwards(&self, function: FunctionOfPart) -> CallPaths<'p> {
        let mut paths = CallPaths::new(self.profile);
        // If the function is inlined into itself, the path begins at its outermost occurrence.
        let below = |mut path: Vec<FunctionKey>| {
            let begin = path.iter().position(|known| *known == function.0);
            path.drain(..begin.map_or(0, |begin| begin + 1));
            path
        };
        let inlines = self.profile.table(RecordType::Inline);
        for row in self.inlines.get(&function).into_iter().flatten() {
            let mut node = 0;
            for inner in below(self.inlined(&inlines.key(*row))) {
                node = paths.child(node, ChainStep::Inlined(inner));
            }
            paths.add_cost(node, inlines.cost(*row));
            paths.add_incl(node, inlines.incl(*row));
        }
        let calls = self.profile.table(RecordType::Call);
        for row in self.leaving.get(&function).into_iter().flatten() {
            let key = calls.key(*row);
            let mut node = 0;
            for inner in below(self.caller(&key)) {
                node = paths.child(node, ChainStep::Inlined(inner));
            }
            let node = paths.child(node, ChainStep::Called(key.callee.unwrap_or_default()));
            paths.add_incl(node, calls.incl(*row));
            paths.nodes[node].calls += calls.calls(*row);
        }
        paths
    }

    /// Returns the functions that a function is inlined into, the callers of these, and the callers of the function.
    fn outwards(&self, function: FunctionOfPart) -> CallPaths<'p> {
        let mut paths = CallPaths::new(self.profile);
        let mut hosts = Vec::new();
        let inlines = self.profile.table(RecordType::Inline);
        for row in self.inlines.get(&function).into_iter().flatten() {
            let path = self.inlined(&inlines.key(*row));
            let Some((innermost, outer)) = path.split_last() else {
                continue;
            };
            if *innermost != function.0 {
                continue;
            }
            // If the function is inlined into itself, the inclusive cost of the outer occurrence contains the inner one.
            let incl = inlines.incl(*row).filter(|_| !outer.contains(innermost));
            let mut node = 0;
            for caller in outer.iter().rev() {
                node = paths.child(node, ChainStep::Inlined(*caller));
                paths.add_cost(node, inlines.cost(*row));
                paths.add_incl(node, incl);
            }
            if let Some(host) = outer.first() {
                hosts.push((node, *host));
            }
        }
        hosts.order_by_key(|(node, _)| *node);
        hosts.dedup();
        let calls = self.profile.table(RecordType::Call);
        let (_, part, thread) = function;
        let reaching = |callee| {
            self.entering
                .get(&(callee, part, thread))
                .into_iter()
                .flatten()
        };
        let caller = |row: usize| {
            let chain = self.caller(&calls.key(row));
            ChainStep::Called(chain.last().copied().unwrap_or_default())
        };
        for row in reaching(function.0) {
            let node = paths.child(0, caller(*row));
            paths.add_incl(node, calls.incl(*row));
            paths.nodes[node].calls += calls.calls(*row);
        }
        for (node, host) in hosts {
            for row in reaching(host) {
                let node = paths.child(node, caller(*row));
                let incl = calls.incl(*row).unwrap_or_default();
                paths.nodes[node].weight += incl.get(self.pruning.0).copied().unwrap_or(0);
                paths.nodes[node].calls += calls.calls(*row);
            }
        }
        paths
    }
}

impl<'p> CallPaths<'p> {
    fn new(profile: &'p Profile) -> CallPaths<'p> {
        let root = CallPathNode::new(ChainStep::Called(FunctionKey::default()));
        CallPaths {
            profile,
            nodes: vec![root],
            index: HashMap::new(),
        }
    }

    fn child(&mut self, node: usize, step: ChainStep) -> usize {
        let nodes = &mut self.nodes;
        *self.index.entry((node, step)).or_insert_with(|| {
            nodes.push(CallPathNode::new(step));
            let child = nodes.len() - 1;
            nodes[node].children.push(child);
            child
        })
    }

    fn add_cost(&mut self, node: usize, cost: &[Count]) {
        add(&mut self.nodes[node].cost, Some(cost));
    }

    fn add_incl(&mut self, node: usize, incl: Option<&[Count]>) {
        add(&mut self.nodes[node].incl, incl);
    }

    /// Adds the rows below a node, the largest first.
    fn show(
        &self,
        node: usize,
        depth: usize,
        role: ArcEnd,
        pruning: (usize, Count),
        rows: &mut Vec<TreeRow>,
    ) {
        let (event, least) = pruning;
        let mut children: Vec<(usize, PassedThrough)> = (self.nodes[node].children.iter())
            .map(|child| match role {
                ArcEnd::Caller => (*child, PassedThrough::Nothing),
                ArcEnd::Function | ArcEnd::Callee | ArcEnd::Own => self.passed_through(*child),
            })
            .collect();
        children.order_by(|(a, _), (b, _)| {
            let (a, b) = (&self.nodes[*a], &self.nodes[*b]);
            (a.weight(event).cmp(&b.weight(event)).reverse())
                .then_with(|| {
                    self.profile
                        .order_of_functions(&a.function(), &b.function())
                })
                .then_with(|| a.step.is_call().cmp(&b.step.is_call()))
        });
        let seen = match depth {
            ..DEEPEST => {
                children.partition_point(|(child, _)| self.nodes[*child].weight(event) >= least)
            }
            _ => 0,
        };
        let (seen, pruned) = children.split_at(seen);
        for (child, through) in seen {
            let shown = &self.nodes[*child];
            rows.push(TreeRow {
                role,
                depth: depth + 1,
                what: match shown.step {
                    ChainStep::Inlined(function) => ArcRow::Inlined(function, *through),
                    ChainStep::Called(function) => ArcRow::Called(function, shown.calls),
                },
                cost: shown.cost.clone(),
                incl: shown.incl.clone(),
            });
            self.show(*child, depth + 1, role, pruning, rows);
        }
        if !pruned.is_empty() {
            let (mut cost, mut incl) = (None, None);
            for (child, _) in pruned {
                add(&mut cost, self.nodes[*child].cost.as_deref());
                add(&mut incl, self.nodes[*child].incl.as_deref());
            }
            rows.push(TreeRow {
                role,
                depth: depth + 1,
                what: ArcRow::Pruned(pruned.len()),
                cost,
                incl,
            });
        }
    }

    /// Returns the next node that gets a row, and the functions that are left out before it.
    fn passed_through(&self, mut node: usize) -> (usize, PassedThrough) {
        let mut through = PassedThrough::Nothing;
        while let [child] = self.nodes[node].children[..]
            && let ChainStep::Inlined(function) = self.nodes[node].step
            && let ChainStep::Inlined(_) = self.nodes[child].step
            && self.nodes[node].costs_nothing()
        {
            through = through.and(function);
            node = child;
        }
        (node, through)
    }
}

/// The maximum depth of a tree, for any stream.
const DEEPEST: usize = 1000;

impl CallPathNode {
    fn new(step: ChainStep) -> CallPathNode {
        CallPathNode {
            step,
            cost: None,
            incl: None,
            calls: 0,
            weight: 0,
            children: Vec::new(),
        }
    }

    fn function(&self) -> FunctionKey {
        match self.step {
            ChainStep::Inlined(function) | ChainStep::Called(function) => function,
        }
    }

    fn costs_nothing(&self) -> bool {
        self.cost.iter().flatten().all(|count| *count == 0)
    }

    fn weight(&self, event: usize) -> Count {
        let figures = self.incl.as_ref().or(self.cost.as_ref());
        figures.map_or(self.weight, |figures| {
            figures.get(event).copied().unwrap_or(0)
        })
    }
}

impl ChainStep {
    fn is_call(self) -> bool {
        matches!(self, ChainStep::Called(_))
    }
}

/// Adds counts, if they are known.
fn add(sums: &mut Option<Vec<Count>>, counts: Option<&[Count]>) {
    if let Some(counts) = counts {
        add_counts_growing(sums.get_or_insert_default(), counts);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use cg_stream::Reader;

    use super::*;

    fn profile(records: &[String]) -> Profile {
        let mut text =
            "{\"type\":\"run\",\"events\":[\"Ir\"],\"total\":{\"Ir\":9999}}\n".to_owned();
        text += &records.join("\n");
        let mut reader = Reader::new(text.as_bytes());
        let mut profile = Profile::default();
        while let Some(line) = reader.next_line().unwrap() {
            profile.add(&line).unwrap();
        }
        profile
    }

    fn frames(functions: &str) -> String {
        let frame = |name: &str| format!("{{\"fn\":\"{name}\"}}");
        let frames: Vec<String> = functions.split(' ').map(frame).collect();
        format!("[{}]", frames.join(","))
    }

    /// Returns an `inline` record of a chain, innermost function first.
    fn inline(functions: &str, cost: u64, incl: u64) -> String {
        let innermost = functions.split(' ').next().unwrap();
        let stack = frames(functions);
        format!(
            "{{\"type\":\"inline\",\"fn\":\"{innermost}\",\"cost\":{{\"Ir\":{cost}}},\"incl\":{{\"Ir\":{incl}}},\"stack\":{stack}}}"
        )
    }

    /// Returns a `call` record from a chain, innermost function first and the function of the profile last.
    fn call(from: &str, to: &str, calls: u64, incl: u64) -> String {
        let (inlined, host) = from.rsplit_once(' ').unwrap_or(("", from));
        let inlined = match inlined {
            "" => String::new(),
            inlined => format!("\"inlined\":{},", frames(inlined)),
        };
        format!(
            "{{\"type\":\"call\",\"fn\":\"{host}\",{inlined}\"callee\":{{\"fn\":\"{to}\"}},\"calls\":{calls},\"incl\":{{\"Ir\":{incl}}}}}"
        )
    }

    /// Returns the rows above or below a function as text: self cost, inclusive cost, name.
    fn around(records: &[String], function: &str, role: ArcEnd, least: Count) -> Vec<String> {
        let profile = profile(records);
        let keys = profile.table(RecordType::Inline).keys();
        let named = |key: &Key| profile.text(key.function.name) == Some(function);
        let key = keys.clone().find(named).unwrap();
        let function = function_of_part(&key, key.function);
        let chains = ShownChains::collect(&profile, HashSet::from([function]), (0, least));
        let figure = |counts: &Option<Vec<Count>>| match counts {
            Some(counts) => counts[0].to_string(),
            None => "-".to_owned(),
        };
        let rows = chains.around(function, role);
        let line = |row: &TreeRow| {
            let mut text = format!("{} {} ", figure(&row.cost), figure(&row.incl));
            match row.name(&profile, false) {
                cg_document::Cell::Called { name, calls } => write!(text, "{name} ({calls}x)"),
                cg_document::Cell::Placed { lead, name, place } => {
                    write!(text, "{lead}{name} ({place})")
                }
                cg_document::Cell::Text(words) => write!(text, "{words}"),
                other => write!(text, "{other:?}"),
            }
            .unwrap();
            text
        };
        rows.iter().map(line).collect()
    }

    /// Returns records in which `main` calls `host` and `other`. `hash` is inlined into `host` through `probe` and `step`,
    /// and into `other` directly. `hash` calls `copy`.
    fn records() -> Vec<String> {
        vec![
            inline("main", 1, 1111),
            inline("host", 10, 1000),
            inline("step host", 0, 990),
            inline("probe step host", 0, 990),
            inline("hash probe step host", 890, 990),
            inline("other", 10, 110),
            inline("hash other", 90, 100),
            inline("copy", 110, 110),
            call("main", "host", 7, 1000),
            call("main", "other", 2, 110),
            call("hash probe step host", "copy", 3, 100),
            call("hash other", "copy", 1, 10),
        ]
    }

    #[test]
    fn rows_below_a_function_are_its_inlined_functions_and_their_callees() {
        let callees = |function: &str| around(&records(), function, ArcEnd::Callee, 0);
        // A function without self cost that leads to only one function is left out.
        assert_eq!(
            callees("host"),
            [
                "890 990 hash (inlined through 2 functions)",
                "- 100   copy (3x)"
            ]
        );
        assert_eq!(
            callees("step"),
            ["890 990 hash (inlined through probe)", "- 100   copy (3x)"]
        );
        // This sums the calls from all copies of `hash`.
        assert_eq!(callees("hash"), ["- 110 copy (4x)"]);
        assert_eq!(callees("main"), ["- 1000 host (7x)", "- 110 other (2x)"]);
    }

    #[test]
    fn rows_above_a_function_are_its_inliners_and_their_callers() {
        let callers = |function: &str| around(&records(), function, ArcEnd::Caller, 0);
        assert_eq!(
            callers("hash"),
            [
                "890 990 probe (inlined into)",
                "890 990   step (inlined into)",
                "890 990     host (inlined into)",
                "- -       main (7x)",
                "90 100 other (inlined into)",
                "- -   main (2x)",
            ]
        );
        // The caller is the function in the source.
        assert_eq!(callers("copy"), ["- 110 hash (4x)"]);
        assert_eq!(callers("host"), ["- 1000 main (7x)"]);
        // The row for inliners below the threshold has their cost.
        assert_eq!(
            around(&records(), "hash", ArcEnd::Caller, 200)[4..],
            ["90 100 1 more, below the threshold"]
        );
    }

    #[test]
    fn a_function_inlined_into_itself_is_in_its_own_tree_and_counted_once() {
        let records = [
            inline("main", 1, 101),
            inline("fact main", 60, 100),
            inline("fact fact main", 40, 40),
        ];
        assert_eq!(
            around(&records, "fact", ArcEnd::Callee, 0),
            ["40 40 fact (inlined)"]
        );
        assert_eq!(
            around(&records, "fact", ArcEnd::Caller, 0),
            [
                "60 100 main (inlined into)",
                "40 - fact (inlined into)",
                "40 -   main (inlined into)",
            ]
        );
    }
}
