//! What the machine code of functions is known by, where a profile has the addresses of what ran and its objects are there.
//!
//! The profile says no build id, so an object is held against it by what it can be held against: symbols of the functions'
//! names where they ran, instructions that begin where something ran, and that the file at the profile's own path was not
//! written after the profile.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use cg_debug_info::{CodePrints, Error as ObjectError, MachineCode, NoPrint, ObjectFile, Search};
use cg_reader::Error;
use cg_stream::maps::Map;
use cg_stream::record::Name;
use cg_stream::sorting::Order as _;

use super::addresses::AddressSet;
use super::evidence::{is_called, is_symbol};
use super::facts::SAID_FROM;
use super::trace::{CountsKind, Traced};
use crate::ids::{FunctionId, StringId};
use crate::section::Section;

/// An object is the one that was profiled if at most this share of what ran is where it has no such instruction.
const DISAGREES: (usize, usize) = (5, 100);

/// Prints by function.
pub(crate) type FunctionPrints = Map<FunctionId, CodePrints>;

/// What ran of a function.
struct RanFunction {
    function: FunctionId,
    addresses: Vec<u64>,
}

/// Finds out what the machine code of the section's functions is known by. Returns a sentence on each reason for which that
/// of some is not.
///
/// # Errors
/// Where the cost lines could not be kept.
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
            "the profile has no addresses, so that machine code is not compared: run Callgrind with --dump-instr=yes"
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
    let profiled = when_profiled(section);
    let mut uncompared = Uncompared {
        ranking: section.ranking_event(),
        reasons: BTreeMap::new(),
    };
    let mut prints = FunctionPrints::default();
    for (object, functions) in &mut objects {
        // In the order in which they lie in the object, whatever the table had.
        functions.order_by_key(|ran| (ran.addresses[0], ran.function));
        match of_object(section, search, *object, functions, profiled) {
            Ok(found) => {
                for (ran, print) in functions.iter().zip(found) {
                    match print {
                        Ok(print) => drop(prints.insert(ran.function, print)),
                        Err(why) => {
                            let of = std::slice::from_ref(ran);
                            uncompared.add(section, *object, why.to_string(), of);
                        }
                    }
                }
            }
            Err(why) => uncompared.add(section, *object, why, functions),
        }
    }
    section.prints = prints;
    Ok(uncompared.sentences(section))
}

/// When the profile was written, as far as its files tell: the first of several.
fn when_profiled(section: &Section) -> Option<SystemTime> {
    let sources = section.run.sources.iter();
    let written = sources.map(|source| std::fs::metadata(source).ok()?.modified().ok());
    written.collect::<Option<Vec<_>>>()?.into_iter().min()
}

type FunctionPrint = Result<CodePrints, NoPrint>;

/// The prints of an object's functions, out of the first file that agrees with the profile.
fn of_object(
    section: &Section,
    search: &Search,
    object: StringId,
    functions: &[RanFunction],
    profiled: Option<SystemTime>,
) -> Result<Vec<FunctionPrint>, String> {
    let named = Path::new(OsStr::from_bytes(section.strings.get(object)));
    let mut why = "the object is not there; --debug-root DIR says where else to look".to_owned();
    for path in search.objects(named) {
        let modified = || std::fs::metadata(&path).ok()?.modified().ok();
        if path == named && profiled.is_some_and(|profiled| modified() > Some(profiled)) {
            why = "the object was written after the profile; --debug-root DIR says where the one is that ran".to_owned();
            continue;
        }
        match of_file(&path, section, search, functions) {
            Ok(prints) if agrees(functions, &prints) => return Ok(prints),
            Ok(_) => why = "the object is another build than the one profiled".to_owned(),
            Err(error) => why = error.to_string(),
        }
    }
    Err(why)
}

fn of_file(
    path: &Path,
    section: &Section,
    search: &Search,
    functions: &[RanFunction],
) -> Result<Vec<FunctionPrint>, ObjectError> {
    let object = ObjectFile::open(path, &search.limits)?;
    let debug = search.debug_file(&object).ok().and_then(|debug| debug.file);
    let mut code = MachineCode::of(object, debug.as_ref())?;
    let print = |ran: &RanFunction| {
        let name = section.strings.get(section.key_of(ran.function).name);
        code.prints(|symbol| is_called(name, symbol), &ran.addresses)
    };
    Ok(functions.iter().map(print).collect())
}

/// Whether enough of what ran is where the file has it.
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

/// Functions whose code has no print.
struct Uncompared {
    /// The event by which they cost something.
    ranking: usize,
    /// By the reason and the object how many, and what they cost.
    reasons: BTreeMap<String, BTreeMap<String, (usize, u64)>>,
}

impl Uncompared {
    fn add(&mut self, section: &Section, object: StringId, why: String, ran: &[RanFunction]) {
        let name = Name::from_bytes(section.strings.get(object)).into_string();
        let of_reason = self.reasons.entry(why).or_default();
        let sums = of_reason.entry(name).or_default();
        for ran in ran {
            sums.0 += 1;
            sums.1 = sums
                .1
                .saturating_add(section.cost_by(self.ranking, ran.function));
        }
    }

    /// A sentence on each reason; what costs next to nothing is not worth a word.
    fn sentences(self, section: &Section) -> Vec<String> {
        let all = section.present();
        let all = all.map(|(function, _)| section.cost_by(self.ranking, function));
        let total = all.fold(0, u64::saturating_add);
        let sentence = |(why, objects): (String, BTreeMap<String, (usize, u64)>)| {
            let costly = objects
                .iter()
                .filter(|(_, (_, cost))| *cost >= total / SAID_FROM);
            let named = costly.map(|(name, (functions, _))| match functions {
                1 => format!("{name} (1 function)"),
                functions => format!("{name} ({functions} functions)"),
            });
            let named = named.collect::<Vec<_>>();
            let named = (!named.is_empty()).then(|| named.join(", "));
            named.map(|named| format!("machine code is not compared, as {why}: {named}"))
        };
        self.reasons.into_iter().filter_map(sentence).collect()
    }
}
