//! Functions of a stream that has `call` records and no `fn` records: those that the calls name.

use super::sum::NotAdded;
use super::{Profile, Rows};
use crate::Error;
use crate::record::RecordType;

impl Profile {
    /// A `fn` row for each function that a call leaves from or enters, with the calls that entered it and what these cost,
    /// which is its inclusive cost. What it costs itself the calls do not tell.
    ///
    /// # Errors
    /// Where a sum is beyond what a profile can hold.
    pub fn functions_of_calls(&self) -> Result<Rows, Error> {
        let mut functions = Rows::default();
        let calls = self.table(RecordType::Call);
        for row in 0..calls.len() {
            let key = calls.key(row);
            let mut of = |function| functions.row(key.of_function(function));
            of(key.function).map_err(NotAdded::from)?;
            let callee = of(key.callee.unwrap_or_default()).map_err(NotAdded::from)?;
            functions.add_calls(callee, calls.numbers().calls.get(row))?;
            functions.add_incl(callee, calls.incl(row).unwrap_or_default(), &self.events)?;
        }
        Ok(functions)
    }
}
