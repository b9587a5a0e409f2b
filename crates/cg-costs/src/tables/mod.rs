//! Counts under keys, in flat tables. Functions, arcs and chains have one kind of table. Source lines, which are far more
//! numerous, have another kind.

mod costs;
mod lines;
mod packed;
mod rows;

pub use costs::{Added, CostTable, NoRoom, Signedness, add_inclusive_row, add_row};
pub use lines::{LineKey, LineTable};
pub use rows::{CostRows, add_calls};

#[cfg(test)]
mod tests;
