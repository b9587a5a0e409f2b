//! What a profile of samples looks like as a whole, named in one sentence with the figures it was judged by.
//!
//! Each stack is charged to what the program was occupied with in it, as [`cg_names::occupation`] tells. Where a quarter
//! of all cost went to one thing beside the program's own work, that is the pattern; else it is the hottest function, where
//! that has a quarter of the cost itself; else there is none.

use std::collections::HashMap;

use cg_document::number;
use cg_names::occupation::{Occupation, Role, Service, occupation};
use cg_names::whose::{Facts, whose_by};
use cg_stream::profile::{FrameKey, FunctionKey, Profile, Rows};
use cg_stream::record::{Count, RecordType, RunRecord};
use cg_stream::sorting::Order as _;

use crate::report::grouping::UNKNOWN;

/// From this share on, something is the pattern of a profile.
const PATTERN: f64 = 0.25;
/// Fewer samples are not judged: with a hundred, a quarter is known to within nine hundredths, at two standard errors.
const ENOUGH: Count = 100;

/// What a profile looks like.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// Fewer samples than tell anything.
    TooFew { samples: Count },
    /// Much of it is a service that the program's own code asks for.
    Service {
        service: Service,
        share: f64,
        /// The function that asks for most of it, and the share of that.
        most: Option<(String, f64)>,
    },
    /// Much of it is the machinery of frameworks.
    Framework {
        share: f64,
        /// The one with the greatest share, and others.
        names: Vec<&'static str>,
        own: f64,
    },
    /// One function has much of it.
    HotSpot {
        function: String,
        share: f64,
        /// The function after it.
        next: f64,
    },
    /// No function has much.
    Distributed {
        /// The share of the hottest function.
        most: f64,
        /// How many functions make half of the cost.
        half: usize,
    },
}

/// What stacks are charged to.
#[derive(Default)]
struct Charges {
    services: HashMap<Service, Count>,
    /// By the function that asked.
    asked: HashMap<(Service, FunctionKey), Count>,
    frameworks: HashMap<&'static str, Count>,
    own: Count,
    whole: Count,
}

impl Pattern {
    /// Judges the stacks of a profile, whose functions are known, by an event.
    pub(super) fn of(profile: &Profile, functions: &Rows, event: usize) -> Pattern {
        let charges = Charges::of(profile, event);
        if let Some(samples) = samples(profile).filter(|samples| *samples < ENOUGH) {
            return Pattern::TooFew { samples };
        }
        if charges.whole <= 0 {
            return Pattern::TooFew { samples: 0 };
        }
        let share = |count: Count| count as f64 / charges.whole as f64;
        let framework: Count = charges.frameworks.values().sum();
        let service = charges.services.iter().max_by_key(|(service, count)| {
            // Of equal ones the first in the order of the services.
            (**count, std::cmp::Reverse(**service))
        });
        let (service, asked) = match service {
            Some((service, count)) => (Some(*service), *count),
            None => (None, 0),
        };
        if share(framework.max(asked)) >= PATTERN {
            return match service.filter(|_| asked >= framework) {
                Some(service) => Pattern::Service {
                    service,
                    share: share(asked),
                    most: charges
                        .most_asked(profile, service)
                        .map(|(name, count)| (name, share(count))),
                },
                None => Pattern::Framework {
                    share: share(framework),
                    names: charges.framework_names(),
                    own: share(charges.own),
                },
            };
        }
        let mut hottest: Vec<(Count, usize)> = (0..functions.len())
            .map(|row| (functions.count(row, event), row))
            .collect();
        hottest.order_by_key(|(cost, row)| {
            let function = functions.key(*row).function;
            (std::cmp::Reverse(*cost), profile.text(function.name))
        });
        let most = hottest.first().map_or(0.0, |(cost, _)| share(*cost));
        if most >= PATTERN {
            return Pattern::HotSpot {
                function: shown(profile, functions.key(hottest[0].1).function),
                share: most,
                next: hottest.get(1).map_or(0.0, |(cost, _)| share(*cost)),
            };
        }
        let mut sum = 0;
        let until_half = hottest.iter().take_while(|(cost, _)| {
            let is_below = sum * 2 < charges.whole;
            sum += cost;
            is_below
        });
        Pattern::Distributed {
            most,
            half: until_half.count(),
        }
    }

    /// The sentence, with the event that was judged.
    pub(super) fn sentence(&self, event: &str) -> String {
        let percent = |share: &f64| number::percent(share * 100.0);
        match self {
            Pattern::TooFew { samples } => {
                format!("pattern: not judged, there are too few samples ({samples})")
            }
            Pattern::Service {
                service,
                share,
                most,
            } => {
                let (title, verb) = match service {
                    Service::Locking => ("lock waiting", "waiting for locks"),
                    Service::Allocation => ("allocation", "allocating and freeing memory"),
                    Service::Copying => ("copying", "copying memory"),
                };
                let most = most.as_ref().map_or_else(String::new, |(name, of_it)| {
                    // Most is more than half.
                    let part = match *of_it * 2.0 > *share {
                        true => "most of it",
                        false => "the largest part of it",
                    };
                    format!(", {part}, {}, for {name}", percent(of_it))
                });
                format!(
                    "pattern: {title} ({} of {event} went into {verb}{most})",
                    percent(share)
                )
            }
            Pattern::Framework { share, names, own } => format!(
                "pattern: framework overhead ({} of {event} went into {}, {} into the program's own code)",
                percent(share),
                names.join(", "),
                percent(own)
            ),
            Pattern::HotSpot {
                function,
                share,
                next,
            } => format!(
                "pattern: a single hot spot ({} of {event} went into {function} itself, {} into the next function)",
                percent(share),
                percent(next)
            ),
            Pattern::Distributed { most, half } => format!(
                "pattern: distributed cost (no function has more than {} of {event} itself, the first {half} make half of it)",
                percent(most)
            ),
        }
    }
}

impl Charges {
    fn of(profile: &Profile, event: usize) -> Charges {
        let stacks = profile.table(RecordType::Stack);
        let mut charges = Charges::default();
        let mut known: HashMap<(FunctionKey, bool), (Facts, Role)> = HashMap::new();
        for row in 0..stacks.len() {
            let cost = stacks.count(row, event);
            let stack = stacks.key(row).stack;
            let frames = profile.stacks().frames_of(stack);
            let told: Vec<(Facts, Role)> = frames
                .iter()
                .map(|frame| {
                    *known
                        .entry((frame.function, frame.marks.kernel))
                        .or_insert_with(|| told(profile, frame))
                })
                .collect();
            let facts: Vec<Facts> = told.iter().map(|(facts, _)| *facts).collect();
            let whose = whose_by(&facts);
            let (occupation, spent_for) =
                occupation(frames.len(), |position| (whose[position], told[position].1));
            charges.whole += cost;
            match occupation {
                Occupation::Own => charges.own += cost,
                Occupation::Framework(name) => *charges.frameworks.entry(name).or_default() += cost,
                Occupation::Service(service) => {
                    *charges.services.entry(service).or_default() += cost;
                    if let Some(frame) = spent_for.and_then(|position| frames.get(position)) {
                        *charges.asked.entry((service, frame.function)).or_default() += cost;
                    }
                }
                Occupation::Libraries => {}
            }
        }
        charges
    }

    /// The function that asked for most of a service.
    fn most_asked(&self, profile: &Profile, service: Service) -> Option<(String, Count)> {
        let asked = self.asked.iter().filter(|((of, _), _)| *of == service);
        asked
            .map(|((_, function), count)| (shown(profile, *function), *count))
            .max_by(|(a, a_count), (b, b_count)| a_count.cmp(b_count).then_with(|| b.cmp(a)))
    }

    /// The frameworks, the greatest share first.
    fn framework_names(&self) -> Vec<&'static str> {
        let mut names: Vec<(&str, Count)> = self
            .frameworks
            .iter()
            .map(|(name, count)| (*name, *count))
            .collect();
        names.order_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
        names.into_iter().map(|(name, _)| name).collect()
    }
}

/// How many samples were read, where they are what was counted.
fn samples(profile: &Profile) -> Option<Count> {
    let event = profile.event("samples")?;
    let is_scaled = |run: &RunRecord| run.sampling.units.contains_key("samples");
    if profile.runs().iter().any(is_scaled) {
        return None;
    }
    let stacks = profile.table(RecordType::Stack);
    let counts = (0..stacks.len()).map(|row| stacks.count(row, event));
    Some(counts.sum())
}

/// What a frame tells of whose code it is and what it does.
fn told(profile: &Profile, frame: &FrameKey) -> (Facts, Role) {
    let function = frame.function;
    let facts = Facts::of(&profile.names().frame(frame, None));
    let text = |symbol| profile.text(symbol).unwrap_or_default();
    (facts, Role::of(text(function.name), text(function.obj)))
}

/// What a function is called in a sentence.
fn shown(profile: &Profile, function: FunctionKey) -> String {
    let mut names = [function.name, function.obj, function.file].into_iter();
    let known = names.find_map(|symbol| profile.text(symbol));
    known.unwrap_or(UNKNOWN).to_owned()
}

#[cfg(test)]
mod tests;
