//! From all that was read of a recording to its records.

use std::collections::BTreeMap;

use cg_reader::{Error, Out};
use cg_stacks::perf::{Recording, SAMPLES, SampledEvent};
use cg_stacks::table::{StackKey, StackLinkId, StackTable};
use cg_stream::Diagnostics;
use cg_stream::intern::{Id as _, TooMany};
use cg_stream::record::RunRecord;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use crate::locations::{CodePlace, MappedObjectId};
use crate::names::{NameSources, other_builds};
use crate::reader::{RecordingReader, StackEnds};
use crate::stacks::StackBuilder;

/// A stack whose frames were named.
#[derive(Default)]
struct NamedStack {
    stack: Option<StackLinkId>,
    /// It was followed through another build of an object than was recorded, and ends there.
    is_cut: bool,
    /// For each of its frames that has no name, the object.
    nameless: Vec<MappedObjectId>,
}

impl RecordingReader<'_> {
    /// Names everything and writes it.
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
        self.features.tell(&mut run);
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
        self.tell(source, diagnostics);

        let mut table = StackTable::new([SAMPLES]);
        let mut events: Vec<SampledEvent> = Vec::new();
        // By column of what was read: the column that is written.
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
            let name = table.text(self.stacks.table.text_of(*name).as_bytes())?;
            threads.insert((known(*pid), known(*tid)), name);
        }
        let recording = Recording {
            run,
            table,
            events,
            threads,
            duration: (self.times)
                .map(|(first, last)| last - first)
                .filter(|time| *time > 0),
        };
        recording.write(read, out)
    }

    /// What events are called: as perf says, else by their numbers.
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

    /// Puts the stacks into `table`, their frames named.
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
        let others = other_builds(
            self.follower.files(),
            locations,
            &self.builds,
            &self.options.search,
        );
        let mut through_others = 0u64;
        let mut frames = Vec::new();
        // Many threads have the same stacks.
        let mut known: HashMap<Option<StackLinkId>, NamedStack, FixedState> = HashMap::default();
        for position in 0..read.row_count() {
            let row = read.row_at(position);
            let samples = u64::try_from(read.cost(position, 0)).unwrap_or(u64::MAX);
            if !known.contains_key(&row.stack) {
                let mut named = NamedStack::default();
                frames.clear();
                let mut is_other = false;
                for frame in read.frames_of(row.stack) {
                    let number = read.frames()[frame.index()].addr.unwrap_or(0) as usize;
                    let location = &locations.all()[number];
                    if location.is_unwound && is_other {
                        named.is_cut = true;
                        break;
                    }
                    is_other = matches!(location.place, CodePlace::Object(object, _) if others.contains(&object.index()));
                    let (own, nameless) = names.of(number, location);
                    frames.extend_from_slice(own);
                    named.nameless.extend(nameless);
                }
                named.stack = table.stack(&frames)?;
                known.insert(row.stack, named);
            }
            let named = &known[&row.stack];
            through_others += if named.is_cut { samples } else { 0 };
            for object in &named.nameless {
                names.count_nameless(*object, samples);
            }
            let thread = read.name(row.thread).unwrap_or_default();
            let thread = table.given(thread.as_bytes())?;
            let written = table.row(StackKey {
                stack: named.stack,
                thread,
                cut: row.cut || named.is_cut,
                ..row
            })?;
            for (column, to) in columns.iter().enumerate() {
                if column == 0 || *to > 0 {
                    table.add(written, *to, read.cost(position, column));
                }
            }
        }
        names.tell(source, locations, diagnostics);
        if through_others > 0 {
            diagnostics.warn(format!(
                "{source}: {through_others} stacks are cut at objects that are another build now than was recorded; --debug-root DIR looks below DIR too"
            ));
        }
        Ok(())
    }

    /// Says what a reader of the figures should know.
    fn tell(&self, source: &str, diagnostics: &mut Diagnostics) {
        if self.lost > 0 {
            diagnostics.warn(format!(
                "{source}: perf lost {} samples or other records while it recorded",
                self.lost
            ));
        }
        let StackEnds {
            followed,
            copied,
            lost,
        } = self.ends;
        if copied + lost > 0 {
            let share = (copied + lost) as f64 / followed as f64 * 100.0;
            diagnostics.warn(format!(
                "{source}: {} of {followed} stacks ({share:.1} %) are cut: {copied} where perf's copy of the stack ends (perf record --call-graph dwarf,65528 copies more), {lost} at code of which nothing says who called it",
                copied + lost
            ));
        }
    }
}
