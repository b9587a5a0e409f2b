//! Notes on the limits of a comparison: sides that are not fully comparable, and changes that may be noise.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use cg_document::number;
use cg_names::paths::base_name;
use cg_names::rules::{Part, Rules, Strength};
use cg_profile::{Profile, Symbol};
use cg_stream::percent::Percent;
use cg_stream::record::{Count, LeftOut, RecordType, RunRecord, Status, Tool};

use crate::caches;
use crate::compare::{self, Change, Comparison};
use crate::extent;
use crate::figures::{self, Figure};
use crate::join::{ENOUGH_WITH_THEIR_NAMES, exchanged_path};
use crate::leak_kinds;
use crate::noise_source::NoiseSource;
use crate::recorded;
use crate::runs::{Runs, Statistic};
use crate::sampling::Z;

/// Returns a note for each difference in what the sides measured, and how.
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
    note(
        &mut notes,
        runs,
        "have different caches",
        caches::parameters,
    );
    note(&mut notes, runs, "contain different parts", |run| {
        extent::describe_part(run).into_iter().collect()
    });
    let differing: Vec<&str> = (0..runs.events.len())
        .filter(|event| !runs.is_common(*event))
        .map(|event| runs.events[event].as_str())
        .collect();
    if !differing.is_empty() {
        notes.push(format!(
            "not compared: not all runs count {}",
            differing.join(" ")
        ));
    }
    // An incomplete run is reported itself.
    notes.extend(recorded::note(runs).filter(|_| runs.incomplete.is_empty()));
    notes.extend(runs.leak_kinds.notes.iter().cloned());
    notes.extend(medians_of_different_things(runs, rules));
    notes.extend(sums_of_benchmarks(runs));
    notes
}

/// Returns a note if figures are sums over several benchmarks.
fn sums_of_benchmarks(runs: &Runs) -> Option<String> {
    let benchmarks = |profile: &Profile| {
        let labels = profile.runs().iter();
        let labels = labels.filter_map(|run| run.sampling.labels.get("bench"));
        labels.collect::<BTreeSet<_>>().len()
    };
    let sides = runs.sides.iter().filter_map(|(name, files)| {
        let most = runs.profiles[files.clone()].iter().map(benchmarks).max()?;
        (most > 1).then(|| format!("{most} in {name}"))
    });
    let sides: Vec<String> = sides.collect();
    let is_any = !sides.is_empty();
    is_any.then(|| {
        format!(
            "figures are sums over several benchmarks ({}), whose changes can cancel out",
            sides.join(", ")
        )
    })
}

/// Returns a note for each module or crate that was renamed as a whole: the paths by which the names of several functions
/// differ, those of most functions first.
pub(crate) fn renamed_paths(comparison: &Comparison) -> Vec<String> {
    let Comparison { runs, joined, .. } = comparison;
    let text = |name: Option<Symbol>| name.map_or("", |name| runs.names.symbols.text(name));
    let mut count: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for change in &comparison.changes {
        let is_function = joined.rows[change.row].kind == RecordType::Fn;
        if change.status != Status::Renamed || !is_function {
            continue;
        }
        let was = compare::first_key(runs, joined, change.row).and_then(|key| key.function.name);
        let paths = exchanged_path(text(was), text(change.shown.function.name));
        // The types of `<Type as Trait>::method` have their own functions.
        if let Some((from, to)) = paths.filter(|(from, _)| !from.starts_with('<')) {
            *count.entry((from, to)).or_default() += 1;
        }
    }
    let mut paths: Vec<((&str, &str), usize)> = count.into_iter().collect();
    paths.retain(|(_, count)| *count >= ENOUGH_WITH_THEIR_NAMES);
    paths.sort_by_key(|(_, count)| Reverse(*count));
    let paths = paths.into_iter();
    paths
        .map(|((from, to), count)| format!("{from} was renamed to {to}: {count} functions"))
        .collect()
}

/// Returns a message for each side that sums a different number of files than the first side: a missing part would look
/// like an improvement.
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
            format!(
                "{first} is the sum of {}, but {name} is the sum of {others}; --allow-missing accepts this",
                number::plural(files as Count, "file", "files")
            )
        })
        .collect()
}

/// Returns a note if a median is over runs of different programs or benchmarks: their spread is then not noise.
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
        let mut files = profiles
            .iter()
            .map(|profile| profile.runs().iter().map(ran).collect::<Vec<_>>())
            .filter(|ran| !ran.is_empty());
        let first = files.next();
        files.any(|other| Some(&other) != first.as_ref())
    };
    let (name, _) = runs.sides.iter().find(|(_, files)| is_mixed(files))?;
    Some(format!(
        "the files of {name} have different commands or benchmarks, so their median and noise are not meaningful; --statistic sum adds up the files"
    ))
}

/// The events, record types and tools of a side. Fragments are left out, because they do not declare their events.
struct SideFacts<'a> {
    name: &'a str,
    events: BTreeSet<&'a str>,
    types: BTreeSet<RecordType>,
    tools: BTreeSet<&'a Tool>,
}

/// Returns an error message if the runs have no events or no record types in common.
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
    /// Returns an error message if the sides have no events or no record types in common.
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
            // Two runs without findings are comparable only if their tools look for the same types.
            types = [self, other].map(|side| {
                side.tools
                    .iter()
                    .flat_map(|tool| tool_types(tool))
                    .collect()
            });
        }
        // A run without records may have found nothing, if the same tool wrote it.
        let has_both = !types.iter().any(BTreeSet::is_empty);
        let is_of_other_tool = types[0] != types[1] && self.tools.is_disjoint(&other.tools);
        ((has_both || is_of_other_tool) && types[0].is_disjoint(&types[1])).then(|| {
            let [own, others] = types.map(|types| match types.is_empty() {
                true => "none".to_owned(),
                false => Vec::from_iter(types.iter().map(|kind| kind.name())).join(", "),
            });
            format!(
                "nothing to compare: {} has records of type {own}, {} has records of type {others}",
                names.0, names.1
            )
        })
    }
}

/// Returns the record types that runs of a tool can have; empty for unknown tools.
fn tool_types(tool: &Tool) -> Vec<RecordType> {
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

/// Returns the record types of all runs, including types of findings that a tool looked for and did not find.
pub(crate) fn possible_types(runs: &Runs) -> BTreeSet<RecordType> {
    let mut types: BTreeSet<RecordType> = runs.profiles.iter().flat_map(Profile::types).collect();
    for run in runs.profiles.iter().flat_map(Profile::runs) {
        types.extend(leak_kinds::looks_for_findings(run).then_some(RecordType::Error));
        types.extend((run.tool == Some(Tool::Memcheck)).then_some(RecordType::Leak));
    }
    types
}

/// Adds a note if two sides have different values. Ignores sides without values.
fn note(
    notes: &mut Vec<String>,
    runs: &Runs,
    what: &str,
    values: impl Fn(&RunRecord) -> BTreeSet<String>,
) {
    let side_values = |(name, files): &'_ (String, Range<usize>)| {
        let records = runs.profiles[files.clone()].iter().flat_map(Profile::runs);
        (name.clone(), records.flat_map(&values).collect())
    };
    let sides = runs.sides.iter().map(side_values);
    let sides: Vec<(String, BTreeSet<String>)> = sides
        .filter(|(_, values): &(_, BTreeSet<_>)| !values.is_empty())
        .collect();
    let Some(((first_name, first), rest)) = sides.split_first() else {
        return;
    };
    if let Some((name, other)) = rest.iter().find(|(_, values)| values != first) {
        let list = |values: &BTreeSet<String>| Vec::from_iter(values.iter().cloned()).join(", ");
        notes.push(format!(
            "the runs {what}: {} ({first_name}), {} ({name})",
            list(first),
            list(other)
        ));
    }
}

/// Returns the command without the directory of its program, and without build details in the program's name.
fn normalised_command(command: &str, rules: &Rules) -> String {
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let (program, _) = rules.apply(program, Part::Object, Strength::Build);
    format!("{} {arguments}", base_name(&program))
        .trim_end()
        .to_owned()
}

/// Returns the number and the sum of the rows that changed too little to be written; `None` if there are none.
pub(crate) fn left_out(comparison: &Comparison) -> Option<LeftOut> {
    let (runs, joined) = (comparison.runs, comparison.joined);
    let [reference, last] = comparison.options.sides(runs);
    let mut left_out = LeftOut::default();
    let mut sums = vec![None; runs.events.len()];
    let is_left_out = |change: &&Change| change.is_minor || change.is_chance;
    for change in comparison.changes.iter().filter(is_left_out) {
        let costs = figures::row_costs(runs, joined, change.row);
        let has_changed = |figure: &Figure| figure.change(reference, last) != 0;
        if change.is_chance && !costs.iter().any(has_changed) {
            continue;
        }
        left_out.rows += 1;
        for (sum, figure) in sums.iter_mut().zip(&costs) {
            // This fits, because each change is a small share of a total that fits.
            let change = i64::try_from(figure.change(reference, last)).unwrap_or(0);
            if change != 0 {
                *sum = Some(sum.unwrap_or(0) + change);
            }
        }
    }
    for (event, sum) in runs.events.iter().zip(sums) {
        left_out
            .delta
            .extend(sum.map(|sum: i64| (event.clone(), sum)));
    }
    (left_out.rows > 0).then_some(left_out)
}

/// Returns the note on rows that changed too little to be written.
pub(crate) fn left_out_note(runs: &Runs, left_out: &LeftOut, least: Percent) -> String {
    let event = runs.events.first().map_or("", String::as_str);
    let (rows, sum) = rows_and_sum(left_out, event);
    format!(
        "not shown: {rows} that changed by less than {least}% of the total ({sum} {event} together); --min-change 0 shows all rows"
    )
}

/// Returns the note on rows that changed by chance.
pub(crate) fn chance_note(event: &str, left_out: &LeftOut) -> String {
    let (rows, sum) = rows_and_sum(left_out, event);
    format!(
        "not shown: {rows} that changed by at most {Z} standard deviations of chance ({sum} {event} together); --all shows all rows"
    )
}

fn rows_and_sum(left_out: &LeftOut, event: &str) -> (String, String) {
    let rows = number::plural(left_out.rows.into(), "row", "rows");
    let sum = left_out.delta.get(event).copied().unwrap_or(0);
    (rows, number::signed(sum.into()))
}

/// Returns the note on rows that are below Massif's threshold in a run.
pub(crate) fn below_threshold(changes: &[Change]) -> Option<String> {
    let is_below = |change: &&Change| change.status == Status::BelowThreshold;
    let (rows, are_below) = match changes.iter().filter(is_below).count() {
        0 => return None,
        1 => ("1 row".to_owned(), "is incomplete because it is"),
        rows => (
            number::plural(rows as i128, "row", "rows"),
            "are incomplete because they are",
        ),
    };
    Some(format!(
        "{rows} {are_below} below Massif's threshold in one run; rerun Massif with --threshold=0"
    ))
}

/// Returns a note if all rows that changed are functions whose cost is known to vary.
pub(crate) fn likely_noise(comparison: &Comparison) -> Option<String> {
    let changes = &comparison.changes;
    if changes.iter().all(|change| change.status == Status::Same) {
        return None;
    }
    let mut sources = BTreeSet::new();
    for change in changes {
        if change.status == Status::Same {
            continue;
        }
        if comparison.joined.rows[change.row].kind != RecordType::Fn {
            return None;
        }
        let name = change.shown.function.name?;
        let name = comparison.runs.names.symbols.text(name);
        sources.insert(NoiseSource::from_name(name)?);
    }
    if sources.is_empty() {
        return None;
    }
    let what: Vec<&str> = sources.into_iter().map(NoiseSource::work).collect();
    Some(format!(
        "only functions for {} changed, and their cost varies with hash seeds, addresses and sizes; compare several runs with --before and --after",
        what.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare};
    use crate::join::{join, tests::options};
    use crate::runs::tests::runs;

    /// Returns the note on two runs in which these functions changed.
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
    fn source_of_noise_is_named_if_nothing_else_changed() {
        let named_sources = |functions: &[&str]| {
            let note = note(functions)?;
            let rest = note.strip_prefix("only functions for ")?.to_owned();
            Some(rest.split(" changed").next()?.to_owned())
        };
        assert_eq!(
            named_sources(&["<core::hash::sip::Hasher<S> as core::hash::Hasher>::write"]),
            Some("hashing".to_owned())
        );
        assert_eq!(
            named_sources(&["_int_malloc", "free", "__memcpy_avx_unaligned_erms"]),
            Some("allocation and copying memory".to_owned())
        );
        assert_eq!(
            named_sources(&["_dl_lookup_symbol_x"]),
            Some("dynamic linking".to_owned())
        );
        assert_eq!(named_sources(&["free", "demo::work"]), None);
        assert_eq!(
            named_sources(&["freeze", "parse_freeform", "mallocate"]),
            None
        );
        assert_eq!(named_sources(&[]), None);
    }

    #[test]
    fn sums_of_different_numbers_of_files_are_reported_in_both_directions() {
        let messages = |statistic: Statistic, files: [usize; 3]| {
            let mut runs = runs(&["", "", ""]);
            runs.statistic = statistic;
            runs.files_read = files.to_vec();
            unequal_sums(&runs)
        };
        assert_eq!(messages(Statistic::Sum, [2, 2, 2]), [""; 0]);
        assert_eq!(messages(Statistic::Median, [2, 1, 3]), [""; 0]);
        let both = messages(Statistic::Sum, [2, 1, 3]);
        let starts = [
            "a is the sum of 2 files, but b is the sum of 1",
            "a is the sum of 2 files, but c is the sum of 3",
        ];
        assert_eq!(both.len(), 2);
        assert!(
            both.iter()
                .zip(starts)
                .all(|(message, start)| message.starts_with(start))
        );
    }

    /// Returns a run of a tool with these events and a record.
    fn run(tool: &str, event: &str, record: &str, fields: &str) -> String {
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"tool\":\"{tool}\",\"events\":[\"{event}\"],\"total\":{{}}{fields}}}\n{record}{{\"type\":\"end\",\"records\":0}}\n"
        )
    }

    const FUNCTION: &str = "{\"type\":\"fn\",\"fn\":\"f\",\"cost\":{}}\n";

    #[test]
    fn runs_without_common_events_or_record_types_are_not_comparable() {
        let heap = "{\"type\":\"heap\",\"fn\":\"f\",\"cost\":{}}\n";
        let callgrind = run("callgrind", "Ir", FUNCTION, "");
        for (other, is_comparable) in [
            (run("callgrind", "Ir", FUNCTION, ""), true),
            (run("callgrind", "Dr", FUNCTION, ""), false),
            (run("massif", "Ir", heap, ""), false),
            // The same tool may have found nothing.
            (run("callgrind", "Ir", "", ""), true),
            (FUNCTION.to_owned(), true),
        ] {
            for streams in [[&callgrind, &other], [&other, &callgrind]] {
                let why = why_meaningless(&runs(&streams.map(String::as_str)));
                assert_eq!(why.is_none(), is_comparable, "{other}: {why:?}");
            }
        }
    }

    #[test]
    fn caches_differ_only_between_runs_that_have_their_parameters() {
        let caches = |size: &str| {
            let fields = format!(",\"desc\":{{\"I1 cache\":\"{size}\",\"Timerange\":\"{size}\"}}");
            run("callgrind", "I1mr", FUNCTION, &fields)
        };
        let (small, large, unknown) = (
            caches("1"),
            caches("2"),
            run("callgrind", "I1mr", FUNCTION, ""),
        );
        assert!(caches::have_different_caches(&runs(&[&small, &large])));
        assert!(!caches::have_different_caches(&runs(&[&small, &small])));
        assert!(!caches::have_different_caches(&runs(&[&small, &unknown])));
        assert_eq!(
            caches::find_incomparable_cache_event(&runs(&[&small, &large])),
            Some("I1mr")
        );
        assert_eq!(
            caches::find_incomparable_cache_event(&runs(&[&small, &unknown])),
            None
        );
    }
}
