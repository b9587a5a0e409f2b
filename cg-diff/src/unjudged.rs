//! Error messages for limits that did not apply to any figure.

use std::collections::BTreeSet;

use crate::limits::{Limit, Limited, Scope};

/// The extent to which a limit was judged; the best result if there are several comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judged {
    /// No run counts the limited figure.
    #[default]
    NotCounted,
    /// The figure is counted, but no function matches.
    Unmatched,
    Fully,
}

impl Limit {
    /// Returns the message for a limit on a figure that no run counts. `events` are the events that some run counts.
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
                    "no run has inclusive cost for {wanted}; use Callgrind profiles, or compare stacks with --by fn"
                )
            }
            Limited::Calls => "no run counts calls; use Callgrind profiles".to_owned(),
        };
        format!("{}: not judged, {why}", self.text())
    }

    /// Returns the message for a limit that matches no function of any run.
    pub(crate) fn unmatched(&self) -> String {
        let (Scope::Functions(regex) | Scope::Worst(Some(regex))) = &self.scope else {
            return format!(
                "{}: not judged, the runs have no functions; --allow-unmatched accepts this",
                self.text()
            );
        };
        format!(
            "{}: not judged, \"{regex}\" matches no function of any run; --allow-unmatched accepts this",
            self.text()
        )
    }

    /// Returns the message for a limit on an event that no run counts, with the event of the most similar name.
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
        let distance = |event: &&&str| {
            let (event, wanted) = (event.to_lowercase(), wanted.to_lowercase());
            strsim::damerau_levenshtein(&event, &wanted)
        };
        let nearest = list.iter().min_by_key(distance);
        if let Some(nearest) = nearest.filter(|event| distance(event) * 2 <= wanted.len().max(2)) {
            sentence += &format!("; did you mean {nearest}?");
        }
        sentence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_on_an_unknown_event_lists_the_known_events() {
        let events = BTreeSet::from(["Ir", "Dr", "total_bytes"].map(str::to_owned));
        let message = |limit: &str| limit.parse::<Limit>().unwrap().not_counted(&events);
        let list = "the events are Dr Ir total_bytes";
        assert_eq!(
            message("ir>+5%"),
            format!("ir>+5%: not judged, no run counts ir; {list}; did you mean Ir?")
        );
        assert_eq!(
            message("incl.total_byts[f]>+5%"),
            format!(
                "incl.total_byts[f]>+5%: not judged, no run counts total_byts; {list}; did you mean total_bytes?"
            )
        );
        assert_eq!(
            message("wall_clock>+5%"),
            format!("wall_clock>+5%: not judged, no run counts wall_clock; {list}")
        );
    }
}
