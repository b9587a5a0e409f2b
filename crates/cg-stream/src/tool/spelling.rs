//! Options as they are called elsewhere.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Options that a tool does not have but users may try, from other programs or by habit, with what to write instead.
pub type Spellings = &'static [(&'static [&'static str], &'static str)];

/// What to write instead of the option that clap does not know, where that is known.
pub(super) fn told(error: &Error, command: &Command, of_tool: Spellings) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let option = typed.split('=').next()?;
    let row = of_tool.iter().find(|(others, _)| others.contains(&option));
    let instead = match row {
        Some((_, instead)) => (*instead).to_owned(),
        None => format!("-f {}", format_of(command, option.strip_prefix("--")?)?),
    };
    Some(format!("there is no {option} here; write {instead}"))
}

/// The `--format` value with this name or alias, if the tool has one.
fn format_of(command: &Command, name: &str) -> Option<String> {
    let mut arguments = command.get_arguments();
    let formats = arguments.find(|argument| argument.get_long() == Some("format"))?;
    let formats = formats.get_possible_values();
    let format = formats.iter().find(|format| format.matches(name, false))?;
    Some(format.get_name().to_owned())
}

/// Fails if a row names an option that exists, or suggests one that does not. For the tests of the tools.
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
    let is_known = |option: &str| known.iter().any(|known| known == option);
    let mut wrong = Vec::new();
    for (others, instead) in of_tool {
        let others = others.iter().filter(|other| is_known(other));
        wrong.extend(others.map(|other| format!("{other} is an option")));
        // Suggestions that name another tool (`cg-…`) are not checked.
        let options = instead.split(' ').filter(|word| word.starts_with('-'));
        let unknown = options.filter(|option| !is_known(option) && !instead.contains("cg-"));
        wrong.extend(unknown.map(|option| format!("\"{instead}\": {option} is no option")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
