use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};
use serde_json::{Value, json};

fn folded(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

/// Returns the records of stacks, each as its frames from the outermost and its cost.
fn stacks(parsed: &Parsed) -> Vec<String> {
    let records = parsed.records.iter();
    records
        .map(|record| serde_json::from_str::<Value>(record).unwrap())
        .filter(|record| record["type"] == "stack")
        .map(|record| {
            let frames = record["stack"].as_array().unwrap().iter().rev();
            let frames = frames.map(|frame| frame["fn"].as_str().unwrap_or("-").to_owned());
            let frames: Vec<String> = frames.collect();
            format!("{} {}", frames.join(";"), record["cost"]["samples"])
        })
        .collect()
}

fn run(parsed: &Parsed) -> Value {
    serde_json::from_str(&parsed.records[0]).unwrap()
}

#[test]
fn a_line_is_a_stack_with_the_outermost_frame_first() {
    let parsed = folded("main;work;read 3\nmain;work 5\nmain;work;read 4\n");
    assert_eq!(
        parsed.records,
        [
            r#"{"type":"run","stream":1,"tool":"folded","source":["in"],"events":["samples"],"total":{"samples":12}}"#,
            r#"{"type":"stack","fn":"read","cost":{"samples":7},"stack":[{"fn":"read"},{"fn":"work"},{"fn":"main"}]}"#,
            r#"{"type":"stack","fn":"work","cost":{"samples":5},"stack":[{"fn":"work"},{"fn":"main"}]}"#,
            r#"{"type":"end","records":2}"#,
        ]
    );
    assert!(!parsed.has_errors);
}

#[test]
fn frames_are_any_text_between_semicolons() {
    for (line, expected) in [
        ("a b;c (d), e=[f]:g 1", "a b;c (d), e=[f]:g 1"),
        ("a;;b 2", "a;-;b 2"),
        (";;b 2", "-;-;b 2"),
        ("x;a;b; 3", "x;a;b 3"),
        (
            "a;operator new(unsigned long);<T as U>::f 4",
            "a;operator new(unsigned long);<T as U>::f 4",
        ),
        ("a;port 8080;b 5", "a;port 8080;b 5"),
        ("a;b\t 6", "a;b 6"),
    ] {
        let parsed = folded(&format!("x;y 9\n{line}\r\n"));
        assert_eq!(stacks(&parsed)[1..], [expected], "{line:?}");
        assert!(!parsed.has_errors, "{line:?}");
    }
    // A sample without frames.
    assert_eq!(stacks(&folded("a;b 2\n 1\n")), ["a;b 2", " 1"]);
}

#[test]
fn comments_are_ignored_and_other_lines_are_errors() {
    let parsed = folded("# made by hand\n\na;b 1\n# x 3\n");
    assert_eq!((stacks(&parsed).len(), parsed.has_errors), (2, false));
    let parsed = folded("a;b 1\nnot a stack\nnor this one\na;c 2\n");
    assert_eq!(
        parsed.messages,
        ["in:2: expected a stack and a count, found \"not a stack\"; lines left out: 2"]
    );
    assert_eq!(stacks(&parsed), ["a;c 2", "a;b 1"]);
    assert!(parsed.has_errors && !parsed.is_whole());
}

#[test]
fn fractions_are_counts_of_a_finer_unit() {
    let parsed = folded("a;b 12.5\na;c 2\na;d -0.25\n");
    assert_eq!(stacks(&parsed), ["a;b 1250", "a;c 200", "a;d -25"]);
    assert_eq!(run(&parsed)["units"], json!({"samples": "0.01 samples"}));
    assert_eq!(run(&parsed)["total"], json!({"samples": 1425}));
    let parsed = folded("a;b 0.30000000000000004\na;c 1000000.5\n");
    assert_eq!(
        parsed.messages,
        ["in: 1 count was rounded to a multiple of 0.000000000001, which 64 bits can hold"]
    );
    assert!(!parsed.has_errors);
}

#[test]
fn two_counts_are_a_diff() {
    let parsed = folded("a;b 3 5\na;c 4 4\na 2 0\na;d 0 1\n");
    assert_eq!(
        parsed.records,
        [
            r#"{"type":"run","stream":1,"tool":"folded","source":["in"],"runs":["before","after"],"events":["samples"],"total":{"samples":[9,10]},"joined":{},"merged":0,"notes":[],"relative_to":"before","rows":{"added":1,"changed":1,"removed":1,"same":1}}"#,
            r#"{"type":"diff","fn":"b","of":"stack","status":"changed","cost":{"samples":[3,5]},"delta":{"samples":2},"stack":[{"fn":"b"},{"fn":"a"}]}"#,
            r#"{"type":"diff","fn":"a","of":"stack","status":"removed","cost":{"samples":[2,null]},"delta":{"samples":-2},"stack":[{"fn":"a"}]}"#,
            r#"{"type":"diff","fn":"d","of":"stack","status":"added","cost":{"samples":[null,1]},"delta":{"samples":1},"stack":[{"fn":"d"},{"fn":"a"}]}"#,
            r#"{"type":"diff","fn":"c","of":"stack","status":"same","cost":{"samples":[4,4]},"delta":{"samples":0},"stack":[{"fn":"c"},{"fn":"a"}]}"#,
            r#"{"type":"end","records":4}"#,
        ]
    );
    let parsed = folded("a;b 1.5 2\na;c 4 4\na;d 1\n");
    assert!(!parsed.has_errors, "{:?}", parsed.messages);
    let parsed = folded("a;b 1.5 2\na;c 4 4\n");
    assert_eq!(run(&parsed)["total"], json!({"samples": [55, 60]}));
}

#[test]
fn a_number_at_the_end_of_a_frame_is_not_a_count() {
    let parsed = folded("main;listen on port 8080 5\nmain;a 3\nmain;port 80 2\n");
    assert_eq!(
        stacks(&parsed),
        ["main;listen on port 8080 5", "main;a 3", "main;port 80 2"]
    );
    assert_eq!(
        parsed.messages,
        [
            "in:1: a line that ends in two numbers (2 in all); only the last is read as a count, because other lines have one"
        ]
    );
    assert!(!parsed.has_errors);
}

#[test]
fn marks_and_places_are_fields() {
    let parsed = folded("<module> (app.py:3);f (/a b/c.py:17);sys_read_[k] 2\n");
    assert_eq!(
        parsed.records_of_type("stack"),
        [concat!(
            r#""fn":"f","file":"/a b/c.py","line":17,"cost":{"samples":2},"stack":["#,
            r#"{"fn":"sys_read","kernel":true},"#,
            r#"{"fn":"f","file":"/a b/c.py","line":17},{"fn":"<module>","file":"app.py","line":3}]}"#
        )]
    );
}

#[test]
fn lines_may_end_in_lf_or_crlf() {
    let text = "a;b;c 1\na;caf\u{e9} 4\na;b 5";
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(folded(&crlf).records, folded(text).records);
}

/// A deterministic generator of pseudo-random numbers.
struct Noise(u64);
impl Noise {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Returns lines with distinct stacks of various names and depths.
fn lines(count: u64) -> Vec<String> {
    const FRAMES: [&str; 9] = [
        "main",
        "a b",
        "operator()(int, char)",
        "f (x.py:3)",
        "g_[k]",
        "h_[j]",
        "[unknown]",
        "std::vec::Vec<T>::push",
        "caf\u{e9}",
    ];
    let mut noise = Noise(7);
    let mut lines = Vec::new();
    for number in 0..count {
        let mut line = String::new();
        for _ in 0..noise.below(12) {
            line += FRAMES[noise.below(9) as usize];
            line.push(';');
        }
        lines.push(format!("{line}leaf{number} {}", 1 + noise.below(100)));
    }
    lines
}

#[test]
fn folding_the_records_again_restores_the_input() {
    let mut lines = lines(300);
    let parsed = folded(&lines.join("\n"));
    let again = |record: Value| {
        let text = |frame: &Value| {
            let mut text = frame["fn"].as_str().unwrap().to_owned();
            if let Some(file) = frame["file"].as_str() {
                text = format!("{text} ({file}:{})", frame["line"]);
            }
            for (mark, letter) in [("kernel", 'k'), ("jit", 'j')] {
                if frame[mark] == true {
                    text = format!("{text}_[{letter}]");
                }
            }
            text
        };
        let frames: Vec<String> = record["stack"]
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .map(text)
            .collect();
        format!("{} {}", frames.join(";"), record["cost"]["samples"])
    };
    let mut written: Vec<String> = parsed
        .records
        .iter()
        .map(|record| serde_json::from_str::<Value>(record).unwrap())
        .filter(|record| record["type"] == "stack")
        .map(again)
        .collect();
    written.sort();
    lines.sort();
    assert_eq!(written, lines);
}

#[test]
fn the_order_of_lines_does_not_matter() {
    let mut lines = lines(200);
    lines.extend_from_within(..50);
    let expected = folded(&lines.join("\n")).records;
    let mut noise = Noise(3);
    for _ in 0..10 {
        for position in (1..lines.len()).rev() {
            lines.swap(position, noise.below(position as u64 + 1) as usize);
        }
        assert_eq!(folded(&lines.join("\n")).records, expected);
    }
}

#[test]
fn sums_beyond_64_bits_are_errors() {
    let parsed = folded(&format!("a;b {}\na;c 1\n", u64::MAX));
    assert_eq!(
        parsed.messages,
        ["in: the sum of samples is beyond 64 bits"]
    );
    let parsed = folded("a;b 1\na;c 18446744073709551616\n");
    assert!(parsed.has_errors);
    assert_eq!(stacks(&parsed), ["a;b 1"]);
}

#[test]
fn no_prefix_panics_and_no_error_is_silent() {
    check_all_prefixes(
        super::parse,
        b"# c\nmain;a_[k] 12\n;;b -3.25\nf (x.py:3);g 2 7\nnone\n",
        &Options::default(),
    );
    check_all_prefixes(
        super::parse,
        "\u{feff}a;b 1 2\r\na;c 3 4\r\n".as_bytes(),
        &Options::default(),
    );
}

#[test]
fn threads_of_async_profiler_are_not_frames() {
    let parsed = folded(
        "[main tid=7];a/B.c_[j];a/B.d_[0];e 2\n[tid=8];a/B.c_[1] 1\n[tid=9] 1\n[unknown];f 4\n",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [
            r#""fn":"f","cost":{"samples":4},"stack":[{"fn":"f"},{"fn":"[unknown]"}]}"#,
            r#""fn":"e","thread":"main","cost":{"samples":2},"stack":[{"fn":"e"},{"fn":"a/B.d"},{"fn":"a/B.c","jit":true}]}"#,
            r#""thread":"9","cost":{"samples":1},"stack":[]}"#,
            r#""fn":"a/B.c","thread":"8","cost":{"samples":1},"stack":[{"fn":"a/B.c","jit":true}]}"#,
        ]
    );
    assert!(!parsed.has_errors);
}

#[test]
fn facts_about_the_run_are_not_stacks() {
    // As austin writes them.
    let text = "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\nP4242;T0:7;app.py:main:12 1042\n# 1;x 4\n\n# duration: 20000\n";
    let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
    let run = parsed.records_of_type("run")[0];
    assert!(run.contains(r#""creator":"austin 3.7.0""#), "{run}");
    assert!(run.contains(r#""total":{"samples":1046},"labels":{"duration":"20000","interval":"100","mode":"wall"}"#), "{run}");
    assert_eq!(parsed.records_of_type("stack").len(), 2);
}
