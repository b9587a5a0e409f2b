use cg_stream::record::Status;

use super::*;
use crate::compare::{self, CompareOptions};
use crate::join::{join, tests::options};
use crate::runs::tests::sides;

/// Returns a stream of functions with their samples, with additional fields in the `run` record.
fn run(functions: &[(&str, u64)], fields: &str) -> String {
    let total: u64 = functions.iter().map(|(_, samples)| samples).sum();
    let mut text = format!(
        "{{\"type\":\"run\",\"stream\":1,\"events\":[\"samples\"],\"total\":{{\"samples\":{total}}}{fields}}}\n"
    );
    for (name, samples) in functions {
        text += &format!(
            "{{\"type\":\"fn\",\"fn\":\"{name}\",\"cost\":{{\"samples\":{samples}}},\"incl\":{{\"samples\":{samples}}}}}\n"
        );
    }
    text + "{\"type\":\"end\",\"records\":0}\n"
}

fn runs(texts: &[&[&str]]) -> Runs {
    let mut runs = sides(texts);
    runs.are_sampled = true;
    runs
}

/// Compares the first side with the last. Returns the status of each function, and its z in hundredths.
fn changes(texts: &[&[&str]], shares: Shares) -> Vec<(String, Status, i64)> {
    let mut runs = runs(texts);
    let joined = join(&mut runs, &options());
    let sampling = Sampling::from_runs(&runs, shares).unwrap();
    let options = CompareOptions {
        sampling: Some(&sampling),
        ..CompareOptions::default()
    };
    let comparison = compare::compare(&runs, &joined, options);
    let mut changes: Vec<_> = comparison
        .changes
        .iter()
        .map(|change| {
            let name = change.shown.function.name.unwrap();
            let name = runs.names.symbols.text(name).to_owned();
            let z = sampling
                .row_figure(&runs, &joined, change.row, sampling.event(), false)
                .z(0, runs.sides.len() - 1);
            (name, change.status, (z * 100.0).round() as i64)
        })
        .collect();
    changes.sort();
    changes
}

fn row(name: &str, status: Status, z: i64) -> (String, Status, i64) {
    (name.to_owned(), status, z)
}

#[test]
fn counts_change_only_beyond_three_standard_deviations() {
    use Status::{Added, Changed, Removed, Same};
    // √(100 + 145) = 15.65, 45 / 15.65 = 2.8749; √(100 + 155) = 15.97, 55 / 15.97 = 3.444.
    // From 0 to 9 samples is 9 / √9 = 3 deviations; from 0 to 10 samples is 3.16.
    let old = run(
        &[("a", 100), ("b", 155), ("c", 9), ("d", 10), ("rest", 1000)],
        "",
    );
    let new = run(
        &[("a", 145), ("b", 100), ("e", 10), ("f", 9), ("rest", 1010)],
        "",
    );
    assert_eq!(
        changes(&[&[&old], &[&new]], Shares::Auto),
        [
            row("a", Same, 287),
            row("b", Changed, -344),
            row("c", Same, -300),
            row("d", Removed, -316),
            row("e", Added, 316),
            row("f", Same, 300),
            row("rest", Same, 22),
        ]
    );
}

#[test]
fn shares_are_compared_if_totals_or_durations_differ() {
    use Status::{Changed, Same};
    // The new run has twice the samples. `a` keeps its share of 10%. `b` falls from 30% to 20%: p = 700 / 3000, the standard
    // deviation is √(p (1 − p) (1/1000 + 1/2000)) = 0.016382, and −0.1 / 0.016382 = −6.10.
    let old = run(&[("a", 100), ("b", 300), ("c", 600)], "");
    let new = run(&[("a", 200), ("b", 400), ("c", 1400)], "");
    let expected = [
        row("a", Same, 0),
        row("b", Changed, -610),
        row("c", Changed, 548),
    ];
    assert_eq!(changes(&[&[&old], &[&new]], Shares::Auto), expected);
    // As counts, all rows changed.
    let by_count = changes(&[&[&old], &[&new]], Shares::Never);
    assert!(by_count.iter().all(|(_, status, _)| *status == Changed));
    let why = |a: &str, b: &str| {
        let runs = runs(&[&[a], &[b]]);
        let sampling = Sampling::from_runs(&runs, Shares::Auto).unwrap();
        sampling.note()
    };
    assert!(why(&old, &new).unwrap().starts_with(
        "the runs took 1,000 and 2,000 samples, which differ by more than chance, so shares"
    ));
    // The totals 1000 and 1100 differ by 100 / √2100 = 2.18 deviations.
    let alike = run(&[("a", 1100)], "");
    assert_eq!(why(&old, &alike), None);
    let lasted = |nanoseconds: u64| run(&[("a", 1000)], &format!(",\"duration\":{nanoseconds}"));
    assert!(
        why(&lasted(1_000_000_000), &lasted(2_000_000_000))
            .unwrap()
            .starts_with("the runs lasted 1.000 s to 2.000 s")
    );
    assert_eq!(why(&lasted(1_000_000_000), &lasted(1_009_000_000)), None);
    let rate = |rate: &str| run(&[("a", 1000)], &format!(",\"sample_rate\":{rate}"));
    assert!(why(&rate("99"), &rate("997")).is_some());
    assert_eq!(why(&rate("99"), &rate("99")), None);
}

#[test]
fn swapping_the_sides_negates() {
    let old = run(&[("a", 100), ("b", 300), ("c", 600), ("gone", 40)], "");
    let new = run(&[("a", 260), ("b", 400), ("c", 1400)], "");
    for shares in [Shares::Auto, Shares::Never] {
        let forth = changes(&[&[&old], &[&new]], shares);
        let back = changes(&[&[&new], &[&old]], shares);
        for ((name, status, z), (other, back_status, back_z)) in forth.iter().zip(&back) {
            assert_eq!((name, *z), (other, -back_z));
            let negated = match status {
                Status::Added => Status::Removed,
                Status::Removed => Status::Added,
                same => *same,
            };
            assert_eq!(*back_status, negated, "{name}");
        }
    }
}

#[test]
fn change_within_the_spread_of_a_side_does_not_count() {
    use Status::{Changed, Same};
    // 300 and 420 differ by more than chance, but the runs of one side have a spread of 150.
    let a = |samples: u64| run(&[("a", samples), ("rest", 2000 - samples)], "");
    let [low, middle, high] = [250, 300, 400].map(a);
    let [new_low, new, new_high] = [410, 420, 430].map(a);
    let spread = changes(
        &[&[&low, &middle, &high], &[&new_low, &new, &new_high]],
        Shares::Auto,
    );
    assert_eq!(spread[0].1, Same);
    let once = changes(&[&[&middle], &[&new]], Shares::Auto);
    assert_eq!(once[0].1, Changed);
}

#[test]
fn unit_of_samples_scales_the_counts() {
    // The unit is thousandths: 100 and 145 samples, not 100,000 and 145,000.
    let unit = ",\"units\":{\"samples\":\"0.001 samples\"}";
    let old = run(&[("a", 100_000), ("rest", 1_000_000)], unit);
    let new = run(&[("a", 145_000), ("rest", 1_000_000)], unit);
    let rows = changes(&[&[&old], &[&new]], Shares::Auto);
    assert_eq!(rows[0], row("a", Status::Same, 287));
}

#[test]
fn other_events_are_judged_by_the_samples_that_measured_them() {
    // 100 and 145 samples of 1 ms each: three standard deviations are 3 √245 = 46.96 samples, or 46.96 ms.
    let stream = |samples: u64| {
        format!(
            "{{\"type\":\"run\",\"stream\":1,\"events\":[\"ns\",\"samples\"],\"total\":{{\"ns\":{0}000000,\"samples\":{0}}}}}\n{{\"type\":\"fn\",\"fn\":\"a\",\"cost\":{{\"ns\":{0}000000,\"samples\":{0}}}}}\n{{\"type\":\"end\",\"records\":1}}\n",
            samples
        )
    };
    let mut runs = runs(&[&[&stream(100)], &[&stream(145)]]);
    let joined = join(&mut runs, &options());
    let sampling = Sampling::from_runs(&runs, Shares::Never).unwrap();
    let (old, new, chance) = sampling
        .row_figure(&runs, &joined, 0, 0, false)
        .in_counts(0, 1);
    assert_eq!((old, new), (100_000_000, 145_000_000));
    assert_eq!(chance / 1_000_000, 46);
}
