//! The folders of languages and distributions, except those that are the same on all systems.

use super::tables::{
    DISTRIBUTION_BUILDS, LANGUAGE_PLACES, LANGUAGE_STARTS, SYSTEM_PLACES, SYSTEM_STARTS,
};

/// Returns true for a source of a language's own library: Python's and Ruby's modules, Go's tree, Node's built-in modules.
/// Other projects that are installed into these folders must be excluded before.
pub(super) fn is_language_source(path: &str) -> bool {
    LANGUAGE_STARTS.iter().any(|start| path.starts_with(start)) || LANGUAGE_PLACES.is_in(path)
}

/// Returns true for a source of a distribution's package, as debug information names it: `/usr/src/debug/glibc-2.38/…`,
/// `/build/glibc-B9XbFu/glibc-2.36/…`.
pub(super) fn is_distribution_source(path: &str) -> bool {
    DISTRIBUTION_BUILDS
        .iter()
        .any(|start| path.starts_with(start))
        || path.strip_prefix("/build/").is_some_and(|rest| {
            let mut packages = rest.split('/').map(|folder| folder.rsplit_once('-'));
            match (packages.next().flatten(), packages.next().flatten()) {
                (Some((package, _)), Some((again, version))) => {
                    package == again && version.starts_with(|c: char| c.is_ascii_digit())
                }
                _ => false,
            }
        })
}

/// Returns true for a library of a system that has its libraries outside `/usr/lib`: macOS, Windows, Snap, Flatpak, the
/// stores of Nix and Guix. Programs in a store do not count, because they can belong to any project.
pub(super) fn is_system_library(path: &str) -> bool {
    (in_store(path).is_some() && path.contains("/lib/") && path.contains(".so"))
        || SYSTEM_STARTS.begins(path)
        || SYSTEM_PLACES.is_in(path)
}

/// Returns true for a header in a store.
pub(super) fn is_header_of_store(path: &str) -> bool {
    in_store(path).is_some_and(|rest| rest.starts_with("include/"))
}

/// Returns the path below the package in the store of Nix or Guix.
fn in_store(path: &str) -> Option<&str> {
    let rest = path
        .strip_prefix("/nix/store/")
        .or_else(|| path.strip_prefix("/gnu/store/"))?;
    rest.split_once('/').map(|(_, rest)| rest)
}
