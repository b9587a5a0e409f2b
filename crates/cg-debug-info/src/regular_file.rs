//! Opens paths from profiles and objects. Refuses everything except regular files, because opening other files can block or
//! have side effects.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use cg_collections::limits;

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
    let file = open_without_waiting(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Error::NotRegular);
    }
    let length = metadata.len();
    // A sparse file can claim terabytes. A compressed file system still stores more than a sixteenth of a real file.
    if length > SMALL && stored_length(&metadata) < length / 16 {
        return Err(Error::TooLarge);
    }
    limits::count_input(length);
    Ok(RegularFile { file, length })
}

#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let mut options = File::options();
    options.custom_flags(flags.bits().cast_signed());
    options.read(true).open(path)
}

/// Asks for the file type before opening, because other systems have no `O_NONBLOCK`.
#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Returns the number of bytes that a file takes on its disk.
#[cfg(unix)]
fn stored_length(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
fn stored_length(metadata: &Metadata) -> u64 {
    metadata.len()
}

/// Opens a regular file at a path from a profile.
///
/// # Errors
/// Returns an error if the path is not a regular file or cannot be opened.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    open(path).map(|regular| regular.file)
}

#[cfg(all(test, unix))]
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
