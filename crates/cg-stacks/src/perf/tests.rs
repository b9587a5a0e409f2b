use std::collections::{BTreeMap, BTreeSet};

use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};
use serde_json::{Value, json};

fn script(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

fn run(parsed: &Parsed) -> Value {
    serde_json::from_str(&parsed.records[0]).unwrap()
}

/// Returns the stacks: frames innermost first, with a letter for each mark, and the cost.
fn stacks(parsed: &Parsed) -> Vec<String> {
    let records = parsed.records.iter();
    let records = records.map(|record| serde_json::from_str::<Value>(record).unwrap());
    records
        .filter(|record| record["type"] == "stack")
        .map(|record| {
            let frames = record["stack"].as_array().unwrap().iter().map(|frame| {
                let marks = ["kernel", "jit", "inlined"];
                let marks: String = marks
                    .iter()
                    .filter(|mark| frame[**mark] == true)
                    .map(|mark| &mark[..1])
                    .collect();
                let name = frame["fn"].as_str().unwrap_or("-");
                match marks.as_str() {
                    "" => name.to_owned(),
                    marks => format!("{name}[{marks}]"),
                }
            });
            let frames: Vec<String> = frames.collect();
            format!("{} {}", frames.join("<"), record["cost"])
        })
        .collect()
}

const CHAINS: &str = "\
inl  5019  1180.253765:    1003009 cpu-clock: 
\t            12e6 work+0x16 (/opt/inl)
\t            1342 run+0x22 (/opt/inl)
\t           d44a3 [unknown] (/usr/lib/libstdc++.so.6)

inl  5029  1180.268769:    1003009 cpu-clock: 
\tffffffff8110410b do_syscall_64+0x0 ([kernel.kallsyms])
\t            12f0 work+0x20 (/opt/inl)
\t            1342 run+0x22 (/opt/inl)
\t           d44a3 [unknown] (/usr/lib/libstdc++.so.6)

inl  5019  1180.269770:    1003009 cpu-clock: 
\t            12e9 work+0x19 (/opt/inl)
\t            1342 run+0x22 (/opt/inl)
\t           d44a3 [unknown] (/usr/lib/libstdc++.so.6)

";

#[test]
fn samples_of_a_stack_are_added_up() {
    let parsed = script(CHAINS);
    assert_eq!(
        parsed.records,
        [
            r#"{"type":"run","stream":1,"tool":"perf","source":["in"],"events":["cpu-clock","samples"],"total":{"cpu-clock":3009027,"samples":3},"threads":[{"thread":5019,"thread_name":"inl"},{"thread":5029,"thread_name":"inl"}],"duration":16005000,"units":{"cpu-clock":"ns"}}"#,
            r#"{"type":"stack","fn":"work","obj":"/opt/inl","thread":"inl","tid":5019,"cost":{"cpu-clock":2006018,"samples":2},"stack":[{"fn":"work","obj":"/opt/inl"},{"fn":"run","obj":"/opt/inl"},{"fn":"[unknown]","obj":"/usr/lib/libstdc++.so.6"}]}"#,
            r#"{"type":"stack","fn":"work","obj":"/opt/inl","thread":"inl","tid":5029,"cost":{"cpu-clock":1003009,"samples":1},"stack":[{"fn":"do_syscall_64","obj":"[kernel.kallsyms]","kernel":true},{"fn":"work","obj":"/opt/inl"},{"fn":"run","obj":"/opt/inl"},{"fn":"[unknown]","obj":"/usr/lib/libstdc++.so.6"}]}"#,
            r#"{"type":"end","records":2}"#,
        ]
    );
    assert!(parsed.messages.is_empty());
}

#[test]
fn every_sample_is_kept() {
    // Other tools lose chains without frames, and frames whose name begins with a parenthesis.
    let parsed = script(
        "swapper     0 [000]  10.000001:    1003009 cpu-clock: \n\n\
         opt cgu.0  8444 [000]  1429.301537:     200000 cpu-clock: \n\
         \t 8eb0214 (anonymous namespace)::Pruner::Clone+0x17ba (/l/librustc.so)\n\
         \t 8eb0300 main+0x1 (/l/librustc.so)\n\n\
         :-1    -1 [001]  1429.301538:     200000 cpu-clock: \n\n",
    );
    assert_eq!(
        stacks(&parsed),
        [
            r#" {"cpu-clock":1003009,"samples":1}"#,
            r#" {"cpu-clock":200000,"samples":1}"#,
            r#"(anonymous namespace)::Pruner::Clone<main {"cpu-clock":200000,"samples":1}"#,
        ]
    );
    assert!(!parsed.has_errors);
    // The last sample without the blank line after it.
    let cut = CHAINS.trim_end();
    assert_eq!(script(cut).records, script(CHAINS).records);
}

#[test]
fn each_event_has_a_column_and_the_most_sampled_event_is_first() {
    let parsed = script(
        "             inl  5487  1192.428289:          1 page-faults:  ffffffff817554ea elf_load+0x28a ([kernel.kallsyms])\n             \
         inl  5487  1192.429259:    1003009   cpu-clock:  ffffffff821f5127 exc+0xd7 ([kernel.kallsyms])\n             \
         inl  5487  1192.440679:    1003009   cpu-clock:      55d8ba1fe2e6 work+0x16 (/opt/inl)\n             \
         inl  5487  1192.441681:         66 page-faults:      55d8ba1fe2e6 work+0x16 (/opt/inl)\n             \
         inl  5487  1192.441681:         13   cpu-clock:      55d8ba1fe2f0 work+0x20 (/opt/inl)\n",
    );
    assert_eq!(
        run(&parsed)["events"],
        json!(["cpu-clock", "page-faults", "samples"])
    );
    assert_eq!(
        run(&parsed)["total"],
        json!({"cpu-clock": 2006031, "page-faults": 67, "samples": 5})
    );
    assert_eq!(
        stacks(&parsed),
        [
            r#"work {"cpu-clock":1003022,"page-faults":66,"samples":3}"#,
            r#"exc[k] {"cpu-clock":1003009,"samples":1}"#,
            r#"elf_load[k] {"cpu-clock":0,"page-faults":1,"samples":1}"#,
        ]
    );
}

#[test]
fn without_periods_events_are_counted_in_samples() {
    let parsed = script(
        "inl  5161/5161   1183.805204: cpu-clock: \n\t 1 f (/x)\n\ninl  5161/5162   1183.805205: faults: \n\t 1 f (/x)\n\n",
    );
    assert_eq!(
        run(&parsed)["total"],
        json!({"cpu-clock": 1, "faults": 1, "samples": 2})
    );
    assert_eq!(
        run(&parsed)["units"],
        json!({"cpu-clock": "samples", "faults": "samples"})
    );
}

#[test]
fn events_with_unusual_names_have_separate_columns() {
    // A recording may give events any name (`-e cycles/name=samples/`), including bytes that are not UTF-8.
    let text = b"inl  5161/5161   1.8: 10 samples: \n\t 1 f (/x)\n\ninl  5161/5161   1.9: 20 cycl\xffs: \n\t 1 f (/x)\n\ninl  5161/5161   2.0: 30 cycl\xffs: \n\t 1 f (/x)\n\n";
    let parsed = parsed::read(super::parse, text, &Options::default());
    assert_eq!(
        run(&parsed)["total"],
        json!({"cycl\\xffs": 50, "samples:period": 10, "samples": 3})
    );
}

#[test]
fn every_selection_of_fields_is_read() {
    for (text, expected) in [
        // -F ip,sym: a sample is an empty line, and frames.
        (
            "\n\t 12e6 work\n\t 1342 run\n\n\n\t 12e6 work\n\n\n\n",
            vec![
                " {\"samples\":1}",
                "work {\"samples\":1}",
                "work<run {\"samples\":1}",
            ],
        ),
        // -F comm,tid,ip,sym
        (
            "inl  5161 \n\t 12e6 work\n\t 1342 f(int)\n\ninl  5161 \n\n",
            vec![" {\"samples\":1}", "work<f(int) {\"samples\":1}"],
        ),
        // -F comm,ip,sym
        (
            "inl \n\t 12e6 work\n\ninl \n\t 12e6 work\n\n",
            vec!["work {\"samples\":2}"],
        ),
        // -F ip,sym and -F comm,tid,ip,sym,dso for samples without chains
        (
            "     55d8ba1fe2e6 work+0x1\n ffffffff8110410b exc+0x2\n",
            vec!["exc[k] {\"samples\":1}", "work {\"samples\":1}"],
        ),
        (
            "   inl  5321      55d8ba1fe2e6 work+0x16 (/x)\n",
            vec!["work {\"samples\":1}"],
        ),
        // -F comm,tid,time,period,event
        (
            "inl  5  1.000001:  7 cycles: \ninl  5  1.000002:  7 cycles: \n",
            vec![" {\"cycles\":14,\"samples\":2}"],
        ),
        // -F ip,dso and -F ip: only the address distinguishes frames.
        (
            "inl  5  1.000001:  7 cycles: \n\t            12e6 (/x)\n\t            13 (/x)\n\n",
            vec!["0x12e6<0x13 {\"cycles\":7,\"samples\":1}"],
        ),
        (
            "\n\t            12e6\n\t            13\n\n",
            vec!["0x12e6<0x13 {\"samples\":1}"],
        ),
        // -F +addr for samples with chains and without
        (
            "inl  5  1.000001:  7 cycles:     7ffd00000010 \n\t 12e6 work (/x)\n\n",
            vec!["work {\"cycles\":7,\"samples\":1}"],
        ),
        (
            "inl  5  1.000001:  7 cycles:     7ffd00000010      55d8ba1fe2e6 work (/x)\n",
            vec!["work {\"cycles\":7,\"samples\":1}"],
        ),
        // -F +brstack, and the data of a memory access, for samples without chains
        (
            "inl  5  1.000001:  7 cycles:      55d8ba1fe2e6 work+0x1 (/x)  0x12e6/0x1342/P/-/-/1  f+0x1/g+0x2/M/X/-/20 \n",
            vec!["work {\"cycles\":7,\"samples\":1}"],
        ),
        (
            "inl  5  1.000001:  7 cycles:     7ffd12345678         5080021 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A               67      55d8ba1fe2e6 work+0x1 (/x)\n",
            vec!["work {\"cycles\":7,\"samples\":1}"],
        ),
        // A thread can have any name.
        (
            "at 1.000000: y  5  2.000001:  7 cycles: \n\t 12e6 work (/x)\n\n",
            vec!["work {\"cycles\":7,\"samples\":1}"],
        ),
        // A tracepoint's text is not a frame.
        (
            "perf  7  1.000001:          1 sched:sched_switch: prev_comm=perf prev_pid=7 ==> next_comm=x\n\t 12e6 work (/x)\n\n",
            vec!["work {\"samples\":1,\"sched:sched_switch\":1}"],
        ),
        // Tabs became blanks, and lines have Windows line breaks.
        (
            "inl  5  1.000001:          7 cycles: \r\n            12e6 work+0x16 (/x)\r\n            1342 run+0x1 (/x)\r\n\r\n",
            vec!["work<run {\"cycles\":7,\"samples\":1}"],
        ),
    ] {
        let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
        assert_eq!(stacks(&parsed), expected, "{text}");
        assert_eq!(parsed.messages, [""; 0], "{text}");
    }
}

#[test]
fn inlined_frames_have_the_object_of_their_host() {
    let parsed = script(
        "ld  5  1.000001:  7 cycles: \n\
         \t e460 resolve_map+0x840 (inlined)\n\t e460 rela+0x840 (inlined)\n\t e460 relocate+0x840 (/lib/ld.so)\n\
         \t e460 relocate+0x840 (/lib/ld.so)\n\t 1a34e start+0x7e (/lib/ld.so)\n\n",
    );
    assert_eq!(
        stacks(&parsed),
        [r#"resolve_map[i]<rela[i]<relocate<relocate<start {"cycles":7,"samples":1}"#]
    );
    let record: Value = serde_json::from_str(&parsed.records[1]).unwrap();
    assert_eq!(record["stack"][0]["obj"], "/lib/ld.so");
    assert!(parsed.messages.is_empty());
}

#[test]
fn an_inlined_frame_named_by_binutils_is_not_a_recursion() {
    // Recorded with perf 6.1: the leaf is `hot`, inlined into the lambda.
    let parsed = script(
        "inl  5169  1183.812747:    1003009 cpu-clock: \n\
         \t 12e6 work+0x16 (/opt/inl)\n\t 12e6 operator()+0x16 (inlined)\n\t 12e6 run<>+0x16 (inlined)\n\t 12e6 work+0x16 (/opt/inl)\n\
         \t 1310 rec+0x10 (/opt/inl)\n\
         \t 1341 std::_State_impl<X>::_M_run+0x21 (/opt/inl)\n\t 1341 __invoke+0x21 (inlined)\n\t 1341 _M_run+0x21 (inlined)\n\
         \t 891f4 start_thread+0x304 (/lib/libc.so.6)\n\n",
    );
    assert_eq!(
        stacks(&parsed),
        [concat!(
            "work[i]<operator()[i]<run<>[i]<work<rec<",
            "std::_State_impl<X>::_M_run[i]<__invoke[i]<std::_State_impl<X>::_M_run<start_thread ",
            r#"{"cpu-clock":1003009,"samples":1}"#
        )]
    );
    assert_eq!(parsed.messages.len(), 1);
    assert!(
        parsed.messages[0].starts_with("in: 2 innermost inlined frames"),
        "{:?}",
        parsed.messages
    );
    // The host function may have only the name from its debug information.
    let parsed = script(
        "r  5  1.000001:  7 cycles: \n\t 10 size (inlined)\n\t 10 primes (inlined)\n\t 12 f (/x)\n\n",
    );
    assert_eq!(
        stacks(&parsed),
        [r#"size[i]<primes<f {"cycles":7,"samples":1}"#]
    );
    // A function that calls itself from one place has nothing inlined there.
    let parsed = script(
        "r  5  1.000001:  7 cycles: \n\t 10 f (/x)\n\t 12 f (/x)\n\t 12 f (/x)\n\t 12 f (/x)\n\n",
    );
    assert_eq!(stacks(&parsed), [r#"f<f<f<f {"cycles":7,"samples":1}"#]);
    assert!(parsed.messages.is_empty());
}

#[test]
fn a_source_line_belongs_to_the_frame_before_it() {
    let parsed = script(
        "inl  5  1.000001:  7 cycles: \n\
         \t e460 map+0x840\n  dl-reloc.c:190 (inlined)\n\t e460 relocate+0x840 (/lib/ld.so)\n  dl-reloc.c:301\n\
         \t 1a start+0x7 (/lib/ld.so)\n  :0\n\n",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [concat!(
            r#""fn":"map","file":"dl-reloc.c","line":190,"obj":"/lib/ld.so","thread":"inl","tid":5,"cost":{"cycles":7,"samples":1},"stack":["#,
            r#"{"fn":"map","file":"dl-reloc.c","line":190,"obj":"/lib/ld.so","inlined":true},"#,
            r#"{"fn":"relocate","file":"dl-reloc.c","line":301,"obj":"/lib/ld.so"},{"fn":"start","obj":"/lib/ld.so"}]}"#
        )]
    );
    // With tabs in place of blanks. Without a line, perf prints the object and the address.
    let parsed = script(
        "inl\t5\t1.000001:\t7\tcycles:\t\n\
         \te460\tmap+0x840\n\tdl-reloc.c:190\t(inlined)\n\te460\trelocate+0x840\t(/lib/ld.so)\n\tld.so[e460]\n\n",
    );
    assert_eq!(
        parsed.records_of_type("stack"),
        [concat!(
            r#""fn":"map","file":"dl-reloc.c","line":190,"obj":"/lib/ld.so","thread":"inl","tid":5,"cost":{"cycles":7,"samples":1},"stack":["#,
            r#"{"fn":"map","file":"dl-reloc.c","line":190,"obj":"/lib/ld.so","inlined":true},{"fn":"relocate","obj":"/lib/ld.so"}]}"#
        )]
    );
    assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    // Also for samples without chains, in threads with short and long names.
    let parsed = script(
        "             inl  5  1.000001:          7 cycles:      55d8ba1fe2e6 work+0x1 (/x)\n  inl.cpp:6\n  a-name-as-long  5  1.000002:          7 cycles:      55d8ba1fe2e6 work+0x1 (/x)\n",
    );
    assert_eq!(
        parsed.records_of_type("stack").len(),
        2,
        "{:?}",
        parsed.records
    );
    assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
}

#[test]
fn other_records_are_not_samples() {
    let parsed = script(
        "swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x12) @ 0xff]: x [kernel.kallsyms]_text\n\
         inl  5380  1189.739365: PERF_RECORD_COMM exec: inl:5380/5380\n\
         inl  5380  1189.739409:          1 page-faults: \n\tffffffff817554ea elf_load+0x28a ([kernel.kallsyms])\n\n\
         0x1f40 [0x8]: PERF_RECORD_FINISHED_ROUND\nPERF_RECORD_FINISHED_ROUND\n\
         inl  5380  1189.739410: PERF_RECORD_LOST lost 24\n",
    );
    assert_eq!(
        stacks(&parsed),
        [r#"elf_load[k] {"page-faults":1,"samples":1}"#]
    );
    assert_eq!(
        parsed.messages,
        ["in: perf lost 24 samples or other records while it recorded"]
    );
    assert!(!parsed.has_errors);
}

#[test]
fn jit_code_is_marked_and_its_inlined_functions_are_frames() {
    let parsed = script(
        "java  5/9  1.000001:  7 cycles: \n\t 7f10 LA;::run->LB;::work->LC;::leaf+0x3 (/tmp/perf-5.map)\n\t 7f20 call_stub (/tmp/perf-5.map)\n\t 10 JavaMain (/usr/libjli.so)\n\n",
    );
    assert_eq!(
        stacks(&parsed),
        [
            r#"LC;::leaf[ji]<LB;::work[ji]<LA;::run[j]<call_stub[j]<JavaMain {"cycles":7,"samples":1}"#
        ]
    );
}

#[test]
fn threads_and_processes_have_the_names_that_perf_prints() {
    let parsed = script(
        "perf-exec  5/5  1.000001:  7 cycles: \n\t 1 f (/x)\n\n\
         demo  5/5  1.000002:  7 cycles: \n\t 1 f (/x)\n\n\
         worker 1 b  5/9  1.000003:  7 cycles: \n\t 1 f (/x)\n\n",
    );
    let records: Vec<Value> = parsed
        .records
        .iter()
        .map(|record| serde_json::from_str(record).unwrap())
        .collect();
    let names: Vec<&Value> = records[1..4]
        .iter()
        .map(|record| &record["thread"])
        .collect();
    assert_eq!(names, ["demo", "perf-exec", "worker 1 b"]);
    assert!(
        records[1..4]
            .iter()
            .all(|record| record["process"] == "demo" && record["pid"] == 5)
    );
    assert_eq!(
        records[0]["threads"],
        json!([
            {"pid": 5, "process": "demo", "thread": 5, "thread_name": "demo"},
            {"pid": 5, "process": "demo", "thread": 9, "thread_name": "worker 1 b"},
        ])
    );
}

#[test]
fn a_chain_of_the_maximum_length_is_marked_as_cut() {
    for (length, is_cut) in [(126, false), (127, true)] {
        let frames: String = (0..length)
            .map(|number| format!("\t {number:x} f{number} (/x)\n"))
            .collect();
        let parsed = script(&format!("inl  5  1.000001:  7 cycles: \n{frames}\n"));
        assert_eq!(parsed.records[1].contains(r#""cut":true"#), is_cut);
    }
}

#[test]
fn an_unknown_line_is_an_error_between_samples_and_a_warning_inside_one() {
    let parsed = script(&format!("{CHAINS}Segmentation fault\n{CHAINS}"));
    assert_eq!(
        parsed.messages,
        [
            "in:17: expected a sample of perf script, found \"Segmentation fault\"; lines left out: 1"
        ]
    );
    assert_eq!(run(&parsed)["total"]["samples"], 6);
    assert!(parsed.has_errors && !parsed.is_whole());
    let parsed =
        script("inl  5  1.000001:  7 cycles: \n\t 1 f (/x)\nBPF output: 0000\n\t 2 g (/x)\n\n");
    assert_eq!(stacks(&parsed), [r#"f<g {"cycles":7,"samples":1}"#]);
    assert_eq!(
        parsed.messages,
        ["in:3: inside a sample, but not a frame: \"BPF output: 0000\"; such lines left out: 1"]
    );
    assert!(!parsed.has_errors);
    let parsed = script(
        "inl  5  1.000001:  7 cycles: \n\t 1 f (/x)\n\t   A_WEIRD_LINE\n\t00007f0000401136\tinsn: 48 89 e7\n\t0000555555554136\tinsn: 55\t# PRED 3 cycles\n\t 2 g (/x)\n\n",
    );
    assert_eq!(stacks(&parsed), [r#"f<g {"cycles":7,"samples":1}"#]);
    assert_eq!(
        parsed.messages,
        ["in:3: inside a sample, but not a frame: \"   A_WEIRD_LINE\"; such lines left out: 1"]
    );
}

#[test]
fn lines_before_the_samples_are_not_samples() {
    let parsed = script(&format!(
        "WARNING: maps restricted: x\n[ perf record: Woken up 1 times ]\n{CHAINS}"
    ));
    assert_eq!(run(&parsed)["total"], run(&script(CHAINS))["total"]);
    assert_eq!(
        parsed.messages,
        [
            "in:1: expected a sample of perf script, found \"WARNING: maps restricted: x\"; lines left out: 2"
        ]
    );
    assert!(parsed.has_errors);
}

#[test]
fn the_order_of_samples_does_not_change_the_output() {
    let mut samples: Vec<String> = Vec::new();
    for number in 0..60u32 {
        let frames: String = (0..number % 7)
            .map(|depth| format!("\t {depth} f{}+0x{depth} (/x)\n", (number * depth) % 5))
            .collect();
        let event = if number % 3 == 0 {
            "faults"
        } else {
            "cpu-clock"
        };
        samples.push(format!(
            "t{}  5/{}  1.{number:06}:  {number} {event}: \n{frames}\n",
            number % 4,
            number % 3
        ));
    }
    let expected = script(&samples.concat()).records;
    assert!(expected.len() > 20);
    samples.reverse();
    assert_eq!(script(&samples.concat()).records, expected);
    samples.rotate_left(17);
    assert_eq!(script(&samples.concat()).records, expected);
}

#[test]
fn no_prefix_panics_and_every_error_is_reported() {
    check_all_prefixes(
        super::parse,
        format!("# ========\n# perf version : 6.1\n#\n{CHAINS}").as_bytes(),
        &Options::default(),
    );
    check_all_prefixes(super::parse,
        b"   inl  5  1.000001:    1003 cycles:  ffffffff821f5127 exc+0xd7 ([kernel])\n  a.c:3\n   inl  5  1.000001: PERF_RECORD_LOST lost 2\n",
        &Options::default(),
    );
}

#[test]
fn lines_with_the_same_address_are_distinguished() {
    // Programs have different functions at one address. Lines have both kinds of line breaks, and some are repeated.
    let mut text = String::new();
    let mut expected = BTreeMap::new();
    for number in 0..6000 {
        let (address, name) = (number * 7919 % 1500, number % 13);
        let end = if number % 5 == 0 { "\r\n" } else { "\n" };
        let offset = ["", "+0x7"][number % 2];
        text += &format!(
            "a  7  1.000001:          2 c: {end}\t{address:16x} f{name}{offset} (/x){end}{end}"
        );
        *expected.entry(format!("f{name}")).or_insert(0) += 1;
    }
    let parsed = script(&text);
    let expected: BTreeSet<String> = expected
        .into_iter()
        .map(|(name, samples)| format!("{name} {}", json!({"c": 2 * samples, "samples": samples})))
        .collect();
    assert_eq!(
        stacks(&parsed).into_iter().collect::<BTreeSet<_>>(),
        expected
    );
    assert!(!parsed.has_errors, "{:?}", parsed.messages);
}

/// Returns the evidence of all lines.
fn evidence(text: &str) -> Box<dyn cg_reader::LineEvidence> {
    let mut evidence = super::line_evidence();
    for line in text.lines() {
        evidence.add(line.as_bytes());
    }
    evidence
}

/// Replaces each run of blanks by a tab.
fn with_tabs(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let mut line: String = line.replace(' ', "\t");
        while line.contains("\t\t") {
            line = line.replace("\t\t", "\t");
        }
        line + "\n"
    });
    lines.collect()
}

#[test]
fn a_tab_separates_fields_as_blanks_do() {
    let flat = "            perf  5161 [003]   123.456789:     250000 cpu-clock:      ffffffff8104 do_it(int, long)+0x4 ([kernel.kallsyms])\n\
                \x20           app   5162 [000]   123.456889:     250000 cpu-clock:              1158 mix (/opt/app)\n";
    let hexadecimal_name = "              dd  5161   123.456789:     250000 cpu-clock: \n\
                            \x20         add 1  5162   123.456889:     250000 cpu-clock: \n";
    let unknown = "app  5161   123.456789:     250000 cpu-clock: \n\
                   \t               0 [unknown] ([unknown])\n\
                   \tffffffffc0000000 [unknown]\n\
                   \t            1158 mix (/opt/app)\n\n";
    for text in [CHAINS, flat, hexadecimal_name, unknown] {
        let expected = script(text);
        let text = with_tabs(text);
        assert!(evidence(&text).is_likely(), "{text}");
        let parsed = script(&text);
        assert_eq!(parsed.records, expected.records);
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }
    // The last frame lacks its object.
    let text = with_tabs(flat);
    let parsed = script(&text[..text.len() - "app)\n".len()]);
    assert!(parsed.has_errors && stacks(&parsed).len() == 1);
    // Periods without threads and times.
    let periods = script("   1003009 cpu-clock: \n         7 faults: \n");
    let with_tabs = script("\t1003009\tcpu-clock:\t\n\t7\tfaults:\t\n");
    assert_eq!(with_tabs.records, periods.records);
}

#[test]
fn a_text_with_tabs_needs_neither_events_nor_objects() {
    let samples = "app 7/7 100.000001: \n\t    ffffffff82001158 do_it\n\t            114a mix\n\n\
                   app 7/8 100.000002:     250000 \n\t            114a mix\n\n";
    let in_column = samples.replace("    ffffffff82001158", "ffffffff82001158");
    let expected = script(&in_column);
    assert_eq!(stacks(&expected).len(), 2);
    // Runs of blanks with or without the tab before them become a tab.
    let blanks_only = in_column
        .replace("            ", "\t")
        .replace("     ", "\t");
    for text in [with_tabs(&in_column), blanks_only.replace(' ', "\t")] {
        assert!(evidence(&text).is_likely(), "{text}");
        let parsed = script(&text);
        assert_eq!(parsed.records, expected.records, "{text}");
        assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    }
    // Other tables have tabs, hexadecimal numbers and times.
    for table in ["a\t1.000001:\t\n\tdeed\tx\nb\n", "\tadd\tx\n\tbed\ty\n"] {
        assert!(!evidence(table).is_likely(), "{table}");
    }
}

#[test]
fn frames_of_simpleperf_have_a_tab_after_the_address() {
    let text = "app\t7 [001] 115539.936601:\t\t1000000 task-clock:u:\n\
                \x20       b3cea6c4\tLock::unlock() (/system/lib/libc.so)\n\
                \x20       94f900f5\tns::Create(char const*, Id&) (/data/app/libxul.so)\n\n";
    let parsed = script(text);
    assert_eq!(
        stacks(&parsed),
        [r#"Lock::unlock()<ns::Create(char const*, Id&) {"samples":1,"task-clock:u":1000000}"#]
    );
    assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    // A last frame without its object is cut.
    let whole = text.repeat(2);
    for end in [
        "94f900f5\tns::Create(char const*, I",
        "94f900f5\tns::Create(char const*, Id&) (/data/ap",
    ] {
        let length = whole.rfind("94f900f5").unwrap();
        let parsed = script(&(whole[..length].to_owned() + end));
        assert!(parsed.has_errors && !parsed.is_whole(), "{end}");
        assert_eq!(stacks(&parsed).len(), 1);
    }
    let mut evidence = super::line_evidence();
    for line in text.repeat(11).lines() {
        evidence.add(line.as_bytes());
    }
    assert!(evidence.is_proven());
}

#[test]
fn json_of_a_recording_has_the_samples_of_its_text() {
    let json = r#"{"linux-perf-json-version":1,"headers":{"hostname":"builder","perf-version":"6.1","cmdline":["perf","record","./inl"]},
        "samples":[
        {"timestamp":1180268769000,"pid":5029,"tid":5029,"comm":"inl","callchain":[{"ip":"0xffffffff8110410b","symbol":"do_syscall_64","dso":"[kernel.kallsyms]"},{"ip":"0x12f0","symbol":"work","dso":"inl"},{"ip":"0x77"}]},
        {"timestamp":1180268779000,"pid":5029,"tid":5029,"comm":"inl","callchain":[{"ip":"0x12f4","symbol":"work","dso":"inl"}]}]}"#;
    let parsed = parsed::read(super::parse_json, json.as_bytes(), &Options::default());
    assert_eq!(
        parsed.records,
        [
            r#"{"type":"run","stream":1,"tool":"perf","creator":"perf 6.1","command":"./inl","source":["in"],"events":["samples"],"total":{"samples":2},"threads":[{"pid":5029,"process":"inl","thread":5029,"thread_name":"inl"}],"duration":10000,"labels":{"cmdline":"perf record ./inl","host":"builder"}}"#,
            r#"{"type":"stack","fn":"work","obj":"inl","thread":"inl","tid":5029,"process":"inl","pid":5029,"cost":{"samples":1},"stack":[{"fn":"do_syscall_64","obj":"[kernel.kallsyms]","kernel":true},{"fn":"work","obj":"inl"},{"fn":"[unknown]"}]}"#,
            r#"{"type":"stack","fn":"work","obj":"inl","thread":"inl","tid":5029,"process":"inl","pid":5029,"cost":{"samples":1},"stack":[{"fn":"work","obj":"inl"}]}"#,
            r#"{"type":"end","records":2}"#,
        ]
    );
}
