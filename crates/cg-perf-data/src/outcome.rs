//! Converts a completely read recording to records.

use std::collections::BTreeMap;

use cg_collections::intern::{Id as _, TooMany};
use cg_reader::{Error, Out, plural};
use cg_stacks::perf::{Recording, SAMPLES, SampledEvent};
use cg_stacks::table::{StackLinkId, StackTable};
use cg_stream::Diagnostics;
use cg_stream::record::RunRecord;

use crate::locations::{CodePlace, MappedObjectId};
use crate::names::{LocationNames, NameSources, other_builds};
use crate::reader::{RecordingReader, StackEnds};
use crate::stacks::StackBuilder;

/// A stack with named frames.
#[derive(Clone, Copy)]
struct NamedStack {
    stack: Option<StackLinkId>,
    /// The stack without its innermost frame, in the table of the read stacks.
    outer: Option<StackLinkId>,
    /// True if it was unwound through another build of an object than the recorded one. The stack ends there.
    is_cut: bool,
    /// True if its innermost frame was found by unwinding the next inner one.
    is_unwound: bool,
    /// The object of the innermost frame, if that frame has no name.
    nameless: Option<MappedObjectId>,
}

impl RecordingReader<'_> {
    /// Names all locations and writes the records.
    pub(crate) fn write(
        mut self,
        source: &str,
        read: Result<(), Error>,
        out: &mut Out,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), Error> {
        let names = self.event_names();
        let mut run = RunRecord::new("perf");
        run.source = vec![source.to_owned()];
        self.features.set_run_fields(&mut run);
        let sampled = self
            .events
            .iter()
            .filter(|event| !event.attribute.is_dummy());
        run.sampling.sample_rate = (sampled
            .filter_map(|event| event.attribute.frequency())
            .next())
        .map(Into::into);
        for build in self.features.build_ids() {
            self.builds.by_path.insert(build.path, build.id);
        }
        self.builds.are_all = true;
        if self.kernel.build_id.is_none() {
            self.kernel.build_id = (self.builds.by_path)
                .get(&b"[kernel.kallsyms]"[..])
                .cloned();
        }
        self.kernel.release = self.features.os_release();
        self.warn_incomplete(source, diagnostics);

        let mut table = StackTable::new([SAMPLES]);
        let mut events: Vec<SampledEvent> = Vec::new();
        // The written column for each column that was read.
        let mut columns = vec![0];
        for (event, name) in self.events.iter().zip(&names) {
            let new = SampledEvent::new(name);
            let known = events.iter().position(|known| known.name == new.name);
            if event.samples == 0 {
                columns.push(0);
                continue;
            }
            let position = known.unwrap_or(events.len());
            if known.is_none() {
                events.push(new);
            }
            events[position].samples += event.samples;
            events[position].has_period |= event.has_period;
            columns.push(table.event(&events[position].name));
        }
        self.name_stacks(source, &columns, &mut table, diagnostics)?;
        let mut threads = BTreeMap::new();
        let known = |id: u32| (id != u32::MAX).then_some(u64::from(id));
        for ((pid, tid), name) in &self.threads {
            let name = table.text(self.stacks.table.text_by_id(*name).as_bytes())?;
            threads.insert((known(*pid), known(*tid)), name);
        }
        let recording = Recording {
            run,
            table,
            events,
            threads,
            begin: self.times.map(|(first, _)| first),
            duration: (self.times)
                .map(|(first, last)| last - first)
                .filter(|time| *time > 0),
        };
        recording.write(read, out)
    }

    /// Returns the names of events: perf's names, or else names derived from their numbers.
    fn event_names(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<Vec<u8>> = (self.events.iter())
            .map(|event| match event.attribute.name.is_empty() {
                true => event.attribute.name_by_number().into_bytes(),
                false => event.attribute.name.clone(),
            })
            .collect();
        for (position, described) in self.features.events().into_iter().enumerate() {
            let by_id = described
                .ids
                .iter()
                .find_map(|id| self.events_by_id.get(id));
            let event = by_id
                .copied()
                .or(described.ids.is_empty().then_some(position));
            if let Some(name) = event.and_then(|event| names.get_mut(event)) {
                *name = described.name;
            }
        }
        names
    }

    /// Adds the stacks with named frames to `table`.
    fn name_stacks(
        &self,
        source: &str,
        columns: &[usize],
        table: &mut StackTable,
        diagnostics: &mut Diagnostics,
    ) -> Result<(), TooMany> {
        let StackBuilder {
            table: read,
            locations,
            ..
        } = &self.stacks;
        let sources = NameSources {
            locations,
            builds: &self.builds,
            kernel: &self.kernel,
            search: &self.options.search,
            demangle: self.options.demangle,
            read,
        };
        let mut names = sources.find(table)?;
        let named = self.named_stacks(&names, table)?;
        // The number of samples in each stack, including the stacks that extend it.
        let mut samples = vec![0u64; named.len()];
        let mut through_others = 0u64;
        for position in 0..read.row_count() {
            let row = read.row_at(position);
            let mut key = row;
            if let Some(stack) = row.stack {
                let row_samples = u64::try_from(read.cost(position, 0)).unwrap_or(u64::MAX);
                let stack_samples = &mut samples[stack.index()];
                *stack_samples = stack_samples.saturating_add(row_samples);
                let named = &named[stack.index()];
                through_others += if named.is_cut { row_samples } else { 0 };
                key.stack = named.stack;
                key.cut |= named.is_cut;
            }
            let thread = read.name(row.thread).unwrap_or_default();
            key.thread = table.text_unless_empty(thread.as_bytes())?;
            let written = table.row(key)?;
            for (column, to) in columns.iter().enumerate() {
                if column == 0 || *to > 0 {
                    table.add(written, *to, read.cost(position, column));
                }
            }
        }
        for (position, named) in named.iter().enumerate().rev() {
            let stack_samples = samples[position];
            if let Some(object) = named.nameless {
                names.count_nameless(object, stack_samples);
            }
            if let Some(outer) = named.outer {
                let outer_samples = &mut samples[outer.index()];
                *outer_samples = outer_samples.saturating_add(stack_samples);
            }
        }
        names.warn_nameless(source, locations, diagnostics);
        if through_others > 0 {
            diagnostics.warn(format!(
                "{source}: {} another build than the recorded one; --debug-root DIR also searches below DIR",
                plural(
                    through_others,
                    "stack is cut at an object that is",
                    "stacks are cut at objects that are"
                )
            ));
        }
        Ok(())
    }

    /// Returns the stack in `table` for each read stack. Stacks share their outer frames, which are named once.
    fn named_stacks(
        &self,
        names: &LocationNames,
        table: &mut StackTable,
    ) -> Result<Vec<NamedStack>, TooMany> {
        let locations = &self.stacks.locations;
        let others = other_builds(
            self.follower.files(),
            locations,
            &self.builds,
            &self.options.search,
        );
        let is_other = |place| matches!(place, CodePlace::Object(object, _) if others.contains(&object.index()));
        let read = &self.stacks.table;
        let mut named: Vec<NamedStack> = Vec::new();
        for (outer, frame) in read.links() {
            let number = read.frames()[frame.index()].addr.unwrap_or(0) as usize;
            let location = &locations.all()[number];
            let outer_stack = outer.map(|outer| named[outer.index()]);
            let ends =
                outer_stack.is_some_and(|outer| outer.is_unwound) && is_other(location.place);
            let (mut stack, is_cut) = match outer_stack {
                Some(outer) if !ends => (outer.stack, outer.is_cut),
                _ => (None, ends),
            };
            let (own, nameless) = names.frames(number, location);
            for frame in own.iter().rev() {
                stack = Some(table.push(stack, *frame)?);
            }
            named.push(NamedStack {
                stack,
                outer: outer.filter(|_| !ends),
                is_cut,
                is_unwound: location.is_unwound,
                nameless,
            });
        }
        Ok(named)
    }

    /// Warns about lost records and incomplete stacks.
    fn warn_incomplete(&self, source: &str, diagnostics: &mut Diagnostics) {
        if self.lost > 0 {
            diagnostics.warn(format!(
                "{source}: perf lost {} while it recorded",
                plural(
                    self.lost,
                    "sample or other record",
                    "samples or other records"
                )
            ));
        }
        let StackEnds {
            followed,
            copied,
            lost,
        } = self.ends;
        if copied + lost > 0 {
            let share = (copied + lost) as f64 / followed as f64 * 100.0;
            let verb = if copied + lost == 1 { "is" } else { "are" };
            diagnostics.warn(format!(
                "{source}: {} of {followed} stacks ({share:.1} %) {verb} cut: {copied} where perf's copy of the stack ends (perf record --call-graph dwarf,65528 copies more), {lost} at code whose caller is unknown",
                copied + lost
            ));
        }
    }
}
