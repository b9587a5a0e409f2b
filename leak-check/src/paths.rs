//! Source paths as reports show them: relative to the root of the project, if they are in it.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

/// Shortens paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths {
    /// Absolute; empty where there is none.
    root: PathBuf,
}

impl Paths {
    /// Paths relative to this directory, itself relative to the current one.
    ///
    /// # Errors
    /// Where it is relative and the current directory cannot be told.
    pub(crate) fn relative_to(root: &Path) -> std::io::Result<Paths> {
        Ok(Paths {
            root: lexically_normal(&std::path::absolute(root)?),
        })
    }

    /// The path as people read it: relative to the root if it is below it, else as it is.
    pub(crate) fn shown<'a>(&self, file: &'a str) -> Cow<'a, str> {
        match self.in_root(file) {
            Some(relative) => Cow::Owned(relative),
            None => Cow::Borrowed(file),
        }
    }

    /// The path relative to the root, with `/` between its parts; `None` for a file outside it.
    ///
    /// A relative path is taken to be relative to the root.
    pub(crate) fn in_root(&self, file: &str) -> Option<String> {
        let path = lexically_normal(Path::new(file));
        let relative = if path.is_absolute() {
            if self.root.as_os_str().is_empty() {
                return None;
            }
            path.strip_prefix(&self.root).ok()?.to_owned()
        } else {
            path
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

/// The path without `.`, and with `..` taken together with what stands before it.
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
}
