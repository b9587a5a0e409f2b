//! Functions whose code was inlined in one run and out of line in another.

use cg_stream::record::{Count, RecordType};

use crate::figures::Figure;
use crate::join::Joined;
use crate::runs::Runs;

/// The self cost of a function, split by where its code is; one figure per event.
pub(crate) struct Inlining {
    /// In the function's own, out-of-line code.
    pub(crate) out_of_line: Vec<Figure>,
    /// In code that was inlined into other functions.
    pub(crate) gone_inline: Vec<Figure>,
}

/// The split of a row's cost, if cost moved between out-of-line and inlined code from one run to another. Growth of
/// both parts is no such move.
pub(crate) fn of_row(runs: &Runs, joined: &Joined, row: usize) -> Option<Inlining> {
    if runs.out_of_line.is_empty() || joined.rows[row].of != RecordType::Fn {
        return None;
    }
    let figures = |is_own: bool| -> Vec<Figure> {
        let of_event = |event: usize| {
            Figure::of_profiles(runs, |profile| {
                let position = runs.position(profile, event)?;
                let at = |counts: &[Count]| counts.get(position).copied().unwrap_or(0);
                let table = runs.profiles[profile].table(RecordType::Fn);
                let of_record = |record: &u32| -> Count {
                    let record = *record as usize;
                    let own = at(&runs.out_of_line[profile][record]);
                    if is_own {
                        own
                    } else {
                        at(table.cost(record)) - own
                    }
                };
                Some(joined.records(row, profile).iter().map(of_record).sum())
            })
        };
        (0..runs.events.len()).map(of_event).collect()
    };
    let inlining = Inlining {
        out_of_line: figures(true),
        gone_inline: figures(false),
    };
    inlining.has_changed().then_some(inlining)
}

impl Inlining {
    /// True if, by the first event that is counted at all, cost moved from one part to the other: one lost and the
    /// other gained more than a tenth of the cost.
    fn has_changed(&self) -> bool {
        let entries = |figures: &[Figure], event: usize| -> Vec<Count> {
            figures[event]
                .entries
                .iter()
                .map(|entry| entry.unwrap_or(0))
                .collect()
        };
        let Some(event) = (0..self.out_of_line.len()).find(|event| {
            let counted = [&self.out_of_line, &self.gone_inline];
            counted
                .iter()
                .any(|figures| entries(figures, *event).iter().any(|count| *count != 0))
        }) else {
            return false;
        };
        let own = entries(&self.out_of_line, event);
        let gone = entries(&self.gone_inline, event);
        let moved = |a: usize, b: usize| {
            let (left, came) = (own[a] - own[b], gone[b] - gone[a]);
            let least = (own[a] + gone[a]).max(own[b] + gone[b]) / 10;
            left > 0 && came > 0 && left.min(came) > least
        };
        let last = own.len() - 1;
        moved(0, last) || moved(last, 0)
    }
}
