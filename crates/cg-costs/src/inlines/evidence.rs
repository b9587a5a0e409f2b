//! Whether an object is the one that was profiled: what the profile and the object say of the same code.
//!
//! The profile has the file and the line of an address, and the object's line table has them too. In the build that was
//! profiled they are the same at every address; where code was moved, they hardly ever are. Names are the evidence where the
//! profile has no line: without parameters and template arguments, which every demangler spells in its own way.

use cg_debug_info::{Chains, TableLine, without_version};
use cg_names::demangle::demangle;
use cg_names::identity::normal_function;
use cg_names::structure::ParsedName;
use cg_stream::maps::{Map, Set};

use super::paths::base_name;
use super::trace::At;
use crate::ids::FunctionId;
use crate::section::Section;

/// What the profile and the object say of one line of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceEvidence {
    /// One of the two knows no line.
    Nothing,
    /// They have the same line.
    Agrees,
    /// They have different lines: this is other code.
    Differs,
}

/// Holds a line of the profile against the object's line table.
pub(super) fn place_evidence(
    chains: &Chains,
    table: Option<TableLine>,
    at: At,
    section: &Section,
) -> PlaceEvidence {
    if at.line == 0 || !chains.has_lines() {
        return PlaceEvidence::Nothing;
    }
    let Some(table) = table.filter(|table| u64::from(table.line) == at.line) else {
        return PlaceEvidence::Differs;
    };
    let said = section.strings.get(at.file);
    if matches!(said, b"" | b"???") {
        return PlaceEvidence::Agrees;
    }
    let mut files = [table.file, table.first_file].into_iter().flatten();
    // Directories are moved, and Valgrind joins them in ways of its own.
    let is_said = |file| base_name(chains.file(file)) == base_name(said);
    match table.file.is_none() || files.any(is_said) {
        true => PlaceEvidence::Agrees,
        false => PlaceEvidence::Differs,
    }
}

/// Cost of which there is evidence, by the event that ranks, and how much of it is where the object has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    pub(super) named: u64,
    pub(super) agrees: u64,
}

impl Agreement {
    pub(super) fn add(&mut self, agrees: bool, count: u64) {
        self.named = self.named.saturating_add(count);
        if agrees {
            self.agrees = self.agrees.saturating_add(count);
        }
    }

    /// Whether at least so many hundredths agree.
    pub(super) fn reaches(self, percent: u8) -> bool {
        u128::from(self.agrees) * 100 >= u128::from(self.named) * u128::from(percent)
    }
}

/// A function is as it was profiled if this share of its cost agrees, in percent: right ones agree wholly, but for what
/// Valgrind takes down inexactly.
pub(super) const FUNCTION_AGREES: u8 = 95;
/// An object of which less than this share agrees is another build, in percent; of one where more does, the functions that do
/// not agree stay unresolved.
const OBJECT_AGREES: u8 = 50;
/// The same where names are all the evidence: functions that did not move bear the same names in every build.
const NAMES_AGREE: u8 = 95;

/// What was seen of an object that is on trial.
#[derive(Default)]
pub(super) struct BuildEvidence {
    /// Groups of symbols that cover the same addresses, by name, mangled or not; spans refer to them by index.
    groups: Vec<Vec<Vec<u8>>>,
    /// Cache by function and group: whether a symbol of the group has the function's name; `None` if Valgrind did not
    /// take that name from a symbol.
    verdicts: Map<(FunctionId, u32), Option<bool>>,
    /// The last lookup in `verdicts`.
    last_verdict: Option<(FunctionId, u32, Option<bool>)>,
    by_place: Map<FunctionId, Agreement>,
    by_name: Map<FunctionId, Agreement>,
}

/// What follows from the evidence.
pub(super) struct Judgement {
    pub(super) agreement: Agreement,
    pub(super) is_the_one: bool,
    /// Functions whose code is not where it was.
    pub(super) strangers: Set<FunctionId>,
}

impl BuildEvidence {
    pub(super) fn new(groups: Vec<Vec<Vec<u8>>>) -> BuildEvidence {
        BuildEvidence {
            groups,
            ..BuildEvidence::default()
        }
    }

    /// Sees self cost of a function where a group of symbols is.
    pub(super) fn see(
        &mut self,
        function: FunctionId,
        place: PlaceEvidence,
        group: u32,
        count: u64,
        section: &Section,
    ) {
        let (agreements, agrees) = match place {
            PlaceEvidence::Nothing => match self.has_name(function, group, section) {
                Some(agrees) => (&mut self.by_name, agrees),
                None => return,
            },
            place => (&mut self.by_place, place == PlaceEvidence::Agrees),
        };
        agreements.entry(function).or_default().add(agrees, count);
    }

    fn has_name(&mut self, function: FunctionId, group: u32, section: &Section) -> Option<bool> {
        let groups = &self.groups;
        let verdict = match self.last_verdict {
            Some((known, of, verdict)) if (known, of) == (function, group) => verdict,
            _ => *(self.verdicts.entry((function, group))).or_insert_with(|| {
                let name = section.strings.get(section.key_of(function).name);
                let is_one = |symbol: &Vec<u8>| is_called(name, symbol);
                is_symbol(name).then(|| groups[group as usize].iter().any(is_one))
            }),
        };
        self.last_verdict = Some((function, group, verdict));
        verdict
    }

    /// Judges the object, and each of its functions: by places where there are any, else by name.
    pub(super) fn judge(self) -> Judgement {
        let sum = |agreements: &Map<FunctionId, Agreement>| {
            let mut sum = Agreement::default();
            for of in agreements.values() {
                sum.named = sum.named.saturating_add(of.named);
                sum.agrees = sum.agrees.saturating_add(of.agrees);
            }
            sum
        };
        let (places, names) = (sum(&self.by_place), sum(&self.by_name));
        let agreement = Agreement {
            named: places.named.saturating_add(names.named),
            agrees: places.agrees.saturating_add(names.agrees),
        };
        let is_the_one = match places.named {
            0 => names.reaches(NAMES_AGREE),
            _ => agreement.reaches(OBJECT_AGREES),
        };
        // In an object with lines, code without any is an assembler's, and nothing is inlined into it.
        let functions = match places.named {
            0 => &self.by_name,
            _ => &self.by_place,
        };
        let strangers = functions
            .iter()
            .filter(|(_, of)| !of.reaches(FUNCTION_AGREES));
        let strangers = strangers.map(|(function, _)| *function).collect();
        Judgement {
            agreement,
            is_the_one,
            strangers,
        }
    }
}

/// Whether Valgrind took a name from a symbol: false for placeholders and for names that it changed.
pub(super) fn is_symbol(name: &[u8]) -> bool {
    !(name.is_empty()
        || name == b"???"
        || name == b"(below main)"
        || name.starts_with(b"0x")
        || name.ends_with(b"@plt"))
}

/// Whether a function of the profile is called like a symbol.
pub(super) fn is_called(name: &[u8], symbol: &[u8]) -> bool {
    let symbol = without_version(symbol);
    let demangled = demangle(symbol);
    name == symbol || name == &*demangled || bare_name(name) == bare_name(&demangled)
}

/// The identifiers of a name: what all demanglers spell alike, and compilers add nothing to.
pub(super) fn bare_name(name: &[u8]) -> Vec<Vec<u8>> {
    let normal = std::str::from_utf8(name).map(normal_function);
    let parsed = ParsedName::new(normal.as_ref().map_or(name, |name| name.as_bytes()));
    let mut parts: Vec<Vec<u8>> = (parsed.identifiers().iter())
        .map(|part| part.to_vec())
        .collect();
    // Operators have more than identifiers.
    parts.push(parsed.short_name().into());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_without_what_demanglers_spell_in_their_own_ways() {
        for (name, symbol, expected) in [
            (
                "void Log::put<int&, double, char>(int&, double&&, char&&)",
                "_ZN3Log3putIJRidcEEEvDpOT_",
                true,
            ),
            (
                "Matrix::Matrix<long>(Expr<long> const&)",
                "_ZN6MatrixC2IlEERK4ExprIT_E",
                true,
            ),
            ("app::weigh(int, int)", "_ZN3app5weighEii", true),
            ("app::weigh(int, int)", "_ZN3app5weighEd", true),
            ("app::weigh(int, int)", "_ZN3app4readEii", false),
            ("weigh(int, int)", "_ZN3app5weighEii", false),
            ("memcpy", "memcpy@@GLIBC_2.14", true),
            ("step.part.0", "step", true),
            ("operator+(A, A)", "_Zmi1AS_", false),
            (
                "demo::main::{{closure}}",
                "_RNCNvCs6xxl1lAjzDf_4demo4main0",
                true,
            ),
        ] {
            let (a, b) = (name.as_bytes(), symbol.as_bytes());
            assert_eq!(is_called(a, b), expected, "{name} | {symbol}");
        }
    }
}
