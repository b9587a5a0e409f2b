//! Error messages for an input without stacks. They name the option that adds stacks.

use cg_profile::Profile;
use cg_stream::record::{RecordType, Tool};

use clap::ValueEnum as _;

use crate::options::Options;
use crate::report::lack;

/// Returns the message for a profile without records that have stacks.
pub(super) fn profile_message(profile: &Profile, options: &Options) -> String {
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    let has_functions = !profile.table(RecordType::Fn).is_empty();
    let advice = match tool {
        Some(Tool::Cachegrind) => "Cachegrind does not record calls; use Callgrind".into(),
        Some(Tool::Massif) => {
            "cg-parse --snapshots all writes the trees of all detailed snapshots".into()
        }
        Some(Tool::Callgrind) | None if has_functions || tool.is_some() => {
            let command = lack::remedy(profile, "--stacks", options).unwrap_or_default();
            format!("to estimate stacks from the call graph, use: {command}")
        }
        _ => return "there are no records with stacks".to_owned(),
    };
    format!("there are no records with stacks: {advice}")
}

/// Returns the message for a diff whose rows have no stacks.
pub(super) fn diff_message(kind: &str, profile: &Profile, options: &Options) -> String {
    if let [run] = profile.runs()
        && let [old, new] = run.source.as_slice()
        && run
            .tool
            .as_ref()
            .is_some_and(|tool| *tool == Tool::Callgrind)
    {
        let format = options.format.to_possible_value();
        let format = format
            .as_ref()
            .map_or("flamegraph", |format| format.get_name());
        let [old, new] = [old, new].map(|file| lack::shell_word(file));
        return format!(
            "the rows of this diff are {kind} records, which have no stacks; use cg-fmt -f {format} --diff {old} {new}"
        );
    }
    format!(
        "the rows of this diff are {kind} records, which have no stacks: cg-diff --all --type stack compares stacks; add --stacks for Callgrind profiles"
    )
}
