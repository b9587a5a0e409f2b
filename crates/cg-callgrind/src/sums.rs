//! Sums of Callgrind and Cachegrind profiles. There is one section per tool, written when all inputs are read.

use std::mem;

use cg_costs::inlines::{CostLines, read_code, resolve};
use cg_costs::section::{RunFacts, Section};
use cg_costs::stacks::graph::StackGraph;
use cg_costs::write;
use cg_reader::{Error, Lines, Options, Out, Reading};
use cg_stream::Diagnostics;

use crate::{PartDone, cachegrind, callgrind};

/// A tool whose profiles are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summed {
    /// Callgrind, and other programs that write its format.
    Callgrind,
    /// Cachegrind.
    Cachegrind,
}

impl Summed {
    fn section(self, options: &Options, has_stacks: bool) -> Section {
        match self {
            Summed::Callgrind => {
                let mut section = Section::new("callgrind", true);
                section.trace = (options.inline || options.code).then(CostLines::default);
                section.stacks = has_stacks.then(StackGraph::default);
                section
            }
            Summed::Cachegrind => Section::new("cachegrind", false),
        }
    }

    /// Adds an input to a section, part by part.
    fn read(
        self,
        source: &str,
        lines: &mut Lines,
        options: &Options,
        section: &mut Section,
        part_done: PartDone,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        match self {
            Summed::Callgrind => {
                callgrind::read(source, lines, options, section, part_done, diagnostics)
            }
            Summed::Cachegrind => {
                cachegrind::read(source, lines, options, section, part_done, diagnostics)
            }
        }
    }

    /// Folds the recursion levels of a section that remain after its parts have been added up.
    fn fold_levels(self, section: &mut Section, options: &Options) -> Result<(), Error> {
        let folded = match self {
            // With `--per-part`, a recursion level keeps the cost that it has in its part.
            Summed::Callgrind if !options.per_part && !options.levels => {
                callgrind::levels::fold(section)
            }
            Summed::Callgrind | Summed::Cachegrind => Ok(()),
        };
        folded.map_err(|no_room| Error::whole(no_room.to_string()))
    }

    /// Writes a complete section. Returns messages, for example about inlined functions that remain unknown.
    fn write(
        self,
        section: &mut Section,
        options: &Options,
        out: &mut Out,
    ) -> Result<Vec<String>, Error> {
        self.fold_levels(section, options)?;
        let mut messages = Vec::new();
        if options.code {
            messages = read_code(section, &options.search)?;
        }
        let mut inlines = None;
        if options.inline {
            inlines = resolve(section, &options.search)?;
        }
        if let Some(inlines) = &inlines {
            let innermost =
                |section: &Section, function, at| inlines.innermost(section, function, at);
            let result = section.split_arcs_by_chain(innermost, options.instr);
            result.map_err(|no_room| Error::whole(no_room.to_string()))?;
        }
        let graph = section.stacks.take();
        let estimated = match &graph {
            Some(graph) if !options.calls && !options.lines => {
                write::write_stacks(section, graph, out)
            }
            graph => write::write(section, inlines.as_ref(), graph.as_ref(), options, out),
        };
        // Keep the graph for the next part.
        section.stacks = graph;
        messages.extend(estimated?);
        messages.extend(inlines.iter().flat_map(|inlines| inlines.messages(section)));
        Ok(messages)
    }
}

/// The unfinished sections, in the order in which their tools first appeared.
pub struct Sums<'a> {
    options: &'a Options,
    sections: Vec<(Summed, Section)>,
    /// The output of the stacks, if they do not follow the other records.
    stacks: Option<Out<'a>>,
}

impl<'a> Sums<'a> {
    /// Creates sums without any section.
    pub fn new(options: &'a Options) -> Sums<'a> {
        Sums {
            options,
            sections: Vec::new(),
            stacks: None,
        }
    }

    /// Writes the stacks of Callgrind profiles to another output, as `--stacks` without other record types writes them.
    /// `--inline`, `--levels` and `--per-part` change these records, so the options must not contain them.
    pub fn with_stacks_apart(self, out: Out<'a>) -> Sums<'a> {
        Sums {
            stacks: Some(out),
            ..self
        }
    }

    /// Adds a profile to its tool's section. With `--per-part`, writes a section for each part instead.
    pub fn read(&mut self, tool: Summed, reading: &mut Reading) -> Result<(), Error> {
        let source = reading.source;
        let options = self.options;
        if options.stacks && tool == Summed::Cachegrind {
            return Err(Error::whole(
                "expected calls, found a Cachegrind profile, which has none; stacks need a Callgrind profile",
            ));
        }
        if options.per_part {
            let mut section = tool.section(options, options.stacks);
            let mut messages: Vec<String> = Vec::new();
            let mut write = |section: &mut Section| {
                messages.extend(tool.write(section, options, reading.out)?);
                section.clear();
                Ok(())
            };
            let result = tool.read(
                source,
                reading.lines,
                options,
                &mut section,
                &mut write,
                reading.diagnostics,
            );
            // The remaining data is the part in which an error occurred.
            if section.event_count() > 0 {
                messages.extend(tool.write(&mut section, options, reading.out)?);
            }
            for message in messages {
                reading.warn(message);
            }
            return result;
        }
        let place = self
            .sections
            .iter()
            .position(|(known, _)| *known == tool)
            .unwrap_or_else(|| {
                let has_stacks = options.stacks || self.stacks.is_some();
                self.sections
                    .push((tool, tool.section(options, has_stacks)));
                self.sections.len() - 1
            });
        let section = &mut self.sections[place].1;
        let part_done = &mut |_: &mut Section| Ok(());
        let nothing = RunFacts::new(section.run.tool());
        let before = mem::replace(&mut section.run, nothing.clone());
        let result = tool.read(
            source,
            reading.lines,
            options,
            section,
            part_done,
            reading.diagnostics,
        );
        let input_facts = mem::replace(&mut section.run, nothing);
        section.run = before.and(input_facts);
        result
    }

    /// Writes the sections. `all_read` is false if an input could not be opened or recognised. The sums may then be
    /// incomplete, so they get no `end`.
    pub fn write(
        mut self,
        all_read: bool,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        for (tool, section) in &mut self.sections {
            if !all_read {
                section.mark_incomplete();
            }
            if section.event_count() == 0 {
                continue;
            }
            if let Some(out) = &mut self.stacks
                && let Some(graph) = section.stacks.take()
            {
                let result = tool.fold_levels(section, self.options);
                let result = result.and_then(|()| write::write_stacks(section, &graph, out));
                report(section, result.map(Vec::from_iter), diagnostics)?;
            }
            let result = tool.write(section, self.options, out);
            report(section, result, diagnostics)?;
        }
        Ok(())
    }
}

/// Reports the messages of a written section, or the error if it concerns the input.
fn report(
    section: &Section,
    written: Result<Vec<String>, Error>,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let messages = match written {
        Err(error @ Error::Malformed { .. }) => {
            diagnostics.error(error.in_file(&section.run.sources.join(", ")));
            return Ok(());
        }
        written => written?,
    };
    for message in messages {
        diagnostics.warn(message);
    }
    Ok(())
}
