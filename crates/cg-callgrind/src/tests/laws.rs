//! Tests that parts are independent: the result of two consecutive parts is the sum of the results of each part, and no
//! state leaks from one part into the next. The parts here end while the reader holds each kind of state.

use std::collections::BTreeMap;

use cg_reader::Options;
use parsed::Parsed;
use serde_json::Value;

use crate::tests;

/// Counts by record and by kind of count. A record is identified by all its fields except counts.
type RecordSums = BTreeMap<(String, String), i128>;

fn sums(texts: &[&str], options: &Options) -> RecordSums {
    let mut sums = RecordSums::new();
    for text in texts {
        let parsed = parsed::read(tests::recognised, text.as_bytes(), options);
        assert!(parsed.is_whole(), "{text}: {:?}", parsed.messages);
        add(&parsed, &mut sums);
    }
    sums
}

fn add(parsed: &Parsed, sums: &mut RecordSums) {
    for kind in ["run", "fn", "line", "call"] {
        for record in parsed.records_of_type(kind) {
            let mut record: Value = serde_json::from_str(&format!("{{{record}")).unwrap();
            let fields = record.as_object_mut().unwrap();
            // A summary equal to the total is omitted.
            if let Some(total) = fields.get("total").cloned() {
                fields.entry("summary").or_insert(total);
            }
            // Without a field for it, the inclusive cost of a line is its self cost.
            if kind == "line" {
                let cost = fields["cost"].clone();
                fields.entry("incl").or_insert(cost);
            }
            let mut counts = BTreeMap::new();
            for field in ["cost", "incl", "total", "summary"] {
                for (event, count) in fields
                    .remove(field)
                    .iter()
                    .filter_map(Value::as_object)
                    .flatten()
                {
                    counts.insert(format!("{field}.{event}"), count.clone());
                }
            }
            fields.remove("cycle");
            for field in ["calls", "parts"] {
                if let Some(count) = fields.remove(field) {
                    counts.insert(field.to_owned(), count);
                }
            }
            let key = if kind == "run" {
                kind.to_owned()
            } else {
                format!("{kind} {record}")
            };
            for (name, count) in counts {
                *sums.entry((key.clone(), name)).or_default() +=
                    i128::from(count.as_i64().unwrap());
            }
        }
    }
    sums.retain(|_, sum| *sum != 0);
}

#[track_caller]
fn check_pairs(parts: &[&str]) {
    let options = Options {
        lines: true,
        calls: true,
        instr: true,
        ..Options::default()
    };
    for first in parts {
        for second in parts {
            assert_eq!(
                sums(&[&format!("{first}{second}")], &options),
                sums(&[first, second], &options),
                "{first}{second}"
            );
        }
    }
}

#[test]
fn two_parts_of_callgrind_are_their_sum() {
    check_pairs(&[
        // Recursion levels, relative lines, and a call at the end.
        "part: 1\nevents: Ir\nfl=(1) a.c\nfn=(1) f\n+7 10\ncfn=(2) f'2\ncalls=1 1\n+1 30\nfn=(2)\n1 20\ncfn=(2)\ncalls=2 1\n* 7\nfn=(11) m\n1 1\ncfn=(1)\ncalls=1 1\n1 60\n",
        // Different events in a different order, with sums, and an unused name.
        "part: 2\nevents: Dr Ir\nsummary: 9 9\nob=(1) a.out\nfl=(1) a.c\nfn=(1) f\n5 1 2\ncob=(2) b.so\ncfi=(2) b.c\ncfn=(3) g\ncalls=1 1\n6 3 4\ncfi=(2)\ncob=(2)\ntotals: 1 2\n",
        // No function, no file, no object.
        "part: 3\nevents: Ir\n3 5\ncalls=1 2\n3 1\ncfn=(3) g\ncalls=1 1\n4 6\ncalls=1 9\n5 7\n",
        // A call before any cfn=.
        "part: 4\nevents: Ir\nfn=(1) f\ncalls=2 2\n4 6\ncfn=(3) g\n",
        // Files of functions given by fi=, and inlined code.
        "part: 5\nevents: Ir\nfi=(2) b.c\nfn=(4) h\n1 1\nfi=(3) c.h\n2 2\nfn=(5) i\n1 1\ncfn=(4)\ncalls=3 3\n1 1\n",
        "part: 6\nevents: Ir\nfl=(2) b.c\nfn=(4) h\n1 1\nfi=(3) c.h\n2 2\ncfn=(5) i\ncalls=1 1\n9 9\n",
        // Addresses.
        "part: 7\npositions: instr line\nevents: Ir\nob=(1) a.out\nfl=(1) a.c\nfn=(1) f\n0x10 7 1\n+4 * 2\njump=1 +4 *\n+4 +1\n",
        // Relative costs, and a name with a line end.
        "part: 8\ncreator: callgrind-3.19.0\npid: 1\nevents: Ir Dr\nfl=(1) a.c\nfn=(1) f\n1 5 5\n2 * +1\nfn=(6) new\nline\n3 1\ntotals: 11 11\n",
        // Another run: without levels, two functions in a circle.
        "pid: 2\ncmd: b\npart: 9\ncreator: other\nevents: Ir\nfl=(4) d.c\nfn=(7) p\n1 1\ncfn=(8) q\ncalls=5 5\n1 4\nfn=(8)\n5 2\ncfn=(7)\ncalls=2 1\n5 3\n",
        // Names that contain their callers.
        "pid: 3\ncmd: c\npart: 10\ncreator: callgrind-3.19.0\nevents: Ir\nfl=(5) e.c\nfn=(9) main\n1 1\ncfn=(10) r'main\ncalls=1 1\n1 4\nfn=(10)\n1 4\ntotals: 5\n",
        "pid: 4\ncmd: d\npart: 11\ncreator: callgrind-3.19.0\nevents: Ir\nob=a\nfl=f.c\nfn=s'main\n1 1\nfn=(9)\n1 2\ntotals: 3\n",
    ]);
}

#[test]
fn two_files_of_cachegrind_are_their_sum() {
    check_pairs(&[
        "desc: x: 1\ncmd: a\nevents: Ir Dr\nfl=a.c\nfn=f\n3 10 1\nfl=b.c\nfn=g\nfi=c.h\n7 1\nsummary: 11 1\n",
        "cmd: b\nevents: Dr Ir\n3 1 2\nsummary: 1 2\n",
        "cmd: c\nd\nevents: Ir\nfl=a.c\n4 5\nfn=f\nfe=e.c\n1 1\nsummary: 6\n",
        "desc: y: 1\ncmd: c\nevents: Ir\nfl=a\n.c\nfn=f\n1 1\nsummary: 1\n",
    ]);
}
