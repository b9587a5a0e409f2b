//! The condition `--whose`, on the owner of a function's code.

use std::cell::RefCell;

use cg_collections::maps::Map;
use cg_names::code_origin::{CodeOwner, Facts, find_owners};
use cg_stream::Error;
use cg_stream::record::{Frame, Name, RecordType};

use crate::record::{NamedFrame, RecordFields};

/// The wanted owners.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedOwners {
    owners: Vec<CodeOwner>,
    /// A cache: the owners of functions without a stack, by name, file and object.
    known: RefCell<Map<Box<[u8]>, CodeOwner>>,
}

impl WantedOwners {
    /// Makes the condition; `None` without wanted owners.
    pub(crate) fn new(owners: &[CodeOwner]) -> Option<WantedOwners> {
        (!owners.is_empty()).then(|| WantedOwners {
            owners: owners.to_vec(),
            known: RefCell::default(),
        })
    }

    /// Returns true if a function of a record has a wanted owner. In a record with a stack, the owner of the blamed function
    /// follows from all frames; in a sampled stack, the innermost function is also checked.
    pub(crate) fn match_record(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<bool, Error> {
        let function = record.function()?;
        if kind == RecordType::Call {
            let others = record.other_ends()?;
            return Ok(self.wants(&function) || others.iter().any(|end| self.wants(end)));
        }
        let frames = record.frames()?;
        let is_blamed = |frame: &NamedFrame<'_>| {
            frame.name == function.name && frame.file == function.file && frame.obj == function.obj
        };
        let Some(blamed) = frames.iter().position(is_blamed) else {
            return Ok(self.wants(&function));
        };
        let facts: Vec<Facts> = frames
            .iter()
            .map(|frame| Facts::from_frame(&to_frame(frame)))
            .collect();
        let owners = find_owners(&facts);
        let is_wanted = |position: usize| self.owners.contains(&owners[position]);
        Ok(is_wanted(blamed) || (kind == RecordType::Stack && is_wanted(0)))
    }

    fn wants(&self, function: &NamedFrame<'_>) -> bool {
        let key = function.key();
        let mut known = self.known.borrow_mut();
        let owner = known.get(&*key).copied().unwrap_or_else(|| {
            let owner = Facts::from_frame(&to_frame(function)).owner_without_context();
            known.insert(key.into(), owner);
            owner
        });
        self.owners.contains(&owner)
    }
}

/// Converts a frame for `cg-names`. An empty text counts as missing.
fn to_frame<'f>(frame: &'f NamedFrame<'_>) -> Frame<'f> {
    let name = |text: &'f [u8]| (!text.is_empty()).then(|| Name::from_bytes(text));
    Frame {
        name: name(&frame.name),
        file: name(&frame.file),
        obj: name(&frame.obj),
        addr: name(&frame.addr),
        kernel: frame.is_kernel,
        ..Frame::default()
    }
}
