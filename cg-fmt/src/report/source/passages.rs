//! The functions that own the lines of a file, if the profile has names of inlined functions.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use cg_document::{NAMELESS, number};
use cg_names::structure::ParsedName;
use cg_profile::Profile;
use cg_stream::record::{Count, add_counts_growing};

use super::costs::{FileLines, LineOwner, Owners};

/// Consecutive lines with code of the same function. Lines without an owner do not end a passage.
///
/// A function that is instantiated for several types, or mangled in two ways, has several full names and one source. So two
/// functions are the same here if their short names are equal.
#[derive(Default)]
pub(super) struct Passage<'a> {
    owners: Owners<'a>,
    own_names: BTreeSet<OwnName>,
}

/// A function's name without path and generic arguments, and true for a closure in the function of that name.
type OwnName = (BString, bool);

impl<'a> Passage<'a> {
    /// Returns the passages among the wanted lines of a file, by their first lines. Returns none if the file has no inlined
    /// code.
    pub(super) fn find_all(
        lines: &'a FileLines<'_>,
        is_wanted: impl Fn(u64) -> bool,
    ) -> BTreeMap<u64, Passage<'a>> {
        let mut passages: BTreeMap<u64, Passage<'_>> = BTreeMap::new();
        let wanted = lines.iter().filter(|(line, _)| is_wanted(**line));
        for (line, source) in wanted.filter(|(_, source)| !source.owners.is_empty()) {
            let own_names: BTreeSet<OwnName> =
                source.owners.keys().map(|name| own_name(name)).collect();
            let last = passages.last_entry().map(|entry| entry.into_mut());
            match last.filter(|last| !last.own_names.is_disjoint(&own_names)) {
                Some(last) => last.extend(&source.owners, own_names),
                None => passages
                    .entry(*line)
                    .or_default()
                    .extend(&source.owners, own_names),
            }
        }
        let is_inlined = |passage: &Passage<'_>| {
            let mut owners = passage.owners.values();
            owners.any(|owner| !owner.hosts.is_empty())
        };
        if !passages.values().any(is_inlined) {
            passages.clear();
        }
        passages
    }

    fn extend(&mut self, owners: &Owners<'a>, own_names: BTreeSet<OwnName>) {
        for (name, more) in owners {
            let owner = self.owners.entry(name).or_default();
            add_counts_growing(&mut owner.cost, &more.cost);
            owner.hosts.extend(&more.hosts);
            owner.is_out_of_line |= more.is_out_of_line;
        }
        self.own_names.extend(own_names);
    }

    /// Returns the sum of the owners' costs.
    pub(super) fn cost(&self) -> Vec<Count> {
        let mut sums = Vec::new();
        for owner in self.owners.values() {
            add_counts_growing(&mut sums, &owner.cost);
        }
        sums
    }

    /// Returns a heading such as `work, inlined into 3 functions`. If the passage has several functions, the heading names
    /// the one with the highest cost by `event`.
    pub(super) fn heading(&self, profile: &Profile, event: usize) -> String {
        let cost = |owner: &LineOwner| owner.cost.get(event).copied().unwrap_or(0);
        // If costs are equal, `max_by_key` returns the last, which is the first by name in reverse order.
        let first = self
            .owners
            .iter()
            .rev()
            .max_by_key(|(_, owner)| cost(owner));
        let mut heading = first.map_or(NAMELESS, |(name, _)| name).to_owned();
        if self.owners.len() > 1 {
            heading.push_str(&format!(" and {} more", self.owners.len() - 1));
        }
        let hosts: BTreeSet<_> = self
            .owners
            .values()
            .flat_map(|owner| &owner.hosts)
            .collect();
        let into = match hosts.first() {
            None => return heading,
            Some((host, _)) if hosts.len() == 1 => {
                profile.text(*host).unwrap_or(NAMELESS).to_owned()
            }
            Some(_) => number::plural(hosts.len() as Count, "function", "functions"),
        };
        let is_out_of_line = self.owners.values().any(|owner| owner.is_out_of_line);
        let also = if is_out_of_line {
            "out of line and "
        } else {
            ""
        };
        heading + ", " + also + "inlined into " + &into
    }
}

fn own_name(name: &str) -> OwnName {
    let short = ParsedName::new(name.as_bytes()).short_name();
    (short, name.ends_with('}'))
}

#[cfg(test)]
mod tests {
    use cg_profile::Symbols;

    use super::super::costs::SourceLine;
    use super::*;

    /// A function, its cost, and the number of functions into which it is inlined.
    type OwnerCase<'a> = (&'a str, Count, u32);

    /// Returns lines with these owners.
    fn lines<'a>(cases: &[(u64, &[OwnerCase<'a>])]) -> FileLines<'a> {
        let mut names = Symbols::default();
        let mut lines = FileLines::new();
        for (line, owners) in cases {
            let source: &mut SourceLine<'a> = lines.entry(*line).or_default();
            for (name, cost, hosts) in *owners {
                let mut host = |number| names.intern(&format!("host{number}")).ok();
                let owner = LineOwner {
                    cost: vec![*cost],
                    hosts: (0..*hosts).map(|number| (host(number), None)).collect(),
                    is_out_of_line: *hosts == 0,
                };
                source.owners.insert(name, owner);
            }
        }
        lines
    }

    fn list_passages(lines: &FileLines<'_>) -> Vec<(u64, String, Count)> {
        let profile = Profile::default();
        Passage::find_all(lines, |line| line > 0)
            .into_iter()
            .map(|(line, passage)| (line, passage.heading(&profile, 0), passage.cost()[0]))
            .collect()
    }

    #[test]
    fn consecutive_lines_of_a_function_are_one_passage() {
        let lines = lines(&[
            (0, &[("lost", 9, 2)]),
            (3, &[("push", 5, 2)]),
            (4, &[]),
            (7, &[("push", 6, 3)]),
            (8, &[("main", 1, 0)]),
            (9, &[("push", 2, 2)]),
        ]);
        let expected = [
            (3, "push, inlined into 3 functions", 11),
            (8, "main", 1),
            (9, "push, inlined into 2 functions", 2),
        ];
        assert_eq!(
            list_passages(&lines),
            expected.map(|(line, text, cost)| (line, text.to_owned(), cost))
        );
    }

    #[test]
    fn instances_of_a_function_share_a_passage_but_not_with_its_closure() {
        let lines = lines(&[
            (1, &[("alloc::Vec<T>::push", 1, 2)]),
            (
                2,
                &[
                    ("alloc::Vec<T>::push", 1, 2),
                    ("<alloc::Vec<u8>>::push", 4, 0),
                ],
            ),
            (3, &[("<alloc::Vec<u8>>::push", 1, 0)]),
            (4, &[("alloc::Vec<T>::push::{closure#0}", 7, 2)]),
        ]);
        let expected = [
            (
                1,
                "<alloc::Vec<u8>>::push and 1 more, out of line and inlined into 2 functions",
                7,
            ),
            (
                4,
                "alloc::Vec<T>::push::{closure#0}, inlined into 2 functions",
                7,
            ),
        ];
        assert_eq!(
            list_passages(&lines),
            expected.map(|(line, text, cost)| (line, text.to_owned(), cost))
        );
    }

    #[test]
    fn a_file_without_inlined_code_has_no_passages() {
        assert_eq!(
            list_passages(&lines(&[(1, &[("main", 5, 0)]), (2, &[("f", 5, 0)])])),
            []
        );
    }
}
