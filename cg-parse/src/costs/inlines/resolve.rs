//! Adds the cost lines up by chain of inlined functions.

use std::io;

use cg_debug_info::{Chains, NodeId, Search};
use cg_stream::intern::{Id as _, TooMany};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::lines::Allowed;
use super::objects::{TracedObject, TracedObjects, Unresolved};
use super::trace::{At, Counted, Trace, Traced};
use crate::costs::section::{CostRows, FunctionId, NoRoom, Section, Signedness, StringId};
use crate::error::Error;

cg_stream::ids! {
    /// Code of one chain of inlined functions in one function of the profile.
    pub(crate) struct ChainId;
}

/// What makes such code one and the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ChainKey {
    /// The function of the profile, into which the others are inlined.
    pub(super) host: FunctionId,
    /// What is inlined into it, in the chains of the host's object; none where nothing is inlined or known.
    pub(super) inlined: Option<Inlined>,
}

/// What is known of code that is inlined into a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Inlined {
    /// The chain, by its innermost function.
    Chain(NodeId),
    /// The innermost function; by which way it came there is not known.
    Innermost(cg_debug_info::FunctionId),
    /// It is one of several functions, by their number in [`Inlines::several`].
    OneOf(usize),
}

/// A function of a chain as records name it.
#[derive(Clone, Copy, Debug)]
pub(super) struct InlinedFunction {
    pub(super) name: StringId,
    pub(super) file: StringId,
}

/// The inlined functions of a section.
pub(crate) struct Inlines {
    pub(super) objects: TracedObjects,
    pub(super) chains: CostRows<ChainId, ChainKey, ()>,
    recursion: Recursion,
    /// By object: its functions, in the order of [`Chains::functions`], and its files in that of [`Chains::files`].
    pub(super) functions: Vec<Vec<InlinedFunction>>,
    pub(super) files: Vec<Vec<StringId>>,
    /// Cost whose chain is known, by event.
    pub(super) resolved: Vec<u64>,
    /// Functions of which code may be each, where lines do not tell.
    pub(super) several: Vec<Vec<cg_debug_info::FunctionId>>,
}

/// Resolves what the section's trace has.
pub(crate) fn resolve(section: &mut Section, search: &Search) -> Result<Option<Inlines>, Error> {
    let Some(trace) = &mut section.trace else {
        return Ok(None);
    };
    // The next part has a trace of its own.
    let mut trace = std::mem::replace(trace, Trace::new());
    let ranking = section.ranking_event();
    let kept = |error: io::Error| {
        Error::whole(format!(
            "cannot keep cost lines in a temporary file: {error}"
        ))
    };
    let mut objects = TracedObjects::collect(&mut trace, section).map_err(kept)?;
    objects.find_candidates(section, search);
    objects
        .check_lines(&mut trace, section, ranking)
        .map_err(kept)?;
    let mut inlines = Inlines {
        functions: Vec::new(),
        files: Vec::new(),
        chains: CostRows::new(section.event_count()),
        recursion: Recursion::new(section.event_count()),
        resolved: vec![0; section.event_count()],
        several: Vec::new(),
        objects,
    };
    let no_room = |no_room: NoRoom| Error::whole(no_room.to_string());
    // An object is mostly the one that was profiled, so that its lines are added up by its chains while they are held
    // against its symbols, and once more only where it turns out to be another.
    let mut roots = None;
    let roots = loop {
        let is_tried = inlines.objects.try_next(search);
        if let Some(roots) = roots.take_if(|_| !is_tried) {
            break roots;
        }
        let added = inlines.add_up(&mut trace, section, ranking);
        let added = added.map_err(kept)?.map_err(no_room)?;
        roots = inlines.objects.judge().then_some(added);
    };
    inlines.add_inclusive_of_callers(section).map_err(no_room)?;
    inlines.name(&roots, section)?;
    Ok(Some(inlines))
}

/// Which functions of the profile have their own code out of line, by object and function in its debug information.
type Roots = HashMap<(usize, usize), Vec<FunctionId>, FixedState>;

impl Inlines {
    /// Adds every line to the row of its chain, and its cost by the event `ranking` to what is known of its object.
    fn add_up(
        &mut self,
        trace: &mut Trace,
        section: &Section,
        ranking: usize,
    ) -> io::Result<Result<Roots, NoRoom>> {
        let Inlines {
            objects,
            chains,
            recursion,
            resolved,
            several,
            ..
        } = self;
        *chains = CostRows::new(section.event_count());
        *recursion = Recursion::new(section.event_count());
        resolved.fill(0);
        several.clear();
        let mut sums = LineSums {
            several,
            several_ids: HashMap::default(),
            by_line: HashMap::default(),
            signedness: section.signedness(),
            chains,
            recursion,
            resolved,
            roots: Roots::default(),
            last: None,
            seen: Vec::new(),
        };
        let mut result = Ok(());
        let mut last = None;
        trace.for_each(|line| {
            if result.is_err() {
                return;
            }
            let (host, place) = match last {
                Some((function, host, place)) if function == line.function => (host, place),
                _ => {
                    let host = section.merged_into(line.function);
                    (host, objects.place(host, section))
                }
            };
            last = Some((line.function, host, place));
            let object = &mut objects.objects[place];
            let index = match line.at {
                At::Address(address) => object.index_of(address),
                At::Line { .. } => None,
            };
            if let (Some(index), Counted::Own) = (index, line.counted) {
                let count = line.counts.get(ranking).copied().unwrap_or(0);
                object.see(host, index, count, section);
            }
            result = sums.add(&line, host, place, index, object, section);
        })?;
        Ok(result.map(|()| sums.roots))
    }

    /// Adds the inclusive cost of each chain to those that its functions are inlined into, up to the host's own, which
    /// has that of the host.
    ///
    /// Code that is entered while it is not active yet is what inclusive cost counts. Where no call of a recursion leaves
    /// from a chain, that is all of its levels, its own cost and the calls that leave it; where all calls of the recursion
    /// leave from it, it is the first level with these calls, which have the others in them. Each is never more than the
    /// cost in question, so the larger is it in both cases, and the most that is known where some of these calls leave from
    /// the chain and some from elsewhere.
    fn add_inclusive_of_callers(&mut self, section: &Section) -> Result<(), NoRoom> {
        let signedness = section.signedness();
        let Recursion {
            mut deeper,
            mut back,
        } = std::mem::replace(&mut self.recursion, Recursion::new(section.event_count()));
        for rows in [&mut self.chains, &mut deeper, &mut back] {
            add_to_callers(rows, &mut self.objects, section)?;
        }
        for (row, key) in deeper.all() {
            let mut more = deeper.inclusive(row).to_vec();
            let less = back.row(key)?;
            for (more, less) in more.iter_mut().zip(back.inclusive(less)) {
                *more = more.wrapping_sub(*less);
                if more.cast_signed() < 0 {
                    *more = 0;
                }
            }
            let row = self.chains.row(key)?;
            self.chains.add_inclusive(row, &more, signedness)?;
        }
        for (host, _) in section.present() {
            self.chains.row(ChainKey {
                host,
                inlined: None,
            })?;
        }
        Ok(())
    }

    /// Finds out what the functions of chains are called in records.
    fn name(&mut self, roots: &Roots, section: &mut Section) -> Result<(), TooMany> {
        for (place, object) in self.objects.objects.iter().enumerate() {
            let (mut functions, mut files) = (Vec::new(), Vec::new());
            if let Some(chains) = object.chains() {
                for path in chains.files() {
                    files.push(section.strings.intern(path)?);
                }
                for (id, function) in chains.functions() {
                    let hosts = roots
                        .get(&(place, id.index()))
                        .map_or(&[][..], Vec::as_slice);
                    functions.push(match out_of_line(&function.name, hosts, section) {
                        Some(host) => {
                            let key = section.key_of(host);
                            InlinedFunction {
                                name: key.name,
                                file: key.file,
                            }
                        }
                        None => InlinedFunction {
                            name: match function.name.as_slice() {
                                b"" => section.strings.intern(b"???")?,
                                name => section.strings.intern(name)?,
                            },
                            file: match function.declared.file {
                                Some(file) => files[file.index()],
                                None => StringId::NOT_GIVEN,
                            },
                        },
                    });
                }
            }
            self.functions.push(functions);
            self.files.push(files);
        }
        Ok(())
    }

    /// Why objects that cost something are not resolved, each with its cost by the event that ranks.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = (StringId, &Unresolved)> {
        (self.objects.objects.iter())
            .filter_map(|object| Some((object.name, object.unresolved.as_ref()?)))
    }

    /// The chain of an instruction of a function's object.
    pub(crate) fn at(&self, object: StringId, address: u64) -> Option<(usize, &Chains, NodeId)> {
        let place = self.objects.position(object)?;
        let object = &self.objects.objects[place];
        let node = node_at(object, object.index_of(address))?;
        Some((place, object.chains.as_ref()?, node))
    }
}

/// Adds what each chain has to those that its functions are inlined into, but for the host.
fn add_to_callers(
    rows: &mut CostRows<ChainId, ChainKey, ()>,
    objects: &mut TracedObjects,
    section: &Section,
) -> Result<(), NoRoom> {
    // Before anything is added: what a chain has of those in it must not go up with it once more.
    let costs: Vec<(ChainKey, Vec<u64>)> = (rows.all())
        .map(|(row, key)| (key, rows.inclusive(row).to_vec()))
        .collect();
    for (key, cost) in costs {
        let place = objects.place(key.host, section);
        // Lines do not tell all of what is in a chain.
        let Some(chains) = &objects.objects[place].chains else {
            continue;
        };
        let Some(Inlined::Chain(innermost)) = key.inlined else {
            continue;
        };
        let mut node = chains.node(innermost);
        while let Some((caller, _)) = node.inlined_into {
            node = chains.node(caller);
            if node.inlined_into.is_some() {
                let row = rows.row(ChainKey {
                    host: key.host,
                    inlined: Some(Inlined::Chain(caller)),
                })?;
                rows.add_inclusive(row, &cost, section.signedness())?;
            }
        }
    }
    Ok(())
}

/// What chains of recursive functions have besides the first level, and what of the first level is the recursion.
pub(super) struct Recursion {
    /// Self cost of deeper levels, and calls that leave the recursion from there.
    deeper: CostRows<ChainId, ChainKey, ()>,
    /// Calls of the first level that are of the recursion.
    back: CostRows<ChainId, ChainKey, ()>,
}

impl Recursion {
    fn new(events: usize) -> Recursion {
        Recursion {
            deeper: CostRows::of_arcs(events),
            back: CostRows::of_arcs(events),
        }
    }
}

/// Rows of chains while lines are added to them.
struct LineSums<'s> {
    signedness: Signedness,
    chains: &'s mut CostRows<ChainId, ChainKey, ()>,
    recursion: &'s mut Recursion,
    resolved: &'s mut [u64],
    several: &'s mut Vec<Vec<cg_debug_info::FunctionId>>,
    several_ids: HashMap<Vec<cg_debug_info::FunctionId>, usize, FixedState>,
    /// What lines without addresses came to.
    by_line: HashMap<(FunctionId, StringId, u64), Found, FixedState>,
    roots: Roots,
    /// The last line, whose row is mostly that of the next.
    last: Option<LastLine>,
    /// By row, the node whose root was looked at last.
    seen: Vec<Option<NodeId>>,
}

/// Where a line was added up.
#[derive(Clone, Copy)]
struct LastLine {
    host: FunctionId,
    /// The node at its address; `None` of a line without.
    node: Option<Option<NodeId>>,
    key: ChainKey,
    row: ChainId,
    is_resolved: bool,
}

/// What is known of a line's code.
#[derive(Clone, Copy, Default)]
struct Found {
    inlined: Option<Inlined>,
    /// Whether the innermost function is known.
    is_resolved: bool,
    /// The node, where it is known.
    node: Option<NodeId>,
}

impl LineSums<'_> {
    #[inline]
    fn add(
        &mut self,
        line: &Traced,
        host: FunctionId,
        place: usize,
        index: Option<usize>,
        object: &TracedObject,
        section: &Section,
    ) -> Result<(), NoRoom> {
        let node = match line.at {
            At::Address(_) => Some(node_at(object, index)),
            At::Line { .. } => None,
        };
        let found = match self.last {
            Some(last) if last.host == host && node.is_some() && last.node == node => last,
            _ => self.find(line, host, place, node, object, section)?,
        };
        let row = found.row;
        if line.counted == Counted::Own {
            self.chains.add_own(row, line.counts, self.signedness)?;
        }
        if line.is_first {
            self.chains
                .add_inclusive(row, line.counts, self.signedness)?;
        }
        let differing = match (line.is_first, line.counted) {
            (true, Counted::CallsBack) => Some(&mut self.recursion.back),
            (false, Counted::Own | Counted::Calls) => Some(&mut self.recursion.deeper),
            _ => None,
        };
        if let Some(differing) = differing
            && found.key.inlined.is_some()
        {
            let row = differing.row(found.key)?;
            differing.add_inclusive(row, line.counts, self.signedness)?;
        }
        if found.is_resolved && line.counted == Counted::Own {
            for (sum, count) in self.resolved.iter_mut().zip(line.counts) {
                *sum = sum.wrapping_add(*count);
            }
        }
        Ok(())
    }

    /// Finds the row of a line, and notes whose code is out of line in the host.
    fn find(
        &mut self,
        line: &Traced,
        host: FunctionId,
        place: usize,
        node: Option<Option<NodeId>>,
        object: &TracedObject,
        section: &Section,
    ) -> Result<LastLine, NoRoom> {
        let found = match (line.at, node, &object.chains) {
            (At::Line { file, line }, ..) => self.at_line(object, host, file, line, section),
            (At::Address(_), Some(Some(node)), Some(chains)) => Found::of(chains, node),
            (At::Address(_), ..) => Found::default(),
        };
        let key = ChainKey {
            host,
            inlined: found.inlined,
        };
        let row = match self.last {
            Some(last) if last.key == key => last.row,
            _ => self.chains.row(key)?,
        };
        let last = LastLine {
            host,
            node,
            key,
            row,
            is_resolved: found.is_resolved,
        };
        self.last = Some(last);
        if let (Some(node), Some(chains)) = (found.node, object.chains())
            && self.seen.get(row.index()) != Some(&Some(node))
            && let Some(root) = chains.chain(node).last()
        {
            if self.seen.len() <= row.index() {
                self.seen.resize(row.index() + 1, None);
            }
            self.seen[row.index()] = Some(node);
            let hosts = self
                .roots
                .entry((place, root.function.index()))
                .or_default();
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        Ok(last)
    }

    /// What the lines of a function allow.
    fn at_line(
        &mut self,
        object: &TracedObject,
        host: FunctionId,
        file: StringId,
        line: u64,
        section: &Section,
    ) -> Found {
        let Some(lines) = &object.lines else {
            return Found::default();
        };
        if let Some(found) = self.by_line.get(&(host, file, line)) {
            return *found;
        }
        let found = match lines.at(host, section.strings.get(file), line) {
            Allowed::Nothing => Found::default(),
            Allowed::Chain(node) => Found::of(&lines.chains, node),
            Allowed::Innermost(function) => Found {
                inlined: Some(Inlined::Innermost(function)),
                is_resolved: true,
                node: None,
            },
            Allowed::OneOf(functions) => {
                let several = &mut *self.several;
                let id = *self
                    .several_ids
                    .entry(functions)
                    .or_insert_with_key(|functions| {
                        several.push(functions.clone());
                        several.len() - 1
                    });
                Found {
                    inlined: Some(Inlined::OneOf(id)),
                    ..Found::default()
                }
            }
        };
        self.by_line.insert((host, file, line), found);
        found
    }
}

impl Found {
    fn of(chains: &Chains, node: NodeId) -> Found {
        let is_inlined = chains.node(node).inlined_into.is_some();
        Found {
            inlined: is_inlined.then_some(Inlined::Chain(node)),
            is_resolved: true,
            node: Some(node),
        }
    }
}

#[inline]
fn node_at(object: &TracedObject, index: Option<usize>) -> Option<NodeId> {
    let chains = object.chains.as_ref()?;
    index.and_then(|index| chains.innermost[index])
}

/// The function of the profile that is the out-of-line copy of an inlined one, so that both are one row: the one of that
/// name, else the only one, whose name is an alias or another spelling. A part or a clone of it, whose name has more
/// behind that of the function, is not all of it.
fn out_of_line(name: &[u8], hosts: &[FunctionId], section: &Section) -> Option<FunctionId> {
    let name_of = |host: &FunctionId| section.strings.get(section.key_of(*host).name);
    if let Some(host) = hosts.iter().find(|host| name_of(host) == name) {
        return Some(*host);
    }
    let mut whole = hosts.iter().filter(|host| !name_of(host).starts_with(name));
    match (whole.next(), whole.next()) {
        (Some(host), None) => Some(*host),
        _ => None,
    }
}
