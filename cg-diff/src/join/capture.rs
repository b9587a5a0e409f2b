//! Joins functions by what a regex captures of their names.

use cg_names::rules::MatchedRules;
use regex::Regex;

use super::Joiner;
use super::buckets::Buckets;
use super::functions::Certainty;

impl Joiner<'_> {
    /// Functions of whose names the regex captures the same text.
    pub(super) fn join_captured(&mut self, capture: &Regex) {
        let mut buckets = Buckets::default();
        for class in self.open() {
            let Some(name) = self.functions.key(class).name else {
                continue;
            };
            let Some(captures) = capture.captures(self.names.text(name)) else {
                continue;
            };
            let groups: Vec<Option<String>> = captures
                .iter()
                .skip(usize::from(captures.len() > 1))
                .map(|group| group.map(|group| group.as_str().to_owned()))
                .collect();
            buckets.add(groups, class);
        }
        for bucket in buckets.into_vec() {
            if self.gains(&bucket) {
                for class in &bucket[1..] {
                    self.functions
                        .unite(bucket[0], *class, MatchedRules::CAPTURE, Certainty::Told);
                }
            }
        }
    }
}
