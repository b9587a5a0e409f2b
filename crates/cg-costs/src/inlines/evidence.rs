//! Comparison of an object with the profile, to decide if it is the profiled build.
//!
//! Both the profile and the object's line table have the file and line of an address. In the profiled build, both agree at
//! every address. If code was moved, they almost never agree. If the profile has no line, names are the evidence, without
//! parameters and template arguments, because demanglers write these differently.

use cg_collections::maps::{Map, Set};
use cg_debug_info::{Chains, TableLine, without_version};
use cg_names::demangle::demangle;
use cg_names::identity::normal_function;
use cg_names::structure::ParsedName;

use super::paths::base_name;
use super::trace::At;
use crate::ids::FunctionId;
use crate::section::Section;

/// The result of comparing one cost line with the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceEvidence {
    /// The line is unknown in the profile, the object has no lines, or Valgrind may have replaced the file.
    Nothing,
    /// Profile and object have the same line.
    Agrees,
    /// Profile and object have different lines, so the code differs.
    Differs,
}

/// Compares a line of the profile with the object's line table.
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
    let profiled = section.strings.get(at.file);
    if matches!(profiled, b"" | b"???") {
        return PlaceEvidence::Agrees;
    }
    let [file, first_file] =
        [table.file, table.first_file].map(|file| file.map(|file| chains.file(file)));
    match file {
        Some(file) => compare_files(profiled, [Some(file), first_file], table.begins_sequence),
        None => PlaceEvidence::Agrees,
    }
}

/// Compares a file of the profile with the possible files of an equal line in the object's line table.
pub(super) fn compare_files(
    profiled: &[u8],
    possible: [Option<&[u8]>; 2],
    begins_sequence: bool,
) -> PlaceEvidence {
    // Ignore directories: they may be moved, and Valgrind joins them differently.
    let is_profiled = |file| base_name(file) == base_name(profiled);
    if possible.into_iter().flatten().any(is_profiled) {
        PlaceEvidence::Agrees
    } else if begins_sequence {
        PlaceEvidence::Nothing
    } else {
        PlaceEvidence::Differs
    }
}

/// The cost for which there is evidence, by the ranking event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Agreement {
    /// All cost with evidence.
    pub(super) named: u64,
    /// The cost whose place agrees with the object.
    pub(super) agrees: u64,
}

impl Agreement {
    pub(super) fn add(&mut self, agrees: bool, count: u64) {
        self.named = self.named.saturating_add(count);
        if agrees {
            self.agrees = self.agrees.saturating_add(count);
        }
    }

    /// Returns true if at least this percentage agrees.
    pub(super) fn reaches(self, percent: u8) -> bool {
        u128::from(self.agrees) * 100 >= u128::from(self.named) * u128::from(percent)
    }
}

/// The minimum percentage of a function's cost that must agree. An unchanged function agrees entirely, apart from Valgrind's
/// inaccuracies.
pub(super) const FUNCTION_AGREES: u8 = 95;
/// The minimum percentage of an object's cost that must agree. With less, the object is another build. With more, only the
/// functions that do not agree stay unresolved.
const OBJECT_AGREES: u8 = 50;
/// The minimum percentage if names are the only evidence. It is higher because even in another build some functions have the
/// same place and name.
const NAMES_AGREE: u8 = 95;

/// The evidence about an object on trial.
#[derive(Default)]
pub(super) struct BuildEvidence {
    /// Groups of symbols that cover the same addresses: the names, mangled or not. Spans refer to groups by index.
    groups: Vec<Vec<Vec<u8>>>,
    /// Cache by function and group: true if a symbol of the group has the function's name; `None` if Valgrind did not take
    /// the name from a symbol.
    verdicts: Map<(FunctionId, u32), Option<bool>>,
    /// The last lookup in `verdicts`.
    last_verdict: Option<(FunctionId, u32, Option<bool>)>,
    by_place: Map<FunctionId, Agreement>,
    by_name: Map<FunctionId, Agreement>,
}

/// The conclusion from the evidence.
pub(super) struct Judgement {
    pub(super) agreement: Agreement,
    /// True if the object is the profiled build.
    pub(super) is_profiled_build: bool,
    /// Functions whose code is in another place than in the profile.
    pub(super) moved_function_names: Set<FunctionId>,
}

impl BuildEvidence {
    pub(super) fn new(groups: Vec<Vec<Vec<u8>>>) -> BuildEvidence {
        BuildEvidence {
            groups,
            ..BuildEvidence::default()
        }
    }

    /// Adds the self cost of a function at a group of symbols.
    pub(super) fn add_cost(
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
            Some((last_function, last_group, verdict))
                if (last_function, last_group) == (function, group) =>
            {
                verdict
            }
            _ => *(self.verdicts.entry((function, group))).or_insert_with(|| {
                let name = section.strings.get(section.key_of(function).name);
                let is_one = |symbol: &Vec<u8>| is_called(name, symbol);
                is_symbol(name).then(|| groups[group as usize].iter().any(is_one))
            }),
        };
        self.last_verdict = Some((function, group, verdict));
        verdict
    }

    /// Judges the object and each of its functions: by places if there are any, else by name.
    pub(super) fn judge(self) -> Judgement {
        let sum = |agreements: &Map<FunctionId, Agreement>| {
            let mut sum = Agreement::default();
            for agreement in agreements.values() {
                sum.named = sum.named.saturating_add(agreement.named);
                sum.agrees = sum.agrees.saturating_add(agreement.agrees);
            }
            sum
        };
        let (places, names) = (sum(&self.by_place), sum(&self.by_name));
        let agreement = Agreement {
            named: places.named.saturating_add(names.named),
            agrees: places.agrees.saturating_add(names.agrees),
        };
        let is_profiled_build = match places.named {
            0 => names.reaches(NAMES_AGREE),
            _ => agreement.reaches(OBJECT_AGREES),
        };
        // In an object with lines, code without lines is written in assembly and contains no inlined functions.
        let functions = match places.named {
            0 => &self.by_name,
            _ => &self.by_place,
        };
        let moved_function_names = functions
            .iter()
            .filter(|(_, agreement)| !agreement.reaches(FUNCTION_AGREES));
        let moved_function_names = moved_function_names
            .map(|(function, _)| *function)
            .collect();
        Judgement {
            agreement,
            is_profiled_build,
            moved_function_names,
        }
    }
}

/// Returns true if Valgrind took a name from a symbol; false for placeholders and for names that Valgrind changed.
pub(super) fn is_symbol(name: &[u8]) -> bool {
    !(name.is_empty()
        || name == b"???"
        || name == b"(below main)"
        || name.starts_with(b"0x")
        || name.ends_with(b"@plt"))
}

/// Returns true if a function of the profile has the name of a symbol.
pub(super) fn is_called(name: &[u8], symbol: &[u8]) -> bool {
    let symbol = without_version(symbol);
    let demangled = demangle(symbol);
    name == symbol || name == &*demangled || bare_name(name) == bare_name(&demangled)
}

/// Returns the identifiers of a name. All demanglers write these alike, and compilers do not add anything to them.
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
    fn names_are_compared_without_parts_that_demanglers_write_differently() {
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
