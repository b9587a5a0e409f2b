//! Error rates of the noise rule: exact, on simulated series, and on real series. `docs/decisions/13-noise.md` has the
//! tables, which compare the rule with the previous rule and with the median absolute deviation.

use std::fmt::Write as _;

use super::*;

/// The number of simulated series of each kind.
const SERIES: u64 = 1000;

const FILES: [usize; 4] = [2, 3, 5, 10];

/// Shifts of the new side, in percent.
const SHIFTS: [Count; 4] = [0, 1, 5, 28];

/// A rule: returns true if it sees a change between two sorted sides.
type SeesChange = fn(&[Count], &[Count]) -> bool;

/// The rules to compare. The last one is in force.
const RULES: [SeesChange; 3] = [
    |old, new| change(old, new).abs() > spread(old).max(spread(new)),
    |old, new| {
        // Three standard deviations of the difference of two medians, for normal noise: (3 × 1.4826 × 1.2533)² × 2 / n.
        let noise = deviation(old).max(deviation(new));
        change(old, new).pow(2) * old.len() as Count > 62 * noise.pow(2)
    },
    |old, new| change(old, new).abs() > greatest_noise(old, new, change(old, new)),
];

fn median(sorted: &[Count]) -> Count {
    sorted[(sorted.len() - 1) / 2]
}

fn change(old: &[Count], new: &[Count]) -> Count {
    median(new) - median(old)
}

/// The median absolute deviation.
fn deviation(sorted: &[Count]) -> Count {
    let mut deviations: Vec<Count> = sorted
        .iter()
        .map(|count| (count - median(sorted)).abs())
        .collect();
    deviations.sort_unstable();
    median(&deviations)
}

/// A generator of random numbers: splitmix64, of Steele, Lea and Flood, 2014.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> Count {
        (self.next() % limit).into()
    }

    /// Returns true with a probability of 1 in `many`.
    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// Returns a nearly normal number with mean 0 and standard deviation 1,000: the sum of twelve uniform numbers.
    fn normal(&mut self) -> Count {
        (0..12).map(|_| self.below(1000)).sum::<Count>() - 5994
    }
}

/// A kind of noise: its name, and a generator of counts around a million. Most have a standard deviation of about one
/// percent.
type Shape = (&'static str, fn(&mut Random) -> Count);

const SHAPES: [Shape; 8] = [
    ("none", |_| 1_000_000),
    ("normal", |random| 1_000_000 + 10 * random.normal()),
    ("skewed", |random| 1_000_000 + random.normal().pow(2) / 100),
    ("two clocks, half the runs at +10 %", |random| {
        1_000_000 + 100_000 * random.below(2) + 3 * random.normal()
    }),
    ("two clocks, a quarter at +25 %", |random| {
        1_000_000 + 250_000 * Count::from(random.one_in(4)) + 3 * random.normal()
    }),
    ("a tenth 1.2 to 3.2 times", |random| {
        let outlier = Count::from(random.one_in(10)) * (200_000 + random.below(2_000_000));
        1_000_000 + 10 * random.normal() + outlier
    }),
    ("a tenth too high or too low", |random| {
        let outlier = [400_000, -400_000][random.below(2) as usize];
        1_000_000 + 10 * random.normal() + Count::from(random.one_in(10)) * outlier
    }),
    ("few values", |random| {
        1_000_000 + 10_000 * (0..4).map(|_| random.below(2)).sum::<Count>()
    }),
];

/// Simulates a sorted side with a number of files whose counts are higher by some percent.
fn side(shape: Shape, files: usize, percent: Count, random: &mut Random) -> Vec<Count> {
    let mut side: Vec<Count> = (0..files)
        .map(|_| shape.1(random) * (100 + percent) / 100)
        .collect();
    side.sort_unstable();
    side
}

/// For each shift of the new side, counts the series in which each rule is wrong.
fn count_wrong(shape: Shape, files: usize) -> [[u64; 3]; 4] {
    let mut random = Random(files as u64);
    SHIFTS.map(|shift| {
        let mut wrong = [0; 3];
        for _ in 0..SERIES {
            let old = side(shape, files, 0, &mut random);
            let new = side(shape, files, shift, &mut random);
            for (wrong, sees_change) in wrong.iter_mut().zip(RULES) {
                *wrong += u64::from(sees_change(&old, &new) != (shift != 0));
            }
        }
        wrong
    })
}

/// Returns the real series of a counter, or of all counters. Each has 20 runs in the order they were made.
fn real_series(counter: &str) -> Vec<Vec<Count>> {
    let series = include_str!("../../../tests/data/noise/series.tsv").lines();
    let columns = series.map(|line| line.split('\t').skip(1));
    let found = columns.filter_map(|mut columns| {
        let name = columns.next().unwrap();
        let is_wanted = counter == "all" || name == counter;
        is_wanted.then(|| columns.map(|count| count.parse().unwrap()).collect())
    });
    found.collect()
}

/// Counts the real series in which each rule is wrong. Alternate runs form the sides, or the first and the second half.
fn count_wrong_real(counter: &str, files: usize, in_turn: bool) -> [[u64; 3]; 4] {
    SHIFTS.map(|shift| {
        let mut wrong = [0; 3];
        for series in real_series(counter) {
            let [old, new] = [0, 1].map(|side| {
                let is_of_side = |run: usize| match in_turn {
                    true => run % 2 == side,
                    false => run / files == side,
                };
                let shifted = |count: Count| count * (100 + shift * side as Count) / 100;
                let runs = series.iter().enumerate().take(2 * files);
                let counts = runs.filter(|(run, _)| is_of_side(*run));
                let mut side: Vec<Count> = counts.map(|(_, count)| shifted(*count)).collect();
                side.sort_unstable();
                side
            });
            for (wrong, sees_change) in wrong.iter_mut().zip(RULES) {
                *wrong += u64::from(sees_change(&old, &new) != (shift != 0));
            }
        }
        wrong
    })
}

/// Returns the rate of false alarms in millionths: the share of all orders of n and m runs in which at most `against` pairs
/// contradict a change in either direction.
fn rate(n: usize, m: usize, against: usize) -> u128 {
    let mut orders = vec![vec![Vec::new(); m + 1]; n + 1];
    for a in 0..=n {
        for b in 0..=m {
            let at = |orders: &[Vec<Vec<u128>>], a: usize, b: usize, pairs: usize| {
                orders[a][b].get(pairs).copied().unwrap_or(0)
            };
            // The greatest of all runs is of the first side and in `b` pairs, or of the second side and in no pair.
            let counted = (0..=a * b).map(|pairs| match (a, b) {
                (0, _) | (_, 0) => 1,
                _ => {
                    let first = pairs
                        .checked_sub(b)
                        .map_or(0, |less| at(&orders, a - 1, b, less));
                    first + at(&orders, a, b - 1, pairs)
                }
            });
            orders[a][b] = counted.collect();
        }
    }
    let all: u128 = orders[n][m].iter().sum();
    2_000_000 * orders[n][m][..=against].iter().sum::<u128>() / all
}

#[test]
fn rate_of_false_alarms_is_below_three_percent_for_any_shape_of_noise() {
    for n in 1..=24 {
        for m in 1..=24 {
            if let Some(against) = most_against(n, m) {
                let rate = rate(n, m, against);
                assert!(rate < 29_000, "{n} and {m} files: {rate}");
            }
        }
    }
    // By hand: 4 and 4 runs have 70 orders. One in each direction has no pair against the change, so the rate is 2 / 70.
    // 5 and 5 runs have 252 orders, of which two in each direction have at most one pair against the change.
    assert_eq!(rate(4, 4, 0), 2_000_000 / 70);
    assert_eq!(rate(5, 5, 1), 4_000_000 / 252);
    for (n, m, against) in [
        (3, 3, None),
        (1, 50, None),
        (3, 6, Some(0)),
        (4, 4, Some(0)),
        (5, 5, Some(1)),
        // Two of ten runs can be outliers of any size: 20 of 100 pairs.
        (10, 10, Some(20)),
    ] {
        assert_eq!(most_against(n, m), against, "{n} and {m} files");
    }
}

#[test]
fn noise_is_measured_by_pairs_of_runs() {
    let ten = |start: Count| (start..start + 10).collect::<Vec<Count>>();
    let with = |mut side: Vec<Count>, others: &[Count]| {
        side.truncate(10 - others.len());
        side.extend(others);
        side.sort_unstable();
        side
    };
    for (claim, old, new, expected) in [
        ("one file a side has no noise", vec![7], vec![9], 0),
        (
            "with few files the noise is their spread",
            vec![5, 7, 9],
            vec![8, 20],
            12,
        ),
        ("exact counts have no noise", vec![7; 10], vec![8; 10], 0),
        ("few exact counts have no noise", vec![7; 2], vec![8; 3], 0),
        // The differences are around 100: one pair has 100 - 9, two have 100 - 8, … six have 100 - 4, which is 21 pairs.
        ("ten files allow twenty pairs against", ten(0), ten(100), 4),
        ("the direction makes no difference", ten(100), ten(0), 4),
        // The outliers are in 20 pairs. The least difference of the other pairs is 93, of the medians 100.
        (
            "two outliers of the old side hide nothing",
            with(ten(0), &[900, 950]),
            ten(100),
            7,
        ),
        // The count 1 is in 10 pairs. The next are 91, twice 92, three times 93, four times 94, then 95; of the medians 99.
        (
            "two outliers of the new side hide nothing",
            ten(0),
            with(ten(100), &[1, 900]),
            4,
        ),
        // The counts 950 and 990 are in 20 pairs; the next difference is 100 - 900.
        (
            "three of ten can be chance",
            with(ten(0), &[900, 950, 990]),
            ten(100),
            900,
        ),
        (
            "one file can hide one outlier of ten others",
            vec![0],
            with(ten(100), &[900]),
            7,
        ),
        (
            "a side without files has no noise",
            Vec::new(),
            vec![3; 10],
            0,
        ),
    ] {
        let moved = |side: &[Count]| if side.is_empty() { 0 } else { median(side) };
        let change = moved(&new) - moved(&old);
        assert_eq!(greatest_noise(&old, &new, change), expected, "{claim}");
    }
}

#[test]
fn documented_error_rates_are_up_to_date() {
    let mut simulated = String::new();
    let cells = |text: &mut String, wrong: [[u64; 3]; 4], in_percent: fn(u64) -> String| {
        for rules in wrong {
            let [spread, deviation, ranks] = rules.map(in_percent);
            write!(text, " {spread} / {deviation} / **{ranks}** |").unwrap();
        }
        text.push('\n');
    };
    for files in FILES {
        for shape in SHAPES {
            let wrong = count_wrong(shape, files);
            write!(simulated, "| {files} | {} |", shape.0).unwrap();
            cells(&mut simulated, wrong, |count| {
                format!("{}.{}", count / 10, count % 10)
            });
            let [alarms, _, missed, all_missed] = wrong.map(|[.., ranks]| ranks);
            let most = match files {
                2 => 300,
                3 => 110,
                _ => 35,
            };
            assert!(alarms <= most, "{files} {shape:?}: {alarms} false alarms");
            if files == 10 {
                assert!(all_missed <= 80, "{shape:?}: {all_missed} missed");
            }
            if files > 3 && matches!(shape.0, "none" | "normal") {
                assert!(missed <= 10, "{files} {shape:?}: {missed} missed");
            }
        }
    }
    let mut real = String::new();
    for (counter, files, in_turn) in [
        ("all", 3, true),
        ("all", 5, true),
        ("all", 10, true),
        ("all", 10, false),
        ("instructions", 10, true),
        ("page-faults", 10, true),
        ("task-clock", 10, true),
        ("elapsed", 10, true),
        ("context-switches", 10, true),
    ] {
        let order = if in_turn {
            "in turn"
        } else {
            "one side, then the other"
        };
        let wrong = count_wrong_real(counter, files, in_turn);
        write!(
            real,
            "| {counter} | {} | {files} | {order} |",
            real_series(counter).len()
        )
        .unwrap();
        cells(&mut real, wrong, |count| count.to_string());
        let [alarms, .., missed] = wrong.map(|[.., ranks]| ranks);
        assert!(
            !in_turn || alarms <= 3,
            "{counter}, {files}: {alarms} false alarms"
        );
        if matches!(counter, "instructions" | "page-faults") {
            assert_eq!(missed, 0, "{counter}");
        }
    }
    check_table("Simulated", &simulated);
    check_table("Real", &real);
}

/// Checks the rows of a table in the decision record.
fn check_table(table: &str, rows: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/decisions/13-noise.md");
    let text = std::fs::read_to_string(path).unwrap();
    let begin = format!("<!-- {table}: cg-diff/src/noise/tests.rs -->\n\n");
    let (before, rest) = text.split_once(&begin).expect(table);
    // The two header lines of the table stay.
    let head: usize = rest.split_inclusive('\n').take(2).map(str::len).sum();
    let (head, rest) = rest.split_at(head);
    let (found, after) = rest.split_once("\n<!-- end -->").expect(table);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let text = [before, &begin, head, rows, "\n<!-- end -->", after].concat();
        std::fs::write(path, text).unwrap();
    } else {
        assert_eq!(found, rows, "{path}: UPDATE_EXPECT=1 writes it");
    }
}
