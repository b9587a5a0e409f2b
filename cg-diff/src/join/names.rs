//! Joins records whose names are the same once they are normalised.

use cg_names::blame::is_allocator_or_replacement;
use cg_stream::profile::{FrameKey, FunctionKey, Key, Names, StackId, Symbol};
use cg_stream::record::{Frame, Name, RecordType};
use regex::Regex;

use super::buckets::Buckets;
use super::{Draft, Joiner};
use crate::key::normal::Level;
use cg_names::paths;
use cg_names::rules::Fired;

impl Joiner<'_> {
    /// Functions whose names a regex captures the same text of.
    pub(super) fn join_captured(&mut self, capture: &Regex) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            let Draft { of, key, .. } = &self.drafts[draft];
            let Some(name) = key.function.name.filter(|_| *of == RecordType::Fn) else {
                continue;
            };
            let Some(captures) = capture.captures(self.runs.names.symbols.text(name)) else {
                continue;
            };
            let groups: Vec<Option<String>> = captures
                .iter()
                .skip(usize::from(captures.len() > 1))
                .map(|group| group.map(|group| group.as_str().to_owned()))
                .collect();
            buckets.add(groups, draft);
        }
        for bucket in buckets.into_vec() {
            if self.gains(&bucket) {
                self.merge(&bucket, Fired::CAPTURE);
            }
        }
    }

    /// Records that are left over and have the same names once these are normalised to a level.
    pub(super) fn join_normalised(&mut self, level: Level) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            buckets.add(self.normalised_key(draft, level), draft);
        }
        for bucket in buckets.into_vec() {
            if self.gains(&bucket) {
                self.join_bucket(&bucket, level);
            }
        }
    }

    /// Functions of one name in one object whose file changed because other code is inlined at their first line, which
    /// is what Callgrind names a function's file by.
    pub(super) fn join_inlined_files(&mut self) {
        let mut buckets = Buckets::default();
        for draft in self.left_over() {
            let Draft { of, key, .. } = self.drafts[draft];
            let function = self.normalised_function(key.function, Level::Counter);
            if let (RecordType::Fn, Some(name), Some(object)) = (of, function.name, function.obj) {
                buckets.add((name, object), draft);
            }
        }
        for bucket in buckets.into_vec() {
            let is_inlined = bucket.iter().any(|draft| {
                let file = self.drafts[*draft].key.function.file;
                file.is_some_and(|file| {
                    let file =
                        self.normalise(|normaliser, symbols| normaliser.file(symbols, file).symbol);
                    paths::is_mostly_inlined(self.runs.names.symbols.text(file))
                })
            });
            if is_inlined && self.gains(&bucket) && self.are_disjoint(&bucket) {
                self.merge(&bucket, Fired::INLINED_FILE);
            }
        }
    }

    /// The key of a draft, its names normalised and its paths cut down to their last component.
    fn normalised_key(&mut self, draft: usize, level: Level) -> NormalisedKey {
        let Draft { of, key, .. } = self.drafts[draft];
        let mut result = NormalisedKey {
            of,
            kind: key.kind,
            what: None,
            functions: Vec::with_capacity(1),
            lines: Vec::new(),
        };
        if let Some(what) = key.what {
            result.what = Some(
                self.normalise(|normaliser, symbols| normaliser.sentence(symbols, what).symbol),
            );
        }
        if let Some(stack) = key.stack {
            let frames = frames_to_blame(&self.runs.names, stack).to_vec();
            for frame in frames {
                let function = self.normalised_function(frame.function, level);
                result.functions.push(function);
                if level < Level::Counter {
                    result.lines.push(frame.line);
                }
            }
            return result;
        }
        result
            .functions
            .push(self.normalised_function(key.function, level));
        if let Some(callee) = key.callee {
            result
                .functions
                .push(self.normalised_function(callee, level));
        }
        if of != RecordType::Call || level < Level::Counter {
            if key.site.is_some() {
                result
                    .functions
                    .push(self.normalised_function(file_only(key.site), level));
            }
            result.lines.push(key.line);
        }
        result
    }

    /// A function with its name normalised to a level, and its file and object to their last components.
    pub(super) fn normalised_function(
        &mut self,
        function: FunctionKey,
        level: Level,
    ) -> FunctionKey {
        let aliases = std::mem::take(&mut self.object_aliases);
        let result = self.normalise(|normaliser, symbols| {
            let (file, object) = normaliser.place(symbols, function);
            let object = object.map(|object| normaliser.base_name(symbols, object.symbol));
            FunctionKey {
                name: function
                    .name
                    .map(|name| normaliser.name(symbols, name, level).symbol),
                file: file.map(|file| normaliser.base_name(symbols, file.symbol)),
                obj: object.map(|object| aliases.get(&object).copied().unwrap_or(object)),
            }
        });
        self.object_aliases = aliases;
        match self.mangling_aliases.get(&result) {
            Some(alias) if level == Level::Mangling => *alias,
            _ => result,
        }
    }

    pub(super) fn merge_normalised(&mut self, drafts: &[usize], level: Level) {
        let mut fired = Fired::default();
        let first = self.drafts[drafts[0]].key;
        for draft in &drafts[1..] {
            let key = self.drafts[*draft].key;
            fired.add(self.fired_between(&first, &key, level));
        }
        self.merge(drafts, fired);
    }

    /// The rules by which the names of two keys became equal.
    fn fired_between(&mut self, a: &Key, b: &Key, level: Level) -> Fired {
        let mut fired = Fired::default();
        let pairs: Vec<(FunctionKey, FunctionKey)> = match (a.stack, b.stack) {
            (Some(a), Some(b)) => {
                let names = &self.runs.names;
                let allocator = |stack, outer: &[FrameKey]| {
                    let whole = names.stacks.frames(stack);
                    whole[..whole.len() - outer.len()].to_vec()
                };
                let (of_a, of_b) = (frames_to_blame(names, a), frames_to_blame(names, b));
                if allocator(a, of_a) != allocator(b, of_b) {
                    fired.add(Fired::ALLOCATOR);
                }
                let (a, b) = (of_a, of_b);
                if a.iter().zip(b).any(|(a, b)| a.line != b.line) {
                    fired.add(Fired::LINE);
                }
                a.iter()
                    .zip(b)
                    .map(|(a, b)| (a.function, b.function))
                    .collect()
            }
            _ => {
                if a.line != b.line {
                    fired.add(Fired::LINE);
                }
                let callees = a.callee.zip(b.callee);
                let sites = (file_only(a.site), file_only(b.site));
                [(a.function, b.function), sites]
                    .into_iter()
                    .chain(callees)
                    .collect()
            }
        };
        let aliases = !self.object_aliases.is_empty();
        fired.add(self.normalise(|normaliser, symbols| {
            let mut fired = Fired::default();
            if let (Some(a), Some(b)) = (a.what, b.what)
                && a != b
            {
                fired.add(normaliser.sentence(symbols, a).fired);
                fired.add(normaliser.sentence(symbols, b).fired);
            }
            for (a, b) in pairs {
                if let (Some(a), Some(b)) = (a.name, b.name)
                    && a != b
                {
                    let (a, b) = (
                        normaliser.name(symbols, a, level),
                        normaliser.name(symbols, b, level),
                    );
                    fired.add(a.fired);
                    fired.add(b.fired);
                    if level == Level::Mangling && a.symbol != b.symbol {
                        fired.add(Fired::MANGLING);
                    }
                }
                let (a, b) = (normaliser.place(symbols, a), normaliser.place(symbols, b));
                for (a, b, raw_equal) in [(a.0, b.0, false), (a.1, b.1, aliases)] {
                    let (Some(a), Some(b)) = (a, b) else { continue };
                    if a.raw == b.raw {
                        continue;
                    }
                    fired.add(a.fired);
                    fired.add(b.fired);
                    if a.symbol != b.symbol {
                        let bases = (
                            normaliser.base_name(symbols, a.symbol),
                            normaliser.base_name(symbols, b.symbol),
                        );
                        fired.add(if raw_equal && bases.0 != bases.1 {
                            Fired::OBJECT
                        } else {
                            Fired::DIRECTORY
                        });
                    }
                }
            }
            fired
        }));
        fired
    }
}

#[derive(PartialEq, Eq, Hash)]
struct NormalisedKey {
    of: RecordType,
    kind: Option<Symbol>,
    what: Option<Symbol>,
    functions: Vec<FunctionKey>,
    lines: Vec<Option<u64>>,
}

/// The frames of a stack from the one to blame outwards. What a stack shows of the allocator depends on Valgrind's
/// version, on where Valgrind is installed and on `--alloc-fn`.
fn frames_to_blame(names: &Names, stack: StackId) -> &[FrameKey] {
    let frames = names.stacks.frames(stack);
    let name = |symbol: Option<Symbol>| symbol.map(|symbol| Name::from(names.symbols.text(symbol)));
    let is_allocators = |frame: &FrameKey| {
        is_allocator_or_replacement(&Frame {
            name: name(frame.function.name),
            file: name(frame.function.file),
            obj: name(frame.function.obj),
            ..Frame::default()
        })
    };
    let inner = frames.iter().position(|frame| !is_allocators(frame));
    &frames[inner.unwrap_or(0)..]
}
/// A file in the place of a function, to be normalised like one.
fn file_only(file: Option<Symbol>) -> FunctionKey {
    FunctionKey {
        file,
        ..FunctionKey::default()
    }
}
