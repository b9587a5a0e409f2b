//! The summary of several comparisons in one stream, from a directory of pairs or from `cat`.

use cg_stream::record::{DiffSummary, RunRecord};

use super::benchmarks::name_of;

/// Adds up the summaries in the `run` records of diffs. A limit that one comparison breaks is broken, and its sentence gets
/// the name of the benchmark, or of the last run.
pub(super) fn sum_summaries(diffs: &[&RunRecord]) -> DiffSummary {
    let Some((first, others)) = diffs.split_first() else {
        return DiffSummary::default();
    };
    let is_same = |run: &RunRecord| run.runs == first.runs && name_of(run) == name_of(first);
    let is_one_comparison = others.iter().all(|run| is_same(run));
    let mut sum = DiffSummary::from_run(first);
    if !is_one_comparison {
        name_limits(&mut sum, first);
    }
    for run in others {
        let mut other = DiffSummary::from_run(run);
        if !is_one_comparison {
            name_limits(&mut other, run);
        }
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
        add_sentences(&mut sum.notes, other.notes);
        add_sentences(&mut sum.errors, other.errors);
        if let Some(broken) = other.broken_limits {
            add_sentences(sum.broken_limits.get_or_insert_default(), broken);
        }
    }
    sum
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

fn name_limits(summary: &mut DiffSummary, run: &RunRecord) {
    let name = name_of(run);
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
