//! The profiles that are summed: Callgrind's and Cachegrind's, one section a tool, written once all inputs are read.

use cg_stream::Diagnostics;

use super::{cachegrind, callgrind};
use crate::costs::section::{Overflow, Section};
use crate::error::Error;
use crate::format::{Lines, Options, Out};

/// A tool whose profiles are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Summed {
    Callgrind,
    Cachegrind,
}

impl Summed {
    fn section(self) -> Section {
        match self {
            Summed::Callgrind => Section::new("callgrind", true),
            Summed::Cachegrind => Section::new("cachegrind", false),
        }
    }
}

/// The sections in the making, in the order in which their tools were first met.
pub(crate) struct Sums<'a> {
    options: &'a Options,
    sections: Vec<(Summed, Section)>,
}

impl<'a> Sums<'a> {
    pub(crate) fn new(options: &'a Options) -> Sums<'a> {
        Sums {
            options,
            sections: Vec::new(),
        }
    }

    /// Adds a profile to its tool's section; with `--per-part` writes a section for each of its parts instead.
    pub(crate) fn read(
        &mut self,
        tool: Summed,
        source: &str,
        lines: &mut Lines,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        let options = self.options;
        if options.per_part {
            let mut section = tool.section();
            let result =
                read_part_by_part(tool, source, lines, &mut section, options, out, diagnostics);
            // The part in which an error was met is left; all others are written.
            if section.event_count() > 0 {
                section.write(options, out)?;
            }
            return result;
        }
        let place = self
            .sections
            .iter()
            .position(|(known, _)| *known == tool)
            .unwrap_or_else(|| {
                self.sections.push((tool, tool.section()));
                self.sections.len() - 1
            });
        let section = &mut self.sections[place].1;
        match tool {
            Summed::Callgrind => {
                let part_done = &mut |_: &mut Section| Ok(());
                callgrind::read(source, lines, options, section, part_done, diagnostics)
            }
            Summed::Cachegrind => cachegrind::read(source, lines, options, section, diagnostics),
        }
    }

    /// Writes the sections. `all_read` is false where an input could not be opened or recognised: a sum that may lack
    /// something gets no `end`.
    pub(crate) fn write(
        mut self,
        all_read: bool,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        for (tool, section) in &mut self.sections {
            if !all_read {
                section.leave_open();
            }
            if section.event_count() == 0 {
                continue;
            }
            let folded = match tool {
                Summed::Callgrind => callgrind::levels::fold(section),
                Summed::Cachegrind => Ok(()),
            };
            let written = match folded {
                Ok(()) => section.write(self.options, out),
                Err(Overflow) => Err(Error::whole("a sum of counts is beyond 64 bits")),
            };
            match written {
                Err(error @ Error::Malformed { .. }) => {
                    diagnostics.trouble(error.in_file(&section.run.sources.join(", ")));
                }
                result => result?,
            }
        }
        Ok(())
    }
}

fn read_part_by_part(
    tool: Summed,
    source: &str,
    lines: &mut Lines,
    section: &mut Section,
    options: &Options,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    match tool {
        Summed::Callgrind => {
            let mut write = |section: &mut Section| {
                section.write(options, out)?;
                section.clear();
                Ok(())
            };
            callgrind::read(source, lines, options, section, &mut write, diagnostics)
        }
        Summed::Cachegrind => cachegrind::read(source, lines, options, section, diagnostics),
    }
}
