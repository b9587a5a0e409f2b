//! What several comparisons in one stream come to as a whole: those of a directory of pairs, or of `cat`.

use cg_stream::record::{DiffSummary, RunRecord};

/// The summaries of the `run` records of diffs added up. A limit that one of them breaks is broken, and is told with
/// the run that breaks it.
pub(super) fn of(diffs: &[&RunRecord]) -> DiffSummary {
    let Some((first, others)) = diffs.split_first() else {
        return DiffSummary::default();
    };
    let is_of_one = others.iter().all(|run| run.runs == first.runs);
    let mut sum = DiffSummary::of(first);
    if !is_of_one {
        name_limits(&mut sum, first);
    }
    for run in others {
        let mut other = DiffSummary::of(run);
        if !is_of_one {
            name_limits(&mut other, run);
        }
        sum.inclusive |= other.inclusive;
        if sum.sampling != other.sampling {
            sum.sampling = None;
        }
        for (status, rows) in other.rows {
            *sum.rows.entry(status).or_insert(0) += rows;
        }
        for (rule, rows) in other.joined {
            *sum.joined.entry(rule).or_insert(0) += rows;
        }
        sum.merged += other.merged;
        if sum.statistic != other.statistic || sum.files != other.files {
            sum.statistic = None;
            sum.files.clear();
        }
        add_sentences(&mut sum.notes, other.notes);
        add_sentences(&mut sum.troubles, other.troubles);
        if let Some(broken) = other.broken_limits {
            add_sentences(sum.broken_limits.get_or_insert_default(), broken);
        }
    }
    sum
}

/// What was compared: a chain of runs, or the first of several chains and how many there are.
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
    let Some(name) = run.runs.last() else {
        return;
    };
    for sentence in summary.broken_limits.iter_mut().flatten() {
        *sentence = format!("{name}: {sentence}");
    }
}

/// Appends what is not said yet.
fn add_sentences(sum: &mut Vec<String>, more: Vec<String>) {
    for sentence in more {
        if !sum.contains(&sentence) {
            sum.push(sentence);
        }
    }
}
