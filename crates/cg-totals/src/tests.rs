use cg_reader::{Options, Revision};
use parsed::Parsed;

fn read(text: &str) -> Parsed {
    parsed::read(
        crate::perf_stat::parse,
        text.as_bytes(),
        &Options::default(),
    )
}

fn read_summary(text: &str, options: &Options) -> Parsed {
    parsed::read(crate::gungraun::parse, text.as_bytes(), options)
}

/// Returns the totals of each run with the fields that follow them in its record.
fn totals(parsed: &Parsed) -> Vec<String> {
    let runs = parsed.records_of_type("run").into_iter();
    runs.map(|run| run[run.find("\"total\":").unwrap() + 8..].to_owned())
        .collect()
}

#[test]
fn all_forms_of_perf_stat_have_the_same_totals() {
    let expected = [r#"{"task-clock":2000000,"page-faults":75},"units":{"task-clock":"ns"}}"#];
    for text in [
        // One line per event, with various separators, variance and metrics.
        "2.00,msec,task-clock,2000000,100.00,0.587,CPUs utilized\n75,,page-faults,2000000,100.00,415.953,/sec\n",
        "# started on Sun Nov 22 01:34:05 2026\n\n2.00;msec;task-clock;2000000;100.00;0.1;CPUs utilized\n75;;page-faults;2000000;100.00;;\n",
        "2.00\tmsec\ttask-clock\t3.55%\t2000000\t100.00\t0.1\tCPUs utilized\n75\t\tpage-faults\t2.08%\t2000000\t100.00\t\t\n",
        "2.00,msec,task-clock,2000000,100.00,0.587,CPUs utilized\n,,,,,0.7,something\n75,,page-faults,2000000,100.00,,\n",
        // Locales with a decimal comma.
        "2,00;msec;task-clock;2000000;100,00;0,587;CPUs utilized\n75;;page-faults;2,08%;2000000;100,00;;\n",
        "     0,100;2,00;msec;task-clock;1;100,00;;\n     0,100;75;;page-faults;1;100,00;;\n",
        // Without the last line break, if no required field can be missing.
        "2.00,msec,task-clock,2000000,100.00,0.587,CPUs utilized\n75,,page-faults,2000000,100.00,,",
        // Intervals, processors, cores, threads.
        "     0.100000000,1.25,msec,task-clock,1,100.00,,\n     0.100000000,70,,page-faults,1,100.00,,\n     0.200000000,0.75,msec,task-clock,1,100.00,,\n     0.200000000,5,,page-faults,1,100.00,,\n",
        "CPU0,1.50,msec,task-clock,1,100.00,,\nCPU1,0.50,msec,task-clock,1,100.00,,\nCPU0,75,,page-faults,1,100.00,,\n",
        "S0-D0-C0,2,1.50,msec,task-clock,1,100.00,,\nS0-D0-C1,2,0.50,msec,task-clock,1,100.00,,\nS0-D0-C0,2,75,,page-faults,1,100.00,,\n",
        "0.1,S0,16,2.00,msec,task-clock,1,100.00,,\n0.1,S0,16,75,,page-faults,1,100.00,,\n",
        "my app-12,2.00,msec,task-clock,1,100.00,,\nmy app-13,75,,page-faults,1,100.00,,\n",
        // Control groups, caches and clusters.
        "1.50,msec,task-clock,/,1,100.00,,\n0.50,msec,task-clock,a.slice,1,100.00,,\n75,,page-faults,/,1,100.00,,\n",
        "S0-D0-L3-ID0,2,2.00,msec,task-clock,1,100.00,,\nS0-D0-CLS0,2,75,,page-faults,1,100.00,,\n",
        "{\"counter-value\" : \"2.000000\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"cgroup\" : \"/\", \"event-runtime\" : 1, \"pcnt-running\" : 100.00}\n75,,page-faults,/,1,100.00,,\n",
        // Unusual separators.
        "2.00 msec task-clock 2000000 100.00 249.632 CPUs utilized\n75  page-faults 2000000 100.00 98.840 K/sec\n",
        "     0.050135612 S0-D0-C0 1 2.00 msec task-clock 1 100.00  \n     0.050135612 S0-D0-C0 1 75  page-faults 1 100.00  \n",
        "2.00@msec@task-clock@2000000@100.00@0.3@CPUs utilized\n75@@page-faults@2000000@100.00@96@K/sec\n",
        "S0-D0@2@2.00@msec@task-clock@1@100.00@@\nS0-D0@2@75@@page-faults@1@100.00@@\n",
        "2.00::msec::task-clock::2000000::100.00::0.3::CPUs utilized\n75::::page-faults::2000000::100.00::96::K/sec\n",
        // Intervals followed by their sum (--summary), with and without the word "summary".
        "     0.1,1.25,msec,task-clock,5,100.00,,\n     0.1,75,,page-faults,5,100.00,,\n     0.2,0.75,msec,task-clock,7,100.00,,\n         summary,2.00,msec,task-clock,12,100.00,,\n         summary,75,,page-faults,5,100.00,,\n",
        "     0.1,1.25,msec,task-clock,5,100.00,,\n     0.1,75,,page-faults,5,100.00,,\n     0.2,0.75,msec,task-clock,7,100.00,,\n2.00,msec,task-clock,12,100.00,,\n75,,page-faults,5,100.00,,\n",
        "     0.1,S0,1,2.00,msec,task-clock,5,100.00,,\n     0.1,S0,1,75,,page-faults,5,100.00,,\n         summary,S0,1,2.00,msec,task-clock,5,100.00,,\n         summary,S0,1,75,,page-faults,5,100.00,,\n",
        // The sum may differ from the intervals, because perf reads the counters again. A sum without intervals counts.
        "     0.1,2.00,msec,task-clock,5,100.00,,\n     0.1,75,,page-faults,5,100.00,,\n2.01,msec,task-clock,6,100.00,,\n76,,page-faults,6,100.00,,\n0.5,msec,cpu-clock,6,100.00,,\n",
        "         summary,2.00,msec,task-clock,12,100.00,,\n         summary,75,,page-faults,5,100.00,,\n",
        // JSON.
        "{\"counter-value\" : \"2.000000\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"event-runtime\" : 2000000, \"pcnt-running\" : 100.00, \"metric-value\" : 0.019020, \"metric-unit\" : \"CPUs utilized\"}\n{\"counter-value\" : \"75.000000\", \"unit\" : \"\", \"event\" : \"page-faults\", \"event-runtime\" : 2, \"pcnt-running\" : 100.00}\n{\"metric-value\" : 0.5, \"metric-unit\" : \"x\"}\n",
        "{\"interval\" : 0.051, \"cpu\" : \"0\", \"counter-value\" : \"2.0\", \"unit\" : \"msec\", \"event\" : \"task-clock\", \"event-runtime\" : 2, \"pcnt-running\" : 100.00}\n{\"interval\" : 0.1, \"cpu\" : \"0\", \"counter-value\" : 75, \"unit\" : \"\", \"event\" : \"page-faults\", \"event-runtime\" : 2, \"pcnt-running\" : 100.00}\n",
    ] {
        let parsed = read(text);
        assert_eq!(parsed.messages, [""; 0], "{text}");
        assert_eq!(totals(&parsed), expected, "{text}");
        assert!(parsed.is_whole());
        assert!(parsed.records[0].starts_with(r#"{"type":"run","stream":1,"tool":"perf-stat","#));
    }
}

#[test]
fn events_of_perf_stat_may_have_separators_and_units() {
    let text = "7,,cpu/event=0x3c,umask=0x1/,100,100.00,,\n1.50,Joules,power/energy-pkg/,100,100.00,,\n12345,ns,duration_time,12345,100.00,,\n18446744073709551615,,cycles:u,100,100.00,,\n";
    assert_eq!(
        totals(&read(text)),
        [
            r#"{"cpu/event=0x3c,umask=0x1/":7,"power/energy-pkg/":1500000,"duration_time":12345,"cycles:u":18446744073709551615},"units":{"duration_time":"ns","power/energy-pkg/":"0.000001 Joules"}}"#
        ]
    );
}

#[test]
fn missing_counts_are_not_zero() {
    let text = "<not supported>,,cycles,0,100.00,,\n<not counted>,,branches,0,0.00,,\n10,,faults,50,25.00,,\n";
    let parsed = read(text);
    assert_eq!(
        parsed.records_of_type("run"),
        [
            r#""stream":1,"tool":"perf-stat","source":["in"],"events":["faults"],"total":{"faults":10},"counted_share":{"faults":25.0},"not_counted":["branches"],"not_supported":["cycles"]}"#
        ]
    );
    assert_eq!(
        parsed.messages,
        [
            "in: cycles is not supported by the machine",
            "in: branches was not counted"
        ]
    );
    // Event b is counted in one of two intervals, event a for half of the time in one interval.
    let text = "1.0,10,,a,10,50.00,,\n1.0,1,,b,10,100.00,,\n2.0,20,,a,20,100.00,,\n2.0,<not counted>,,b,0,100.00,,\n";
    let parsed = read(text);
    assert_eq!(
        totals(&parsed),
        [r#"{"a":30,"b":1},"counted_share":{"a":75.0},"not_counted":["b"]}"#]
    );
    assert_eq!(parsed.messages, ["in: b was not counted on some lines"]);
    // The gap may come first.
    let parsed = read("1.0,<not counted>,,b,0,100.00,,\n2.0,7,,b,10,100.00,,\n");
    assert_eq!(totals(&parsed), [r#"{"b":7},"not_counted":["b"]}"#]);
    assert_eq!(parsed.messages, ["in: b was not counted on some lines"]);
}

#[test]
fn intervals_and_processors_can_be_separate_runs() {
    let text = "     0.1,CPU0,1,,a,1,100.00,,\n     0.1,CPU1,2,,a,1,100.00,,\n     0.2,CPU0,3,,a,1,100.00,,\n";
    let options = Options {
        per_part: true,
        ..Options::default()
    };
    assert_eq!(
        totals(&parsed::read(
            crate::perf_stat::parse,
            text.as_bytes(),
            &options
        )),
        [
            r#"{"a":1},"labels":{"cpu":"CPU0","interval":"0.1"}}"#,
            r#"{"a":2},"labels":{"cpu":"CPU1","interval":"0.1"}}"#,
            r#"{"a":3},"labels":{"cpu":"CPU0","interval":"0.2"}}"#,
        ]
    );
}

#[test]
fn other_text_is_an_error_with_its_line() {
    let text = "10,,faults,50,100.00,,\nSegmentation fault\n";
    let parsed = read(text);
    assert_eq!(
        parsed.messages,
        ["in:2: expected a counter of perf stat, found \"Segmentation fault\""]
    );
    assert!(parsed.has_errors);
    let cut = read("10,,faults,50,100.00,,\n10,,fau");
    assert!(cut.has_errors, "{:?}", cut.messages);
    let cut = read("10,,faults,50,100.00,,\n10,,faults,50,10");
    assert!(cut.has_errors, "{:?}", cut.messages);
}

/// Returns a summary of this version with these further fields.
fn summary(version: u64, body: &str) -> String {
    format!(
        "{{\"version\":\"{version}\",\"kind\":\"LibraryBenchmark\",\"benchmark_file\":\"b.rs\",\"benchmark_exe\":\"b\",\"module_path\":\"b::g::f\",\"id\":\"one\",{body}}}\n"
    )
}

#[test]
fn summaries_of_all_versions_are_read() {
    let events = |value: &dyn Fn(u64, u64) -> String| {
        format!(
            "\"Dr\":{},\"EstimatedCycles\":{},\"Ir\":{}",
            value(6, 5),
            value(90, 80),
            value(40, 30)
        )
    };
    let both = |new, old| format!("{{\"metrics\":{{\"Both\":[{new},{old}]}},\"diffs\":null}}");
    let typed = |new, old| {
        format!("{{\"metrics\":{{\"Both\":[{{\"Int\":{new}}},{{\"Int\":{old}}}]}},\"diffs\":null}}")
    };
    let plain = |new, old| format!("{{\"new\":{new},\"old\":{old},\"diff_pct\":1.5,\"factor\":2}}");
    let values = |new, old| {
        format!("{{\"values\":{{\"new\":{new},\"old\":{old}}},\"change\":{{\"diff_pct\":\"1\"}}}}")
    };
    let first = format!(
        "\"callgrind_summary\":{{\"summaries\":[{{\"command\":\"b x\",\"events\":{{{}}}}}]}}",
        events(&plain)
    );
    let third = format!(
        "\"callgrind_summary\":{{\"callgrind_run\":{{\"segments\":[{{\"command\":\"b x\"}}],\"total\":{{\"summary\":{{{}}}}}}}}}",
        events(&both)
    );
    let fourth = |value: &dyn Fn(u64, u64) -> String| {
        let rate = "\"L1HitRate\":{\"metrics\":{\"Both\":[{\"Float\":1.5},{\"Float\":1.0}]}}";
        format!(
            "\"profiles\":[{{\"tool\":\"Callgrind\",\"summaries\":{{\"parts\":[{{\"details\":{{\"Both\":[{{\"command\":\"b x\"}},{{\"command\":\"b y\"}}]}}}}],\"total\":{{\"summary\":{{\"Callgrind\":{{{rate},{}}}}}}}}}}}]",
            events(value)
        )
    };
    let seventh = format!(
        "\"profiles\":[{{\"tool\":\"Callgrind\",\"data\":{{\"parts\":[{{\"tool_run\":{{\"new\":{{\"command\":\"b x\"}}}}}}],\"total\":{{\"metrics\":{{{}}}}}}}}}]",
        events(&values)
    );
    for (version, body) in [
        (1, first.clone()),
        (2, first),
        (3, third),
        (4, fourth(&both)),
        (5, fourth(&typed)),
        (6, fourth(&typed)),
        (7, seventh),
    ] {
        let text = summary(version, &body);
        let parsed = read_summary(&text, &Options::default());
        assert_eq!(parsed.messages, [""; 0], "{text}");
        let program = if version < 7 {
            "iai-callgrind"
        } else {
            "gungraun"
        };
        assert_eq!(
            parsed.records_of_type("run"),
            [format!(
                r#""stream":1,"tool":"gungraun","creator":"{program}, summary version {version}","command":"b x","source":["in"],"events":["Ir","Dr"],"total":{{"Ir":40,"Dr":6}},"labels":{{"bench":"b::g::f one","tool":"callgrind"}}}}"#
            )]
        );
        let old = Options {
            revision: Revision::Old,
            ..Options::default()
        };
        let parsed = read_summary(&text, &old);
        assert!(
            totals(&parsed)[0].starts_with(r#"{"Ir":30,"Dr":5}"#),
            "{text}"
        );
    }
}

#[test]
fn other_tools_of_a_summary_are_separate_runs() {
    let callgrind = "\"callgrind_summary\":null";
    let second = format!(
        "{callgrind},\"tool_summaries\":[{{\"tool\":\"DHAT\",\"summaries\":[{{\"command\":\"b x\",\"costs_summary\":{{\"Total bytes\":{{\"new\":64,\"old\":60}}}}}},{{\"command\":\"b y\",\"costs_summary\":{{\"Total bytes\":{{\"new\":6,\"old\":0}}}}}}]}},{{\"tool\":\"Memcheck\",\"summaries\":[{{\"command\":\"b x\",\"costs_summary\":null}}]}}]"
    );
    let third = format!(
        "{callgrind},\"tool_summaries\":[{{\"tool\":\"DHAT\",\"summaries\":{{\"segments\":[{{\"details\":{{\"Both\":[{{\"command\":\"b x\"}},{{\"command\":\"b w\"}}]}}}}],\"total\":{{\"DhatSummary\":{{\"Total bytes\":{{\"metrics\":{{\"Both\":[70,60]}}}}}}}}}}}},{{\"tool\":\"Massif\",\"summaries\":{{\"segments\":[],\"total\":\"None\"}}}}]"
    );
    for (version, body) in [(2, second), (3, third)] {
        let text = summary(version, &body);
        let parsed = read_summary(&text, &Options::default());
        assert_eq!(
            parsed.messages[0],
            "in: b::g::f one: 1 summary of another tool has no metrics that can be read"
        );
        assert_eq!(
            totals(&parsed),
            [r#"{"Total bytes":70},"labels":{"bench":"b::g::f one","tool":"dhat"}}"#],
            "{text}"
        );
        assert!(parsed.records_of_type("run")[0].contains(r#""command":"b x""#));
        let old = Options {
            revision: Revision::Old,
            ..Options::default()
        };
        let parsed = read_summary(&text, &old);
        assert!(totals(&parsed)[0].starts_with(r#"{"Total bytes":60}"#));
    }
}

#[test]
fn a_summary_without_figures_is_an_error() {
    let left = "\"callgrind_summary\":{\"callgrind_run\":{\"segments\":[],\"total\":{\"summary\":{\"Ir\":{\"metrics\":{\"Left\":40}}}}}}";
    let text = summary(3, left);
    assert_eq!(
        totals(&read_summary(&text, &Options::default())),
        [r#"{"Ir":40},"labels":{"bench":"b::g::f one","tool":"callgrind"}}"#]
    );
    let old = Options {
        revision: Revision::Old,
        ..Options::default()
    };
    let parsed = read_summary(&text, &old);
    assert_eq!(
        parsed.messages,
        ["in: there are no old figures: the benchmarks were not compared"]
    );
    assert!(parsed.has_errors);
    for (text, message) in [
        (
            summary(8, left),
            "in: expected a summary of version 1 to 7, found version 8",
        ),
        (
            summary(3, "\"callgrind_summary\":{}"),
            "in: expected metrics of a benchmark, found none",
        ),
        (
            format!("{text}{}", &text[..100]),
            "in:2: EOF while parsing a string at line 2 column 100",
        ),
    ] {
        let parsed = read_summary(&text, &Options::default());
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.has_errors);
    }
    // One object per line; each is a separate run.
    assert_eq!(
        read_summary(&text.repeat(2), &Options::default())
            .records_of_type("run")
            .len(),
        2
    );
}
