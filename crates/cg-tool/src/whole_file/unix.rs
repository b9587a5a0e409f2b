//! Files, owners and permissions on Unix.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, fchown};
use std::path::Path;

use tempfile::NamedTempFile;

/// The permissions of new files, which the umask restricts.
const NEW_FILE: u32 = 0o666;

/// Creates a file without a name that can get one later.
///
/// # Errors
/// Returns an error if the system or the file system has no such files.
#[cfg(target_os = "linux")]
pub(super) fn nameable_file_in(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    File::options()
        .read(true)
        .write(true)
        .mode(NEW_FILE)
        .custom_flags(rustix::fs::OFlags::TMPFILE.bits().cast_signed())
        .open(folder)
}

/// Gives a name to a file that has none.
///
/// # Errors
/// Returns an error if the file cannot get a name, or if the name is taken.
#[cfg(target_os = "linux")]
pub(super) fn give_name(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;

    let open_file = format!("/proc/self/fd/{}", file.as_raw_fd());
    linkat(CWD, open_file, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn nameable_file_in(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn give_name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Creates a temporary file, which is deleted when it is dropped, with the default permissions of new files.
pub(super) fn named_file_in(folder: &Path) -> io::Result<NamedTempFile> {
    tempfile::Builder::new()
        .permissions(Permissions::from_mode(NEW_FILE))
        .tempfile_in(folder)
        .map_err(|error| io::Error::from(error.kind()))
}

/// Gives the owner and the group of an old file to a new one.
///
/// # Errors
/// Returns an error if this user may not give files away.
pub(super) fn copy_owner(old: &Metadata, new: &File) -> io::Result<()> {
    let own = new.metadata()?;
    if (own.uid(), own.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    fchown(new, Some(old.uid()), Some(old.gid()))
}

/// Returns the name of the type of a file that is not a regular file.
pub(super) fn file_kind(metadata: &Metadata) -> &'static str {
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
