//! Which files are of other projects: by the folders that package managers put them in.

use super::places::is_header_of_store;
use super::tables::{DEPENDENCY_FOLDERS, DEPENDENCY_PLACES, SYSTEM_HEADERS};
use crate::paths::base_name;

/// True for a source, or an object, of a project that the program uses: fetched for it, copied into its own folders, or
/// installed as source. What C's library and the kernel bring is the system's.
pub(super) fn is_dependency(path: &str) -> bool {
    if let Some(header) = path.strip_prefix("/usr/include/") {
        return !is_header_of_system(header);
    }
    // Most paths have no such word, and are not taken apart.
    is_header_of_store(path)
        || DEPENDENCY_PLACES.is_in(path)
        || is_go_module(path)
        || path
            .split(['/', '\\'])
            .rev()
            .skip(1)
            .any(|folder| DEPENDENCY_FOLDERS.contains(folder))
}

/// `bits/…`, `x86_64-linux-gnu/sys/…`, `linux/…`, and those of C's library that have functions in them.
fn is_header_of_system(header: &str) -> bool {
    let is_triplet = |folder: &str| folder.contains("-linux-");
    let rest = match header.split_once('/') {
        Some((folder, rest)) if is_triplet(folder) => rest,
        _ => header,
    };
    let folder = rest.split_once('/').map_or("", |(folder, _)| folder);
    let is_of_c = matches!(
        folder,
        "arpa" | "asm" | "asm-generic" | "bits" | "gnu" | "linux" | "net" | "netinet" | "sys"
    );
    is_of_c || (folder.is_empty() && SYSTEM_HEADERS.contains(base_name(rest)))
}

/// A module of Go as `-trimpath` writes it: `example.org/text@v0.3.1/width/width.go`.
fn is_go_module(path: &str) -> bool {
    let version = path.split_once("@v").map(|(_, behind)| behind);
    path.ends_with(".go")
        && version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
}
