//! Which frames are a program's own, as opposed to allocators, Valgrind's replacements and the language's runtime.
//!
//! Nobody looks for a leak in `malloc`, `strdup` or `Vec::push`, and their names change with every update of libc and
//! compiler. So own frames are where findings are blamed and what fingerprints are made of.

use crate::blame::{frame_to_blame, is_allocator_or_replacement};
use cg_stream::record::Frame;

/// True where a frame is neither an allocator's nor of the runtime nor of a library of the system.
pub fn is_own(frame: &Frame) -> bool {
    !(is_allocator_or_replacement(frame)
        || frame.obj.as_deref().is_some_and(is_system_object)
        || frame.file.as_deref().is_some_and(is_runtime_source)
        || frame.name.as_deref().is_some_and(is_runtime_name)
        || (frame.name.is_none() && frame.obj.is_none()))
}

/// The position of the innermost own frame; where there is none, of the innermost one that is no allocator's.
pub fn innermost_own(stack: &[Frame]) -> Option<usize> {
    if stack.is_empty() {
        return None;
    }
    Some(
        stack
            .iter()
            .position(is_own)
            .unwrap_or_else(|| frame_to_blame(stack)),
    )
}

/// `/lib/…`, `/usr/lib64/…`, `/usr/libexec/…`: what the system installs, not what a project builds.
fn is_system_object(path: &str) -> bool {
    let path = path.strip_prefix("/usr").unwrap_or(path);
    let Some((directory, _)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
        return false;
    };
    matches!(directory, "lib" | "lib32" | "lib64" | "libx32" | "libexec")
}

/// Rust's library as its debug info calls it on every machine, and the start code of glibc.
fn is_runtime_source(path: &str) -> bool {
    const START: [&str; 3] = ["libc-start.c", "libc_start_call_main.h", "pthread_create.c"];
    path.starts_with("/rustc/")
        || ["std", "core", "alloc", "test", "panic_unwind"]
            .iter()
            .any(|library| path.contains(&format!("/library/{library}/src/")))
        || START.contains(&path.rsplit('/').next().unwrap_or(path))
}

fn is_runtime_name(name: &str) -> bool {
    /// What starts programs and threads, and the loader.
    const START: [&str; 14] = [
        "(below main)",
        "_start",
        "__libc_start_main",
        "__libc_start_call_main",
        "__libc_csu_init",
        "call_init",
        "start_thread",
        "clone",
        "clone3",
        "__clone",
        "__clone3",
        "__rust_begin_short_backtrace",
        "__rust_maybe_catch_panic",
        "__rust_try",
    ];
    /// Beginnings of names in C++'s and Rust's libraries and in libc; libtest's functions one by one, since `test::` is anybody's.
    const LIBRARIES: [&str; 18] = [
        "std::",
        "core::",
        "alloc::",
        "<std::",
        "<core::",
        "<alloc::",
        "<&core::",
        "__gnu_cxx::",
        "__cxxabiv1::",
        "_dl_",
        "_IO_",
        "__GI_",
        "__libc_",
        "dl_open_worker",
        "test::__rust_begin_short_backtrace",
        "test::run_test",
        "test::types::",
        "test::test_main",
    ];
    let path = function_path(name);
    let undecorated = path.split(['@', '.']).next().unwrap_or(path);
    START.contains(&undecorated) || LIBRARIES.iter().any(|library| path.starts_with(library))
}

/// A demangled name without the return type that C++ templates have in front: `void std::f<int>(int)` is `std::f<int>(int)`.
pub fn function_path(name: &str) -> &str {
    if name.starts_with(['<', '(']) || !name.ends_with([')', 't']) {
        return name;
    }
    let mut depth = 0;
    let mut start = 0;
    for (position, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'{' | b'[' => depth += 1,
            b'>' | b'}' | b']' => depth -= 1,
            // Parameters, or the whole of `operator new(unsigned long)`.
            b'(' if depth == 0 && !name[start..].starts_with("(anonymous namespace)") => break,
            b'(' => depth += 1,
            b')' => depth -= 1,
            b' ' if depth == 0 => {
                if name[start..position].ends_with("operator") {
                    break;
                }
                start = position + 1;
            }
            _ => {}
        }
    }
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    fn named(name: &'static str) -> Frame<'static> {
        Frame {
            name: Some(Name::from(name)),
            ..Frame::default()
        }
    }

    #[test]
    fn runtimes_of_c_cpp_and_rust_are_not_own() {
        for name in [
            "malloc",
            "operator new(unsigned long)",
            "std::vector<int, std::allocator<int> >::push_back(int&&)",
            "void std::vector<int>::_M_realloc_insert<int>(int*, int&&)",
            "<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
            "core::ops::function::FnOnce::call_once",
            "test::run_test::{{closure}}",
            "(below main)",
            "__libc_start_main@@GLIBC_2.34",
            "_dl_init",
        ] {
            assert!(!is_own(&named(name)), "{name}");
        }
        for name in [
            "main",
            "make_node",
            "demo::stdlib::f",
            "<demo::Tree as core::ops::Drop>::drop",
            "tests::leak",
            "operator==(Point const&, Point const&)",
            "(anonymous namespace)::make(std::string const&)",
        ] {
            assert!(is_own(&named(name)), "{name}");
        }
    }

    #[test]
    fn libraries_of_the_system_are_not_own() {
        let frame = |obj: &'static str| Frame {
            obj: Some(Name::from(obj)),
            ..named("g_strdup")
        };
        assert!(!is_own(&frame(
            "/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0"
        )));
        assert!(!is_own(&frame("/lib64/libc.so.6")));
        assert!(is_own(&frame("/home/me/library/target/debug/demo")));
        assert!(is_own(&frame("/usr/bin/demo")));
        assert!(is_own(&frame("/usr/local/lib/libmine.so")));
    }

    #[test]
    fn rust_sources_are_known_without_their_names() {
        let frame = Frame {
            file: Some(Name::from("/rustc/0123/library/std/src/thread/mod.rs")),
            ..named("call_once")
        };
        assert!(!is_own(&frame));
    }

    #[test]
    fn return_types_are_not_part_of_a_path() {
        for (name, path) in [
            ("void f<int>(int)", "f<int>(int)"),
            (
                "std::pair<int, int> g::h<char>(char) const",
                "g::h<char>(char) const",
            ),
            ("operator new(unsigned long)", "operator new(unsigned long)"),
            ("A::operator bool() const", "A::operator bool() const"),
            ("f(int, char)", "f(int, char)"),
            ("<A as B>::f", "<A as B>::f"),
            ("main", "main"),
        ] {
            assert_eq!(function_path(name), path);
        }
    }
}
