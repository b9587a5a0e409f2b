//! Where languages and distributions put what they bring, beside the folders that are the same everywhere.

use super::tables::{
    DISTRIBUTION_BUILDS, LANGUAGE_PLACES, LANGUAGE_STARTS, SYSTEM_PLACES, SYSTEM_STARTS,
};

/// True for a source of a language's own library: Python's and Ruby's modules, Go's tree, what Node has built in. What is
/// installed into these folders is told from it before.
pub(super) fn is_of_language(path: &str) -> bool {
    LANGUAGE_STARTS.iter().any(|start| path.starts_with(start)) || LANGUAGE_PLACES.is_in(path)
}

/// True for a source of what a distribution packaged, as its debug information names it: `/usr/src/debug/glibc-2.38/…`,
/// `/build/glibc-B9XbFu/glibc-2.36/…`.
pub(super) fn is_of_distribution(path: &str) -> bool {
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

/// True for a library that a system brings in another place than `/usr/lib`: macOS, Windows, Snap, Flatpak, the stores of Nix
/// and Guix. A store has programs too, and those may be anybody's.
pub(super) fn is_system_library(path: &str) -> bool {
    (in_store(path).is_some() && path.contains("/lib/") && path.contains(".so"))
        || SYSTEM_STARTS.begins(path)
        || SYSTEM_PLACES.is_in(path)
}

/// True for a header that is installed in a store.
pub(super) fn is_header_of_store(path: &str) -> bool {
    in_store(path).is_some_and(|rest| rest.starts_with("include/"))
}

/// What follows the package in the store of Nix or Guix.
fn in_store(path: &str) -> Option<&str> {
    let rest = path
        .strip_prefix("/nix/store/")
        .or_else(|| path.strip_prefix("/gnu/store/"))?;
    rest.split_once('/').map(|(_, rest)| rest)
}
