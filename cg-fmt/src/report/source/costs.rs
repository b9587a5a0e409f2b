//! Costs and calls by file and line.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cg_names::whose::{self, Whose};
use cg_stream::profile::{FunctionKey, Profile, Symbol};
use cg_stream::record::{Count, Frame, RecordType};

use crate::report::columns::order_of_functions;

/// All lines with a cost, by file.
pub(super) struct Files<'a> {
    profile: &'a Profile,
    lines: BTreeMap<Option<Symbol>, FileLines>,
}

/// The lines of a file.
pub(super) type FileLines = BTreeMap<u64, SourceLine>;

/// What is known of a line.
#[derive(Default)]
pub(super) struct SourceLine {
    /// Self cost, an event of the profile each.
    pub(super) cost: Vec<Count>,
    /// Calls that leave from it, by inclusive cost.
    pub(super) calls: Vec<LineCall>,
}

/// Calls from one line to one function.
pub(super) struct LineCall {
    pub(super) callee: FunctionKey,
    pub(super) calls: Count,
    pub(super) incl: Vec<Count>,
}

impl<'a> Files<'a> {
    pub(super) fn of(profile: &'a Profile) -> Files<'a> {
        let mut files = Files {
            profile,
            lines: BTreeMap::new(),
        };
        let rows = profile.table(RecordType::Line);
        for row in 0..rows.len() {
            let key = rows.key(row);
            let lines = files.lines.entry(key.function.file).or_default();
            let line = lines.entry(key.line.unwrap_or(0)).or_default();
            add(&mut line.cost, rows.cost(row));
        }
        files.add_calls();
        files
    }

    pub(super) fn lines(&self, file: Option<Symbol>) -> &FileLines {
        static NONE: FileLines = FileLines::new();
        self.lines.get(&file).unwrap_or(&NONE)
    }

    /// Files of the program itself before others, then by the cost of their lines, largest first, then by name.
    pub(super) fn own_first(&self, event: usize) -> Vec<Option<Symbol>> {
        let mut files: Vec<(bool, Count, Option<Symbol>)> = self
            .lines
            .iter()
            .map(|(file, lines)| {
                let counts = lines.values().filter_map(|line| line.cost.get(event));
                (self.is_own(*file), counts.sum(), *file)
            })
            .collect();
        files.sort_by(|(a_own, a_cost, a), (b_own, b_cost, b)| {
            b_own
                .cmp(a_own)
                .then_with(|| b_cost.cmp(a_cost))
                .then_with(|| self.profile.text(*a).cmp(&self.profile.text(*b)))
        });
        files.into_iter().map(|(_, _, file)| file).collect()
    }

    /// Whether a file is the program's own, as a frame in it would be.
    fn is_own(&self, file: Option<Symbol>) -> bool {
        let frame = Frame {
            file: self.profile.text(file).map(Into::into),
            ..Frame::default()
        };
        matches!(whose::whose(&[frame])[..], [Whose::Own])
    }

    /// Puts calls to their lines: in the file of the call site where a record names one. A stream without sites has the
    /// file of the calling function only, so the file is looked up among the lines of that function; where inlining
    /// leaves it open, the call is not shown.
    fn add_calls(&mut self) {
        let (profile, rows) = (self.profile, self.profile.table(RecordType::Line));
        type LineOfFunction = (Option<Symbol>, Option<Symbol>, Option<u64>);
        let mut files_of: HashMap<LineOfFunction, BTreeSet<Option<Symbol>>> = HashMap::new();
        for key in rows.keys() {
            let line = (key.function.name, key.function.obj, key.line);
            files_of.entry(line).or_default().insert(key.function.file);
        }
        let calls = profile.table(RecordType::Call);
        for row in 0..calls.len() {
            let key = calls.key(row);
            let line = (key.function.name, key.function.obj, key.line);
            let Some(files) = files_of.get(&line) else {
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
            add(&mut call.incl, calls.incl(row).unwrap_or_default());
        }
        for line in self.lines.values_mut().flat_map(BTreeMap::values_mut) {
            line.calls.sort_by(|a, b| {
                b.incl
                    .cmp(&a.incl)
                    .then_with(|| order_of_functions(profile, &a.callee, &b.callee))
            });
        }
    }
}

/// Adds counts event by event.
pub(super) fn add(sums: &mut Vec<Count>, counts: &[Count]) {
    if sums.len() < counts.len() {
        sums.resize(counts.len(), 0);
    }
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}
