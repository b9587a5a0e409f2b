//! Which frame of a stack to blame: the innermost one that is neither an allocator nor one of Valgrind's replacements.
//!
//! A leak record always begins in `malloc`, a bad `memcpy` in Valgrind's own copy of it; neither is where anybody
//! would look. The rule is the same for every record that carries a stack, so one `fn` field serves all of them.

use cg_stream::record::Frame;

/// The position of the frame to blame in a stack, innermost frame first. 0 where every frame is an allocator's, or
/// there is no frame.
pub fn frame_to_blame(stack: &[Frame]) -> usize {
    stack
        .iter()
        .position(|frame| !is_allocator_or_replacement(frame))
        .unwrap_or(0)
}

/// True for frames inside an allocator or inside one of Valgrind's replacement functions.
pub fn is_allocator_or_replacement(frame: &Frame) -> bool {
    let object = frame.obj.as_deref().map(base_name);
    if object.is_some_and(|object| object.starts_with("vgpreload_")) {
        return true;
    }
    let file = frame.file.as_deref().map(base_name);
    if file.is_some_and(|file| {
        REPLACEMENT_FILES.contains(&file) || CXX_ALLOCATOR_FILES.contains(&file)
    }) {
        return true;
    }
    frame.name.as_deref().is_some_and(is_allocator) || is_inlined_allocator(frame)
}

/// True for Rust's allocator where it was inlined: Valgrind then gives the bare name of a function, such as `alloc`, and
/// in a text log the bare name of its file.
fn is_inlined_allocator(frame: &Frame) -> bool {
    let Some(file) = frame.file.as_deref() else {
        return false;
    };
    let is_named = || {
        let name = frame.name.as_deref().unwrap_or_default();
        let name = name.split('<').next().unwrap_or_default();
        file == "alloc.rs" && INLINED_ALLOCATORS.contains(&name)
    };
    RUST_ALLOCATOR_FILES
        .iter()
        .any(|known| file.ends_with(known))
        || is_named()
}

/// Source files of Rust's allocator, whatever folder the standard library was built in.
const RUST_ALLOCATOR_FILES: [&str; 4] = [
    "library/alloc/src/alloc.rs",
    "library/alloc/src/raw_vec.rs",
    "library/alloc/src/raw_vec/mod.rs",
    "library/std/src/alloc.rs",
];

/// Functions of `library/alloc/src/alloc.rs`.
const INLINED_ALLOCATORS: [&str; 16] = [
    "alloc",
    "alloc_zeroed",
    "realloc",
    "dealloc",
    "alloc_impl",
    "alloc_impl_runtime",
    "realloc_impl",
    "grow_impl",
    "grow_impl_runtime",
    "shrink_impl",
    "shrink_impl_runtime",
    "allocate",
    "allocate_zeroed",
    "grow",
    "shrink",
    "exchange_malloc",
];

/// Source files of the functions that Valgrind puts in place of a program's own (its `shared/`, `helgrind/`, `drd/`).
const REPLACEMENT_FILES: [&str; 6] = [
    "vg_replace_malloc.c",
    "vg_replace_strmem.c",
    "hg_intercepts.c",
    "drd_pthread_intercepts.c",
    "drd_libstdcxx_intercepts.c",
    "drd_qtcore_intercepts.c",
];

/// Headers of libstdc++ with nothing but allocators in them. Where these were inlined, Valgrind gives the bare name of a
/// function, such as `allocate`.
const CXX_ALLOCATOR_FILES: [&str; 2] = ["new_allocator.h", "alloc_traits.h"];

/// Allocation functions of C, C++ and Rust by their whole name. Massif's and DHAT's `--alloc-fns` defaults are among
/// them (`massif/ms_main.c:init_alloc_fns`).
const ALLOCATORS: [&str; 34] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "strdup",
    "strndup",
    "__strdup",
    "__strndup",
    "wcsdup",
    "__builtin_new",
    "__builtin_vec_new",
    "__builtin_delete",
    "__builtin_vec_delete",
    "__libc_malloc",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_free",
    "malloc_zone_malloc",
    "malloc_zone_calloc",
    "malloc_zone_realloc",
    "malloc_zone_memalign",
    "mmap",
    "mmap64",
    "mremap",
    "brk",
    "sbrk",
    "alloc::alloc::exchange_malloc",
];

/// Beginnings of names: every form of C++'s operators, Rust's allocator shims and the functions that only pass an
/// allocation on.
const ALLOCATOR_PREFIXES: [&str; 16] = [
    "operator new",
    "operator delete",
    "__rust_alloc",
    "__rust_realloc",
    "__rust_dealloc",
    "__rdl_",
    "__rg_",
    "__rustc::__rust_",
    "__rustc::__rdl_",
    "__rustc::__rg_",
    "alloc::alloc::",
    "alloc::raw_vec::",
    "<alloc::alloc::Global",
    "<alloc::raw_vec::RawVec",
    "<dhat::Alloc as ",
    "dhat::ad_hoc_event",
];

/// Classes of libstdc++ whose `allocate` only passes an allocation on.
const CXX_ALLOCATORS: [&str; 4] = [
    "std::__new_allocator<",
    "__gnu_cxx::new_allocator<",
    "std::allocator<",
    "std::allocator_traits<",
];

fn is_allocator(name: &str) -> bool {
    // `--sym-offsets=yes` writes `malloc+116`.
    let name = match name.rsplit_once('+') {
        Some((function, offset))
            if !function.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            function
        }
        _ => name,
    };
    ALLOCATORS.contains(&name)
        || begins_with_any(name, &ALLOCATOR_PREFIXES)
        || (begins_with_any(name, &CXX_ALLOCATORS) && name.contains(">::allocate("))
}

fn begins_with_any(name: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

fn base_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
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
    fn allocators_are_not_to_blame() {
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
    fn inlined_allocators_of_cxx_are_known_by_file() {
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
    fn replacements_are_known_by_file_and_object() {
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
