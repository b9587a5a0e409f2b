//! A suppression written without mangled names hides its finding and no similar one. The real Valgrind checks this, one
//! finding at a time.

use needs::needs;

use crate::support::Bench;

const CPP: &str = r#"
#include <cstdlib>
static volatile char *sink;
static void lose(int size) { sink = (char *)malloc(size); sink = nullptr; }
#define OWN __attribute__((noinline))
OWN void inv(int size) { lose(size); }
OWN void invert(int size) { lose(size); }
namespace tree {
struct Tree {
    OWN Tree(int size) { lose(size); }
    OWN ~Tree() { lose(4); }
    OWN void insert(int size) { lose(size); }
    OWN void insert_at(int size) { lose(size); }
    OWN bool operator==(Tree const &) const { lose(7); return true; }
    OWN void operator()(int size) { lose(size); }
};
struct Treetop {
    OWN void insert(int size) { lose(size); }
};
template <class T> struct Stack {
    OWN void push(T size) { lose(size); }
    OWN void pushed(T size) { lose(size); }
};
}
namespace {
OWN void hidden(int size) { lose(size); }
}
int main() {
    inv(10);
    invert(11);
    {
        tree::Tree tree(12);
        tree.insert(13);
        tree.insert_at(14);
        sink = (char *)(tree == tree ? nullptr : &tree);
        tree(15);
    }
    tree::Treetop().insert(16);
    tree::Stack<int>().push(17);
    tree::Stack<int>().pushed(18);
    tree::Stack<long>().push(19);
    hidden(20);
    [](int size) { lose(size); }(21);
    return 0;
}
"#;

const RUST: &str = r#"
use std::hint::black_box;
#[inline(never)]
fn lose(size: usize) { std::mem::forget(black_box(vec![1u8; size])); }
mod tree {
    pub struct Tree;
    pub trait Grow { fn grow(&self); }
    impl Grow for Tree { #[inline(never)] fn grow(&self) { super::lose(10); } }
    pub struct Treetop;
    impl Grow for Treetop { #[inline(never)] fn grow(&self) { super::lose(11); } }
    impl Tree {
        #[inline(never)] pub fn insert(&self) { super::lose(12); }
        #[inline(never)] pub fn insert_at(&self) { super::lose(13); }
    }
    pub mod inserted { #[inline(never)] pub fn tree() { super::super::lose(14); } }
    #[inline(never)] pub fn insert() { super::lose(15); }
}
#[inline(never)]
fn inv() { lose(16); }
#[inline(never)]
fn invert() { lose(17); }
fn main() {
    use tree::Grow;
    tree::Tree.grow();
    tree::Treetop.grow();
    tree::Tree.insert();
    tree::Tree.insert_at();
    tree::inserted::tree();
    tree::insert();
    inv();
    invert();
}
"#;

/// Returns the numbers of bytes in the loss records of a log.
fn lost(log: &str) -> Vec<String> {
    let mut lost: Vec<String> = log
        .lines()
        .filter(|line| line.contains(" definitely lost in loss record "))
        .filter_map(|line| Some(line.split_once("== ")?.1.split(" bytes").next()?.to_owned()))
        .collect();
    lost.sort_unstable();
    lost
}

/// Suppresses each finding separately. `twins` lists groups of findings that names do not distinguish.
fn check(bench: &Bench, twins: &[&[&str]]) {
    for file in ["out.log", "out.xml"] {
        bench.valgrind(file, &[]);
    }
    let all = lost(&bench.read("out.log"));
    assert!(all.len() > 7, "{all:?}");
    for file in ["out.log", "out.xml"] {
        let run = bench.leak_check(&["--format=json", file]);
        let mut leaks = run.records(&["leak"]);
        leaks.retain(|leak| leak["kind"] == "definite");
        assert_eq!(leaks.len(), all.len());
        for leak in &leaks {
            let bytes = leak["cost"]["bytes"].to_string();
            let one = format!("{leak}\n").replacen("\"status\":", "\"was\":", 1);
            bench.write("one.jsonl", &one);
            let written =
                bench.leak_check(&["--allow-fragment", "--write-suppressions", "one.jsonl"]);
            assert_eq!(written.status, 1, "{}", written.stderr);
            bench.write("written.supp", &written.stdout);
            bench.valgrind("again.log", &["--suppressions=written.supp"]);
            let left = lost(&bench.read("again.log"));
            let hidden: Vec<&String> = all.iter().filter(|bytes| !left.contains(bytes)).collect();
            let expected: Vec<&str> = twins
                .iter()
                .find(|twins| twins.contains(&bytes.as_str()))
                .map_or(vec![bytes.as_str()], |twins| twins.to_vec());
            assert_eq!(hidden, expected, "{file}\n{}", written.stdout);
            // leak-check gives the same result.
            let run = bench.leak_check(&["--suppressions=written.supp", "--format=json", file]);
            let suppressed = run
                .records(&["leak"])
                .iter()
                .filter(|leak| leak["kind"] == "definite" && leak["status"] == "suppressed")
                .count();
            assert_eq!(suppressed, expected.len(), "{file}\n{}", written.stdout);
        }
    }
}

#[test]
fn a_suppression_for_a_cpp_function_does_not_hide_similar_functions() {
    needs!("gcc", "g++", "valgrind");
    // A pattern does not distinguish the instances of a template.
    check(&Bench::from_text("a.cpp", CPP), &[&["17", "19"]]);
}

#[test]
fn a_suppression_for_a_rust_function_does_not_hide_similar_functions() {
    needs!("gcc", "valgrind");
    let bench = Bench::from_text("a.rs", RUST);
    check(&bench, &[]);
    bench.compile("a.rs", RUST, &["-Csymbol-mangling-version=v0"]);
    check(&bench, &[]);
}

#[test]
fn a_suppression_for_a_program_without_symbols_is_reported_as_too_wide() {
    needs!("gcc", "g++", "valgrind");
    let bench = Bench::from_text("a.cpp", "int main() {}");
    bench.compile("a.cpp", CPP, &["-s"]);
    bench.valgrind("out.log", &[]);
    let run = bench.leak_check(&["--write-suppressions", "out.log"]);
    assert!(
        run.stderr
            .contains("no function of the program, which lacks symbols"),
        "{}",
        run.stderr
    );
    // The suppression lists every frame: malloc and the objects.
    assert!(!run.stdout.contains("..."), "{}", run.stdout);
}
