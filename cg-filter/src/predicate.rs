//! Conditions that depend only on the record: its type and its names.

use cg_stream::record::RecordType;
use cg_stream::{Error, Line};

use crate::membership::WantedCode;
use crate::pattern::Patterns;
use crate::record::{Field, NamedFrame, RecordFields};
use crate::whose::WantedOwners;

/// The types of `--type`; empty means all types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types(Vec<String>);

impl Types {
    pub(crate) fn new(names: &[String]) -> Types {
        Types(names.to_vec())
    }

    /// Returns true if `--type` lists this name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.0.iter().any(|listed| listed == name)
    }

    /// Returns true if `--type` lists only this name.
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

/// Conditions on the names in a record.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamePredicates {
    pub(crate) name: Option<Patterns>,
    /// Patterns for any frame.
    pub(crate) frame: Option<Patterns>,
    pub(crate) file: Option<Patterns>,
    pub(crate) obj: Option<Patterns>,
    pub(crate) caller: Option<Patterns>,
    pub(crate) callee: Option<Patterns>,
    /// Patterns for the name or the number of a thread.
    pub(crate) thread: Option<Patterns>,
    /// Patterns for the name or the number of a process.
    pub(crate) process: Option<Patterns>,
    /// The wanted owners of the code.
    pub(crate) whose: Option<WantedOwners>,
    /// The wanted crates and modules.
    pub(crate) code: Option<WantedCode>,
    /// True if records that do not match are kept.
    pub(crate) invert: bool,
}

/// The result of checking a record against [`NamePredicates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Keep,
    Drop,
    /// The record is a function, and the result depends on the arcs of the whole stream.
    NeedsArcs,
}

impl NamePredicates {
    pub(crate) fn is_empty(&self) -> bool {
        // The compiler reports a field that is missing here.
        let NamePredicates {
            name,
            frame,
            file,
            obj,
            caller,
            callee,
            thread,
            process,
            whose,
            code,
            invert: _,
        } = self;
        let patterns = [name, frame, file, obj, caller, callee, thread, process];
        whose.is_none() && code.is_none() && patterns.into_iter().all(Option::is_none)
    }

    /// Returns true if a condition depends on arcs.
    pub(crate) fn needs_arcs(&self) -> bool {
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
        if matched && self.needs_arcs() && matches!(kind, RecordType::Fn | RecordType::Line) {
            return Ok(Match::NeedsArcs);
        }
        let matched = matched && (!self.needs_arcs() || self.match_neighbours(record, kind)?);
        Ok(self.verdict(matched))
    }

    /// Returns the result, given that all patterns match or not.
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
                RecordType::Call => {
                    self.match_callee(record)? || self.match_any(&record.inlined()?)
                }
                RecordType::Cause => self.match_any(&record.details()?),
                // The cost of a sampled stack is self cost of its innermost function.
                RecordType::Stack => self.match_any(record.innermost()?.as_slice()),
                _ => false,
            };
        let is_met = is_met
            && self.match_task(record)?
            && match &self.code {
                Some(code) => code.match_record(record, kind)?,
                None => true,
            }
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

    /// Returns true if the top-level function of a record matches; in a call, this is the caller.
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

    /// Returns true if the thread and the process of a record match, by name or number.
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

    /// Returns true if the called function of an arc matches. If only its name matters, the other fields are not parsed.
    fn match_callee(&self, record: &mut RecordFields<'_>) -> Result<bool, Error> {
        if self.file.is_none() && self.obj.is_none() {
            let name = record.callee_name()?;
            return Ok(name.is_some_and(|name| is_met(&self.name, &name)));
        }
        Ok(self.match_any(record.callee()?.as_slice()))
    }

    /// Returns true if any of these functions matches.
    fn match_any(&self, functions: &[NamedFrame<'_>]) -> bool {
        functions.iter().any(|function| {
            is_met(&self.name, &function.name)
                && is_met(&self.file, &function.file)
                && is_met(&self.obj, &function.obj)
        })
    }

    /// Returns true if a dropped record would be kept by a search in all its frames.
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

    /// Checks `--caller` and `--callee` for records that contain both functions: arcs and stacks.
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

/// Returns true if any frame matches. Without a stack, checks the function of the record; in a call, all its functions.
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

/// Returns true if any text in a record may match.
fn may_be_met(patterns: &Option<Patterns>, record: &RecordFields<'_>) -> bool {
    patterns
        .as_ref()
        .is_none_or(|patterns| patterns.may_match_within(record.bytes()))
}
