//! CPU profiles in a trace of Chrome, in pieces.
//!
//! The sampled thread begins a profile with an event `Profile`. Nodes, samples and times follow in `ProfileChunk` events
//! with the same process and `id`. Older traces have the whole profile in one event `CpuProfile`.

use std::borrow::Cow;

use cg_reader::json::List;
use cg_reader::number::whole_u64;
use cg_reader::{Error, Reading};
use cg_stream::record::{Count, RunRecord};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::table::{StackKey, StackTable};
use super::super::trace_events::{TraceThreadId, TraceThreads};
use super::call_node::CallNode;
use super::document::duration;
use super::nodes::V8Nodes;
use super::samples::{V8Samples, time};

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct ProfileArgs<'a> {
    data: Option<Data<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct Data<'a> {
    cpu_profile: Option<ProfilePiece<'a>>,
    time_deltas: Option<&'a RawValue>,
    /// In µs.
    start_time: Option<f64>,
    end_time: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct ProfilePiece<'a> {
    #[serde(default)]
    nodes: Vec<CallNode<'a>>,
    samples: Option<&'a RawValue>,
    time_deltas: Option<&'a RawValue>,
    start_time: Option<f64>,
    end_time: Option<f64>,
}

/// The profiles of a trace.
#[derive(Default)]
pub(crate) struct TracedProfiles {
    /// The profiles by process and id, in the order of their beginnings.
    all: Vec<([Vec<u8>; 2], TracedProfile)>,
}

/// A profile that arrives in pieces.
pub(crate) struct TracedProfile {
    thread: TraceThreadId,
    nodes: V8Nodes,
    /// The samples and deltas, as unparsed text, because the trace itself is not kept in memory.
    pieces: Vec<[Option<Box<RawValue>>; 2]>,
    /// Its beginning and end in µs, as the events of the trace have them, and as V8 has them. The two may use different
    /// clocks.
    spans: [[Option<f64>; 2]; 2],
}

impl TracedProfiles {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the profile with this process and id, for an event of `thread`.
    pub(crate) fn find_or_begin(
        &mut self,
        key: [Cow<'_, [u8]>; 2],
        thread: TraceThreadId,
        is_chunk: bool,
    ) -> &mut TracedProfile {
        let key = key.map(Cow::into_owned);
        let known = self.all.iter().position(|(known, _)| *known == key);
        let position = known.unwrap_or(self.all.len());
        if known.is_none() {
            let profile = TracedProfile {
                thread,
                nodes: V8Nodes::default(),
                pieces: Vec::new(),
                spans: [[None; 2]; 2],
            };
            self.all.push((key, profile));
        }
        let profile = &mut self.all[position].1;
        if !is_chunk {
            // Another thread than the sampled one writes the chunks.
            profile.thread = thread;
        }
        profile
    }

    /// Adds the samples of all profiles, after all nodes were read.
    pub(crate) fn add_samples(
        &mut self,
        threads: &TraceThreads,
        table: &mut StackTable,
        run: &mut RunRecord,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        let mut samples = V8Samples::new(table, run, reading.options.times);
        let (mut strays, mut orphans) = (0u64, 0);
        for (_, profile) in &mut self.all {
            // Chrome discards the beginning of a long trace.
            orphans += profile.nodes.resolve_known(table)?;
            run.threads.push(threads.facts(profile.thread));
            let row = threads.place(profile.thread, table)?;
            strays += profile.add_samples(&mut samples, row, table)?;
        }
        reading.warn_count(
            orphans,
            "node begins a stack, because its caller is missing from the trace",
            "nodes begin a stack, because their callers are missing from the trace",
        );
        reading.warn_count(
            strays,
            "sample has no stack, because its node is missing from the trace",
            "samples have no stack, because their nodes are missing from the trace",
        );
        samples.warn(reading);
        Ok(())
    }
}

impl TracedProfile {
    /// Adds the arguments of an event.
    pub(crate) fn add(
        &mut self,
        args: &str,
        is_demangled: bool,
        table: &mut StackTable,
    ) -> Result<(), Error> {
        let args: ProfileArgs = serde_json::from_str(args)
            .map_err(|error| Error::whole(format!("an event of a profile: {error}")))?;
        let Some(data) = args.data else {
            return Ok(());
        };
        let mut note = |clock: usize, times: [Option<f64>; 2]| {
            for (known, time) in self.spans[clock].iter_mut().zip(times) {
                *known = known.or(time);
            }
        };
        note(0, [data.start_time, data.end_time]);
        let Some(piece) = data.cpu_profile else {
            return Ok(());
        };
        note(1, [piece.start_time, piece.end_time]);
        for node in &piece.nodes {
            self.nodes.add(node, is_demangled, table)?;
        }
        let deltas = data.time_deltas.or(piece.time_deltas);
        let kept = [piece.samples, deltas].map(|list| list.map(RawValue::to_owned));
        self.pieces.push(kept);
        Ok(())
    }

    /// Adds the samples. Returns the number of samples in missing nodes.
    fn add_samples(
        &self,
        samples: &mut V8Samples,
        row: StackKey,
        table: &mut StackTable,
    ) -> Result<u64, Error> {
        let mut strays = 0;
        for [ids, deltas] in &self.pieces {
            let mut deltas = list(deltas.as_deref())?.elements();
            for id in list(ids.as_deref())?.elements() {
                let position = whole_u64(id).and_then(|id| self.nodes.position(id).ok());
                strays += u64::from(position.is_none());
                let row = StackKey {
                    stack: position.and_then(|position| self.nodes.stack(position)),
                    ..row
                };
                let delta = deltas.next().map(time).transpose()?;
                samples.add(row, delta, table)?;
            }
        }
        let mut lengths = self.spans.iter().filter_map(|[begin, end]| {
            let length = duration(*begin, *end, 1e3).map(Count::from);
            samples.end_on_one_clock(*begin, length)
        });
        let length = lengths.next();
        samples.finish(length, table);
        Ok(strays)
    }
}

fn list(value: Option<&RawValue>) -> Result<List<'_>, Error> {
    value.map_or(Ok(List::default()), |value| {
        serde_json::from_str(value.get())
            .map_err(|error| Error::whole(format!("an event of a profile: {error}")))
    })
}
