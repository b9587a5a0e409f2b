//! Opening what a profile or an object names: regular files, and nothing that would block or answer to being opened.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::Error;

/// A regular file, and how large it is.
pub(crate) struct RegularFile {
    pub(crate) file: File,
    pub(crate) length: u64,
}

/// A file may claim this much whatever of it is on the disk; see [`open`].
const SMALL: u64 = 64 << 20;

/// Opens a regular file for reading. `O_NONBLOCK` keeps the opening of a FIFO from waiting for its writer; what was
/// opened is then looked at, not what stood at the path before.
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
    // A sparse file can claim terabytes. File systems that compress store a good part of what they claim.
    if length > SMALL && metadata.blocks().saturating_mul(512) < length / 16 {
        return Err(Error::TooLarge);
    }
    Ok(RegularFile { file, length })
}

/// Opens a regular file that a profile names, and nothing that would block or answer to being opened.
///
/// # Errors
/// Where it is none, or cannot be opened.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    open(path).map(|regular| regular.file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
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
    fn a_file_of_holes_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        assert!(matches!(open(&path), Err(Error::TooLarge)));
    }
}
