//! Outputs of stacks for other programs, checked by laws and by readers that share no code with cg-fmt.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// The result of a run of cg-fmt.
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn cg_fmt(args: &[&str], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cg-fmt"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The write fails if the tool refuses its arguments, because it then closes its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    Run {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

fn data(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/data")
        .join(name);
    path.to_str().unwrap().to_owned()
}

/// Returns real profiles with stacks, each with an event and the event's total in the file.
fn profiles() -> Vec<(String, &'static str, u64)> {
    let dhat = data("dhat/3.19.0-heapy.dhat.json");
    let points: Value = serde_json::from_slice(&std::fs::read(&dhat).unwrap()).unwrap();
    let sum = |field: &str| -> u64 {
        let points = points["pps"].as_array().unwrap();
        points
            .iter()
            .map(|point| point[field].as_u64().unwrap())
            .sum()
    };
    let (total, gmax) = (sum("tb"), sum("gb"));
    vec![
        // The `mem_heap_B` of the peak.
        (data("massif/3.19.0-heapy_i.massif.out"), "bytes", 1_030_800),
        (dhat.clone(), "total_bytes", total),
        (dhat, "gmax_bytes", gmax),
        // The LEAK SUMMARY: 3,297 + 224 + 64 + 4,096.
        (data("memcheck/3.27.1-leaky.log"), "bytes", 7_681),
        // The ERROR SUMMARY without the leaks that it counts.
        (data("memcheck/3.27.1-leaky.log"), "count", 13),
    ]
}

/// Returns the stacks of a stream, outermost frame first, with their counts.
fn parse_stacks(stream: &str, event: &str) -> BTreeMap<Vec<String>, u64> {
    let mut stacks = BTreeMap::new();
    for line in stream.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let Some(count) = record["cost"][event].as_u64().filter(|count| *count > 0) else {
            continue;
        };
        let frames = record["stack"].as_array().unwrap();
        let name = |frame: &Value| match (frame["fn"].as_str(), frame["obj"].as_str()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(object)) => format!("[{}]", object.rsplit('/').next().unwrap()),
            (None, None) => frame["addr"].as_str().unwrap().to_owned(),
        };
        let stack: Vec<String> = frames.iter().rev().map(name).collect();
        *stacks.entry(stack).or_insert(0) += count;
    }
    stacks
}

fn parse_folded(text: &str) -> BTreeMap<Vec<String>, u64> {
    let line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        (
            stack.split(';').map(str::to_owned).collect(),
            count.parse().unwrap(),
        )
    };
    text.lines().map(line).collect()
}

#[test]
fn folded_stacks_match_the_stream_and_sum_to_the_total_of_the_file() {
    for (file, event, total) in profiles() {
        let folded = cg_fmt(&["-f", "folded", "--event", event, &file], "");
        assert_eq!(folded.status, Some(0), "{}", folded.stderr);
        let stacks = parse_folded(&folded.stdout);
        assert_eq!(
            stacks.len(),
            folded.stdout.lines().count(),
            "{file}: a stack twice"
        );
        assert_eq!(stacks.values().sum::<u64>(), total, "{file} {event}");
        let stream = cg_fmt(&["-f", "json", &file], "");
        assert_eq!(
            stacks,
            parse_stacks(&stream.stdout, event),
            "{file} {event}"
        );
        let lines: Vec<&str> = folded.stdout.lines().collect();
        let stack = |line: &&str| line.rsplit_once(' ').unwrap().0.to_owned();
        assert!(lines.is_sorted_by_key(stack), "{file} {event}");
    }
}

#[test]
fn reading_folded_stacks_back_gives_the_same_stacks() {
    for (file, event, _) in profiles() {
        let once = cg_fmt(&["-f", "folded", "--event", event, &file], "").stdout;
        let twice = cg_fmt(&["-f", "folded"], &once);
        assert_eq!((twice.status, twice.stdout), (Some(0), once), "{file}");
    }
}

/// A frame of a picture: its position, its width and its title.
#[derive(Clone, Debug)]
struct Frame {
    y: u64,
    start: u64,
    width: u64,
    title: String,
}

/// Returns the frames of the interactive part of a picture, outermost first.
fn parse_frames(picture: &str) -> Vec<Frame> {
    let frames = picture.split_once(r#"<g id="frames""#).unwrap().1;
    let frames = frames.split_once("</g></g>").unwrap().0;
    let attribute = |element: &str, name: &str| -> u64 {
        let value = element.split_once(&format!(r#" {name}=""#)).unwrap().1;
        value.split_once('"').unwrap().0.parse().unwrap()
    };
    let mut frames: Vec<Frame> = frames
        .split("<title>")
        .skip(1)
        .map(|frame| {
            let (title, rest) = frame.split_once("</title>").unwrap();
            Frame {
                y: attribute(rest, "y"),
                start: attribute(rest, "data-x"),
                width: attribute(rest, "data-w"),
                title: title.to_owned(),
            }
        })
        .collect();
    frames.sort_by_key(|frame| (std::cmp::Reverse(frame.y), frame.start));
    frames
}

/// Returns the stacks of a picture with their widths, outermost frame first and without the root. The parent of a frame is
/// the frame one row below that spans its width.
fn find_paths(frames: &[Frame]) -> BTreeMap<Vec<String>, u64> {
    let mut paths: Vec<(Frame, Vec<String>)> = Vec::new();
    for frame in frames {
        let below = paths.iter().find(|(below, _)| {
            below.y == frame.y + 16
                && below.start <= frame.start
                && frame.start + frame.width <= below.start + below.width
        });
        let mut path = match (below, paths.is_empty()) {
            (Some((_, path)), _) => path.clone(),
            (None, true) => Vec::new(),
            (None, false) => panic!("{frame:?} has no parent"),
        };
        let name = frame.title.rsplit_once(" (").unwrap().0;
        path.push(
            name.replace("&lt;", "<")
                .replace("&gt;", ">")
                .replace("&apos;", "'")
                .replace("&quot;", "\"")
                .replace("&amp;", "&"),
        );
        paths.push((frame.clone(), path));
    }
    let widths = paths.into_iter();
    widths
        .map(|(frame, path)| (path[1..].to_vec(), frame.width))
        .collect()
}

#[test]
fn the_width_of_a_frame_is_the_cost_of_its_stacks() {
    for (file, event, total) in profiles() {
        let args = [
            "-f",
            "flamegraph",
            "--threshold",
            "0",
            "--event",
            event,
            &file,
        ];
        let picture = cg_fmt(&args, "");
        assert_eq!(picture.status, Some(0), "{}", picture.stderr);
        assert!(!picture.stderr.contains("not drawn"), "{}", picture.stderr);
        let mut expected = BTreeMap::from([(Vec::new(), total)]);
        let stream = cg_fmt(&["-f", "json", &file], "").stdout;
        for (stack, count) in parse_stacks(&stream, event) {
            for length in 1..=stack.len() {
                *expected.entry(stack[..length].to_vec()).or_insert(0) += count;
            }
        }
        // Labels of names that two owners share end in the owner.
        let plain = |name: &String| {
            name.trim_end_matches(" [own]")
                .trim_end_matches(" [std]")
                .trim_end_matches(" [system]")
                .to_owned()
        };
        let paths = find_paths(&parse_frames(&picture.stdout));
        let paths = paths
            .iter()
            .map(|(path, width)| (path.iter().map(plain).collect(), *width))
            .collect();
        assert_eq!(expected, paths, "{file} {event}");
        assert_eq!(
            cg_fmt(&args, "").stdout,
            picture.stdout,
            "the same input gives different output"
        );
    }
}

/// Returns a stream of `stack` records. The given stacks have the outermost frame first.
fn make_stream(stacks: &[(&[&str], u64)]) -> String {
    let mut stream = String::new();
    let mut total = 0;
    for (stack, count) in stacks {
        let frames: Vec<Value> = stack
            .iter()
            .rev()
            .map(|name| serde_json::json!({ "fn": name }))
            .collect();
        let record =
            serde_json::json!({"type": "stack", "cost": {"samples": count}, "stack": frames});
        stream += &format!("{record}\n");
        total += count;
    }
    format!(
        "{{\"type\":\"run\",\"stream\":1,\"tool\":\"folded\",\"events\":[\"samples\"],\"total\":{{\"samples\":{total}}}}}\n{stream}{{\"type\":\"end\",\"records\":{}}}\n",
        stacks.len()
    )
}

#[test]
fn hostile_names_are_escaped() {
    let names = [
        "</title><script>alert(1)</script>",
        "a\" onload=\"alert(1)",
        "]]><!-- & -->",
        "port 8080",
        "a;b",
        "x\u{0}\n\u{1b}\u{ffff}",
        "# comment",
        "-",
        "",
    ];
    let stacks: Vec<(&[&str], u64)> = names
        .iter()
        .map(|name| (std::slice::from_ref(name), 3))
        .collect();
    let stream = make_stream(&stacks);
    let picture = cg_fmt(&["-f", "flamegraph"], &stream);
    assert_eq!(picture.status, Some(0), "{}", picture.stderr);
    let frames = parse_frames(&picture.stdout);
    assert!(frames[0].title.starts_with("all (27 samples"), "{frames:?}");
    assert_eq!(frames.len(), names.len() + 1);
    assert!(!picture.stdout.contains("alert(1)</script>"));
    assert_eq!(picture.stdout.matches("<script").count(), 1);
    let is_odd = |character: char| {
        character.is_control() && character != '\n' && character != '\r' && character != '\t'
    };
    assert!(
        !picture
            .stdout
            .contains(|character| is_odd(character) || character == '\u{ffff}')
    );
    let folded = cg_fmt(&["-f", "folded"], &stream);
    assert_eq!(parse_folded(&folded.stdout).values().sum::<u64>(), 27);
    assert_eq!(folded.stdout.lines().count(), names.len());
    assert!(
        folded.stderr.contains("4 names are changed"),
        "{}",
        folded.stderr
    );
}

#[test]
fn narrow_frames_are_counted_and_leave_their_width_empty() {
    let stream = make_stream(&[
        (&["main", "wide"], 99_998),
        (&["main", "narrow", "inner"], 1),
        (&["idle"], 1),
    ]);
    let picture = cg_fmt(&["-f", "flamegraph"], &stream);
    assert!(
        picture
            .stderr
            .contains("3 frames narrower than 0.01% of the picture not drawn"),
        "{}",
        picture.stderr
    );
    let widths = find_paths(&parse_frames(&picture.stdout));
    let path = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    let expected = BTreeMap::from([
        (path(&[]), 100_000),
        (path(&["main"]), 99_999),
        (path(&["main", "wide"]), 99_998),
        (path(&["[too narrow to draw]"]), 1),
    ]);
    assert_eq!(widths, expected);
}

/// The folded stacks of a diff.
const BEFORE_AND_AFTER: &str =
    "main;parse;read 60 80\nmain;parse 5 5\nmain;old;deep 20 0\nmain;new 0 7\nstart;exit 3 1\n";

#[test]
fn frames_of_a_diff_have_deltas_and_removed_stacks_are_drawn_below() {
    let picture = cg_fmt(&["-f", "flamegraph"], BEFORE_AND_AFTER);
    assert_eq!(picture.status, Some(0), "{}", picture.stderr);
    let titles: Vec<String> = parse_frames(&picture.stdout)
        .into_iter()
        .map(|frame| frame.title)
        .collect();
    assert_eq!(
        titles,
        [
            "all (93 samples, 100%)",
            "main (+7 samples, +8.24%) (92 samples, 98.92%)",
            "start (-2 samples, -66.67%) (1 samples, 1.08%)",
            "new (+7 samples, new) (7 samples, 7.53%)",
            "parse (+20 samples, +30.77%) (85 samples, 91.40%)",
            "exit (-2 samples, -66.67%) (1 samples, 1.08%)",
            "read (+20 samples, +33.33%) (80 samples, 86.02%)",
        ]
    );
    let gone = picture.stdout.split_once(r#"<g id="gone""#).unwrap().1;
    assert!(picture.stdout.contains(">only in before: 20 samples<"));
    for part in [
        "<title>main (20 samples)",
        "<title>old (20 samples)",
        "<title>deep (20 samples)",
    ] {
        assert!(gone.contains(part), "{part} in {gone}");
    }
    for (text, is_right) in [("parse (+20", red as fn(&str) -> bool), ("start (-2", blue)] {
        let frame = picture.stdout.split_once(text).unwrap().1;
        let color = frame
            .split_once("fill=\"rgb(")
            .unwrap()
            .1
            .split_once(')')
            .unwrap()
            .0;
        assert!(is_right(color), "{text}: {color}");
    }
    // The picture is one document, although it contains another picture.
    assert_eq!(
        picture.stdout.matches("<svg ").count(),
        picture.stdout.matches("</svg>").count()
    );
}

fn red(color: &str) -> bool {
    let [red, green, blue] = channels(color);
    red > green && green == blue
}

fn blue(color: &str) -> bool {
    let [red, green, blue] = channels(color);
    blue > green && green == red
}

fn channels(color: &str) -> [u8; 3] {
    let channels: Vec<u8> = color
        .split(',')
        .map(|channel| channel.parse().unwrap())
        .collect();
    channels.try_into().unwrap()
}

#[test]
fn a_diff_keeps_both_counts_in_folded_stacks() {
    let folded = cg_fmt(&["-f", "folded"], BEFORE_AND_AFTER);
    let mut lines: Vec<&str> = BEFORE_AND_AFTER.lines().collect();
    lines.sort_unstable();
    assert_eq!(folded.stdout.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn a_diff_with_only_removed_stacks_is_drawn() {
    let picture = cg_fmt(&["-f", "flamegraph"], "main;a 5 0\nmain;b 2 0\n");
    assert_eq!(picture.status, Some(0), "{}", picture.stderr);
    assert!(picture.stdout.contains("only in before: 7 samples"));
    assert_eq!(
        picture.stdout.matches("<svg ").count(),
        picture.stdout.matches("</svg>").count()
    );
}

#[test]
fn an_input_without_stacks_is_refused_with_the_command_that_adds_stacks() {
    let run = r#"{"type":"run","stream":1,"tool":"callgrind","events":["Ir"],"total":{"Ir":10}}"#;
    let function = r#"{"type":"fn","fn":"f","calls":1,"cost":{"Ir":10},"incl":{"Ir":10}}"#;
    let end = r#"{"type":"end","records":1}"#;
    let stream = format!("{run}\n{function}\n{end}\n");
    for format in ["folded", "flamegraph"] {
        let refused = cg_fmt(&["-f", format], &stream);
        assert_eq!((refused.status, refused.stdout.as_str()), (Some(2), ""));
        assert!(
            refused.stderr.contains("cg-parse --stacks"),
            "{}",
            refused.stderr
        );
    }
    let two = data("dhat/3.19.0-heapy.dhat.json");
    for (args, expected) in [
        (
            &["--event", "Dr"][..],
            "there is no event Dr; there are total_bytes",
        ),
        (
            &["--events", "all"],
            "choose one with --event (total_bytes, ",
        ),
        (&["--type", "fn"], "records of type fn have no stacks"),
        (&["--top", "3"], "has all stacks"),
    ] {
        let refused = cg_fmt(&[&["-f", "folded", &two][..], args].concat(), "");
        assert_eq!(refused.status, Some(2), "{args:?}");
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

#[test]
fn estimated_stacks_are_marked_as_estimated() {
    let stream = make_stream(&[(&["main", "a"], 30), (&["main", "b"], 10)]).replacen(
        r#""stack":[{"fn":"b"}"#,
        r#""estimated":true,"stack":[{"fn":"b"}"#,
        1,
    );
    let picture = cg_fmt(&["-f", "flamegraph"], &stream);
    assert!(
        picture.stdout.contains(">estimated stacks of folded<"),
        "{}",
        picture.stdout
    );
    let warning = "stacks with 25.00% of samples are estimated from a call graph";
    assert!(picture.stderr.contains(warning), "{}", picture.stderr);
    // The picture itself states the share, too.
    let line = format!(">40 samples; {warning}<");
    assert!(picture.stdout.contains(&line), "{}", picture.stdout);
    let all = stream.replacen(
        r#""stack":[{"fn":"a"}"#,
        r#""estimated":true,"stack":[{"fn":"a"}"#,
        1,
    );
    let picture = cg_fmt(&["-f", "flamegraph"], &all);
    let warning = "cg-fmt: the stacks are estimated from a call graph\n";
    assert_eq!(picture.stderr, warning);
}

/// Returns the profiles of a speedscope file by name. Each has stacks, outermost frame first, with their weights.
fn speedscope_profiles(text: &str) -> BTreeMap<String, BTreeMap<Vec<String>, u64>> {
    let file: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        file["$schema"],
        "https://www.speedscope.app/file-format-schema.json"
    );
    let frames = file["shared"]["frames"].as_array().unwrap();
    let profiles = file["profiles"].as_array().unwrap().iter();
    let profiles = profiles.map(|profile| {
        assert_eq!(profile["type"], "sampled");
        let samples = profile["samples"].as_array().unwrap();
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let mut stacks = BTreeMap::new();
        for (sample, weight) in samples.iter().zip(weights) {
            let frame = |position: &Value| {
                let frame = &frames[usize::try_from(position.as_u64().unwrap()).unwrap()];
                frame["name"].as_str().unwrap().to_owned()
            };
            let stack: Vec<String> = sample.as_array().unwrap().iter().map(frame).collect();
            let weight = weight.as_u64().unwrap();
            assert!(weight > 0);
            *stacks.entry(stack).or_insert(0) += weight;
        }
        assert_eq!(profile["endValue"].as_u64(), Some(stacks.values().sum()));
        (profile["name"].as_str().unwrap().to_owned(), stacks)
    });
    profiles.collect()
}

#[test]
fn speedscope_has_one_profile_per_event() {
    for (file, event, total) in profiles() {
        let kind = if event == "count" { "error" } else { "" };
        let mut args = vec!["-f", "speedscope", &file];
        if !kind.is_empty() {
            args.extend(["--type", kind]);
        }
        let written = cg_fmt(&args, "");
        assert_eq!(written.status, Some(0), "{}", written.stderr);
        let profiles = speedscope_profiles(&written.stdout);
        assert_eq!(profiles[event].values().sum::<u64>(), total);
        let stream = cg_fmt(&["-f", "json", &file], "").stdout;
        assert_eq!(
            profiles[event],
            parse_stacks(&stream, event),
            "{file} {event}"
        );
    }
}

#[test]
fn speedscope_has_one_profile_per_thread_and_per_run_of_a_diff() {
    let diff = speedscope_profiles(&cg_fmt(&["-f", "speedscope"], BEFORE_AND_AFTER).stdout);
    let sums: Vec<(&str, u64)> = diff
        .iter()
        .map(|(name, stacks)| (name.as_str(), stacks.values().sum()))
        .collect();
    assert_eq!(sums, [("samples (after)", 93), ("samples (before)", 88)]);
    let stream = make_stream(&[
        (&["main", "a"], 30),
        (&["main", "b"], 10),
        (&["main", "a"], 5),
    ])
    .replacen(
        r#""type":"stack""#,
        r#""type":"stack","thread":"worker","process":"demo""#,
        1,
    );
    let threads = speedscope_profiles(&cg_fmt(&["-f", "speedscope"], &stream).stdout);
    let sums: Vec<(&str, u64)> = threads
        .iter()
        .map(|(name, stacks)| (name.as_str(), stacks.values().sum()))
        .collect();
    assert_eq!(sums, [("all other threads", 15), ("demo/worker", 30)]);
}

/// Returns a run of a program that was built in this directory, with this hash and closure number.
fn build(directory: &str, hash: &str, closure: u32) -> String {
    let function = |name: &str| {
        serde_json::json!({
            "fn": format!("demo::{name}::h{hash}"), "file": format!("{directory}/src/main.rs"), "line": 7,
            "obj": format!("{directory}/target/debug/deps/demo-{hash}"),
        })
    };
    let mut main = function("main");
    main["fn"] = format!("demo::main::{{closure#{closure}}}").into();
    let stack = serde_json::json!({"type": "stack", "cost": {"samples": 4}, "stack": [function("parse"), main]});
    let mut caller = main.clone();
    caller["type"] = "fn".into();
    caller["calls"] = 1.into();
    caller["cost"] = serde_json::json!({"samples": 4});
    let mut call = main.clone();
    call["type"] = "call".into();
    call["callee"] = function("parse");
    call["calls"] = 2.into();
    call["incl"] = serde_json::json!({"samples": 4});
    format!(
        "{}\n{stack}\n{caller}\n{call}\n{}\n",
        r#"{"type":"run","stream":1,"events":["samples"],"total":{"samples":4}}"#,
        r#"{"type":"end","records":3}"#
    )
}

#[test]
fn stable_names_are_the_same_in_two_builds() {
    let builds = [
        build("/home/a/demo", "0123456789abcdef", 0),
        build("/builds/7/demo", "fedcba9876543210", 3),
    ];
    for format in [
        "folded",
        "flamegraph",
        "speedscope",
        "firefox",
        "callgrind",
        "dot",
    ] {
        let written = |names: &str| {
            builds.each_ref().map(|build| {
                let run = cg_fmt(&["-f", format, "--names", names], build);
                assert_eq!(run.status, Some(0), "{format}: {}", run.stderr);
                run.stdout
            })
        };
        let [first, second] = written("stable");
        assert_eq!(first, second, "{format}");
        assert!(first.contains("demo::main::{closure}"), "{format}: {first}");
        assert!(!first.contains("0123456789abcdef"), "{format}: {first}");
        let [first, second] = written("full");
        assert_ne!(first, second, "{format}");
    }
}
