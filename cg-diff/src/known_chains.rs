//! Undoes inlining in functions, if the inlined functions are known in all inputs.
//!
//! If an object or a function is resolved only in some inputs, its inlined functions would seem to come and go. Its
//! functions are then compared including their inlined code, as without `--inline`, and a warning says so.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cg_names::identity::normal_object;
use cg_profile::{FunctionKey, Names, Profile, Symbol};
use cg_stream::record::{Count, InlineObject, RecordType};
use cg_tool::Diagnostics;

/// Facts about the chains of inlined functions in an input.
pub(crate) struct InputChains {
    /// The name for messages.
    name: String,
    has_chains: bool,
    /// The share of the cost for which chains are known, in percent.
    share: Option<f64>,
    objects: Vec<InlineObject>,
}

impl InputChains {
    pub(crate) fn new(name: String, has_chains: bool, profile: &Profile) -> InputChains {
        let inlines = (profile.run_record()).and_then(|run| run.costs.inlines);
        let share = || {
            let event = profile.events().first()?;
            let known = inlines.as_ref()?.resolved.get(event);
            let total = *profile.total().first()?;
            (total > 0).then(|| 100.0 * known as f64 / total as f64)
        };
        InputChains {
            name,
            has_chains,
            share: share(),
            objects: inlines.map_or_else(Vec::new, |inlines| inlines.objects),
        }
    }
}

/// The warning if only some inputs have chains of inlined functions.
const SOME_CHAINS: &str = "not all inputs have inline records, so functions are compared including their inlined code; use --inline for all inputs";

/// The maximum difference between inputs in the share of cost with known chains, in percentage points. Libraries come and
/// go, so some difference is normal.
const AS_WELL_KNOWN: f64 = 5.0;

/// Undoes inlining if the chains of all inputs are known, so that a compiler's decision to inline moves no cost. Returns the
/// out-of-line cost of each function; empty if functions stay as they are.
pub(crate) fn undo_inlining(
    profiles: &mut [Profile],
    names: &mut Names,
    inputs: &[InputChains],
    has_chains_in_part: bool,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Vec<Vec<Vec<Count>>>> {
    if !inputs.iter().all(|input| input.has_chains) {
        if has_chains_in_part || inputs.iter().any(|input| input.has_chains) {
            diagnostics.warn(SOME_CHAINS);
        }
        return Ok(Vec::new());
    }
    let plain = PlainHosts::find(inputs);
    for message in plain.messages(inputs) {
        diagnostics.warn(message);
    }
    let mut functions = Vec::new();
    let mut has_any = false;
    for profile in profiles.iter_mut() {
        let hosts = plain.hosts(profile, names);
        profile.put_names(std::mem::take(names));
        let is_plain = |host: FunctionKey| hosts.get(&host).copied().unwrap_or(false);
        let inlined = profile.by_innermost_but(is_plain);
        *names = profile.take_names();
        let inlined = inlined?;
        has_any |= inlined.hosts.iter().any(|hosts| *hosts > 0);
        functions.push(inlined);
    }
    // No chain is left, so these functions are the functions of the profiles.
    if !has_any && !plain.is_empty() {
        return Ok(Vec::new());
    }
    let mut out_of_line = Vec::new();
    for (profile, functions) in profiles.iter_mut().zip(functions) {
        let inlined = std::mem::take(profile).as_if_nothing_were_inlined(functions)?;
        *profile = inlined.0;
        out_of_line.push(inlined.1);
    }
    if plain.is_empty()
        && let Some(message) = unequally_known(inputs)
    {
        diagnostics.warn(message);
    }
    Ok(out_of_line)
}

/// Returns a warning if inlined functions are known for a much greater share of one input than of another.
fn unequally_known(inputs: &[InputChains]) -> Option<String> {
    let known = inputs
        .iter()
        .filter_map(|input| Some((&input.name, input.share?)));
    let least = known.clone().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let most = known.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (most.1 - least.1 > AS_WELL_KNOWN).then(|| {
        format!(
            "inlined functions are known for {:.1}% of the cost of {}, but for {:.1}% of the cost of {}; code that is known as inlined in only one of them may seem to have moved",
            least.1, least.0, most.1, most.0
        )
    })
}

/// The state of an object in an input: its inlined functions are known or unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKnowledge {
    Resolved,
    Unresolved,
}

/// The objects and functions that are compared including their inlined code, because not all inputs know it. Objects are
/// identified by their normal names, because another build has another path.
struct PlainHosts {
    objects: BTreeSet<String>,
    /// Pairs of an object and one of its functions.
    functions: BTreeSet<(String, String)>,
}

impl PlainHosts {
    fn find(inputs: &[InputChains]) -> PlainHosts {
        let mut known: BTreeMap<String, BTreeSet<ObjectKnowledge>> = BTreeMap::new();
        let mut functions = BTreeSet::new();
        for object in inputs.iter().flat_map(|input| &input.objects) {
            let name = normal_object(&object.obj).into_owned();
            for function in &object.elsewhere {
                functions.insert((name.clone(), function.clone()));
            }
            let knowledge = match is_resolved(object) {
                true => ObjectKnowledge::Resolved,
                false => ObjectKnowledge::Unresolved,
            };
            known.entry(name).or_default().insert(knowledge);
        }
        let differing = known.into_iter().filter(|(_, states)| states.len() > 1);
        PlainHosts {
            objects: differing.map(|(name, _)| name).collect(),
            functions,
        }
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.functions.is_empty()
    }

    /// Maps each host function of a profile to true if it is compared including its inlined code.
    fn hosts(&self, profile: &Profile, names: &Names) -> HashMap<FunctionKey, bool> {
        let mut hosts = HashMap::new();
        if self.is_empty() {
            return hosts;
        }
        let text = |symbol: Option<Symbol>| symbol.map(|symbol| names.symbols.text(symbol));
        for key in profile.table(RecordType::Inline).keys() {
            let host = names.stacks.frames_of(key.stack).last();
            let Some(host) = host.map(|frame| frame.function) else {
                continue;
            };
            hosts.entry(host).or_insert_with(|| {
                let object = normal_object(text(host.obj).unwrap_or_default()).into_owned();
                let name = text(host.name).unwrap_or_default();
                self.objects.contains(&object)
                    || self.functions.contains(&(object, name.to_owned()))
            });
        }
        hosts
    }

    /// Returns the warnings about these objects and functions.
    fn messages(&self, inputs: &[InputChains]) -> Vec<String> {
        let mut messages = Vec::new();
        for name in &self.objects {
            let states = inputs.iter().filter_map(|input| {
                let is_it = |object: &&InlineObject| normal_object(&object.obj) == name.as_str();
                let object = input.objects.iter().find(is_it)?;
                (!is_resolved(object)).then(|| format!("in {} ({})", input.name, why(object)))
            });
            let states: Vec<String> = states.take(3).collect();
            messages.push(format!(
                "inlined functions of {name} are unknown {}, so its functions are compared including their inlined code; give the directories of its builds with --debug-root-old and --debug-root-new",
                states.join(" and ")
            ));
        }
        let others = self
            .functions
            .iter()
            .filter(|(object, _)| !self.objects.contains(object));
        let others: Vec<&str> = others.map(|(_, function)| function.as_str()).collect();
        if !others.is_empty() {
            let first = others[..others.len().min(6)].join(", ");
            let more = match others.len() {
                ..=6 => String::new(),
                many => format!(" and {} more", many - 6),
            };
            messages.push(format!(
                "the code of the object on disk differs from the profiled code in {first}{more}, so these functions are compared including their inlined code; give the directories of the profiled builds with --debug-root-old and --debug-root-new"
            ));
        }
        messages
    }
}

fn is_resolved(object: &InlineObject) -> bool {
    object.unresolved.is_none() && object.missing.is_empty()
}

fn why(object: &InlineObject) -> String {
    match (&object.unresolved, object.missing.first()) {
        (Some(why), _) => why.clone(),
        (None, Some(file)) => format!("{file} is missing"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(name: &str, share: Option<f64>) -> InputChains {
        InputChains {
            name: name.to_owned(),
            has_chains: true,
            share,
            objects: Vec::new(),
        }
    }

    #[test]
    fn shares_of_known_chains_may_differ_by_five_points() {
        for (a, b, is_unequal) in [
            (Some(90.0), Some(95.0), false),
            (Some(90.0), Some(95.5), true),
            (Some(95.5), Some(90.0), true),
            // An input without costs has no share.
            (Some(10.0), None, false),
        ] {
            let found = unequally_known(&[input("a", a), input("b", b)]);
            assert_eq!(found.is_some(), is_unequal, "{a:?} {b:?}");
        }
        let message = unequally_known(&[input("a", Some(95.5)), input("b", Some(90.0))]).unwrap();
        assert!(message.contains("90.0% of the cost of b, but for 95.5% of the cost of a"));
    }
}
