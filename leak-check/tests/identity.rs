//! Known findings stay known in builds with other names, and other findings are new.

use needs::needs;

use crate::support::{Bench, Run, leak_check_in};

/// A directory for logs, sources and a baseline.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().expect("a temporary directory can be created"))
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("the directory is writable");
    }

    /// Writes a baseline of an input.
    fn update(&self, log: &str) -> Run {
        let arguments = ["--baseline=known.jsonl", "--update-baseline", "-"];
        let run = leak_check_in(self.0.path(), &arguments, log.as_bytes());
        assert_eq!(run.status, 0, "{}", run.stderr);
        run
    }

    /// Judges an input with the baseline.
    fn status(&self, log: &str) -> i32 {
        leak_check_in(
            self.0.path(),
            &["--baseline=known.jsonl", "-"],
            log.as_bytes(),
        )
        .status
    }
}

/// A report of UBSan without a stack.
fn overflow(line: u64, sum: &str) -> String {
    format!(
        "u.c:{line}:31: runtime error: signed integer overflow: {sum} cannot be represented in type 'int'\n"
    )
}

const SOURCE: &str = "\
int add(int a, int b) {
    return a + b;
}
int add2(int a, int b) {
    return a + b;
}
";

#[test]
fn an_error_without_a_stack_is_known_by_its_message_and_its_line() {
    let folder = Folder::new();
    let run = folder.update(&overflow(2, "2147483647 + 1"));
    assert!(
        run.stderr
            .contains("1 finding has no function names and no stack")
            && run.stderr.contains("UBSAN_OPTIONS=print_stacktrace=1"),
        "{}",
        run.stderr
    );
    assert_eq!(folder.status(&overflow(2, "2147483647 + 22")), 0);
    assert_eq!(folder.status(&overflow(2, "2147483647 * 2")), 1);
    assert_eq!(folder.status(&overflow(5, "2147483647 + 1")), 1);
    let twice = overflow(2, "2147483647 + 1").repeat(2);
    assert_eq!(folder.status(&twice), 1);
}

#[test]
fn an_error_without_a_stack_is_known_by_the_text_of_its_line_in_its_function() {
    let folder = Folder::new();
    folder.write("u.c", SOURCE);
    folder.update(&overflow(2, "2147483647 + 1"));
    assert_eq!(folder.status(&overflow(2, "2147483647 + 1")), 0);
    // The same text in another function.
    assert_eq!(folder.status(&overflow(5, "2147483647 + 1")), 1);
    // Both functions moved.
    folder.write("u.c", &format!("\n\n\n{SOURCE}"));
    assert_eq!(folder.status(&overflow(5, "2147483647 + 1")), 0);
    assert_eq!(folder.status(&overflow(8, "2147483647 + 1")), 1);
    // Another text at the known line.
    folder.write("u.c", &SOURCE.replacen("a + b", "b + a", 1));
    assert_eq!(folder.status(&overflow(2, "2147483647 + 1")), 1);
}

/// A log of a stripped program that leaks this many bytes at this address.
fn stripped(bytes: u64, address: &str) -> String {
    format!(
        "\
==7== Memcheck, a memory error detector
==7== Using Valgrind-3.19.0 and LibVEX; rerun with -h for copyright info
==7== Command: ./st
==7== 
==7== HEAP SUMMARY:
==7==     in use at exit: {bytes} bytes in 1 blocks
==7==   total heap usage: 1 allocs, 0 frees, {bytes} bytes allocated
==7== 
==7== {bytes} bytes in 1 blocks are definitely lost in loss record 1 of 1
==7==    at 0x48417B4: malloc (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
==7==    by 0x{address}: ??? (in /home/me/st)
==7==    by 0x4885249: (below main) (libc_start_call_main.h:58)
==7== 
==7== LEAK SUMMARY:
==7==    definitely lost: {bytes} bytes in 1 blocks
==7==    indirectly lost: 0 bytes in 0 blocks
==7==      possibly lost: 0 bytes in 0 blocks
==7==    still reachable: 0 bytes in 0 blocks
==7==         suppressed: 0 bytes in 0 blocks
==7== 
==7== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)
"
    )
}

#[test]
fn a_leak_without_names_is_known_by_its_address_unless_it_grew() {
    let folder = Folder::new();
    let run = folder.update(&stripped(10, "109146"));
    let warning = "1 finding has own frames without function names";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert_eq!(folder.status(&stripped(10, "109146")), 0);
    assert_eq!(folder.status(&stripped(9, "109146")), 0);
    assert_eq!(folder.status(&stripped(5000, "109146")), 1);
    assert_eq!(folder.status(&stripped(10, "10914A")), 1);
    // An update accepts the growth.
    folder.update(&stripped(5000, "109146"));
    assert_eq!(folder.status(&stripped(5000, "109146")), 0);
}

#[test]
fn an_older_entry_without_a_name_is_no_evidence() {
    let folder = Folder::new();
    folder.write(
        "known.jsonl",
        "{\"type\":\"known\",\"kind\":\"definite\",\"frames\":[\"st\"],\"count\":1}\n",
    );
    assert_eq!(folder.status(&stripped(10, "109146")), 1);
}

/// Two functions with the same bare name, one of which leaks.
const TWINS: &str = "#include <cstring>
namespace app {
struct Left {
    char *get(int n) { char *p = new char[n]; std::memset(p, 1, n); return p; }
};
struct Right {
    char *get(int n) { char *p = new char[n]; std::memset(p, 2, n); return p; }
};
static int run(int n) {
#ifdef MENDED
    return Right().get(n + 20)[n];
#else
    return Left().get(n + 20)[n];
#endif
}
}
int main(int argc, char **) { return app::run(argc) == 7; }
";

#[test]
fn known_leaks_survive_inlining_and_functions_of_one_bare_name_differ() {
    needs!("g++", "valgrind");
    let bench = Bench::from_text("twins.cpp", TWINS);
    let builds = [
        ("O0", &["-O0"][..]),
        ("O2", &["-O2"]),
        ("lto", &["-O2", "-flto"]),
    ];
    for (name, flags) in builds {
        for (side, mended) in [("left", "-UMENDED"), ("right", "-DMENDED")] {
            bench.compile("twins.cpp", TWINS, &[flags, &[mended]].concat());
            bench.valgrind(&format!("{side}-{name}.xml"), &[]);
            bench.valgrind(&format!("{side}-{name}.log"), &[]);
        }
    }
    let inputs = |side: &str| {
        builds
            .map(|(name, _)| [format!("{side}-{name}.xml"), format!("{side}-{name}.log")])
            .concat()
    };
    for known in inputs("left") {
        // Without the sources, only places are evidence.
        for root in ["--root=.", "--root=/nowhere"] {
            let judge = |options: &[&str]| {
                let options = [&["--baseline=known.jsonl", root], options].concat();
                bench.leak_check(&options).status
            };
            assert_eq!(judge(&["--update-baseline", &known]), 0, "{known}");
            for input in inputs("left") {
                assert_eq!(judge(&[&input]), 0, "{known} {input}");
            }
            for input in inputs("right") {
                assert_eq!(judge(&[&input]), 1, "{known} {input}");
            }
        }
    }
}
