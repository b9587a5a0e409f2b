//! Source paths for reports: relative to the root of the project, if they are below it.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};

use cg_names::paths::base_name;

/// Converts source paths to paths relative to the root.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// The absolute path of the root; empty if there is none.
    root: PathBuf,
    /// Paths relative to the root, by base name.
    found: HashMap<String, String>,
}

impl Paths {
    /// Creates paths relative to `root`, which may be relative to the current directory.
    ///
    /// # Errors
    /// Returns an error if `root` is relative and the current directory is unknown.
    pub(crate) fn relative_to(root: &Path) -> std::io::Result<Paths> {
        Ok(Paths {
            root: lexically_normal(&std::path::absolute(root)?),
            found: HashMap::new(),
        })
    }

    /// Returns the root; `None` if there is none.
    pub(crate) fn root(&self) -> Option<&Path> {
        Some(self.root.as_path()).filter(|root| !root.as_os_str().is_empty())
    }

    /// Searches the root for these files. A text log contains only base names, unless Valgrind ran with
    /// `--fullpath-after`, and the program may have been built in another directory. Drops a name that several files have.
    /// Skips hidden directories and Cargo's `target`.
    pub(crate) fn find(&mut self, files: &HashSet<&str>) {
        /// The maximum number of directory entries to read: enough for any project, and a bound for a root such as `/`.
        const MOST_ENTRIES: usize = 200_000;
        let missing = files.iter().filter(|file| self.existing(file).is_none());
        let missing: Vec<&str> = missing.copied().collect();
        let names: HashSet<&str> = missing.iter().map(|file| base_name(file)).collect();
        let mut candidates: HashMap<String, Vec<String>> = HashMap::new();
        let mut directories = vec![self.root.clone()];
        let mut entries = 0;
        while let Some(directory) = directories.pop() {
            // An unreadable directory has no sources to show.
            let Ok(listing) = std::fs::read_dir(&directory) else {
                continue;
            };
            for entry in listing.flatten() {
                entries += 1;
                if entries > MOST_ENTRIES {
                    return;
                }
                let name = entry.file_name();
                let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else {
                    continue;
                };
                if kind.is_dir() {
                    if !name.starts_with('.') && name != "target" {
                        directories.push(entry.path());
                    }
                } else if names.contains(name)
                    && let Some(path) = self.below_root(&entry.path())
                {
                    candidates.entry(name.to_owned()).or_default().push(path);
                }
            }
        }
        for file in missing {
            let same_name = candidates.get(base_name(file));
            if let Some(found) = same_name.and_then(|paths| find_same(file, paths)) {
                self.found.insert(file.to_owned(), found.to_owned());
            }
        }
    }

    /// Returns the path of an existing file below the root, relative to the root.
    pub(crate) fn existing(&self, file: &str) -> Option<String> {
        if let Some(found) = self.found.get(file) {
            return Some(found.clone());
        }
        let relative = self.below_root(Path::new(file))?;
        self.root.join(&relative).is_file().then_some(relative)
    }

    /// Returns the path of the only file with this base name, relative to the root.
    pub(crate) fn found(&self, name: &str) -> Option<&str> {
        self.found.get(name).map(String::as_str)
    }

    /// Returns the path for people: relative to the root if it is below the root, otherwise unchanged.
    pub(crate) fn shown<'a>(&self, file: &'a str) -> Cow<'a, str> {
        match self.in_root(file) {
            Some(relative) => Cow::Owned(relative),
            None => Cow::Borrowed(file),
        }
    }

    /// Returns the path relative to the root, with `/` between its parts; `None` for a file outside the root.
    ///
    /// Treats a relative path as relative to the root.
    pub(crate) fn in_root(&self, file: &str) -> Option<String> {
        if let Some(found) = self.found.get(file) {
            return Some(found.clone());
        }
        self.below_root(Path::new(file))
    }

    /// Returns the absolute path of a file below the root; `None` for a file outside it.
    pub(crate) fn absolute(&self, file: &str) -> Option<PathBuf> {
        Some(self.root.join(self.below_root(Path::new(file))?))
    }

    fn below_root(&self, path: &Path) -> Option<String> {
        let path = lexically_normal(path);
        let relative = if path.is_absolute() {
            if self.root.as_os_str().is_empty() {
                return None;
            }
            path.strip_prefix(&self.root).ok()?
        } else {
            &path
        };
        let parts: Option<Vec<&str>> = relative
            .components()
            .map(|part| match part {
                Component::Normal(part) => part.to_str(),
                _ => None,
            })
            .collect();
        parts
            .map(|parts| parts.join("/"))
            .filter(|relative| !relative.is_empty())
    }
}

/// Returns the path that has most components in common with the end of a file's path; `None` if several paths have. All
/// have its base name.
fn find_same<'p>(file: &str, paths: &'p [String]) -> Option<&'p str> {
    let n_common = |path: &str| {
        let (mine, theirs) = (file.rsplit('/'), path.rsplit('/'));
        mine.zip(theirs)
            .take_while(|(mine, theirs)| mine == theirs)
            .count()
    };
    let most = paths.iter().map(|path| n_common(path)).max()?;
    let mut best = paths.iter().filter(|path| n_common(path) == most);
    let found = best.next().filter(|_| best.next().is_none())?;
    // In another directory, a file may have the same name by chance.
    let is_same = most > 1 || !file.contains('/') || !found.contains('/');
    is_same.then_some(found)
}

/// Removes `.` from the path, and each `..` together with the directory before it.
fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if matches!(normal.components().next_back(), Some(Component::Normal(_))) =>
            {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_root_are_relative_to_it() {
        let paths = Paths::relative_to(Path::new("/home/me/demo/./x/..")).unwrap();
        for (file, shown, in_root) in [
            ("/home/me/demo/src/a.c", "src/a.c", Some("src/a.c")),
            ("/home/me/demo/build/../src/a.c", "src/a.c", Some("src/a.c")),
            (
                "/home/me/demonstration/a.c",
                "/home/me/demonstration/a.c",
                None,
            ),
            ("./src/a.c", "src/a.c", Some("src/a.c")),
            ("a.c", "a.c", Some("a.c")),
            ("../a.c", "../a.c", None),
        ] {
            assert_eq!(paths.shown(file), shown);
            assert_eq!(paths.in_root(file).as_deref(), in_root);
        }
    }

    #[test]
    fn a_base_name_is_found_if_only_one_file_has_it() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "src/a.c",
            "src/deep/b.c",
            "lib/b.c",
            "target/a.c",
            ".git/a.c",
            "c.c",
        ] {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let mut paths = Paths::relative_to(root.path()).unwrap();
        paths.find(&HashSet::from([
            "a.c",
            "b.c",
            "d.c",
            "/builds/job/src/deep/b.c",
            "/builds/job/c.c",
            "/builds/job/other/a.c",
            "/builds/job/b.c",
        ]));
        let in_root = |file| paths.in_root(file).unwrap();
        assert_eq!(in_root("a.c"), "src/a.c");
        assert_eq!(in_root("/builds/job/src/deep/b.c"), "src/deep/b.c");
        assert_eq!(in_root("/builds/job/c.c"), "c.c");
        for file in ["/builds/job/other/a.c", "/builds/job/b.c"] {
            assert_eq!(paths.in_root(file), None, "{file}");
        }
        assert_eq!(paths.existing("lib/b.c").as_deref(), Some("lib/b.c"));
        assert_eq!(paths.existing("lib/a.c"), None);
        assert_eq!(in_root("b.c"), "b.c");
        assert_eq!(in_root("d.c"), "d.c");
        assert_eq!(in_root("lib/a.c"), "lib/a.c");
    }
}
