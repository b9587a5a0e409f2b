//! The labels of threads and processes: their names, with their numbers if several have the same name.

use std::collections::{HashMap, HashSet};

use cg_profile::{Profile, Rows};

use crate::options::GroupBy;
use crate::report::grouping::UNKNOWN;

/// The name of a thread or process, its number, and the number of a thread's process, if known.
pub(super) type Origin<'a> = (Option<&'a str>, Option<u64>, Option<u64>);

/// The names that several threads or processes have.
#[derive(Default)]
pub(crate) struct Origins<'a> {
    shared: HashSet<&'a str>,
    /// Names and numbers that threads of several processes have.
    in_processes: HashSet<(&'a str, u64)>,
}

impl<'a> Origins<'a> {
    pub(crate) fn collect(profile: &'a Profile, rows: &'a Rows, by: GroupBy) -> Origins<'a> {
        let mut numbers: HashMap<&str, Option<u64>> = HashMap::new();
        let mut processes: HashMap<(&str, u64), Option<u64>> = HashMap::new();
        let mut origins = Origins::default();
        for row in 0..rows.len() {
            let (Some(name), number, process) = origin(profile, rows, row, by) else {
                continue;
            };
            if *numbers.entry(name).or_insert(number) != number {
                origins.shared.insert(name);
            }
            if let Some(number) = number
                && *processes.entry((name, number)).or_insert(process) != process
            {
                origins.in_processes.insert((name, number));
            }
        }
        origins
    }

    /// Returns the name of a row's thread or process, with its number if others have the same name. Without a name, returns
    /// the number.
    pub(crate) fn label(
        &self,
        profile: &Profile,
        rows: &Rows,
        row: usize,
        by: GroupBy,
    ) -> Option<String> {
        Some(match origin(profile, rows, row, by) {
            (Some(name), Some(number), Some(process))
                if self.in_processes.contains(&(name, number)) =>
            {
                format!("{name} ({process}/{number})")
            }
            (Some(name), Some(number), _) if self.shared.contains(name) => {
                format!("{name} ({number})")
            }
            (Some(name), ..) => name.to_owned(),
            (None, Some(number), _) => number.to_string(),
            (None, None, _) => return None,
        })
    }

    /// Returns the label, or the word for an unknown thread or process.
    pub(super) fn label_or_unknown(
        &self,
        profile: &Profile,
        rows: &Rows,
        row: usize,
        by: GroupBy,
    ) -> String {
        let label = self.label(profile, rows, row, by);
        label.unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

pub(super) fn origin<'a>(
    profile: &'a Profile,
    rows: &'a Rows,
    row: usize,
    by: GroupBy,
) -> Origin<'a> {
    let key = rows.key(row);
    let detail = rows.detail(row);
    let pid = detail.and_then(|detail| detail.pid);
    if by == GroupBy::Process {
        return (profile.text(key.process), pid, None);
    }
    let name = detail.and_then(|detail| detail.thread_name.as_deref());
    let number = key.tid.or(key.thread);
    (
        profile.text(key.thread_name).or(name),
        number.or_else(|| detail.and_then(|detail| detail.thread)),
        pid,
    )
}
