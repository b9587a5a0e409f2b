//! The functions of a stream that has `call` records but no `fn` records.

use super::sum::NotAdded;
use super::{Profile, Rows};
use cg_stream::Error;
use cg_stream::record::RecordType;

impl Profile {
    /// Returns a `fn` row for each caller and each callee. The row has the calls that entered the function, and their cost
    /// as its inclusive cost. The row has no self cost, because calls do not have it.
    ///
    /// # Errors
    /// Returns an error if a sum does not fit in 64 bits, or if there are too many rows.
    pub fn functions_of_calls(&self) -> Result<Rows, Error> {
        let mut functions = Rows::default();
        let calls = self.table(RecordType::Call);
        for row in 0..calls.len() {
            let key = calls.key(row);
            let mut of = |function| functions.row(&key.for_function(function));
            of(key.function).map_err(NotAdded::from)?;
            let callee = of(key.callee.unwrap_or_default()).map_err(NotAdded::from)?;
            functions.add_calls(callee, calls.numbers().calls.get(row))?;
            functions.add_incl(callee, calls.incl(row).unwrap_or_default(), &self.events)?;
        }
        Ok(functions)
    }
}
