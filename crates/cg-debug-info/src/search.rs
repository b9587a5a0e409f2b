//! The search for objects and their debug files.

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use crate::kept::KeptObjects;
use crate::object_file::ObjectFile;
use crate::regular_file;
use crate::{Error, Limits, path_from_bytes};

/// The directory of distributions' debug packages.
const SYSTEM: &str = "/usr/lib/debug";

/// The place in which an object's debug information was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugSource {
    /// The object itself.
    Object,
    /// A file named after the object's build id.
    BuildId(PathBuf),
    /// The file in the object's `.gnu_debuglink`.
    DebugLink(PathBuf),
}

impl DebugSource {
    /// Returns the name in records: `object`, `build-id` or `debuglink`.
    pub fn name(&self) -> &'static str {
        match self {
            DebugSource::Object => "object",
            DebugSource::BuildId(_) => "build-id",
            DebugSource::DebugLink(_) => "debuglink",
        }
    }
}

/// The file with an object's debug information. Only the table of sections of a debug file has been read.
pub struct DebugFile {
    /// The debug file; `None` if it is the object itself.
    pub file: Option<ObjectFile>,
    /// The place in which it was found.
    pub source: DebugSource,
}

/// Places to search, in addition to the standard places. By default there is only perf's own directory.
#[derive(Debug, Clone)]
pub struct Search {
    /// Directories that replace the root of the file system, contain debug files, or both.
    pub roots: Vec<PathBuf>,
    /// The directories in which perf keeps copies of objects by build id. By default `~/.debug`.
    pub caches: Vec<PathBuf>,
    /// The profiled program, at any path and under any name, for profiles without its build id.
    pub exe: Option<PathBuf>,
    /// The store for copies of resolved objects. Later runs can use it as one of the `roots`.
    pub keep: Option<KeptObjects>,
    /// The limits on reading a file.
    pub limits: Limits,
}

impl Default for Search {
    fn default() -> Search {
        Search {
            exe: None,
            keep: None,
            roots: Vec::new(),
            caches: perf_caches().into_iter().collect(),
            limits: Limits::default(),
        }
    }
}

/// Returns the directory in which perf keeps copies of objects (`set_buildid_dir` in tools/perf/util/config.c): the
/// directory in the environment, or `.debug` in the user's home.
fn perf_caches() -> Option<PathBuf> {
    let given = std::env::var_os("PERF_BUILDID_DIR").map(PathBuf::from);
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".debug")))
}

impl Search {
    /// Returns the files that may be an object of a profile. Below each root, these are the object's path, its file name,
    /// and its kept copies. The path itself is last. The caller has to check code or build id to find the profiled object.
    pub fn objects(&self, path: &Path) -> Vec<PathBuf> {
        let mut candidates = Vec::new();
        for root in &self.roots {
            candidates.push(below(root, path));
            if let Some(name) = path.file_name() {
                candidates.push(root.join(name));
            }
            candidates.extend(KeptObjects::new(root.clone()).builds(path));
        }
        candidates.push(path.to_owned());
        candidates.dedup();
        candidates.retain(|candidate| candidate.is_file());
        candidates
    }

    /// Returns the copies of an object that perf has kept: `.build-id/XX/REST/elf`.
    pub fn cached(&self, build_id: &[u8]) -> Vec<PathBuf> {
        let digits: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (Some(first), Some(rest)) = (digits.get(..2), digits.get(2..)) else {
            return Vec::new();
        };
        let kept = self.caches.iter().chain(&self.roots).flat_map(|cache| {
            let folder = cache.join(".build-id").join(first).join(rest);
            ["elf", "vdso"].map(|name| folder.join(name))
        });
        kept.filter(|path| path.is_file()).collect()
    }

    /// Finds the file with an object's debug information: the object itself, or its debug file. Skips files that do not
    /// belong to the object.
    ///
    /// # Errors
    /// Returns [`Error::NoDebugInfo`] if there is no such file.
    pub fn debug_file(&self, object: &ObjectFile) -> Result<DebugFile, Error> {
        if object.has_debug_info() {
            return Ok(DebugFile {
                file: None,
                source: DebugSource::Object,
            });
        }
        if let Some(build_id) = object.build_id() {
            for path in self.by_build_id(build_id) {
                if let Ok(file) = ObjectFile::open(&path, &self.limits)
                    && file.has_debug_info()
                    && file.build_id() == Some(build_id)
                {
                    return Ok(DebugFile {
                        file: Some(file),
                        source: DebugSource::BuildId(path),
                    });
                }
            }
        }
        if let Some((name, checksum)) = object.debug_link() {
            for path in self.by_link(object.path(), &name) {
                if let Ok(file) = ObjectFile::open(&path, &self.limits)
                    && file.has_debug_info()
                    && belongs(&file, object, checksum)
                {
                    return Ok(DebugFile {
                        file: Some(file),
                        source: DebugSource::DebugLink(path),
                    });
                }
            }
        }
        Err(Error::NoDebugInfo)
    }

    /// Returns the candidate paths `.build-id/xx/yyyy.debug`, below the roots and in the system's directory.
    fn by_build_id(&self, build_id: &[u8]) -> Vec<PathBuf> {
        let digits: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (Some(first), Some(rest)) = (digits.get(..2), digits.get(2..)) else {
            return Vec::new();
        };
        let file = format!(".build-id/{first}/{rest}.debug");
        let mut paths = Vec::new();
        for root in &self.roots {
            paths.push(root.join(&file));
            paths.push(below(root, Path::new(SYSTEM)).join(&file));
        }
        paths.push(Path::new(SYSTEM).join(&file));
        paths
    }

    /// Returns the candidate paths for a debug link, as in GDB: the directory of the object, `.debug` in it, and the same
    /// directory below the directory of debug files.
    fn by_link(&self, object: &Path, name: &[u8]) -> Vec<PathBuf> {
        // Use only the file name, so that the link cannot lead to another directory.
        let name = path_from_bytes(name);
        let Some(name) = name.file_name() else {
            return Vec::new();
        };
        let directory = object.parent().unwrap_or(Path::new("."));
        let real = directory
            .canonicalize()
            .unwrap_or_else(|_| directory.to_owned());
        let mut paths = vec![directory.join(name), directory.join(".debug").join(name)];
        for root in &self.roots {
            paths.push(below(&below(root, Path::new(SYSTEM)), &real).join(name));
            paths.push(below(root, &real).join(name));
            paths.push(root.join(name));
        }
        paths.push(below(Path::new(SYSTEM), &real).join(name));
        paths
    }

    /// Finds the file into which dwz moved shared debug information.
    pub(crate) fn alternate_file(&self, file: &ObjectFile) -> Option<ObjectFile> {
        let (name, build_id) = file.alternate_link()?;
        let name = &path_from_bytes(&name);
        let directory = file.path().parent().unwrap_or(Path::new("."));
        let mut paths: Vec<PathBuf> = self.by_build_id(&build_id);
        paths.insert(0, directory.join(name));
        paths.extend(name.file_name().map(|name| directory.join(name)));
        for root in &self.roots {
            paths.push(below(root, name));
            paths.extend(name.file_name().map(|name| root.join(name)));
        }
        let open = |path: &PathBuf| ObjectFile::open(path, &self.limits).ok();
        (paths.iter().filter_map(open)).find(|file| file.build_id() == Some(&build_id))
    }

    /// Returns the candidate paths of a split unit: the compiler's output path, the directory of the object, and the roots.
    pub(crate) fn split_unit(&self, object: &Path, directory: &[u8], name: &[u8]) -> Vec<PathBuf> {
        let written = path_from_bytes(directory).join(path_from_bytes(name));
        let beside = object.parent().unwrap_or(Path::new("."));
        // The split units of a kept object are below the object's directory, under their original paths.
        let mut paths = match below(beside, &written) {
            kept if kept.is_file() => vec![kept],
            _ => Vec::new(),
        };
        paths.extend([written.clone(), beside.join(path_from_bytes(name))]);
        paths.extend(written.file_name().map(|name| beside.join(name)));
        for root in &self.roots {
            paths.push(below(root, &written));
            paths.extend(written.file_name().map(|name| root.join(name)));
        }
        paths
    }

    /// Finds the package of all split units of an object: the object's name followed by `.dwp`.
    pub(crate) fn split_package(&self, objects: &[&Path]) -> Option<ObjectFile> {
        let mut paths = Vec::new();
        for object in objects {
            let mut path = object.as_os_str().to_owned();
            path.push(".dwp");
            let path = PathBuf::from(path);
            for root in &self.roots {
                paths.push(below(root, &path));
                paths.extend(path.file_name().map(|name| root.join(name)));
            }
            paths.push(path);
        }
        (paths.iter()).find_map(|path| ObjectFile::open(path, &self.limits).ok())
    }
}

/// Returns the path below `root`, as if `root` were the root of the file system. The result never leaves `root`.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    let inner = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)));
    root.join(inner.collect::<PathBuf>())
}

/// Returns true if a debug file belongs to this object: by build ids if both have one, else by the checksum in the link.
fn belongs(file: &ObjectFile, object: &ObjectFile, checksum: u32) -> bool {
    match (file.build_id(), object.build_id()) {
        (Some(a), Some(b)) => a == b,
        _ => checksum_of(file.path()).is_ok_and(|sum| sum == checksum),
    }
}

fn checksum_of(path: &Path) -> Result<u32, Error> {
    let mut file = regular_file::open(path)?.file;
    let mut sum = flate2::Crc::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(sum.sum()),
            read => sum.update(&buffer[..read]),
        }
    }
}
