//! The debug information of one object, and the lookups in it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cg_collections::maps::Set;
use gimli::{Dwarf, DwarfPackageSections, DwarfSections, EndianSlice, RunTimeEndian, Section};

use crate::chains::{Builder, ChainNode, ChainNodeId, Chains, Errors, SourcePlace};
use crate::dwarf::{
    DwarfUnits, KnownUnits, OpenUnit, Skeleton, Slice, Stop, load, load_package, unit_in_package,
};
use crate::limits::Steps;
use crate::lines::{LineTableRow, rows, set_lines};
use crate::names::{DwarfNames, SkeletonFiles};
use crate::object_file::ObjectFile;
use crate::part::{self, DwarfPart};
use crate::search::{DebugFile, DebugSource, Search};
use crate::walk::{NOTHING, RawNode, Walk};
use crate::{Error, Limits, path_from_bytes};

/// The DWARF of an object, in memory.
pub struct DebugInfo {
    search: Search,
    object: PathBuf,
    /// The debug file; `None` if it is the object itself.
    file: Option<ObjectFile>,
    source: DebugSource,
    endian: RunTimeEndian,
    sections: DwarfSections<Vec<u8>>,
    /// The units in the sections, if other units were not read.
    known_units: Option<KnownUnits>,
    alternate: Option<DwarfSections<Vec<u8>>>,
    package: Option<DwarfPackageSections<Vec<u8>>>,
    /// The name of dwz's alternate file, if it is missing.
    missing_alternate: Option<Vec<u8>>,
    /// The other files that belong to the object.
    beside: Vec<PathBuf>,
}

impl DebugInfo {
    /// Finds and reads the debug information of an object, in the object itself or in its debug file.
    ///
    /// # Errors
    /// Returns [`Error::NoDebugInfo`] if there is none, and other errors if it cannot be read.
    pub fn find(object: &ObjectFile, search: &Search) -> Result<DebugInfo, Error> {
        DebugInfo::read(object, search.debug_file(object)?, search)
    }

    /// Reads the debug information of an object, given its debug file.
    ///
    /// # Errors
    /// Returns an error if the debug information cannot be read.
    pub fn read(
        object: &ObjectFile,
        found: DebugFile,
        search: &Search,
    ) -> Result<DebugInfo, Error> {
        let mut info = DebugInfo::open(object, found, search)?;
        info.sections = load(info.file.as_ref().unwrap_or(object), false)?;
        Ok(info)
    }

    /// Finds the debug information of an object, and returns the chains and lines of [`DebugInfo::chains`] and the debug file.
    /// Skips the units without any of the addresses.
    ///
    /// # Errors
    /// Returns the errors of [`DebugInfo::find`].
    pub fn find_chains(
        object: &ObjectFile,
        search: &Search,
        addresses: &[u64],
    ) -> Result<(Chains, Option<ObjectFile>), Error> {
        let mut info = DebugInfo::open(object, search.debug_file(object)?, search)?;
        let is_alone =
            info.alternate.is_none() && info.missing_alternate.is_none() && info.package.is_none();
        let part = is_alone.then(|| part::load(info.file.as_ref().unwrap_or(object), addresses));
        if let Some(DwarfPart { sections, units }) = part.flatten() {
            (info.sections, info.known_units) = (sections, Some(units));
            let chains = info.chains(addresses);
            if chains.errors == Errors::default() {
                return Ok((chains, info.file));
            }
            info.known_units = None;
        }
        info.sections = load(info.file.as_ref().unwrap_or(object), false)?;
        Ok((info.chains(addresses), info.file))
    }

    /// Opens the files with the debug information of an object. The object's own sections are still empty.
    fn open(object: &ObjectFile, found: DebugFile, search: &Search) -> Result<DebugInfo, Error> {
        let DebugFile { file, source } = found;
        let read = file.as_ref().unwrap_or(object);
        let mut beside = Vec::new();
        let (mut alternate, mut missing_alternate) = (None, None);
        if let Some((name, _)) = read.alternate_link() {
            match search.alternate_file(read) {
                Some(file) => {
                    alternate = Some(load(&file, false)?);
                    beside.push(file.path().to_owned());
                }
                None => missing_alternate = Some(name),
            }
        }
        let package = match search.split_package(&[object.path(), read.path()]) {
            Some(file) => {
                beside.push(file.path().to_owned());
                Some(load_package(&file)?)
            }
            None => None,
        };
        Ok(DebugInfo {
            search: search.clone(),
            object: object.path().to_owned(),
            source,
            endian: read.dwarf_endian(),
            sections: DwarfSections::default(),
            known_units: None,
            alternate,
            package,
            missing_alternate,
            beside,
            file,
        })
    }

    /// Returns the other files with debug information of the object, except split units: dwz's alternate file and the
    /// package.
    pub fn beside(&self) -> &[PathBuf] {
        &self.beside
    }

    /// Returns the place in which the debug information was found.
    pub fn source(&self) -> &DebugSource {
        &self.source
    }

    /// Returns the debug file; `None` if it is the object itself. The debug file has symbols that a stripped object lacks.
    pub fn file(&self) -> Option<&ObjectFile> {
        self.file.as_ref()
    }

    /// Returns the chain of functions and the line at each of `addresses`, which have to be sorted and unique.
    ///
    /// Damaged parts do not affect other results: see [`Errors`].
    pub fn chains(&self, addresses: &[u64]) -> Chains {
        self.resolve(addresses, None)
    }

    /// Returns the addresses at which inlined code begins or ends, in units that contain some of `addresses`. Sorted and
    /// unique.
    pub fn edges(&self, addresses: &[u64]) -> Vec<u64> {
        let mut edges = Vec::new();
        self.resolve(addresses, Some(&mut edges));
        edges.sort_unstable();
        edges.dedup();
        edges
    }

    fn resolve(&self, addresses: &[u64], edges: Option<&mut Vec<u64>>) -> Chains {
        let mut builder = Builder::new(addresses.len());
        if let Some(name) = &self.missing_alternate {
            builder.errors().add_missing(name);
        }
        self.with_dwarf(|dwarf| {
            let mut resolve = Resolve {
                info: self,
                addresses,
                edges,
                raw: vec![NOTHING; addresses.len()],
                builder: &mut builder,
                tables: Set::default(),
                steps: Steps::new(&self.search.limits),
            };
            resolve.all(dwarf);
        });
        builder.finish()
    }

    /// Returns the rows of the line tables that overlap one of `ranges`, by address. The ranges have to be sorted and must
    /// not overlap each other.
    pub fn rows(&self, ranges: &[Range<u64>]) -> (Vec<LineTableRow>, Chains) {
        let mut builder = Builder::new(0);
        let mut kept = Vec::new();
        self.with_dwarf(|dwarf| {
            let mut steps = Steps::new(&self.search.limits);
            let mut seen = Set::default();
            let Ok(units) = DwarfUnits::new(dwarf, &self.search.limits) else {
                return;
            };
            for index in 0..units.len() {
                let read = units.open_root(index, &mut steps).and_then(|open| {
                    rows(
                        &units,
                        &open,
                        ranges,
                        &mut seen,
                        &mut builder,
                        &mut steps,
                        &mut kept,
                    )
                });
                if let Err(stop) = read
                    && record_stop(builder.errors(), &stop)
                {
                    return;
                }
            }
        });
        kept.sort_by_key(|row| (row.begin, row.end));
        (kept, builder.finish())
    }

    fn with_dwarf(&self, use_it: impl for<'d> FnOnce(&'d Dwarf<Slice<'d>>)) {
        let dwarf = borrow(&self.sections, self.alternate.as_ref(), self.endian);
        use_it(&dwarf);
    }
}

fn borrow<'a>(
    sections: &'a DwarfSections<Vec<u8>>,
    alternate: Option<&'a DwarfSections<Vec<u8>>>,
    endian: RunTimeEndian,
) -> Dwarf<Slice<'a>> {
    sections.borrow_with_sup(alternate, |bytes| EndianSlice::new(bytes, endian))
}

/// Records the reason for which work on a unit stopped. Returns true if work on the whole object has to stop.
fn record_stop(errors: &mut Errors, stop: &Stop) -> bool {
    let damage = match stop {
        Stop::Exhausted => {
            errors.exhausted = true;
            return true;
        }
        Stop::Damaged(error) => error.to_string(),
        Stop::Beyond(limit) => (*limit).to_owned(),
    };
    errors.damaged_units += 1;
    errors.first_damage.get_or_insert(damage);
    false
}

/// The chains of one object under construction.
struct Resolve<'r> {
    info: &'r DebugInfo,
    addresses: &'r [u64],
    /// The edges of inlined code, if only these are wanted.
    edges: Option<&'r mut Vec<u64>>,
    /// The innermost node at each address in the current unit; all [`NOTHING`] between units.
    raw: Vec<u32>,
    builder: &'r mut Builder,
    /// The line tables that were read.
    tables: Set<usize>,
    steps: Steps,
}

impl Resolve<'_> {
    fn all<'d>(&mut self, dwarf: &'d Dwarf<Slice<'d>>) {
        let limits = &self.info.search.limits;
        if let Err(stop) = self.in_units(dwarf, limits) {
            record_stop(self.builder.errors(), &stop);
        }
    }

    fn in_units<'d>(
        &mut self,
        dwarf: &'d Dwarf<Slice<'d>>,
        limits: &'d Limits,
    ) -> Result<(), Stop> {
        let units = match &self.info.known_units {
            Some(known) => DwarfUnits::known(dwarf, limits, known),
            None => DwarfUnits::new(dwarf, limits)?,
        };
        let alternate = dwarf
            .sup()
            .map(|alternate| DwarfUnits::new(alternate, limits))
            .transpose()?;
        let mut names = DwarfNames::new(&units, alternate.as_ref());
        for index in 0..units.len() {
            if let Err(stop) = self.in_unit(&units, index, &mut names)
                && record_stop(self.builder.errors(), &stop)
            {
                break;
            }
        }
        units.check_misses()
    }

    /// Resolves the addresses in one unit, or in its split unit.
    fn in_unit<'d>(
        &mut self,
        units: &DwarfUnits<'d>,
        index: usize,
        names: &mut DwarfNames<'_, 'd>,
    ) -> Result<(), Stop> {
        let root = units.open_root(index, &mut self.steps)?;
        if !Walk::new(units, self.addresses, &mut [], &mut self.steps).may_hold(&root)? {
            return Ok(());
        }
        let lines = match self.edges {
            Some(_) => Ok(()),
            None => set_lines(
                units,
                &root,
                self.addresses,
                &mut self.tables,
                self.builder,
                &mut self.steps,
            ),
        };
        let walked = match root.split_name {
            Some(name) => self.split(units, &root, names, name),
            None => {
                let open = units.open(index, &mut self.steps)?;
                self.unit(units, &open, names)
            }
        };
        walked.and(lines)
    }

    /// Walks one unit. Keeps the results, even if the walk fails midway.
    fn unit<'d>(
        &mut self,
        units: &DwarfUnits<'d>,
        open: &OpenUnit<'d>,
        names: &mut DwarfNames<'_, 'd>,
    ) -> Result<(), Stop> {
        let mut walk = Walk::new(units, self.addresses, &mut self.raw, &mut self.steps);
        if let Some(edges) = &mut self.edges {
            return walk.edges(open, edges);
        }
        let walked = walk.walk(open);
        let nodes = walk.nodes;
        let Some(written) = walk.written else {
            return walked;
        };
        let taken = self.take_over(&nodes, written.clone(), open, names);
        self.raw[written].fill(NOTHING);
        walked.and(taken)
    }

    /// Converts the nodes that contain an address, and their inliners, to chains.
    fn take_over<'d>(
        &mut self,
        nodes: &[RawNode],
        written: Range<usize>,
        open: &OpenUnit<'d>,
        names: &mut DwarfNames<'_, 'd>,
    ) -> Result<(), Stop> {
        let mut is_used = vec![false; nodes.len()];
        for number in self.raw[written.clone()]
            .iter()
            .filter(|number| **number != NOTHING)
        {
            is_used[*number as usize] = true;
        }
        // Inliners precede their inlinees.
        for number in (0..nodes.len()).rev() {
            if let (true, Some(host)) = (is_used[number], nodes[number].inlined_into) {
                is_used[host as usize] = true;
            }
        }
        let used = || nodes.iter().zip(&is_used).filter(|(_, is_used)| **is_used);
        let origins = used().map(|(node, _)| node.origin).collect();
        names.describe(origins, self.builder, &mut self.steps)?;
        let mut ids: Vec<Option<ChainNodeId>> = vec![None; nodes.len()];
        for (number, node) in nodes
            .iter()
            .enumerate()
            .filter(|(number, _)| is_used[*number])
        {
            let Some(function) = names.function(node.origin) else {
                continue;
            };
            let host = node.inlined_into.and_then(|host| ids[host as usize]);
            let inlined_into = host.map(|host| {
                let file = names.file(open, node.call_file, self.builder, &mut self.steps);
                (
                    host,
                    SourcePlace {
                        file,
                        line: node.call_line,
                    },
                )
            });
            ids[number] = Some(self.builder.node(ChainNode {
                inlined_into,
                function,
            }));
        }
        for (innermost, number) in self.builder.innermost()[written.clone()]
            .iter_mut()
            .zip(&self.raw[written])
        {
            if *number != NOTHING {
                *innermost = ids[*number as usize];
            }
        }
        Ok(())
    }

    /// Finds and walks the split unit of a skeleton unit.
    fn split<'d>(
        &mut self,
        units: &DwarfUnits<'d>,
        skeleton: &OpenUnit<'d>,
        names: &mut DwarfNames<'_, 'd>,
        name: Slice<'d>,
    ) -> Result<(), Stop> {
        let mut files = |number, builder: &mut Builder, steps: &mut Steps| {
            names.file(skeleton, number, builder, steps)
        };
        if let (Some(package), Some(id)) = (&self.info.package, skeleton.unit.dwo_id) {
            let endian = self.info.endian;
            let empty = EndianSlice::new(&[], endian);
            let package = package.borrow(|bytes| EndianSlice::new(bytes, endian), empty)?;
            if let Some(dwarf) = unit_in_package(&package, id, units.dwarf)?
                && self.split_units(&dwarf, units.limits, skeleton.skeleton(), &mut files)?
            {
                return Ok(());
            }
        }
        let directory = skeleton
            .unit
            .comp_dir
            .map_or(&b""[..], |directory| directory.slice());
        for path in (self.info.search).split_unit(&self.info.object, directory, name.slice()) {
            self.steps.take(100_000)?;
            if let Some(sections) = self.load_split(&path) {
                let mut dwarf = borrow(&sections, None, self.info.endian);
                dwarf.make_dwo(units.dwarf);
                if self.split_units(&dwarf, units.limits, skeleton.skeleton(), &mut files)? {
                    let called = path_from_bytes(directory);
                    let called = called.join(path_from_bytes(name.slice()));
                    self.builder.add_split_file(called, path);
                    return Ok(());
                }
            }
        }
        self.builder.errors().add_missing(name.slice());
        Ok(())
    }

    fn load_split(&mut self, path: &Path) -> Option<DwarfSections<Vec<u8>>> {
        let file = ObjectFile::open(path, &self.info.search.limits).ok()?;
        load(&file, true).ok()
    }

    /// Walks the unit that belongs to a skeleton. Returns false if `dwarf` does not contain it. The file is then from
    /// another build.
    fn split_units<'d>(
        &mut self,
        dwarf: &'d Dwarf<Slice<'d>>,
        limits: &'d Limits,
        skeleton: Skeleton<'d>,
        files: &mut SkeletonFiles<'_>,
    ) -> Result<bool, Stop> {
        self.steps.take(dwarf.debug_info.reader().len() as u64)?;
        let split = DwarfUnits::split(dwarf, limits, skeleton)?;
        let mut names = DwarfNames::split(&split, files);
        for index in 0..split.len() {
            let open = split.open(index, &mut self.steps)?;
            if open.unit.dwo_id.is_some() && open.unit.dwo_id == skeleton.id {
                return self.unit(&split, &open, &mut names).map(|()| true);
            }
        }
        Ok(false)
    }
}
