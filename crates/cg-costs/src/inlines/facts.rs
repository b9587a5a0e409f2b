//! Reports on how many inlined functions are known: facts for the `run` record, and messages for people.

use cg_collections::sorting::Order as _;
use cg_stream::record::{InlineFacts, InlineObject, Name};

use super::objects::{TracedObject, Unresolved};
use super::resolve::Inlines;
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// The divisor of the total that gives the minimum cost of an object for a message.
pub(super) const MIN_COST_DIVISOR: u64 = 1000;
/// The maximum number of missing files or of functions that a message lists.
const MAX_NAMES: usize = 6;

impl Inlines {
    /// Returns the facts for the `run` record.
    pub(crate) fn facts(&self, section: &Section) -> InlineFacts {
        let mut objects: Vec<(u64, InlineObject)> = (self.objects.objects.iter())
            .map(|object| {
                let obj = Name::from_bytes(section.strings.get(object.name)).into_string();
                let facts = InlineObject {
                    obj,
                    debug: object.source.map(str::to_owned),
                    unresolved: object.unresolved.as_ref().map(|why| why.text().to_owned()),
                    missing: object.missing().to_vec(),
                    elsewhere: self.moved_function_names(section, object),
                    agrees: object.agreement.agrees,
                    named: object.agreement.named,
                };
                (self.object_cost(section, object.name), facts)
            })
            .collect();
        objects.order_by(|(a, facts_a), (b, facts_b)| {
            b.cmp(a).then_with(|| facts_a.obj.cmp(&facts_b.obj))
        });
        InlineFacts {
            resolved: section.counts(&self.resolved).into_owned(),
            objects: objects.into_iter().map(|(_, facts)| facts).collect(),
        }
    }

    /// Returns the cost of an object's functions, by the ranking event.
    fn object_cost(&self, section: &Section, object: StringId) -> u64 {
        let ranking = section.ranking_event();
        let functions = section.present().filter(|(_, key)| key.object == object);
        functions.fold(0, |sum: u64, (function, _)| {
            sum.saturating_add(section.cost_by(ranking, function))
        })
    }

    /// Returns a message about the cost that is resolved by lines; `None` if the profile has addresses.
    fn lines_message(&self, section: &Section, total: u64) -> Option<String> {
        let has_lines = |object: &TracedObject| object.lines.is_some() && object.source.is_some();
        (self.objects.objects.iter()).find(|object| has_lines(object))?;
        let resolved = self.resolved.get(section.ranking_event());
        let resolved = resolved.copied().unwrap_or(0);
        Some(format!(
            "the profile has no addresses, so lines identify the function for {:.1}% of the cost; rerun Callgrind with --dump-instr=yes for the rest",
            100.0 * resolved as f64 / total.max(1) as f64
        ))
    }

    /// Returns the messages about objects that could not be resolved, one for each reason, with the next step.
    pub fn messages(&self, section: &Section) -> Vec<String> {
        let total: u64 = (self.objects.objects.iter())
            .map(|object| self.object_cost(section, object.name))
            .fold(0, u64::saturating_add);
        let mut reasons: Vec<(&Unresolved, Vec<(u64, StringId)>)> = Vec::new();
        for (object, why) in self.unresolved() {
            let cost = self.object_cost(section, object);
            // Objects with almost no cost are only in the `run` record.
            if cost < total / MIN_COST_DIVISOR {
                continue;
            }
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, objects)) => objects.push((cost, object)),
                None => reasons.push((why, vec![(cost, object)])),
            }
        }
        let message = |(why, mut objects): (&Unresolved, Vec<(u64, StringId)>)| {
            objects.order_by(|(a, object_a), (b, object_b)| {
                b.cmp(a)
                    .then_with(|| section.by_string(*object_a, *object_b))
            });
            let share = |cost: u64| format!("{:.1}%", 100.0 * cost as f64 / total.max(1) as f64);
            let named = objects.iter().map(|(cost, name)| {
                let object = self
                    .objects
                    .objects
                    .iter()
                    .find(|object| object.name == *name);
                let name = Name::from_bytes(section.strings.get(*name)).into_string();
                match object {
                    Some(object) if *why == Unresolved::AnotherBuild => format!(
                        "{name} ({} of the cost; {:.1}% of the comparable cost agrees with it)",
                        share(*cost),
                        100.0 * object.agreement.agrees as f64
                            / object.agreement.named.max(1) as f64
                    ),
                    _ => format!("{name} ({})", share(*cost)),
                }
            });
            let named = named.collect::<Vec<_>>().join(", ");
            let unreadable;
            let (why, affected) = match why {
                Unresolved::Missing => (
                    " because the object is missing; --debug-root DIR also searches DIR",
                    named,
                ),
                Unresolved::NoDebugInfo => (
                    " without debug information (compile with -g or debug = 1 in Cargo.toml, install a debug package, or use --debug-root DIR)",
                    named,
                ),
                Unresolved::AnotherBuild => (
                    " because the object is another build than the profiled one",
                    named,
                ),
                Unresolved::Unnamed => (
                    " for code without an object name in the profile",
                    share(objects.iter().map(|(cost, _)| cost).sum()),
                ),
                Unresolved::Unreadable(why) => {
                    unreadable = format!(" ({why})");
                    (unreadable.as_str(), named)
                }
            };
            format!("inlined functions stay unknown{why}: {affected}")
        };
        let mut messages: Vec<String> = reasons.into_iter().map(message).collect();
        messages.extend(
            (self.objects.objects.iter())
                .filter_map(|object| self.partial_message(section, object, total)),
        );
        messages.extend(self.lines_message(section, total));
        messages
    }

    /// Returns the functions of an object whose code is in another place in the file, most expensive first.
    fn moved_function_names(&self, section: &Section, object: &TracedObject) -> Vec<String> {
        let ranking = section.ranking_event();
        let cost = |function: FunctionId| section.cost(function).get(ranking).copied();
        let mut functions: Vec<_> = (object.moved_function_names.iter())
            .map(|function| {
                let name = section.strings.get(section.key_of(*function).name);
                (
                    std::cmp::Reverse(cost(*function)),
                    Name::from_bytes(name).into_string(),
                )
            })
            .collect();
        functions.sort();
        functions.dedup_by(|a, b| a.1 == b.1);
        functions.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the messages about an object that is only partly resolved; `None` for other objects.
    fn partial_message(
        &self,
        section: &Section,
        object: &TracedObject,
        total: u64,
    ) -> Option<String> {
        object.source?;
        let name = || Name::from_bytes(section.strings.get(object.name)).into_string();
        let mut messages = Vec::new();
        let moved_function_names = self.moved_function_names(section, object);
        let ranking = section.ranking_event();
        let cost = object
            .moved_function_names
            .iter()
            .fold(0, |sum: u64, function| {
                sum.saturating_add(section.cost_by(ranking, *function))
            });
        if !moved_function_names.is_empty() && cost >= total / MIN_COST_DIVISOR {
            let agreement = &object.agreement;
            messages.push(format!(
                "inlined functions stay unknown in code whose place in the object differs from the profile, {:.1}% of the cost ({:.1}% of the comparable cost agrees with {}; --debug-root DIR can name the directory of the profiled build): {}",
                100.0 * cost as f64 / total.max(1) as f64,
                100.0 * agreement.agrees as f64 / agreement.named.max(1) as f64,
                name(),
                listed(&moved_function_names)
            ));
        }
        if !object.missing().is_empty() {
            messages.push(format!(
                "inlined functions of {} stay unknown in part because debug files are missing; --debug-root DIR also searches DIR: {}",
                name(),
                listed(object.missing())
            ));
        }
        if let Some(damage) = object.damage() {
            messages.push(format!(
                "inlined functions of {} stay unknown in part: {damage}",
                name()
            ));
        }
        (!messages.is_empty()).then(|| messages.join("; "))
    }
}

/// Returns the first names, and the number of other names.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(MAX_NAMES)].join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => first,
        more => format!("{first} and {more} more, listed in the run record"),
    }
}
