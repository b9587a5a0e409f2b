//! What is said of limits that judged nothing.

use std::collections::BTreeSet;

use crate::limits::{Limit, Limited, Scope};

/// How far a limit could be judged; over several comparisons, the most that one of them came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judged {
    /// No run counts what is limited.
    #[default]
    NotCounted,
    /// It is counted, and of no function that the limit is on.
    Unmatched,
    Fully,
}

impl Limit {
    /// The message for a limit on what no run counts; `events` are those that runs count.
    pub(crate) fn not_counted(&self, events: &BTreeSet<String>) -> String {
        let wanted = match &self.figure {
            Limited::Cost(event) | Limited::Incl(event) => event.as_str(),
            Limited::Calls => "calls",
        };
        let is_known = events.contains(wanted);
        let why = match &self.figure {
            Limited::Cost(_) | Limited::Incl(_) if !is_known => {
                return self.without_event(wanted, events);
            }
            Limited::Cost(_) | Limited::Incl(_) => {
                format!(
                    "no run tells inclusive cost of {wanted}; profiles of callgrind do, and stacks by function"
                )
            }
            Limited::Calls => "no run counts calls; profiles of callgrind do".to_owned(),
        };
        format!("{}: not judged, {why}", self.text())
    }

    /// The message for a limit on functions that are in none of the runs.
    pub(crate) fn unmatched(&self) -> String {
        let (Scope::Functions(regex) | Scope::Worst(Some(regex))) = &self.scope else {
            return format!(
                "{}: not judged, the runs have no functions; --allow-unmatched accepts that",
                self.text()
            );
        };
        format!(
            "{}: not judged, \"{regex}\" matches no function of any run; --allow-unmatched accepts that",
            self.text()
        )
    }

    /// The message for a limit on an event that no run counts.
    fn without_event(&self, wanted: &str, events: &BTreeSet<String>) -> String {
        let list: Vec<&str> = events.iter().map(String::as_str).collect();
        let mut sentence = format!(
            "{}: not judged, no run counts {wanted}; the events are {}",
            self.text(),
            if list.is_empty() {
                "none".to_owned()
            } else {
                list.join(" ")
            }
        );
        let alike = |event: &&&str| {
            let (event, wanted) = (event.to_lowercase(), wanted.to_lowercase());
            strsim::damerau_levenshtein(&event, &wanted)
        };
        let nearest = list.iter().min_by_key(alike);
        if let Some(nearest) = nearest.filter(|event| alike(event) * 2 <= wanted.len().max(2)) {
            sentence += &format!("; did you mean {nearest}?");
        }
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_no_event_names_those_there_are() {
        let events = BTreeSet::from(["Ir", "Dr", "total_bytes"].map(str::to_owned));
        let says = |limit: &str| limit.parse::<Limit>().unwrap().not_counted(&events);
        let list = "the events are Dr Ir total_bytes";
        assert_eq!(
            says("ir>+5%"),
            format!("ir>+5%: not judged, no run counts ir; {list}; did you mean Ir?")
        );
        assert_eq!(
            says("incl.total_byts[f]>+5%"),
            format!(
                "incl.total_byts[f]>+5%: not judged, no run counts total_byts; {list}; did you mean total_bytes?"
            )
        );
        assert_eq!(
            says("wall_clock>+5%"),
            format!("wall_clock>+5%: not judged, no run counts wall_clock; {list}")
        );
    }
}
