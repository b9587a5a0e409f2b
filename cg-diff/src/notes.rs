//! What a reader should know before trusting a comparison: sides that cannot quite be compared, changes that are noise.

use std::collections::BTreeSet;
use std::ops::Range;

use cg_document::number;
use cg_names::paths::base_name;
use cg_names::rules::{Part, Rules, Strength};
use cg_stream::percent::Percent;
use cg_stream::profile::Profile;
use cg_stream::record::{Description, LeftOut, RecordType, RunRecord, Status, Tool};
use regex::Regex;

use crate::compare::{Change, Comparison};
use crate::extent;
use crate::figures::{self, Figure};
use crate::gate;
use crate::runs::{Runs, Statistic};
use crate::sampling::Z;

/// Where the sides differ in what they measured and how; a sentence each.
pub(crate) fn differences(runs: &Runs, rules: &Rules) -> Vec<String> {
    let mut notes = Vec::new();
    note(&mut notes, runs, "were written by different tools", |run| {
        run.tool.iter().map(Tool::to_string).collect()
    });
    note(&mut notes, runs, "ran different commands", |run| {
        run.command
            .iter()
            .map(|command| normalised_command(command, rules))
            .collect()
    });
    note(&mut notes, runs, "have different caches", caches);
    note(&mut notes, runs, "are of different parts", |run| {
        extent::parts_of(run).into_iter().collect()
    });
    let differing: Vec<&str> = (0..runs.events.len())
        .filter(|event| !runs.is_common(*event))
        .map(|event| runs.events[event].as_str())
        .collect();
    if !differing.is_empty() {
        notes.push(format!(
            "not all runs count {}: not compared",
            differing.join(" ")
        ));
    }
    notes.extend(runs.leak_kinds.notes.iter().cloned());
    notes.extend(medians_of_different_things(runs, rules));
    notes
}

/// A sentence on each side that sums another number of files than the first: a part that is missing would look like a
/// gain.
pub(crate) fn unequal_sums(runs: &Runs) -> Vec<String> {
    let counted = runs.sides.iter().zip(&runs.files_read);
    let mut sums = counted.map(|((name, files), read)| {
        let profiles = &runs.profiles[files.clone()];
        (name, read.saturating_sub(extent::further_parts(profiles)))
    });
    let Some((first, files)) = sums.next().filter(|_| runs.statistic == Statistic::Sum) else {
        return Vec::new();
    };
    sums.filter(|(_, others)| *others != files)
        .map(|(name, others)| {
            format!("{first} is the sum of {files} files, {name} that of {others}")
        })
        .collect()
}

/// A sentence if a median is over runs of different things: their spread is then no noise.
fn medians_of_different_things(runs: &Runs, rules: &Rules) -> Option<String> {
    let ran = |run: &RunRecord| {
        let command = run.command.as_deref();
        (
            command.map(|command| normalised_command(command, rules)),
            run.sampling.labels.get("bench").cloned(),
        )
    };
    let is_mixed = |profiles: &Range<usize>| {
        let profiles = &runs.profiles[profiles.clone()];
        let mut of_files = profiles
            .iter()
            .map(|profile| profile.runs().iter().map(ran).collect::<Vec<_>>())
            .filter(|ran| !ran.is_empty());
        let first = of_files.next();
        of_files.any(|other| Some(&other) != first.as_ref())
    };
    let (name, _) = runs.sides.iter().find(|(_, files)| is_mixed(files))?;
    Some(format!(
        "the files of {name} are of different commands or benchmarks, and medians and spreads are over them; --statistic sum adds them up"
    ))
}

/// What a side measured, fragments aside: these do not say what they count.
struct SideFacts<'a> {
    name: &'a str,
    events: BTreeSet<&'a str>,
    types: BTreeSet<RecordType>,
    tools: BTreeSet<&'a Tool>,
}

/// Why a comparison of these runs would mean nothing, if so: they count nothing in common, or records of other types.
pub(crate) fn why_meaningless(runs: &Runs) -> Option<String> {
    let sides = runs.sides.iter().filter_map(|(name, files)| {
        let profiles = runs.profiles[files.clone()].iter();
        let profiles = profiles.filter(|profile| !profile.runs().is_empty());
        profiles.clone().next()?;
        let events = profiles.clone().flat_map(Profile::events);
        let records = profiles.clone().flat_map(Profile::runs);
        Some(SideFacts {
            name,
            events: events.map(String::as_str).collect(),
            types: profiles.flat_map(Profile::types).collect(),
            tools: records.filter_map(|run| run.tool.as_ref()).collect(),
        })
    });
    let sides: Vec<SideFacts> = sides.collect();
    let (first, others) = sides.split_first()?;
    others.iter().find_map(|other| first.why_unlike(other))
}

impl SideFacts<'_> {
    /// Why a comparison with another side would mean nothing, if so.
    fn why_unlike(&self, other: &SideFacts) -> Option<String> {
        let names = (self.name, other.name);
        let has_events = !self.events.is_empty() && !other.events.is_empty();
        if has_events && self.events.is_disjoint(&other.events) {
            let list = |side: &SideFacts| Vec::from_iter(side.events.iter().copied()).join(" ");
            return Some(format!(
                "nothing to compare: {} counts {}, {} counts {}",
                names.0,
                list(self),
                names.1,
                list(other)
            ));
        }
        let mut types = [self.types.clone(), other.types.clone()];
        if types.iter().all(BTreeSet::is_empty) {
            // Two runs that found nothing are alike only if they looked for the same.
            types = [self, other]
                .map(|side| side.tools.iter().flat_map(|tool| types_of(tool)).collect());
        }
        // A run without any record can be one that found nothing, if the same tool wrote it.
        let has_both = !types.iter().any(BTreeSet::is_empty);
        let is_of_other_tool = types[0] != types[1] && self.tools.is_disjoint(&other.tools);
        ((has_both || is_of_other_tool) && types[0].is_disjoint(&types[1])).then(|| {
            let [own, others] = types.map(|types| match types.is_empty() {
                true => "none".to_owned(),
                false => Vec::from_iter(types.iter().map(|of| of.name())).join(", "),
            });
            format!(
                "nothing to compare: {} has records of type {own}, {} of type {others}",
                names.0, names.1
            )
        })
    }
}

/// The types of records that a tool's runs can have; none for tools that are not known.
fn types_of(tool: &Tool) -> Vec<RecordType> {
    match tool {
        Tool::Callgrind | Tool::Cachegrind => vec![RecordType::Fn],
        Tool::Helgrind | Tool::Drd => vec![RecordType::Error],
        Tool::Massif => vec![RecordType::Heap],
        Tool::Dhat | Tool::Heaptrack => vec![RecordType::ProgramPoint],
        tool if tool.looks_for_leaks() => vec![RecordType::Error, RecordType::Leak],
        tool if tool.is_sanitizer() => vec![RecordType::Error],
        _ => Vec::new(),
    }
}

/// Whether runs were measured with other caches, so that their misses say nothing of each other. A run that says nothing of
/// caches says nothing different.
pub(crate) fn have_other_caches(runs: &Runs) -> bool {
    let records = runs.profiles.iter().flat_map(Profile::runs);
    let said: BTreeSet<BTreeSet<String>> = records
        .map(caches)
        .filter(|said| !said.is_empty())
        .collect();
    said.len() > 1
}

/// An event that all runs count, and count with other caches.
pub(crate) fn of_other_caches(runs: &Runs) -> Option<&str> {
    let common = (0..runs.events.len()).filter(|event| runs.is_common(*event));
    let mut common = common.map(|event| runs.events[event].as_str());
    common.find(|event| gate::is_of_caches(event) && have_other_caches(runs))
}

/// Whether a run looked for errors or leaks, which need not be there.
pub(crate) fn is_of_findings(run: &RunRecord) -> bool {
    matches!(run.tool, Some(Tool::Memcheck | Tool::Helgrind | Tool::Drd))
}

/// The types of records that some run has, and those of findings that its tool looks for.
pub(crate) fn possible_types(runs: &Runs) -> BTreeSet<RecordType> {
    let mut types: BTreeSet<RecordType> = runs.profiles.iter().flat_map(Profile::types).collect();
    for run in runs.profiles.iter().flat_map(Profile::runs) {
        types.extend(is_of_findings(run).then_some(RecordType::Error));
        types.extend((run.tool == Some(Tool::Memcheck)).then_some(RecordType::Leak));
    }
    types
}

/// A sentence where sides say different things; a side that says nothing says nothing different.
fn note(
    notes: &mut Vec<String>,
    runs: &Runs,
    what: &str,
    said: impl Fn(&RunRecord) -> BTreeSet<String>,
) {
    let of_side = |(name, files): &'_ (String, Range<usize>)| {
        let records = runs.profiles[files.clone()].iter().flat_map(Profile::runs);
        (name.clone(), records.flat_map(&said).collect())
    };
    let sides = runs.sides.iter().map(of_side);
    let sides: Vec<(String, BTreeSet<String>)> = sides
        .filter(|(_, said): &(_, BTreeSet<_>)| !said.is_empty())
        .collect();
    let Some(((first_name, first), rest)) = sides.split_first() else {
        return;
    };
    if let Some((name, other)) = rest.iter().find(|(_, said)| said != first) {
        let list = |said: &BTreeSet<String>| said.iter().cloned().collect::<Vec<_>>().join(", ");
        notes.push(format!(
            "the runs {what}: {} ({first_name}), {} ({name})",
            list(first),
            list(other)
        ));
    }
}

/// The command without the directory of its program and what the build puts into its name.
fn normalised_command(command: &str, rules: &Rules) -> String {
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let (program, _) = rules.apply(program, Part::Object, Strength::Build);
    format!("{} {arguments}", base_name(&program))
        .trim_end()
        .to_owned()
}

/// Cache parameters, which Valgrind's tools describe in their headers under `I1 cache`, `D1 cache` and `LL cache`.
fn caches(run: &RunRecord) -> BTreeSet<String> {
    let Some(Description::ByKey(texts)) = &run.desc else {
        return BTreeSet::new();
    };
    let caches = texts.iter().filter(|(key, _)| key.ends_with("cache"));
    caches.map(|(key, text)| format!("{key} {text}")).collect()
}

/// Sources of cost that varies with random seeds, addresses and block sizes rather than with the changed code: the name
/// used in a sentence, and whole words of the names of their functions.
const NOISE_SOURCES: [(&str, &str); 4] = [
    (
        "hashing",
        r"\b(siphash\w*|sip|sip13|SipHasher13|Sip13Rounds|hashbrown|HashMap|HashSet|hash_one|make_hash|RandomState|_Hash_bytes|_Hashtable|unordered_map|unordered_set)\b",
    ),
    (
        "allocation",
        r"\b(malloc|calloc|realloc|free|_int_malloc|_int_free|_int_realloc|malloc_consolidate|unlink_chunk|sysmalloc|sbrk|brk|operator new|operator delete|__rust_alloc|__rust_dealloc|__rust_realloc|__rdl_alloc|__rdl_dealloc|__rdl_realloc|RawVec|RawVecInner|raw_vec)\b",
    ),
    (
        "copying memory",
        r"\b_*(memcpy|memmove|memset|memcmp|bcmp|mempcpy)(_\w+)?\b",
    ),
    (
        "dynamic linking",
        r"\b(_dl_\w+|do_lookup_x|dl_main|check_match|elf_machine_rela)\b",
    ),
];

/// The rows that changed too little to be listed, and their sum; `None` where there are none.
pub(crate) fn left_out(comparison: &Comparison) -> Option<LeftOut> {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let [reference, last] = comparison.options.sides(runs);
    let mut left_out = LeftOut::default();
    let is_left_out = |change: &&Change| change.is_minor || change.is_chance;
    for change in comparison.changes.iter().filter(is_left_out) {
        let figures = figures::of_row(runs, joined, change.row);
        let has_changed = |figure: &Figure| figure.change(reference, last) != 0;
        if change.is_chance && !figures.cost.iter().any(has_changed) {
            continue;
        }
        left_out.rows += 1;
        for (event, figure) in runs.events.iter().zip(&figures.cost) {
            // This fits: each change is a small share of a total that fits.
            let change = i64::try_from(figure.change(reference, last)).unwrap_or(0);
            if change != 0 {
                *left_out.delta.entry(event.clone()).or_insert(0) += change;
            }
        }
    }
    (left_out.rows > 0).then_some(left_out)
}

/// The sentence on what was left out.
pub(crate) fn of_left_out(runs: &Runs, left_out: &LeftOut, least: Percent) -> String {
    let event = runs.events.first().map_or("", String::as_str);
    let (rows, sum) = rows_and_sum(left_out, event);
    format!(
        "{rows} changed by less than {least}% of the total, together by {sum} {event}; --min-change 0 lists them"
    )
}

/// The sentence on what changed by chance.
pub(crate) fn of_chance(event: &str, left_out: &LeftOut) -> String {
    let (rows, sum) = rows_and_sum(left_out, event);
    format!(
        "{rows} changed by no more than {Z} standard deviations of chance, together by {sum} {event}; --all lists them"
    )
}

fn rows_and_sum(left_out: &LeftOut, event: &str) -> (String, String) {
    let rows = number::plural(left_out.rows.into(), "row", "rows");
    let sum = left_out.delta.get(event).copied().unwrap_or(0);
    (rows, number::signed(sum.into()))
}

/// The sentence on rows of which Massif does not tell by how much they changed.
pub(crate) fn below_threshold(changes: &[Change]) -> Option<String> {
    let is_untold = |change: &&Change| change.status == Status::BelowThreshold;
    let rows = changes.iter().filter(is_untold).count();
    (rows > 0).then(|| {
        format!(
            "of {} a run does not tell all, because it is below Massif's threshold there; with --threshold=0 Massif tells it",
            number::plural(rows as i128, "row", "rows")
        )
    })
}

/// The sentence on rows that changed where all of them are of functions known for noise.
pub(crate) fn likely_noise(comparison: &Comparison) -> Option<String> {
    let changes = &comparison.changes;
    if changes.iter().all(|change| change.status == Status::Same) {
        return None;
    }
    let patterns = NOISE_SOURCES.map(|(_, pattern)| {
        Regex::new(pattern).expect("the patterns are constants, and a test compiles them")
    });
    let mut sources = BTreeSet::new();
    for change in changes {
        if change.status == Status::Same {
            continue;
        }
        if comparison.joined.rows[change.row].of != RecordType::Fn {
            return None;
        }
        let name = change.shown.function.name?;
        let name = comparison.runs.names.symbols.text(name);
        sources.insert(patterns.iter().position(|pattern| pattern.is_match(name))?);
    }
    if sources.is_empty() {
        return None;
    }
    let what: Vec<&str> = sources
        .into_iter()
        .map(|source| NOISE_SOURCES[source].0)
        .collect();
    Some(format!(
        "only functions of {} changed, which vary with hash seeds, addresses and sizes; --before and --after with several runs each would tell",
        what.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare};
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// The note on two runs in which these functions changed.
    fn note(functions: &[&str]) -> Option<String> {
        let stream = |cost: u64| -> String {
            let line = |name: &&str| {
                format!(
                    "{{\"type\":\"fn\",\"fn\":\"{name}\",\"calls\":1,\"cost\":{{\"Ir\":{cost}}}}}\n"
                )
            };
            functions.iter().map(line).collect()
        };
        let mut runs = runs(&[&stream(1), &stream(2)]);
        let joined = join(&mut runs, &options());
        likely_noise(&compare(&runs, &joined, CompareOptions::default()))
    }

    #[test]
    fn noise_is_named_where_nothing_else_changed() {
        let note_of = |functions: &[&str]| {
            let note = note(functions)?;
            let rest = note.strip_prefix("only functions of ")?.to_owned();
            Some(rest.split(" changed").next()?.to_owned())
        };
        assert_eq!(
            note_of(&["<core::hash::sip::Hasher<S> as core::hash::Hasher>::write"]),
            Some("hashing".to_owned())
        );
        assert_eq!(
            note_of(&["_int_malloc", "free", "__memcpy_avx_unaligned_erms"]),
            Some("allocation and copying memory".to_owned())
        );
        assert_eq!(
            note_of(&["_dl_lookup_symbol_x"]),
            Some("dynamic linking".to_owned())
        );
        assert_eq!(note_of(&["free", "demo::work"]), None);
        assert_eq!(note_of(&["freeze", "parse_freeform", "mallocate"]), None);
        assert_eq!(note_of(&[]), None);
    }
}
