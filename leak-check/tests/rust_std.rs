//! The default suppressions excuse the blocks that Rust's standard library never frees, and not the leaks of a program
//! through the same functions. The real Valgrind gives the same result with the same file.

use std::path::Path;

use needs::needs;

use crate::support::{Bench, leak_check_in};

/// The tests of `cargo new`, with a sleep that makes the main thread wait.
const PASSING: &str = "
#[test]
fn it_works() {
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(2 + 2, 4);
}
";

/// Returns Valgrind's option for the file of the default suppressions.
fn file() -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/suppression/rust.supp");
    format!("--suppressions={}", source.display())
}

/// Returns the number of loss records of these kinds in a log.
fn loss_records(log: &str, kinds: &[&str]) -> usize {
    log.lines()
        .filter(|line| {
            line.contains(" in loss record ") && kinds.iter().any(|kind| line.contains(kind))
        })
        .count()
}

#[test]
fn a_passing_test_is_clean_with_all_compiler_options() {
    needs!("valgrind");
    let bench = Bench::from_text("lib.rs", "fn main() {}");
    for flags in [
        &[][..],
        &["-Csymbol-mangling-version=v0"],
        &["-Cdebuginfo=line-tables-only"],
        &["-O", "-Cdebuginfo=0", "-Cstrip=debuginfo"],
        &["-O", "-Clto=fat", "-Ccodegen-units=1"],
    ] {
        bench.compile("lib.rs", PASSING, &[&["--test"], flags].concat());
        bench.valgrind("out.log", &[]);
        bench.valgrind("out.xml", &[]);
        let log = bench.read("out.log");
        assert_eq!(
            loss_records(&log, &["possibly lost"]),
            1,
            "{flags:?}\n{log}"
        );
        for file in ["out.log", "out.xml"] {
            let run = bench.leak_check(&[file]);
            assert_eq!(
                (run.status, run.stderr.as_str()),
                (0, ""),
                "{flags:?}\n{}",
                run.stdout
            );
            assert!(
                run.stdout.contains(
                    "\n\n1 finding suppressed by default: libtest's handle of the main thread (--no-default-suppressions disables this)\n"
                ),
                "{}",
                run.stdout
            );
            assert!(
                run.stdout
                    .ends_with("clean: no new findings, 1 suppressed; judged 1 of 1 process\n"),
                "{}",
                run.stdout
            );
            let run = bench.leak_check(&["--no-default-suppressions", file]);
            assert_eq!(run.status, 1, "{flags:?}\n{}", run.stdout);
            assert!(!run.stdout.contains("suppressed"), "{}", run.stdout);
        }
        // The result is the same with mangled names in the report.
        bench.valgrind("mangled.xml", &["--gen-suppressions=all"]);
        assert_eq!(bench.leak_check(&["mangled.xml"]).status, 0, "{flags:?}");

        let every_kind = ["--show-leak-kinds=all", "--errors-for-leak-kinds=all"];
        assert_eq!(bench.valgrind("all.log", &every_kind), 99);
        let all = bench.leak_check(&["--errors-for-leak-kinds=all", "all.log"]);
        assert_eq!(all.status, 0, "{flags:?}\n{}", all.stdout);
        assert!(
            all.stdout.contains(": the guard pages of threads ("),
            "{}",
            all.stdout
        );
        let status = bench.valgrind("obeyed.log", &[&every_kind[..], &[&file()]].concat());
        assert_eq!(status, 0, "{flags:?}\n{}", bench.read("obeyed.log"));
    }
}

#[test]
fn leaks_of_other_library_versions_are_suppressed() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/rust");
    let mut logs = 0;
    for entry in std::fs::read_dir(&data).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".log") {
            continue;
        }
        logs += 1;
        let judge = |options: &[&str]| leak_check_in(&data, &[options, &[&name]].concat(), b"");
        let run = judge(&["--errors-for-leak-kinds=all"]);
        assert_eq!(run.status, 0, "{name}\n{}", run.stdout);
        assert_eq!(judge(&["--no-default-suppressions"]).status, 1, "{name}");
    }
    assert!(logs > 5);
}

/// A program that leaks through the functions in the default suppressions. Each function is a test.
const LEAKS: &str = "#![allow(dead_code)]
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

/// An allocator that keeps an extra block for each allocation.
struct Hoarder;
static HOARD: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
unsafe impl GlobalAlloc for Hoarder {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if cfg!(hoard) {
            let block = unsafe { System.alloc(Layout::new::<*mut u8>()) };
            let before = HOARD.swap(block, Ordering::SeqCst);
            unsafe { block.cast::<*mut u8>().write(before) };
        }
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        unsafe { System.dealloc(block, layout) }
    }
}
#[cfg(hoard)]
#[global_allocator]
static ALLOCATOR: Hoarder = Hoarder;

struct Leaky;
impl Drop for Leaky {
    fn drop(&mut self) {
        std::mem::forget(std::hint::black_box(Box::new([7u8; 48])));
    }
}

#[inline(never)]
pub fn handle() {
    std::mem::forget(std::thread::current());
}
#[inline(never)]
pub fn receive() {
    let (sender, receiver) = std::sync::mpsc::channel::<Leaky>();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        let _ = sender.send(Leaky);
    });
    drop(receiver.recv());
    let _ = thread.join();
}
#[inline(never)]
pub fn spawned() {
    let thread = std::thread::spawn(|| ());
    std::mem::forget(thread.thread().clone());
    let _ = thread.join();
}

#[cfg(not(test))]
fn main() {
    match std::env::args().count() {
        1 => receive(),
        _ => handle(),
    }
    spawned();
}

#[cfg(test)]
mod tests {
    #[test]
    fn handle() {
        super::handle();
    }
    #[test]
    fn receive() {
        super::receive();
    }
    #[test]
    fn spawned() {
        super::spawned();
    }
}
";

#[test]
fn leaks_of_a_program_through_the_same_functions_are_found() {
    needs!("valgrind");
    let bench = Bench::from_text("lib.rs", "fn main() {}");
    let every_kind = [
        "--show-leak-kinds=all",
        "--errors-for-leak-kinds=all",
        "--num-callers=40",
    ];
    for flags in [
        &[][..],
        &["--test"],
        &["--test", "--cfg=hoard"],
        &["--test", "-O", "-Cdebuginfo=0", "-Cstrip=debuginfo"],
    ] {
        bench.compile("lib.rs", LEAKS, flags);
        bench.valgrind("all.xml", &every_kind);
        let run = bench.leak_check(&["--errors-for-leak-kinds=all", "--format=json", "all.xml"]);
        assert_eq!(run.status, 1);
        let leaks = run.records(&["leak"]);
        let passes_through = |leak: &serde_json::Value, names: &[&str]| {
            let frames = leak["stack"].as_array().unwrap();
            frames.iter().any(|frame| {
                let name = frame["fn"].as_str().unwrap_or_default();
                names.iter().any(|own| name.contains(own))
            })
        };
        let own: &[&str] = &["::handle", "::receive", "::spawned", "Hoarder"];
        let (mine, from_library): (Vec<_>, Vec<_>) =
            leaks.iter().partition(|leak| passes_through(leak, own));
        assert!(mine.len() > 1, "{flags:?}\n{}", run.stdout);
        for leak in &mine {
            assert_eq!(leak["status"], "new", "{flags:?}: {leak}");
        }
        // No suppressed leak passes through spawn, which creates the handles of tests.
        let suppressed: Vec<_> = from_library
            .iter()
            .filter(|leak| leak["status"] == "suppressed")
            .collect();
        assert!(
            !suppressed.is_empty() || flags.contains(&"--cfg=hoard"),
            "{flags:?}"
        );
        for leak in &suppressed {
            assert!(!passes_through(leak, &["spawn"]), "{flags:?}: {leak}");
        }
        // The remaining leaks are the same in Valgrind.
        bench.valgrind("obeyed.log", &[&every_kind[..], &[&file()]].concat());
        let kinds = ["definitely", "indirectly", "possibly", "reachable"];
        assert_eq!(
            loss_records(&bench.read("obeyed.log"), &kinds),
            leaks.len() - suppressed.len(),
            "{flags:?}"
        );
    }
}
