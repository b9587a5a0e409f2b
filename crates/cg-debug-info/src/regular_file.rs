//! Opens paths from profiles and objects. Refuses everything except regular files, because opening other files can block or
//! have side effects.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::Error;

/// A regular file, and its size.
pub(crate) struct RegularFile {
    pub(crate) file: File,
    pub(crate) length: u64,
}

/// The maximum size of a file that is not checked for holes; see [`open`].
const SMALL: u64 = 64 << 20;

/// Opens a regular file for reading. With `O_NONBLOCK`, opening a FIFO does not wait for its writer. The check of the file
/// type applies to the opened file, because the path may have changed since.
pub(crate) fn open(path: &Path) -> Result<RegularFile, Error> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::NotRegular);
    }
    let length = metadata.len();
    // A sparse file can claim terabytes. A compressed file system still stores more than a sixteenth of a real file.
    if length > SMALL && metadata.blocks().saturating_mul(512) < length / 16 {
        return Err(Error::TooLarge);
    }
    Ok(RegularFile { file, length })
}

/// Opens a regular file at a path from a profile.
///
/// # Errors
/// Returns an error if the path is not a regular file or cannot be opened.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    open(path).map(|regular| regular.file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(open(folder.path()), Err(Error::NotRegular)));
        assert!(matches!(
            open(Path::new("/dev/null")),
            Err(Error::NotRegular)
        ));
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        assert!(matches!(open(&fifo), Err(Error::NotRegular)));
        assert!(matches!(
            open(&folder.path().join("none")),
            Err(Error::Io(_))
        ));
    }

    #[test]
    fn a_sparse_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(open(&path), Err(Error::TooLarge)));
    }
}
