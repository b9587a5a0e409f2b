//! Where code was running: an object and a place in it, each pair once.

use cg_stacks::table::NameId;
use cg_stream::intern::{Bytes, Id, Keys, TooMany};

cg_stream::ids! {
    /// An object that code was mapped from.
    pub(crate) struct MappedObjectId;
    /// A place in one.
    pub(crate) struct LocationId;
}

/// A place that code was at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CodePlace {
    /// At an offset of the object's file; of the kernel, at an address.
    Object(MappedObjectId, u64),
    /// In code that was made while the program ran, and has a name.
    Made(NameId),
    /// Where nothing was mapped.
    Nowhere,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Location {
    pub(crate) place: CodePlace,
    pub(crate) is_kernel: bool,
    /// It is where a call returns to: the call itself is in front of it.
    pub(crate) is_caller: bool,
    /// It was found by unwinding the frame that is further inside.
    pub(crate) is_unwound: bool,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    File,
    /// Memory without a file, in which this process makes code.
    Made(u32),
    Kernel,
    KernelModule,
    /// Programs of BPF and other code that the kernel makes, by its name.
    KernelMade,
    /// A stack, a heap: names of memory that is no file.
    NoFile,
}

/// An object that code was mapped from.
#[derive(Clone, Debug)]
pub(crate) struct MappedObject {
    pub(crate) kind: ObjectKind,
    pub(crate) path: Vec<u8>,
    /// As the mapping says it, which is rare.
    pub(crate) build_id: Option<Vec<u8>>,
}

/// All objects and locations.
#[derive(Default)]
pub(crate) struct Locations {
    keys: Bytes<MappedObjectId>,
    pub(crate) objects: Vec<MappedObject>,
    places: Keys<LocationId, Location>,
}

impl Locations {
    pub(crate) fn object(
        &mut self,
        kind: ObjectKind,
        path: &[u8],
        build_id: Option<&[u8]>,
    ) -> Result<MappedObjectId, TooMany> {
        let process = match kind {
            ObjectKind::Made(pid) => pid,
            _ => 0,
        };
        let id = build_id.unwrap_or_default();
        let number = [kind.number(), id.len() as u8];
        let key = [&number[..], &process.to_le_bytes(), id, path].concat();
        let object = self.keys.intern(&key)?;
        if object.index() == self.objects.len() {
            self.objects.push(MappedObject {
                kind,
                path: path.to_vec(),
                build_id: build_id.map(<[u8]>::to_vec),
            });
        }
        Ok(object)
    }

    pub(crate) fn get(&self, object: MappedObjectId) -> &MappedObject {
        &self.objects[object.index()]
    }

    pub(crate) fn location(&mut self, location: Location) -> Result<LocationId, TooMany> {
        self.places.intern(location)
    }

    /// All locations, in the order of their ids.
    pub(crate) fn all(&self) -> &[Location] {
        self.places.all()
    }
}

impl ObjectKind {
    fn number(self) -> u8 {
        match self {
            ObjectKind::File => 0,
            ObjectKind::Made(_) => 1,
            ObjectKind::Kernel => 2,
            ObjectKind::KernelModule => 3,
            ObjectKind::KernelMade => 4,
            ObjectKind::NoFile => 5,
        }
    }

    /// What a process mapped under this name (`is_anon_memory`, `is_no_dso_memory` in tools/perf/util/map.c).
    pub(crate) fn of_process(pid: u32, path: &[u8]) -> ObjectKind {
        const MADE: [&[u8]; 6] = [
            b"//anon",
            b"[anon",
            b"/memfd:",
            b"/dev/zero",
            b"/anon_hugepage",
            b"anon_inode:",
        ];
        match path {
            b"" => ObjectKind::Made(pid),
            _ if MADE.iter().any(|made| path.starts_with(made)) => ObjectKind::Made(pid),
            b"[vdso]" => ObjectKind::File,
            [b'[', ..] => ObjectKind::NoFile,
            _ if path.starts_with(b"/SYSV") => ObjectKind::NoFile,
            _ => ObjectKind::File,
        }
    }

    /// What of the kernel has this name.
    pub(crate) fn of_kernel(path: &[u8]) -> ObjectKind {
        match path.starts_with(b"[kernel.") {
            true => ObjectKind::Kernel,
            false => ObjectKind::KernelModule,
        }
    }
}
