//! The line at which a function's cost, or its calls of another function, changed most.
//!
//! Lines move when a file is edited, so the lines of the two runs are not compared by number. They are aligned in their
//! order, with the least total change. A line is named if it has at least half of the change, and if alignments from both
//! ends agree. For several equal lines in a row, they do not: any of the lines may be new.

use std::collections::BTreeMap;

use cg_collections::maps::Map;
use cg_names::identity::normal_file;
use cg_profile::{FunctionKey, Symbol};
use cg_stream::record::{CauseKind, Count, RecordType};

use super::nodes::{Node, Nodes};
use super::rows::{Cause, Detail};
use crate::join::Joined;
use crate::runs::Runs;

/// A line of a detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CauseLine {
    /// The file of the line, if it differs from the file of the cause's function.
    pub(crate) site: Option<Symbol>,
    pub(crate) line: u64,
}

/// The maximum number of causes, greatest first, whose line is searched for.
const MOST_CAUSES: usize = 1000;

/// Functions with more pairs of lines are skipped.
const MOST_PAIRS: usize = 1 << 18;

/// The wanted lines: all lines of a function, or the lines from which it calls another function.
type WantedLines = (Node, Option<Node>);

/// The counts of one run by file and line. The file is empty if it is the function's own file.
type CountsOfLines<'a> = BTreeMap<(&'a str, u64), (Option<Symbol>, Count)>;

/// Finds the lines of the greatest causes' details. The causes are sorted, greatest first.
pub(super) fn find(
    runs: &Runs,
    joined: &Joined,
    nodes: &Nodes,
    sides: [usize; 2],
    event: usize,
    (causes, ran): (&mut [Cause], &[Vec<Count>; 2]),
) {
    // Lines do not record their chain of inlined functions.
    if nodes.has_chains {
        return;
    }
    let most = causes.len().min(MOST_CAUSES);
    let causes = &mut causes[..most];
    let mut counts: Map<WantedLines, [CountsOfLines; 2]> = Map::default();
    for cause in &*causes {
        for wanted in cause.details.iter().filter_map(wanted_lines) {
            counts.insert((cause.node, wanted), Default::default());
        }
    }
    let mut is_wanted = vec![false; nodes.len() + 1];
    for cause in &*causes {
        is_wanted[cause.node] = true;
    }
    for (run, side) in sides.into_iter().enumerate() {
        for profile in runs.files_of(side) {
            let lines = ProfileLines {
                runs,
                nodes,
                profile,
                by_function: functions(runs, joined, nodes, &is_wanted, profile),
            };
            lines.add_calls(run, &mut counts);
            lines.add_lines(run, event, &mut counts);
        }
    }
    for cause in causes {
        let ran = [0, 1].map(|run| ran[run][cause.node]);
        for detail in &mut cause.details {
            let wanted = wanted_lines(detail).map(|wanted| (cause.node, wanted));
            let counts = wanted.and_then(|wanted| counts.get(&wanted));
            detail.line = counts.and_then(|[old, new]| changed_most(old, new, ran));
        }
    }
}

/// Returns the lines that a detail needs: the lines of calls to a function, or all lines of the cause's function. `None` for
/// details without lines.
fn wanted_lines(detail: &Detail) -> Option<Option<Node>> {
    match detail.kind {
        CauseKind::Own => Some(None),
        CauseKind::Calls | CauseKind::Moved => detail.function.map(Some),
        CauseKind::Gone
        | CauseKind::New
        | CauseKind::Runs
        | CauseKind::Inlined
        | CauseKind::Entered => None,
    }
}

/// Returns the functions of a profile that have causes, with their nodes.
fn functions(
    runs: &Runs,
    joined: &Joined,
    nodes: &Nodes,
    is_wanted: &[bool],
    profile: usize,
) -> Map<FunctionKey, Node> {
    let table = runs.profiles[profile].table(RecordType::Fn);
    let mut functions = Map::default();
    for row in 0..joined.rows.len() {
        if let Some(node) = nodes.of_row(row).filter(|node| is_wanted[*node]) {
            let records = joined.records(row, profile).iter();
            let keys = records.map(|record| table.function(*record as usize));
            functions.extend(keys.map(|key| (key, node)));
        }
    }
    functions
}

struct ProfileLines<'a> {
    runs: &'a Runs,
    nodes: &'a Nodes<'a, 'a>,
    profile: usize,
    by_function: Map<FunctionKey, Node>,
}

impl<'a> ProfileLines<'a> {
    fn file(&self, file: Option<Symbol>) -> &'a str {
        file.map_or("", |file| normal_file(self.runs.names.symbols.text(file)))
    }

    fn add(
        &self,
        to: &mut CountsOfLines<'a>,
        file: Option<Symbol>,
        line: Option<u64>,
        count: Count,
    ) {
        let line = line.unwrap_or(0);
        let known = to.entry((self.file(file), line)).or_insert((file, 0));
        known.1 += count;
    }

    fn add_calls(&self, run: usize, counts: &mut Map<WantedLines, [CountsOfLines<'a>; 2]>) {
        let calls = self.runs.profiles[self.profile].table(RecordType::Call);
        for (record, key) in calls.keys().enumerate() {
            if let Some(node) = self.by_function.get(&key.function)
                && let Some(callee) = key.callee.and_then(|callee| self.nodes.node(callee, &key))
                && let Some(counts) = counts.get_mut(&(*node, Some(callee)))
            {
                self.add(&mut counts[run], key.site, key.line, calls.calls(record));
            }
        }
    }

    /// Adds the costs of lines. A line record has the file of the line, so only the name and the object identify its
    /// function.
    fn add_lines(
        &self,
        run: usize,
        event: usize,
        counts: &mut Map<WantedLines, [CountsOfLines<'a>; 2]>,
    ) {
        let profile = &self.runs.profiles[self.profile];
        let lines = profile.table(RecordType::Line);
        let position = self.runs.position(self.profile, event);
        let (false, Some(position)) = (lines.is_empty(), position) else {
            return;
        };
        let mut by_name: Map<(Option<Symbol>, Option<Symbol>), Vec<FunctionKey>> = Map::default();
        for key in profile.table(RecordType::Fn).keys() {
            let same_name = by_name.entry((key.function.name, key.function.obj));
            same_name.or_default().push(key.function);
        }
        for (record, key) in lines.keys().enumerate() {
            let FunctionKey { name, file, obj } = key.function;
            if let Some([function]) = by_name.get(&(name, obj)).map(Vec::as_slice)
                && let Some(node) = self.by_function.get(function)
                && let Some(counts) = counts.get_mut(&(*node, None))
            {
                let count = lines.count(record, position);
                let site = file.filter(|_| file != function.file);
                self.add(&mut counts[run], site, key.line, count);
            }
        }
    }
}

/// A step of an alignment: the amount of change, and the line of the new list, if there is one.
type LineStep = (f64, Option<usize>);

/// Returns the line with at least half of the change. If one run has no lines, returns the other run's line, provided there
/// is only one.
fn changed_most(old: &CountsOfLines, new: &CountsOfLines, ran: [Count; 2]) -> Option<CauseLine> {
    let line_of = |lines: &CountsOfLines, at: usize| {
        let ((_, line), (site, _)) = lines.iter().nth(at)?;
        let line = CauseLine {
            site: *site,
            line: *line,
        };
        (line.line != 0).then_some(line)
    };
    if old.is_empty() || new.is_empty() {
        let only = if new.is_empty() { old } else { new };
        return (only.len() == 1).then(|| line_of(only, 0)).flatten();
    }
    if old.len() * new.len() > MOST_PAIRS {
        return None;
    }
    // Scale the old counts to the new number of calls.
    let rate = ran[1] as f64 / ran[0].max(1) as f64;
    let (mut old, mut new_list) = (by_file(old, rate), by_file(new, 1.0));
    let forwards = greatest(&steps(&old, &new_list))?;
    old.reverse();
    new_list.reverse();
    let backwards = greatest(&steps(&old, &new_list))?;
    (forwards == new_list.len() - 1 - backwards).then(|| line_of(new, forwards))?
}

/// Returns the file and the scaled count of each line, in order.
fn by_file<'a>(lines: &CountsOfLines<'a>, rate: f64) -> Vec<(&'a str, f64)> {
    let counts = lines.iter();
    counts
        .map(|((file, _), (_, count))| (*file, *count as f64 * rate))
        .collect()
}

/// Returns the line with at least half of all changes.
fn greatest(steps: &[LineStep]) -> Option<usize> {
    let all: f64 = steps.iter().map(|(change, _)| change).sum();
    let greatest = steps.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (greatest.0 > 0.0 && greatest.0 * 2.0 >= all).then_some(greatest.1)?
}

/// Aligns two lists of lines with the least change. A step is a pair of lines of one file, or a line that came or went.
fn steps(old: &[(&str, f64)], new: &[(&str, f64)]) -> Vec<LineStep> {
    let width = new.len() + 1;
    let mut least = vec![0.0; (old.len() + 1) * width];
    let pair = |a: usize, b: usize| match old[a].0 == new[b].0 {
        true => (old[a].1 - new[b].1).abs(),
        false => f64::INFINITY,
    };
    for a in (0..=old.len()).rev() {
        for b in (0..=new.len()).rev() {
            let at = |a: usize, b: usize| least[a * width + b];
            let mut best = f64::INFINITY;
            if a < old.len() && b < new.len() {
                best = pair(a, b) + at(a + 1, b + 1);
            }
            if a < old.len() {
                best = best.min(old[a].1 + at(a + 1, b));
            }
            if b < new.len() {
                best = best.min(new[b].1 + at(a, b + 1));
            }
            if best.is_finite() {
                least[a * width + b] = best;
            }
        }
    }
    let (mut a, mut b) = (0, 0);
    let mut steps = Vec::new();
    while a < old.len() || b < new.len() {
        let left = least[a * width + b];
        let at = |a: usize, b: usize| least[a * width + b];
        if a < old.len() && b < new.len() && pair(a, b) + at(a + 1, b + 1) <= left {
            steps.push((pair(a, b), Some(b)));
            (a, b) = (a + 1, b + 1);
        } else if a < old.len() && (b == new.len() || old[a].1 + at(a + 1, b) <= left) {
            steps.push((old[a].1, None));
            a += 1;
        } else {
            steps.push((new[b].1, Some(b)));
            b += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line that changed most between lists of lines and counts. `ran` is how often the function ran.
    fn find_line(old: &[(u64, Count)], new: &[(u64, Count)], ran: [Count; 2]) -> Option<u64> {
        let lines = |list: &[(u64, Count)]| -> CountsOfLines<'static> {
            let lines = list.iter();
            lines
                .map(|(line, count)| (("", *line), (None, *count)))
                .collect()
        };
        changed_most(&lines(old), &lines(new), ran).map(|line| line.line)
    }

    #[test]
    fn lines_are_compared_by_order_and_not_by_number() {
        let old = [(3, 10), (4, 200), (5, 30)];
        for (claim, new, ran, line) in [
            (
                "same numbers",
                vec![(3, 10), (4, 500), (5, 30)],
                [1, 1],
                Some(4),
            ),
            (
                "moved down",
                vec![(13, 10), (14, 500), (15, 30)],
                [1, 1],
                Some(14),
            ),
            (
                "a line came",
                vec![(3, 10), (4, 200), (5, 90), (6, 30)],
                [1, 1],
                Some(5),
            ),
            (
                "twice the calls",
                vec![(3, 20), (4, 400), (5, 200)],
                [1, 2],
                Some(5),
            ),
            ("one went", vec![(3, 10), (5, 30)], [1, 1], None),
            // Two lines have half of the change each, so the alignments from both ends differ.
            (
                "two by the same",
                vec![(3, 110), (4, 200), (5, 130)],
                [1, 1],
                None,
            ),
            (
                "three by the same",
                vec![(3, 110), (4, 300), (5, 130)],
                [1, 1],
                None,
            ),
            ("nothing", old.to_vec(), [1, 1], None),
            (
                "unknown lines",
                vec![(0, 900), (3, 10), (4, 200), (5, 30)],
                [1, 1],
                None,
            ),
        ] {
            assert_eq!(find_line(&old, &new, ran), line, "{claim}");
        }
        // Any of several equal lines in a row may be new.
        assert_eq!(
            find_line(&[(3, 5), (4, 5)], &[(3, 5), (4, 5), (5, 5)], [1, 1]),
            None
        );
        // One run has no lines.
        assert_eq!(find_line(&[], &[(7, 5)], [1, 1]), Some(7));
        assert_eq!(find_line(&[(8, 5)], &[], [1, 1]), Some(8));
        assert_eq!(find_line(&[], &[(7, 5), (8, 5)], [1, 1]), None);
    }
}
