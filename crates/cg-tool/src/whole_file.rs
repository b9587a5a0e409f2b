//! Replacement of files: a concurrent reader sees the old file or the new one.
//!
//! The new contents have no name until they are complete, so that a tool that is killed leaves nothing behind. If the old file
//! cannot be replaced, such as a file that is mounted into a container, its contents are overwritten at the end.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

#[cfg_attr(not(unix), path = "whole_file/elsewhere.rs")]
#[cfg_attr(unix, path = "whole_file/unix.rs")]
mod system;

/// A regular file that may be replaced, or the path of a new one.
#[derive(Clone, Debug)]
pub struct Replaceable {
    /// The file at the end of all symbolic links.
    target: PathBuf,
    /// The properties of the old file; `None` if there is no file yet.
    old: Option<Metadata>,
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
                    return Ok(Replaceable { target, old: None });
                }
                Err(error) => return Err(error),
            };
            if metadata.is_file() {
                return Ok(Replaceable {
                    target,
                    old: Some(metadata),
                });
            }
            if !metadata.is_symlink() {
                return Err(io::Error::other(format!(
                    "expected a regular file, found a {}",
                    system::file_kind(&metadata)
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
        self.old.is_some()
    }

    /// Replaces the file by one with these bytes, and the owner and permissions of the old file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<Replaced> {
        let mut file = self.begin()?;
        file.write_all(bytes)?;
        file.finish()
    }

    /// Opens a file without a name, whose contents replace the old file when they are complete.
    ///
    /// # Errors
    /// Returns an error if no file can be created in the folder and there is no old file that can be written.
    pub fn begin(&self) -> io::Result<Unfinished> {
        let (file, obstacle) = match unnamed_in(self.folder()) {
            Ok(file) => (file, None),
            Err(error) if self.may_be_overwritten_after(&error) => {
                (unnamed_in(&std::env::temp_dir())?, Some(error))
            }
            Err(error) => return Err(self.name_missing_folder(error)),
        };
        Ok(Unfinished {
            file,
            target: self.clone(),
            obstacle,
        })
    }

    fn folder(&self) -> &Path {
        match self.target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Adds the name of the folder to an error about a missing one.
    fn name_missing_folder(&self, error: io::Error) -> io::Error {
        match error.kind() {
            kind @ io::ErrorKind::NotFound => {
                let folder = self.folder().display();
                io::Error::new(kind, format!("the directory {folder} does not exist"))
            }
            _ => error,
        }
    }

    /// Returns true if this error prevents only the replacement of the file, and the file itself can be written.
    fn may_be_overwritten_after(&self, error: &io::Error) -> bool {
        let prevents_replacement = matches!(
            error.kind(),
            io::ErrorKind::CrossesDevices
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::ResourceBusy
        );
        prevents_replacement && self.exists() && self.open_old().is_ok()
    }

    fn open_old(&self) -> io::Result<File> {
        File::options().write(true).open(&self.target)
    }

    /// Gives the owner and the permissions of the old file to a file.
    fn copy_properties(&self, file: &File) -> io::Result<()> {
        let Some(old) = &self.old else {
            return Ok(());
        };
        match system::copy_owner(old, file) {
            // Only root can give a file away. Overwriting keeps the owner, too.
            Err(error) if self.may_be_overwritten_after(&error) => return Err(error),
            _ => {}
        }
        // A change of the owner removes some permissions, so these are last.
        file.set_permissions(old.permissions())
    }
}

/// The way in which the contents of a file were replaced.
#[derive(Debug)]
#[must_use]
pub enum Replaced {
    /// By a new file, in one step.
    AtOnce,
    /// By writing into the old file, which cannot be replaced for this reason.
    InPlace(io::Error),
}

impl Replaced {
    /// Returns the message for a file that was not replaced in one step.
    pub fn warning(&self, name: &str) -> Option<String> {
        match self {
            Replaced::AtOnce => None,
            Replaced::InPlace(reason) => Some(format!(
                "{name}: the old file was overwritten, because it cannot be replaced ({})",
                reason.kind()
            )),
        }
    }
}

/// The new contents of a file. If they are dropped, the old file is unchanged.
#[derive(Debug)]
pub struct Unfinished {
    file: File,
    target: Replaceable,
    /// The reason that prevents the replacement of the old file.
    obstacle: Option<io::Error>,
}

impl Unfinished {
    /// Replaces the old file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written completely.
    pub fn finish(mut self) -> io::Result<Replaced> {
        let reason = match self.obstacle.take() {
            Some(reason) => reason,
            None => match self.replace() {
                Ok(()) => return Ok(Replaced::AtOnce),
                Err(error) if self.target.may_be_overwritten_after(&error) => error,
                Err(error) => return Err(self.target.name_missing_folder(error)),
            },
        };
        let mut old = self.target.open_old()?;
        self.file.rewind()?;
        let length = io::copy(&mut self.file, &mut old)?;
        old.set_len(length)?;
        old.sync_all()?;
        Ok(Replaced::InPlace(reason))
    }

    fn replace(&mut self) -> io::Result<()> {
        self.target.copy_properties(&self.file)?;
        self.file.sync_all()?;
        let target = &self.target.target;
        let folder = self.target.folder();
        if let Ok(named) =
            tempfile::Builder::new().make_in(folder, |path| system::give_name(&self.file, path))
        {
            return named.persist(target).map_err(|error| error.error);
        }
        // The system cannot give a name to a file without one.
        let mut named = system::named_file_in(folder)?;
        self.file.rewind()?;
        io::copy(&mut self.file, &mut named)?;
        self.target.copy_properties(named.as_file())?;
        named.as_file().sync_all()?;
        named.persist(target).map_err(|error| error.error)?;
        Ok(())
    }
}

impl io::Write for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a file without a name in a folder.
pub(super) fn unnamed_in(folder: &Path) -> io::Result<File> {
    system::nameable_file_in(folder).or_else(|_| {
        // The error does not contain the name of the temporary file, which the user does not know.
        tempfile::tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    fn replace(path: &Path, text: &str) -> io::Result<Replaced> {
        Replaceable::at(path)?.replace(text.as_bytes())
    }

    #[test]
    fn unfinished_file_leaves_nothing_in_the_folder() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = Replaceable::at(&directory.path().join("new"))
            .unwrap()
            .begin()
            .unwrap();
        file.write_all(b"text").unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert!(matches!(file.finish().unwrap(), Replaced::AtOnce));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn missing_folder_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("none");
        let error = replace(&folder.join("new"), "x").unwrap_err();
        let expected = format!("the directory {} does not exist", folder.display());
        assert_eq!(error.to_string(), expected);
        // It may be removed while the file is written.
        fs::create_dir(&folder).unwrap();
        let file = Replaceable::at(&folder.join("new"))
            .unwrap()
            .begin()
            .unwrap();
        fs::remove_dir(&folder).unwrap();
        assert_eq!(file.finish().unwrap_err().to_string(), expected);
    }

    #[test]
    fn file_that_cannot_be_replaced_is_overwritten_completely() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "longer than the new text").unwrap();
        let inode = fs::metadata(&path).unwrap().ino();
        let mut file = Replaceable::at(&path).unwrap().begin().unwrap();
        file.obstacle = Some(io::ErrorKind::ResourceBusy.into());
        file.write_all(b"new").unwrap();
        let replaced = file.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
        assert_eq!(
            replaced.warning("file").unwrap(),
            "file: the old file was overwritten, because it cannot be replaced (resource busy)"
        );
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
        let _ = replace(&at("second"), "new").unwrap();
        assert_eq!(fs::read_to_string(at("sub/file")).unwrap(), "new");
        assert_eq!(fs::read_link(at("second")).unwrap(), at("first"));
        assert_eq!(fs::read_link(at("first")).unwrap(), Path::new("sub/file"));
        let _ = replace(&at("sub/dangling"), "made").unwrap();
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
        let _ = replace(&at("new"), "x").unwrap();
        assert_eq!(mode("new"), mode("other"));
        for kept in [0o600, 0o664, 0o640] {
            fs::set_permissions(at("new"), Permissions::from_mode(kept)).unwrap();
            let _ = replace(&at("new"), "y").unwrap();
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
