//! The pattern of a profile of samples, in one sentence with the figures behind the judgement.
//!
//! Each stack counts for one occupation of the program, as determined by [`cg_names::occupation`]. If a quarter of all cost
//! went into one occupation besides the program's own work, this occupation is the pattern. Otherwise the hottest function
//! is the pattern if its self cost is a quarter of the total. Otherwise the cost is distributed.

use std::cell::RefCell;
use std::collections::HashMap;

use cg_collections::intern::Made;
use cg_collections::sorting::Order as _;
use cg_document::number;
use cg_names::code_origin::{Facts, classify_frame};
use cg_names::occupation::{Occupation, Role, Service, find_occupation};
use cg_profile::{FrameKey, FunctionKey, Profile, Rows, StackFrames};
use cg_stream::record::{Count, RecordType, RunRecord};

use crate::report::grouping::UNKNOWN;

/// The minimum share of the cost for a pattern.
const PATTERN: f64 = 0.25;
/// The minimum number of samples for a judgement. With 100 samples, a share of a quarter has an error of 0.09 at two
/// standard errors.
const ENOUGH: Count = 100;

/// The pattern of a profile.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Pattern {
    /// Too few samples for a judgement.
    TooFew { samples: Count },
    /// Much of the cost is in a service that the program's own code requests.
    Service {
        service: Service,
        share: f64,
        /// The function that requests most of the service, and its share.
        most: Option<(String, f64)>,
    },
    /// Much of the cost is in frameworks.
    Framework {
        share: f64,
        /// The frameworks, the greatest share first.
        names: Vec<&'static str>,
        own: f64,
    },
    /// One function has at least a quarter of the cost.
    HotSpot {
        function: String,
        share: f64,
        /// The share of the next function.
        next: f64,
    },
    /// No function has a quarter of the cost.
    Distributed {
        /// The share of the hottest function.
        most: f64,
        /// The number of functions that have half of the cost.
        half: usize,
    },
}

/// The costs of stacks by occupation.
#[derive(Default)]
struct Charges {
    services: HashMap<Service, Count>,
    /// The cost of each service by the function that requests it.
    requested: HashMap<(Service, FunctionKey), Count>,
    frameworks: HashMap<&'static str, Count>,
    own: Count,
    whole: Count,
}

impl Pattern {
    /// Judges the stacks of a profile by an event. `functions` are the functions of the stacks.
    pub(super) fn judge(profile: &Profile, functions: &Rows, event: usize) -> Pattern {
        if let Some(samples) = samples(profile).filter(|samples| *samples < ENOUGH) {
            return Pattern::TooFew { samples };
        }
        let charges = Charges::collect(profile, event);
        if charges.whole <= 0 {
            return Pattern::TooFew { samples: 0 };
        }
        let share = |count: Count| count as f64 / charges.whole as f64;
        let framework: Count = charges.frameworks.values().sum();
        let service = charges.services.iter().max_by_key(|(service, count)| {
            // If several are equal, choose the first in the order of the services.
            (**count, std::cmp::Reverse(**service))
        });
        let (service, requested) = match service {
            Some((service, count)) => (Some(*service), *count),
            None => (None, 0),
        };
        if share(framework.max(requested)) >= PATTERN {
            return match service.filter(|_| requested >= framework) {
                Some(service) => Pattern::Service {
                    service,
                    share: share(requested),
                    most: charges
                        .top_requester(profile, service)
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
            let function = functions.function(*row);
            (std::cmp::Reverse(*cost), profile.text(function.name))
        });
        let most = hottest.first().map_or(0.0, |(cost, _)| share(*cost));
        if most >= PATTERN {
            return Pattern::HotSpot {
                function: shown(profile, functions.function(hottest[0].1)),
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

    /// Returns the sentence, with the event of the judgement.
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
                let most = most
                    .as_ref()
                    .map_or_else(String::new, |(name, part_share)| {
                        // "Most of it" requires more than half.
                        let part = match *part_share * 2.0 > *share {
                            true => "most of it",
                            false => "the largest part of it",
                        };
                        format!(", {part}, {}, for {name}", percent(part_share))
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
    fn collect(profile: &Profile, event: usize) -> Charges {
        let stacks = profile.table(RecordType::Stack);
        let mut charges = Charges::default();
        let known = KnownFrames::new(profile);
        for row in 0..stacks.len() {
            let cost = stacks.count(row, event);
            let frames = profile.stacks().frames_of(stacks.key(row).stack);
            // Mostly, the innermost frames decide, so only these are classified.
            let facts_at = |position| known.get(frames, position).map(|(facts, _)| facts);
            let (occupation, spent_for) = find_occupation(frames.len(), |position| {
                let role = known.get(frames, position).map(|(_, role)| role);
                (classify_frame(position, facts_at), role.unwrap_or_default())
            });
            charges.whole += cost;
            match occupation {
                Occupation::Own => charges.own += cost,
                Occupation::Framework(name) => *charges.frameworks.entry(name).or_default() += cost,
                Occupation::Service(service) => {
                    *charges.services.entry(service).or_default() += cost;
                    if let Some(frame) = spent_for.and_then(|position| frames.get(position)) {
                        let requester = (service, frame.function);
                        *charges.requested.entry(requester).or_default() += cost;
                    }
                }
                Occupation::Libraries => {}
            }
        }
        charges
    }

    /// Returns the function that requests most of a service.
    fn top_requester(&self, profile: &Profile, service: Service) -> Option<(String, Count)> {
        let requested = self.requested.iter();
        requested
            .filter(|((requested, _), _)| *requested == service)
            .map(|((_, function), count)| (shown(profile, *function), *count))
            .max_by(|(a, a_count), (b, b_count)| a_count.cmp(b_count).then_with(|| b.cmp(a)))
    }

    /// Returns the frameworks, the greatest share first.
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

/// Returns the number of samples; `None` if the profile does not count samples.
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

/// The facts about the origins of frames, and the roles of their functions. They are determined once, on demand.
struct KnownFrames<'p> {
    profile: &'p Profile,
    by_function: RefCell<HashMap<(FunctionKey, bool), (Facts, Role)>>,
    /// Frames differ in their lines, functions do not. Only the lookup by frame is cheap.
    by_frame: RefCell<Made<(Facts, Role)>>,
}

impl<'p> KnownFrames<'p> {
    fn new(profile: &'p Profile) -> KnownFrames<'p> {
        KnownFrames {
            profile,
            by_function: RefCell::default(),
            by_frame: RefCell::default(),
        }
    }

    fn get(&self, frames: StackFrames<'p>, position: usize) -> Option<(Facts, Role)> {
        let (id, frame) = frames.get_numbered(position)?;
        if let Some(known) = self.by_frame.borrow().get(id) {
            return Some(*known);
        }
        let mut by_function = self.by_function.borrow_mut();
        let function = by_function.entry((frame.function, frame.marks.kernel));
        let known = *function.or_insert_with(|| classify(self.profile, frame));
        self.by_frame.borrow_mut().set(id, known);
        Some(known)
    }
}

/// Returns the facts about the origin of a frame, and the role of its function.
fn classify(profile: &Profile, frame: &FrameKey) -> (Facts, Role) {
    let function = frame.function;
    let facts = Facts::from_frame(&profile.names().frame(frame, None));
    let text = |symbol| profile.text(symbol).unwrap_or_default();
    (
        facts,
        Role::from_name(text(function.name), text(function.obj)),
    )
}

/// Returns the name of a function for a sentence.
fn shown(profile: &Profile, function: FunctionKey) -> String {
    let mut names = [function.name, function.obj, function.file].into_iter();
    let known = names.find_map(|symbol| profile.text(symbol));
    known.unwrap_or(UNKNOWN).to_owned()
}

#[cfg(test)]
mod tests;
