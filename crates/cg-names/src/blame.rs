//! The frame of a stack to blame: the innermost frame of the program. If there is none, the innermost frame that belongs
//! neither to an allocator nor to one of Valgrind's replacement functions.
//!
//! A leak record always begins in `malloc`, and a bad `memcpy` in Valgrind's own copy of `memcpy`. A reader looks for the
//! cause in their callers. The rule is the same for all records with a stack, so all of them have one `fn` field.

use cg_stream::record::{ErrorKind, Frame};

use crate::code_origin::{Facts, classify_frame};

/// Returns the position of the frame to blame in a stack, innermost frame first. Returns 0 if all frames belong to an
/// allocator or the stack is empty.
pub fn frame_to_blame(stack: &[Frame]) -> usize {
    let facts: Vec<Facts> = stack.iter().map(Facts::from_frame).collect();
    frame_to_blame_in_facts(facts.len(), |position| facts.get(position).copied())
}

/// Returns the position of the frame to blame, like [`frame_to_blame`], in a stack with `length` frames and known facts.
pub fn frame_to_blame_in_facts(length: usize, at: impl Fn(usize) -> Option<Facts> + Copy) -> usize {
    // A dependency counts as the program: its code is part of the build, and its frame shows where to look.
    let is_own = |position: &usize| classify_frame(*position, at).is_program();
    // A function without a name is useless to a reader. Blame the function that it was inlined into.
    let is_nameless = |position: &usize| match (at(*position), at(position + 1)) {
        (Some(inner), Some(outer)) => inner.is_nameless_part_of(outer) && is_own(&(position + 1)),
        _ => false,
    };
    (0..length)
        .find(|position| is_own(position) && !is_nameless(position))
        .or_else(|| {
            (0..length).find(|position| {
                at(*position).is_some_and(|facts| !facts.is_allocator_or_replacement())
            })
        })
        .unwrap_or(0)
}

/// Returns the number of innermost frames that do not belong to the program in an error of this kind, by its name in
/// Valgrind's XML. Valgrind reports a bad argument of a system call in libc's function. A frame with only a function name
/// cannot be distinguished from the program's own frames, so the kind of the error decides.
pub fn frames_before_program(kind: &str, stack_length: usize) -> usize {
    usize::from(*kind == *ErrorKind::SyscallParam && stack_length > 1)
}

/// Returns true for a frame inside an allocator or inside one of Valgrind's replacement functions.
pub fn is_allocator_or_replacement(frame: &Frame) -> bool {
    Facts::from_frame(frame).is_allocator_or_replacement()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    fn blamed(names: &[&'static str]) -> &'static str {
        let stack: Vec<Frame> = names
            .iter()
            .map(|name| Frame {
                name: Some(Name::from(*name)),
                ..Frame::default()
            })
            .collect();
        names[frame_to_blame(&stack)]
    }

    #[test]
    fn allocators_are_not_blamed() {
        assert_eq!(blamed(&["malloc", "make_node", "main"]), "make_node");
        assert_eq!(blamed(&["malloc+116", "make_node"]), "make_node");
        assert_eq!(
            blamed(&[
                "operator new[](unsigned long, std::align_val_t)",
                "Tree::Tree()"
            ]),
            "Tree::Tree()"
        );
        assert_eq!(
            blamed(&[
                "malloc",
                "alloc::alloc::alloc",
                "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
                "demo::f"
            ]),
            "demo::f"
        );
        assert_eq!(
            blamed(&[
                "operator new(unsigned long)",
                "std::__new_allocator<int>::allocate(unsigned long, void const*)",
                "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)",
                "grow(std::vector<int, std::allocator<int> >&)"
            ]),
            "grow(std::vector<int, std::allocator<int> >&)"
        );
        assert_eq!(blamed(&["malloc", "calloc"]), "malloc");
        assert_eq!(blamed(&["my_malloc", "main"]), "my_malloc");
    }

    #[test]
    fn a_system_call_is_blamed_on_its_caller() {
        assert_eq!(frames_before_program("SyscallParam", 3), 1);
        assert_eq!(frames_before_program("InvalidRead", 3), 0);
        // The only frame of a stack is blamed.
        assert_eq!(frames_before_program("SyscallParam", 1), 0);
        assert_eq!(frames_before_program("SyscallParam", 0), 0);
    }

    #[test]
    fn the_inliner_of_a_nameless_function_is_blamed() {
        let frame = |name: &'static str, addr: &'static str| Frame {
            name: Some(Name::from(name)),
            file: (name != "malloc").then(|| Name::from("m.rs")),
            addr: Some(Name::from(addr)),
            ..Frame::default()
        };
        let stack = [
            frame("malloc", "0x1"),
            frame("UnknownInlinedFun", "0x2"),
            frame("UnknownInlinedFun", "0x2"),
            frame("m::leak", "0x2"),
            frame("m::main", "0x3"),
        ];
        assert_eq!(frame_to_blame(&stack), 3);
        let stack = [frame("UnknownInlinedFun", "0x2"), frame("m::main", "0x3")];
        assert_eq!(frame_to_blame(&stack), 0);
    }

    #[test]
    fn inlined_cxx_allocators_are_recognised_by_file() {
        let frame = |name: &'static str, file: &'static str| Frame {
            name: Some(Name::from(name)),
            file: Some(Name::from(file)),
            ..Frame::default()
        };
        assert!(is_allocator_or_replacement(&frame(
            "allocate",
            "/usr/include/c++/12/bits/new_allocator.h"
        )));
        assert!(!is_allocator_or_replacement(&frame(
            "allocate",
            "arena.cpp"
        )));
    }

    #[test]
    fn replacement_functions_of_sanitizers_are_not_blamed() {
        let frame = |name: &'static str, file: &'static str, obj: &'static str| {
            let given = |text: &'static str| (!text.is_empty()).then(|| Name::from(text));
            Frame {
                name: given(name),
                file: given(file),
                obj: given(obj),
                ..Frame::default()
            }
        };
        let own = || frame("work", "src/a.cpp", "");
        for inner in [
            frame("__interceptor_strlen", "", "/opt/app/a"),
            frame("___interceptor_free", "", "/opt/app/a"),
            frame("__asan_memcpy", "", "/opt/app/a"),
            frame(
                "memset",
                "../../../../src/libsanitizer/asan/asan_interceptors.cpp",
                "",
            ),
            frame(
                "malloc",
                "/rustc/llvm/src/llvm-project/compiler-rt/lib/asan/asan_malloc_linux.cpp",
                "",
            ),
            frame("", "", "/opt/app/libasan.so.8"),
            // ThreadSanitizer prints intercepted functions without a prefix, in the program's object.
            frame("pthread_mutex_lock", "", "a"),
            frame("close", "", "a"),
            frame("__pthread_kill_implementation", "nptl/pthread_kill.c", ""),
            frame(
                "__libc_start_call_main",
                "csu/../sysdeps/nptl/libc_start_call_main.h",
                "",
            ),
            frame("strdup", "string/./string/strdup.c", ""),
        ] {
            assert_eq!(frame_to_blame(&[inner.clone(), own()]), 1, "{inner:?}");
        }
        // Functions of the program with such names.
        for inner in [
            frame("close", "src/door.cpp", "a"),
            frame("reset", "", "a"),
            frame("handle", "nptl/mine.cpp", ""),
        ] {
            assert_eq!(frame_to_blame(&[inner.clone(), own()]), 0, "{inner:?}");
        }
    }

    #[test]
    fn replacement_functions_are_recognised_by_file_and_object() {
        let frame = |file: &'static str, obj: &'static str| Frame {
            name: Some(Name::from("memcpy@GLIBC_2.2.5")),
            file: Some(Name::from(file)),
            obj: Some(Name::from(obj)),
            ..Frame::default()
        };
        assert!(is_allocator_or_replacement(&frame(
            "vg_replace_strmem.c",
            ""
        )));
        assert!(is_allocator_or_replacement(&frame(
            "",
            "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so"
        )));
        let inlined = |name: &'static str, file: &'static str| Frame {
            name: Some(Name::from(name)),
            file: Some(Name::from(file)),
            ..Frame::default()
        };
        assert!(is_allocator_or_replacement(&inlined("alloc", "alloc.rs")));
        assert!(is_allocator_or_replacement(&inlined(
            "with_capacity_in<u8, alloc::alloc::Global>",
            "/rustc/abc/library/alloc/src/raw_vec/mod.rs"
        )));
        assert!(!is_allocator_or_replacement(&inlined("alloc", "arena.rs")));
        assert!(!is_allocator_or_replacement(&inlined("main", "alloc.rs")));
        assert!(!is_allocator_or_replacement(&frame(
            "copy.c",
            "/usr/bin/demo"
        )));
    }
}
