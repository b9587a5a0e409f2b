//! Functions of a stream that has `call` records and no `fn` records: those that the calls name.

use super::{FunctionKey, Key, Profile, Rows};
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
        let beyond = |what: &str| Error::whole(format!("the sum of {what} is beyond 64 bits"));
        for row in 0..calls.len() {
            let key = calls.key(row);
            let mut of = |function: FunctionKey| {
                let key = Key {
                    function,
                    part: key.part,
                    thread: key.thread,
                    ..Key::default()
                };
                let row = functions.row(key);
                row.map_err(|refusal| Error::whole(refusal.to_string()))
            };
            of(key.function)?;
            let callee = of(key.callee.unwrap_or_default())?;
            let entered = calls.numbers().calls.get(row);
            (functions.numbers.calls.sum(callee, entered)).map_err(|_| beyond("calls"))?;
            for (event, count) in calls.incl(row).unwrap_or_default().iter().enumerate() {
                let event_name = || self.events.get(event).map_or("cost", String::as_str);
                functions
                    .add_incl(callee, event, *count)
                    .map_err(|_| beyond(event_name()))?;
            }
        }
        Ok(functions)
    }
}
