//! Recognition of files of other projects, by the folders of package managers.

use super::places::is_header_of_store;
use super::tables::{DEPENDENCY_FOLDERS, DEPENDENCY_PLACES, SYSTEM_HEADERS};
use crate::paths::base_name;

/// Returns true for a source or an object of a project that the program uses. It was downloaded for the program, copied into
/// the program's folders, or installed as source. C's library and the kernel belong to the system.
pub(super) fn is_dependency(path: &str) -> bool {
    if let Some(header) = path.strip_prefix("/usr/include/") {
        return !is_header_of_system(header);
    }
    // Check for words first, because most paths contain none of them and need not be split.
    is_header_of_store(path)
        || DEPENDENCY_PLACES.is_in(path)
        || is_go_module(path)
        || path
            .split(['/', '\\'])
            .rev()
            .skip(1)
            .any(|folder| DEPENDENCY_FOLDERS.contains(folder))
}

/// Returns true for `bits/…`, `x86_64-linux-gnu/sys/…`, `linux/…`, and for headers of C's library that contain functions.
fn is_header_of_system(header: &str) -> bool {
    let is_triplet = |folder: &str| folder.contains("-linux-");
    let rest = match header.split_once('/') {
        Some((folder, rest)) if is_triplet(folder) => rest,
        _ => header,
    };
    let folder = rest.split_once('/').map_or("", |(folder, _)| folder);
    let is_c_folder = matches!(
        folder,
        "arpa" | "asm" | "asm-generic" | "bits" | "gnu" | "linux" | "net" | "netinet" | "sys"
    );
    is_c_folder || (folder.is_empty() && SYSTEM_HEADERS.contains(base_name(rest)))
}

/// Returns true for a file of a Go module, as `-trimpath` names it: `example.org/text@v0.3.1/width/width.go`.
fn is_go_module(path: &str) -> bool {
    let version = path.split_once("@v").map(|(_, version)| version);
    path.ends_with(".go")
        && version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}
