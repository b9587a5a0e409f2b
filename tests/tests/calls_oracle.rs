//! Five programs under the real callgrind. Call trees, peeks and filtered calls must agree with
//! `callgrind_annotate --tree=both` for each function.
//!
//! callgrind_annotate has one row per file inlined into a function and one per recursion level. So this compares only
//! functions with one row whose callers and callees also have one row each.

#![expect(clippy::unwrap_used, reason = "a test that cannot run fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use needs::needs;
use tempfile::TempDir;
use tests::data;
use tests::tools::{Run, run, stdout};

/// A caller or callee: its name, the number of calls and their cost.
type Arc = (String, u64, u64);

/// A function of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TreeBlock {
    incl: u64,
    callers: BTreeSet<Arc>,
    callees: BTreeSet<Arc>,
}

/// Function pointers, and a sort that calls back.
const SORT_C: &str = r#"
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
static int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
__attribute__((noinline)) int *fill(int n) { int *v = malloc(n * sizeof *v); for (int i = 0; i < n; i++) v[i] = (i * 7919) % 1000; return v; }
__attribute__((noinline)) long sum(const int *v, int n) { long s = 0; for (int i = 0; i < n; i++) s += v[i] * i; return s; }
int main(void) {
    long all = 0;
    for (int i = 1; i <= 20; i++) { int *v = fill(20 * i); qsort(v, 20 * i, sizeof *v, by_size); all += sum(v, 20 * i); free(v); }
    char text[64]; snprintf(text, sizeof text, "%ld", all); puts(text);
}
"#;

/// Direct and mutual recursion, and functions without recursion.
const WALK_C: &str = r#"
#include <stdlib.h>
#include <stdio.h>
struct node { struct node *left, *right; int key; };
__attribute__((noinline)) struct node *make(int key) { struct node *n = calloc(1, sizeof *n); n->key = key; return n; }
__attribute__((noinline)) void insert(struct node **at, int key) { if (!*at) *at = make(key); else insert(key < (*at)->key ? &(*at)->left : &(*at)->right, key); }
__attribute__((noinline)) int odd(int n); __attribute__((noinline)) int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__attribute__((noinline)) int odd(int n) { return n == 0 ? 0 : even(n - 1) + 0 * n; }
__attribute__((noinline)) int mix(int n) { return (n * 37) % 101; }
__attribute__((noinline)) void drop(struct node *n) { if (!n) return; drop(n->left); drop(n->right); free(n); }
int main(void) { struct node *root = 0; int e = 0; for (int i = 0; i < 60; i++) { insert(&root, mix(i)); e += even(i % 7); } drop(root); printf("%d\n", e); }
"#;

/// Virtual calls, templates, a map and strings.
const SHAPES_CC: &str = r#"
#include <map>
#include <memory>
#include <string>
#include <vector>
#include <cstdio>
struct Shape { virtual ~Shape() {} virtual int area(int k) const = 0; };
struct Square : Shape { int a; explicit Square(int a) : a(a) {} __attribute__((noinline)) int area(int k) const override { return a * a + k; } };
struct Strip : Shape { int a, b; Strip(int a, int b) : a(a), b(b) {} __attribute__((noinline)) int area(int k) const override { int s = 0; for (int i = 0; i < b; i++) s += a ^ k; return s; } };
__attribute__((noinline)) std::unique_ptr<Shape> make(int i) { if (i % 3) return std::unique_ptr<Shape>(new Square(i)); return std::unique_ptr<Shape>(new Strip(i, 4)); }
__attribute__((noinline)) void count(std::map<std::string, int> &seen, int area) { seen[std::to_string(area % 17)]++; }
int main() { std::map<std::string, int> seen; for (int i = 0; i < 90; i++) { auto s = make(i); count(seen, s->area(i)); } std::printf("%zu\n", seen.size()); }
"#;

/// A function with many callers, and calls across templates.
const HASH_CC: &str = r#"
#include <cstdio>
#include <cstring>
#include <string>
template <int N> __attribute__((noinline)) unsigned hash(const char *s) { unsigned h = N; for (; *s; s++) h = h * 33 + *s; return h; }
__attribute__((noinline)) unsigned key(const std::string &s) { return hash<5381>(s.c_str()) ^ hash<17>(s.c_str()); }
__attribute__((noinline)) unsigned seal(const std::string &s) { std::string t = s + s; return hash<17>(t.c_str()); }
int main() { unsigned all = 0; std::string s = "a"; for (int i = 0; i < 50; i++) { all += key(s); if (i % 5 == 0) all ^= seal(s); s += char('a' + i % 26); } std::printf("%u %zu\n", all, std::strlen(s.c_str())); }
"#;

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles and profiles the programs.
fn profiles(folder: &Path) -> Vec<PathBuf> {
    let compiled = |compiler: &str, name: &str, source: &str| {
        let file = folder.join(name);
        std::fs::write(&file, source).unwrap();
        let program = file.with_extension("");
        output(
            needs::command(compiler)
                .args(["-O1", "-g", "-o"])
                .arg(&program)
                .arg(&file),
        );
        program
    };
    let wordcount = folder.join("wordcount");
    output(
        needs::command("rustc")
            .args(["-O", "-g", "-o"])
            .arg(&wordcount)
            .arg(data("pair/wordcount.rs")),
    );
    let programs = [
        compiled("gcc", "sort.c", SORT_C),
        compiled("gcc", "walk.c", WALK_C),
        compiled("g++", "shapes.cc", SHAPES_CC),
        compiled("g++", "hash.cc", HASH_CC),
        wordcount,
    ];
    let profile = |program: PathBuf| {
        let profile = program.with_extension("callgrind.out");
        output(
            needs::command("valgrind")
                .args(["-q", "--tool=callgrind"])
                .arg(format!("--callgrind-out-file={}", profile.display()))
                .arg(&program),
        );
        profile
    };
    programs.into_iter().map(profile).collect()
}

fn number(text: &str) -> u64 {
    text.trim().replace(',', "").parse().unwrap()
}

/// Parses a name with a number of calls: `f (40x)`.
fn with_calls(text: &str) -> (String, u64) {
    let (name, calls) = text.trim().rsplit_once(" (").unwrap();
    (name.to_owned(), number(calls.strip_suffix("x)").unwrap()))
}

/// Groups the rows of a tree (mark, name with calls, cost) by the function in the middle.
fn blocks(rows: impl Iterator<Item = (char, String, u64)>) -> BTreeMap<String, Vec<TreeBlock>> {
    let mut functions: BTreeMap<String, Vec<TreeBlock>> = BTreeMap::new();
    let mut callers = BTreeSet::new();
    let mut current: Option<String> = None;
    for (mark, name, cost) in rows {
        let arc = |text: &str| {
            let (name, calls) = with_calls(text);
            (name, calls, cost)
        };
        match mark {
            '<' => {
                callers.insert(arc(&name));
            }
            '*' => {
                functions.entry(name.clone()).or_default().push(TreeBlock {
                    incl: cost,
                    callers: std::mem::take(&mut callers),
                    callees: BTreeSet::new(),
                });
                current = Some(name);
            }
            _ => {
                let around = functions.get_mut(current.as_ref().unwrap()).unwrap();
                around.last_mut().unwrap().callees.insert(arc(&name));
            }
        }
    }
    functions
}

/// Parses the tree of callgrind_annotate: `8,572 (12.4%)  < file:add_order (40x) [object]`.
fn theirs(profile: &Path) -> BTreeMap<String, Vec<TreeBlock>> {
    let text = output(
        needs::command("callgrind_annotate")
            .args([
                "--tree=both",
                "--inclusive=yes",
                "--threshold=100",
                "--auto=no",
                "--show=Ir",
            ])
            .arg(profile),
    );
    let row = |line: &str| {
        let (count, rest) = line.split_once(" (")?;
        let (_, rest) = rest.split_once("%)  ")?;
        let mark = rest.chars().next().filter(|mark| "<*>".contains(*mark))?;
        let place = rest[1..].trim();
        let calls = place
            .find("x) [")
            .or_else(|| place.ends_with("x)").then(|| place.len() - 2));
        let place = match calls {
            Some(calls) => &place[..calls + 2],
            None => place.rsplit_once(" [").map_or(place, |(place, _)| place),
        };
        // Function names can contain colons, these paths cannot.
        let name = place.split_once(':')?.1;
        Some((mark, name.to_owned(), number(count)))
    };
    blocks(text.lines().filter_map(row))
}

/// Parses the tree of cg-fmt: `1,284 (1.86%)  32,712 (47.39%)  *  add_order`.
fn ours(tree: &str) -> BTreeMap<String, Vec<TreeBlock>> {
    let row = |line: &str| {
        let marks = ["  <  ", "  *  ", "  >  "];
        let mark = marks.iter().find_map(|mark| line.find(mark))?;
        let incl = line[..mark].trim().rsplit("  ").next()?;
        let mut rest = line[mark..].trim_start().chars();
        let mark = rest.next()?;
        Some((mark, rest.as_str().trim().to_owned(), number(incl)))
    };
    blocks(tree.lines().filter_map(row))
}

const COLUMNS: [&str; 6] = [
    "--columns",
    "incl.Ir,role,fn",
    "--width",
    "0",
    "--top",
    "all",
];

fn tree_of(profile: &Path) -> BTreeMap<String, Vec<TreeBlock>> {
    let profile = profile.to_str().unwrap();
    let args = [&["--tree", "both", profile][..], &COLUMNS].concat();
    ours(&String::from_utf8(stdout("cg-fmt", &args, b"")).unwrap())
}

/// Returns the functions that can be compared: they, their callers and their callees have one row each.
fn comparable(theirs: &BTreeMap<String, Vec<TreeBlock>>) -> Vec<(&str, &TreeBlock)> {
    let is_one = |name: &str| {
        let has_level = |name: &str| name.contains('\'');
        let rows = theirs.get(name).map_or(1, Vec::len);
        rows == 1 && !has_level(name) && !theirs.contains_key(&format!("{name}'2"))
    };
    let named = theirs.iter().filter(|(name, _)| is_one(name));
    let around = named.map(|(name, around)| (name.as_str(), &around[0]));
    around
        .filter(|(_, around)| {
            let mut others = around.callers.iter().chain(&around.callees);
            // An address is not a name: each object can have a function at it.
            others.all(|(name, _, _)| is_one(name) && !name.starts_with("0x"))
        })
        .collect()
}

#[test]
fn trees_peeks_and_filters_agree_with_callgrind_annotate() {
    needs!("gcc", "g++", "valgrind", "annotate");
    let folder = TempDir::new().unwrap();
    for profile in profiles(folder.path()) {
        let theirs = theirs(&profile);
        let tree = tree_of(&profile);
        let mut compared = comparable(&theirs);
        // callgrind_annotate merges functions with the same name and file, even from different objects.
        compared.retain(|(name, _)| tree[*name].len() == 1);
        assert!(compared.len() > 20, "{}", profile.display());
        for (name, around) in &compared {
            let found = tree.get(*name).unwrap();
            assert_eq!(found, std::slice::from_ref(*around), "{name}");
        }
        // Check the functions with the most callers one at a time.
        let mut chosen = compared.clone();
        chosen.sort_by_key(|(_, around)| std::cmp::Reverse(around.callers.len()));
        chosen.truncate(6);
        for (name, around) in chosen {
            let profile = profile.to_str().unwrap();
            let kept = stdout("cg-filter", &["--calls", "-F", "-x", name, profile], b"");
            let args = [&["--tree", "both"][..], &COLUMNS].concat();
            let Run { stdout, stderr, .. } = run("cg-fmt", &args, &kept);
            let shown = ours(&String::from_utf8(stdout).unwrap());
            assert_eq!(
                shown.get(name),
                Some(&vec![around.clone()]),
                "{name}: {stderr}"
            );
            assert_eq!(shown.len(), 1, "{name}");
            assert_eq!(stderr, "", "{name}");
            let wanted = format!("^{}$", regex::escape(name));
            let args = [&["--peek", &wanted, profile][..], &COLUMNS].concat();
            let peeked = run("cg-fmt", &args, b"").stdout;
            assert_eq!(ours(&String::from_utf8(peeked).unwrap()), shown, "{name}");
        }
    }
}
