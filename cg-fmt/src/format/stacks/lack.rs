//! What is said to somebody whose input has no stacks: which option would have brought them.

use cg_stream::profile::Profile;
use cg_stream::record::{RecordType, Tool};

/// Of a profile without records that have stacks.
pub(super) fn of_profile(profile: &Profile) -> String {
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    let advice = match tool {
        Some(Tool::Callgrind) => {
            "this stream of Callgrind's has functions; cg-parse --stacks makes one of stacks, and cg-fmt does of the profile itself"
        }
        Some(Tool::Cachegrind) => "Cachegrind knows no calls; take a profile with Callgrind",
        Some(Tool::Massif) => "cg-parse --snapshots all takes those of every detailed snapshot",
        _ if !profile.table(RecordType::Fn).is_empty() => {
            "functions alone have none; cg-parse --stacks makes stacks of a graph of calls"
        }
        _ => return "there are no records with stacks".to_owned(),
    };
    format!("there are no records with stacks: {advice}")
}

/// Of a diff whose rows are of records without stacks.
pub(super) fn of_diff(of: &str) -> String {
    format!(
        "the rows of this diff are of {of} records and have no stacks: cg-diff --all --type stack compares the stacks of profiles that have them, or of what cg-parse --stacks made of Callgrind's"
    )
}
