//! Files on systems without Unix's owners and permissions, such as Windows.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use tempfile::NamedTempFile;

/// Returns an error, because files without a name cannot get one.
pub(super) fn nameable_file_in(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns an error, because files without a name cannot get one.
pub(super) fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates a temporary file, which is deleted when it is dropped.
pub(super) fn named_file_in(folder: &Path) -> io::Result<NamedTempFile> {
    NamedTempFile::new_in(folder).map_err(|error| io::Error::from(error.kind()))
}

/// Does nothing: a new file has the owner and the access list that its folder determines.
pub(super) fn copy_owner(_: &Metadata, _: &File) -> io::Result<()> {
    Ok(())
}

/// Returns the name of the type of a file that is not a regular file.
pub(super) fn file_kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "directory"
    } else {
        "device"
    }
}
