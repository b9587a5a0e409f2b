//! Functions as if nothing were inlined, as far as all inputs know what was inlined.
//!
//! Where an object or a function is resolved in one input and not in another, its inlined functions seem to have come and
//! gone. There functions are compared with what was inlined into them, as without `--inline`, and that is said.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cg_names::identity::normal_object;
use cg_stream::profile::{FunctionKey, Names, Profile, Symbol};
use cg_stream::record::{Count, InlineObject, RecordType};
use cg_stream::tool::Diagnostics;

/// What an input knows of chains of inlined functions.
pub(crate) struct InputChains {
    /// What it is called in messages.
    name: String,
    has_chains: bool,
    /// The share of its cost for which chains are known, in percent.
    share: Option<f64>,
    objects: Vec<InlineObject>,
}

impl InputChains {
    pub(crate) fn of(name: String, has_chains: bool, profile: &Profile) -> InputChains {
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

/// Some inputs have chains of inlined functions, and some have none.
const SOME_CHAINS: &str =
    "not all inputs have inline records, so functions are compared with what was inlined into them";

/// How many percentage points the share of cost with known chains may differ between inputs: libraries come and go.
const AS_WELL_KNOWN: f64 = 5.0;

/// Makes functions as if nothing were inlined, so that a compiler's decision to inline moves no cost, where the chains of
/// all inputs are known. Returns what of each is out of line; nothing where functions stay as they are.
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
    let plain = PlainHosts::of(inputs);
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
    // Nothing is left that tells these functions from those of the profiles.
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

/// A warning if inlined functions are known for much more of one input than of another.
fn unequally_known(inputs: &[InputChains]) -> Option<String> {
    let known = inputs
        .iter()
        .filter_map(|input| Some((&input.name, input.share?)));
    let least = known.clone().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let most = known.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (most.1 - least.1 > AS_WELL_KNOWN).then(|| {
        format!(
            "inlined functions are known for {:.1}% of the cost of {}, and for {:.1}% of that of {}: what is inlined seems to have moved where it is known in one of them alone",
            least.1, least.0, most.1, most.0
        )
    })
}

/// What is known of an object in an input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ObjectKnowledge {
    Resolved,
    Unresolved,
}

/// The objects and functions of which not all inputs know what was inlined. Objects are known by their normal names, as
/// another build lies elsewhere.
struct PlainHosts {
    objects: BTreeSet<String>,
    /// Objects with functions of theirs.
    functions: BTreeSet<(String, String)>,
}

impl PlainHosts {
    fn of(inputs: &[InputChains]) -> PlainHosts {
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
        let of_some = known.into_iter().filter(|(_, of)| of.len() > 1);
        PlainHosts {
            objects: of_some.map(|(name, _)| name).collect(),
            functions,
        }
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.functions.is_empty()
    }

    /// For each function that others are inlined into in a profile, whether it is one of these.
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

    /// What to say of these.
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
                "inlined functions of {name} are not known {}: its functions are compared with what was inlined into them (--debug-root-old and --debug-root-new say where its builds are)",
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
                "an object that is there has other code than was profiled in {first}{more}: compared with what was inlined into them (--debug-root-old and --debug-root-new say where the builds are that were profiled)"
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
