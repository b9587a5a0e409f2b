//! One sentence on where the records are from.

use cg_stream::profile::Profile;
use cg_stream::record::RunRecord;

/// Tool, command and pid, as far as all runs agree; `None` of a fragment.
pub(crate) fn origin(profile: &Profile) -> Option<String> {
    let first = profile.runs().first()?;
    let all_say = |field: fn(&RunRecord) -> Option<&str>| {
        let said = field(first)?;
        let agree = profile.runs().iter().all(|run| field(run) == Some(said));
        agree.then_some(said)
    };
    let mut text = all_say(|run| run.tool.as_deref())
        .unwrap_or("profile")
        .to_owned();
    if let Some(command) = all_say(|run| run.command.as_deref()) {
        text = format!("{text}: {command}");
    }
    match (profile.runs().len(), first.pid) {
        (1, Some(pid)) => text = format!("{text} (pid {pid})"),
        (1, None) => {}
        (parts, _) if are_apart(profile) => text = format!("{text} ({parts} parts)"),
        (runs, _) => text = format!("{text} ({runs} runs, added up)"),
    }
    Some(text)
}

/// Whether parts are kept apart: rows say of which they are.
fn are_apart(profile: &Profile) -> bool {
    let mut keys = profile.types().flat_map(|kind| profile.table(kind).keys());
    keys.any(|key| key.part.is_some())
}
