//! What is said of how far inlined functions are known: in the `run` record, and to people.

use cg_stream::record::{InlineFacts, InlineObject, Name};
use cg_stream::sorting::Order as _;

use super::objects::{TracedObject, Unresolved};
use super::resolve::Inlines;
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// Objects that have less than this part of the cost are not worth a word.
pub(super) const SAID_FROM: u64 = 1000;
/// How many names a message has of the files that are missing, or of functions.
const NAMES_SAID: usize = 6;

impl Inlines {
    /// What the `run` record says of it.
    pub(crate) fn facts(&self, section: &Section) -> InlineFacts {
        let mut objects: Vec<(u64, InlineObject)> = (self.objects.objects.iter())
            .map(|object| {
                let obj = Name::from_bytes(section.strings.get(object.name)).into_string();
                let facts = InlineObject {
                    obj,
                    debug: object.source.map(str::to_owned),
                    unresolved: object.unresolved.as_ref().map(|why| why.text().to_owned()),
                    missing: object.missing().to_vec(),
                    elsewhere: self.strangers(section, object),
                    agrees: object.agreement.agrees,
                    named: object.agreement.named,
                };
                (self.cost_of(section, object.name), facts)
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

    /// The cost of an object's functions, by the event that ranks.
    fn cost_of(&self, section: &Section, object: StringId) -> u64 {
        let ranking = section.ranking_event();
        let functions = section.present().filter(|(_, key)| key.object == object);
        functions.fold(0, |sum: u64, (function, _)| {
            sum.saturating_add(section.cost_by(ranking, function))
        })
    }

    /// How much of the cost lines alone tell, where the profile has no addresses.
    fn told_by_lines(&self, section: &Section, total: u64) -> Option<String> {
        let has_lines = |object: &TracedObject| object.lines.is_some() && object.source.is_some();
        (self.objects.objects.iter()).find(|object| has_lines(object))?;
        let resolved = self.resolved.get(section.ranking_event());
        let resolved = resolved.copied().unwrap_or(0);
        Some(format!(
            "the profile has no addresses: of {:.1}% of the cost its lines tell the function; run Callgrind with --dump-instr=yes for all of it",
            100.0 * resolved as f64 / total.max(1) as f64
        ))
    }

    /// What to say of objects that could not be resolved, a sentence for each reason, with what would help.
    pub fn messages(&self, section: &Section) -> Vec<String> {
        let total: u64 = (self.objects.objects.iter())
            .map(|object| self.cost_of(section, object.name))
            .fold(0, u64::saturating_add);
        let mut reasons: Vec<(&Unresolved, Vec<(u64, StringId)>)> = Vec::new();
        for (object, why) in self.unresolved() {
            let cost = self.cost_of(section, object);
            // The `run` record has those too that cost next to nothing.
            if cost < total / SAID_FROM {
                continue;
            }
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, objects)) => objects.push((cost, object)),
                None => reasons.push((why, vec![(cost, object)])),
            }
        }
        let said = |(why, mut objects): (&Unresolved, Vec<(u64, StringId)>)| {
            objects.order_by(|(a, object_a), (b, object_b)| {
                b.cmp(a)
                    .then_with(|| section.by_string(*object_a, *object_b))
            });
            let share = |cost: u64| format!("{:.1}%", 100.0 * cost as f64 / total.max(1) as f64);
            let named = objects.iter().map(|(cost, name)| {
                let object = self.objects.objects.iter().find(|object| object.name == *name);
                let name = Name::from_bytes(section.strings.get(*name)).into_string();
                match object {
                    Some(object) if *why == Unresolved::AnotherBuild => format!(
                        "{name} ({} of the cost; {:.1}% of what can be compared is where it has it)",
                        share(*cost),
                        100.0 * object.agreement.agrees as f64 / object.agreement.named.max(1) as f64
                    ),
                    _ => format!("{name} ({})", share(*cost)),
                }
            });
            let named = named.collect::<Vec<_>>().join(", ");
            let unreadable;
            let (why, of) = match why {
                Unresolved::Missing => (
                    ", as the object is not there; --debug-root DIR says where else to look",
                    named,
                ),
                Unresolved::NoDebugInfo => (
                    " without debug information (-g, in Cargo.toml debug = 1, a debug package, or --debug-root DIR)",
                    named,
                ),
                Unresolved::AnotherBuild => (
                    ", as the object is another build than the one profiled",
                    named,
                ),
                Unresolved::Unnamed => (
                    " where the profile names no object",
                    share(objects.iter().map(|(cost, _)| cost).sum()),
                ),
                Unresolved::Unreadable(why) => {
                    unreadable = format!(" ({why})");
                    (unreadable.as_str(), named)
                }
            };
            format!("inlined functions stay unknown{why}: {of}")
        };
        let mut messages: Vec<String> = reasons.into_iter().map(said).collect();
        messages.extend(
            (self.objects.objects.iter()).filter_map(|object| self.said_of(section, object, total)),
        );
        messages.extend(self.told_by_lines(section, total));
        messages
    }

    /// The functions of an object whose code is elsewhere in the file that is there, the costliest first.
    fn strangers(&self, section: &Section, object: &TracedObject) -> Vec<String> {
        let ranking = section.ranking_event();
        let cost = |function: FunctionId| section.cost(function).get(ranking).copied();
        let mut functions: Vec<_> = (object.strangers.iter())
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

    /// What to say of an object that is resolved but for some of it.
    fn said_of(&self, section: &Section, object: &TracedObject, total: u64) -> Option<String> {
        object.source?;
        let name = || Name::from_bytes(section.strings.get(object.name)).into_string();
        let mut said = Vec::new();
        let strangers = self.strangers(section, object);
        let ranking = section.ranking_event();
        let cost = object.strangers.iter().fold(0, |sum: u64, function| {
            sum.saturating_add(section.cost_by(ranking, *function))
        });
        if !strangers.is_empty() && cost >= total / SAID_FROM {
            let of = &object.agreement;
            said.push(format!(
                "inlined functions stay unknown in what is elsewhere in the object than it was profiled, {:.1}% of the cost ({:.1}% of what can be compared is where {} has it; --debug-root DIR says where the build is that was profiled): {}",
                100.0 * cost as f64 / total.max(1) as f64,
                100.0 * of.agrees as f64 / of.named.max(1) as f64,
                name(),
                listed(&strangers)
            ));
        }
        if !object.missing().is_empty() {
            said.push(format!(
                "inlined functions of {} stay unknown where files of its debug information are missing; --debug-root DIR says where else to look: {}",
                name(),
                listed(object.missing())
            ));
        }
        if let Some(damage) = object.damage() {
            said.push(format!(
                "inlined functions of {} stay unknown in part: {damage}",
                name()
            ));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// The first of some names, and how many more there are.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(NAMES_SAID)].join(", ");
    match names.len().saturating_sub(NAMES_SAID) {
        0 => first,
        more => format!("{first} and {more} more, which the run record names"),
    }
}
