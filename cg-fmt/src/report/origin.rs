//! The heading with the origin of the records.

use cg_profile::Profile;
use cg_stream::record::RunRecord;

/// Returns the tool, the command and the pid if all runs have the same; `None` for a fragment.
pub(crate) fn origin(profile: &Profile) -> Option<String> {
    let first = profile.runs().first()?;
    let common = |field: fn(&RunRecord) -> Option<&str>| {
        let value = field(first)?;
        let is_common = profile.runs().iter().all(|run| field(run) == Some(value));
        is_common.then_some(value)
    };
    let mut text = common(|run| run.tool.as_deref())
        .unwrap_or("profile")
        .to_owned();
    if let Some(command) = common(|run| run.command.as_deref()) {
        text = format!("{text}: {command}");
    }
    match (profile.runs().len(), first.pid) {
        (1, Some(pid)) => text = format!("{text} (pid {pid})"),
        (1, None) => {}
        (parts, _) if has_separate_parts(profile) => text = format!("{text} ({parts} parts)"),
        (runs, _) => text = format!("{text} ({runs} runs, added up)"),
    }
    Some(text)
}

/// Returns true if parts are separate: rows have the number of their part.
fn has_separate_parts(profile: &Profile) -> bool {
    let mut tables = profile.types().map(|kind| profile.table(kind));
    tables.any(|rows| rows.used_fields().part.is_some())
}
