//! Normalised names, each computed once.

use cg_stream::maps::Map;
use cg_stream::profile::{FunctionKey, Symbol, Symbols};

use cg_names::paths;
use cg_names::rules::{MatchedRules, Part, Rules, Strength};

/// How far the names of functions are normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Unchanged.
    Exact,
    /// Without what differs between builds.
    Build,
    /// Also without what distinguishes the parts and copies of one function.
    Part,
    /// Also without counters.
    Counter,
}

/// A name as a run has it, its normalised form, and the rules that made the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Normal {
    pub(crate) raw: Symbol,
    pub(crate) symbol: Symbol,
    pub(crate) matched: MatchedRules,
}

/// Normalises names and remembers them. Normalised names are symbols of the same table as those of the runs.
pub(crate) struct Normaliser<'a> {
    rules: &'a Rules,
    known: Map<(Symbol, NameKind), Normal>,
    base_names: Map<Symbol, Symbol>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum NameKind {
    BuildName,
    PartName,
    CounterName,
    File,
    Object,
    Sentence,
}

impl<'a> Normaliser<'a> {
    pub(crate) fn new(rules: &'a Rules) -> Normaliser<'a> {
        Normaliser {
            rules,
            known: Map::default(),
            base_names: Map::default(),
        }
    }

    /// The name of a function at a level.
    pub(crate) fn name(&mut self, symbols: &mut Symbols, name: Symbol, level: Level) -> Normal {
        match level {
            Level::Exact => Normal {
                raw: name,
                symbol: name,
                matched: MatchedRules::default(),
            },
            Level::Build => self.normal(symbols, name, NameKind::BuildName),
            Level::Part => self.normal(symbols, name, NameKind::PartName),
            Level::Counter => self.normal(symbols, name, NameKind::CounterName),
        }
    }

    /// True for a name with a counter instead of a name of its own: closures, lambdas, `impl` blocks. The name does not
    /// tell which number corresponds to which in another build.
    pub(crate) fn is_numbered(&mut self, symbols: &mut Symbols, name: Symbol) -> bool {
        self.name(symbols, name, Level::Counter).symbol
            != self.name(symbols, name, Level::Part).symbol
    }

    /// True for a function without a symbol, which goes by its address.
    pub(crate) fn is_nameless(&mut self, symbols: &mut Symbols, name: Symbol) -> bool {
        symbols.text(name).starts_with("0x")
            && self.name(symbols, name, Level::Counter).symbol != name
    }

    /// The path of a file.
    pub(crate) fn file(&mut self, symbols: &mut Symbols, file: Symbol) -> Normal {
        self.normal(symbols, file, NameKind::File)
    }

    /// The path of an object.
    pub(crate) fn object(&mut self, symbols: &mut Symbols, object: Symbol) -> Normal {
        self.normal(symbols, object, NameKind::Object)
    }

    /// The sentence of an error.
    pub(crate) fn sentence(&mut self, symbols: &mut Symbols, sentence: Symbol) -> Normal {
        self.normal(symbols, sentence, NameKind::Sentence)
    }

    /// The last component of a path that is normalised already.
    pub(crate) fn base_name(&mut self, symbols: &mut Symbols, path: Symbol) -> Symbol {
        if let Some(base) = self.base_names.get(&path) {
            return *base;
        }
        let base = paths::base_name(symbols.text(path)).to_owned();
        // If the table of symbols is full, the path stays as it is.
        let base = symbols.intern(&base).unwrap_or(path);
        self.base_names.insert(path, base);
        base
    }

    /// File and object of a function, normalised.
    pub(crate) fn place(
        &mut self,
        symbols: &mut Symbols,
        function: FunctionKey,
    ) -> (Option<Normal>, Option<Normal>) {
        (
            function.file.map(|file| self.file(symbols, file)),
            function.obj.map(|object| self.object(symbols, object)),
        )
    }

    fn normal(&mut self, symbols: &mut Symbols, name: Symbol, kind: NameKind) -> Normal {
        if let Some(normal) = self.known.get(&(name, kind)) {
            return *normal;
        }
        let (part, strength) = match kind {
            NameKind::BuildName => (Part::Function, Strength::Build),
            NameKind::PartName => (Part::Function, Strength::Part),
            NameKind::CounterName => (Part::Function, Strength::Counter),
            NameKind::File => (Part::Path, Strength::Build),
            NameKind::Object => (Part::Object, Strength::Build),
            NameKind::Sentence => (Part::Sentence, Strength::Build),
        };
        let (text, matched) = self.rules.apply(symbols.text(name), part, strength);
        let symbol = if matched == MatchedRules::default() {
            name
        } else {
            let text = text.into_owned();
            symbols.intern(&text).unwrap_or(name)
        };
        let normal = Normal {
            raw: name,
            symbol,
            matched,
        };
        self.known.insert((name, kind), normal);
        normal
    }
}
