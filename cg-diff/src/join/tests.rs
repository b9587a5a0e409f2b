use super::*;
use crate::compare::place;
use crate::figures;
use crate::runs::tests::runs;

mod records;

/// Converts lines `NAME FILE OBJ COST` to a stream without framing; `-` is a missing name. A line `CALLER > CALLEE CALLS`
/// has calls between two functions in `a.c` of the object `o`.
fn stream(functions: &str) -> String {
    let mut stream = String::new();
    for line in functions.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [caller, ">", callee, calls] = words[..] {
            stream += &format!(
                "{{\"type\":\"call\",\"fn\":\"{caller}\",\"file\":\"a.c\",\"obj\":\"o\",\"callee\":{{\"fn\":\"{callee}\",\"file\":\"a.c\",\"obj\":\"o\"}},\"calls\":{calls},\"incl\":{{\"Ir\":1}}}}\n"
            );
            continue;
        }
        let [name, file, obj, cost] = words[..] else {
            continue;
        };
        let field = |key: &str, value: &str| match value {
            "-" => String::new(),
            value => format!("\"{key}\":\"{value}\","),
        };
        stream += &format!(
            "{{\"type\":\"fn\",{}{}{}\"calls\":1,\"cost\":{{\"Ir\":{cost}}}}}\n",
            field("fn", name),
            field("file", file),
            field("obj", obj)
        );
    }
    stream
}

/// The default options of the command line, for functions.
pub(crate) fn options() -> JoinOptions {
    JoinOptions {
        types: vec![RecordType::Fn],
        rules: Rules::from_table(),
        exact: false,
        capture: None,
        renames: true,
    }
}

/// Returns the sorted rows of the runs: the name in the first run that has the row, the costs, and the rules.
fn rows_with(options: &JoinOptions, streams: &[&str]) -> Vec<String> {
    let streams: Vec<String> = streams.iter().map(|text| stream(text)).collect();
    let texts: Vec<&str> = streams.iter().map(String::as_str).collect();
    let mut runs = runs(&texts);
    let joined = join(&mut runs, options);
    let mut rows: Vec<String> = (0..joined.rows.len())
        .map(|row| {
            let figures = figures::row_figures(&runs, &joined, row);
            let key = crate::compare::first_key(&runs, &joined, row).unwrap();
            let name = place(&runs, key.function)[0].unwrap_or("-").to_owned();
            let costs: Vec<String> = figures.cost[0]
                .entries
                .iter()
                .map(|entry| entry.map_or("-".to_owned(), |cost| cost.to_string()))
                .collect();
            let mut how: Vec<&str> = options.rules.names(joined.rows[row].matched).collect();
            if joined.rows[row].certainty > Certainty::Certain {
                how.push("guess");
            }
            format!("{name} {} {}", costs.join(","), how.join("+"))
                .trim_end()
                .to_owned()
        })
        .collect();
    rows.sort();
    rows
}

fn check(streams: &[&str], expect: &[&str]) {
    assert_eq!(rows_with(&options(), streams), expect);
}

#[test]
fn equal_names_are_joined_first() {
    check(
        &[
            "f::h0000000000000001 a.rs o 10\nf::h0000000000000002 a.rs o 20",
            "f::h0000000000000001 a.rs o 11\nf::h0000000000000003 a.rs o 21",
        ],
        &[
            "f::h0000000000000001 10,11",
            "f::h0000000000000002 20,21 legacy-hash",
        ],
    );
}

#[test]
fn functions_with_the_same_normalised_name_are_paired_by_likeness() {
    check(
        &[
            "f::h0000000000000001 a.rs o 1000\nf::h0000000000000002 a.rs o 20",
            "f::h0000000000000003 a.rs o 22\nf::h0000000000000004 a.rs o 1001\nf::h0000000000000005 a.rs o 7",
        ],
        &[
            "f::h0000000000000001 1000,1001 legacy-hash+guess",
            "f::h0000000000000002 20,22 legacy-hash+guess",
            "f::h0000000000000005 -,7",
        ],
    );
}

#[test]
fn new_first_closure_does_not_shift_the_others() {
    check(
        &[
            "m::{closure#0} m.rs o 1000\nm::{closure#1} m.rs o 20\nm::{closure#2} m.rs o 300",
            "m::{closure#0} m.rs o 5\nm::{closure#1} m.rs o 1000\nm::{closure#2} m.rs o 20\nm::{closure#3} m.rs o 303",
        ],
        &[
            "m::{closure#0} -,5",
            "m::{closure#0} 1000,1000 closure-number+guess",
            "m::{closure#1} 20,20 closure-number+guess",
            "m::{closure#2} 300,303 closure-number+guess",
        ],
    );
}

#[test]
fn reordered_closures_and_lambdas_are_the_same() {
    let costs = [1000, 20, 300, 4, 50_000];
    let names: [fn(usize) -> String; 3] = [
        |number| format!("m::{{closure#{number}}}"),
        |number| format!("run(int)::{{lambda(int)#{}}}::operator()(int)", number + 1),
        |number| format!("core::f::h{number:016x}"),
    ];
    for name in names {
        let run = |order: [usize; 5], first: usize| -> String {
            let line = |(position, cost): (usize, &usize)| {
                format!("{} m.rs o {}\n", name(first + position), costs[*cost])
            };
            order.iter().enumerate().map(line).collect()
        };
        let changed = |rows: Vec<String>| -> Vec<String> {
            let is_changed = |row: &String| {
                let counts = row.split(' ').nth(1).unwrap();
                let (old, new) = counts.split_once(',').unwrap();
                old != new
            };
            rows.into_iter().filter(is_changed).collect()
        };
        // The hashes of two builds are never equal.
        let first = if name(0).contains("::h") { 10 } else { 0 };
        for order in [[1, 0, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 1, 4, 3]] {
            let rows = rows_with(&options(), &[&run([0, 1, 2, 3, 4], 0), &run(order, first)]);
            assert_eq!(changed(rows), [""; 0], "{order:?}");
        }
    }
}

#[test]
fn closures_are_paired_by_number_without_evidence_against_it() {
    check(
        &[
            "m::{closure#0} m.rs o 1000\nm::{closure#1} m.rs o 5000",
            "m::{closure#0} m.rs o 2000\nm::{closure#1} m.rs o 5500",
        ],
        &["m::{closure#0} 1000,2000", "m::{closure#1} 5000,5500"],
    );
}

#[test]
fn unnumbered_closure_joins_all_numbered_ones() {
    check(
        &[
            "m::{closure#0} m.rs o 10\nm::{closure#1} m.rs o 20",
            "m::{{closure}} m.rs o 33",
        ],
        &["m::{closure#0} 30,33 closure-number"],
    );
}

#[test]
fn pieces_of_a_function_are_summed() {
    check(
        &["f a.c o 40\nf.part.0 a.c o 11", "f a.c o 51"],
        &["f 51,51 compiler-clone"],
    );
    check(
        &[
            "f.isra.0 a.c o 40\nf.cold a.c o 2",
            "f.constprop.1 a.c o 41\nf.part.0 a.c o 1",
        ],
        &["f.isra.0 42,42 compiler-clone"],
    );
}

#[test]
fn functions_are_joined_by_address_only_within_one_build() {
    let run = |names: std::ops::Range<u32>, cost: u32| -> String {
        names
            .map(|name| format!("0x{:x} - o {}\n", name * 16, name * cost))
            .collect()
    };
    // The same build with other input executes one more function.
    let rows = rows_with(&options(), &[&run(1..10, 100), &run(1..11, 101)]);
    assert_eq!(rows.len(), 10, "{rows:?}");
    // Two builds have one address in common.
    let rows = rows_with(&options(), &[&run(1..10, 100), &run(9..20, 100)]);
    assert_eq!(rows, ["0x10 4500,15400 unknown-address"]);
}

#[test]
fn functions_are_summed_only_if_it_joins_sides() {
    check(
        &[
            "f::h0000000000000001 a.rs o 10\nf::h0000000000000002 a.rs o 20",
            "g a.rs o 1000",
        ],
        &[
            "f::h0000000000000001 10,-",
            "f::h0000000000000002 20,-",
            "g -,1000",
        ],
    );
}

#[test]
fn closures_with_equal_numbers_are_joined() {
    check(
        &[
            "m::{closure#0} /a/m.rs o 10\nm::{closure#1} /a/m.rs o 20",
            "m::{closure#0} /b/m.rs o 11\nm::{closure#1} /b/m.rs o 21\nm::{closure#2} /b/m.rs o 31",
        ],
        &[
            "m::{closure#0} 10,11 directory",
            "m::{closure#1} 20,21 directory",
            "m::{closure#2} -,31",
        ],
    );
    check(
        &["m::{closure#3} m.rs o 10", "m::{{closure}} m.rs o 11"],
        &["m::{closure#3} 10,11 closure-number"],
    );
}

#[test]
fn longest_common_ending_of_paths_wins() {
    check(
        &[
            "init /home/x/net/init.c o 1\ninit /home/x/gui/init.c o 2",
            "init /srv/y/gui/init.c o 20\ninit /srv/y/net/init.c o 10",
        ],
        &["init 1,10 directory", "init 2,20 directory"],
    );
}

#[test]
fn function_in_another_directory_of_the_tree_is_a_guess() {
    check(
        &[
            "init /src/net/init.c o 1\nother /src/gui/win.c o 5",
            "init /src/gui/init.c o 1\nother /src/gui/win.c o 5",
        ],
        &["init 1,1 guess", "other 5,5"],
    );
}

#[test]
fn relative_path_matches_an_absolute_path() {
    check(
        &["f src/main.rs o 1", "f /home/b/src/main.rs o 2"],
        &["f 1,2 directory"],
    );
}

#[test]
fn program_with_another_name_is_the_same_program() {
    check(
        &[
            "a x.c /w/old 1\nb x.c /w/old 2\nc x.c /w/old 3",
            "a x.c /w/new 1\nb x.c /w/new 2\nc x.c /w/new 4",
        ],
        &["a 1,1 object", "b 2,2 object", "c 3,4 object"],
    );
    check(&["a x.c /w/old 1", "a x.c /w/new 1"], &["a 1,1 guess"]);
}

#[test]
fn file_of_code_inlined_at_the_first_line_is_ignored() {
    check(
        &["f() a.cpp o 1", "f() /usr/include/c++/12/bits/x.h o 2"],
        &["f() 1,2 inlined-file"],
    );
    check(&["f() a.cpp o 1", "f() b.cpp o 2"], &["f() 1,2 guess"]);
}

/// Checks names with spaces. The spaces are escaped, because a space separates the words of a line.
fn check_mangling(old: &str, new: &str, expect: &[&str]) {
    let [old, new] = [old, new].map(|text| text.replace(" as ", "\\u0020as\\u0020"));
    check(&[&old, &new], expect);
}

#[test]
fn v0_name_is_joined_to_the_most_specific_legacy_name() {
    check_mangling(
        "<&T as m::Show>::show m.rs o 10\n<&m::A<T> as m::Show>::show m.rs o 20\nm::sort m.rs o 30\nm::sort n.rs o 5",
        "<&u8 as m::Show>::show m.rs o 1\n<&m::A<u8> as m::Show>::show m.rs o 2\nm::sort::<u8> m.rs o 3\nm::sort::<u16> m.rs o 4",
        &[
            "<&T as m::Show>::show 10,1 mangling",
            "<&m::A<T> as m::Show>::show 20,2 mangling",
            "m::sort 30,7 mangling",
            "m::sort 5,-",
        ],
    );
}

#[test]
fn instances_with_different_types_are_different_functions() {
    check_mangling(
        "<m::A as m::Show>::show m.rs o 1\nm::f::<u8> m.rs o 2\nm::g m.rs o 3\nm::g::<u8> m.rs o 4",
        "<m::B as m::Show>::show m.rs o 5\nm::f::<u16> m.rs o 6\nm::g m.rs o 7\nm::g::<u16> m.rs o 8",
        &[
            "<m::A as m::Show>::show 1,-",
            "<m::B as m::Show>::show -,5",
            "m::f::<u16> -,6",
            "m::f::<u8> 2,-",
            "m::g 3,7",
            "m::g::<u16> -,8",
            "m::g::<u8> 4,-",
        ],
    );
}

#[test]
fn arcs_follow_the_functions_at_their_ends_across_mangling_schemes() {
    let arc = |caller: &str, callee: &str, cost: u64| {
        format!(
            "{{\"type\":\"call\",\"fn\":\"{caller}\",\"file\":\"m.rs\",\"callee\":{{\"fn\":\"{callee}\",\"file\":\"m.rs\"}},\"calls\":1,\"cost\":{{\"Ir\":{cost}}}}}"
        )
    };
    let legacy = arc("m::A<T>::f", "m::g", 8);
    let v0 = arc("<m::A<u8>>::f", "m::g::<u8>", 9);
    let mut runs = runs(&[&legacy, &v0]);
    let options = JoinOptions {
        types: vec![RecordType::Call],
        ..options()
    };
    let joined = join(&mut runs, &options);
    assert_eq!(joined.rows.len(), 1);
    let how: Vec<&str> = options.rules.names(joined.rows[0].matched).collect();
    assert_eq!(how, ["mangling"]);
}

#[test]
fn functions_without_symbols_are_one_row_per_object() {
    check(
        &[
            "0x401136 - /l/libx.so.1.2 10\n0x401200 - /l/libx.so.1.2 5",
            "0x40113a - /l/libx.so.1.3 11\n0x401210 - /l/libx.so.1.3 6",
        ],
        &["0x401136 15,17 unknown-address+library-version"],
    );
}

#[test]
fn function_with_equal_cost_in_the_same_file_was_renamed() {
    check(
        &[
            "old a.c o 5000\nmain a.c o 7",
            "new a.c o 5001\nmain a.c o 7",
        ],
        &["main 7,7", "old 5000,5001 guess"],
    );
    check(
        &["old a.c o 5000", "new a.c o 4000"],
        &["new -,4000", "old 5000,-"],
    );
}

#[test]
fn functions_of_a_renamed_module_are_joined_whatever_they_cost() {
    let module = |path: &str, functions: &[(&str, u64)]| -> String {
        let functions = functions.iter();
        let lines = functions.map(|(name, cost)| format!("{path}::{name} {path}.rs o {cost}\n"));
        lines.collect()
    };
    let old = [("lex::token", 500), ("lex::space", 90), ("walk", 40)];
    let new = [("lex::token", 5000), ("lex::space", 20), ("walk", 900)];
    let rows = |old: &str, new: &str| rows_with(&options(), &[old, new]);
    assert_eq!(
        rows(&module("app::parse", &old), &module("app::read", &new)),
        [
            "app::parse::lex::space 90,20 guess",
            "app::parse::lex::token 500,5000 guess",
            "app::parse::walk 40,900 guess",
        ]
    );
    // The same for a crate.
    let rows_of_crate = rows(&module("parse", &old), &module("read", &new));
    assert_eq!(rows_of_crate.len(), 3, "{rows_of_crate:?}");
    // Two names can be coincidence.
    let two = rows(
        &module("app::parse", &old[..2]),
        &module("app::read", &new[..2]),
    );
    assert_eq!(two.len(), 4, "{two:?}");
    // The functions of one module went to two others, as many to each.
    let more = [("eat", 70), ("peek", 60), ("bump", 30)];
    let costlier = [("eat", 1), ("peek", 2), ("bump", 3)];
    let split = rows(
        &(module("app::parse", &old) + &module("app::parse", &more)),
        &(module("app::read", &new) + &module("app::scan", &costlier)),
    );
    assert_eq!(split.len(), 12, "{split:?}");
}

/// Returns functions `a`, `b` …, which call the function `name` these numbers of times.
fn called(name: &str, cost: u64, calls: &[u64]) -> String {
    let mut text = format!("{name} a.c o {cost}\n");
    for (caller, calls) in ["a", "b", "c", "d", "e"].iter().zip(calls) {
        text += &format!("{caller} a.c o 9\n");
        if *calls > 0 {
            text += &format!("{caller} > {name} {calls}\n");
        }
    }
    text
}

#[test]
fn equal_calls_from_three_callers_are_evidence_of_a_rename() {
    for (old, new, is_renamed) in [
        (&[5, 7, 9][..], &[5, 7, 9][..], true),
        // Most callers agree.
        (&[5, 7, 9, 4, 1], &[5, 7, 9, 3, 2], true),
        (&[5, 7, 9, 0, 0], &[5, 7, 9, 2, 0], true),
        (&[5, 7, 0], &[5, 7, 0], false),
        (&[600, 0, 0], &[600, 0, 0], false),
        (&[5, 7, 9, 4], &[5, 7, 8, 3], false),
    ] {
        // The cost per call may differ.
        let rows = rows_with(
            &options(),
            &[&called("old", 1000, old), &called("new", 1700, new)],
        );
        let is_found = rows.contains(&"old 1000,1700 guess".to_owned());
        assert_eq!(is_found, is_renamed, "{old:?} {new:?} {rows:?}");
    }
}

#[test]
fn loops_that_are_aligned_differently_are_one_function() {
    for (new, is_renamed) in [
        (16_008, true),
        (16_016, true),
        (16_017, false),
        (15_999, false),
    ] {
        let rows = rows_with(
            &options(),
            &[&called("old", 16_008, &[1]), &called("new", new, &[1])],
        );
        let is_found = rows.contains(&format!("old 16008,{new} guess"));
        assert_eq!(is_found, is_renamed, "{new} {rows:?}");
    }
    // The padding is only a small part of a long loop.
    let rows = rows_with(
        &options(),
        &[&called("old", 1008, &[1]), &called("new", 1011, &[1])],
    );
    assert!(rows.contains(&"old 1008,-".to_owned()), "{rows:?}");
}

#[test]
fn rename_with_a_rival_is_no_guess() {
    let calls = [5, 7, 9];
    let new = called("new", 1000, &calls) + &called("other", 1000, &calls);
    let rows = rows_with(&options(), &[&called("old", 1000, &calls), &new]);
    assert!(rows.contains(&"old 1000,-".to_owned()), "{rows:?}");
    // The rival is called much less often by the same callers.
    let new = called("new", 1000, &calls) + &called("other", 10, &[5, 1, 2]);
    let rows = rows_with(&options(), &[&called("old", 1000, &calls), &new]);
    assert!(rows.contains(&"old 1000,1000 guess".to_owned()), "{rows:?}");
}

#[test]
fn one_common_helper_is_no_evidence_of_a_rename() {
    let calls = |name: &str, cost: u64, callees: &[&str]| {
        let mut text = called(name, cost, &[3]);
        for callee in callees {
            text += &format!("{callee} a.c o 50\n{name} > {callee} 3\n");
        }
        text
    };
    for (callees, is_renamed) in [(&["grow"][..], false), (&["grow", "check"], true)] {
        let rows = rows_with(
            &options(),
            &[&calls("old", 234, callees), &calls("new", 180, callees)],
        );
        let is_found = rows.contains(&"old 234,180 guess".to_owned());
        assert_eq!(is_found, is_renamed, "{rows:?}");
    }
}

#[test]
fn allocator_frames_do_not_distinguish_stacks() {
    let point = |allocator: &str, bytes: u64| {
        format!(
            "{{\"type\":\"program_point\",\"fn\":\"grow\",\"cost\":{{\"total_bytes\":{bytes}}},\"stack\":[{allocator}{{\"fn\":\"grow\"}},{{\"fn\":\"main\"}}]}}"
        )
    };
    let malloc =
        "{\"fn\":\"malloc\",\"obj\":\"/usr/libexec/valgrind/vgpreload_dhat-amd64-linux.so\"},";
    let (old, new) = (point(malloc, 8), point("", 9));
    let mut runs = runs(&[&old, &new]);
    let options = JoinOptions {
        types: vec![RecordType::ProgramPoint],
        ..options()
    };
    let joined = join(&mut runs, &options);
    assert_eq!(joined.rows.len(), 1);
    let how: Vec<&str> = options.rules.names(joined.rows[0].matched).collect();
    assert_eq!(how, ["allocator"]);
}

#[test]
fn ambiguous_equal_figures_are_no_guess() {
    // One side has two candidates. Then the file of the functions is unknown.
    check(
        &["old a.c o 5000", "new a.c o 5000\nother a.c o 5001"],
        &["new -,5000", "old 5000,-", "other -,5001"],
    );
    check(
        &["old ??? o 5000", "new ??? o 5000"],
        &["new -,5000", "old 5000,-"],
    );
}

#[test]
fn exact_joins_only_equal_names() {
    let options = JoinOptions {
        exact: true,
        ..options()
    };
    assert_eq!(
        rows_with(&options, &["f /a/x.c o 1", "f /b/x.c o 1"]),
        ["f -,1", "f 1,-"]
    );
}

#[test]
fn capture_does_not_prevent_matching_directories_of_other_functions() {
    let options = JoinOptions {
        capture: Some(Regex::new("^(?:old|new)_impl::(.*)").unwrap()),
        renames: false,
        ..options()
    };
    let rows = rows_with(
        &options,
        &[
            "main /home/old/src/m.c - 1\nold_impl::sort /home/old/src/m.c - 5\n",
            "main /srv/new/src/m.c - 2\nnew_impl::sort /srv/new/src/m.c - 6\n",
        ],
    );
    assert_eq!(rows, ["main 1,2 directory", "old_impl::sort 5,6 capture"]);
}

#[test]
fn capture_joins_two_implementations() {
    let options = JoinOptions {
        capture: Some(Regex::new("^(?:old|new)_impl::(.*)").unwrap()),
        ..options()
    };
    assert_eq!(
        rows_with(
            &options,
            &[
                "old_impl::sort a.c o 1\nold_impl::find a.c o 2\nmain a.c o 3",
                "new_impl::sort b.c o 10\nnew_impl::find b.c o 20\nmain a.c o 3"
            ]
        ),
        [
            "main 3,3",
            "old_impl::find 2,20 capture",
            "old_impl::sort 1,10 capture"
        ]
    );
}

#[test]
fn three_runs_are_joined_despite_gaps() {
    check(
        &[
            "f.llvm.1 a.rs o 1\ng a.rs o 5",
            "f.llvm.1 a.rs o 2",
            "f.llvm.9 a.rs o 3\ng a.rs o 7",
        ],
        &["f.llvm.1 1,2,3 llvm-suffix", "g 5,-,7"],
    );
}

#[test]
fn every_record_is_in_exactly_one_row() {
    let before = "a::{closure#0} /a/x.rs o 1\na::{closure#1} /a/x.rs o 2\nb.cold /a/y.c o 4\n- - o 8\n??? - - 16";
    let after = "a::{closure#0} /b/x.rs o 32\nb.part.0 /b/y.c p 64\nb /b/y.c p 128\n- - p 256";
    let sum = |rows: &[String], side: usize| -> u64 {
        let entry = |row: &String| {
            let costs = row.split(' ').nth(1).unwrap().to_owned();
            costs.split(',').nth(side).unwrap().parse().unwrap_or(0)
        };
        rows.iter().map(entry).sum()
    };
    let rows = rows_with(&options(), &[before, after]);
    assert_eq!((sum(&rows, 0), sum(&rows, 1)), (31, 480), "{rows:?}");
}
