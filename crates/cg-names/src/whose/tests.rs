use cg_stream::record::{Frame, Name};

use super::*;

fn own(frame: &Frame) -> bool {
    whose(std::slice::from_ref(frame)) == [Whose::Own]
}

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
        assert!(!own(&named(name)), "{name}");
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
        assert!(own(&named(name)), "{name}");
    }
}

#[test]
fn libraries_of_the_system_are_not_own() {
    let frame = |obj: &'static str| Frame {
        obj: Some(Name::from(obj)),
        ..named("g_strdup")
    };
    assert!(!own(&frame("/usr/lib/x86_64-linux-gnu/libglib-2.0.so.0")));
    assert!(!own(&frame("/lib64/libc.so.6")));
    assert!(own(&frame("/home/me/library/target/debug/demo")));
    assert!(own(&frame("/usr/bin/demo")));
    assert!(own(&frame("/usr/local/lib/libmine.so")));
}

#[test]
fn rust_sources_are_known_without_their_names() {
    let frame = Frame {
        file: Some(Name::from("/rustc/0123/library/std/src/thread/mod.rs")),
        ..named("call_once")
    };
    assert!(!own(&frame));
}

/// Whose the frames of a stack are, each `function|file|object`; a letter each, innermost first. Frames in a row that end
/// in `^` have the address of the next.
fn letters(frames: &[&str]) -> String {
    let mut address = 0x1000;
    let stack: Vec<Frame> = frames
        .iter()
        .map(|text| {
            let (text, is_inlined) = match text.strip_suffix('^') {
                Some(text) => (text, true),
                None => (*text, false),
            };
            let mut fields = text.split('|');
            let mut field = || {
                let text = fields.next().unwrap_or_default();
                (!text.is_empty()).then(|| Name::from(text.to_owned()))
            };
            let frame = Frame {
                name: field(),
                file: field(),
                obj: field(),
                addr: Some(Name::from(format!("0x{address:X}"))),
                ..Frame::default()
            };
            address += u64::from(!is_inlined);
            frame
        })
        .collect();
    whose(&stack)
        .into_iter()
        .map(|whose| match whose {
            Whose::Allocator => 'a',
            Whose::Replacement => 'r',
            Whose::Runtime => 'R',
            Whose::System => 'S',
            Whose::Own => 'O',
        })
        .collect()
}

#[test]
fn inlined_functions_of_rusts_library_are_not_own_in_text() {
    // A log of Valgrind 3.19, as its XML tells it too.
    assert_eq!(
        letters(&[
            "read_volatile<u8>|library/core/src/ptr/mod.rs^",
            "logcrate::jit::bad_read|lib.rs",
            "logcrate::main|main.rs",
            "call_once<fn(), ()>|library/core/src/ops/function.rs^",
            "std::sys::backtrace::__rust_begin_short_backtrace|library/std/src/sys/backtrace.rs",
            "do_call<&(dyn core::ops::function::Fn<(), Output=i32>), i32>|panicking.rs^",
            "{closure#0}|rt.rs^",
            "std::rt::lang_start_internal|rt.rs",
            "main||/home/dev/demo",
        ]),
        "ROORRRRRR"
    );
    // The program's own functions where they were inlined into its own and into the library's.
    assert_eq!(
        letters(&[
            "new<[u8; 33]>|library/alloc/src/boxed.rs^",
            "{closure#0}|main.rs^",
            "sort_by<i32, demo::main::{closure_env#0}>|library/alloc/src/slice.rs^",
            "demo::main|main.rs",
        ]),
        "RORO"
    );
    assert_eq!(
        letters(&[
            "helper|lib.rs^",
            "core::ops::function::FnOnce::call_once|library/core/src/ops/function.rs",
        ]),
        "OR"
    );
}

#[test]
fn hash_tables_are_the_librarys_where_the_library_calls_them() {
    let called_by = |caller: &'static str| {
        letters(&[
            "do_alloc<alloc::alloc::Global>|src/raw/alloc.rs^",
            "<hashbrown::raw::RawTable<(i32, ())>>::reserve_rehash|src/raw/mod.rs",
            "UnknownInlinedFun|src/raw/mod.rs^",
            caller,
            "demo::main|main.rs",
        ])
    };
    assert_eq!(
        called_by("extend<i32>|library/std/src/collections/hash/set.rs^"),
        "RRRRO"
    );
    assert_eq!(called_by("{closure#0}|main.rs^").chars().nth(1), Some('O'));
    // A closure that the library's hash tables call is the program's.
    assert_eq!(
        letters(&[
            "new<u8>|library/alloc/src/boxed.rs^",
            "{closure#0}|main.rs^",
            "or_insert_with<u8, Box<u8>>|library/std/src/collections/hash/map.rs^",
            "demo::main|main.rs",
        ]),
        "RORO"
    );
    // Where its directory is known, that decides.
    assert_eq!(
        letters(&[
            "hashbrown::map::HashMap<K,V,S,A>::insert|/rust/deps/hashbrown-0.16.1/src/map.rs",
            "demo::main|main.rs"
        ]),
        "RO"
    );
    assert_eq!(
        letters(&[
            "hashbrown::map::HashMap<K,V,S,A>::insert|/home/dev/.cargo/registry/src/x/hashbrown-0.15.2/src/map.rs",
            "std::rt::lang_start"
        ]),
        "OR"
    );
}

#[test]
fn an_impl_is_in_the_crate_of_its_type_or_of_its_trait() {
    for (name, file, expected) in [
        ("<alloc::vec::Vec<u8> as m::Go>::go", "m.rs", "O"),
        ("<m::Tree as core::ops::Drop>::drop", "m.rs", "O"),
        (
            "<alloc::vec::Vec<m::Tree> as core::ops::Drop>::drop",
            "mod.rs",
            "R",
        ),
        ("<F as core::ops::function::FnOnce<()>>::call_once", "", "R"),
        (
            "<m::Iter as core::iter::Iterator>::fold",
            "library/core/src/iter/traits/iterator.rs",
            "R",
        ),
        (
            "<m::f::{closure#0} as core::ops::function::FnOnce<()>>::call_once::{shim:vtable#0}",
            "",
            "R",
        ),
        ("<u8 as m::Go>::go", "", "O"),
        ("<[T] as core::fmt::Debug>::fmt", "", "R"),
    ] {
        assert_eq!(letters(&[&format!("{name}|{file}")]), expected, "{name}");
    }
}

#[test]
fn functions_of_glibc_are_known_by_file_and_name() {
    assert_eq!(
        letters(&[
            "__vasprintf_internal|vasprintf.c",
            "asprintf|asprintf.c",
            "opendir_tail|opendir.c",
            "getdelim|iogetdelim.c",
            "new_composite_name|setlocale.c",
            "setlocale|setlocale.c",
            "main|c.cpp",
        ]),
        "SSSSSSO"
    );
    // A file of that name can be anybody's.
    assert_eq!(letters(&["report|error.c", "main|main.c"]), "OO");
    assert_eq!(
        letters(&["compare|main.c", "qsort_r|msort.c", "sort|list.c"]),
        "OSO"
    );
    assert_eq!(letters(&["clone|tree.c", "main|main.c"]), "OO");
    assert_eq!(letters(&["clone|tree.rs^", "demo::main|main.rs"]), "OO");
    assert_eq!(letters(&["write@@GLIBC_2.2.5|write.c"]), "S");
}

#[test]
fn an_inlined_function_of_rust_is_no_function_of_c() {
    assert_eq!(
        letters(&["free|pool.rs^", "demo::Pool::drop|pool.rs"]),
        "OO"
    );
    assert_eq!(letters(&["free||/usr/bin/demo", "drop|pool.c"]), "aO");
}

#[test]
fn the_jdk_is_not_own() {
    assert_eq!(
        letters(&[
            "java.util.HashMap.put",
            "jdk.internal.misc.Unsafe.park",
            "shop.Cart.add",
            "javacc.Parser.run",
        ]),
        "RROO"
    );
    // Where a file or an object is known, it is no name of Java's recordings.
    assert_eq!(letters(&["java.run|java.c", "jdk.go||/usr/bin/demo"]), "OO");
}

#[test]
fn gos_runtime_is_not_own() {
    assert_eq!(
        letters(&[
            "runtime.mallocgc|malloc.go",
            "runtime.newobject|/usr/local/go/src/runtime/malloc.go",
            "runtime.memclrNoHeapPointers|memclr_amd64.s",
            "main.(*tree).grow|main.go",
            "main.main|main.go",
        ]),
        "RRROO"
    );
    assert_eq!(letters(&["runtime.start|runtime.c"]), "O");
}

#[test]
fn headers_of_cxx_are_the_runtimes_where_they_were_inlined() {
    assert_eq!(
        letters(&[
            "allocate|new_allocator.h^",
            "_M_allocate|stl_vector.h^",
            "push_back|stl_vector.h^",
            "getline|stdio.h^",
            "grow|tree.h^",
            "app::vec()|c.cpp",
        ]),
        "aRRSOO"
    );
    assert_eq!(
        letters(&[
            "operator()|/usr/include/c++/12/bits/std_function.h",
            "f|/usr/include/stdio.h"
        ]),
        "RS"
    );
}

#[test]
fn code_of_which_nothing_is_known_is_not_own() {
    assert_eq!(letters(&["???", "???||/home/dev/demo", "???||???"]), "SOS");
    // Callgrind names a function that has no symbol by its address.
    assert_eq!(
        letters(&["0x4838000", "0x0000000000018570||/home/dev/demo", "0xbeta"]),
        "SOO"
    );
    assert_eq!(
        letters(&["[unknown]", "[unknown]||/opt/demo", "[unknown]||[unknown]"]),
        "SOS"
    );
}

#[test]
fn the_kernel_is_the_system() {
    let read = named("my_read");
    let kernel = Frame {
        kernel: true,
        ..read.clone()
    };
    assert_eq!(whose(&[kernel, read]), [Whose::System, Whose::Own]);
    assert_eq!(letters(&["__vdso_gettimeofday||[vdso]"]), "S");
}

#[test]
fn without_addresses_names_tell_what_was_inlined_into_what() {
    let stack: Vec<Frame> = [
        ("{closure#0}", "main.rs"),
        ("demo::main", "main.rs"),
        ("{closure#0}", "rt.rs"),
        ("std::rt::lang_start_internal", "rt.rs"),
    ]
    .into_iter()
    .map(|(name, file)| Frame {
        name: Some(Name::from(name)),
        file: Some(Name::from(file)),
        ..Frame::default()
    })
    .collect();
    use Whose::{Own, Runtime};
    assert_eq!(whose(&stack), [Own, Own, Runtime, Runtime]);
}

#[test]
fn runs_of_library_frames_fold() {
    use Whose::{Allocator as A, Own as O, Runtime as R, System as S};
    let shown = |whose: &[Whose]| -> Vec<String> {
        folded(whose)
            .into_iter()
            .map(|piece| match piece {
                StackLine::Frame(position) => position.to_string(),
                StackLine::Libraries { frames, of } => format!("{frames:?} {of}"),
            })
            .collect()
    };
    assert_eq!(
        shown(&[A, R, R, O, O, R, O, S, S]),
        ["0..3 std", "3", "4", "5", "6", "7..9 the system"]
    );
    assert_eq!(shown(&[A, A, O]), ["0..2 the allocator", "2"]);
    assert_eq!(shown(&[R, S, O]), ["0..2 libraries", "2"]);
    assert_eq!(shown(&[A, R, R]), ["0", "1", "2"]);
    assert!(shown(&[]).is_empty());
}
