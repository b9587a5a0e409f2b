//! Facts about a single frame, without the frames around it.

use std::cell::OnceCell;

use bstr::{BStr, ByteSlice};
use cg_stream::record::Frame;

use super::crate_files::is_file_of_its_crate;
use super::places_of_code::{Directory, FileFacts, ObjectFacts};
use super::tables::*;
use super::{CodeOrigin, CodeOwner, classify_frame};
use crate::paths::base_name;
use crate::structure::{PRIMITIVES, ParsedName};

/// Facts about the origin of a frame, for itself and for its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub(super) evidence: OriginEvidence,
    /// 0 if unknown. Frames with the same address are a function and the functions that were inlined into it.
    pub(super) address: u64,
    /// True if the name has no path. Inlined functions have such names.
    pub(super) is_bare: bool,
    /// True if Valgrind did not find the name of the inlined function.
    pub(super) is_nameless: bool,
    /// True if the file has no directory, or only `src/`. In text, files of the crates in Rust's library have `src/`.
    pub(super) is_file_bare: bool,
    /// True for the functions of `std` that call its hash tables.
    pub(super) is_hash_collection: bool,
    /// True for Rust's start code, which calls the program's `main`.
    pub(super) is_lang_start: bool,
    /// True for an address that belongs to no object, in a profile that records objects.
    is_unplaced: bool,
    /// True if the frame belongs to the language's library. Used to distinguish its allocators from C's.
    is_language_library: bool,
}

/// Valgrind's name for an inlined function whose name it did not find (`m_debuginfo/readdwarf3.c:get_inlFnName`).
pub const UNKNOWN_INLINED: &str = "UnknownInlinedFun";

/// The classification of a frame without its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OriginEvidence {
    Certain(CodeOrigin),
    /// A Rust function with a bare name, as in debug information, in a file without a directory.
    BareRust {
        is_closure: bool,
    },
    /// A function of a crate that is part of Rust's library, in a file without a directory.
    DependencyOfStd,
    /// A function in a file with the same name as a file of glibc.
    PerhapsGlibc {
        file: u64,
    },
    /// A `main` without file and object.
    Main,
}

impl Facts {
    /// Returns the facts about a frame. [`FactsFinder`](super::FactsFinder) is faster for many frames.
    pub fn from_frame(frame: &Frame) -> Facts {
        let file = FileFacts::from_path(frame.file.as_deref().unwrap_or_default());
        let object = ObjectFacts::from_path(frame.obj.as_deref().unwrap_or_default());
        Facts::from_parts(frame, &file, &object)
    }

    /// Returns the facts about a frame, given those about its file and its object.
    pub(super) fn from_parts(frame: &Frame, in_file: &FileFacts, in_object: &ObjectFacts) -> Facts {
        let name = frame.name.as_deref().unwrap_or_default();
        let file = frame.file.as_deref().unwrap_or_default();
        let object = frame.obj.as_deref().unwrap_or_default();
        let place = in_file.place;
        let function = FrameName::new(name);
        Facts {
            evidence: match frame.kernel {
                true => OriginEvidence::Certain(CodeOrigin::Kernel),
                false => {
                    classify_without_neighbours(&function, (file, in_file), (object, in_object))
                }
            },
            address: frame.addr.as_deref().map_or(0, address),
            // Only needed for inlined functions of Rust.
            is_bare: !function.has_path || (in_file.is_rust && function.parsed().is_bare()),
            is_nameless: name == UNKNOWN_INLINED,
            is_file_bare: matches!(place, Directory::Bare | Directory::BelowSrc),
            is_hash_collection: in_file.is_hash_collection,
            is_lang_start: name.starts_with("std::rt::lang_start"),
            is_unplaced: is_unplaced_address(name, object),
            is_language_library: place == Directory::Runtime
                || function.has_path
                || name.starts_with("operator ")
                || name.starts_with("__r")
                || in_file.is_rust,
        }
    }

    /// Returns the owner of this frame, given the origin of its code.
    pub fn owner(self, origin: CodeOrigin) -> CodeOwner {
        match origin {
            CodeOrigin::Own => CodeOwner::Own,
            CodeOrigin::Dependency | CodeOrigin::Installed => CodeOwner::Dependency,
            CodeOrigin::Runtime => CodeOwner::Std,
            CodeOrigin::Allocator if self.is_language_library => CodeOwner::Std,
            CodeOrigin::System if self.is_unplaced => CodeOwner::Unknown,
            CodeOrigin::Allocator | CodeOrigin::Replacement | CodeOrigin::System => {
                CodeOwner::System
            }
            CodeOrigin::Kernel => CodeOwner::Kernel,
        }
    }

    /// Returns the owner of this frame, judged without the frames around it.
    pub fn owner_without_context(self) -> CodeOwner {
        self.owner(classify_frame(0, |at| (at == 0).then_some(self)))
    }

    /// Returns true for a function that was inlined into the next outer frame, and whose name Valgrind does not know.
    pub fn is_nameless_part_of(self, outer: Facts) -> bool {
        self.is_nameless && self.address != 0 && self.address == outer.address
    }

    /// Returns true for a frame inside an allocator or inside one of Valgrind's replacement functions.
    pub fn is_allocator_or_replacement(self) -> bool {
        matches!(self.evidence, OriginEvidence::Certain(origin) if origin.is_allocator_or_replacement())
    }
}

/// Returns true for a function that is named by its address, because its name is unknown.
pub fn is_address(name: &str) -> bool {
    name.strip_prefix("0x")
        .is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// Returns true for a function that is named by its address, with an object that the profile names as unknown. Nothing is
/// known of such a function but its address.
pub fn is_unplaced_address(name: &str, object: &str) -> bool {
    matches!(object, "???" | "[unknown]") && is_address(name)
}

/// Returns true for the name of an unknown function. Valgrind writes `???`, Callgrind the address, and perf `[unknown]`. In
/// estimated stacks, `[pruned]` replaces calls that are not followed.
fn is_unknown(name: &str) -> bool {
    matches!(name, "" | "???" | "[unknown]" | "[pruned]") || is_address(name)
}

fn is_go_runtime(name: &str, file: &str) -> bool {
    let is_go = file.ends_with(".go") || file.ends_with(".s");
    is_go && GO_RUNTIME.begins(name)
}

/// Returns true for a function of Java's runtime. Recordings of Java contain neither files nor objects.
fn is_java_runtime(name: &str, file: &str, object: &str) -> bool {
    let has_no_place = file.is_empty() && object.is_empty();
    has_no_place && JAVA_RUNTIME.begins(name)
}

/// Returns true if a name has a symbol version of the system's libraries.
fn is_versioned(name: &str) -> bool {
    ["@GLIBC", "@CXXABI", "@GCC"]
        .iter()
        .any(|version| name.contains(version))
}

/// The name of a frame. It is parsed at most once.
struct FrameName<'n> {
    text: &'n str,
    /// True if the name contains `::`.
    has_path: bool,
    parsed: OnceCell<ParsedName<'n>>,
}

impl<'n> FrameName<'n> {
    fn new(text: &'n str) -> FrameName<'n> {
        FrameName {
            text,
            has_path: text.contains("::"),
            parsed: OnceCell::new(),
        }
    }

    fn parsed(&self) -> &ParsedName<'n> {
        let name = self.text.as_bytes();
        self.parsed.get_or_init(|| ParsedName::new(name))
    }
}

fn classify_without_neighbours(
    function: &FrameName,
    (file, in_file): (&str, &FileFacts),
    (object, in_object): (&str, &ObjectFacts),
) -> OriginEvidence {
    use CodeOrigin::{Dependency, Installed, Own, Runtime, System};
    let certain = OriginEvidence::Certain;
    let name = function.text;
    let place = in_file.place;
    if let Some(origin) = well_known_origin(name, (file, in_file), (object, in_object)) {
        return certain(origin);
    }
    if is_unknown(name) {
        return certain(match place {
            Directory::Runtime => Runtime,
            Directory::System => System,
            Directory::Dependency => Dependency,
            Directory::Installed => Installed,
            // The name, the file and the object are unknown.
            Directory::None if is_unknown(object) => System,
            _ => Own,
        });
    }
    if is_go_runtime(name, file) || is_java_runtime(name, file, object) {
        return certain(Runtime);
    }
    if let Some(by_path) = classify_by_path_and_file(function, file, place, in_object) {
        return by_path;
    }
    match place {
        Directory::Runtime => return certain(Runtime),
        Directory::System => return certain(System),
        Directory::Dependency => return certain(Dependency),
        Directory::Installed => return certain(Installed),
        _ if belongs_to_dependency(place, in_object) => return certain(Dependency),
        Directory::Elsewhere => return certain(Own),
        Directory::None | Directory::Bare | Directory::BelowSrc => {}
    }
    // For libraries without debug information, only the version is known. In files of other projects, it has no meaning.
    if is_versioned(name) && (place == Directory::None || in_file.is_glibc) {
        return certain(System);
    }
    if in_file.is_rust {
        let function = function.parsed();
        if function.has_generic_argument("alloc::alloc::Global") {
            // Only code of the library has an allocator as an explicit argument.
            return certain(Runtime);
        }
        let is_closure = function.is_bare_closure();
        return OriginEvidence::BareRust { is_closure };
    }
    let base = base_name(file);
    if LIBSTDCXX_FILES.contains(base) {
        return certain(Runtime);
    }
    if SYSTEM_HEADERS.contains(base) || base.ends_with("intrin.h") {
        return certain(System);
    }
    if place == Directory::None {
        return match name {
            _ if SYSTEM_PREFIXES.begins(name) => certain(System),
            "main" => OriginEvidence::Main,
            _ => certain(Own),
        };
    }
    if in_file.is_glibc {
        return match is_named_as_in_glibc(name, base) {
            true => certain(System),
            false => OriginEvidence::PerhapsGlibc { file: hash(base) },
        };
    }
    certain(Own)
}

/// Classifies a function by the path in its name, and its file; `None` for a bare name. Names without a path, such as C names,
/// need not be parsed.
fn classify_by_path_and_file(
    function: &FrameName,
    file: &str,
    place: Directory,
    in_object: &ObjectFacts,
) -> Option<OriginEvidence> {
    use CodeOrigin::{Dependency, Own, Runtime};
    if !function.has_path {
        return None;
    }
    let name = function.text;
    let function = function.parsed();
    let by_path = classify_by_path(name, function, place)?;
    if by_path != OriginEvidence::Certain(Own) {
        return Some(by_path);
    }
    // The name does not belong to a known library. The file or the object shows the project.
    let is_of_library = place == Directory::Runtime && is_file_of_its_crate(function, file);
    Some(OriginEvidence::Certain(
        match belongs_to_dependency(place, in_object) {
            true => Dependency,
            // A crate of Rust's test harness, such as `test` and `getopts`.
            false if is_of_library => Runtime,
            false => Own,
        },
    ))
}

/// Returns the origin of replacements, allocators and start code, and of frames in objects of the kernel or the system.
fn well_known_origin(
    name: &str,
    (file, in_file): (&str, &FileFacts),
    (object, in_object): (&str, &ObjectFacts),
) -> Option<CodeOrigin> {
    use CodeOrigin::{Allocator, Installed, Kernel, Replacement, Runtime, System};
    let is_replacement = in_object.is_replacement || in_file.is_replacement;
    if is_replacement || SANITIZER_PREFIXES.begins(name) {
        return Some(Replacement);
    }
    if in_file.is_allocator || in_object.is_allocator || is_allocator(name, file, in_file) {
        return Some(Allocator);
    }
    if is_start(name, in_file) {
        return Some(Runtime);
    }
    if in_object.is_kernel {
        return Some(Kernel);
    }
    if in_object.is_system {
        return Some(match in_object.is_dependency {
            true => Installed,
            false => System,
        });
    }
    if is_intercepted(name, file, object) {
        return Some(Replacement);
    }
    None
}

/// Returns true if the file belongs to another project, or, if the file is not informative, the object does.
fn belongs_to_dependency(place: Directory, in_object: &ObjectFacts) -> bool {
    match place {
        Directory::Dependency | Directory::Installed => true,
        Directory::None | Directory::Bare | Directory::BelowSrc => in_object.is_dependency,
        Directory::Runtime | Directory::System | Directory::Elsewhere => false,
    }
}

/// Classifies a function by the path in its name; `None` for a bare name.
fn classify_by_path(name: &str, function: &ParsedName, place: Directory) -> Option<OriginEvidence> {
    let certain = |is_runtime| {
        let origin = if is_runtime {
            CodeOrigin::Runtime
        } else {
            CodeOrigin::Own
        };
        Some(OriginEvidence::Certain(origin))
    };
    let is = |known: &[&str], crate_name: &BStr| known.iter().any(|known| crate_name == known);
    if TEST_HARNESS.begins(name) {
        return certain(true);
    }
    if let Some(implementor) = function.implementor() {
        let type_crate = implementor.type_crate.as_ref().map(|name| name.as_bstr());
        let trait_crate = implementor.trait_crate.as_ref().map(|name| name.as_bstr());
        let crates = || [type_crate, trait_crate].into_iter().flatten();
        // An impl is in the crate of its type or of its trait. If one of them is the library and the other is not, the impl
        // belongs to the other one. The default methods of a library trait belong to the library, as their file shows.
        let is_runtime = crates().all(|name| is(&RUNTIME_CRATES, name) || is_primitive(name));
        if is_runtime {
            return certain(true);
        }
        let is_library_trait = trait_crate.is_some_and(|name| is(&RUNTIME_CRATES, name));
        if is_library_trait && (place == Directory::Runtime || name.contains("::{shim:")) {
            return certain(true);
        }
        let is_dependency = |name: &BStr| is(&DEPENDENCIES_OF_STD, name);
        let may_be_std = crates()
            .all(|name| is_dependency(name) || is(&RUNTIME_CRATES, name) || is_primitive(name));
        return if may_be_std {
            classify_std_dependency(place)
        } else {
            certain(false)
        };
    }
    let first = function.crate_name()?;
    if is(&RUNTIME_CRATES, first.as_bstr()) {
        return certain(true);
    }
    if is(&DEPENDENCIES_OF_STD, first.as_bstr()) {
        return classify_std_dependency(place);
    }
    certain(false)
}

/// Classifies a function of a crate that Rust's library also uses. The directory shows whether it is the library's copy.
fn classify_std_dependency(place: Directory) -> Option<OriginEvidence> {
    Some(match place {
        Directory::Runtime | Directory::System => OriginEvidence::Certain(CodeOrigin::Runtime),
        Directory::Elsewhere => OriginEvidence::Certain(CodeOrigin::Own),
        Directory::Dependency | Directory::Installed => {
            OriginEvidence::Certain(CodeOrigin::Dependency)
        }
        Directory::None | Directory::Bare | Directory::BelowSrc => OriginEvidence::DependencyOfStd,
    })
}

/// Returns true for a type without a crate and for a type parameter: `u8`, `str`, `T`.
pub(super) fn is_primitive(name: &BStr) -> bool {
    PRIMITIVES.iter().any(|known| name == known)
        || name == "fn"
        || name.first().is_some_and(u8::is_ascii_uppercase)
}

fn is_allocator(name: &str, file: &str, in_file: &FileFacts) -> bool {
    // `--sym-offsets=yes` writes `malloc+116`. Debug information has `alloc<T>`.
    let without_offset = name
        .trim_end_matches(|letter: char| letter.is_ascii_digit())
        .strip_suffix('+');
    let symbol = match without_offset {
        None | Some("") => name,
        Some(symbol) => symbol,
    };
    // Inlined Rust functions have bare names, so a `free` in a Rust file can belong to any project.
    let is_whole = !in_file.is_rust && ALLOCATORS.contains(symbol);
    is_whole
        || ALLOCATOR_PREFIXES.begins(symbol)
        || (CXX_ALLOCATORS.begins(symbol) && symbol.contains(">::allocate("))
        || (file == "alloc.rs"
            && INLINED_ALLOCATORS.contains(symbol.split('<').next().unwrap_or_default()))
}

/// Returns true for a sanitizer's replacement of a function of C's library. It is linked into the program, and printed with
/// the name of the replaced function.
fn is_intercepted(name: &str, file: &str, object: &str) -> bool {
    file.is_empty()
        && !object.is_empty()
        && (INTERCEPTED.contains(name) || INTERCEPTED_PREFIXES.begins(name))
}

/// Returns true for code that starts programs and threads, except for functions of that name in files of other projects.
fn is_start(name: &str, in_file: &FileFacts) -> bool {
    let version = memchr::memchr2(b'@', b'.', name.as_bytes());
    let symbol = &name[..version.unwrap_or(name.len())];
    in_file.is_start
        || (START.contains(symbol)
            && (in_file.place == Directory::None
                || in_file.place == Directory::Runtime
                || in_file.is_glibc
                || symbol.starts_with("__rust")))
}

/// Returns true if a function in a file with this name can belong to glibc: an exported function, a function named after its
/// file (`opendir_tail` in `opendir.c`), or a name that is reserved for C's implementation (`__fopen_internal`).
fn is_named_as_in_glibc(name: &str, file: &str) -> bool {
    let stem = file.split('.').next().unwrap_or_default();
    let word = name.split('.').next().unwrap_or_default();
    let is_reserved = name.starts_with('_')
        && name[1..].starts_with(|c: char| c == '_' || c.is_ascii_uppercase())
        && !name.starts_with("_GLOBAL__");
    is_reserved
        || SYSTEM_PREFIXES.begins(name)
        || GLIBC_FUNCTIONS.contains(word)
        || (word.len() > 2 && stem.contains(word))
        || (stem.len() > 2 && word.contains(stem))
}

fn address(text: &str) -> u64 {
    let digits = text.trim_start_matches("0x");
    u64::from_str_radix(digits, 16).unwrap_or(0)
}

/// FNV-1a, which distinguishes the files of neighbours without storing their names.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
