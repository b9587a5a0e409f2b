//! The conditions that a record alone can meet or miss: its type and its names.

use cg_stream::record::RecordType;
use cg_stream::{Error, Line};

use crate::pattern::Patterns;
use crate::record::{Field, NamedFrame, RecordFields};
use crate::whose::WantedOwners;

/// The types that `--type` lists; none means all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types(Vec<String>);

impl Types {
    pub(crate) fn new(names: &[String]) -> Types {
        Types(names.to_vec())
    }

    /// Whether a type was asked for by this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.0.iter().any(|listed| listed == name)
    }

    /// Whether this type was asked for and no other.
    pub(crate) fn are_only(&self, name: &str) -> bool {
        self.names(name) && self.0.len() == 1
    }

    pub(crate) fn allow(
        &self,
        line: &Line<'_>,
        record: &mut RecordFields<'_>,
    ) -> Result<bool, Error> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let lists = |name: &[u8]| self.0.iter().any(|listed| listed.as_bytes() == name);
        Ok(match line.kind {
            RecordType::Other => lists(&record.text(Field::Type)?),
            RecordType::Diff => lists(b"diff") || lists(&record.text(Field::Of)?),
            known => lists(known.name().as_bytes()),
        })
    }
}

/// What is asked of the names in a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamePredicates {
    pub(crate) name: Option<Patterns>,
    /// What some frame has to match.
    pub(crate) frame: Option<Patterns>,
    pub(crate) file: Option<Patterns>,
    pub(crate) obj: Option<Patterns>,
    pub(crate) caller: Option<Patterns>,
    pub(crate) callee: Option<Patterns>,
    /// What the name or the number of a thread has to match.
    pub(crate) thread: Option<Patterns>,
    /// The same of a process.
    pub(crate) process: Option<Patterns>,
    /// Whose code it is.
    pub(crate) whose: Option<WantedOwners>,
    /// Keep what all of these together do not match.
    pub(crate) invert: bool,
}

/// Whether a record meets [`NamePredicates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Keep,
    Drop,
    /// It is a function, and only the arcs of the whole stream tell who calls it or whom it calls.
    AskArcs,
}

impl NamePredicates {
    pub(crate) fn is_empty(&self) -> bool {
        let of_record = [&self.name, &self.frame, &self.file, &self.obj];
        let of_task = [&self.thread, &self.process];
        !self.ask_arcs()
            && self.whose.is_none()
            && of_record.into_iter().chain(of_task).all(Option::is_none)
    }

    /// Whether it matters who calls whom.
    pub(crate) fn ask_arcs(&self) -> bool {
        self.caller.is_some() || self.callee.is_some()
    }

    pub(crate) fn judge(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<Match, Error> {
        if self.is_empty() {
            return Ok(Match::Keep);
        }
        let matched = [&self.name, &self.file, &self.obj]
            .into_iter()
            .all(|patterns| may_be_met(patterns, record))
            && self.match_own(record, kind)?;
        if matched && self.ask_arcs() && matches!(kind, RecordType::Fn | RecordType::Line) {
            return Ok(Match::AskArcs);
        }
        let matched = matched && (!self.ask_arcs() || self.match_neighbours(record, kind)?);
        Ok(self.verdict(matched))
    }

    /// The judgement once it is known whether all patterns match.
    pub(crate) fn verdict(&self, matched: bool) -> Match {
        if matched != self.invert {
            Match::Keep
        } else {
            Match::Drop
        }
    }

    fn match_own(&self, record: &mut RecordFields<'_>, kind: RecordType) -> Result<bool, Error> {
        let is_met = self.match_fields(record)?
            || match kind {
                RecordType::Call | RecordType::Cause => {
                    self.match_callee(record)? || self.match_any(&record.inlined()?)
                }
                // Its cost is self cost of the innermost function.
                RecordType::Stack => self.match_any(record.innermost()?.as_slice()),
                _ => false,
            };
        let is_met = is_met
            && self.match_task(record)?
            && match &self.whose {
                Some(whose) => whose.match_record(record, kind)?,
                None => true,
            };
        if !is_met {
            return Ok(false);
        }
        match &self.frame {
            Some(patterns) => match_frame(patterns, record, kind),
            None => Ok(true),
        }
    }

    /// Whether the function that a record names at its top level matches: of a call, the caller.
    fn match_fields(&self, record: &mut RecordFields<'_>) -> Result<bool, Error> {
        for (patterns, field) in [
            (&self.name, Field::Name),
            (&self.file, Field::File),
            (&self.obj, Field::Obj),
        ] {
            if let Some(patterns) = patterns
                && !patterns.match_in(&record.text(field)?)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the thread and the process of a record match, by name or number.
    fn match_task(&self, record: &mut RecordFields<'_>) -> Result<bool, Error> {
        for (patterns, name, number) in [
            (&self.thread, Field::Thread, Field::Tid),
            (&self.process, Field::Process, Field::Pid),
        ] {
            if let Some(patterns) = patterns
                && !patterns.match_in(&record.label(name)?)
                && !patterns.match_in(&record.label(number)?)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the called function of an arc matches. Most ask for its name alone: its other fields are left aside then.
    fn match_callee(&self, record: &mut RecordFields<'_>) -> Result<bool, Error> {
        if self.file.is_none() && self.obj.is_none() {
            let name = record.callee_name()?;
            return Ok(name.is_some_and(|name| is_met(&self.name, &name)));
        }
        Ok(self.match_any(record.callee()?.as_slice()))
    }

    /// Whether a function that is not the one at a record's top level matches.
    fn match_any(&self, functions: &[NamedFrame<'_>]) -> bool {
        functions.iter().any(|function| {
            is_met(&self.name, &function.name)
                && is_met(&self.file, &function.file)
                && is_met(&self.obj, &function.obj)
        })
    }

    /// Whether a record that was dropped would be kept if its name were looked for in all its frames.
    pub(crate) fn would_match_frame(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<bool, Error> {
        match &self.name {
            Some(patterns)
                if !self.invert && self.frame.is_none() && may_be_met(&self.name, record) =>
            {
                Ok(record.get(Field::Stack)?.is_some() && match_frame(patterns, record, kind)?)
            }
            _ => Ok(false),
        }
    }

    /// `--caller` and `--callee` for records that name both ends themselves: arcs and stacks.
    fn match_neighbours(
        &self,
        record: &mut RecordFields<'_>,
        kind: RecordType,
    ) -> Result<bool, Error> {
        if kind == RecordType::Call {
            let callee = record.callee()?.unwrap_or_default();
            return Ok(is_met(&self.caller, &record.text(Field::Name)?)
                && is_met(&self.callee, &callee.name));
        }
        let frames = record.frames()?;
        let blamed = record.text(Field::Name)?;
        let position = frames.iter().position(|frame| frame.name == blamed);
        let (inner, outer) = frames.split_at(position.unwrap_or(0));
        let any = |patterns: &Option<Patterns>, frames: &[NamedFrame<'_>]| {
            patterns.is_none() || frames.iter().any(|frame| is_met(patterns, &frame.name))
        };
        Ok(any(&self.caller, outer.get(1..).unwrap_or_default()) && any(&self.callee, inner))
    }
}

/// Whether any frame matches; of a record without a stack, its function, and of a call, an end.
fn match_frame(
    patterns: &Patterns,
    record: &mut RecordFields<'_>,
    kind: RecordType,
) -> Result<bool, Error> {
    let frames = if record.get(Field::Stack)?.is_some() {
        record.frames()?
    } else if patterns.match_in(&record.text(Field::Name)?) {
        return Ok(true);
    } else if kind == RecordType::Call {
        record.other_ends()?
    } else {
        return Ok(false);
    };
    Ok(frames.iter().any(|frame| patterns.match_in(&frame.name)))
}

fn is_met(patterns: &Option<Patterns>, text: &[u8]) -> bool {
    patterns
        .as_ref()
        .is_none_or(|patterns| patterns.match_in(text))
}

/// Whether any text of a record may match.
fn may_be_met(patterns: &Option<Patterns>, record: &RecordFields<'_>) -> bool {
    patterns
        .as_ref()
        .is_none_or(|patterns| patterns.may_match_within(record.bytes()))
}
