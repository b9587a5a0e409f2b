//! What the locations of a recording are called, found once for each when all samples are read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cg_debug_info::{ObjectFile, STUB};
use cg_names::demangle::demangle_path;
use cg_reader::Search;
use cg_stacks::address;
use cg_stacks::symbols::{BuildId, CountedFrom, FoundObject, FunctionAt, OutermostName};
use cg_stacks::table::{FrameId, FrameParts, NameId, StackTable};
use cg_stream::Diagnostics;
use cg_stream::intern::{Id as _, TooMany};
use cg_stream::maps::Map;
use cg_stream::record::{FrameMarks, Name};

use crate::kernel::{KernelSymbols, RecordedKernel};
use crate::locations::{CodePlace, Location, Locations, MappedObject, MappedObjectId, ObjectKind};

/// Build ids by the paths of objects.
#[derive(Default)]
pub(crate) struct KnownBuilds {
    pub(crate) by_path: BTreeMap<Vec<u8>, Vec<u8>>,
    /// All that the recording has were read: they stand behind the samples.
    pub(crate) are_all: bool,
    /// The folder of the recording.
    pub(crate) beside: Option<PathBuf>,
}

impl KnownBuilds {
    pub(crate) fn of<'a>(&'a self, object: &'a MappedObject) -> Option<&'a [u8]> {
        let of_mapping = object.build_id.as_ref();
        let found = of_mapping.or_else(|| self.by_path.get(&object.path));
        found.map(Vec::as_slice).filter(|id| !id.is_empty())
    }
}

/// The file of an object.
pub(crate) enum FoundFile {
    Found(ObjectFile),
    /// This one is there, and is another build.
    OtherBuild(PathBuf),
    Missing,
}

impl FoundFile {
    /// Looks for an object in the build that was recorded: at its path, below the roots, in perf's caches, beside the recording.
    /// Where the recording has no build id of it, the file at its path is taken for it, as perf does.
    pub(crate) fn find(object: &MappedObject, builds: &KnownBuilds, search: &Search) -> FoundFile {
        let path = object
            .path
            .strip_suffix(b" (deleted)")
            .unwrap_or(&object.path);
        let mut candidates = search.objects(Path::new(OsStr::from_bytes(path)));
        let build = builds.of(object);
        candidates.extend(build.into_iter().flat_map(|id| search.cached(id)));
        if let (Some(folder), Some(name)) =
            (&builds.beside, path.rsplit(|byte| *byte == b'/').next())
            && (build.is_some() || !builds.are_all)
        {
            let beside = folder.join(OsStr::from_bytes(name));
            candidates.extend(beside.is_file().then_some(beside));
        }
        let mut other = None;
        for candidate in candidates {
            let Ok(file) = ObjectFile::open(&candidate, &search.limits) else {
                continue;
            };
            match build {
                Some(id) if file.build_id() != Some(id) => {
                    other.get_or_insert(candidate);
                }
                _ => return FoundFile::Found(file),
            }
        }
        other.map_or(FoundFile::Missing, FoundFile::OtherBuild)
    }
}

/// The table that frames go into, and names of functions that were looked up: few of them are of one location alone.
struct NamedFrames<'t> {
    table: &'t mut StackTable,
    functions: Map<Vec<u8>, Option<NameId>>,
    demangle: bool,
}

impl NamedFrames<'_> {
    /// The name of a symbol, without what compilers append to that of a part or a variety of a function: perf prints both by
    /// the function's name.
    fn function(&mut self, symbol: &[u8]) -> Result<Option<NameId>, TooMany> {
        if let Some(known) = self.functions.get(symbol) {
            return Ok(*known);
        }
        let (called, stub) = match symbol.strip_suffix(STUB.as_bytes()) {
            Some(called) => (called, STUB),
            None => (symbol, ""),
        };
        let name = match self.demangle {
            true => demangle_path(called),
            false => Cow::Borrowed(called),
        };
        let clone = memchr::memmem::find(&name, b" [clone ");
        let name = [&name[..clone.unwrap_or(name.len())], stub.as_bytes()].concat();
        let name = self.table.given(&name)?;
        self.functions.insert(symbol.to_vec(), name);
        Ok(name)
    }

    /// The frames of the functions at an address, the innermost one first; all but the last are inlined.
    fn found(
        &mut self,
        found: &[FunctionAt],
        object: &MappedObject,
    ) -> Result<Vec<FrameId>, TooMany> {
        let obj = self.table.given(&object.path)?;
        let mut frames = Vec::with_capacity(found.len());
        for (level, function) in found.iter().enumerate() {
            let marks = FrameMarks {
                inlined: level + 1 < found.len(),
                ..FrameMarks::default()
            };
            let frame = FrameParts {
                name: self.function(function.name)?,
                file: self.table.given(function.file)?,
                line: function.line,
                obj,
                marks,
                ..FrameParts::default()
            };
            frames.push(self.table.frame(frame)?);
        }
        Ok(frames)
    }
}

/// The frames at places of objects.
type FoundFrames = Map<(MappedObjectId, u64), Vec<FrameId>>;

/// Why frames of an object have no name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamelessReason {
    Missing,
    OtherBuild(PathBuf),
    /// It is there, and says nothing of these addresses.
    Nothing,
    Made,
    Kernel,
}

/// The frames of a location, innermost first.
struct NamedLocation {
    frames: Vec<FrameId>,
    has_name: bool,
}

/// What locations are called.
pub(crate) struct LocationNames {
    named: Vec<NamedLocation>,
    reasons: BTreeMap<usize, NamelessReason>,
    /// By object: how many frames of samples have no name.
    nameless: BTreeMap<usize, u64>,
}

/// What it takes to find names.
pub(crate) struct NameSources<'a> {
    pub(crate) locations: &'a Locations,
    pub(crate) builds: &'a KnownBuilds,
    pub(crate) kernel: &'a RecordedKernel,
    pub(crate) search: &'a Search,
    pub(crate) demangle: bool,
    /// The table that has the names of code that was made.
    pub(crate) read: &'a StackTable,
}

impl NameSources<'_> {
    /// Names all locations; their frames go into `table`.
    pub(crate) fn find(&self, table: &mut StackTable) -> Result<LocationNames, TooMany> {
        let mut to = NamedFrames {
            table,
            functions: Map::default(),
            demangle: self.demangle,
        };
        let asked = |location: &Location| match location.place {
            CodePlace::Object(object, offset) => Some((object, looked_up(location, offset))),
            _ => None,
        };
        let mut asked: Vec<_> = self.locations.all().iter().filter_map(asked).collect();
        asked.sort_unstable();
        asked.dedup();
        let mut reasons = BTreeMap::new();
        let mut functions = FoundFrames::default();
        let mut has_kernel = false;
        for of_object in asked.chunk_by(|(a, _), (b, _)| a == b) {
            let (object, _) = of_object[0];
            let kind = self.locations.get(object).kind;
            has_kernel |= matches!(kind, ObjectKind::Kernel | ObjectKind::KernelModule);
            let offsets = of_object.iter().map(|(_, offset)| *offset);
            let reason = self.functions(object, offsets, &mut functions, &mut to)?;
            reasons.insert(object.index(), reason);
        }
        let kernel = has_kernel
            .then(|| KernelSymbols::find(self.kernel, self.search))
            .flatten();
        let mut named = Vec::new();
        for location in self.locations.all() {
            named.push(self.name(location, &functions, kernel.as_ref(), &mut to)?);
        }
        Ok(LocationNames {
            named,
            reasons,
            nameless: BTreeMap::new(),
        })
    }

    /// Adds the functions at offsets of an object; why others have none.
    fn functions(
        &self,
        object: MappedObjectId,
        offsets: impl Iterator<Item = u64>,
        functions: &mut FoundFrames,
        to: &mut NamedFrames,
    ) -> Result<NamelessReason, TooMany> {
        let mapped = self.locations.get(object);
        let file = match mapped.kind {
            ObjectKind::Made(_) => return Ok(NamelessReason::Made),
            ObjectKind::Kernel | ObjectKind::KernelModule => return Ok(NamelessReason::Kernel),
            ObjectKind::KernelMade | ObjectKind::NoFile => return Ok(NamelessReason::Nothing),
            ObjectKind::File => match FoundFile::find(mapped, self.builds, self.search) {
                FoundFile::Missing => return Ok(NamelessReason::Missing),
                FoundFile::OtherBuild(path) => return Ok(NamelessReason::OtherBuild(path)),
                FoundFile::Found(file) => FoundObject::of(file),
            },
        };
        let found = file.found(
            offsets,
            CountedFrom::File,
            OutermostName::Symbol,
            self.search,
        );
        for (offset, found) in found.iter() {
            functions.insert((object, offset), to.found(&found, mapped)?);
        }
        Ok(NamelessReason::Nothing)
    }

    fn name(
        &self,
        location: &Location,
        functions: &FoundFrames,
        kernel: Option<&KernelSymbols>,
        to: &mut NamedFrames,
    ) -> Result<NamedLocation, TooMany> {
        let (object, offset) = match location.place {
            CodePlace::Object(object, offset) => (object, offset),
            CodePlace::Made(name) => return made(self.read.text_of(name).as_bytes(), to.table),
            CodePlace::Nowhere => {
                let mut frame = unknown(to.table)?;
                frame.marks.kernel = location.is_kernel;
                return one(frame, false, to.table);
            }
        };
        let mapped = self.locations.get(object);
        let wanted = looked_up(location, offset);
        match mapped.kind {
            ObjectKind::Kernel | ObjectKind::KernelModule => self.kernel_frame(
                mapped,
                offset,
                kernel.and_then(|known| known.at(wanted)),
                to,
            ),
            ObjectKind::KernelMade => {
                let frame = FrameParts {
                    name: to.table.given(&mapped.path)?,
                    obj: to.table.given(&mapped.path)?,
                    marks: KERNEL,
                    ..FrameParts::default()
                };
                one(frame, true, to.table)
            }
            ObjectKind::Made(_) => {
                let mut frame = unknown(to.table)?;
                frame.obj = to.table.given(&mapped.path)?;
                one(frame, false, to.table)
            }
            ObjectKind::File | ObjectKind::NoFile => match functions.get(&(object, wanted)) {
                Some(frames) => Ok(NamedLocation {
                    frames: frames.clone(),
                    has_name: true,
                }),
                None => one(
                    address::in_object(to.table, &mapped.path, offset)?,
                    false,
                    to.table,
                ),
            },
        }
    }

    fn kernel_frame(
        &self,
        object: &MappedObject,
        address: u64,
        symbol: Option<(&[u8], Option<&[u8]>)>,
        to: &mut NamedFrames,
    ) -> Result<NamedLocation, TooMany> {
        let own = match object.kind {
            ObjectKind::Kernel => b"[kernel.kallsyms]".to_vec(),
            _ => module_name(&object.path),
        };
        match symbol {
            Some((name, module)) => {
                let frame = FrameParts {
                    name: to.function(name)?,
                    obj: to.table.given(module.unwrap_or(&own))?,
                    marks: KERNEL,
                    ..FrameParts::default()
                };
                one(frame, true, to.table)
            }
            None => {
                let mut frame = address::in_object(to.table, &own, address)?;
                frame.marks = KERNEL;
                one(frame, false, to.table)
            }
        }
    }
}

const KERNEL: FrameMarks = FrameMarks {
    kernel: true,
    jit: false,
    inlined: false,
    waker: false,
};

/// A frame of which nobody knows more than an address of the run, which no other run has: as perf prints it.
fn unknown(table: &mut StackTable) -> Result<FrameParts, TooMany> {
    Ok(FrameParts {
        name: table.given(b"[unknown]")?,
        ..FrameParts::default()
    })
}

/// The place that is asked for: a call is in front of where it returns to.
fn looked_up(location: &Location, offset: u64) -> u64 {
    offset.wrapping_sub(u64::from(location.is_caller))
}

fn one(
    frame: FrameParts,
    has_name: bool,
    table: &mut StackTable,
) -> Result<NamedLocation, TooMany> {
    let frames = vec![table.frame(frame)?];
    Ok(NamedLocation { frames, has_name })
}

/// Code that was made while the program ran. perf-map-agent writes what was inlined outermost first: `a->b->c`.
fn made(name: &[u8], table: &mut StackTable) -> Result<NamedLocation, TooMany> {
    let mut frames = Vec::new();
    let mut rest = name;
    loop {
        let arrow = memchr::memmem::rfind(rest, b"->").filter(|arrow| *arrow > 0);
        let name = table.given(arrow.map_or(rest, |arrow| &rest[arrow + 2..]))?;
        let marks = FrameMarks {
            jit: true,
            inlined: arrow.is_some(),
            ..FrameMarks::default()
        };
        frames.push(table.frame(FrameParts {
            name,
            marks,
            ..FrameParts::default()
        })?);
        match arrow {
            Some(arrow) => rest = &rest[..arrow],
            None => break,
        }
    }
    let has_name = true;
    Ok(NamedLocation { frames, has_name })
}

/// `/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz` is called `[ext4]`.
fn module_name(path: &[u8]) -> Vec<u8> {
    if path.starts_with(b"[") {
        return path.to_vec();
    }
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let end = memchr::memmem::find(name, b".ko").unwrap_or(name.len());
    let name = name[..end].iter().map(|byte| match byte {
        b'-' => b'_',
        byte => *byte,
    });
    [b'['].into_iter().chain(name).chain([b']']).collect()
}

impl LocationNames {
    /// The frames of a location, and the object of one that has no name.
    pub(crate) fn of(
        &self,
        position: usize,
        location: &Location,
    ) -> (&[FrameId], Option<MappedObjectId>) {
        let named = &self.named[position];
        let nameless = match (named.has_name, location.place) {
            (false, CodePlace::Object(object, _)) => Some(object),
            _ => None,
        };
        (&named.frames, nameless)
    }

    /// Counts frames of an object that have no name, in stacks that were sampled so often.
    pub(crate) fn count_nameless(&mut self, object: MappedObjectId, samples: u64) {
        let count = self.nameless.entry(object.index()).or_default();
        *count = count.saturating_add(samples);
    }

    /// Says which frames have no names, and what would give them some.
    pub(crate) fn tell(&self, source: &str, locations: &Locations, diagnostics: &mut Diagnostics) {
        const SHOWN: usize = 4;
        let mut sorted: Vec<(&usize, &u64)> = self.nameless.iter().collect();
        sorted.sort_by_key(|(object, count)| (std::cmp::Reverse(**count), **object));
        for (object, count) in sorted.iter().take(SHOWN) {
            let Some(reason) = self.reasons.get(*object) else {
                continue;
            };
            let path = Name::from_bytes(&locations.objects[**object].path).into_string();
            diagnostics.warn(format!(
                "{source}: {count} frames in {path} have no names: {reason}"
            ));
        }
        if let Some(others) = sorted.len().checked_sub(SHOWN).filter(|others| *others > 0) {
            let frames: u64 = sorted[SHOWN..].iter().map(|(_, count)| **count).sum();
            diagnostics.warn(format!(
                "{source}: {frames} frames in {others} other objects have no names either"
            ));
        }
    }
}

impl std::fmt::Display for NamelessReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NamelessReason::Missing => f.write_str(
                "it is not there in the build that was recorded; --debug-root DIR looks below DIR too",
            ),
            NamelessReason::OtherBuild(path) => write!(
                f,
                "{} is another build than was recorded; --debug-root DIR looks below DIR too",
                path.display()
            ),
            NamelessReason::Nothing => f.write_str(
                "neither it nor a debug file has symbols there; --debug-root DIR looks for debug files below DIR too",
            ),
            NamelessReason::Made => f.write_str(
                "it is code that was made while the program ran, and no /tmp/perf-PID.map or jit-PID.dump names it (java -XX:+DumpPerfMapAtExit, node --perf-basic-prof and their like write one)",
            ),
            NamelessReason::Kernel => f.write_str(
                "the kernel that was recorded is not the one that runs here, or /proc/kallsyms hides its addresses from this user; perf script as root names them: perf script -i FILE | cg-parse",
            ),
        }
    }
}

/// Objects of which another build than the recorded one was used.
pub(crate) fn other_builds<'a>(
    files: impl Iterator<Item = (MappedObjectId, &'a PathBuf)>,
    locations: &Locations,
    builds: &KnownBuilds,
    search: &Search,
) -> BTreeSet<usize> {
    let is_other = |(object, path): (MappedObjectId, &PathBuf)| {
        let id = builds.of(locations.get(object))?;
        let file = ObjectFile::open(path, &search.limits).ok();
        let is_same = file.is_some_and(|file| BuildId::Elf(id.to_vec()).is_of(&file));
        (!is_same).then(|| object.index())
    };
    files.filter_map(is_other).collect()
}
