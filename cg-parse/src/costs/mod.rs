//! Cost centres with calls and without: what Callgrind and Cachegrind write.
//!
//! Readers fill a [`section`], and [`sums`] adds up what several inputs hold.

use section::Section;

use crate::error::Error;

pub(crate) mod ids;
pub(crate) mod recognise;
pub(crate) mod section;
pub(crate) mod sums;
pub(crate) mod tables;

mod cachegrind;
mod callgrind;
mod circles;
mod continued;
mod inlines;
mod refusal;
mod stacks;
mod write;

#[cfg(test)]
mod laws;

/// Called when a part of an input is complete and added to the section.
type PartDone<'a> = &'a mut dyn FnMut(&mut Section) -> Result<(), Error>;
