//! Hashes of the machine code of functions, for profiles with addresses whose objects are available.
//!
//! A profile has no build id, so an object is compared with the profile by other evidence. A symbol with the function's name
//! must cover the addresses that ran, and an instruction must begin at each of these addresses. The file at the object's own
//! path must not be newer than the profile.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use cg_collections::maps::Map;
use cg_collections::sorting::Order as _;
use cg_debug_info::{
    CodePrints, Error as ObjectError, MachineCode, NoPrint, ObjectFile, Search, path_from_bytes,
};
use cg_reader::Error;
use cg_stream::record::Name;

use super::addresses::AddressSet;
use super::evidence::{is_called, is_symbol};
use super::facts::MIN_COST_DIVISOR;
use super::trace::{CountsKind, Traced};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// The maximum share of executed addresses that may disagree with an object for it to count as the profiled object.
const DISAGREES: (usize, usize) = (5, 100);

/// Hashes by function.
pub(crate) type FunctionPrints = Map<FunctionId, CodePrints>;

/// The executed addresses of a function.
struct RanFunction {
    function: FunctionId,
    addresses: Vec<u64>,
}

/// Hashes the machine code of the section's functions. Returns a message for each reason for which some functions have no
/// hash.
///
/// # Errors
/// Returns an error if the cost lines could not be kept.
pub fn read_code(section: &mut Section, search: &Search) -> Result<Vec<String>, Error> {
    let Some(mut trace) = section.trace.take() else {
        return Ok(Vec::new());
    };
    let mut ran: Map<FunctionId, AddressSet> = Map::default();
    let read = trace.read(&mut |line: &Traced| {
        if let (Some(address), CountsKind::Own) = (line.at.address, line.counted) {
            let function = section.merged_into(line.function);
            ran.entry(function).or_default().insert(address);
        }
    });
    section.trace = Some(trace);
    read.map_err(|error| {
        Error::whole(format!(
            "cannot keep cost lines in a temporary file: {error}"
        ))
    })?;
    if ran.is_empty() && section.present().next().is_some() {
        return Ok(vec![
            "machine code is not compared because the profile has no addresses; rerun Callgrind with --dump-instr=yes"
                .to_owned(),
        ]);
    }
    let mut objects: Map<StringId, Vec<RanFunction>> = Map::default();
    for (function, addresses) in ran {
        let key = section.key_of(function);
        if is_symbol(section.strings.get(key.name)) {
            let addresses = addresses.into_sorted();
            let functions = objects.entry(key.object).or_default();
            functions.push(RanFunction {
                function,
                addresses,
            });
        }
    }
    let mut objects: Vec<(StringId, Vec<RanFunction>)> = objects.into_iter().collect();
    objects.order_by(|(a, _), (b, _)| section.by_string(*a, *b));
    let profiled = profile_time(section);
    let mut uncompared = Uncompared {
        ranking: section.ranking_event(),
        reasons: BTreeMap::new(),
    };
    let mut prints = FunctionPrints::default();
    for (object, functions) in &mut objects {
        // Sort by address, because the order of the table is arbitrary.
        functions.order_by_key(|ran| (ran.addresses[0], ran.function));
        match hash_object(section, search, *object, functions, profiled) {
            Ok(found) => {
                for (ran, print) in functions.iter().zip(found) {
                    match print {
                        Ok(print) => drop(prints.insert(ran.function, print)),
                        Err(why) => {
                            let functions = std::slice::from_ref(ran);
                            uncompared.add(section, *object, why.to_string(), functions);
                        }
                    }
                }
            }
            Err(why) => uncompared.add(section, *object, why, functions),
        }
    }
    section.prints = prints;
    Ok(uncompared.messages(section))
}

/// Returns the oldest modification time of the profile's files; `None` if one of the times is unknown.
fn profile_time(section: &Section) -> Option<SystemTime> {
    let sources = section.run.sources.iter();
    let written = sources.map(|source| std::fs::metadata(source).ok()?.modified().ok());
    written.collect::<Option<Vec<_>>>()?.into_iter().min()
}

type FunctionPrint = Result<CodePrints, NoPrint>;

/// Hashes an object's functions in the first file that agrees with the profile.
fn hash_object(
    section: &Section,
    search: &Search,
    object: StringId,
    functions: &[RanFunction],
    profiled: Option<SystemTime>,
) -> Result<Vec<FunctionPrint>, String> {
    let named = &path_from_bytes(section.strings.get(object));
    let mut why = "the object is missing; --debug-root DIR also searches DIR".to_owned();
    for path in search.objects(named) {
        let modified = || std::fs::metadata(&path).ok()?.modified().ok();
        if path == *named && profiled.is_some_and(|profiled| modified() > Some(profiled)) {
            why = "the object was written after the profile; --debug-root DIR can name the directory of the profiled object".to_owned();
            continue;
        }
        match hash_file(&path, section, search, functions) {
            Ok(prints) if agrees(functions, &prints) => return Ok(prints),
            Ok(_) => why = "the object is another build than the profiled one".to_owned(),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

fn hash_file(
    path: &Path,
    section: &Section,
    search: &Search,
    functions: &[RanFunction],
) -> Result<Vec<FunctionPrint>, ObjectError> {
    let object = ObjectFile::open(path, &search.limits)?;
    let debug = search.debug_file(&object).ok().and_then(|debug| debug.file);
    let mut code = MachineCode::new(object, debug.as_ref())?;
    let print = |ran: &RanFunction| {
        let name = section.strings.get(section.key_of(ran.function).name);
        code.prints(|symbol| is_called(name, symbol), &ran.addresses)
    };
    Ok(functions.iter().map(print).collect())
}

/// Returns true if enough of the executed addresses agree with the file.
fn agrees(functions: &[RanFunction], prints: &[FunctionPrint]) -> bool {
    let mut disagreeing = 0;
    let mut all = 0;
    for (ran, print) in functions.iter().zip(prints) {
        all += ran.addresses.len();
        if matches!(
            print,
            Err(NoPrint::OtherSymbols | NoPrint::OtherInstructions)
        ) {
            disagreeing += ran.addresses.len();
        }
    }
    disagreeing * DISAGREES.1 <= all * DISAGREES.0
}

/// Functions without a hash.
struct Uncompared {
    /// The event for the cost of the functions.
    ranking: usize,
    /// The number and the cost of the functions, by reason and object.
    reasons: BTreeMap<String, BTreeMap<String, (usize, u64)>>,
}

impl Uncompared {
    fn add(&mut self, section: &Section, object: StringId, why: String, ran: &[RanFunction]) {
        let name = Name::from_bytes(section.strings.get(object)).into_string();
        let objects = self.reasons.entry(why).or_default();
        let sums = objects.entry(name).or_default();
        for ran in ran {
            sums.0 += 1;
            sums.1 = sums
                .1
                .saturating_add(section.cost_by(self.ranking, ran.function));
        }
    }

    /// Returns a message for each reason, without objects that have almost no cost.
    fn messages(self, section: &Section) -> Vec<String> {
        let all = section.present();
        let all = all.map(|(function, _)| section.cost_by(self.ranking, function));
        let total = all.fold(0, u64::saturating_add);
        let message = |(why, objects): (String, BTreeMap<String, (usize, u64)>)| {
            let costly = objects
                .iter()
                .filter(|(_, (_, cost))| *cost >= total / MIN_COST_DIVISOR);
            let named = costly.map(|(name, (functions, _))| match functions {
                1 => format!("{name} (1 function)"),
                functions => format!("{name} ({functions} functions)"),
            });
            let named = named.collect::<Vec<_>>();
            let named = (!named.is_empty()).then(|| named.join(", "));
            named.map(|named| format!("machine code is not compared ({why}): {named}"))
        };
        self.reasons.into_iter().filter_map(message).collect()
    }
}
