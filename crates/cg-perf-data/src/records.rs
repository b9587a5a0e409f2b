//! Records of events between the samples, such as mappings and threads.

use crate::fields::RecordFields;

/// Types of records: the kernel's below 64, perf's from 64 on (`tools/perf/util/event.h`).
pub(crate) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    pub(crate) const KSYMBOL: u32 = 17;
    pub(crate) const FIRST_OF_PERF: u32 = 64;
    pub(crate) const ATTRIBUTE: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const ID_INDEX: u32 = 69;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

const MISC_MMAP_DATA: u16 = 1 << 13;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_FORK_EXEC: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;
const PROT_EXEC: u32 = 4;

/// The kind of code that was running, from `misc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProcessorMode {
    Kernel,
    User,
    /// A hypervisor or its guest, whose addresses have no meaning here.
    Elsewhere,
}

impl ProcessorMode {
    pub(crate) fn from_misc(misc: u16) -> ProcessorMode {
        match misc & 7 {
            1 => ProcessorMode::Kernel,
            0 | 2 => ProcessorMode::User,
            _ => ProcessorMode::Elsewhere,
        }
    }
}

/// Mapped code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MappedCode<'a> {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// Its offset in the file; for the kernel, the address of its first symbol.
    pub(crate) offset: u64,
    pub(crate) build_id: Option<&'a [u8]>,
    pub(crate) path: &'a [u8],
}

impl<'a> MappedCode<'a> {
    /// Reads `MMAP` or `MMAP2`; `Some(None)` for data.
    pub(crate) fn read(
        mut fields: RecordFields<'a>,
        misc: u16,
        is_second: bool,
    ) -> Option<Option<MappedCode<'a>>> {
        let pid = fields.u32()?;
        fields.u32()?;
        let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let mut is_code = misc & MISC_MMAP_DATA == 0;
        let mut build_id = None;
        if is_second {
            let identity = fields.take(24)?;
            if misc & MISC_MMAP_BUILD_ID != 0 {
                let size = usize::from(identity[0]);
                build_id = Some(identity[4..].get(..size)?).filter(|id| !id.is_empty());
            }
            // perf synthesizes the kernel's mappings, without protection flags.
            let protection = fields.u32()?;
            is_code &= protection & PROT_EXEC != 0 || pid == u32::MAX;
            fields.u32()?;
        }
        Some(is_code.then_some(MappedCode {
            pid,
            start,
            length,
            offset,
            build_id,
            path: fields.text(),
        }))
    }
}

/// A thread's new name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadName<'a> {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    /// True if the process executes another program.
    pub(crate) is_exec: bool,
    pub(crate) name: &'a [u8],
}

impl<'a> ThreadName<'a> {
    pub(crate) fn read(mut fields: RecordFields<'a>, misc: u16) -> Option<ThreadName<'a>> {
        Some(ThreadName {
            pid: fields.u32()?,
            tid: fields.u32()?,
            is_exec: misc & MISC_COMM_EXEC != 0,
            name: fields.text(),
        })
    }
}

/// The beginning or end of a thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadBirth {
    pub(crate) pid: u32,
    pub(crate) parent_pid: u32,
    pub(crate) tid: u32,
    pub(crate) parent_tid: u32,
    /// True if the thread was already running. perf then writes records of its mappings itself.
    pub(crate) was_running: bool,
}

impl ThreadBirth {
    pub(crate) fn read(mut fields: RecordFields, misc: u16) -> Option<ThreadBirth> {
        Some(ThreadBirth {
            pid: fields.u32()?,
            parent_pid: fields.u32()?,
            tid: fields.u32()?,
            parent_tid: fields.u32()?,
            was_running: misc & MISC_FORK_EXEC != 0,
        })
    }
}

/// Kernel code that was loaded or unloaded, such as BPF programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelSymbol<'a> {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) is_gone: bool,
    pub(crate) name: &'a [u8],
}

impl<'a> KernelSymbol<'a> {
    pub(crate) fn read(mut fields: RecordFields<'a>) -> Option<KernelSymbol<'a>> {
        let start = fields.u64()?;
        let length = u64::from(fields.u32()?);
        fields.u16()?;
        Some(KernelSymbol {
            start,
            length,
            is_gone: fields.u16()? & 1 != 0,
            name: fields.text(),
        })
    }
}

/// The build id of an object, in a feature or in a separate record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedBuildId {
    pub(crate) path: Vec<u8>,
    pub(crate) id: Vec<u8>,
}

const MISC_BUILD_ID_SIZE: u16 = 1 << 15;

impl RecordedBuildId {
    /// Reads the body of a record. Before Linux 5.12 the length was not written: ids had 20 bytes, and shorter ids were
    /// padded with zeros, which are removed in whole words.
    pub(crate) fn read(mut fields: RecordFields, misc: u16) -> Option<RecordedBuildId> {
        fields.u32()?;
        let bytes = fields.take(24)?;
        let id = match misc & MISC_BUILD_ID_SIZE != 0 {
            true => bytes.get(..usize::from(bytes[20]))?,
            false => {
                let mut id = &bytes[..20];
                while let Some(shorter) = id.strip_suffix(&[0; 4]) {
                    id = shorter;
                }
                id
            }
        };
        Some(RecordedBuildId {
            path: fields.text().to_vec(),
            id: id.to_vec(),
        })
    }
}
