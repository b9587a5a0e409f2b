//! What is known by name: allocators, Valgrind's replacements, language runtimes, the system. A new allocator or runtime
//! is a line here.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Source files of the functions that Valgrind puts in place of a program's own (its `shared/`, `helgrind/`, `drd/`).
pub(super) const REPLACEMENT_FILES: [&str; 6] = [
    "vg_replace_malloc.c",
    "vg_replace_strmem.c",
    "hg_intercepts.c",
    "drd_pthread_intercepts.c",
    "drd_libstdcxx_intercepts.c",
    "drd_qtcore_intercepts.c",
];

/// Beginnings of names of what sanitizers put in place of a program's calls, and of their runtimes.
pub(super) const SANITIZER_PREFIXES: [&str; 15] = [
    "__interceptor_",
    "___interceptor_",
    "__asan_",
    "__asan::",
    "__hwasan_",
    "__hwasan::",
    "__lsan_",
    "__lsan::",
    "__msan_",
    "__msan::",
    "__tsan_",
    "__tsan::",
    "__ubsan_",
    "__ubsan::",
    "__sanitizer",
];

/// Folders that the sources of the sanitizers' runtimes are in: GCC's copy, and LLVM's own.
pub(super) const SANITIZER_FOLDERS: [&str; 2] = ["/libsanitizer/", "/compiler-rt/lib/"];

/// What a sanitizer's runtime is called where it is a library.
pub(super) const SANITIZER_LIBRARIES: [&str; 6] = [
    "libasan.so",
    "libhwasan.so",
    "liblsan.so",
    "libtsan.so",
    "libubsan.so",
    "libclang_rt.",
];

/// Functions of C's library that sanitizers put their own in place of, as they print them: in the program's object, and
/// without a file. (`sanitizer_common_interceptors.inc`, `tsan_interceptors_posix.cpp`; Clang links them in.)
pub(super) const INTERCEPTED: [&str; 44] = [
    "accept",
    "aligned_alloc",
    "close",
    "connect",
    "dup",
    "dup2",
    "epoll_ctl",
    "epoll_wait",
    "fclose",
    "fopen",
    "fread",
    "fwrite",
    "getaddrinfo",
    "malloc_usable_size",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "memset",
    "nanosleep",
    "open",
    "pipe",
    "pipe2",
    "pread",
    "printf",
    "pwrite",
    "qsort",
    "read",
    "recv",
    "send",
    "sleep",
    "snprintf",
    "socket",
    "strcasecmp",
    "strcat",
    "strchr",
    "strcmp",
    "strcpy",
    "strlen",
    "strncmp",
    "strncpy",
    "usleep",
    "vsnprintf",
    "write",
];
pub(super) const INTERCEPTED_PREFIXES: [&str; 2] = ["pthread_", "sem_"];

/// Allocation functions of C, C++ and Rust by their whole name. Massif's and DHAT's `--alloc-fns` defaults are among
/// them (`massif/ms_main.c:init_alloc_fns`); jemalloc, mimalloc and TCMalloc go by names of their own.
pub(super) const ALLOCATORS: [&str; 56] = [
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
    "je_malloc",
    "je_calloc",
    "je_realloc",
    "je_mallocx",
    "je_rallocx",
    "_rjem_malloc",
    "_rjem_calloc",
    "_rjem_realloc",
    "_rjem_mallocx",
    "_rjem_rallocx",
    "mi_malloc",
    "mi_calloc",
    "mi_realloc",
    "mi_zalloc",
    "mi_malloc_aligned",
    "mi_zalloc_aligned",
    "mi_realloc_aligned",
    "mi_heap_malloc",
    "tc_malloc",
    "tc_calloc",
    "tc_realloc",
    "tc_new",
];

/// Libraries that are nothing but an allocator, whatever their functions are called.
pub(super) const ALLOCATOR_LIBRARIES: [&str; 8] = [
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
    "libhoard",
    "libsnmalloc",
    "librpmalloc",
    "libscalloc",
    "libtbbmalloc",
];

/// Beginnings of names: every form of C++'s operators, Rust's allocator shims and the functions that only pass an
/// allocation on.
pub(super) const ALLOCATOR_PREFIXES: [&str; 16] = [
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
pub(super) const CXX_ALLOCATORS: [&str; 4] = [
    "std::__new_allocator<",
    "__gnu_cxx::new_allocator<",
    "std::allocator<",
    "std::allocator_traits<",
];

/// Headers of libstdc++ with nothing but allocators in them. Where these were inlined, Valgrind gives the bare name of a
/// function, such as `allocate`.
pub(super) const CXX_ALLOCATOR_FILES: [&str; 2] = ["new_allocator.h", "alloc_traits.h"];

/// Source files of Rust's allocator, whatever folder the standard library was built in.
pub(super) const RUST_ALLOCATOR_FILES: [&str; 4] = [
    "library/alloc/src/alloc.rs",
    "library/alloc/src/raw_vec.rs",
    "library/alloc/src/raw_vec/mod.rs",
    "library/std/src/alloc.rs",
];

/// Functions of `library/alloc/src/alloc.rs`, which debug information names without their path.
pub(super) const INLINED_ALLOCATORS: [&str; 16] = [
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

/// What starts programs and threads, and the loader.
pub(super) const START: [&str; 14] = [
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

/// Source files of that start code.
pub(super) const START_FILES: [&str; 4] = [
    "libc-start.c",
    "libc_start_call_main.h",
    "pthread_create.c",
    "clone.S",
];

/// Crates and namespaces of the runtimes of Rust and C++.
pub(super) const RUNTIME_CRATES: [&str; 9] = [
    "std",
    "core",
    "alloc",
    "proc_macro",
    "panic_unwind",
    "panic_abort",
    "__rustc",
    "__gnu_cxx",
    "__cxxabiv1",
];

/// Crates that Rust's standard library is built of and that programs use by themselves too: where their sources lie, or
/// who calls them, tells which it is.
pub(super) const DEPENDENCIES_OF_STD: [&str; 10] = [
    "hashbrown",
    "compiler_builtins",
    "addr2line",
    "gimli",
    "object",
    "miniz_oxide",
    "adler2",
    "rustc_demangle",
    "unwind",
    "memchr",
];

/// Folders that hold other projects' sources, by the tool or the custom that puts them there.
pub(super) const DEPENDENCY_FOLDERS: [&str; 30] = [
    // Copied into a project.
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    // Bazel and Android, Meson.
    "external",
    "subprojects",
    // npm, Yarn, Bower.
    "node_modules",
    ".yarn",
    "bower_components",
    // Python, Debian's Python, R.
    "site-packages",
    "dist-packages",
    "site-library",
    // Ruby, Maven, Gradle, NuGet, Dart, Elixir, OCaml, Haskell, Julia.
    "gems",
    ".m2",
    ".gradle",
    ".nuget",
    ".pub-cache",
    ".hex",
    ".opam",
    ".cabal",
    ".stack",
    ".julia",
    // CMake, Conan, vcpkg, CocoaPods, Carthage.
    "_deps",
    ".conan",
    ".conan2",
    "vcpkg_installed",
    "Pods",
    "Carthage",
];

/// Parts of paths to other projects' sources: cargo's registry (on Windows too, and as Debian packages crates) and its
/// checkouts, Go's modules and Debian's packages of them, Swift's checkouts, and what is installed outside of `/usr`.
pub(super) const DEPENDENCY_PLACES: [&str; 11] = [
    "/registry/src/",
    "\\registry\\src\\",
    "/cargo/registry/",
    "/git/checkouts/",
    "\\git\\checkouts\\",
    "/pkg/mod/",
    "/share/gocode/src/",
    "/.build/checkouts/",
    "/SourcePackages/checkouts/",
    "/usr/local/include/",
    "/opt/homebrew/",
];

/// Beginnings of what runtimes call the sources that they have built in.
pub(super) const LANGUAGE_STARTS: [&str; 2] = ["node:", "<frozen "];

/// Parts of paths to the libraries of Python, Ruby and Go.
pub(super) const LANGUAGE_PLACES: [&str; 11] = [
    "/lib/python2.",
    "/lib/python3.",
    "/lib64/python2.",
    "/lib64/python3.",
    "/lib/ruby/",
    "/usr/local/go/src/",
    "/usr/lib/go",
    "/usr/share/go-",
    "/hostedtoolcache/go/",
    "/sdk/go1.",
    "/golang.org/toolchain@",
];

/// Where distributions build packages, or put their sources for debuggers: Fedora, openSUSE, ALT.
pub(super) const DISTRIBUTION_BUILDS: [&str; 5] = [
    "/usr/src/debug/",
    "/usr/src/packages/BUILD/",
    "/usr/src/RPM/BUILD/",
    "/builddir/build/BUILD/",
    "/home/abuild/rpmbuild/BUILD/",
];

/// Beginnings of paths to libraries of macOS.
pub(super) const SYSTEM_STARTS: [&str; 2] = ["/System/", "/Library/Apple/"];

/// Parts of paths to libraries of Windows, and of the bases of Snap and Flatpak.
pub(super) const SYSTEM_PLACES: [&str; 6] = [
    "\\Windows\\System32\\",
    "\\WINDOWS\\System32\\",
    "\\Windows\\SysWOW64\\",
    "\\Windows\\SYSTEM32\\",
    "/snap/core",
    "/flatpak/runtime/",
];

/// Packages of Go's runtime, as they begin the names of its functions.
pub(super) const GO_RUNTIME: [&str; 7] = [
    "runtime.",
    "runtime/",
    "internal/",
    "reflect.",
    "sync.",
    "sync/",
    "syscall.",
];

/// Packages of the JDK, as they begin the names of its classes.
pub(super) const JAVA_RUNTIME: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

/// Modules of libtest; `test` alone is anybody's crate.
pub(super) const TEST_HARNESS: [&str; 14] = [
    "test::__rust_begin_short_backtrace",
    "test::run_test",
    "test::run_tests",
    "test::spawn_test",
    "test::filter_tests",
    "test::assert_test_result",
    "test::test_main",
    "test::types::",
    "test::console::",
    "test::event::",
    "test::formatters::",
    "test::cli::",
    "test::term::",
    "test::bench::",
];

/// Libraries below `library/` of Rust's own sources.
pub(super) const RUST_LIBRARIES: [&str; 14] = [
    "alloc",
    "backtrace",
    "compiler-builtins",
    "core",
    "panic_abort",
    "panic_unwind",
    "portable-simd",
    "proc_macro",
    "std",
    "std_detect",
    "stdarch",
    "test",
    "unwind",
    "coretests",
];

/// Beginnings of names that C's implementation keeps for itself and that are met without object and file.
pub(super) const SYSTEM_PREFIXES: [&str; 5] =
    ["_dl_", "_IO_", "__GI_", "__libc_", "dl_open_worker"];

/// Headers of C's library with functions in them, and of GCC's: where these were inlined, a text log gives the bare name.
pub(super) const SYSTEM_HEADERS: [&str; 19] = [
    "byteswap.h",
    "ctype.h",
    "fcntl2.h",
    "mqueue2.h",
    "poll2.h",
    "socket2.h",
    "stdio-ldbl.h",
    "stdio.h",
    "stdio2.h",
    "stdlib-bsearch.h",
    "stdlib-float.h",
    "stdlib.h",
    "string_fortified.h",
    "strings_fortified.h",
    "sysmacros.h",
    "uintn-identity.h",
    "unistd.h",
    "wchar-ldbl.h",
    "wchar2.h",
];

/// Base names of the system's libraries, wherever they lie: a store of packages, a container's folder.
pub(super) const SYSTEM_LIBRARIES: [&str; 10] = [
    "libc.so",
    "libc-2",
    "libm.so",
    "libpthread",
    "ld-linux",
    "ld-musl",
    "ld-2",
    "libstdc++.so",
    "libgcc_s.so",
    "libdl",
];

/// Base names of glibc's C sources: the units that `readelf --debug-dump=info --dwarf-depth=1` lists of the debug
/// information of glibc 2.36's libc.so and ld.so.
pub(super) static GLIBC_FILES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("glibc-files.txt").lines().collect());

/// The functions that glibc 2.36 exports, but for those whose names are kept for C's implementation anyhow.
pub(super) static GLIBC_FUNCTIONS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("glibc-functions.txt").lines().collect());

/// Base names of libstdc++'s headers: those of GCC 12's `include/c++`, without extensions and their `bits`.
pub(super) static LIBSTDCXX_FILES: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("libstdcxx-files.txt").lines().collect());
