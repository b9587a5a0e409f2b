//! Copies of object files and related files, by build id. The profiled build can then be found even if its path has another
//! build.
//!
//! `.build-id/XX/REST/elf` is the object and `.build-id/XX/REST.debug` is its debug file, so perf and GDB find them too.
//! `by-path/PATH/XXREST` is a link to the object, for profiles that have only its path. Split units and packages are in the
//! directory of the object, under the names that the search uses.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read as _};
#[cfg(unix)]
use std::os::unix::fs::symlink;
#[cfg(windows)]
use std::os::windows::fs::symlink_file as symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::regular_file;
use crate::search::below;

/// A directory with copies of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptObjects {
    directory: PathBuf,
}

/// The directory with links by path.
const BY_PATH: &str = "by-path";
/// The maximum number of builds of one object to try, because each try reads the profile again.
const MAX_BUILDS: usize = 32;

impl KeptObjects {
    /// Creates a store in a directory, which need not exist yet.
    pub fn new(directory: PathBuf) -> KeptObjects {
        KeptObjects { directory }
    }

    /// Returns the directory of the store.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Copies an object and related files, unless they are already in the store. `path` is the object's path in profiles.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or written.
    pub fn keep(
        &self,
        path: &Path,
        object: &Path,
        build_id: Option<&[u8]>,
        debug_file: Option<&Path>,
        beside: &[PathBuf],
        split_files: &[(PathBuf, PathBuf)],
    ) -> io::Result<()> {
        let id = match build_id {
            Some(id) if id.len() > 1 => id.iter().map(|byte| format!("{byte:02x}")).collect(),
            _ => content_id(object)?,
        };
        let (first, rest) = id.split_at(2);
        let folder = self.directory.join(".build-id").join(first);
        let own = folder.join(rest);
        fs::create_dir_all(&own)?;
        copy(object, &own.join("elf"))?;
        if let Some(debug_file) = debug_file {
            copy(debug_file, &folder.join(format!("{rest}.debug")))?;
            // A debug link contains the file name of the debug file.
            let name = debug_file.file_name().unwrap_or(OsStr::new("debug"));
            link(Path::new(&format!("../{rest}.debug")), &own.join(name))?;
        }
        for file in beside {
            let name = match file.extension() {
                Some(extension) if extension == "dwp" => OsStr::new("elf.dwp"),
                _ => file.file_name().unwrap_or(OsStr::new("debug")),
            };
            copy(file, &own.join(name))?;
        }
        for (called, file) in split_files {
            let to = below(&own, called);
            fs::create_dir_all(to.parent().unwrap_or(&own))?;
            copy(file, &to)?;
        }
        let links = below(&self.directory.join(BY_PATH), path);
        fs::create_dir_all(&links)?;
        let up: PathBuf = (links.strip_prefix(&self.directory).into_iter())
            .flat_map(Path::components)
            .map(|_| "..")
            .collect();
        link(
            &up.join(".build-id").join(first).join(rest).join("elf"),
            &links.join(&id),
        )
    }

    /// Returns the kept builds of an object, latest first.
    pub(crate) fn builds(&self, path: &Path) -> Vec<PathBuf> {
        let links = below(&self.directory.join(BY_PATH), path);
        let Ok(entries) = fs::read_dir(links) else {
            return Vec::new();
        };
        let mut builds: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| fs::canonicalize(entry.ok()?.path()).ok())
            .filter_map(|file| Some((fs::metadata(&file).ok()?.modified().ok()?, file)))
            .collect();
        builds.sort();
        let latest = builds.into_iter().rev().take(MAX_BUILDS);
        latest.map(|(_, file)| file).collect()
    }
}

/// Computes a replacement for a missing build id: a checksum of the file's contents, and its length.
fn content_id(path: &Path) -> io::Result<String> {
    let mut file = regular_file::open(path).map_err(io::Error::other)?.file;
    let mut sum = flate2::Crc::new();
    let mut length = 0_u64;
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(format!("{:08x}{length:016x}", sum.sum())),
            read => {
                sum.update(&buffer[..read]);
                length += read as u64;
            }
        }
    }
}

/// Copies a file unless the target exists. Other processes never see an incomplete file.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    let mut name = OsString::from(".");
    name.push(to.file_name().unwrap_or(OsStr::new("new")));
    name.push(format!(".{}", std::process::id()));
    let unfinished = to.with_file_name(name);
    fs::copy(from, &unfinished)?;
    fs::rename(&unfinished, to)
}

/// Creates a link unless the path exists.
fn link(target: &Path, at: &Path) -> io::Result<()> {
    match symlink(target, at) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_an_object_are_found_by_path_latest_first() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let store = KeptObjects::new(at("store"));
        let object = Path::new("/opt/demo/bin/demo");
        assert_eq!(store.builds(object), Vec::<PathBuf>::new());
        fs::write(at("demo"), "one").unwrap();
        fs::write(at("demo.debug"), "debug").unwrap();
        fs::write(at("a.dwo"), "split").unwrap();
        let id = [0xab, 0xcd, 0x01];
        for _ in 0..2 {
            let debug = at("demo.debug");
            let split = [("/src/a.dwo".into(), at("a.dwo"))];
            store
                .keep(object, &at("demo"), Some(&id), Some(&debug), &[], &split)
                .unwrap();
        }
        fs::write(at("demo"), "two").unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        store
            .keep(object, &at("demo"), None, None, &[], &[])
            .unwrap();
        let unnamed = store
            .builds(object)
            .into_iter()
            .find(|path| !path.ends_with("cd01/elf"));
        fs::File::open(unnamed.unwrap())
            .unwrap()
            .set_modified(later)
            .unwrap();
        let texts = store
            .builds(object)
            .into_iter()
            .map(|path| fs::read_to_string(path).unwrap());
        assert_eq!(texts.collect::<Vec<_>>(), ["two", "one"]);
        let kept = at("store/.build-id/ab");
        for file in [
            "cd01/elf",
            "cd01.debug",
            "cd01/demo.debug",
            "cd01/src/a.dwo",
        ] {
            assert!(kept.join(file).is_file(), "{file}");
        }
    }
}
