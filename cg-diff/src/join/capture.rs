//! Joins functions by the text that a regex captures in their names.

use cg_names::rules::MatchedRules;
use cg_profile::FunctionKey;
use regex::Regex;

use super::Joiner;
use super::functions::Certainty;

impl Joiner<'_> {
    /// Joins functions if the regex captures the same text in their names.
    pub(super) fn join_captured(&mut self, capture: &Regex) {
        let captured = |joiner: &mut Self, key: FunctionKey| {
            let captures = capture.captures(joiner.names.text(key.name?))?;
            let groups = captures.iter().skip(usize::from(captures.len() > 1));
            let texts = groups.map(|group| group.map(|group| group.as_str().to_owned()));
            Some(texts.collect::<Vec<Option<String>>>())
        };
        for bucket in self.open_by(captured) {
            for class in &bucket[1..] {
                self.functions
                    .unite(bucket[0], *class, MatchedRules::CAPTURE, Certainty::Certain);
            }
        }
    }
}
