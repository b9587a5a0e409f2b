//! The conditions `--crate` and `--module`, on the structure of a function's name.

use std::cell::RefCell;

use cg_collections::maps::Map;
use cg_names::membership::{find_crate, find_module, is_same_crate, is_within};
use cg_stream::Error;
use cg_stream::record::RecordType;

use crate::record::{NamedFrame, RecordFields};

/// The wanted crates and modules. An empty list means all.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedCode {
    crates: Vec<String>,
    modules: Vec<String>,
    /// A cache: the answers for functions, by name, file and object.
    known: RefCell<Map<Box<[u8]>, bool>>,
}

impl WantedCode {
    /// Makes the condition; `None` without wanted crates and modules.
    pub(crate) fn new(crates: &[String], modules: &[String]) -> Option<WantedCode> {
        let is_any = !crates.is_empty() || !modules.is_empty();
        is_any.then(|| WantedCode {
            crates: crates.to_vec(),
            modules: modules.to_vec(),
            known: RefCell::default(),
        })
    }

    /// Returns true if a function of a record is wanted: its own or the blamed function, the other functions of a call, and
    /// the innermost function of a sampled stack.
    pub(crate) fn match_record(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<bool, Error> {
        let function = record.function()?;
        if self.wants(&function) {
            return Ok(true);
        }
        let others = match kind {
            RecordType::Call | RecordType::Cause => record.other_ends()?,
            RecordType::Stack => record.innermost()?.into_iter().collect(),
            _ => Vec::new(),
        };
        Ok(others.iter().any(|other| self.wants(other)))
    }

    fn wants(&self, function: &NamedFrame<'_>) -> bool {
        let key = function.key();
        let mut known = self.known.borrow_mut();
        if let Some(answer) = known.get(&*key) {
            return *answer;
        }
        let answer = self.judge(function);
        known.insert(key.into(), answer);
        answer
    }

    fn judge(&self, function: &NamedFrame<'_>) -> bool {
        let name = String::from_utf8_lossy(&function.name);
        let [file, obj] = [&function.file, &function.obj].map(|text| String::from_utf8_lossy(text));
        let place = |text: &'_ str| (!text.is_empty()).then(|| text.to_owned());
        let (file, obj) = (place(&file), place(&obj));
        let places = (file.as_deref(), obj.as_deref());
        let is_in = |wanted: &[String],
                     found: fn(&str, Option<&str>, Option<&str>) -> String,
                     matches: fn(&str, &str) -> bool| {
            wanted.is_empty() || {
                let found = found(&name, places.0, places.1);
                wanted.iter().any(|wanted| matches(&found, wanted))
            }
        };
        is_in(&self.crates, find_crate, is_same_crate)
            && is_in(&self.modules, find_module, is_within)
    }
}
