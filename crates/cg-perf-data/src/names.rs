//! The names of locations, looked up once each after all samples were read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use cg_collections::intern::{Id as _, TooMany};
use cg_collections::maps::Map;
use cg_debug_info::{ObjectFile, STUB, path_from_bytes};
use cg_names::demangle::demangle_path;
use cg_reader::{Search, plural};
use cg_stacks::address;
use cg_stacks::symbols::{BuildId, CountedFrom, FoundObject, FunctionAt, OutermostName};
use cg_stacks::table::{FrameId, FrameParts, NameId, StackTable};
use cg_stream::Diagnostics;
use cg_stream::record::{FrameMarks, Name};

use crate::kernel::{KernelSymbols, RecordedKernel};
use crate::locations::{CodePlace, Location, Locations, MappedObject, MappedObjectId, ObjectKind};

/// The build ids of objects, by path.
#[derive(Default)]
pub(crate) struct KnownBuilds {
    pub(crate) by_path: BTreeMap<Vec<u8>, Vec<u8>>,
    /// True once all build ids of the recording were read, which follow the samples.
    pub(crate) are_all: bool,
    /// The folder of the recording.
    pub(crate) beside: Option<PathBuf>,
}

impl KnownBuilds {
    pub(crate) fn build_id<'a>(&'a self, object: &'a MappedObject) -> Option<&'a [u8]> {
        let mapping_id = object.build_id.as_ref();
        let found = mapping_id.or_else(|| self.by_path.get(&object.path));
        found.map(Vec::as_slice).filter(|id| !id.is_empty())
    }
}

/// The file of an object.
pub(crate) enum FoundFile {
    Found(ObjectFile),
    /// Only this file was found, which is another build.
    OtherBuild(PathBuf),
    Missing,
}

impl FoundFile {
    /// Finds the recorded build of an object: at its path, below the roots, in perf's caches, and next to the recording. If
    /// the recording has no build id for the object, the file at its path is used, as in perf.
    pub(crate) fn find(object: &MappedObject, builds: &KnownBuilds, search: &Search) -> FoundFile {
        let path = object
            .path
            .strip_suffix(b" (deleted)")
            .unwrap_or(&object.path);
        let mut candidates = search.objects(&path_from_bytes(path));
        let build = builds.build_id(object);
        candidates.extend(build.into_iter().flat_map(|id| search.cached(id)));
        if let (Some(folder), Some(name)) =
            (&builds.beside, path.rsplit(|byte| *byte == b'/').next())
            && (build.is_some() || !builds.are_all)
        {
            let beside = folder.join(path_from_bytes(name));
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

/// The table of the written frames, and a cache of function names, because most functions have several locations.
struct NamedFrames<'t> {
    table: &'t mut StackTable,
    functions: Map<Vec<u8>, Option<NameId>>,
    demangle: bool,
}

impl NamedFrames<'_> {
    /// Returns the name of a symbol, without the suffixes that compilers add to parts or variants of a function. perf prints
    /// these by the function's name too.
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
        let name = self.table.text_unless_empty(&name)?;
        self.functions.insert(symbol.to_vec(), name);
        Ok(name)
    }

    /// Returns the frames at an address, innermost first. All except the last are inlined.
    fn found(
        &mut self,
        found: &[FunctionAt],
        object: &MappedObject,
    ) -> Result<Vec<FrameId>, TooMany> {
        let obj = self.table.text_unless_empty(&object.path)?;
        let mut frames = Vec::with_capacity(found.len());
        for (level, function) in found.iter().enumerate() {
            let marks = FrameMarks {
                inlined: level + 1 < found.len(),
                ..FrameMarks::default()
            };
            let frame = FrameParts {
                name: self.function(function.name)?,
                file: self.table.text_unless_empty(function.file)?,
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

/// The frames at each offset of each object.
type FoundFrames = Map<(MappedObjectId, u64), Vec<FrameId>>;

/// The reason why frames of an object have no name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamelessReason {
    Missing,
    OtherBuild(PathBuf),
    /// The object was found, but has no symbols at the addresses.
    Nothing,
    Made,
    Kernel,
}

/// The frames of a location, innermost first.
struct NamedLocation {
    frames: Vec<FrameId>,
    has_name: bool,
}

/// The names of locations.
pub(crate) struct LocationNames {
    named: Vec<NamedLocation>,
    reasons: BTreeMap<usize, NamelessReason>,
    /// The number of unnamed frames in samples, by object.
    nameless: BTreeMap<usize, u64>,
}

/// The inputs for finding names.
pub(crate) struct NameSources<'a> {
    pub(crate) locations: &'a Locations,
    pub(crate) builds: &'a KnownBuilds,
    pub(crate) kernel: &'a RecordedKernel,
    pub(crate) search: &'a Search,
    pub(crate) demangle: bool,
    /// The table with the names of generated code.
    pub(crate) read: &'a StackTable,
}

impl NameSources<'_> {
    /// Names all locations, and adds their frames to `table`.
    pub(crate) fn find(&self, table: &mut StackTable) -> Result<LocationNames, TooMany> {
        let mut to = NamedFrames {
            table,
            functions: Map::default(),
            demangle: self.demangle,
        };
        let lookup = |location: &Location| match location.place {
            CodePlace::Object(object, offset) => Some((object, looked_up(location, offset))),
            _ => None,
        };
        let mut lookups: Vec<_> = self.locations.all().iter().filter_map(lookup).collect();
        lookups.sort_unstable();
        lookups.dedup();
        let mut reasons = BTreeMap::new();
        let mut functions = FoundFrames::default();
        let mut in_kernel = Vec::new();
        for group in lookups.chunk_by(|(a, _), (b, _)| a == b) {
            let (object, _) = group[0];
            let kind = self.locations.get(object).kind;
            if matches!(kind, ObjectKind::Kernel | ObjectKind::KernelModule) {
                in_kernel.extend(group.iter().map(|(_, address)| *address));
            }
            let offsets = group.iter().map(|(_, offset)| *offset);
            let reason = self.functions(object, offsets, &mut functions, &mut to)?;
            reasons.insert(object.index(), reason);
        }
        in_kernel.sort_unstable();
        in_kernel.dedup();
        let kernel = (!in_kernel.is_empty())
            .then(|| KernelSymbols::find(self.kernel, self.search, &in_kernel))
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

    /// Adds the functions at offsets of an object. Returns the reason why other offsets have no name.
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
                FoundFile::Found(file) => FoundObject::new(file),
            },
        };
        let found = file.find_functions(
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
            CodePlace::Made(name) => return made(self.read.text_by_id(name).as_bytes(), to.table),
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
                    name: to.table.text_unless_empty(&mapped.path)?,
                    obj: to.table.text_unless_empty(&mapped.path)?,
                    marks: KERNEL,
                    ..FrameParts::default()
                };
                one(frame, true, to.table)
            }
            ObjectKind::Made(_) => {
                let mut frame = unknown(to.table)?;
                frame.obj = to.table.text_unless_empty(&mapped.path)?;
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
                    obj: to.table.text_unless_empty(module.unwrap_or(&own))?,
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

/// Returns a frame for an address that has a meaning only in this run, named as perf prints it.
fn unknown(table: &mut StackTable) -> Result<FrameParts, TooMany> {
    Ok(FrameParts {
        name: table.text_unless_empty(b"[unknown]")?,
        ..FrameParts::default()
    })
}

/// Returns the offset to look up. A return address follows its call, so the offset before it is used.
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

/// Returns the frames of generated code. perf-map-agent writes inlined functions outermost first: `a->b->c`.
fn made(name: &[u8], table: &mut StackTable) -> Result<NamedLocation, TooMany> {
    let mut frames = Vec::new();
    let mut rest = name;
    loop {
        let arrow = memchr::memmem::rfind(rest, b"->").filter(|arrow| *arrow > 0);
        let name = table.text_unless_empty(arrow.map_or(rest, |arrow| &rest[arrow + 2..]))?;
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

/// Converts a path such as `/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz` to perf's name, `[ext4]`.
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
    /// Returns the frames of a location, and its object if the location has no name.
    pub(crate) fn frames(
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

    /// Counts unnamed frames of an object, in stacks with this number of samples.
    pub(crate) fn count_nameless(&mut self, object: MappedObjectId, samples: u64) {
        let count = self.nameless.entry(object.index()).or_default();
        *count = count.saturating_add(samples);
    }

    /// Warns about frames without names, with the reason and a remedy.
    pub(crate) fn warn_nameless(
        &self,
        source: &str,
        locations: &Locations,
        diagnostics: &mut Diagnostics,
    ) {
        const SHOWN: usize = 4;
        let write = |frames: u64, place: &str| match frames {
            1 => format!("{source}: 1 frame in {place} has no name"),
            _ => format!("{source}: {frames} frames in {place} have no names"),
        };
        let mut sorted: Vec<(&usize, &u64)> = self.nameless.iter().collect();
        sorted.sort_by_key(|(object, count)| (std::cmp::Reverse(**count), **object));
        // A line about one other object would not be shorter.
        let shown = match sorted.len() <= SHOWN + 1 {
            true => sorted.len(),
            false => SHOWN,
        };
        for (object, count) in &sorted[..shown] {
            let Some(reason) = self.reasons.get(*object) else {
                continue;
            };
            let path = Name::from_bytes(&locations.objects[**object].path).into_string();
            diagnostics.warn(format!("{}: {reason}", write(**count, &path)));
        }
        if shown < sorted.len() {
            let others = &sorted[shown..];
            let frames = others.iter().map(|(_, count)| **count).sum();
            let place = plural(others.len() as u64, "other object", "other objects");
            diagnostics.warn(format!("{} either", write(frames, &place)));
        }
    }
}

impl std::fmt::Display for NamelessReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NamelessReason::Missing => f.write_str(
                "its recorded build was not found; --debug-root DIR also searches below DIR",
            ),
            NamelessReason::OtherBuild(path) => write!(
                f,
                "{} is another build than the recorded one; --debug-root DIR also searches below DIR",
                path.display()
            ),
            NamelessReason::Nothing => f.write_str(
                "neither the object nor a debug file has symbols there; --debug-root DIR also searches for debug files below DIR",
            ),
            NamelessReason::Made => f.write_str(
                "this is generated code, which no /tmp/perf-PID.map or jit-PID.dump names; java -XX:+DumpPerfMapAtExit, node --perf-basic-prof and similar options write such a file",
            ),
            NamelessReason::Kernel => f.write_str(
                "the recorded kernel is not the running one, or /proc/kallsyms hides its addresses from this user; as root, run perf script -i FILE | cg-parse",
            ),
        }
    }
}

/// Returns the objects for which another build than the recorded one was used.
pub(crate) fn other_builds<'a>(
    files: impl Iterator<Item = (MappedObjectId, &'a PathBuf)>,
    locations: &Locations,
    builds: &KnownBuilds,
    search: &Search,
) -> BTreeSet<usize> {
    let is_other = |(object, path): (MappedObjectId, &PathBuf)| {
        let id = builds.build_id(locations.get(object))?;
        let file = ObjectFile::open(path, &search.limits).ok();
        let is_same = file.is_some_and(|file| BuildId::Elf(id.to_vec()).matches(&file));
        (!is_same).then(|| object.index())
    };
    files.filter_map(is_other).collect()
}
