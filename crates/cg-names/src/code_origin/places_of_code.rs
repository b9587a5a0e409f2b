//! Facts about files and objects, which all their functions share.

use cg_collections::maps::Map;
use cg_stream::record::Frame;

use super::Facts;
use super::dependencies::is_dependency;
use super::places::{is_distribution_source, is_language_source, is_system_library};
use super::tables::*;
use crate::paths::base_name;

/// Finds the facts about frames. Judges each file and each object once.
#[derive(Default)]
pub struct FactsFinder {
    files: Map<Box<str>, FileFacts>,
    objects: Map<Box<str>, ObjectFacts>,
}

impl FactsFinder {
    /// Returns the facts about a frame, as [`Facts::from_frame`] does.
    pub fn find(&mut self, frame: &Frame) -> Facts {
        let file = frame.file.as_deref().unwrap_or_default();
        let object = frame.obj.as_deref().unwrap_or_default();
        let in_file = get_or_judge(&mut self.files, file, FileFacts::from_path);
        let in_object = get_or_judge(&mut self.objects, object, ObjectFacts::from_path);
        Facts::from_parts(frame, in_file, in_object)
    }
}

fn get_or_judge<'k, T>(
    known: &'k mut Map<Box<str>, T>,
    path: &str,
    judge: impl FnOnce(&str) -> T,
) -> &'k T {
    if !known.contains_key(path) {
        known.insert(path.into(), judge(path));
    }
    &known[path]
}

/// Facts about a source file.
pub(super) struct FileFacts {
    pub(super) place: Directory,
    /// True for a file of Valgrind's replacement functions or of a sanitizer.
    pub(super) is_replacement: bool,
    /// True for a file that contains only an allocator.
    pub(super) is_allocator: bool,
    /// True for a file of the code that starts programs.
    pub(super) is_start: bool,
    /// True for a file with the same name as a file of glibc.
    pub(super) is_glibc: bool,
    pub(super) is_rust: bool,
    /// True for the hash tables of Rust's `std`.
    pub(super) is_hash_collection: bool,
}

impl FileFacts {
    pub(super) fn from_path(path: &str) -> FileFacts {
        let base = base_name(path);
        let is_rust_allocator = || {
            RUST_ALLOCATOR_FILES
                .iter()
                .any(|known| path.ends_with(known))
        };
        FileFacts {
            place: Directory::from_path(path),
            is_replacement: REPLACEMENT_FILES.contains(base) || SANITIZER_FOLDERS.is_in(path),
            is_allocator: CXX_ALLOCATOR_FILES.contains(base) || is_rust_allocator(),
            is_start: START_FILES.contains(base),
            is_glibc: GLIBC_FILES.contains(base),
            is_rust: path.ends_with(".rs"),
            is_hash_collection: path.contains("library/std/src/collections/hash/"),
        }
    }
}

/// Facts about an object: a program or a library.
pub(super) struct ObjectFacts {
    /// True for the replacement functions of Valgrind and for the runtime of a sanitizer.
    pub(super) is_replacement: bool,
    pub(super) is_allocator: bool,
    pub(super) is_kernel: bool,
    pub(super) is_system: bool,
    pub(super) is_dependency: bool,
}

impl ObjectFacts {
    pub(super) fn from_path(path: &str) -> ObjectFacts {
        let base = base_name(path);
        ObjectFacts {
            is_replacement: base.starts_with("vgpreload_") || SANITIZER_LIBRARIES.begins(base),
            is_allocator: is_allocator_library(path),
            is_kernel: is_kernel_object(path),
            is_system: is_system_object(path),
            is_dependency: is_dependency(path),
        }
    }
}

/// The kind of directory that a file is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Directory {
    /// There is no file.
    None,
    /// The file has only a base name.
    Bare,
    /// The path is relative and begins with `src/`.
    BelowSrc,
    Runtime,
    System,
    /// A directory of another project.
    Dependency,
    /// A directory of another project that the system installed.
    Installed,
    /// Any other directory.
    Elsewhere,
}

impl Directory {
    pub(super) fn from_path(path: &str) -> Directory {
        if path.is_empty() || path == "???" {
            Directory::None
        } else if is_runtime_source(path) {
            Directory::Runtime
        } else if is_dependency(path) {
            match is_system_source(path) {
                true => Directory::Installed,
                false => Directory::Dependency,
            }
        } else if is_language_source(path) {
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

fn is_allocator_library(object: &str) -> bool {
    let library = base_name(object);
    library.contains(".so") && ALLOCATOR_LIBRARIES.begins(library)
}

/// Returns true for the kernel and its modules, as perf and others name them: `[kernel.kallsyms]`, `[ext4]`,
/// `/lib/modules/…/ext4.ko.xz`.
fn is_kernel_object(path: &str) -> bool {
    // The objects that Linux maps into every process, memory without a file, and perf's unknown object.
    const PROCESS_OBJECTS: [&str; 7] = [
        "[v", "[heap", "[stack", "[anon", "[uprobes", "[JIT", "[unknown",
    ];
    if path.starts_with('[') {
        return path.ends_with(']') && !PROCESS_OBJECTS.iter().any(|start| path.starts_with(start));
    }
    let base = base_name(path);
    let is_module = [".ko", ".ko.xz", ".ko.gz", ".ko.zst"]
        .iter()
        .any(|end| base.ends_with(end));
    is_module || base.starts_with("vmlinux") || path.starts_with("/System/Library/Kernels/")
}

/// Returns true for objects in the system's folders (`/lib/…`, `/usr/lib64/…`, `/usr/libexec/…`), and for the system's own
/// libraries in any folder.
fn is_system_object(path: &str) -> bool {
    // The kernel's code for system calls, which Linux maps into every process.
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

/// Returns true for sources of Rust's library and its crates, and for headers of C++'s library.
///
/// Debug information has `/rustc/HASH/library/…` and `/rust/deps/…` on every machine, and text has `library/…`. The paths of
/// rust-src in a toolchain and of distributions' packages differ.
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
        || is_distribution_source(path)
        || is_glibc_source(path)
}

/// Returns true for sources of glibc, by the relative paths in its build: `../sysdeps/nptl/libc_start_call_main.h`. Debian's
/// debug information has `nptl/./nptl/pthread_kill.c`, which GCC's sanitizers print as `nptl/pthread_kill.c`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_from_known_files_and_objects_equal_those_of_single_frames() {
        let names = ["malloc", "main", "core::fmt::write", "app::run", "do_read"];
        let files = [
            "",
            "src/main.rs",
            "/usr/include/c++/12/bits/new_allocator.h",
            "/home/dev/vendor/z/z.c",
            "library/std/src/collections/hash/map.rs",
            "malloc.c",
        ];
        let objects = [
            "",
            "/usr/lib/libc.so.6",
            "[kernel.kallsyms]",
            "/home/dev/app",
        ];
        let mut finder = FactsFinder::default();
        let mut distinct = Vec::new();
        for name in names {
            for file in files {
                for object in objects {
                    let given = |text: &'static str| (!text.is_empty()).then(|| text.into());
                    let frame = Frame {
                        name: given(name),
                        file: given(file),
                        obj: given(object),
                        ..Frame::default()
                    };
                    let facts = finder.find(&frame);
                    assert_eq!(facts, Facts::from_frame(&frame), "{frame:?}");
                    if !distinct.contains(&facts) {
                        distinct.push(facts);
                    }
                }
            }
        }
        assert_eq!((finder.files.len(), finder.objects.len()), (6, 4));
        assert!(distinct.len() > 5, "{distinct:?}");
    }
}
