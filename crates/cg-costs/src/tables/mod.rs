//! Counts under keys, in flat tables: rows of functions, arcs and chains, and of source lines, which are many more.

mod costs;
mod lines;
mod packed;
mod rows;

pub use costs::{Added, CostTable, NoRoom, Signedness, add_inclusive_row, add_row};
pub use lines::{LineKey, LineTable};
pub use rows::{CostRows, add_calls};
