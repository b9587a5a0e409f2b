use parsed::{Parsed, read};

use super::*;

fn records(text: &str, kind: &str) -> Vec<String> {
    let options = cg_reader::Options {
        calls: true,
        ..cg_reader::Options::default()
    };
    let parsed: Parsed = read(parse, text.as_bytes(), &options);
    assert!(parsed.messages.is_empty(), "{:?}", parsed.messages);
    let prefix = format!("{{\"type\":\"{kind}\",");
    let records = parsed.records.iter();
    let records = records.filter_map(|record| record.strip_prefix(&prefix));
    records.map(str::to_owned).collect()
}

/// As gprof 2.40 prints it.
const GRAPH: &str = "Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total           
 time   seconds   seconds    calls  ms/call  ms/call  name    
 80.00      0.80     0.80      300     2.67     2.67  work(int, char const*)
 20.00      1.00     0.20                             main

\t\t\tCall graph


granularity: each sample hit covers 2 byte(s) for 1.00% of 1.00 seconds

index % time    self  children    called     name
                                                 <spontaneous>
[1]    100.0    0.20    0.80                 main [1]
                0.60    0.00     225/300         first <cycle 1> [3]
                0.00    0.20       1/2           second [4]
-----------------------------------------------
                0.80    0.00     300/300         first <cycle 1> [3]
[2]     80.0    0.80    0.00     300+7       work(int, char const*) [2]
                                  7             work(int, char const*) [2]
-----------------------------------------------
";

#[test]
fn names_calls_and_times_are_those_of_the_tables() {
    assert_eq!(
        records(GRAPH, "fn"),
        [
            r#""fn":"work(int, char const*)","calls":300,"cost":{"time":800000000},"incl":{"time":800000000}}"#,
            r#""fn":"main","calls":0,"cost":{"time":200000000},"incl":{"time":200000000}}"#,
            r#""fn":"first","calls":0,"cost":{"time":0},"incl":{"time":0}}"#,
            r#""fn":"second","calls":0,"cost":{"time":0},"incl":{"time":0}}"#,
        ]
    );
    assert_eq!(
        records(GRAPH, "call"),
        [
            r#""fn":"main","callee":{"fn":"first"},"calls":225,"incl":{"time":0}}"#,
            r#""fn":"main","callee":{"fn":"second"},"calls":1,"incl":{"time":0}}"#,
            r#""fn":"work(int, char const*)","callee":{"fn":"work(int, char const*)"},"calls":7,"incl":{"time":0}}"#,
        ]
    );
}

#[test]
fn the_time_of_a_function_is_divided_among_its_callers_by_calls() {
    // gprof divides the 0.60 s of the cycle of a and b by the calls from outside: 1 from p, 2 from q.
    let text = "\
index % time    self  children    called     name
[1]     50.0    0.00    0.20                 p [1]
                0.20    0.00       1/3           a <cycle 1> [3]
-----------------------------------------------
[2]     50.0    0.00    0.40                 q [2]
                0.40    0.00       2/3           b <cycle 1> [4]
-----------------------------------------------
[5]    100.0    0.60    0.00       3+9       <cycle 1 as a whole> [5]
                0.50    0.00       6             a <cycle 1> [3]
                0.10    0.00       6             b <cycle 1> [4]
-----------------------------------------------
                                   5             b <cycle 1> [4]
                0.20    0.00       1/3           p [1]
[3]     83.3    0.50    0.00       6         a <cycle 1> [3]
                                   4             b <cycle 1> [4]
-----------------------------------------------
[4]     16.7    0.10    0.00       6         b <cycle 1> [4]
                                   5             a <cycle 1> [3]
-----------------------------------------------
";
    let calls = records(text, "call");
    assert_eq!(
        calls,
        [
            r#""fn":"q","callee":{"fn":"b"},"calls":2,"incl":{"time":400000000}}"#,
            r#""fn":"p","callee":{"fn":"a"},"calls":1,"incl":{"time":200000000}}"#,
            r#""fn":"a","callee":{"fn":"b"},"calls":4,"incl":{"time":0}}"#,
            r#""fn":"b","callee":{"fn":"a"},"calls":5,"incl":{"time":0}}"#,
        ]
    );
    let functions = records(text, "fn");
    assert!(functions[0].starts_with(r#""fn":"a","calls":6,"cost":{"time":500000000}"#));
    assert!(
        functions[2].contains(r#""fn":"p","calls":0,"cost":{"time":0},"incl":{"time":200000000}"#)
    );
}

#[test]
fn damaged_tables_are_errors() {
    let options = cg_reader::Options::default();
    for (text, message) in [
        (
            GRAPH.replace("225/300", "225:300"),
            "in:17: expected a line of a table of gprof, found",
        ),
        (
            GRAPH.trim_end_matches(&['-', '\n'][..]).to_owned(),
            "in:22: the call graph is cut short: its last entry has no end",
        ),
        (
            GRAPH.lines().take(5).collect::<Vec<_>>().join("\n"),
            "in: expected functions in the tables of gprof, found none",
        ),
        (
            GRAPH.repeat(2),
            "in:27: a second flat profile begins here; put each report of gprof into a file of its own",
        ),
    ] {
        let parsed = read(parse, text.as_bytes(), &options);
        assert!(
            parsed.messages[0].contains(message),
            "{:?}",
            parsed.messages
        );
    }
}
