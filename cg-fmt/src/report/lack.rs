//! The command that adds the records which a view needs and the input lacks.

use cg_profile::Profile;
use cg_stream::record::{RecordType, Tool};
use clap::ValueEnum as _;

use crate::options::{Directions, Options, View};

/// Returns the command that shows the requested view, with the inputs of the stream. `option` is the option of the reader
/// that adds the missing records. Returns `None` if this profile cannot have such records.
pub(crate) fn remedy(profile: &Profile, option: &str, options: &Options) -> Option<String> {
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    let may_be_callgrind = tool.is_none_or(|tool| *tool == Tool::Callgrind);
    let has_lines = option == "--lines" && tool.is_some_and(|tool| *tool == Tool::Cachegrind);
    if !may_be_callgrind && !has_lines {
        return None;
    }
    let inputs = inputs(profile);
    let view = view(options);
    if let View::Peek(_) = options.view {
        // A peek needs the calls of all functions on the way, so a filter would remove too much.
        return Some(format!("cg-parse {option} {inputs} | cg-fmt {view}"));
    }
    let some = format!("cg-filter {option} REGEX {inputs} | cg-fmt {view}");
    Some(match profile.is_filtered() || profile.runs().is_empty() {
        true => some,
        false => {
            format!("cg-parse {option} {inputs} | cg-fmt {view}, or for some functions {some}")
        }
    })
}

/// The tools whose recordings can have the times of samples, by their names in a stream.
const TOOLS_WITH_TIMES: [&str; 5] = ["cpuprofile", "firefox", "jfr", "perf", "trace-events"];

/// Returns the command that shows the requested view with the times of samples; `None` if the profile has these times, or if
/// its program did not write them.
pub(crate) fn remedy_for_times(profile: &Profile, options: &Options) -> Option<String> {
    let mut samples = profile.table(RecordType::Stack).keys();
    let mut runs = profile.runs().iter();
    let may_have_times = runs.any(|run| {
        let tool = run.tool.as_deref();
        run.sampling.duration.is_some() && tool.is_some_and(|tool| TOOLS_WITH_TIMES.contains(&tool))
    });
    let is_lacking = may_have_times && samples.any(|key| key.time.is_none());
    let (inputs, view) = (inputs(profile), view(options));
    is_lacking.then(|| format!("cg-parse --times {inputs} | cg-filter REGEX | cg-fmt {view}"))
}

/// Returns the inputs of the stream as words of a shell; `PROFILE` if they are unknown or too many.
fn inputs(profile: &Profile) -> String {
    const MOST_NAMED: usize = 3;
    let mut sources: Vec<&str> = Vec::new();
    for source in profile.runs().iter().flat_map(|run| &run.source) {
        if !sources.contains(&source.as_str()) {
            sources.push(source);
        }
    }
    if sources.is_empty() || sources.len() > MOST_NAMED || sources.contains(&"-") {
        return "PROFILE".to_owned();
    }
    let words: Vec<String> = sources.into_iter().map(shell_word).collect();
    words.join(" ")
}

/// Quotes a text for the shell, if necessary.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// Returns the options that request the view.
fn view(options: &Options) -> String {
    match &options.view {
        View::Tree(Directions { callers, callees }) => match (callers, callees) {
            (true, true) => "--tree both".to_owned(),
            (true, false) => "--tree callers".to_owned(),
            _ => "--tree callees".to_owned(),
        },
        View::Source { places, .. } => match places.roots.first() {
            Some(root) if places.here.is_none() => {
                format!("--source={}", shell_word(&root.display().to_string()))
            }
            _ => "--source".to_owned(),
        },
        View::Peek(wanted) => format!("--peek {}", shell_word(wanted.as_str())),
        View::List | View::Snapshot(_) | View::Snapshots(_) => {
            let format = options.format.to_possible_value();
            format.map_or_else(String::new, |format| format!("-f {}", format.get_name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_quoted_for_the_shell() {
        for (name, word) in [
            ("callgrind.out.7", "callgrind.out.7"),
            ("/a b/c", "'/a b/c'"),
            ("it's;", r"'it'\''s;'"),
        ] {
            assert_eq!(shell_word(name), word);
        }
    }
}
