//! Record types: the choice of the types to list, and the nouns for their rows.

use cg_profile::Profile;
use cg_stream::record::{RecordType, Tool};

use crate::options::Options;

/// Returns the record types to list: the requested type, or else the first type in the order below that the input has.
/// Errors and leaks of one log are listed together.
pub(crate) fn listed(profile: &Profile, options: &Options) -> Vec<RecordType> {
    if let Some(kind) = options.kind {
        return vec![kind];
    }
    let has = |kind: &RecordType| !profile.table(*kind).is_empty();
    for kinds in [
        &[RecordType::Inline][..],
        &[RecordType::Fn],
        &[RecordType::Line],
        &[RecordType::Call],
        &[RecordType::Error, RecordType::Leak],
        // heaptrack has both: program points for the whole run, and heap records for snapshots.
        &[RecordType::ProgramPoint],
        &[RecordType::Heap],
        &[RecordType::Stack],
    ] {
        let found: Vec<RecordType> = kinds.iter().copied().filter(has).collect();
        if !found.is_empty() {
            return found;
        }
    }
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    match tool {
        Some(tool) if tool.looks_for_leaks() => vec![RecordType::Error, RecordType::Leak],
        Some(tool) if tool.is_sanitizer() => vec![RecordType::Error],
        Some(Tool::Helgrind | Tool::Drd) => vec![RecordType::Error],
        Some(Tool::Massif) => vec![RecordType::Heap],
        Some(Tool::Dhat | Tool::Heaptrack) => vec![RecordType::ProgramPoint],
        _ => vec![RecordType::Fn],
    }
}

/// Returns the noun for rows of a record type in a sentence.
pub(crate) fn noun(kind: RecordType, count: usize) -> &'static str {
    let (one, many) = match kind {
        RecordType::Fn => ("function", "functions"),
        RecordType::Line => ("line", "lines"),
        RecordType::Call => ("call arc", "call arcs"),
        RecordType::Inline => ("chain", "chains"),
        RecordType::Leak => ("leak record", "leak records"),
        RecordType::Error => ("error", "errors"),
        RecordType::Heap => ("allocation stack", "allocation stacks"),
        RecordType::ProgramPoint => ("program point", "program points"),
        RecordType::Stack => ("stack", "stacks"),
        RecordType::Snapshot => ("snapshot", "snapshots"),
        _ => ("record", "records"),
    };
    if count == 1 { one } else { many }
}
