//! Finds a source by the name in the input, and checks that it may be shown.

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};

use bstr::ByteSlice;

use crate::text_file::{self, SourceText};
use crate::{Places, RustSource};

/// The result of looking for a source.
pub enum FoundSource {
    /// The path of the source, and its lines.
    Shown(PathBuf, SourceText),
    /// The file exists, but must not be shown for this reason.
    Refused(PathBuf, &'static str),
    /// No file was found.
    Nowhere,
}

impl Places {
    /// Finds the source of this name and reads the wanted lines.
    pub fn find(&self, name: &str, wanted: &[RangeInclusive<u64>]) -> FoundSource {
        let own = Path::new(name);
        if own.as_os_str().is_empty() {
            return FoundSource::Nowhere;
        }
        let mut refused = None;
        for candidate in self.candidates(own) {
            // Resolves all links here, so that the check and the read below see the same file.
            let Ok(path) = fs::canonicalize(&candidate) else {
                continue;
            };
            let reason = if !self.allows(&path) {
                "not below a directory of sources"
            } else {
                match text_file::read(&path, wanted) {
                    Ok(text) => return FoundSource::Shown(candidate, text),
                    Err(reason) => reason,
                }
            };
            refused.get_or_insert((candidate, reason));
        }
        match refused {
            Some((path, reason)) => FoundSource::Refused(path, reason),
            None => FoundSource::Nowhere,
        }
    }

    /// Returns the possible paths of a source: its own path, in a toolchain, and the trailing parts of its path in each
    /// root.
    fn candidates(&self, own: &Path) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        if own.is_absolute() {
            candidates.push(own.to_path_buf());
        } else if let Some(here) = &self.here {
            let path = here.join(own);
            candidates.push(path.strip_prefix(".").unwrap_or(&path).to_path_buf());
        }
        if let Some((hash, rest)) = rustc_path(own) {
            let matching = self.rust.iter().filter(|rust| rust.has_commit(&hash));
            candidates.extend(matching.map(|rust| rust.folder.join(&rest)));
        }
        for root in &self.roots {
            let mut rest = own.components();
            while let Some(first) = rest.as_path().components().next() {
                if matches!(
                    first,
                    Component::Normal(_) | Component::CurDir | Component::ParentDir
                ) {
                    candidates.push(root.join(rest.as_path()));
                }
                rest.next();
            }
        }
        candidates
    }

    /// Returns true if a path without links may be shown.
    fn allows(&self, path: &Path) -> bool {
        let rust = self.rust.iter().map(|rust| &rust.folder);
        self.here.iter().chain(&self.roots).chain(rust).any(|root| {
            // The path of a root may contain links too.
            fs::canonicalize(root).is_ok_and(|root| path.starts_with(root))
        })
    }
}

impl RustSource {
    /// Returns true if the toolchain was built from this commit.
    fn has_commit(&self, hash: &str) -> bool {
        fs::read(&self.manifest).is_ok_and(|text| text.contains_str(hash))
    }
}

/// Splits `/rustc/HASH/library/core/src/lib.rs` into the hash and the rest of the path.
fn rustc_path(path: &Path) -> Option<(String, PathBuf)> {
    let mut rest = path.strip_prefix("/rustc").ok()?.components();
    let hash = rest.next()?.as_os_str().to_str()?.to_owned();
    let is_hash = hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| (hash, rest.as_path().to_path_buf()))
}

#[cfg(test)]
mod tests {
    use std::fs::{create_dir_all, write};

    use super::*;

    fn places(roots: &[&Path]) -> Places {
        Places {
            here: None,
            roots: roots.iter().map(|root| root.to_path_buf()).collect(),
            rust: Vec::new(),
        }
    }

    /// Returns `shown`, the reason of a refusal, or `nowhere`.
    fn outcome(places: &Places, name: &Path) -> &'static str {
        match places.find(name.to_str().unwrap(), &[1..=1]) {
            FoundSource::Shown(..) => "shown",
            FoundSource::Refused(_, reason) => reason,
            FoundSource::Nowhere => "nowhere",
        }
    }

    const OUTSIDE: &str = "not below a directory of sources";

    #[test]
    fn sources_are_found_by_the_trailing_parts_of_their_path() {
        let root = tempfile::tempdir().unwrap();
        create_dir_all(root.path().join("src")).unwrap();
        write(root.path().join("src/main.c"), "int main() {\r\n}").unwrap();
        let places = places(&[root.path()]);
        for name in ["src/main.c", "./src/main.c", "/build/xyz/src/main.c"] {
            assert_eq!(outcome(&places, Path::new(name)), "shown", "{name}");
        }
        assert_eq!(outcome(&places, &root.path().join("src/main.c")), "shown");
        assert_eq!(
            outcome(&places, Path::new("/build/src")),
            "not a regular file"
        );
        assert_eq!(outcome(&places, Path::new("")), "nowhere");
        assert_eq!(outcome(&places, Path::new("src/other.c")), "nowhere");
    }

    #[test]
    fn only_the_named_path_is_looked_up_below_the_current_folder() {
        let here = tempfile::tempdir().unwrap();
        write(here.path().join("main.c"), "int main() {}").unwrap();
        let places = Places {
            here: Some(here.path().to_path_buf()),
            ..Places::default()
        };
        assert_eq!(outcome(&places, Path::new("./main.c")), "shown");
        assert_eq!(outcome(&places, &here.path().join("main.c")), "shown");
        assert_eq!(outcome(&places, Path::new("/build/main.c")), "nowhere");
        assert_eq!(outcome(&places, Path::new("/etc/hostname")), OUTSIDE);
    }

    #[cfg(unix)]
    #[test]
    fn no_path_or_link_leads_outside_the_roots() {
        let all = tempfile::tempdir().unwrap();
        let (root, other) = (all.path().join("root"), all.path().join("rootother"));
        create_dir_all(&root).unwrap();
        create_dir_all(&other).unwrap();
        write(other.join("secret.c"), "secret").unwrap();
        std::os::unix::fs::symlink(other.join("secret.c"), root.join("link.c")).unwrap();
        std::os::unix::fs::symlink(&other, root.join("folder")).unwrap();
        let inside = places(&[&root]);
        for name in [
            other.join("secret.c"),
            root.join("../rootother/secret.c"),
            PathBuf::from("../rootother/secret.c"),
            PathBuf::from("/x/../rootother/secret.c"),
            PathBuf::from("link.c"),
            PathBuf::from("folder/secret.c"),
        ] {
            assert_eq!(outcome(&inside, &name), OUTSIDE, "{}", name.display());
        }
        // A root may be a link to a folder.
        let linked = places(&[&root.join("folder")]);
        assert_eq!(outcome(&linked, Path::new("secret.c")), "shown");
        assert_eq!(outcome(&places(&[]), &other.join("secret.c")), OUTSIDE);
    }

    #[test]
    fn rusts_library_is_read_from_the_toolchain_with_the_same_commit() {
        let toolchain = tempfile::tempdir().unwrap();
        let folder = toolchain.path().join("src/rust");
        create_dir_all(folder.join("library")).unwrap();
        write(folder.join("library/lib.rs"), "pub mod core;\n").unwrap();
        let manifest = toolchain.path().join("manifest.toml");
        let hash = "0123456789abcdef0123456789abcdef01234567";
        write(&manifest, format!("git_commit_hash = \"{hash}\"\n")).unwrap();
        let places = Places {
            here: None,
            roots: Vec::new(),
            rust: vec![RustSource {
                folder: folder.clone(),
                manifest,
            }],
        };
        let named = |hash: &str| PathBuf::from(format!("/rustc/{hash}/library/lib.rs"));
        assert_eq!(outcome(&places, &named(hash)), "shown");
        assert_eq!(outcome(&places, &named(&"f".repeat(40))), "nowhere");
        // A part of the hash is not a commit.
        assert_eq!(outcome(&places, &named(&hash[..12])), "nowhere");
        assert_eq!(outcome(&places, &folder.join("library/lib.rs")), "shown");
        let up = PathBuf::from(format!("/rustc/{hash}/../../manifest.toml"));
        assert_eq!(outcome(&places, &up), OUTSIDE);
    }

    #[test]
    fn first_place_that_cannot_be_shown_is_reported() {
        let all = tempfile::tempdir().unwrap();
        let (root, other) = (all.path().join("root"), all.path().join("other"));
        // Below the root, the trailing part of the path is a directory.
        create_dir_all(root.join("secret.c")).unwrap();
        create_dir_all(&other).unwrap();
        write(other.join("secret.c"), "secret").unwrap();
        assert_eq!(outcome(&places(&[&root]), &other.join("secret.c")), OUTSIDE);
        let missing = all.path().join("nowhere/secret.c");
        assert_eq!(outcome(&places(&[&root]), &missing), "not a regular file");
    }
}
