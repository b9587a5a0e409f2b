use cg_reader::Options;
use parsed::check_all_prefixes;

/// Returns a file in Valgrind's layout, with a mode, the fields of program points, and a table of four frames.
fn valgrind(mode: &str, points: &[&str]) -> String {
    let points: Vec<String> = points
        .iter()
        .map(|point| format!("{{{point}\n  }}"))
        .collect();
    format!(
        "{{\"dhatFileVersion\":2\n,{mode}\n,\"tu\":\"instrs\",\"Mtu\":\"Minstr\"\n,\"cmd\":\"./prog\"\n,\"pid\":17\n,\"te\":900\n,\"tg\":400\n,\"pps\":\n [{}\n ]\n,\"ftbl\":\n [\"[root]\"\n ,\"0x1: malloc (in /usr/vgpreload_dhat-amd64-linux.so)\"\n ,\"0x2: grow (a.c:3)\"\n ,\"0x3: main (a.c:9)\"\n ]\n}}\n",
        points.join("\n ,")
    )
}

const HEAP: &str =
    "\"mode\":\"heap\",\"verb\":\"Allocated\"\n,\"bklt\":true,\"bkacc\":true\n,\"tuth\":500";
const POINT: &str = "\"tb\":100,\"tbk\":2\n  ,\"tl\":30\n  ,\"mb\":60,\"mbk\":1\n  ,\"gb\":50,\"gbk\":1\n  ,\"eb\":0,\"ebk\":0\n  ,\"rb\":7,\"wb\":9\n  ,\"acc\":[-3,2,65535,0]\n  ,\"fs\":[1,2,3]";

fn check(text: &str, records: &[&str]) {
    let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
    assert_eq!(parsed.messages, [""; 0]);
    assert_eq!(parsed.records, records);
}

#[test]
fn points_of_mode_heap_have_all_counts() {
    check(
        &valgrind(HEAP, &[POINT]),
        &[
            r#"{"type":"run","stream":1,"tool":"dhat","command":"./prog","pid":17,"source":["in"],"events":["total_bytes","total_blocks","gmax_bytes","gmax_blocks","end_bytes","end_blocks","read_bytes","write_bytes"],"total":{"total_bytes":100,"total_blocks":2,"gmax_bytes":50,"gmax_blocks":1,"end_bytes":0,"end_blocks":0,"read_bytes":7,"write_bytes":9},"time_unit":"instrs","end_time":900,"gmax_time":400,"mega_time_unit":"Minstr","mode":"heap","short_lived":500,"verb":"Allocated"}"#,
            r#"{"type":"program_point","fn":"grow","file":"a.c","line":3,"cost":{"total_bytes":100,"total_blocks":2,"gmax_bytes":50,"gmax_blocks":1,"read_bytes":7,"write_bytes":9},"max_bytes":60,"max_blocks":1,"lifetime":30,"accesses":[2,2,2,null,0],"stack":[{"fn":"malloc","obj":"/usr/vgpreload_dhat-amd64-linux.so","addr":"0x1"},{"fn":"grow","file":"a.c","line":3,"addr":"0x2"},{"fn":"main","file":"a.c","line":9,"addr":"0x3"}]}"#,
            r#"{"type":"end","records":1}"#,
        ],
    );
}

#[test]
fn points_of_other_modes_have_only_totals() {
    let copy = "\"mode\":\"copy\",\"verb\":\"Copied\"\n,\"bklt\":false,\"bkacc\":false";
    check(
        &valgrind(
            copy,
            &[
                "\"tb\":10,\"tbk\":1,\"fs\":[3]",
                "\"tb\":0,\"tbk\":4,\"fs\":[2,3]",
            ],
        ),
        &[
            r#"{"type":"run","stream":1,"tool":"dhat","command":"./prog","pid":17,"source":["in"],"events":["total_bytes","total_blocks"],"total":{"total_bytes":10,"total_blocks":5},"time_unit":"instrs","end_time":900,"gmax_time":400,"mega_time_unit":"Minstr","mode":"copy","verb":"Copied"}"#,
            r#"{"type":"program_point","fn":"main","file":"a.c","line":9,"cost":{"total_bytes":10,"total_blocks":1},"stack":[{"fn":"main","file":"a.c","line":9,"addr":"0x3"}]}"#,
            r#"{"type":"program_point","fn":"grow","file":"a.c","line":3,"cost":{"total_bytes":0,"total_blocks":4},"stack":[{"fn":"grow","file":"a.c","line":3,"addr":"0x2"},{"fn":"main","file":"a.c","line":9,"addr":"0x3"}]}"#,
            r#"{"type":"end","records":2}"#,
        ],
    );
}

#[test]
fn columns_and_units_of_dhat_rs_are_read() {
    let text = "{\n\"dhatFileVersion\": 2,\n\"mode\": \"rust-ad-hoc\",\n\"verb\": \"Allocated\",\n\"bklt\": false,\n\"bkacc\": false,\n\"bu\": \"unit\",\n\"bsu\": \"units\",\n\"bksu\": \"events\",\n\"tu\": \"µs\",\n\"Mtu\": \"s\",\n\"cmd\": \"dr\",\n\"pid\": 5,\n\"te\": 38,\n\"pps\": [\n{\n\"tb\": 200,\n\"tbk\": 1,\n\"fs\": [\n1\n]\n}\n],\n\"ftbl\": [\n\"[root]\",\n\"0x55b5: dr::main (dr/src/main.rs:11:121)\"\n]\n}";
    check(
        text,
        &[
            r#"{"type":"run","stream":1,"tool":"dhat","creator":"dhat-rs","command":"dr","pid":5,"source":["in"],"events":["total_bytes","total_blocks"],"total":{"total_bytes":200,"total_blocks":1},"time_unit":"µs","blocks_unit":"events","byte_unit":"unit","bytes_unit":"units","end_time":38,"mega_time_unit":"s","mode":"rust-ad-hoc","verb":"Allocated"}"#,
            r#"{"type":"program_point","fn":"dr::main","file":"dr/src/main.rs","line":11,"cost":{"total_bytes":200,"total_blocks":1},"stack":[{"fn":"dr::main","file":"dr/src/main.rs","line":11,"addr":"0x55b5"}]}"#,
            r#"{"type":"end","records":1}"#,
        ],
    );
}

#[test]
fn version_1_differs_only_in_its_keys() {
    let second = valgrind(HEAP, &[POINT]);
    let first = second
        .replace("\"dhatFileVersion\":2", "\"dhatFileVersion\":1")
        .replace(
            &format!(",{HEAP}\n,\"tu\":\"instrs\",\"Mtu\":\"Minstr\"\n"),
            "",
        )
        .replace("\"te\"", "\"ei\"")
        .replace("\"tg\"", "\"mi\"")
        .replace("\"pps\"", "\"aps\"")
        .replace("\"tl\"", "\"tli\"")
        .replace("\"eb\"", "\"fb\"")
        .replace("\"ebk\"", "\"fbk\"");
    assert!(!first.contains("bklt") && first.contains("aps"));
    let second = parsed::read(super::parse, second.as_bytes(), &Options::default());
    let records: Vec<&str> = second.records.iter().map(String::as_str).collect();
    check(&first, &records);
}

#[test]
fn an_invalid_file_is_an_error_with_its_line() {
    let good = valgrind(HEAP, &[POINT]);
    for (from, to, message) in [
        (
            "[1,2,3]",
            "]",
            "in:18: expected a list after \"fs\":, found ]: DHAT writes this if it omits all frames of a stack; rerun it with a larger --num-callers",
        ),
        (
            "Version\":2",
            "Version\":3",
            "in:1: expected dhatFileVersion 1 or 2, found 3",
        ),
        ("\"tb\":100,", "", "in:19: missing field `tb` (column 3)"),
        (
            "\"tb\":100",
            "\"tb\":1.5",
            "in:11: invalid type: floating point `1.5`, expected u64 (column 11)",
        ),
        (
            "[1,2,3]",
            "[1,\"x\"]",
            "in: program point 1: fs: element 1: expected a number, found \"\"x\"\"",
        ),
        (
            "[-3,2,",
            "[-3000000,2,",
            "in: program point 1: acc: expected at most 25600 counts, found more",
        ),
        (
            ",65535,0]",
            ",65536,0]",
            "in: program point 1: acc: expected a count from 0 to 65535, found 65536",
        ),
        (
            ",65535,0]",
            ",-2]",
            "in: program point 1: acc: expected a count from 0 to 65535, found the end",
        ),
        (
            "\n ]\n}\n",
            "",
            "in:25: expected more of the JSON, found the end of the file: it is cut short",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let parsed = parsed::read(
            super::parse,
            good.replacen(from, to, 1).as_bytes(),
            &Options::default(),
        );
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.has_errors && !parsed.is_whole());
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_an_error_with_its_line() {
    let mut text = valgrind(HEAP, &[POINT]).into_bytes();
    let start = text.windows(4).position(|bytes| bytes == b"prog").unwrap();
    text[start + 1] = 0xe9;
    let parsed = parsed::read(super::parse, &text, &Options::default());
    assert_eq!(
        parsed.messages,
        ["in:6: expected UTF-8, found byte \\xe9 in column 12: DHAT does not escape such names"]
    );
}

#[test]
fn frames_outside_the_table_are_empty_and_a_warning() {
    let text = valgrind(HEAP, &[POINT]).replace("[1,2,3]", "[2,4]");
    let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
    assert_eq!(
        parsed.messages,
        ["in: 1 frame of a stack is written as {}: the frame table has only 4 frames"]
    );
    assert!(parsed.is_whole() && !parsed.has_errors);
    assert!(parsed.records[1].ends_with(r#","addr":"0x2"},{}]}"#));
}

#[test]
fn no_prefix_panics() {
    check_all_prefixes(
        super::parse,
        valgrind(HEAP, &[POINT, POINT]).trim_end().as_bytes(),
        &Options::default(),
    );
}
