use cg_reader::Options;
use parsed::{Parsed, check_all_prefixes};

fn read(text: &str) -> Parsed {
    parsed::read(super::parse, text.as_bytes(), &Options::default())
}

/// A profile with frames of the functions `main`, `work` and `0x1ab77`, the last one inlined, and the stacks `main`,
/// `work < main` and `0x1ab77 < work < main`. The fields are the columns that differ between versions.
struct Version {
    prefixes: &'static str,
    files: &'static str,
    function_libs: &'static str,
    frame_libs: &'static str,
    is_shared: bool,
}

const OLD: Version = Version {
    prefixes: r#""prefix":[null,0,1]"#,
    files: r#""fileName":[3,3,null]"#,
    function_libs: r#""lib":[0]"#,
    frame_libs: "",
    is_shared: false,
};

const NEW: Version = Version {
    prefixes: r#""prefixOffset":[0,1,1]"#,
    files: r#""source":[0,0,null]"#,
    function_libs: r#""name":[0]"#,
    frame_libs: r#","lib":[-1,-1,0]"#,
    is_shared: true,
};

fn profile(version: &Version, samples: &str) -> String {
    let tables = format!(
        r#""stackTable":{{"frame":[0,1,2],{},"length":3}},"frameTable":{{"address":[-1,-1,109431],"inlineDepth":[0,0,1],"category":[0,1,null],"func":[0,1,2],"line":[7,null,null]{},"length":3}},"funcTable":{{"name":[0,1,2],"resource":[-1,-1,0],"lineNumber":[5,null,null],{},"length":3}},"resourceTable":{{{},"length":1}},"sources":{{"filename":[3]}},"stringArray":["main","work","0x1ab77","a.js"]"#,
        version.prefixes, version.frame_libs, version.files, version.function_libs
    );
    let (own, shared) = match version.is_shared {
        true => (String::new(), format!(r#","shared":{{{tables}}}"#)),
        false => (format!(",{tables}"), String::new()),
    };
    format!(
        r#"{{"meta":{{"interval":0.5,"product":"demo","preprocessedProfileVersion":55,"version":24,"sampleUnits":{{"threadCPUDelta":"µs"}},"categories":[{{"name":"Other"}},{{"name":"Kernel"}}]}},"libs":[{{"name":"libc.so.6","path":"/lib/libc.so.6","debugName":"libc.so.6","breakpadId":"3247E185CED236FF9E2947A77C23E0040","codeId":null}}],"threads":[{{"name":"worker","processName":"demo","pid":"77.1","tid":78,"samples":{{{samples}}}{own}}}]{shared}}}"#
    )
}

const STACKS: [&str; 3] = [
    r#""fn":"main","file":"a.js","line":7,"thread":"worker","process":"demo","pid":77,"cost":{"samples":4,"cpu":30},"stack":[{"fn":"libc.so.6+0x1ab77","obj":"/lib/libc.so.6","addr":"0x1ab77","inlined":true},{"fn":"work","file":"a.js","kernel":true},{"fn":"main","file":"a.js","line":7}]}"#,
    r#""thread":"worker","process":"demo","pid":77,"cost":{"samples":2,"cpu":5},"stack":[]}"#,
    r#""fn":"main","file":"a.js","line":7,"thread":"worker","process":"demo","pid":77,"cost":{"samples":-3},"stack":[{"fn":"main","file":"a.js","line":7}]}"#,
];

#[test]
fn tables_are_read_wherever_a_version_has_them() {
    let samples = r#""stack":[2,null,0,2],"weight":[1,2,-3,3],"weightType":"samples","threadCPUDelta":[10,5,null,20],"length":4"#;
    for version in [OLD, NEW] {
        let parsed = read(&profile(&version, samples));
        assert_eq!(
            parsed.records_of_type("run"),
            [
                r#""stream":1,"tool":"firefox","source":["in"],"events":["samples","cpu"],"total":{"samples":3,"cpu":35},"threads":[{"pid":77,"process":"demo","thread":78,"thread_name":"worker"}],"labels":{"product":"demo"},"sample_rate":2000,"units":{"cpu":"µs"}}"#
            ]
        );
        assert_eq!(parsed.records_of_type("stack"), STACKS);
        assert!(parsed.is_whole() && parsed.messages.is_empty());
    }
}

#[test]
fn weights_default_to_1_and_their_type_selects_the_event() {
    for (samples, total) in [
        (r#""stack":[0,0,1]"#, r#""total":{"samples":3}"#),
        (
            r#""stack":[0,0,1],"weight":null"#,
            r#""total":{"samples":3}"#,
        ),
        (
            r#""stack":[0,0],"weight":[5,null]"#,
            r#""total":{"samples":6}"#,
        ),
        (
            r#""stack":[0,0],"weight":[0.25,1.5],"weightType":"tracing-ms""#,
            r#""total":{"time":1750000}"#,
        ),
        (
            r#""stack":[0,0],"weight":[4096,-96],"weightType":"bytes""#,
            r#""total":{"bytes":4000}"#,
        ),
    ] {
        let parsed = read(&profile(&OLD, samples));
        assert!(
            parsed.records_of_type("run")[0].contains(total),
            "{}",
            parsed.records_of_type("run")[0]
        );
        assert!(parsed.is_whole());
    }
    let parsed = read(&profile(
        &OLD,
        r#""stack":[0,1,0],"weight":[0.5,0.25,0.25]"#,
    ));
    assert!(parsed.records_of_type("run")[0].contains(r#""total":{"samples":1}"#));
    assert_eq!(
        parsed.messages,
        ["in: 3 fractional counts were rounded; the error of each sum is less than 1"]
    );
}

#[test]
fn allocations_are_separate_events() {
    let text = profile(&OLD, r#""stack":[0]"#).replace(
        r#""samples":{"#,
        r#""nativeAllocations":{"stack":[1,0],"weight":[4096,-1024],"weightType":"bytes"},"samples":{"#,
    );
    let parsed = read(&text);
    let run = parsed.records_of_type("run")[0];
    assert!(
        run.contains(r#""total":{"samples":1,"nativeAllocations":3072}"#),
        "{run}"
    );
    assert!(run.contains(r#""nativeAllocations":"bytes""#), "{run}");
}

#[test]
fn rows_with_a_schema_are_read() {
    let text = r#"{"meta":{"version":9,"interval":1,"stackwalk":0},"libs":[{"name":"XUL","path":"/opt/XUL","start":4096,"end":8192}],"threads":[{"name":"GeckoMain","tid":1,"pid":2,"samples":{"schema":{"stack":0,"time":1,"threadCPUDelta":2},"data":[[2,0.9,3],[2,1.9],[null,2.5,4],[1,3.5,5]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0],[0,1],[1,2]]},"frameTable":{"schema":{"location":0,"implementation":1,"optimizations":2,"line":3,"category":4},"data":[[0],[1,null,{"types":[]},null,16],[2,3,null,12]]},"stringTable":["(root)","0x1010","go (https://x.org/a.js:9)","ion"]}],"processes":[{"meta":{"version":9},"threads":[{"name":"Content","pid":3,"samples":{"schema":{"stack":0},"data":[[0]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,0]]},"frameTable":{"schema":{"location":0},"data":[[0]]},"stringTable":["f (in libxul.so)"]}]}]}"#;
    let expected = [
        r#""fn":"go","file":"https://x.org/a.js","line":12,"thread":"GeckoMain","pid":2,"cost":{"samples":2,"cpu":3},"stack":[{"fn":"go","file":"https://x.org/a.js","line":12,"jit":true},{"fn":"XUL+0xf","obj":"/opt/XUL","addr":"0xf"},{"fn":"(root)"}]}"#,
        r#""thread":"GeckoMain","pid":2,"cost":{"samples":1,"cpu":4},"stack":[]}"#,
        r#""fn":"XUL+0x10","obj":"/opt/XUL","thread":"GeckoMain","pid":2,"cost":{"samples":1,"cpu":5},"stack":[{"fn":"XUL+0x10","obj":"/opt/XUL","addr":"0x10"},{"fn":"(root)"}]}"#,
        r#""fn":"f","obj":"libxul.so","thread":"Content","pid":3,"cost":{"samples":1},"stack":[{"fn":"f","obj":"libxul.so"}]}"#,
    ];
    assert_eq!(read(text).records_of_type("stack"), expected);
    // Old developer tools wrapped the profile in another object.
    let wrapped =
        format!(r#"{{"label":"x","markers":[{{"a":[1]}}],"profile":{text},"version":3}}"#);
    assert_eq!(read(&wrapped).records_of_type("stack"), expected);
}

#[test]
fn tables_that_do_not_fit_together_are_errors() {
    let samples = r#""stack":[2],"weight":[1]"#;
    let good = profile(&OLD, samples);
    for (from, to, message) in [
        (
            r#""stack":[2]"#,
            r#""stack":[3]"#,
            "in: thread 0: expected one of 3 stacks, found number 3",
        ),
        (
            r#""prefix":[null,0,1]"#,
            r#""prefix":[2,0,1]"#,
            "in: thread 0: stack 0 is called from itself",
        ),
        (
            r#""prefix":[null,0,1]"#,
            r#""prefix":[null,0,9]"#,
            "in: thread 0: expected one of 3 stacks, found number 9",
        ),
        (
            r#""frame":[0,1,2]"#,
            r#""frame":[0,1,7]"#,
            "in: thread 0: expected one of 3 frames, found number 7",
        ),
        (
            r#""frame":[0,1,2]"#,
            r#""frame":[0,1,null]"#,
            "in: thread 0: stack 2 has no frame",
        ),
        (
            r#""func":[0,1,2]"#,
            r#""func":[0,1,99]"#,
            "in: thread 0: expected one of 3 functions, found number 99",
        ),
        (
            r#""name":[0,1,2]"#,
            r#""name":[0,1,4]"#,
            "in: thread 0: expected one of 4 strings, found number 4",
        ),
        (
            r#""stack":[2]"#,
            r#""stack":["2"]"#,
            "in: thread 0: samples.stack: element 0: expected an index or null, found \"\"2\"\"",
        ),
        (
            r#""stack":[2]"#,
            r#""stack":[2,2]"#,
            "in: thread 0: samples.weight: expected as many numbers as there are samples, found fewer",
        ),
    ] {
        assert!(good.contains(from));
        let parsed = read(&good.replace(from, to));
        assert_eq!(parsed.messages[..1], [message.to_owned()]);
        assert!(parsed.has_errors && !parsed.is_whole(), "{message}");
    }
    let after_null = read(&profile(&OLD, r#""stack":[null,3]"#));
    assert_eq!(
        after_null.messages,
        ["in: thread 0: expected one of 3 stacks, found number 3"]
    );
    let offset = profile(&NEW, samples).replace("[0,1,1]", "[0,1,5]");
    assert_eq!(
        read(&offset).messages,
        [
            "in: thread 0: stackTable.prefixOffset: element 2: expected a number of at most 2, found 5"
        ]
    );
}

#[test]
fn threads_without_meta_are_not_a_profile() {
    let parsed = read(r#"{"threads":[],"x":1}"#);
    assert_eq!(
        parsed.messages,
        [r#"in: expected a profile with "meta", found none"#]
    );
    assert!(parsed.records.is_empty());
}

#[test]
fn sums_beyond_64_bits_are_an_error() {
    let weights = [
        i64::MAX.to_string(),
        i64::MAX.to_string(),
        i64::MAX.to_string(),
    ]
    .join(",");
    let parsed = read(&profile(
        &OLD,
        &format!(r#""stack":[0,0,0],"weight":[{weights}]"#),
    ));
    assert_eq!(
        parsed.messages,
        ["in: the sum of samples is beyond 64 bits"]
    );
}

#[test]
fn a_truncated_profile_is_an_error_with_a_position() {
    let text = profile(&NEW, r#""stack":[2]"#).replace(r#","libs""#, ",\n\"libs\"");
    let options = Options::default();
    check_all_prefixes(super::parse, text.as_bytes(), &options);
    let parsed = parsed::read(super::parse, &text.as_bytes()[..text.len() - 40], &options);
    let column = text.len() - 40 - text.find('\n').unwrap();
    assert_eq!(
        parsed.messages,
        [format!(
            "in:2: expected more of the JSON, found the end of the file in column {column}: it is cut short"
        )]
    );
}
