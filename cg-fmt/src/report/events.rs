//! The choice of the events to show, their audience, and the base of their percentages.

use cg_document::Audience;
use cg_profile::{Profile, Rows};
use cg_stream::record::{Count, RecordType, RunRecord, add_counts};

use crate::options::{Events, Options, PercentOf, RatioColumn};

/// The maximum number of events for which people see all. More events make lines too long to read.
const FEW_EVENTS: usize = 3;

/// The events that people see for program points of DHAT and heaptrack.
const EVENTS_OF_PROGRAM_POINTS: [&str; 9] = [
    "total_bytes",
    "total_blocks",
    "gmax_bytes",
    "end_bytes",
    "allocations",
    "temporary",
    "peak_bytes",
    "leaked_bytes",
    "suppressed_bytes",
];

/// The events of a listing, with the base of their percentages.
pub(crate) struct EventColumns {
    pub(crate) events: Vec<EventColumn>,
    pub(crate) ratios: Vec<RatioColumn>,
    /// The name of the row of totals.
    pub(crate) total_name: &'static str,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct EventColumn {
    /// Its position in the profile's events.
    pub(crate) index: usize,
    pub(crate) name: String,
    /// The base of its percentages.
    pub(crate) whole: Count,
    pub(crate) audience: Audience,
    /// The audience of its inclusive cost. If there are many events, people see it for the first event and the event to sort
    /// by.
    pub(crate) incl_audience: Audience,
}

impl EventColumns {
    /// Returns the events of a record type, the chosen ones first.
    ///
    /// # Errors
    /// Returns an error if a requested event does not exist.
    pub(crate) fn choose(
        profile: &Profile,
        kind: RecordType,
        options: &Options,
    ) -> anyhow::Result<EventColumns> {
        let indexes = find_events(profile, kind);
        let names: Vec<&str> = indexes
            .iter()
            .map(|index| profile.events()[*index].as_str())
            .collect();
        let preferred: &[&str] = match kind {
            // Program points may be shown by function.
            RecordType::ProgramPoint | RecordType::Fn => &EVENTS_OF_PROGRAM_POINTS,
            _ => &[],
        };
        let wholes = wholes(profile, kind, options.percent_of);
        let whole = |position: usize| wholes.get(indexes[position]).copied().unwrap_or(0);
        let counted = || (0..names.len()).filter(|position| whole(*position) != 0);
        let lost = counted().find(|position| counts_lost_memory(profile, names[*position]));
        let default = default_event(profile, &names).filter(|position| whole(*position) != 0);
        let counted = default.or(lost).or_else(|| counted().next());
        let (mut chosen, mut others) =
            choose_events(&names, counted.unwrap_or(0), preferred, options)?;
        if !matches!(options.events, Events::Named(_)) && default_event(profile, &names).is_some() {
            chosen.sort_by_key(|position| Some(*position) != counted);
        }
        if options.events == Events::Fitting && options.format.is_for_people() {
            let sorted_by = options.sort.as_deref().unwrap_or_default();
            let repeated = repeated_events(profile.table(kind), &names, &indexes, &chosen);
            let is_repeated = |position: &usize| {
                repeated.contains(position) && !mentions_event(sorted_by, names[*position])
            };
            others.extend(chosen.iter().copied().filter(is_repeated));
            chosen.retain(|position| !is_repeated(position));
        }
        let sorted_by = options.sort.as_deref().unwrap_or_default();
        let has_many = options.events == Events::Fitting && chosen.len() > FEW_EVENTS;
        let column = |position: &usize, audience| EventColumn {
            index: indexes[*position],
            name: names[*position].to_owned(),
            whole: whole(*position),
            audience,
            incl_audience: match audience {
                Audience::All
                    if has_many
                        && Some(*position) != counted
                        && !mentions_event(sorted_by, names[*position]) =>
                {
                    Audience::Programs
                }
                audience => audience,
            },
        };
        let rest = options.events.audience_of_others();
        Ok(EventColumns {
            events: chosen
                .iter()
                .map(|position| column(position, Audience::All))
                .chain(others.iter().map(|position| column(position, rest)))
                .collect(),
            ratios: options.ratios.clone(),
            total_name: match options.percent_of {
                PercentOf::Shown => "TOTALS OF ALL ROWS",
                PercentOf::Total if has_several_benchmarks(profile) => "SUM OF ALL BENCHMARKS",
                PercentOf::Total => "PROGRAM TOTALS",
            },
        })
    }

    /// Returns the events that people do not see because there are too many.
    pub(crate) fn hidden(&self) -> Vec<&str> {
        let hidden = self.events.iter();
        hidden
            .filter(|event| event.audience == Audience::Programs)
            .map(|event| event.name.as_str())
            .collect()
    }

    /// Returns true if any of these costs has a count for an event that people see.
    pub(crate) fn has_shown<'c>(&self, mut costs: impl Iterator<Item = &'c [Count]>) -> bool {
        let events = self.events.iter();
        let shown: Vec<usize> = events
            .filter(|event| event.audience == Audience::All)
            .map(|event| event.index)
            .collect();
        let count = |cost: &[Count], event: usize| cost.get(event).copied().unwrap_or(0);
        costs.any(|cost| shown.iter().any(|event| count(cost, *event) != 0))
    }

    /// Returns the event to sort and measure rows by: the first event whose total is not 0.
    pub(crate) fn first(&self) -> Option<&EventColumn> {
        let counted = self.events.iter().find(|event| event.whole != 0);
        counted.or(self.events.first())
    }

    /// Returns the name of the event that `self` and `incl` mean.
    pub(crate) fn first_name(&self) -> Option<&str> {
        self.first().map(|event| event.name.as_str())
    }

    /// Returns the position of the first event in the profile's events; 0 if there are no events.
    pub(crate) fn first_index(&self) -> usize {
        self.first().map_or(0, |event| event.index)
    }
}

/// Returns true for the event of an xtree of leaks that counts definitely lost memory. Other events of such a profile precede
/// it, but nobody has to fix reachable memory. All events must be those of an xtree, in all runs: one name does not
/// describe a sum with other profiles.
fn counts_lost_memory(profile: &Profile, event: &str) -> bool {
    let is_lost = |name: &String| name.to_ascii_lowercase().starts_with("definitely lost");
    !profile.runs().is_empty()
        && profile.runs().iter().all(|run| {
            let long_names = &run.costs.event_names;
            let are_named = profile
                .events()
                .iter()
                .all(|event| long_names.contains_key(event));
            are_named && long_names.get(event).is_some_and(is_lost)
        })
}

/// Returns the chosen events that only repeat an earlier event: all their counts are equal. `samples` repeats another event
/// if all shares are equal, because samples at a steady rate have the shares of the event that triggers them.
fn repeated_events(rows: &Rows, names: &[&str], indexes: &[usize], chosen: &[usize]) -> Vec<usize> {
    let count = |row: usize, position: usize| rows.count(row, indexes[position]);
    let total = |position: usize| {
        (0..rows.len())
            .map(|row| count(row, position))
            .sum::<Count>()
    };
    let totals: Vec<Count> = chosen.iter().map(|position| total(*position)).collect();
    let repeats = |a: usize, b: usize| {
        let counts_samples = [a, b].iter().any(|at| names[chosen[*at]] == "samples");
        let is_alike = totals[a] == totals[b] || counts_samples && totals[a] != 0 && totals[b] != 0;
        // Totals fit in 64 bits, so products fit.
        is_alike
            && (0..rows.len()).all(|row| {
                count(row, chosen[a]).checked_mul(totals[b])
                    == count(row, chosen[b]).checked_mul(totals[a])
            })
    };
    let later = 1..chosen.len();
    let repeated = later.filter(|b| (0..*b).any(|a| repeats(a, *b)));
    repeated.map(|b| chosen[b]).collect()
}

impl Events {
    /// Returns the audience of the other events: nobody if events are chosen by name, else programs.
    pub(crate) fn audience_of_others(&self) -> Audience {
        match self {
            Events::Named(_) => Audience::Nobody,
            Events::Fitting | Events::All => Audience::Programs,
        }
    }
}

/// Returns the positions of the events to show, and of the other events. If there are too many for people, they see the
/// event that rows are ranked by, the preferred events, and the event to sort by.
pub(crate) fn choose_events(
    names: &[&str],
    ranking: usize,
    preferred: &[&str],
    options: &Options,
) -> anyhow::Result<(Vec<usize>, Vec<usize>)> {
    let all = 0..names.len();
    let chosen: Vec<usize> = match &options.events {
        Events::All => all.clone().collect(),
        Events::Fitting if names.len() <= FEW_EVENTS => all.clone().collect(),
        Events::Fitting => {
            let sorted_by = options.sort.as_deref().unwrap_or_default();
            all.clone()
                .filter(|position| {
                    let name = names[*position];
                    *position == ranking
                        || preferred.contains(&name)
                        || mentions_event(sorted_by, name)
                })
                .collect()
        }
        Events::Named(wanted) => {
            let mut chosen = Vec::new();
            for event in wanted {
                let position = names.iter().position(|name| name == event);
                let position = position.ok_or_else(|| {
                    anyhow::anyhow!("there is no event {event}; there are {}", names.join(", "))
                })?;
                if !chosen.contains(&position) {
                    chosen.push(position);
                }
            }
            chosen
        }
    };
    let others = all.filter(|position| !chosen.contains(position)).collect();
    Ok((chosen, others))
}

/// Returns the position of the event that the writer of a pprof profile chose, or else of the last event, as in
/// `go tool pprof`. Returns `None` for other formats.
fn default_event(profile: &Profile, names: &[&str]) -> Option<usize> {
    let is_pprof = |run: &RunRecord| run.tool.as_deref() == Some("pprof");
    let run = profile.runs().first().filter(|run| is_pprof(run))?;
    let chosen = run.sampling.labels.get("default_sample_type");
    let named = chosen.and_then(|chosen| names.iter().position(|name| name == chosen));
    named.or(names.len().checked_sub(1))
}

/// Returns true if a column belongs to an event: `Ir`, `incl.Ir`, `Ir%`, `Ir.delta`.
fn mentions_event(column: &str, event: &str) -> bool {
    let column = column.strip_prefix("incl.").unwrap_or(column);
    column
        .strip_prefix(event)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['%', '.']))
}

/// Returns the positions of the events that records of a type have. A stream of findings has events for errors and for
/// leaks.
pub(crate) fn find_events(profile: &Profile, kind: RecordType) -> Vec<usize> {
    (0..profile.events().len())
        .filter(|index| has_event(kind, &profile.events()[*index]))
        .collect()
}

/// Returns true if records of a type can have an event.
pub(crate) fn has_event(kind: RecordType, event: &str) -> bool {
    match kind {
        RecordType::Leak => matches!(event, "bytes" | "blocks"),
        RecordType::Error => event == "count",
        RecordType::Heap => event == "bytes",
        // `bytes` is the event of heaptrack's snapshots, which program points do not have.
        RecordType::ProgramPoint => event != "bytes",
        _ => true,
    }
}

/// Returns true if the label `bench` of the runs varies.
fn has_several_benchmarks(profile: &Profile) -> bool {
    let mut benchmarks = profile
        .runs()
        .iter()
        .map(|run| run.sampling.labels.get("bench"));
    let first = benchmarks.next();
    benchmarks.any(|bench| Some(bench) != first)
}

/// Returns the base of the percentages of each event.
fn wholes(profile: &Profile, kind: RecordType, percent_of: PercentOf) -> Vec<Count> {
    let mut wholes = match percent_of {
        PercentOf::Shown => Vec::new(),
        PercentOf::Total => profile.total().to_vec(),
    };
    wholes.resize(profile.events().len(), 0);
    // A total of 0 means that there is no total, as in fragments and in some streams of findings. Use the sum instead.
    if wholes.contains(&0) {
        let (rows, mut sums) = (profile.table(kind), vec![0; wholes.len()]);
        (0..rows.len()).for_each(|row| add_counts(&mut sums, rows.cost(row)));
        for (whole, sum) in wholes
            .iter_mut()
            .zip(sums)
            .filter(|(whole, _)| **whole == 0)
        {
            *whole = sum;
        }
    }
    wholes
}
