//! Options as they are called elsewhere.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options that a tool does not have, by what other programs or habit call them, and what to write instead.
pub type Spellings = &'static [(&'static [&'static str], &'static str)];

/// What all tools are asked for in vain.
const OF_ALL: Spellings = &[
    (
        &["--input", "--file-name"],
        "the file alone, without an option",
    ),
    (&["--out", "--out-file", "--output-file"], "-o FILE"),
    (&["--examples", "--usage"], "--help"),
    (&["--man", "--manual"], "--generate man"),
    (
        &["--completion", "--completions"],
        "--generate complete-bash (or -elvish, -fish, -powershell, -zsh)",
    ),
];

/// What to write instead of the option that clap does not know, where that is known.
pub(super) fn told(error: &clap::Error, of_tool: Spellings) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = typed
        .split_once('=')
        .map_or(typed.as_str(), |(option, _)| option);
    let (_, instead) = of_tool
        .iter()
        .chain(OF_ALL)
        .find(|(others, _)| others.contains(&option))?;
    Some(format!("there is no {option} here; write {instead}"))
}

/// Fails where a row names an option that there is, or tells to write one that there is not. For the tests of the tools.
///
/// # Errors
/// With the rows that are wrong.
pub fn check<Args: clap::Parser>(of_tool: Spellings) -> Result<(), Vec<String>> {
    let command = super::whole_command::<Args>();
    let mut known = Vec::new();
    for argument in command.get_arguments() {
        known.extend(argument.get_short().map(|short| format!("-{short}")));
        known.extend(argument.get_long().map(|long| format!("--{long}")));
        for alias in argument.get_all_aliases().unwrap_or_default() {
            known.push(format!("--{alias}"));
        }
    }
    known.extend(["-h", "--help", "-V", "--version"].map(str::to_owned));
    let mut wrong = Vec::new();
    for (others, instead) in of_tool.iter().chain(OF_ALL) {
        for other in others
            .iter()
            .filter(|other| known.iter().any(|known| known == *other))
        {
            wrong.push(format!("{other} is an option"));
        }
        // What another tool is to be asked for stands behind the name of that tool.
        let own = !["cg-", "leak-check", "valgrind"]
            .iter()
            .any(|tool| instead.contains(tool));
        let words = instead.split([' ', '(', ')', ',', '=']);
        for option in words.filter(|word| own && word.starts_with('-')) {
            if option.len() > 1 && !known.iter().any(|known| known == option) && !is_shell(option) {
                wrong.push(format!("\"{instead}\": {option} is no option"));
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

/// A shell in the row of completions.
fn is_shell(word: &str) -> bool {
    matches!(word, "-elvish" | "-fish" | "-powershell" | "-zsh")
}
