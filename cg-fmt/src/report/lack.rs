//! What is said to somebody whose input lacks the records that a view shows: the whole command that brings them.

use cg_stream::profile::Profile;
use cg_stream::record::Tool;
use clap::ValueEnum as _;

use crate::options::{Directions, Options, View};

/// The command that shows what was asked for, made of what is known: the inputs that the stream is of, and the view.
/// `option` is the one that has the reader make such records. `None` where no reading of this profile brings any.
pub(crate) fn remedy(profile: &Profile, option: &str, options: &Options) -> Option<String> {
    let tool = profile.runs().first().and_then(|run| run.tool.as_ref());
    let is_of_callgrind = tool.is_none_or(|tool| *tool == Tool::Callgrind);
    let has_lines = option == "--lines" && tool.is_some_and(|tool| *tool == Tool::Cachegrind);
    if !is_of_callgrind && !has_lines {
        return None;
    }
    let inputs = inputs(profile);
    let view = view(options);
    if let View::Peek(_) = options.view {
        // What brought a program to a function is told by the calls of others.
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

/// The inputs as the stream names them, in the words of a shell.
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

fn shell_word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&byte);
    match text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// The options that the view was asked for by.
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
    fn names_of_files_are_words_of_a_shell() {
        for (name, word) in [
            ("callgrind.out.7", "callgrind.out.7"),
            ("/a b/c", "'/a b/c'"),
            ("it's;", r"'it'\''s;'"),
        ] {
            assert_eq!(shell_word(name), word);
        }
    }
}
