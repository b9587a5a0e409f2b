//! What is said to somebody whose input has no stacks: which option would have brought them.

use cg_stream::profile::Profile;
use cg_stream::record::{RecordType, Tool};

use crate::options::Options;
use crate::report::lack;

/// Of a profile without records that have stacks.
pub(super) fn of_profile(profile: &Profile, options: &Options) -> String {
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    let has_functions = !profile.table(RecordType::Fn).is_empty();
    let advice = match tool {
        Some(Tool::Cachegrind) => "Cachegrind knows no calls; take a profile with Callgrind".into(),
        Some(Tool::Massif) => {
            "cg-parse --snapshots all takes those of every detailed snapshot".into()
        }
        Some(Tool::Callgrind) | None if has_functions || tool.is_some() => {
            let command = lack::remedy(profile, "--stacks", options).unwrap_or_default();
            format!("functions alone have none; of a graph of calls this makes some: {command}")
        }
        _ => return "there are no records with stacks".to_owned(),
    };
    format!("there are no records with stacks: {advice}")
}

/// Of a diff whose rows are of records without stacks.
pub(super) fn of_diff(of: &str) -> String {
    format!(
        "the rows of this diff are of {of} records and have no stacks: cg-diff --all --type stack compares the stacks of profiles that have them, and with --stacks those that are made of Callgrind's calls"
    )
}
