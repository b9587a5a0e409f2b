//! CPU profiles inside a trace of Chrome's, which come in pieces.
//!
//! The sampled thread begins a profile with an event `Profile`; nodes, samples and times follow in events `ProfileChunk` of
//! the same process and `id`. Older traces have the whole profile in one event `CpuProfile`.

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

/// The profiles of a trace while it is read.
#[derive(Default)]
pub(crate) struct TracedProfiles {
    /// By process and id, in the order they were begun.
    all: Vec<([Vec<u8>; 2], TracedProfile)>,
}

/// A profile while its pieces are met.
pub(crate) struct TracedProfile {
    thread: TraceThreadId,
    nodes: V8Nodes,
    /// The samples and the times between them, as they are written: a trace is not held.
    pieces: Vec<[Option<Box<RawValue>>; 2]>,
    /// When it began and ended, in µs.
    span: [Option<f64>; 2],
}

impl TracedProfiles {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The profile of a process and an id, of which an event of this thread tells.
    pub(crate) fn of(
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
                span: [None; 2],
            };
            self.all.push((key, profile));
        }
        let profile = &mut self.all[position].1;
        if !is_chunk {
            // Chunks are written by another thread than the one that was sampled.
            profile.thread = thread;
        }
        profile
    }

    /// Adds the samples of all profiles, now that all nodes are known.
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
            // Chrome throws the beginning of a long trace away.
            orphans += profile.nodes.resolve_known(table)?;
            run.threads.push(threads.facts(profile.thread));
            let row = threads.place(profile.thread, table)?;
            strays += profile.add_samples(&mut samples, row, table)?;
        }
        reading.warn_of(
            orphans,
            "nodes are called from others that the trace has not; their stacks begin with them",
        );
        reading.warn_of(
            strays,
            "samples were taken in nodes that the trace has not; they have no stack",
        );
        samples.warn(reading);
        Ok(())
    }
}

impl TracedProfile {
    /// Adds what the arguments of an event tell.
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
        let mut note = |times: [Option<f64>; 2]| {
            for (known, time) in self.span.iter_mut().zip(times) {
                *known = known.or(time);
            }
        };
        note([data.start_time, data.end_time]);
        let Some(piece) = data.cpu_profile else {
            return Ok(());
        };
        note([piece.start_time, piece.end_time]);
        for node in &piece.nodes {
            self.nodes.add(node, is_demangled, table)?;
        }
        let deltas = data.time_deltas.or(piece.time_deltas);
        let kept = [piece.samples, deltas].map(|list| list.map(RawValue::to_owned));
        self.pieces.push(kept);
        Ok(())
    }

    /// Adds its samples; how many of them are of nodes that are not there.
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
        let [begin, end] = self.span;
        samples.finish(duration(begin, end, 1e3).map(Count::from), table);
        Ok(strays)
    }
}

fn list(value: Option<&RawValue>) -> Result<List<'_>, Error> {
    value.map_or(Ok(List::default()), |value| {
        serde_json::from_str(value.get())
            .map_err(|error| Error::whole(format!("an event of a profile: {error}")))
    })
}
