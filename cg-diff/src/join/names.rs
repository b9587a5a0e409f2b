//! The names of all runs, and their normalised forms.

use cg_names::paths;
use cg_names::rules::{MatchedRules, Rules};
use cg_profile::{FunctionKey, Symbol, Symbols};
use cg_stream::record::RecordType;

use super::Map;
use crate::key::normal::{Level, Normal, Normaliser};
use crate::runs::Runs;

/// The names of all runs with their normaliser.
pub(super) struct JoinNames<'r> {
    pub(super) normaliser: Normaliser<'r>,
    pub(super) symbols: Symbols,
    /// Renamed objects: maps the base name of an object that only one side has to the base name of the corresponding
    /// object of another side.
    pub(super) object_aliases: Map<Symbol, Symbol>,
    /// The normalised sentences of errors.
    sentences: Map<Symbol, Normal>,
    /// The normalised files of call sites, with their last components.
    sites: Map<Symbol, (Normal, Symbol)>,
}

impl<'r> JoinNames<'r> {
    pub(super) fn new(rules: &'r Rules, symbols: Symbols) -> JoinNames<'r> {
        JoinNames {
            normaliser: Normaliser::new(rules),
            symbols,
            object_aliases: Map::default(),
            sentences: Map::default(),
            sites: Map::default(),
        }
    }

    pub(super) fn text(&self, symbol: Symbol) -> &str {
        self.symbols.text(symbol)
    }

    /// Normalises the name of a function to a level.
    pub(super) fn name(&mut self, name: Symbol, level: Level) -> Symbol {
        self.normaliser.name(&mut self.symbols, name, level).symbol
    }

    /// Normalises the path of a file.
    pub(super) fn file(&mut self, file: Symbol) -> Symbol {
        self.normaliser.file(&mut self.symbols, file).symbol
    }

    /// Normalises the path of an object.
    pub(super) fn object(&mut self, object: Symbol) -> Symbol {
        self.normaliser.object(&mut self.symbols, object).symbol
    }

    /// Returns the base name of an object. A renamed object has the same name on all sides.
    pub(super) fn object_name(&mut self, object: Symbol) -> Symbol {
        let object = self.object(object);
        let name = self.base_name(object);
        self.object_aliases.get(&name).copied().unwrap_or(name)
    }

    /// Normalises the names in records besides functions: the sentences of errors and the files of call sites.
    pub(super) fn prepare_records(&mut self, runs: &Runs) {
        for profile in &runs.profiles {
            let errors = profile.table(RecordType::Error).keys();
            for sentence in errors.filter_map(|key| key.what) {
                let normal = self.normaliser.sentence(&mut self.symbols, sentence);
                self.sentences.insert(sentence, normal);
            }
            let calls = profile.table(RecordType::Call).keys();
            for site in calls.filter_map(|key| key.site) {
                if !self.sites.contains_key(&site) {
                    let normal = self.normaliser.file(&mut self.symbols, site);
                    let base = self.base_name(normal.symbol);
                    self.sites.insert(site, (normal, base));
                }
            }
        }
    }

    /// Returns the sentence of an error, normalised if `prepare_records` was called.
    pub(super) fn sentence(&self, sentence: Symbol) -> Symbol {
        self.sentences
            .get(&sentence)
            .map_or(sentence, |normal| normal.symbol)
    }

    /// Returns the last component of a call site's file; the unchanged file unless `prepare_records` was called.
    pub(super) fn site(&self, site: Symbol) -> Symbol {
        self.sites.get(&site).map_or(site, |(_, base)| *base)
    }

    /// Returns the rules by which two sentences, or the files of two call sites, match.
    pub(super) fn rules_between_prepared(
        &self,
        a: Option<Symbol>,
        b: Option<Symbol>,
    ) -> MatchedRules {
        let mut matched = MatchedRules::default();
        let (Some(a), Some(b)) = (a, b) else {
            return matched;
        };
        if a == b {
            return matched;
        }
        for known in [a, b] {
            if let Some(normal) = self.sentences.get(&known) {
                matched.add(normal.matched);
            }
        }
        if let (Some((a, _)), Some((b, _))) = (self.sites.get(&a), self.sites.get(&b)) {
            matched.add(a.matched);
            matched.add(b.matched);
            if a.symbol != b.symbol {
                matched.add(MatchedRules::DIRECTORY);
            }
        }
        matched
    }

    fn base_name(&mut self, path: Symbol) -> Symbol {
        self.normaliser.base_name(&mut self.symbols, path)
    }

    /// Returns a function with its name normalised to a level, and its file and object shortened to their last components.
    pub(super) fn function(&mut self, function: FunctionKey, level: Level) -> FunctionKey {
        let file = function.file.map(|file| self.file(file));
        FunctionKey {
            name: function.name.map(|name| self.name(name, level)),
            file: file.map(|file| self.base_name(file)),
            obj: function.obj.map(|object| self.object_name(object)),
        }
    }

    /// Returns true if a name may mean different functions in two builds: it contains a counter or is an address.
    pub(super) fn is_contested(&mut self, name: Option<Symbol>) -> bool {
        name.is_some_and(|name| {
            // A fast check: plain paths contain no counters.
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
            let text = self.symbols.text(name);
            (text.starts_with("0x") || !text.bytes().all(is_plain))
                && self.normaliser.is_numbered(&mut self.symbols, name)
        })
    }

    /// Returns true for a function without a symbol, which is identified by its address.
    pub(super) fn is_nameless(&mut self, name: Option<Symbol>) -> bool {
        name.is_some_and(|name| self.normaliser.is_nameless(&mut self.symbols, name))
    }

    /// Returns the rules that change a name.
    pub(super) fn name_rules(&mut self, name: Option<Symbol>) -> MatchedRules {
        name.map_or(MatchedRules::default(), |name| {
            self.normaliser
                .name(&mut self.symbols, name, Level::Counter)
                .matched
        })
    }

    /// Returns the rules by which two functions match at a level.
    pub(super) fn rules_between(
        &mut self,
        a: FunctionKey,
        b: FunctionKey,
        level: Level,
    ) -> MatchedRules {
        let mut matched = MatchedRules::default();
        if let (Some(a), Some(b)) = (a.name, b.name)
            && a != b
        {
            let symbols = &mut self.symbols;
            matched.add(self.normaliser.name(symbols, a, level).matched);
            matched.add(self.normaliser.name(symbols, b, level).matched);
        }
        let symbols = &mut self.symbols;
        let (a, b) = (
            self.normaliser.place(symbols, a),
            self.normaliser.place(symbols, b),
        );
        for (a, b, is_object) in [(a.0, b.0, false), (a.1, b.1, true)] {
            let (Some(a), Some(b)) = (a, b) else { continue };
            if a.raw == b.raw {
                continue;
            }
            matched.add(a.matched);
            matched.add(b.matched);
            if a.symbol != b.symbol {
                let is_renamed = is_object
                    && paths::base_name(self.symbols.text(a.symbol))
                        != paths::base_name(self.symbols.text(b.symbol));
                matched.add(if is_renamed {
                    MatchedRules::OBJECT
                } else {
                    MatchedRules::DIRECTORY
                });
            }
        }
        matched
    }
}
