use cg_reader::{Options, Snapshots};
use parsed::check_all_prefixes;

/// Returns a file with one snapshot per tree. Each has the value of `heap_tree=`, the bytes of the heap, and the lines of
/// the tree.
fn massif(trees: &[(&str, u64, &str)]) -> Vec<u8> {
    let mut text = "desc: (none)\ncmd: ./prog\ntime_unit: i\n".to_owned();
    for (number, (detail, bytes, tree)) in trees.iter().enumerate() {
        text += &format!(
            "#-----------\nsnapshot={number}\n#-----------\ntime={}\nmem_heap_B={bytes}\nmem_heap_extra_B=8\nmem_stacks_B=0\nheap_tree={detail}\n{tree}",
            number * 100
        );
    }
    text.into_bytes()
}

fn options(snapshots: Snapshots) -> Options {
    Options {
        snapshots,
        ..Options::default()
    }
}

const TREE: &str = "\
n3: 100 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n2: 70 0x10A: grow (a.c:3)
  n0: 40 0x20B: main (a.c:9)
  n0: 20 0x20C: main (a.c:10)
 n0: 25 in 3 places, all below massif's threshold (1.00%)
 n0: 5 0x30D: main::{lambda(int)#1}::operator()(int) const (a.cpp:4)
";

#[test]
fn records_have_the_bytes_of_nodes_minus_their_children() {
    let parsed = parsed::read(
        super::parse,
        &massif(&[("peak", 100, TREE)]),
        &Options::default(),
    );
    assert_eq!(parsed.messages, [""; 0]);
    assert_eq!(
        parsed.records,
        [
            r#"{"type":"run","stream":1,"tool":"massif","command":"./prog","source":["in"],"events":["bytes"],"total":{"bytes":100},"time_unit":"i"}"#,
            r#"{"type":"snapshot","snapshot":0,"time":0,"heap_bytes":100,"extra_bytes":8,"stacks_bytes":0,"detail":"peak"}"#,
            r#"{"type":"heap","fn":"grow","file":"a.c","line":3,"snapshot":0,"peak":true,"cost":{"bytes":40},"stack":[{"fn":"grow","file":"a.c","line":3,"addr":"0x10A"},{"fn":"main","file":"a.c","line":9,"addr":"0x20B"}]}"#,
            r#"{"type":"heap","fn":"grow","file":"a.c","line":3,"snapshot":0,"peak":true,"cost":{"bytes":20},"stack":[{"fn":"grow","file":"a.c","line":3,"addr":"0x10A"},{"fn":"main","file":"a.c","line":10,"addr":"0x20C"}]}"#,
            r#"{"type":"heap","fn":"grow","file":"a.c","line":3,"snapshot":0,"peak":true,"cost":{"bytes":10},"stack":[{"fn":"grow","file":"a.c","line":3,"addr":"0x10A"}]}"#,
            r#"{"type":"heap","snapshot":0,"peak":true,"cost":{"bytes":25},"places":3,"stack":[]}"#,
            r#"{"type":"heap","fn":"main::{lambda(int)#1}::operator()(int) const","file":"a.cpp","line":4,"snapshot":0,"peak":true,"cost":{"bytes":5},"stack":[{"fn":"main::{lambda(int)#1}::operator()(int) const","file":"a.cpp","line":4,"addr":"0x30D"}]}"#,
            r#"{"type":"end","records":6}"#,
        ]
    );
}

/// Returns a tree with one place.
fn place(bytes: u64) -> String {
    format!("n1: {bytes} (heap allocation functions)\n n0: {bytes} 0x1: f (a.c:1)\n")
}

#[test]
fn the_marked_peak_or_else_the_largest_tree_is_written() {
    let (small, middle, large) = (place(10), place(20), place(30));
    let written_snapshot = |details: [&str; 4]| {
        let text = massif(&[
            (details[0], 10, &small),
            (details[1], 30, &large),
            (details[2], 20, &middle),
            (details[3], 40, ""),
        ]);
        let parsed = parsed::read(super::parse, &text, &Options::default());
        assert_eq!(parsed.records_of_type("snapshot").len(), 4);
        let heap = parsed.records_of_type("heap");
        assert_eq!(heap.len(), 1);
        heap[0].split_once("\"snapshot\":").unwrap().1[..1].to_owned()
    };
    assert_eq!(
        written_snapshot(["detailed", "detailed", "peak", "empty"]),
        "2"
    );
    assert_eq!(
        written_snapshot(["detailed", "detailed", "detailed", "empty"]),
        "1"
    );
}

#[test]
fn any_snapshot_can_be_requested() {
    let (first, second) = (place(10), place(20));
    let text = massif(&[
        ("empty", 5, ""),
        ("detailed", 10, &first),
        ("peak", 20, &second),
    ]);
    let all = parsed::read(super::parse, &text, &options(Snapshots::All));
    assert_eq!(all.records_of_type("heap").len(), 2);
    assert!(all.records[0].contains("\"total\":{\"bytes\":30}"));
    let one = parsed::read(super::parse, &text, &options(Snapshots::Number(1)));
    assert_eq!(one.records_of_type("heap").len(), 1);
    assert!(one.records[0].contains("\"total\":{\"bytes\":10}"));
    for (number, message) in [
        (0, "in: snapshot 0 has no tree; snapshots with a tree: 1, 2"),
        (9, "in: there is no snapshot 9; snapshots with a tree: 1, 2"),
    ] {
        let none = parsed::read(super::parse, &text, &options(Snapshots::Number(number)));
        assert!(none.has_errors && none.is_whole());
        assert_eq!(none.messages, [message]);
    }
}

#[test]
fn xtree_events_become_snapshots_of_bytes_or_blocks() {
    let text = massif(&[
        (
            "detailed",
            30,
            "n1: 30 totB : total allocated Bytes\n n0: 30 0x1: f (a.c:1)\n",
        ),
        (
            "detailed",
            2,
            "n1: 2 totBk : total allocated Blocks\n n0: 2 0x1: f (a.c:1)\n",
        ),
    ]);
    let parsed = parsed::read(super::parse, &text, &options(Snapshots::All));
    assert!(
        parsed.records[0]
            .contains(r#""events":["bytes","blocks"],"total":{"bytes":30,"blocks":2}"#)
    );
    assert!(parsed.records_of_type("snapshot")[1].contains(r#""event":"totBk""#));
    assert!(parsed.records_of_type("heap")[1].contains(r#""cost":{"blocks":2}"#));
    let largest = parsed::read(super::parse, &text, &Options::default());
    assert!(largest.records[0].contains(r#""events":["bytes"],"total":{"bytes":30}"#));
}

#[test]
fn heaptrack_writes_fractions_and_its_header_last() {
    let text = b"#-----------\nsnapshot=0\n#-----------\ntime=0.003\nmem_heap_B=709\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=detailed
n1: 709 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: 0 in 12 places, all below massif's threshold (1)
desc: heaptrack\ncmd: bin/leaky\ntime_unit: s\n";
    let parsed = parsed::read(super::parse, text, &Options::default());
    assert!(!parsed.has_errors);
    assert!(parsed.records[0].contains(r#""creator":"heaptrack","command":"bin/leaky""#));
    assert!(parsed.records_of_type("snapshot")[0].contains(r#""time":0.003"#));
    assert_eq!(
        parsed.records_of_type("heap"),
        [
            r#""snapshot":0,"peak":false,"cost":{"bytes":0},"places":12,"stack":[]}"#,
            r#""snapshot":0,"peak":false,"cost":{"bytes":709},"stack":[]}"#,
        ]
    );
}

#[test]
fn a_command_may_contain_line_breaks() {
    let text = String::from_utf8(massif(&[("peak", 10, &place(10))])).unwrap();
    let text = text.replace("cmd: ./prog", "cmd: ./prog a\n\n#b\nc");
    let parsed = parsed::read(super::parse, text.as_bytes(), &Options::default());
    assert_eq!(parsed.messages, [""; 0]);
    assert!(parsed.records[0].contains(r#""command":"./prog a\n\n#b\nc""#));
}

#[test]
fn wrong_sums_are_errors_with_figures() {
    let wrong_root = parsed::read(
        super::parse,
        &massif(&[("peak", 11, &place(10))]),
        &Options::default(),
    );
    assert_eq!(
        wrong_root.messages,
        ["in:12: the tree of snapshot 0 sums to 10, but its mem_heap_B is 11"]
    );
    assert!(!wrong_root.is_whole() && wrong_root.has_errors);
    assert_eq!(wrong_root.records_of_type("heap").len(), 1);
    let heavy_child = "n1: 10 (heap allocation functions)\n n0: 12 0x1: f (a.c:1)\n";
    let heavy_child = parsed::read(
        super::parse,
        &massif(&[("peak", 10, heavy_child)]),
        &Options::default(),
    );
    assert_eq!(
        heavy_child.messages,
        [
            "in:12: this node has 10 bytes, but its children sum to 12; a heap record of -2 corrects the sum"
        ]
    );
    assert!(!heavy_child.is_whole() && heavy_child.has_errors);
}

#[test]
fn sums_beyond_64_bits_are_errors() {
    let most = place(u64::MAX);
    let text = massif(&[("detailed", u64::MAX, &most), ("peak", u64::MAX, &most)]);
    let parsed = parsed::read(super::parse, &text, &options(Snapshots::All));
    assert_eq!(
        parsed.messages,
        ["in: the sum of bytes over the snapshots does not fit in 64 bits"]
    );
    assert!(parsed::read(super::parse, &text, &Options::default()).is_whole());
    let heavy = format!(
        "n2: 0 (heap allocation functions)\n n0: {max} 0x1: f (a.c:1)\n n0: {max} 0x2: g (a.c:2)\n",
        max = u64::MAX
    );
    let parsed = parsed::read(
        super::parse,
        &massif(&[("peak", 0, &heavy)]),
        &Options::default(),
    );
    assert!(parsed.has_errors && !parsed.is_whole());
    assert!(parsed.messages[0].starts_with("in:12: this node has 0 bytes"));
}

#[test]
fn an_invalid_file_is_an_error_with_its_line() {
    let good = String::from_utf8(massif(&[("peak", 100, TREE)])).unwrap();
    for (from, to, message) in [
        (
            "time=0",
            "time=",
            "in:7: expected a number after time=, found \"\"",
        ),
        (
            "mem_heap_B=100",
            "mem_heap_B=1x",
            "in:8: expected a number after mem_heap_B=, found \"1x\"",
        ),
        (
            "mem_stacks_B=0\n",
            "",
            "in:10: snapshot 0 has no mem_stacks_B= line",
        ),
        (
            "heap_tree=peak",
            "heap_tree=full",
            "in:11: expected heap_tree=empty, detailed or peak, found \"heap_tree=full\"",
        ),
        (
            " n2: 70",
            "  n2: 70",
            "in:13: expected a tree node at depth 1, found one at depth 2",
        ),
        (
            "n3: 100",
            "n2: 100",
            "in:17: expected a snapshot= line, found \" n0: 5 0x30D: main::{lambda(int)#1}::operator()(int) const (…\"",
        ),
        (
            "n3: 100",
            "n4: 100",
            "in:17: expected more of the tree, found the end of the file: it is cut short",
        ),
    ] {
        assert!(good.contains(from));
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
fn a_truncated_file_keeps_its_complete_snapshots() {
    let mut text = massif(&[("detailed", 100, TREE), ("peak", 100, TREE)]);
    text.truncate(text.len() - 3);
    let parsed = parsed::read(super::parse, &text, &Options::default());
    assert!(parsed.has_errors);
    assert_eq!(
        (
            parsed.records_of_type("snapshot").len(),
            parsed.records_of_type("heap").len()
        ),
        (1, 5)
    );
    assert!(parsed.messages[0].ends_with("found the end of the file: it is cut short"));
}

#[test]
fn no_prefix_panics() {
    let text = massif(&[
        ("empty", 0, ""),
        ("detailed", 100, TREE),
        ("peak", 10, &place(10)),
    ]);
    check_all_prefixes(super::parse, &text, &Options::default());
    check_all_prefixes(super::parse, &text, &options(Snapshots::All));
}
