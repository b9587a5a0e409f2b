//! Frames for addresses without a function name.

use cg_collections::intern::TooMany;
use cg_names::paths::base_name;
use cg_stream::record::{FrameMarks, Name};

use super::table::{FrameParts, StackTable};

/// Returns the frame for an address in an object, named like `libc.so.6+0x1ab77`. `address` is relative to the object, so
/// that two runs that loaded the object at different addresses have the same name.
pub fn in_object(
    table: &mut StackTable,
    object: &[u8],
    address: u64,
) -> Result<FrameParts, TooMany> {
    let path = Name::from_bytes(object);
    let name = table.text(format!("{}+{address:#x}", base_name(&path)).as_bytes())?;
    Ok(FrameParts {
        name: Some(name),
        obj: table.text_unless_empty(object)?,
        addr: Some(address),
        marks: marks_of(object),
        ..FrameParts::default()
    })
}

/// Returns the frame for an address outside any object, or in an object without a name.
pub fn anywhere(table: &mut StackTable, address: u64) -> Result<FrameParts, TooMany> {
    Ok(FrameParts {
        name: Some(table.text(format!("{address:#x}").as_bytes())?),
        addr: Some(address),
        ..FrameParts::default()
    })
}

/// Returns the marks that an object's name implies. perf calls the kernel `[kernel.kallsyms]` and a guest's kernel
/// `[guest.kernel.kallsyms]`. Other names in brackets, such as `[ext4]`, `[unknown]` and `[vdso]`, have no marks.
pub fn marks_of(object: &[u8]) -> FrameMarks {
    FrameMarks {
        kernel: object.starts_with(b"[kernel") || object.starts_with(b"[guest.kernel"),
        ..FrameMarks::default()
    }
}
