//! The summary of several comparisons in one stream, from a directory of pairs or from `cat`.

use cg_collections::maps::OrderedMap;
use cg_stream::record::{DiffSummary, RunRecord};

use super::benchmarks::name_of;

/// Adds up the summaries in the `run` records of diffs. A limit that one comparison breaks is broken, and its sentence gets
/// the name of the last run or, if all comparisons have the same runs, of the benchmark.
pub(super) fn sum_summaries(diffs: &[&RunRecord]) -> DiffSummary {
    let Some((first, others)) = diffs.split_first() else {
        return DiffSummary::default();
    };
    let have_same_runs = others.iter().all(|run| run.runs == first.runs);
    let have_same_name = others.iter().all(|run| name_of(run) == name_of(first));
    let name_limits = |summary: &mut DiffSummary, run: &RunRecord| match run.runs.last() {
        Some(last) if !have_same_runs => name_limits(summary, last),
        _ if !have_same_name => name_limits(summary, name_of(run)),
        _ => {}
    };
    let mut sum = DiffSummary::from_run(first);
    name_limits(&mut sum, first);
    let mut notes = std::mem::take(&mut sum.notes);
    for run in others {
        let mut other = DiffSummary::from_run(run);
        name_limits(&mut other, run);
        sum.inclusive |= other.inclusive;
        // Each comparison numbers its own cycles.
        sum.cycles.clear();
        if sum.sampling != other.sampling {
            sum.sampling = None;
        }
        for (status, rows) in other.rows {
            *sum.rows.entry(status).or_insert(0) += rows;
        }
        for (rule, rows) in other.joined {
            *sum.joined.entry(rule).or_insert(0) += rows;
        }
        sum.matched += other.matched;
        sum.merged += other.merged;
        if sum.statistic != other.statistic || sum.files != other.files {
            sum.statistic = None;
            sum.files.clear();
        }
        notes.extend(other.notes);
        add_sentences(&mut sum.errors, other.errors);
        if let Some(broken) = other.broken_limits {
            add_sentences(sum.broken_limits.get_or_insert_default(), broken);
        }
    }
    sum.notes = match others.is_empty() {
        true => notes,
        false => combine(notes),
    };
    sum
}

/// Combines notes that differ only in their numbers: the first one represents the others.
fn combine(notes: Vec<String>) -> Vec<String> {
    let mut groups: OrderedMap<String, (String, usize)> = OrderedMap::default();
    for note in notes {
        let (first, others) = groups
            .entry(without_numbers(&note))
            .or_insert((note.clone(), 0));
        *others += usize::from(*first != note);
    }
    let groups = groups.into_values();
    let note = |(first, others): (String, usize)| match others {
        0 => first,
        1 => format!("{first} (1 more comparison has such a note)"),
        _ => format!("{first} ({others} more comparisons have such a note)"),
    };
    groups.map(note).collect()
}

/// Returns a sentence without its numbers and the plural of `row`.
fn without_numbers(sentence: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '+' | '-' | ',' | '.');
    let rest: String = sentence
        .chars()
        .filter(|letter| !is_part(*letter))
        .collect();
    rest.replace(" rows ", " row ")
}

/// Returns the compared runs: a chain of runs, or the first of several chains and the number of the others.
pub(super) fn title(diffs: &[&RunRecord], runs: &[String]) -> String {
    let mut chains: Vec<&[String]> = Vec::new();
    for run in diffs {
        if !chains.contains(&run.runs.as_slice()) {
            chains.push(&run.runs);
        }
    }
    match chains.as_slice() {
        [first, _, ..] => format!("{} and {} more", first.join(" → "), chains.len() - 1),
        _ => runs.join(" → "),
    }
}

fn name_limits(summary: &mut DiffSummary, name: &str) {
    for sentence in summary.broken_limits.iter_mut().flatten() {
        *sentence = format!("{name}: {sentence}");
    }
}

/// Appends sentences that are not in the list yet.
fn add_sentences(sum: &mut Vec<String>, more: Vec<String>) {
    for sentence in more {
        if !sum.contains(&sentence) {
            sum.push(sentence);
        }
    }
}
