//! Names of allocators, Valgrind's replacement functions, language runtimes and the system. A new allocator or runtime is a
//! line of `names.txt`, which explains each list.

use crate::lists::NameSet;

crate::lists::lists! { "names.txt":
    REPLACEMENT_FILES SANITIZER_PREFIXES SANITIZER_FOLDERS SANITIZER_LIBRARIES INTERCEPTED INTERCEPTED_PREFIXES
    ALLOCATORS ALLOCATOR_LIBRARIES ALLOCATOR_PREFIXES CXX_ALLOCATORS CXX_ALLOCATOR_FILES RUST_ALLOCATOR_FILES
    INLINED_ALLOCATORS START START_FILES RUNTIME_CRATES DEPENDENCIES_OF_STD DEPENDENCY_FOLDERS DEPENDENCY_PLACES
    LANGUAGE_PLACES DISTRIBUTION_BUILDS SYSTEM_STARTS SYSTEM_PLACES GO_RUNTIME JAVA_RUNTIME TEST_HARNESS RUST_LIBRARIES
    SYSTEM_PREFIXES SYSTEM_HEADERS SYSTEM_LIBRARIES
}

/// Beginnings of the names of sources that are built into a language runtime.
pub(super) const LANGUAGE_STARTS: [&str; 2] = ["node:", "<frozen "];

/// Base names of glibc's C sources: the units that `readelf --debug-dump=info --dwarf-depth=1` lists for libc.so and ld.so
/// of glibc 2.36.
pub(super) static GLIBC_FILES: NameSet<4096> = NameSet::new(include_str!("glibc-files.txt"));

/// The functions that glibc 2.36 exports, except those whose names are reserved for C's implementation.
pub(super) static GLIBC_FUNCTIONS: NameSet<4096> =
    NameSet::new(include_str!("glibc-functions.txt"));

/// Base names of libstdc++'s headers: the files in `include/c++` of GCC 12, without extensions and their `bits`.
pub(super) static LIBSTDCXX_FILES: NameSet<512> = NameSet::new(include_str!("libstdcxx-files.txt"));
