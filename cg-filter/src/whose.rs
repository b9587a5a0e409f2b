//! Whose code a function is: the condition `--whose`.

use std::cell::RefCell;

use cg_names::whose::{CodeOwner, Facts, owners_by};
use cg_stream::Error;
use cg_stream::maps::Map;
use cg_stream::record::{Frame, Name, RecordType};

use crate::arcs::push_part;
use crate::record::{Field, NamedFrame, RecordFields};

/// The answers that are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedOwners {
    owners: Vec<CodeOwner>,
    /// Cache: what functions without a stack are, by name, file and object.
    known: RefCell<Map<Box<[u8]>, CodeOwner>>,
}

impl WantedOwners {
    /// `None` where nothing was asked.
    pub(crate) fn new(owners: &[CodeOwner]) -> Option<WantedOwners> {
        (!owners.is_empty()).then(|| WantedOwners {
            owners: owners.to_vec(),
            known: RefCell::default(),
        })
    }

    /// Whether a function of a record is of one that is wanted. Of a record with a stack, its frames tell together whose
    /// the function to blame is, and of a sampled stack the innermost.
    pub(crate) fn match_record(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<bool, Error> {
        let function = NamedFrame {
            name: record.text(Field::Name)?,
            file: record.text(Field::File)?,
            obj: record.text(Field::Obj)?,
            ..NamedFrame::default()
        };
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
            .map(|frame| Facts::of(&whole(frame)))
            .collect();
        let owners = owners_by(&facts);
        let is_wanted = |position: usize| self.owners.contains(&owners[position]);
        Ok(is_wanted(blamed) || (kind == RecordType::Stack && is_wanted(0)))
    }

    fn wants(&self, function: &NamedFrame<'_>) -> bool {
        let mut key = Vec::with_capacity(64);
        for part in [&function.name, &function.file, &function.obj] {
            push_part(&mut key, part);
        }
        let mut known = self.known.borrow_mut();
        let owner = known.get(&*key).copied().unwrap_or_else(|| {
            let owner = Facts::of(&whole(function)).owner_alone();
            known.insert(key.into(), owner);
            owner
        });
        self.owners.contains(&owner)
    }
}

/// The frame as names are read of it: an empty text is none.
fn whole<'f>(frame: &'f NamedFrame<'_>) -> Frame<'f> {
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
