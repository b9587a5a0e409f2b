//! Writes chains of inlined functions as records.

use std::cmp::Ordering;

use cg_debug_info::{ChainNodeId, Chains, SourcePlace};
use cg_reader::{Error, Out};
use cg_stream::intern::Id as _;
use cg_stream::record::{InlineFacts, InlineObject, Name};
use cg_stream::rows::{InlineRow, NameId, NamesRef, StackRef};
use cg_stream::sorting::Order as _;

use super::chain::{ChainId, ChainKey, Inlined};
use super::objects::TracedObject;
use super::paths::is_same_file;
use super::resolve::{InlinedFunction, Inlines};
use crate::ids::StringId;
use crate::section::Section;
use crate::write::PartOf;
use crate::write::tables::{ChainFrame, SectionTables, name};

/// Objects that have less than this part of the cost are not worth a word.
pub(super) const SAID_FROM: u64 = 1000;

impl InlinedFunction {
    /// The function as a frame at no line.
    fn frame(self) -> ChainFrame {
        ChainFrame {
            name: self.name,
            file: self.file,
            line: 0,
            site: StringId::NOT_GIVEN,
        }
    }
}

impl Inlines {
    /// Writes an `inline` record for every chain that has cost, self or inclusive, and for every function.
    pub(crate) fn write(
        &self,
        tables: &mut SectionTables<'_>,
        of: PartOf,
        out: &mut Out,
    ) -> Result<(), Error> {
        let section = tables.section;
        let ranking = section.ranking_event();
        let chains = &self.chains;
        let mut rows: Vec<(ChainId, ChainKey, Vec<ChainFrame>)> = (chains.all())
            .map(|(row, key)| (row, key, self.frames(section, key)))
            .collect();
        rows.order_by(|(a, key_a, frames_a), (b, key_b, frames_b)| {
            section
                .by_cost(ranking, chains.own(*a), chains.own(*b))
                .then_with(|| by_frames(section, frames_a, frames_b))
                .then_with(|| {
                    section.by_function(section.key_of(key_a.host), section.key_of(key_b.host))
                })
        });
        let mut stack = Vec::new();
        for (row, key, frames) in rows {
            let host = section.key_of(key.host);
            let Some(innermost) = frames.first() else {
                continue;
            };
            let has_lines_only = self.objects.has_lines_only(host.object);
            let inclusive = match key.inlined {
                None => Some(section.inclusive(key.host)),
                Some(Inlined::Chain(_)) if !has_lines_only => Some(chains.inclusive(row)),
                Some(_) => None,
            };
            let last = frames.len() - 1;
            stack.clear();
            for (position, frame) in frames.iter().enumerate() {
                let object = match position == last {
                    true => host.object,
                    false => StringId::NOT_GIVEN,
                };
                stack.push(tables.frame_in(*frame, object)?);
            }
            let ambiguous = self.ambiguous(section, key);
            let row = InlineRow {
                name: name(innermost.name),
                file: name(innermost.file),
                obj: name(host.object),
                ambiguous: NamesRef::Ids(&ambiguous),
                part: of.part,
                thread: of.thread,
                cost: tables.cells(chains.own(row)),
                incl: (inclusive.filter(|_| section.has_inclusive()))
                    .map(|inclusive| tables.cells(inclusive)),
                stack: StackRef::Ids(&stack),
            };
            out.row(row, &*tables)?;
        }
        Ok(())
    }

    /// The frames of a chain, innermost first; the last is the host.
    fn frames(&self, section: &Section, key: ChainKey) -> Vec<ChainFrame> {
        let host = section.key_of(key.host);
        let place = self.objects.position(host.object);
        let mut frames = Vec::new();
        if let Some(place) = place
            && let Some(chains) = self.objects.objects[place].chains()
        {
            match key.inlined {
                Some(Inlined::Chain(innermost)) => {
                    self.push_frames(section, place, chains, innermost, &mut frames);
                }
                // What is between the two is not known, and not where the one is called in the other.
                Some(Inlined::Innermost(function)) => {
                    let function = self.functions[place][function.index()];
                    frames.extend([function, function].map(InlinedFunction::frame));
                }
                Some(Inlined::OneOf(_)) | None => {}
            }
        }
        let host = InlinedFunction {
            name: host.name,
            file: host.file,
        };
        match frames.last_mut() {
            // The profile's own name of the function that the others are inlined into.
            Some(last) => self.rename(section, last, host),
            None => frames.push(host.frame()),
        }
        frames
    }

    /// The names of the functions of which code may be each.
    fn ambiguous(&self, section: &Section, key: ChainKey) -> Vec<NameId> {
        let Some(Inlined::OneOf(several)) = key.inlined else {
            return Vec::new();
        };
        let Some(place) = self.objects.position(section.key_of(key.host).object) else {
            return Vec::new();
        };
        let names = self.several[several].iter();
        let names = names.map(|function| self.functions[place][function.index()].name);
        let mut names: Vec<StringId> = names.filter(|name| *name != StringId::NOT_GIVEN).collect();
        names.order_by(|a, b| section.by_string(*a, *b));
        names.dedup();
        let ids = names
            .iter()
            .filter_map(|name| NameId::at(name.index()).ok());
        ids.collect()
    }

    fn push_frames(
        &self,
        section: &Section,
        place: usize,
        chains: &Chains,
        innermost: ChainNodeId,
        frames: &mut Vec<ChainFrame>,
    ) {
        let mut call: Option<SourcePlace> = None;
        for node in chains.chain(innermost) {
            let function = self.functions[place][node.function.index()];
            let mut frame = function.frame();
            if let Some(call) = call {
                frame.line = u64::from(call.line);
                if let Some(file) = call.file {
                    frame.site = self.files[place][file.index()];
                    self.rename(section, &mut frame, function);
                }
            }
            frames.push(frame);
            call = node.inlined_into.map(|(_, call)| call);
        }
    }

    /// Gives a frame its function; its line's file is said only where it is another than the function's.
    fn rename(&self, section: &Section, frame: &mut ChainFrame, function: InlinedFunction) {
        let file = std::mem::replace(&mut frame.file, function.file);
        frame.name = function.name;
        let site = match frame.site {
            StringId::NOT_GIVEN if frame.line != 0 => file,
            site => site,
        };
        let is_own = is_same_file(
            section.strings.get(site),
            section.strings.get(function.file),
        );
        frame.site = if frame.line == 0 || is_own {
            StringId::NOT_GIVEN
        } else {
            site
        };
    }

    /// The innermost function at an instruction, where it is an inlined one.
    pub fn innermost(&self, object: StringId, address: u64) -> Option<ChainNodeId> {
        let (_, chains, node) = self.at(object, address)?;
        chains.node(node).inlined_into.is_some().then_some(node)
    }

    /// The inlined functions of a chain of an object, without the function that they are inlined into.
    pub(crate) fn inlined(
        &self,
        section: &Section,
        object: StringId,
        innermost: ChainNodeId,
    ) -> Vec<ChainFrame> {
        let mut frames = Vec::new();
        if let Some(place) = self.objects.position(object)
            && let Some(chains) = self.objects.objects[place].chains()
        {
            self.push_frames(section, place, chains, innermost, &mut frames);
            frames.pop();
        }
        frames
    }

    /// What the `run` record says of it.
    pub(crate) fn facts(&self, section: &Section) -> InlineFacts {
        let mut objects: Vec<(u64, InlineObject)> = (self.objects.objects.iter())
            .map(|object| {
                let obj = Name::from_bytes(section.strings.get(object.name)).into_string();
                let facts = InlineObject {
                    obj,
                    debug: object.source.map(str::to_owned),
                    unresolved: object.unresolved.as_ref().map(|why| why.text().to_owned()),
                    agrees: object.agrees,
                    named: object.named,
                };
                (self.cost_of(section, object.name), facts)
            })
            .collect();
        objects.order_by(|(a, facts_a), (b, facts_b)| {
            b.cmp(a).then_with(|| facts_a.obj.cmp(&facts_b.obj))
        });
        InlineFacts {
            resolved: section.counts(&self.resolved).into_owned(),
            objects: objects.into_iter().map(|(_, facts)| facts).collect(),
        }
    }

    /// The cost of an object's functions, by the event that ranks.
    fn cost_of(&self, section: &Section, object: StringId) -> u64 {
        let ranking = section.ranking_event();
        let functions = section.present().filter(|(_, key)| key.object == object);
        functions.fold(0, |sum: u64, (function, _)| {
            sum.saturating_add(section.cost(function).get(ranking).copied().unwrap_or(0))
        })
    }

    /// How much of the cost lines alone tell, where the profile has no addresses.
    fn told_by_lines(&self, section: &Section, total: u64) -> Option<String> {
        let has_lines = |object: &TracedObject| object.lines.is_some() && object.source.is_some();
        self.objects
            .objects
            .iter()
            .find(|object| has_lines(object))?;
        let resolved = self
            .resolved
            .get(section.ranking_event())
            .copied()
            .unwrap_or(0);
        Some(format!(
            "the profile has no addresses: of {:.1}% of the cost its lines tell the function; run Callgrind with --dump-instr=yes for all of it",
            100.0 * resolved as f64 / total.max(1) as f64
        ))
    }

    /// What to say of objects that could not be resolved, a sentence for each reason, with what would help.
    pub fn messages(&self, section: &Section) -> Vec<String> {
        use super::objects::Unresolved;
        let total: u64 = (self.objects.objects.iter())
            .map(|object| self.cost_of(section, object.name))
            .fold(0, u64::saturating_add);
        let mut reasons: Vec<(&Unresolved, Vec<(u64, StringId)>)> = Vec::new();
        for (object, why) in self.unresolved() {
            let cost = self.cost_of(section, object);
            // The `run` record has those too that cost next to nothing.
            if cost < total / SAID_FROM {
                continue;
            }
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, objects)) => objects.push((cost, object)),
                None => reasons.push((why, vec![(cost, object)])),
            }
        }
        let said = |(why, mut objects): (&Unresolved, Vec<(u64, StringId)>)| {
            objects.order_by(|(a, object_a), (b, object_b)| {
                b.cmp(a)
                    .then_with(|| section.by_string(*object_a, *object_b))
            });
            let share = |cost: u64| format!("{:.1}%", 100.0 * cost as f64 / total.max(1) as f64);
            let named = objects.iter().map(|(cost, name)| {
                let object = self.objects.objects.iter().find(|object| object.name == *name);
                let name = Name::from_bytes(section.strings.get(*name)).into_string();
                match object {
                    Some(object) if *why == Unresolved::AnotherBuild => format!(
                        "{name} ({} of the cost; {:.1}% of what has a name is where its symbols are)",
                        share(*cost),
                        100.0 * object.agrees as f64 / object.named.max(1) as f64
                    ),
                    _ => format!("{name} ({})", share(*cost)),
                }
            });
            let named = named.collect::<Vec<_>>().join(", ");
            match why {
                Unresolved::Missing => {
                    format!(
                        "inlined functions stay unknown, as the object is not there; --debug-root DIR says where else to look: {named}"
                    )
                }
                Unresolved::NoDebugInfo => format!(
                    "inlined functions stay unknown without debug information (-g, in Cargo.toml debug = 1, a debug package, or --debug-root DIR): {named}"
                ),
                Unresolved::AnotherBuild => {
                    format!(
                        "inlined functions stay unknown, as the object is another build than the one profiled: {named}"
                    )
                }
                Unresolved::Unnamed => {
                    format!(
                        "inlined functions stay unknown where the profile names no object: {}",
                        share(objects.iter().map(|(cost, _)| cost).sum())
                    )
                }
                Unresolved::Unreadable(why) => {
                    format!("inlined functions stay unknown ({why}): {named}")
                }
            }
        };
        let mut messages: Vec<String> = reasons.into_iter().map(said).collect();
        messages.extend(self.told_by_lines(section, total));
        messages
    }
}

fn by_frames(section: &Section, a: &[ChainFrame], b: &[ChainFrame]) -> Ordering {
    let by_frame = |a: &ChainFrame, b: &ChainFrame| {
        section
            .by_string(a.name, b.name)
            .then_with(|| section.by_string(a.file, b.file))
            .then_with(|| a.line.cmp(&b.line))
            .then_with(|| section.by_string(a.site, b.site))
    };
    let differing = a
        .iter()
        .zip(b)
        .map(|(a, b)| by_frame(a, b))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}
