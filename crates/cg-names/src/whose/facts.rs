//! What one frame tells by itself.

use bstr::{BStr, ByteSlice};
use cg_stream::record::Frame;

use super::dependencies::is_dependency;
use super::places::{is_of_distribution, is_of_language, is_system_library};
use super::tables::*;
use super::{CodeOwner, Whose, owners_by};
use crate::paths::base_name;
use crate::structure::{PRIMITIVES, ParsedName};

/// What a frame tells of whose it is, and what its neighbours want to know of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub(super) alone: Alone,
    /// 0 where there is none. Frames of one address are one function and what was inlined into it.
    pub(super) address: u64,
    /// The name has no path, as those of inlined functions have none.
    pub(super) is_bare: bool,
    /// Valgrind could not name what was inlined.
    pub(super) is_nameless: bool,
    /// The file has no directory that says anything: none at all, or `src/`, which is how what Rust's library is built of
    /// appears in text.
    pub(super) is_file_bare: bool,
    /// The functions of `std` that hand on to its hash tables.
    pub(super) is_hash_collection: bool,
    /// Rust's start code, which calls the program's `main`.
    pub(super) is_lang_start: bool,
    /// Of an allocator's function: whether it is one of the language and not of C's library.
    is_of_language: bool,
}

/// What Valgrind calls an inlined function whose name it did not find (`m_debuginfo/readdwarf3.c:get_inlFnName`).
pub const UNKNOWN_INLINED: &str = "UnknownInlinedFun";

/// The classification of a frame before its neighbours are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alone {
    Certain(Whose),
    /// A Rust function by the bare name that debug information has, in a file without a directory.
    BareRust {
        is_closure: bool,
    },
    /// A function of a crate that Rust's library is built of, in a file without a directory.
    DependencyOfStd,
    /// A function in a file that is named like one of glibc's.
    PerhapsGlibc {
        file: u64,
    },
    /// A `main` that is known by its name alone.
    Main,
}

impl Facts {
    /// What this frame tells.
    pub fn of(frame: &Frame) -> Facts {
        let name = frame.name.as_deref().unwrap_or_default();
        let file = frame.file.as_deref().unwrap_or_default();
        let object = frame.obj.as_deref().unwrap_or_default();
        let place = Directory::of(file);
        Facts {
            alone: match frame.kernel {
                true => Alone::Certain(Whose::Kernel),
                false => alone(name, file, object, place),
            },
            address: frame.addr.as_deref().map_or(0, address),
            // Only what was inlined in Rust asks for it.
            is_bare: !name.contains("::")
                || (file.ends_with(".rs") && ParsedName::new(name.as_bytes()).is_bare()),
            is_nameless: name == UNKNOWN_INLINED,
            is_file_bare: matches!(place, Directory::Bare | Directory::BelowSrc),
            is_hash_collection: file.contains("library/std/src/collections/hash/"),
            is_lang_start: name.starts_with("std::rt::lang_start"),
            is_of_language: place == Directory::Runtime
                || name.contains("::")
                || name.starts_with("operator ")
                || name.starts_with("__r")
                || file.ends_with(".rs"),
        }
    }

    /// Whose code this frame is, in the words that people are shown, where it is known of which kind it is.
    pub fn owner(self, whose: Whose) -> CodeOwner {
        match whose {
            Whose::Own => CodeOwner::Own,
            Whose::Dependency | Whose::Installed => CodeOwner::Dependency,
            Whose::Runtime => CodeOwner::Std,
            Whose::Allocator if self.is_of_language => CodeOwner::Std,
            Whose::Allocator | Whose::Replacement | Whose::System => CodeOwner::System,
            Whose::Kernel => CodeOwner::Kernel,
        }
    }

    /// Whose code it is as far as this frame tells by itself.
    pub fn owner_alone(self) -> CodeOwner {
        owners_by(&[self])[0]
    }

    /// True for a function that was inlined into the next one outwards, `outer`, and of which Valgrind knows no name.
    pub fn is_nameless_part_of(self, outer: Facts) -> bool {
        self.is_nameless && self.address != 0 && self.address == outer.address
    }

    /// True for frames inside an allocator or inside one of Valgrind's replacement functions.
    pub fn is_allocator_or_replacement(self) -> bool {
        matches!(self.alone, Alone::Certain(whose) if whose.is_allocator_or_replacement())
    }
}

/// What a file's directory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Directory {
    /// There is no file.
    None,
    /// Its base name alone.
    Bare,
    /// `src/…`, relative.
    BelowSrc,
    Runtime,
    System,
    /// Another project's.
    Dependency,
    /// Another project's, where the system installs such.
    Installed,
    /// Any other directory.
    Elsewhere,
}

impl Directory {
    fn of(path: &str) -> Directory {
        if path.is_empty() || path == "???" {
            Directory::None
        } else if is_runtime_source(path) {
            Directory::Runtime
        } else if is_dependency(path) {
            match is_system_source(path) {
                true => Directory::Installed,
                false => Directory::Dependency,
            }
        } else if is_of_language(path) {
            Directory::Runtime
        } else if is_system_source(path) {
            Directory::System
        } else if !path.contains('/') {
            Directory::Bare
        } else if path.starts_with("src/") {
            Directory::BelowSrc
        } else {
            Directory::Elsewhere
        }
    }
}

/// Valgrind writes `???` for what it does not know or, as callgrind does for functions, the address; perf `[unknown]`. In
/// estimated stacks `[pruned]` stands for calls that are not followed.
fn is_unknown(name: &str) -> bool {
    let is_address = |name: &str| {
        name.strip_prefix("0x")
            .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
    };
    matches!(name, "" | "???" | "[unknown]" | "[pruned]") || is_address(name)
}

fn is_of_go_runtime(name: &str, base: &str) -> bool {
    let is_go = base.ends_with(".go") || base.ends_with(".s");
    is_go && GO_RUNTIME.begins(name)
}

/// Recordings of Java say neither file nor object.
fn is_of_java_runtime(name: &str, file: &str, object: &str) -> bool {
    let is_nowhere = file.is_empty() && object.is_empty();
    is_nowhere && JAVA_RUNTIME.begins(name)
}

/// Whether a name has the version of a symbol of the system's libraries.
fn is_versioned(name: &str) -> bool {
    ["@GLIBC", "@CXXABI", "@GCC"]
        .iter()
        .any(|version| name.contains(version))
}

fn alone(name: &str, file: &str, object: &str, place: Directory) -> Alone {
    use Whose::{Dependency, Installed, Own, Runtime, System};
    let certain = Alone::Certain;
    let base = base_name(file);
    if let Some(known) = well_known(name, file, object, place) {
        return certain(known);
    }
    if is_unknown(name) {
        return certain(match place {
            Directory::Runtime => Runtime,
            Directory::System => System,
            Directory::Dependency => Dependency,
            Directory::Installed => Installed,
            // Code that nothing is known of: neither a file nor an object.
            Directory::None if is_unknown(object) => System,
            _ => Own,
        });
    }
    if is_of_go_runtime(name, base) || is_of_java_runtime(name, file, object) {
        return certain(Runtime);
    }
    // Names without a path, as C's are, need not be taken apart.
    if name.contains("::")
        && let Some(by_path) = by_path(name, &ParsedName::new(name.as_bytes()), place)
    {
        return match by_path {
            // The name says that it is nobody else's; where its file lies, whose project it is of.
            Alone::Certain(Own) if is_of_dependency(place, object) => certain(Dependency),
            by_path => by_path,
        };
    }
    match place {
        Directory::Runtime => return certain(Runtime),
        Directory::System => return certain(System),
        Directory::Dependency => return certain(Dependency),
        Directory::Installed => return certain(Installed),
        _ if is_of_dependency(place, object) => return certain(Dependency),
        Directory::Elsewhere => return certain(Own),
        Directory::None | Directory::Bare | Directory::BelowSrc => {}
    }
    // Of libraries without debug information this is all that is known; in a file of somebody else's it says nothing.
    if is_versioned(name) && (place == Directory::None || GLIBC_FILES.contains(base)) {
        return certain(System);
    }
    let is_rust = base.ends_with(".rs");
    if is_rust {
        let function = ParsedName::new(name.as_bytes());
        if function.has_generic_argument("alloc::alloc::Global") {
            // An allocator as an argument: only what the library itself is built of has one.
            return certain(Runtime);
        }
        let is_closure = function.is_bare_closure();
        return Alone::BareRust { is_closure };
    }
    if LIBSTDCXX_FILES.contains(base) {
        return certain(Runtime);
    }
    if SYSTEM_HEADERS.contains(base) || base.ends_with("intrin.h") {
        return certain(System);
    }
    if place == Directory::None {
        return match name {
            _ if SYSTEM_PREFIXES.begins(name) => certain(System),
            "main" => Alone::Main,
            _ => certain(Own),
        };
    }
    if GLIBC_FILES.contains(base) {
        return match is_named_as_in_glibc(name, base) {
            true => certain(System),
            false => Alone::PerhapsGlibc { file: hash(base) },
        };
    }
    certain(Own)
}

/// What replaces, allocates, starts, and what comes from an object of the kernel's or the system's.
fn well_known(name: &str, file: &str, object: &str, place: Directory) -> Option<Whose> {
    use Whose::{Allocator, Installed, Kernel, Replacement, Runtime, System};
    let base = base_name(file);
    if base_name(object).starts_with("vgpreload_")
        || REPLACEMENT_FILES.contains(base)
        || is_of_sanitizer(name, file, object)
    {
        return Some(Replacement);
    }
    if is_allocator(name, file, base) || is_allocator_library(object) {
        return Some(Allocator);
    }
    if is_start(name, base, place) {
        return Some(Runtime);
    }
    if is_kernel_object(object) {
        return Some(Kernel);
    }
    if is_system_object(object) {
        return Some(match is_dependency(object) {
            true => Installed,
            false => System,
        });
    }
    if is_intercepted(name, file, object) {
        return Some(Replacement);
    }
    None
}

/// Whether the file, or the object where the file does not tell, is another project's.
fn is_of_dependency(place: Directory, object: &str) -> bool {
    match place {
        Directory::Dependency | Directory::Installed => true,
        Directory::None | Directory::Bare | Directory::BelowSrc => is_dependency(object),
        Directory::Runtime | Directory::System | Directory::Elsewhere => false,
    }
}

/// What a name with a path says; `None` for a bare one.
fn by_path(name: &str, function: &ParsedName, place: Directory) -> Option<Alone> {
    let whose = |is_runtime| {
        let whose = if is_runtime {
            Whose::Runtime
        } else {
            Whose::Own
        };
        Some(Alone::Certain(whose))
    };
    let is = |known: &[&str], crate_name: &BStr| known.iter().any(|known| crate_name == known);
    if TEST_HARNESS.begins(name) {
        return whose(true);
    }
    if let Some(implementor) = function.implementor() {
        let of_type = implementor.of_type.as_ref().map(|name| name.as_bstr());
        let of_trait = implementor.of_trait.as_ref().map(|name| name.as_bstr());
        let crates = || [of_type, of_trait].into_iter().flatten();
        // An impl lies in the crate of its type or of its trait. Where one is the library's and the other is not, it is
        // the other's; the methods that a trait of the library has by itself are the library's, as their file says.
        let is_runtime = crates().all(|name| is(&RUNTIME_CRATES, name) || is_primitive(name));
        if is_runtime {
            return whose(true);
        }
        let is_library_trait = of_trait.is_some_and(|name| is(&RUNTIME_CRATES, name));
        if is_library_trait && (place == Directory::Runtime || name.contains("::{shim:")) {
            return whose(true);
        }
        let is_dependency = |name: &BStr| is(&DEPENDENCIES_OF_STD, name);
        let is_of_std = crates()
            .all(|name| is_dependency(name) || is(&RUNTIME_CRATES, name) || is_primitive(name));
        return if is_of_std {
            of_dependency(place)
        } else {
            whose(false)
        };
    }
    let first = function.crate_name()?;
    if is(&RUNTIME_CRATES, first.as_bstr()) {
        return whose(true);
    }
    if is(&DEPENDENCIES_OF_STD, first.as_bstr()) {
        return of_dependency(place);
    }
    whose(false)
}

/// A function of a crate that Rust's library uses too: the directory tells whether it is the library's copy.
fn of_dependency(place: Directory) -> Option<Alone> {
    Some(match place {
        Directory::Runtime | Directory::System => Alone::Certain(Whose::Runtime),
        Directory::Elsewhere => Alone::Certain(Whose::Own),
        Directory::Dependency | Directory::Installed => Alone::Certain(Whose::Dependency),
        Directory::None | Directory::Bare | Directory::BelowSrc => Alone::DependencyOfStd,
    })
}

/// True for a type without a crate, and for a parameter: `u8`, `str`, `T`.
fn is_primitive(name: &BStr) -> bool {
    PRIMITIVES.iter().any(|known| name == known)
        || name == "fn"
        || name.first().is_some_and(u8::is_ascii_uppercase)
}

fn is_allocator(name: &str, file: &str, base: &str) -> bool {
    // `--sym-offsets=yes` writes `malloc+116`, debug information `alloc<T>`.
    let symbol = match name.rsplit_once('+') {
        Some((symbol, offset))
            if !symbol.is_empty() && offset.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            symbol
        }
        _ => name,
    };
    // Of a Rust function that was inlined this is the bare name, and anybody's `free`.
    let is_whole = !base.ends_with(".rs") && ALLOCATORS.contains(symbol);
    is_whole
        || ALLOCATOR_PREFIXES.begins(symbol)
        || (CXX_ALLOCATORS.begins(symbol) && symbol.contains(">::allocate("))
        || CXX_ALLOCATOR_FILES.contains(base)
        || RUST_ALLOCATOR_FILES
            .iter()
            .any(|known| file.ends_with(known))
        || (file == "alloc.rs"
            && INLINED_ALLOCATORS.contains(symbol.split('<').next().unwrap_or_default()))
}

fn is_allocator_library(object: &str) -> bool {
    let library = base_name(object);
    library.contains(".so") && ALLOCATOR_LIBRARIES.begins(library)
}

/// The runtime of a sanitizer.
fn is_of_sanitizer(name: &str, file: &str, object: &str) -> bool {
    SANITIZER_PREFIXES.begins(name)
        || SANITIZER_FOLDERS.is_in(file)
        || SANITIZER_LIBRARIES.begins(base_name(object))
}

/// What a sanitizer puts in place of C's library, linked into the program and printed by the name of what it replaces.
fn is_intercepted(name: &str, file: &str, object: &str) -> bool {
    file.is_empty()
        && !object.is_empty()
        && (INTERCEPTED.contains(name) || INTERCEPTED_PREFIXES.begins(name))
}

/// What starts programs and threads, unless a file of somebody else's has a function of that name.
fn is_start(name: &str, base: &str, place: Directory) -> bool {
    let symbol = name.split(['@', '.']).next().unwrap_or_default();
    START_FILES.contains(base)
        || (START.contains(symbol)
            && (place == Directory::None
                || place == Directory::Runtime
                || GLIBC_FILES.contains(base)
                || symbol.starts_with("__rust")))
}

/// The kernel and its modules as perf and others name them: `[kernel.kallsyms]`, `[ext4]`, `/lib/modules/…/ext4.ko.xz`.
fn is_kernel_object(path: &str) -> bool {
    // What Linux maps into every process, memory that is no file, and what perf does not know.
    const OF_PROCESS: [&str; 7] = [
        "[v", "[heap", "[stack", "[anon", "[uprobes", "[JIT", "[unknown",
    ];
    if path.starts_with('[') {
        return path.ends_with(']') && !OF_PROCESS.iter().any(|start| path.starts_with(start));
    }
    let base = base_name(path);
    let is_module = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"]
        .iter()
        .any(|end| base.ends_with(end));
    is_module || base.starts_with("vmlinux") || path.starts_with("/System/Library/Kernels/")
}

/// `/lib/…`, `/usr/lib64/…`, `/usr/libexec/…`: what the system installs, not what a project builds; and its own
/// libraries wherever they lie.
fn is_system_object(path: &str) -> bool {
    // What Linux maps into every process: the kernel's own code for calls into it.
    if path.starts_with("[v") {
        return true;
    }
    let below = path.strip_prefix("/usr").unwrap_or(path);
    let directory = below
        .strip_prefix('/')
        .and_then(|path| path.split_once('/'))
        .map_or("", |(directory, _)| directory);
    let base = base_name(path);
    matches!(directory, "lib" | "lib32" | "lib64" | "libx32" | "libexec")
        || is_system_library(path)
        || (base.contains(".so") && SYSTEM_LIBRARIES.begins(base))
}

/// Sources of Rust's library and of what it is built of, as its debug information calls them on every machine
/// (`/rustc/HASH/library/…`, in text `library/…`; `/rust/deps/…`), as a toolchain's rust-src and distributions have them,
/// and headers of C++'s library.
fn is_runtime_source(path: &str) -> bool {
    if path.starts_with("/rustc/")
        || path.starts_with("/rust/deps/")
        || path.contains("/lib/rustlib/src/rust/")
    {
        return true;
    }
    if path.contains("/include/c++/") {
        return true;
    }
    let is_library = |rest: &str| {
        rest.split_once('/').is_some_and(|(library, rest)| {
            RUST_LIBRARIES.contains(library) && rest.contains("src/")
        })
    };
    if let Some(rest) = path.strip_prefix("library/") {
        return is_library(rest);
    }
    // `/usr/src/rustc-1.63.0/library/std/src/rt.rs`
    path.match_indices("/library/").any(|(position, slash)| {
        let parent = base_name(&path[..position]);
        parent.starts_with("rust") && is_library(&path[position + slash.len()..])
    })
}

fn is_system_source(path: &str) -> bool {
    path.starts_with("/usr/include/")
        || path.starts_with("/usr/lib/")
        || path.starts_with("/usr/lib64/")
        || is_of_distribution(path)
        || is_glibc_source(path)
}

/// Sources of glibc by the relative paths that it is built with: `../sysdeps/nptl/libc_start_call_main.h`, and in Debian's
/// debug information `nptl/./nptl/pthread_kill.c`, of which GCC's sanitizers print `nptl/pthread_kill.c`.
fn is_glibc_source(path: &str) -> bool {
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.starts_with('/') || !GLIBC_FILES.contains(base_name(path)) {
        return false;
    }
    let folder = path.split('/').next().unwrap_or_default();
    path.starts_with("../sysdeps/")
        || path.contains("/../sysdeps/")
        || path.contains(&format!("{folder}/./{folder}/"))
        || matches!(folder, "nptl" | "csu")
}

/// True where a function of a file with this name can be glibc's: one that it exports, one called as its file,
/// `opendir_tail` in `opendir.c`, or `__fopen_internal`: such names are kept for C's implementation.
fn is_named_as_in_glibc(name: &str, file: &str) -> bool {
    let stem = file.split('.').next().unwrap_or_default();
    let word = name.split('.').next().unwrap_or_default();
    let is_reserved = name.starts_with('_')
        && name[1..].starts_with(|c: char| c == '_' || c.is_ascii_uppercase())
        && !name.starts_with("_GLOBAL__");
    is_reserved
        || GLIBC_FUNCTIONS.contains(word)
        || (word.len() > 2 && stem.contains(word))
        || (stem.len() > 2 && word.contains(stem))
}

fn address(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).unwrap_or(0)
}

/// FNV-1a, to tell files of neighbours apart without keeping their names.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
