//! Reads profiles of Callgrind and Cachegrind into the [`cg_costs`] model.
//!
//! [`sums`] adds up the profiles of several inputs.
#![warn(missing_docs)]

use cg_costs::section::Section;
use cg_reader::Error;

mod cachegrind;
mod callgrind;
mod continued;
pub mod recognise;
mod refusal;
pub mod sums;

#[cfg(test)]
mod tests;

/// Called when a part of an input is complete and added to the section.
type PartDone<'a> = &'a mut dyn FnMut(&mut Section) -> Result<(), Error>;
