use cg_stream::record::{Frame, Name};

use super::*;

fn is_own(frame: &Frame) -> bool {
    classify_stack(std::slice::from_ref(frame)) == [CodeOrigin::Own]
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
fn bare_names_in_rust_sources_are_not_own() {
    let frame = Frame {
        file: Some(Name::from("/rustc/0123/library/std/src/thread/mod.rs")),
        ..named("call_once")
    };
    assert!(!is_own(&frame));
}

/// Returns one letter for the origin of each frame, innermost first. A frame is `function|file|object`. A frame that ends in
/// `^` has the same address as the next frame.
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
    classify_stack(&stack)
        .into_iter()
        .map(|origin| match origin {
            CodeOrigin::Allocator => 'a',
            CodeOrigin::Replacement => 'r',
            CodeOrigin::Runtime => 'R',
            CodeOrigin::System => 'S',
            CodeOrigin::Kernel => 'K',
            CodeOrigin::Dependency => 'D',
            CodeOrigin::Installed => 'I',
            CodeOrigin::Own => 'O',
        })
        .collect()
}

#[test]
fn inlined_functions_of_rusts_library_are_not_own_in_text() {
    // A log of Valgrind 3.19. The XML has the same frames.
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
    // Functions of the program that are inlined into the program and into the library.
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
fn hash_tables_that_the_library_calls_belong_to_the_library() {
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
    // A closure that the library's hash tables call belongs to the program.
    assert_eq!(
        letters(&[
            "new<u8>|library/alloc/src/boxed.rs^",
            "{closure#0}|main.rs^",
            "or_insert_with<u8, Box<u8>>|library/std/src/collections/hash/map.rs^",
            "demo::main|main.rs",
        ]),
        "RORO"
    );
    // A dependency may use the same crate.
    assert_eq!(
        letters(&[
            "<hashbrown::raw::RawTable<(i32, ())>>::reserve_rehash|src/raw/mod.rs",
            "indexmap::map::IndexMap<K,V,S>::insert|/home/dev/.cargo/registry/src/x/indexmap-2.0.0/src/map.rs",
            "demo::main|main.rs"
        ]),
        "DDO"
    );
    // A known directory decides.
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
        "DR"
    );
}

#[test]
fn an_impl_belongs_to_the_crate_of_its_type_or_of_its_trait() {
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
        ("<[m::Item]>::to_vec", "slice.rs", "R"),
        ("<*const m::Item>::add", "", "R"),
        (
            "<&[m::Item] as core::iter::IntoIterator>::into_iter",
            "",
            "R",
        ),
        ("<[u8] as m::Go>::go", "", "O"),
        (
            "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec::<alloc::alloc::Global>",
            "library/alloc/src/slice.rs",
            "R",
        ),
        ("<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec", "", "R"),
    ] {
        assert_eq!(letters(&[&format!("{name}|{file}")]), expected, "{name}");
    }
}

#[test]
fn functions_of_glibc_are_recognised_by_file_and_name() {
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
    // The stack of a thread, with an inlined function in a file of its own.
    assert_eq!(
        letters(&[
            "allocate_dtv|dl-tls.c",
            "_dl_allocate_tls|dl-tls.c",
            "allocate_stack|allocatestack.c^",
            "pthread_create@@GLIBC_2.34|pthread_create.c",
            "main|tls.c",
        ]),
        "SSSRO"
    );
    // A file of that name can belong to any project.
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
fn an_inlined_rust_function_is_not_mistaken_for_a_c_function() {
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
    // Recordings of Java contain neither files nor objects.
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
fn inlined_functions_of_cxx_headers_belong_to_the_runtime() {
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
fn code_without_name_file_and_object_is_not_own() {
    assert_eq!(letters(&["???", "???||/home/dev/demo", "???||???"]), "SOS");
    // Callgrind names a function that has no symbol by its address.
    assert_eq!(
        letters(&["0x4838000", "0x0000000000018570||/home/dev/demo", "0xbeta"]),
        "SOO"
    );
    assert_eq!(
        letters(&[
            "[unknown]",
            "[unknown]||/opt/demo",
            "[unknown]||[unknown]",
            "[pruned]"
        ]),
        "SOSS"
    );
}

#[test]
fn the_kernel_is_recognised_by_a_flag_and_by_its_objects() {
    let read = named("my_read");
    let kernel = Frame {
        kernel: true,
        ..read.clone()
    };
    assert_eq!(
        classify_stack(&[kernel, read]),
        [CodeOrigin::Kernel, CodeOrigin::Own]
    );
    assert_eq!(
        letters(&[
            "do_syscall_64||[kernel.kallsyms]",
            "ext4_write||[ext4]",
            "nf_hook||/lib/modules/6.1/kernel/net/nf.ko.xz",
            "__vdso_gettimeofday||[vdso]",
            "f||[heap]",
            "f||[unknown]"
        ]),
        "KKKSOO"
    );
}

#[test]
fn without_addresses_names_show_which_frames_are_inlined() {
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
    use CodeOrigin::{Own, Runtime};
    assert_eq!(classify_stack(&stack), [Own, Own, Runtime, Runtime]);
}

#[test]
fn runs_of_library_frames_fold() {
    use CodeOrigin::{Allocator as A, Own as O, Runtime as R, System as S};
    let shown = |origins: &[CodeOrigin]| -> Vec<String> {
        fold_libraries(origins)
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
    use CodeOrigin::{Dependency as D, Installed as I, Kernel as K};
    assert_eq!(shown(&[K, K, O]), ["0..2 the kernel", "2"]);
    assert_eq!(shown(&[K, S, O]), ["0..2 the system", "2"]);
    assert_eq!(shown(&[I, I, O]), ["0..2 dependencies", "2"]);
    assert_eq!(shown(&[I, R, O]), ["0..2 libraries", "2"]);
    // Frames that can be blamed are never folded.
    assert_eq!(shown(&[D, D, R, R]), ["0", "1", "2..4 std"]);
    assert_eq!(shown(&[A, A, O]), ["0..2 the allocator", "2"]);
    assert_eq!(shown(&[R, S, O]), ["0..2 libraries", "2"]);
    assert_eq!(shown(&[A, R, R]), ["0", "1", "2"]);
    assert!(shown(&[]).is_empty());
}

#[test]
fn files_in_folders_of_package_managers_are_dependencies() {
    for path in [
        "/home/dev/.cargo/registry/src/index.example.org-1949cf8c6b5b557f/serde-1.0.1/src/de.rs",
        "C:\\Users\\dev\\.cargo\\registry\\src\\index-1949cf8c6b5b557f\\serde-1.0.1\\src\\de.rs",
        "/usr/share/cargo/registry/memchr-2.5.0/src/lib.rs",
        "/home/dev/.cargo/git/checkouts/ring-0123456789abcdef/a1b2c3d/src/lib.rs",
        "/home/dev/app/vendor/serde/src/de.rs",
        "vendor/zlib/inflate.c",
        "/src/third_party/abseil/base.cc",
        "/home/dev/app/build/_deps/fmt-src/include/fmt/core.h",
        "/home/dev/app/node_modules/left-pad/index.js",
        "file:///home/dev/app/node_modules/left-pad/index.js",
        "/home/dev/venv/lib/python3.11/site-packages/numpy/core/numeric.py",
        "/usr/local/lib/python3.11/dist-packages/yaml/loader.py",
        "/home/dev/go/pkg/mod/example.org/text@v0.3.1/width/width.go",
        "example.org/text@v0.3.1/width/width.go",
        "/home/dev/.m2/repository/org/lib/1.0/Lib.java",
        "/var/lib/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb",
        "/usr/local/include/boost/any.hpp",
    ] {
        // A name with a path, a bare name, and an unknown name.
        for name in ["lib::parse", "parse", "???"] {
            assert_eq!(letters(&[&format!("{name}|{path}")]), "D", "{name} {path}");
        }
    }
    // Files that the system installed. A bare name and a name with a path differ.
    for path in [
        "/usr/include/eigen3/Eigen/src/Core/Matrix.h",
        "/usr/include/zlib.h",
        "/usr/lib/python3/dist-packages/yaml/loader.py",
    ] {
        assert_eq!(letters(&[&format!("parse|{path}")]), "I", "{path}");
        assert_eq!(letters(&[&format!("lib::parse|{path}")]), "D", "{path}");
    }
    for (frame, expected) in [
        ("f|/usr/include/x86_64-linux-gnu/bits/stdlib-bsearch.h", "S"),
        ("f|/usr/include/x86_64-linux-gnu/sys/stat.h", "S"),
        ("f|/usr/include/stdlib.h", "S"),
        ("f|/usr/include/c++/12/bits/stl_vector.h", "R"),
        ("f||/usr/lib/python3/dist-packages/yaml/_yaml.so", "I"),
        (
            "f||/home/dev/venv/lib/python3.11/site-packages/np/_np.so",
            "D",
        ),
        ("f||/home/dev/app/node_modules/a/build/a.node", "D"),
        ("f||/usr/lib/x86_64-linux-gnu/libz.so.1", "S"),
        // Only whole folder names count, not their beginnings and endings.
        ("f|/home/dev/vendors/src/main.rs", "O"),
        ("f|/home/dev/vendor.c", "O"),
        ("f|/home/dev/app/src/registry/src.rs", "O"),
        ("app::f|/home/dev/app/src/main.rs", "O"),
        // A function of the library in a file of a dependency belongs to the library, because code was inlined into it.
        (
            "core::fmt::write|/home/dev/.cargo/registry/src/x-1/a-1.0.0/src/lib.rs",
            "R",
        ),
    ] {
        assert_eq!(letters(&[frame]), expected, "{frame}");
    }
}

#[test]
fn code_has_one_of_five_owners() {
    let owner = |name: &'static str, file: &'static str, obj: &'static str| {
        let given = |text: &'static str| (!text.is_empty()).then(|| Name::from(text));
        let frame = Frame {
            name: given(name),
            file: given(file),
            obj: given(obj),
            ..Frame::default()
        };
        Facts::from_frame(&frame).owner_without_context().word()
    };
    assert_eq!(owner("app::f", "src/main.rs", ""), "own");
    assert_eq!(owner("f", "/home/dev/vendor/z/z.c", ""), "dependency");
    assert_eq!(owner("f", "/usr/include/eigen3/E.h", ""), "dependency");
    assert_eq!(owner("core::fmt::write", "", ""), "std");
    assert_eq!(
        owner("<alloc::raw_vec::RawVec<u8>>::grow_one", "", ""),
        "std"
    );
    assert_eq!(owner("operator new(unsigned long)", "", ""), "std");
    assert_eq!(owner("malloc", "", ""), "system");
    assert_eq!(owner("read", "", "/usr/lib/libc.so.6"), "system");
    assert_eq!(owner("do_read", "", "[kernel.kallsyms]"), "kernel");
    for owner in CodeOwner::ALL {
        assert_eq!(CodeOwner::from_word(owner.word()), Some(owner));
    }
}

#[test]
fn nameless_code_of_the_librarys_hash_tables_is_not_own() {
    // The innermost stack of a log of Valgrind 3.19 about a HashMap.
    let inlined = |caller: &str| {
        letters(&[
            "UnknownInlinedFun|src/raw/mod.rs^",
            "find<(u64, u64), alloc::alloc::Global>|src/raw/mod.rs^",
            "find<u64, alloc::alloc::Global>|src/map.rs^",
            caller,
            "demo::hold_map|demo.rs",
        ])
    };
    assert_eq!(
        inlined("insert<u64, u64>|library/std/src/collections/hash/map.rs^"),
        "RRRRO"
    );
    // Nameless code of hash tables that the program calls counts as the program's own.
    assert_eq!(inlined("put|demo.rs^"), "ORROO");
    // A hash function of the program that the library's tables call.
    assert_eq!(
        letters(&[
            "hash<u64>|src/key.rs^",
            "{closure#0}<u64>|src/map.rs^",
            "insert<u64, u64>|library/std/src/collections/hash/map.rs^",
            "demo::hold_map|demo.rs",
        ])
        .chars()
        .next(),
        Some('O')
    );
}

#[test]
fn paths_show_the_owner_of_a_function() {
    // The fields are the expected owner, the function, the file and the object.
    for line in include_str!("paths.txt").lines() {
        let mut fields = line.split('|');
        let mut field = || fields.next().filter(|text| !text.is_empty());
        let (expected, names) = (field(), [field(), field(), field()]);
        assert_eq!(
            Some(CodeOwner::from_names(names).word()),
            expected,
            "{line}"
        );
    }
}
