//! Frames that a profile knows only the address of.

use cg_names::paths::base_name;
use cg_stream::intern::TooMany;
use cg_stream::record::{FrameMarks, Name};

use super::table::{FrameParts, StackTable};

/// The frame at an address of an object that nobody has a name for. It is called `libc.so.6+0x1ab77`, which two runs have in
/// common although each had the object elsewhere; the address is one inside the object for that reason.
pub fn in_object(
    table: &mut StackTable,
    object: &[u8],
    address: u64,
) -> Result<FrameParts, TooMany> {
    let path = Name::from_bytes(object);
    let name = table.text(format!("{}+{address:#x}", base_name(&path)).as_bytes())?;
    Ok(FrameParts {
        name: Some(name),
        obj: table.given(object)?,
        addr: Some(address),
        marks: marks_of(object),
        ..FrameParts::default()
    })
}

/// The frame at an address that is in no object, or in one without a name.
pub fn anywhere(table: &mut StackTable, address: u64) -> Result<FrameParts, TooMany> {
    Ok(FrameParts {
        name: Some(table.text(format!("{address:#x}").as_bytes())?),
        addr: Some(address),
        ..FrameParts::default()
    })
}

/// What an object's name says of the code in it: Linux calls its kernel `[kernel.kallsyms]`, a guest's
/// `[guest.kernel.kallsyms]`, and its modules `[ext4]` or, by perf's names for the rest, `[unknown]` and `[vdso]`.
pub fn marks_of(object: &[u8]) -> FrameMarks {
    FrameMarks {
        kernel: object.starts_with(b"[kernel") || object.starts_with(b"[guest.kernel"),
        ..FrameMarks::default()
    }
}
