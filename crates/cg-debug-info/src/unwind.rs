//! The call frame information of an object, for finding the caller of a frame.

use std::ops::Range;

use crate::object_file::ObjectFile;
use crate::{Error, SymbolAddress};

/// The sections with call frame information, unparsed.
#[derive(Debug, Default)]
pub struct UnwindSections {
    /// `.eh_frame`, which exceptions need at run time.
    pub eh_frame: Option<(Range<SymbolAddress>, Vec<u8>)>,
    /// `.eh_frame_hdr`, the index of `.eh_frame`.
    pub eh_frame_hdr: Option<(Range<SymbolAddress>, Vec<u8>)>,
    /// `.debug_frame`, for debuggers.
    pub debug_frame: Option<Vec<u8>>,
    /// The sections of code: their ranges in the file and their addresses.
    code: Vec<(Range<u64>, SymbolAddress)>,
}

impl ObjectFile {
    /// Reads the call frame information.
    ///
    /// # Errors
    /// Returns an error if a section cannot be read.
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
    /// Returns the difference between addresses and file offsets for the code in this part of the file; `None` if there is
    /// no code. The difference can be negative. It then wraps around.
    pub fn address_shift(&self, offsets: Range<u64>) -> Option<u64> {
        let is_there = |code: &Range<u64>| code.start < offsets.end && offsets.start < code.end;
        let (code, address) = self.code.iter().find(|(code, _)| is_there(code))?;
        Some(address.wrapping_sub(code.start))
    }
}
