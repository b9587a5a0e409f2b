//! What an object says of how to get from a frame to the one that called it.

use std::ops::Range;

use crate::object_file::ObjectFile;
use crate::{Error, SymbolAddress};

/// The call frame information of an object, each section as it is.
#[derive(Debug, Default)]
pub struct UnwindSections {
    /// `.eh_frame`, which code that throws needs at run time.
    pub eh_frame: Option<(Range<SymbolAddress>, Vec<u8>)>,
    /// `.eh_frame_hdr`, its index.
    pub eh_frame_hdr: Option<(Range<SymbolAddress>, Vec<u8>)>,
    /// `.debug_frame`, for debuggers.
    pub debug_frame: Option<Vec<u8>>,
    /// Its sections of code: where they are in the file, and the address of each.
    code: Vec<(Range<u64>, SymbolAddress)>,
}

impl ObjectFile {
    /// Reads its call frame information.
    ///
    /// # Errors
    /// Where a section cannot be read.
    pub fn unwind_sections(&self) -> Result<UnwindSections, Error> {
        let mut budget = self.budget();
        let mut read = |name: &[u8]| -> Result<_, Error> {
            let bytes = self.read(name, &mut budget)?;
            let start = self.section(name).map_or(0, |section| section.address);
            let range = start..start.saturating_add(bytes.len() as u64);
            Ok((!bytes.is_empty()).then_some((range, bytes)))
        };
        Ok(UnwindSections {
            eh_frame: read(b".eh_frame")?,
            eh_frame_hdr: read(b".eh_frame_hdr")?,
            debug_frame: read(b".debug_frame")?.map(|(_, bytes)| bytes),
            code: self.code_in_file().collect(),
        })
    }
}

impl UnwindSections {
    /// How much greater addresses are, as the object counts them, than offsets in its file, for the code in this part of the
    /// file; `None` where there is none. It can be less than nothing, and wraps around.
    pub fn address_shift(&self, offsets: Range<u64>) -> Option<u64> {
        let is_there = |code: &Range<u64>| code.start < offsets.end && offsets.start < code.end;
        let (code, address) = self.code.iter().find(|(code, _)| is_there(code))?;
        Some(address.wrapping_sub(code.start))
    }
}
