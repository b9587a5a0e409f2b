//! Costs and calls by file and line.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use cg_collections::sorting::Order as _;
use cg_names::code_origin::{self, CodeOrigin};
use cg_profile::{FunctionKey, Profile, Symbol};
use cg_stream::record::{Count, Frame, RecordType, add_counts_growing};

/// All lines with a cost, by file.
pub(super) struct Files<'a> {
    profile: &'a Profile,
    lines: BTreeMap<Option<Symbol>, FileLines<'a>>,
}

/// The lines of a file.
pub(super) type FileLines<'a> = BTreeMap<u64, SourceLine<'a>>;

/// The cost, owners and calls of a line.
#[derive(Default)]
pub(super) struct SourceLine<'a> {
    /// Self cost, with one count per event of the profile.
    pub(super) cost: Vec<Count>,
    /// The known owners of the code; empty if the profile has no names of inlined functions.
    pub(super) owners: Owners<'a>,
    /// Calls from this line, the largest inclusive cost first.
    pub(super) calls: Vec<LineCall>,
}

/// A function that owns code of a line or of consecutive lines, with its part of their cost.
#[derive(Clone, Default)]
pub(super) struct LineOwner {
    /// Self cost, with one count per event of the profile.
    pub(super) cost: Vec<Count>,
    /// Names and objects of the functions into which it is inlined.
    pub(super) hosts: BTreeSet<(Option<Symbol>, Option<Symbol>)>,
    /// True if some of the cost is in code that is not inlined.
    pub(super) is_out_of_line: bool,
}

/// Owners by name.
pub(super) type Owners<'a> = BTreeMap<&'a str, LineOwner>;

/// Calls from one line to one function.
pub(super) struct LineCall {
    pub(super) callee: FunctionKey,
    pub(super) calls: Count,
    pub(super) incl: Vec<Count>,
}

/// Returns the sum of the lines' costs for an event.
pub(super) fn sum_costs(lines: &FileLines<'_>, event: usize) -> Count {
    let counts = lines.values().filter_map(|line| line.cost.get(event));
    counts.sum()
}

impl<'a> Files<'a> {
    pub(super) fn collect(profile: &'a Profile) -> Files<'a> {
        let rows = |kind| 0..profile.table(kind).len();
        Files::collect_rows(profile, rows(RecordType::Line), rows(RecordType::Call))
    }

    /// Collects the files of some `line` records, with the calls of some `call` records.
    pub(super) fn collect_rows(
        profile: &'a Profile,
        lines: impl Iterator<Item = usize> + Clone,
        calls: impl Iterator<Item = usize>,
    ) -> Files<'a> {
        let mut files = Files {
            profile,
            lines: BTreeMap::new(),
        };
        let rows = profile.table(RecordType::Line);
        for row in lines.clone() {
            let key = rows.key(row);
            let file_lines = files.lines.entry(key.function.file).or_default();
            let line = file_lines.entry(key.line.unwrap_or(0)).or_default();
            add_counts_growing(&mut line.cost, rows.cost(row));
        }
        files.add_calls(lines.clone(), calls);
        files.add_owners(lines);
        files
    }

    /// Returns the lines of a file from [`Files::own_first`].
    pub(super) fn lines(&self, file: Option<Symbol>) -> Option<&FileLines<'a>> {
        self.lines.get(&file)
    }

    /// Returns the files in order: the program's own files first, then by the cost of their lines, largest first, then by
    /// name.
    pub(super) fn own_first(&self, event: usize) -> Vec<Option<Symbol>> {
        let mut files: Vec<(bool, Count, Option<Symbol>)> = self
            .lines
            .iter()
            .map(|(file, lines)| (self.is_own(*file), sum_costs(lines, event), *file))
            .collect();
        files.order_by(|(a_own, a_cost, a), (b_own, b_cost, b)| {
            b_own
                .cmp(a_own)
                .then_with(|| b_cost.cmp(a_cost))
                .then_with(|| self.profile.text(*a).cmp(&self.profile.text(*b)))
        });
        files.into_iter().map(|(_, _, file)| file).collect()
    }

    /// Returns true if a frame in this file would be the program's own.
    fn is_own(&self, file: Option<Symbol>) -> bool {
        let frame = Frame {
            file: self.profile.text(file).map(Into::into),
            ..Frame::default()
        };
        matches!(code_origin::classify_stack(&[frame])[..], [CodeOrigin::Own])
    }

    /// Finds the owners of each line. Does nothing if no line has a chain of inlined functions. A line without a chain
    /// belongs to the profile's function if the line is in the file of that function. In another file, the line may belong
    /// to an inlined function of unknown name.
    fn add_owners(&mut self, lines: impl Iterator<Item = usize> + Clone) {
        let (profile, rows) = (self.profile, self.profile.table(RecordType::Line));
        let innermost = |row| rows.detail(row).and_then(|detail| detail.inlined.first());
        if !lines.clone().any(|row| innermost(row).is_some()) {
            return;
        }
        let functions = profile.table(RecordType::Fn).keys();
        let functions: HashSet<FunctionKey> = functions.map(|key| key.function).collect();
        for row in lines {
            let function = rows.function(row);
            let inlined = innermost(row);
            let name = match inlined {
                Some(frame) => frame.name.as_deref(),
                None if functions.contains(&function) => profile.text(function.name),
                None => None,
            };
            let lines = self.lines.get_mut(&function.file);
            let line = lines.and_then(|lines| lines.get_mut(&rows.key(row).line.unwrap_or(0)));
            let (Some(name), Some(line)) = (name, line) else {
                continue;
            };
            let owner = line.owners.entry(name).or_default();
            add_counts_growing(&mut owner.cost, rows.cost(row));
            match inlined {
                Some(_) => drop(owner.hosts.insert((function.name, function.obj))),
                None => owner.is_out_of_line = true,
            }
        }
    }

    /// Assigns calls to lines. The file is the call site's, if the record names one. Otherwise the record has only the file
    /// of the caller, so this looks up the file among the caller's lines. If inlining leaves several files, it skips the
    /// call.
    fn add_calls(
        &mut self,
        lines: impl Iterator<Item = usize>,
        call_rows: impl Iterator<Item = usize>,
    ) {
        let (profile, rows) = (self.profile, self.profile.table(RecordType::Line));
        type LineOfFunction = (Option<Symbol>, Option<Symbol>, Option<u64>);
        let mut files_by_line: HashMap<LineOfFunction, BTreeSet<Option<Symbol>>> = HashMap::new();
        for key in lines.map(|row| rows.key(row)) {
            let line = (key.function.name, key.function.obj, key.line);
            files_by_line
                .entry(line)
                .or_default()
                .insert(key.function.file);
        }
        let calls = profile.table(RecordType::Call);
        for row in call_rows {
            let key = calls.key(row);
            let line = (key.function.name, key.function.obj, key.line);
            let Some(files) = files_by_line.get(&line) else {
                continue;
            };
            let file = match files.contains(&key.function.file) {
                _ if key.site.is_some() => key.site,
                true => key.function.file,
                false if files.len() == 1 => files.first().copied().flatten(),
                false => continue,
            };
            let callee = key.callee.unwrap_or_default();
            let line = self
                .lines
                .entry(file)
                .or_default()
                .entry(key.line.unwrap_or(0))
                .or_default();
            let known = line.calls.iter().position(|call| call.callee == callee);
            let position = known.unwrap_or_else(|| {
                line.calls.push(LineCall {
                    callee,
                    calls: 0,
                    incl: Vec::new(),
                });
                line.calls.len() - 1
            });
            let call = &mut line.calls[position];
            call.calls += calls.calls(row);
            add_counts_growing(&mut call.incl, calls.incl(row).unwrap_or_default());
        }
        for line in self.lines.values_mut().flat_map(BTreeMap::values_mut) {
            line.calls.order_by(|a, b| {
                b.incl
                    .cmp(&a.incl)
                    .then_with(|| profile.order_of_functions(&a.callee, &b.callee))
            });
        }
    }
}
