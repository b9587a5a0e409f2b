//! Where objects and their debug files are looked for.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::kept::KeptObjects;
use crate::object_file::ObjectFile;
use crate::regular_file;
use crate::{Error, Limits};

/// Where debug packages of distributions are.
const SYSTEM: &str = "/usr/lib/debug";

/// Where the debug information of an object was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugSource {
    /// In the object itself.
    Object,
    /// In a file that is named after its build id.
    BuildId(PathBuf),
    /// In the file that its `.gnu_debuglink` names.
    DebugLink(PathBuf),
}

impl DebugSource {
    /// `object`, `build-id` or `debuglink`.
    pub fn name(&self) -> &'static str {
        match self {
            DebugSource::Object => "object",
            DebugSource::BuildId(_) => "build-id",
            DebugSource::DebugLink(_) => "debuglink",
        }
    }
}

/// The file that has an object's debug information. Of a debug file nothing but its table of sections was read.
pub struct DebugFile {
    /// None where it is the object.
    pub file: Option<ObjectFile>,
    /// Where it was found.
    pub source: DebugSource,
}

/// Places to look in, besides those that everybody looks in. The default is no folder but perf's own.
#[derive(Debug, Clone)]
pub struct Search {
    /// Directories that stand in for the root of the file system, hold debug files, or both.
    pub roots: Vec<PathBuf>,
    /// Where perf keeps copies of objects by their build ids: `~/.debug` unless it is told otherwise.
    pub caches: Vec<PathBuf>,
    /// The program that was profiled, wherever it lies and whatever it is called: for profiles that do not say by a build
    /// id which one it was.
    pub exe: Option<PathBuf>,
    /// Where copies of the objects that were resolved are kept, for `roots` of later days.
    pub keep: Option<KeptObjects>,
    /// What reading a file may cost.
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

/// Where perf keeps copies of objects (`set_buildid_dir` in tools/perf/util/config.c): where the environment says, or below
/// the user's home.
fn perf_caches() -> Option<PathBuf> {
    let given = std::env::var_os("PERF_BUILDID_DIR").map(PathBuf::from);
    given.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".debug")))
}

impl Search {
    /// The files that may be the object which a profile names: below each root by its path, by its name alone and as it was
    /// kept, then the path itself. Which of them was profiled is for its code or its build id to say.
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

    /// The copies of an object that perf may have kept: `.build-id/XX/REST/elf`.
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

    /// The file that has an object's debug information: the object itself, or the debug file that belongs to it.
    ///
    /// # Errors
    /// [`Error::NoDebugInfo`] where there is none. A file that does not belong to the object is passed over.
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

    /// `.build-id/xx/yyyy.debug`, under the roots and where the system keeps it.
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

    /// As GDB looks for it: beside the object, in `.debug` there, and in the same directory of the debug files.
    fn by_link(&self, object: &Path, name: &[u8]) -> Vec<PathBuf> {
        // The name of a file, not a way to somewhere else.
        let Some(name) = Path::new(OsStr::from_bytes(name)).file_name() else {
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

    /// The file that dwz moved shared debug information to.
    pub(crate) fn alternate_file(&self, file: &ObjectFile) -> Option<ObjectFile> {
        let (name, build_id) = file.alternate_link()?;
        let name = Path::new(OsStr::from_bytes(&name));
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

    /// Where a split unit may be: where the compiler wrote it, beside the object, below the roots.
    pub(crate) fn split_unit(&self, object: &Path, directory: &[u8], name: &[u8]) -> Vec<PathBuf> {
        let written = Path::new(OsStr::from_bytes(directory)).join(OsStr::from_bytes(name));
        let beside = object.parent().unwrap_or(Path::new("."));
        // Those of a kept object are below it, under the names that it has for them.
        let mut paths = match below(beside, &written) {
            kept if kept.is_file() => vec![kept],
            _ => Vec::new(),
        };
        paths.extend([written.clone(), beside.join(OsStr::from_bytes(name))]);
        paths.extend(written.file_name().map(|name| beside.join(name)));
        for root in &self.roots {
            paths.push(below(root, &written));
            paths.extend(written.file_name().map(|name| root.join(name)));
        }
        paths
    }

    /// The package of all split units of an object: its name with `.dwp` behind it.
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

/// A path as if `root` were the root of the file system. It does not leave `root`.
pub(crate) fn below(root: &Path, path: &Path) -> PathBuf {
    let inner = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)));
    root.join(inner.collect::<PathBuf>())
}

/// Whether a debug file is of this very object: by build ids where both have one, else by the checksum in the link.
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
