//! Atomic replacement of files: a concurrent reader sees the old file or the new one.

use std::fs::{self, Metadata, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

/// A regular file that may be replaced, or the path of a new one.
#[derive(Debug)]
pub struct Replaceable {
    /// The file at the end of all symbolic links.
    target: PathBuf,
    /// The permissions of the old file; `None` if there is no file yet.
    permissions: Option<Permissions>,
}

impl Replaceable {
    /// Follows symbolic links to the file at a path.
    ///
    /// # Errors
    /// Returns an error if the path is not a regular file: pipes and devices cannot be replaced, and opening a pipe might
    /// block forever.
    pub fn at(path: &Path) -> io::Result<Replaceable> {
        /// The maximum number of links that Linux follows.
        const MOST_LINKS: usize = 40;
        let mut target = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let metadata = match fs::symlink_metadata(&target) {
                Ok(metadata) => metadata,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Replaceable {
                        target,
                        permissions: None,
                    });
                }
                Err(error) => return Err(error),
            };
            if metadata.is_file() {
                return Ok(Replaceable {
                    target,
                    permissions: Some(metadata.permissions()),
                });
            }
            if !metadata.is_symlink() {
                return Err(io::Error::other(format!(
                    "expected a regular file, found a {}",
                    file_kind(&metadata)
                )));
            }
            // A relative link is relative to its folder. `push` replaces the whole path by an absolute link.
            let link = fs::read_link(&target)?;
            target.pop();
            target.push(link);
        }
        Err(io::Error::other("too many symbolic links"))
    }

    /// Returns true if there is a file to replace.
    pub fn exists(&self) -> bool {
        self.permissions.is_some()
    }

    /// Replaces the file by one with these bytes and the permissions of the old file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. Then the old file is unchanged.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self.begin()?;
        file.write_all(bytes)?;
        file.finish()
    }

    /// Replaces the file by a complete temporary file of the same file system, which gets the permissions of the old file.
    ///
    /// # Errors
    /// Returns the errors of [`Replaceable::replace`].
    pub(super) fn take(&self, file: TempPath) -> io::Result<()> {
        if let Some(permissions) = &self.permissions {
            fs::set_permissions(&file, permissions.clone())?;
        }
        fs::File::open(&file)?.sync_all()?;
        file.persist(&self.target).map_err(|error| error.error)
    }

    /// Opens a temporary file that replaces the old one when it is finished.
    ///
    /// # Errors
    /// Returns an error if no file can be created in the folder.
    pub fn begin(&self) -> io::Result<Unfinished> {
        let folder = match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let temporary = new_file_in(folder)?;
        if let Some(permissions) = &self.permissions {
            temporary.as_file().set_permissions(permissions.clone())?;
        }
        Ok(Unfinished {
            temporary,
            target: self.target.clone(),
        })
    }
}

/// Creates a temporary file, which is deleted when it is dropped, with the default permissions of new files.
pub(super) fn new_file_in(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        // The umask restricts these permissions.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        // The error does not contain the name of the temporary file, which the user does not know.
        .map_err(|error| io::Error::from(error.kind()))
}

/// A temporary file that is going to replace another file. If it is dropped, the other file is unchanged.
#[derive(Debug)]
pub struct Unfinished {
    temporary: NamedTempFile,
    target: PathBuf,
}

impl Unfinished {
    /// Replaces the other file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written completely. Then the other file is unchanged.
    pub fn finish(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary
            .persist(&self.target)
            .map_err(|error| error.error)?;
        Ok(())
    }
}

impl io::Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.temporary.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn file_kind(metadata: &Metadata) -> &'static str {
    let file_type = metadata.file_type();
    if file_type.is_dir() {
        "directory"
    } else if file_type.is_fifo() {
        "pipe"
    } else if file_type.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn replace(path: &Path, text: &str) -> io::Result<()> {
        Replaceable::at(path)?.replace(text.as_bytes())
    }

    #[test]
    fn links_are_kept_and_their_target_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), "old").unwrap();
        symlink("sub/file", at("first")).unwrap();
        symlink(at("first"), at("second")).unwrap();
        symlink("../none", at("sub/dangling")).unwrap();
        symlink("loop", at("loop")).unwrap();
        replace(&at("second"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("sub/file")).unwrap(), "new");
        assert_eq!(fs::read_link(at("second")).unwrap(), at("first"));
        assert_eq!(fs::read_link(at("first")).unwrap(), Path::new("sub/file"));
        replace(&at("sub/dangling"), "made").unwrap();
        assert_eq!(fs::read_to_string(at("none")).unwrap(), "made");
        assert!(at("sub/dangling").is_symlink());
        assert!(replace(&at("loop"), "x").is_err());
        // Nothing temporary is left.
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 5);
        assert_eq!(fs::read_dir(at("sub")).unwrap().count(), 2);
    }

    #[test]
    fn the_mode_is_kept_and_a_new_file_has_the_default_mode() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o7777;
        fs::write(at("other"), "").unwrap();
        replace(&at("new"), "x").unwrap();
        assert_eq!(mode("new"), mode("other"));
        for kept in [0o600, 0o664, 0o640] {
            fs::set_permissions(at("new"), Permissions::from_mode(kept)).unwrap();
            replace(&at("new"), "y").unwrap();
            assert_eq!(mode("new"), kept);
        }
    }

    #[test]
    fn a_path_that_is_not_a_regular_file_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refusal = |path: &Path| Replaceable::at(path).unwrap_err().to_string();
        assert_eq!(
            refusal(directory.path()),
            "expected a regular file, found a directory"
        );
        assert_eq!(
            refusal(Path::new("/dev/null")),
            "expected a regular file, found a device"
        );
    }
}
