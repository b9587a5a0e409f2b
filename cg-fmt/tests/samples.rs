//! Reports on sampled stacks, compared with figures that were computed by hand.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::io::Write;
use std::process::{Command, Stdio};

/// Three stacks with 200 samples: 90 in `walk`, which calls itself, 60 in `malloc` for `parse`, 50 in another thread.
const SAMPLES: &str = concat!(
    r#"{"type":"run","stream":1,"tool":"perf","events":["cpu-clock","samples"],"total":{"cpu-clock":2000,"samples":200}}"#,
    "\n",
    r#"{"type":"stack","fn":"demo::walk","file":"walk.rs","obj":"/opt/demo","thread":"main","process":"demo","cost":{"cpu-clock":900,"samples":90},"stack":[{"fn":"demo::walk","file":"walk.rs","obj":"/opt/demo"},{"fn":"demo::walk","file":"walk.rs","obj":"/opt/demo"},{"fn":"demo::main","file":"main.rs","obj":"/opt/demo"}]}"#,
    "\n",
    r#"{"type":"stack","fn":"demo::parse","file":"parse.rs","obj":"/opt/demo","thread":"main","process":"demo","cost":{"cpu-clock":600,"samples":60},"stack":[{"fn":"malloc","obj":"/usr/lib/libc.so.6"},{"fn":"demo::parse","file":"parse.rs","obj":"/opt/demo"},{"fn":"demo::main","file":"main.rs","obj":"/opt/demo"}]}"#,
    "\n",
    r#"{"type":"stack","fn":"log::write","file":"log.rs","obj":"/opt/demo","thread":"writer","process":"demo","cost":{"cpu-clock":500,"samples":50},"stack":[{"fn":"log::write","file":"log.rs","obj":"/opt/demo"},{"fn":"demo::walk","file":"walk.rs","obj":"/opt/demo"}]}"#,
    "\n",
    r#"{"type":"end","records":3}"#,
    "\n",
);

fn cg_fmt(args: &[&str], input: &str) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cg-fmt"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn samples_are_shown_by_function_without_options() {
    // `walk` has a self cost of 90, and is also in the 50 samples of `log::write`. Its inclusive cost is 140, because its
    // two frames in one stack count once.
    let (csv, _) = cg_fmt(
        &[
            "-f",
            "csv",
            "--columns",
            "samples,samples%,incl.samples,incl.samples%,fn",
        ],
        SAMPLES,
    );
    assert_eq!(
        csv,
        "samples,samples%,incl.samples,incl.samples%,fn\n\
         90,45.00,140,70.00,demo::walk\n\
         60,30.00,60,30.00,malloc\n\
         50,25.00,50,25.00,log::write\n\
         0,0.00,150,75.00,demo::main\n\
         0,0.00,60,30.00,demo::parse\n"
    );
    let (table, _) = cg_fmt(&["--events", "samples"], SAMPLES);
    assert!(
        table.contains("pattern: allocation (30.00% of samples went into allocating and freeing memory, most of it, 30.00%, for demo::parse)"),
        "{table}"
    );
    let (stacks, _) = cg_fmt(
        &["-f", "csv", "--type", "stack", "--columns", "samples,fn"],
        SAMPLES,
    );
    assert_eq!(
        stacks,
        "samples,fn\n90,demo::walk\n60,demo::parse\n50,log::write\n"
    );
}

#[test]
fn groups_count_each_stack_once() {
    for (by, expected) in [
        ("thread", "150,150,main\n50,50,writer\n"),
        ("process", "200,200,demo\n"),
        // The crate `demo` has a self cost of 90 and a function in every stack.
        ("crate", "90,200,demo\n60,60,libc.so.6\n50,50,log\n"),
        ("obj", "140,200,/opt/demo\n60,60,/usr/lib/libc.so.6\n"),
        (
            "file",
            "90,140,walk.rs\n60,60,???\n50,50,log.rs\n0,150,main.rs\n0,60,parse.rs\n",
        ),
    ] {
        let columns = format!("samples,incl.samples,{by}");
        let (csv, errors) = cg_fmt(
            &["-f", "csv", "--group-by", by, "--columns", &columns],
            SAMPLES,
        );
        assert_eq!(csv, format!("{columns}\n{expected}"), "{by} {errors}");
    }
}

#[test]
fn json_keeps_the_stacks_and_writes_groups_as_records() {
    let (json, _) = cg_fmt(&["-f", "json"], SAMPLES);
    assert_eq!(json.matches("\"type\":\"stack\"").count(), 3, "{json}");
    let (json, _) = cg_fmt(&["-f", "json", "--group-by", "thread"], SAMPLES);
    assert!(
        json.contains(r#"{"type":"fn","fn":"main","cost":{"cpu-clock":1500,"samples":150},"incl":{"cpu-clock":1500,"samples":150}}"#),
        "{json}"
    );
}

#[test]
fn percentages_are_of_all_samples_of_the_run() {
    let some: String = SAMPLES
        .lines()
        .filter(|line| !line.contains("walk.rs\",\"obj\":\"/opt/demo\",\"thread\":\"main"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (csv, _) = cg_fmt(
        &[
            "-f",
            "csv",
            "--columns",
            "samples,samples%,fn",
            "--top",
            "1",
        ],
        &some,
    );
    assert_eq!(csv, "samples,samples%,fn\n60,30.00,malloc\n");
}

#[test]
fn a_diff_has_no_threads_to_group_by() {
    let diff = "{\"type\":\"run\",\"stream\":1,\"runs\":[\"a\",\"b\"],\"events\":[\"Ir\"],\"total\":{\"Ir\":[1,2]}}\n{\"type\":\"end\",\"records\":0}\n";
    for format in ["table", "json"] {
        let (_, errors) = cg_fmt(&["-f", format, "--group-by", "thread"], diff);
        assert!(errors.contains("a diff has no threads"), "{errors}");
    }
}

#[test]
fn program_points_of_heaptrack_are_shown_by_function() {
    // `grow` is to blame for 300 bytes in 3 allocations, one of them temporary. `main` is to blame for 50 bytes, and is in
    // both stacks.
    let point = |name: &str, cost: &str, stack: &[&str]| {
        let frames: Vec<String> = stack
            .iter()
            .map(|name| format!("{{\"fn\":\"{name}\"}}"))
            .collect();
        format!(
            "{{\"type\":\"program_point\",\"fn\":\"{name}\",\"cost\":{{{cost}}},\"stack\":[{}]}}\n",
            frames.join(",")
        )
    };
    let stream = [
        "{\"type\":\"run\",\"stream\":1,\"tool\":\"heaptrack\",\"events\":[\"total_bytes\",\"allocations\",\"temporary\",\"peak_bytes\",\"leaked_bytes\"],\"total\":{\"total_bytes\":350,\"allocations\":4,\"temporary\":1,\"peak_bytes\":250,\"leaked_bytes\":50}}\n".to_owned(),
        point("grow", "\"total_bytes\":300,\"allocations\":3,\"temporary\":1,\"peak_bytes\":200", &["malloc", "grow", "grow", "main"]),
        point("main", "\"total_bytes\":50,\"allocations\":1,\"peak_bytes\":50,\"leaked_bytes\":50", &["malloc", "main"]),
        "{\"type\":\"end\",\"records\":2}\n".to_owned(),
    ]
    .concat();
    let columns = "total_bytes,incl.total_bytes,allocations,temporary,peak_bytes,leaked_bytes,fn";
    let (csv, _) = cg_fmt(&["--by", "fn", "-f", "csv", "--columns", columns], &stream);
    assert_eq!(
        csv,
        format!("{columns}\n300,300,3,1,200,0,grow\n50,350,1,0,50,50,main\n0,350,0,0,0,0,malloc\n")
    );
    // The table has self cost for all events, and inclusive cost for the first.
    let (table, _) = cg_fmt(&["--by", "fn"], &stream);
    for event in [
        "total_bytes",
        "allocations",
        "temporary",
        "peak_bytes",
        "leaked_bytes",
    ] {
        assert!(table.contains(event), "{event}: {table}");
    }
    assert_eq!(table.matches("incl.").count(), 1, "{table}");
}

#[test]
fn a_page_of_filtered_samples_names_the_command_that_keeps_times() {
    let timed = SAMPLES.replace(
        r#""total":{"#,
        r#""source":["perf.data"],"duration":5000,"total":{"#,
    );
    // A filter removed the last stack.
    let last = timed.lines().nth(3).unwrap();
    let filtered = timed.replace(&format!("{last}\n"), "");
    let expected =
        "this command keeps it: cg-parse --times perf.data | cg-filter REGEX | cg-fmt -f html";
    let messages = |input: &str| cg_fmt(&["-f", "html"], input).1;
    assert!(
        messages(&filtered).contains(expected),
        "{}",
        messages(&filtered)
    );
    // All samples, samples with times, a program that wrote no times, and a format without times.
    let with_times = filtered.replace(r#""type":"stack","#, r#""type":"stack","time":7,"#);
    for input in [
        &timed,
        &with_times,
        &filtered.replace(r#""duration":5000,"#, ""),
        &filtered.replace(r#""tool":"perf""#, r#""tool":"pprof""#),
    ] {
        assert!(!messages(input).contains("--times"), "{}", messages(input));
    }
}
