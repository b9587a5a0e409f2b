//! Limits on comparisons of small streams. The figures were computed by hand.

use cg_parse::Snapshots;
use std::sync::{Arc, Mutex};

use super::*;
use crate::compare::{CompareOptions, compare};
use crate::join::{JoinOptions, join, tests::options};
use crate::runs::tests::{divide_by_chains, runs, sides};

/// Converts functions `NAME CALLS SELF`, optionally with their inclusive cost, to a stream. Commas separate functions.
fn functions(text: &str) -> String {
    let mut stream = String::new();
    for function in text.split(", ") {
        let words: Vec<&str> = function.split(' ').collect();
        let incl = words
            .get(3)
            .map(|incl| format!(",\"incl\":{{\"Ir\":{incl}}}"));
        stream += &format!(
            "{{\"type\":\"fn\",\"fn\":\"{}\",\"calls\":{},\"cost\":{{\"Ir\":{}}}{}}}\n",
            words[0],
            words[1],
            words[2],
            incl.unwrap_or_default()
        );
    }
    stream
}

/// Adds a `run` record with these events, whose totals are 0, and an `end` record.
fn framed(tool: &str, events: &[&str], records: &str) -> String {
    let events: Vec<String> = events.iter().map(|event| format!("\"{event}\"")).collect();
    format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"{tool}\",\"events\":[{}],\"total\":{{}}}}\n{records}{{\"type\":\"end\",\"records\":{}}}\n",
        events.join(","),
        records.lines().count()
    )
}

/// The result of judging limits.
struct Found {
    broken: Vec<String>,
    judged: Vec<Judged>,
    messages: Vec<String>,
    has_errors: bool,
}

fn judge_with(
    mut runs: Runs,
    options: &JoinOptions,
    how: CompareOptions,
    limits: &[&str],
) -> Found {
    let joined = join(&mut runs, options);
    let comparison = compare(&runs, &joined, how);
    let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let messages = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&messages);
    let mut diagnostics =
        Diagnostics::to(move |message, _| sink.lock().unwrap().push(message.to_owned()));
    let found = judge(&comparison, &limits, &mut diagnostics);
    Found {
        broken: found.broken,
        judged: found.judged,
        messages: messages.lock().unwrap().clone(),
        has_errors: diagnostics.has_errors(),
    }
}

fn judge_runs(runs: Runs, limits: &[&str]) -> Found {
    judge_with(runs, &options(), CompareOptions::default(), limits)
}

/// Returns the messages about broken limits between runs with one file each.
fn broken(texts: &[&str], limits: &[&str]) -> Vec<String> {
    let streams: Vec<String> = texts.iter().map(|text| functions(text)).collect();
    let streams: Vec<&str> = streams.iter().map(String::as_str).collect();
    let found = judge_runs(runs(&streams), limits);
    assert_eq!(found.messages, [""; 0]);
    found.broken
}

#[test]
fn worst_limit_names_only_the_function_that_exceeds_it_most() {
    let (old, new) = ("f 1 10, g 1 10, h 1 10", "f 1 20, g 1 40, h 1 30");
    assert_eq!(
        broken(&[old, new], &["worst.Ir>+5"]),
        ["worst.Ir>+5: g rose from 10 to 40 (+30, +300.00%)"]
    );
    assert_eq!(
        broken(&[old, new], &["worst.Ir[^[fh]$]>+5"]),
        ["worst.Ir[^[fh]$]>+5: h rose from 10 to 30 (+20, +200.00%)"]
    );
    // For a lower limit, the greatest decrease is the worst.
    assert_eq!(
        broken(&[new, old], &["worst.Ir<-5"]),
        ["worst.Ir<-5: g fell from 40 to 10 (-30, -75.00%)"]
    );
}

#[test]
fn first_name_is_the_worst_of_functions_that_exceed_a_limit_equally() {
    assert_eq!(
        broken(&["g 1 10, e 1 10", "g 1 20, e 1 20"], &["worst.Ir>+5"]),
        ["worst.Ir>+5: e rose from 10 to 20 (+10, +100.00%)"]
    );
}

#[test]
fn functions_that_break_a_limit_are_listed_from_the_worst_on() {
    let limit = "Ir[.]>+0";
    assert_eq!(
        broken(
            &["f 1 10, g 1 10, h 1 10", "f 1 11, g 1 10, h 1 12"],
            &[limit]
        ),
        [
            "Ir[.]>+0: h rose from 10 to 12 (+2, +20.00%)",
            "Ir[.]>+0: f rose from 10 to 11 (+1, +10.00%)",
        ]
    );
}

#[test]
fn more_than_ten_functions_that_break_a_limit_are_counted() {
    let run = |functions: usize, cost: u64| {
        let functions = (1..=functions).map(|number| format!("f{number:02} 1 {cost}"));
        functions.collect::<Vec<_>>().join(", ")
    };
    let ten = broken(&[&run(10, 5), &run(10, 6)], &["Ir[^f]>+0"]);
    assert_eq!(ten.len(), 10);
    let eleven = broken(&[&run(11, 5), &run(11, 6)], &["Ir[^f]>+0"]);
    assert_eq!(
        eleven[10..],
        ["Ir[^f]>+0: 1 more function breaks this limit"]
    );
    let twelve = broken(&[&run(12, 5), &run(12, 6)], &["Ir[^f]>+0"]);
    assert_eq!(twelve[..10], ten);
    assert_eq!(
        twelve[10..],
        ["Ir[^f]>+0: 2 more functions break this limit"]
    );
}

#[test]
fn rise_between_two_runs_is_a_fall_in_the_other_direction() {
    let (a, b) = ("f 1 10, g 1 70", "f 1 30, g 1 65");
    for (limit, mirrored, is_broken) in [
        ("Ir[f]>+19", "Ir[f]<-19", true),
        ("Ir[f]>+20", "Ir[f]<-20", false),
        ("Ir[f]>=+20", "Ir[f]<=-20", true),
        ("Ir[g]>+0", "Ir[g]<-0", false),
        ("Ir>+14", "Ir<-14", true),
        ("Ir>+15", "Ir<-15", false),
    ] {
        assert_eq!(
            broken(&[a, b], &[limit]).len(),
            usize::from(is_broken),
            "{limit}"
        );
        assert_eq!(
            broken(&[b, a], &[mirrored]).len(),
            usize::from(is_broken),
            "{mirrored}"
        );
    }
}

#[test]
fn limit_on_any_run_judges_runs_between_the_first_and_the_last() {
    let texts = ["f 1 10", "f 1 20", "f 1 10"];
    assert_eq!(
        broken(&texts, &["any.Ir[f]>+5"]),
        ["any.Ir[f]>+5: f rose from 10 to 20 (+10, +100.00%), in b"]
    );
    assert_eq!(broken(&texts, &["Ir[f]>+5"]), [""; 0]);
}

#[test]
fn each_run_is_compared_with_the_previous_run_if_asked_to() {
    let streams = ["f 1 10", "f 1 20", "f 1 30"].map(functions);
    let found = |is_to_previous: bool, limit: &str| {
        let how = CompareOptions {
            is_to_previous,
            ..CompareOptions::default()
        };
        let runs = runs(&streams.each_ref().map(String::as_str));
        judge_with(runs, &options(), how, &[limit]).broken.len()
    };
    assert_eq!(
        [false, true].map(|previous| found(previous, "Ir[f]>+15")),
        [1, 0]
    );
    assert_eq!(
        [false, true].map(|previous| found(previous, "any.Ir[f]>+5")),
        [2, 2]
    );
}

#[test]
fn function_that_one_run_lacks_has_a_cost_of_0_there() {
    assert_eq!(
        broken(
            &["f 1 10, main 1 5", "main 1 5"],
            &["Ir[f]<-9", "Ir[f]<-10"]
        ),
        ["Ir[f]<-9: f is gone (it was 10)"]
    );
    assert_eq!(
        broken(
            &["main 1 5", "f 1 10, main 1 5"],
            &["Ir[f]>+9", "Ir[f]>+10"]
        ),
        ["Ir[f]>+9: f is new with 10"]
    );
}

#[test]
fn total_of_calls_is_limited_too() {
    assert_eq!(
        broken(
            &["f 1 10, g 2 10", "f 2 10, g 2 10"],
            &["calls>+0", "calls[g]>+0"]
        ),
        ["calls>+0: the total rose from 3 to 4 (+1, +33.33%)"]
    );
}

#[test]
fn limit_reports_the_judged_part() {
    let (old, new) = (functions("f 1 10"), functions("f 1 20"));
    for (limit, judged) in [
        ("Ir[f]>+100", Judged::Fully),
        ("Ir[nowhere]>+1", Judged::Unmatched),
        ("Dr[f]>+1", Judged::NotCounted),
        // Without inclusive cost in the runs, nothing can be judged.
        ("incl.Ir[f]>+1", Judged::NotCounted),
    ] {
        let found = judge_runs(runs(&[&old, &new]), &[limit]);
        assert_eq!(found.judged, [judged], "{limit}");
        assert!(found.broken.is_empty() && !found.has_errors);
    }
}

#[test]
fn limit_on_an_event_that_one_run_does_not_count_is_an_error() {
    let old = framed("callgrind", &["Ir"], &functions("f 1 10"));
    let new = framed("callgrind", &["Ir", "Dr"], &functions("f 1 20"));
    for streams in [[&old, &new], [&new, &old]] {
        let found = judge_runs(runs(&streams.map(String::as_str)), &["Dr[f]>+1"]);
        assert!(found.has_errors && found.broken.is_empty());
        assert!(found.messages[0].contains("Dr"), "{:?}", found.messages);
    }
}

#[test]
fn change_within_the_noise_of_several_files_is_excused() {
    let found = |new: u64| {
        let [low, high] = ["f 1 100", "f 1 104"].map(functions);
        let new = functions(&format!("f 1 {new}"));
        judge_runs(sides(&[&[&low, &high], &[&new]]), &["Ir[f]>+0"])
    };
    // The median of the old files is 100, and their spread is 4.
    let within = found(104);
    assert!(within.broken.is_empty() && !within.has_errors);
    assert!(
        within.messages[0].contains("within noise"),
        "{:?}",
        within.messages
    );
    let beyond = found(105);
    assert_eq!(beyond.broken.len(), 1);
    assert_eq!(beyond.messages, [""; 0]);
}

#[test]
fn unknown_figure_of_a_sum_is_an_error() {
    // Without calls, it is unknown how much of the inclusive cost both pieces share.
    let old = functions("f 1 40 40, f.part.0 1 11 11");
    let found = judge_runs(runs(&[&old, &functions("f 1 51 51")]), &["incl.Ir[^f]>+1"]);
    assert!(found.has_errors && found.broken.is_empty());
    assert!(
        found.messages[0].contains("--exact"),
        "{:?}",
        found.messages
    );
}

/// Returns a stream of Massif: a snapshot for each level, with its mark.
fn massif(levels: &[(u64, &str)]) -> String {
    let snapshot = |(number, (bytes, detail)): (usize, &(u64, &str))| {
        format!(
            "{{\"type\":\"snapshot\",\"snapshot\":{number},\"time\":{number},\"heap_bytes\":{bytes},\"extra_bytes\":1,\"stacks_bytes\":0,\"detail\":\"{detail}\"}}\n"
        )
    };
    let snapshots: String = levels.iter().enumerate().map(snapshot).collect();
    framed("massif", &["bytes"], &snapshots)
}

#[test]
fn level_of_the_marked_peak_is_limited_even_if_another_snapshot_is_larger() {
    let marked = massif(&[(100, "detailed"), (90, "peak"), (10, "empty")]);
    let found = |stream: &str, wanted: Snapshots| {
        let mut runs = runs(&[stream, stream]);
        runs.snapshots = vec![wanted; 2];
        judge_runs(runs, &["heap_bytes>0"]).broken
    };
    let is = |bytes: u64| [format!("heap_bytes>0: the total is {bytes}")];
    assert_eq!(found(&marked, Snapshots::Peak), is(90));
    assert_eq!(found(&marked, Snapshots::Number(0)), is(100));
    // Without a mark, the largest snapshot is the peak.
    let unmarked = massif(&[(10, "empty"), (100, "detailed"), (90, "detailed")]);
    assert_eq!(found(&unmarked, Snapshots::Peak), is(100));
}

#[test]
fn bytes_below_massifs_threshold_leave_a_limit_open() {
    let heap = |fields: &str, bytes: u64, stack: &str| {
        format!(
            "{{\"type\":\"heap\",{fields}\"snapshot\":1,\"peak\":true,\"cost\":{{\"bytes\":{bytes}}},\"stack\":[{stack}]}}\n"
        )
    };
    let pool = "{\"fn\":\"pool\",\"line\":8}";
    let old = heap("\"fn\":\"load\",", 900, "{\"fn\":\"load\",\"line\":3}")
        + &heap("\"fn\":\"pool\",", 15, pool);
    // Two places with 21 bytes together are below the threshold, and pool may be one of them.
    let new = heap("\"fn\":\"load\",", 900, "{\"fn\":\"load\",\"line\":3}")
        + &heap("\"places\":2,", 21, "");
    let of_heap = JoinOptions {
        types: vec![RecordType::Heap],
        ..options()
    };
    let found = |streams: [&str; 2], limit: &str| {
        judge_with(
            runs(&streams),
            &of_heap,
            CompareOptions::default(),
            &[limit],
        )
    };
    for (streams, limit, is_open, is_broken) in [
        // pool has from 0 to 21 bytes in the new run.
        ([&old[..], &new], "bytes[pool]>+5", true, false),
        ([&old, &new], "bytes[pool]>+6", false, false),
        ([&old, &new], "bytes[pool]<-14", true, false),
        // In the other direction, it rises by at most 15 and falls by at most 6.
        ([&new, &old], "bytes[pool]>+14", true, false),
        ([&new, &old], "bytes[pool]>+15", false, false),
        ([&new, &old], "bytes[pool]>-7", false, true),
        // Places that both runs show are exact.
        ([&old, &new], "bytes[load]>+0", false, false),
    ] {
        let found = found(streams, limit);
        assert_eq!(found.has_errors, is_open, "{limit}: {:?}", found.messages);
        assert_eq!(found.broken.len(), usize::from(is_broken), "{limit}");
    }
}

#[test]
fn events_of_caches_are_misses_and_hits() {
    for event in ["I1mr", "D1mw", "ILmr", "LLhits", "RamHits", "AcCost1"] {
        assert!(caches::is_cache_event(event), "{event}");
    }
    for event in ["Ir", "Dr", "Dw", "Bc", "bytes"] {
        assert!(!caches::is_cache_event(event), "{event}");
    }
}

#[test]
fn bound_of_an_inclusive_cost_decides_only_limits_above_it() {
    // `f` may be entered while it is active: its code is in two places, and calls something.
    let chain = |stack: &str, own: u64, incl: u64| {
        format!(
            "{{\"type\":\"inline\",\"fn\":\"f\",\"cost\":{{\"Ir\":{own}}},\"incl\":{{\"Ir\":{incl}}},\"stack\":[{{\"fn\":\"f\"}}{stack}]}}\n"
        )
    };
    let text = chain("", 30, 60) + &chain(",{\"fn\":\"main\"}", 10, 90);
    for (limit, is_judged) in [
        ("incl.Ir[^f$]>150", true),
        ("incl.Ir[^f$]>149", false),
        // The cost itself may be 0, and may have risen.
        ("incl.Ir[^f$]>+5%", false),
        ("Ir[^f$]>40", true),
    ] {
        let mut runs = runs(&[&text, &text]);
        divide_by_chains(&mut runs);
        let found = judge_runs(runs, &[limit]);
        assert_eq!(found.broken, [""; 0], "{limit}");
        assert_eq!(found.has_errors, !is_judged, "{limit} {:?}", found.messages);
        if !is_judged {
            let message = &found.messages[0];
            assert!(
                message.contains("f was at most 150 and is at most 150"),
                "{message}"
            );
        }
    }
}
