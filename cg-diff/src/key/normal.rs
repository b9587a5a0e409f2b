//! Normalised names, each computed once.

use cg_collections::maps::Map;
use cg_profile::{FunctionKey, Symbol, Symbols};

use cg_names::paths;
use cg_names::rules::{MatchedRules, Part, Rules, Strength};

/// The level of normalisation of function names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Unchanged.
    Exact,
    /// Without build details, such as hashes.
    Build,
    /// Also without the suffixes of parts and copies of one function.
    Part,
    /// Also without counters.
    Counter,
}

/// A name in a run, its normalised form, and the rules that changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Normal {
    pub(crate) raw: Symbol,
    pub(crate) symbol: Symbol,
    pub(crate) matched: MatchedRules,
}

/// Normalises names, and caches the results. Normalised names are in the same symbol table as the names of the runs.
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

    /// Normalises the name of a function to a level.
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

    /// Returns true if a name contains a counter: closures, lambdas, `impl` blocks. The counters of two builds need not
    /// correspond.
    pub(crate) fn is_numbered(&mut self, symbols: &mut Symbols, name: Symbol) -> bool {
        self.name(symbols, name, Level::Counter).symbol
            != self.name(symbols, name, Level::Part).symbol
    }

    /// Returns true for a function without a symbol, which is identified by its address.
    pub(crate) fn is_nameless(&mut self, symbols: &mut Symbols, name: Symbol) -> bool {
        symbols.text(name).starts_with("0x")
            && self.name(symbols, name, Level::Counter).symbol != name
    }

    /// Normalises the path of a file.
    pub(crate) fn file(&mut self, symbols: &mut Symbols, file: Symbol) -> Normal {
        self.normal(symbols, file, NameKind::File)
    }

    /// Normalises the path of an object.
    pub(crate) fn object(&mut self, symbols: &mut Symbols, object: Symbol) -> Normal {
        self.normal(symbols, object, NameKind::Object)
    }

    /// Normalises the sentence of an error.
    pub(crate) fn sentence(&mut self, symbols: &mut Symbols, sentence: Symbol) -> Normal {
        self.normal(symbols, sentence, NameKind::Sentence)
    }

    /// Returns the last component of a normalised path.
    pub(crate) fn base_name(&mut self, symbols: &mut Symbols, path: Symbol) -> Symbol {
        if let Some(base) = self.base_names.get(&path) {
            return *base;
        }
        let base = paths::base_name(symbols.text(path)).to_owned();
        // If the symbol table is full, the path stays unchanged.
        let base = symbols.intern(&base).unwrap_or(path);
        self.base_names.insert(path, base);
        base
    }

    /// Normalises the file and the object of a function.
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
