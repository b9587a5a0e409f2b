//! Adds the cost lines up by chain of inlined functions.

use std::io;

use cg_debug_info::{Chains, NodeId, Search};
use cg_stream::intern::TooMany;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::lines::Allowed;
use super::objects::{TracedObject, TracedObjects, Unresolved};
use super::spans::SpanOwner;
use super::trace::{At, Counted, Run, TakeLines, Trace, Traced};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
            ranking,
            chains,
            recursion,
            resolved,
            roots: Roots::default(),
            last: None,
            rows_of_nodes: Vec::new(),
        };
        let mut lines = AddLines {
            sums: &mut sums,
            objects,
            section,
            result: Ok(()),
        };
        trace.read(&mut lines)?;
        let result = lines.result.and_then(|()| sums.add_spans(objects, section));
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
        let chains = object.chains.as_ref()?;
        let node = chains.innermost[object.index_of(address)?]?;
        Some((place, chains, node))
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
    /// The event by which objects are held against their symbols.
    ranking: usize,
    chains: &'s mut CostRows<ChainId, ChainKey, ()>,
    recursion: &'s mut Recursion,
    resolved: &'s mut [u64],
    several: &'s mut Vec<Vec<cg_debug_info::FunctionId>>,
    several_ids: HashMap<Vec<cg_debug_info::FunctionId>, usize, FixedState>,
    /// What lines without addresses came to.
    by_line: HashMap<(FunctionId, StringId, u64), Found, FixedState>,
    roots: Roots,
    /// The function of the last line as it names it, what that turned out to be, and the position of its object.
    last: Option<(FunctionId, FunctionId, usize)>,
    /// By object and node the host that the code was last in, and its row. A node is mostly in one host.
    rows_of_nodes: Vec<Vec<Option<(FunctionId, ChainId)>>>,
}

/// Adds lines to their rows, until that fails.
struct AddLines<'l, 's> {
    sums: &'l mut LineSums<'s>,
    objects: &'l mut TracedObjects,
    section: &'l Section,
    result: Result<(), NoRoom>,
}

impl TakeLines for AddLines<'_, '_> {
    fn line(&mut self, line: &Traced) {
        if self.result.is_ok() {
            self.result = self.sums.add(line, self.objects, self.section);
        }
    }

    /// Lines of a function that follow each other in a span are as good as one with their sum, which is small: a run is
    /// no longer than a buffer.
    fn run(&mut self, function: FunctionId, is_first: bool, run: &mut Run) {
        let host = self.section.merged_into(function);
        let place = self.objects.place(host, self.section);
        let mut next = run.next();
        while let Some((address, mut sum)) = next {
            let spans = &mut self.objects.objects[place].spans;
            let position = spans.holding(address);
            let code = spans.bounds(position);
            next = loop {
                match run.next() {
                    Some((address, count)) if code.contains(&address) => sum += count,
                    other => break other,
                }
            };
            self.line(&Traced::own(function, is_first, address, &[sum]));
        }
    }
}

/// The largest sum of a span.
const MOST_AT_ONCE: u64 = i64::MAX.cast_unsigned();

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
        objects: &mut TracedObjects,
        section: &Section,
    ) -> Result<(), NoRoom> {
        let (host, place) = match self.last {
            Some((function, host, place)) if function == line.function => (host, place),
            _ => {
                let host = section.merged_into(line.function);
                (host, objects.place(host, section))
            }
        };
        self.last = Some((line.function, host, place));
        let object = &mut objects.objects[place];
        let address = match line.at {
            At::Address(address) => address,
            At::Line { file, line: number } => {
                let found = self.at_line(object, host, file, number, section);
                let row = self.row(host, found, place, object)?;
                return self.add_counts(row, line, found.is_resolved);
            }
        };
        let position = object.spans.holding(address);
        let span = object.spans.at(position);
        let is_resolved = span.node.is_some();
        let row = match span.owner {
            Some(owner) if (owner.function, owner.is_first) == (line.function, line.is_first) => {
                // Sums that are the same however they are read, signed or not.
                if let ([count], Counted::Own) = (line.counts, line.counted)
                    && let Some(sum @ 0..=MOST_AT_ONCE) = span.own.checked_add(*count)
                {
                    span.own = sum;
                    return Ok(());
                }
                owner.row
            }
            _ => {
                self.add_span(object, position, section)?;
                let found = match (object.spans.at(position).node, &object.chains) {
                    (Some(node), Some(chains)) => Found::of(chains, node),
                    _ => Found::default(),
                };
                let row = self.row(host, found, place, object)?;
                object.spans.at(position).owner = Some(SpanOwner {
                    function: line.function,
                    is_first: line.is_first,
                    row,
                });
                row
            }
        };
        if line.counted == Counted::Own {
            object.see(host, position, self.ranked(line.counts), section);
        }
        self.add_counts(row, line, is_resolved)
    }

    fn ranked(&self, counts: &[u64]) -> u64 {
        counts.get(self.ranking).copied().unwrap_or(0)
    }

    /// Adds a line to its row.
    fn add_counts(&mut self, row: ChainId, line: &Traced, is_resolved: bool) -> Result<(), NoRoom> {
        if line.counted == Counted::Own {
            self.chains.add_own(row, line.counts, self.signedness)?;
            if is_resolved {
                for (sum, count) in self.resolved.iter_mut().zip(line.counts) {
                    *sum = sum.wrapping_add(*count);
                }
            }
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
        if let Some(differing) = differing {
            let key = self.chains.key(row);
            if key.inlined.is_some() {
                let row = differing.row(key)?;
                differing.add_inclusive(row, line.counts, self.signedness)?;
            }
        }
        Ok(())
    }

    /// Adds the cost up that has come together in a span.
    fn add_span(
        &mut self,
        object: &mut TracedObject,
        position: usize,
        section: &Section,
    ) -> Result<(), NoRoom> {
        let span = object.spans.at(position);
        let (Some(owner), count @ 1..) = (span.owner, std::mem::take(&mut span.own)) else {
            return Ok(());
        };
        let counts = &[count];
        let line = Traced::own(owner.function, owner.is_first, 0, counts);
        self.add_counts(owner.row, &line, span.node.is_some())?;
        let host = section.merged_into(owner.function);
        object.see(host, position, self.ranked(counts), section);
        Ok(())
    }

    /// The same for all spans.
    fn add_spans(&mut self, objects: &mut TracedObjects, section: &Section) -> Result<(), NoRoom> {
        for object in &mut objects.objects {
            for position in 0..object.spans.len() {
                self.add_span(object, position, section)?;
                object.spans.at(position).owner = None;
            }
        }
        Ok(())
    }

    /// Finds the row of code in a host, and notes whose code is out of line in it.
    fn row(
        &mut self,
        host: FunctionId,
        found: Found,
        place: usize,
        object: &TracedObject,
    ) -> Result<ChainId, NoRoom> {
        let key = ChainKey {
            host,
            inlined: found.inlined,
        };
        let Some(node) = found.node else {
            return Ok(self.chains.row(key)?);
        };
        if self.rows_of_nodes.len() <= place {
            self.rows_of_nodes.resize_with(place + 1, Vec::new);
        }
        let rows = &mut self.rows_of_nodes[place];
        if rows.len() <= node.index() {
            rows.resize(node.index() + 1, None);
        }
        let known = &mut rows[node.index()];
        if let Some((of, row)) = *known
            && of == host
        {
            return Ok(row);
        }
        let row = self.chains.row(key)?;
        *known = Some((host, row));
        if let Some(chains) = object.chains()
            && let Some(root) = chains.chain(node).last()
        {
            let root = (place, root.function.index());
            let hosts = self.roots.entry(root).or_default();
            if !hosts.contains(&host) {
                hosts.push(host);
            }
        }
        Ok(row)
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
