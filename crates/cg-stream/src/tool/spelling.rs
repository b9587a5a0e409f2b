//! Command lines that are not understood, answered in one line with what to write instead.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

use super::CommandLine;
use crate::visible::visible;

/// What users write by habit, from other programs, with what to write instead: the text of a tool's `spellings.txt`, a row a
/// line, `#` before a comment. Before ` => ` stands what is written:
///
/// - `--limit`, `-l`: an option that the tool does not have; `-N` is a number with a dash (`head -5`), and `N` in the
///   answer then is that number
/// - `--format=text`: a value that an option does not take, behind the long name of the option
/// - `help`: a word in the place of the first file
/// - `-o=.png`: an ending of the file of `-o` that the tool cannot write
pub type Spellings = &'static str;

const BEFORE_ANSWER: &str = " => ";

/// Options whose completions are of many kinds: a word that is among them is no sign that the option was meant.
const OF_MANY_KINDS: [&str; 5] = ["sort", "columns", "events", "color", "generate"];

/// One line for a command line that clap refuses; `None` where clap has no error but something to print.
pub(super) fn told(
    error: &Error,
    command: &Command,
    written: &[OsString],
    of_tool: Spellings,
) -> Option<String> {
    let line = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::UnknownArgument => unknown_option(
            &text(error, ContextKind::InvalidArg)?,
            error,
            command,
            written,
            of_tool,
        ),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            refused_value(error, command, written, of_tool).unwrap_or_else(|| in_one_line(error))
        }
        ErrorKind::TooManyValues => match text(error, ContextKind::InvalidArg) {
            Some(option) => {
                let option = option.split([' ', '=']).next().unwrap_or_default();
                format!("{option} takes no value; write {option}")
            }
            None => in_one_line(error),
        },
        _ => in_one_line(error),
    };
    Some(visible(&line).into_owned())
}

/// What a word in the place of the first file means elsewhere, if there is no such file.
pub(super) fn told_of_word(written: &[OsString], of_tool: Spellings) -> Option<String> {
    let word = written.first()?.to_str()?;
    let is_word = word.starts_with(|first: char| first.is_ascii_lowercase());
    let instead = is_word.then(|| instead_of(word, of_tool)).flatten()?;
    let is_file = Path::new(word).exists();
    (!is_file)
        .then(|| format!("there is no {word} here, and no file of that name; write {instead}"))
}

/// What to write where the tool has no format for the ending of `-o`'s file.
pub(super) fn told_of_output(path: &Path, of_tool: Spellings) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let instead = instead_of(&format!("-o=.{ending}"), of_tool)?;
    Some(format!(
        "-o {}: there is no .{ending} here; write {instead}",
        path.display()
    ))
}

fn instead_of(written: &str, of_tool: Spellings) -> Option<&'static str> {
    let rows = rows(of_tool).filter_map(|row| row.split_once(BEFORE_ANSWER));
    let mut rows = rows.filter(|(others, _)| others.split(' ').any(|other| other == written));
    rows.next().map(|(_, instead)| instead)
}

fn rows(of_tool: Spellings) -> impl Iterator<Item = &'static str> {
    let lines = of_tool.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The answer to an option that the tool does not have: as the table has it, as a value of another option, by its likeness.
fn unknown_option(
    typed: &str,
    error: &Error,
    command: &Command,
    written: &[OsString],
    of_tool: Spellings,
) -> String {
    let typed = typed.split('=').next().unwrap_or(typed);
    // Of `-cum` clap refuses `-c`; other programs have such words as options.
    for option in words(written)
        .filter(|word| word.starts_with(typed))
        .chain([typed])
    {
        let number = option.strip_prefix('-').filter(|number| is_number(number));
        let instead = match number {
            Some(number) => instead_of("-N", of_tool).map(|instead| instead.replace('N', number)),
            None => instead_of(option, of_tool).map(str::to_owned),
        };
        let name = option.strip_prefix("--").unwrap_or_default();
        let instead = instead.or_else(|| {
            let value = name.strip_prefix("by-").unwrap_or(name);
            option_with_value(command, value)
        });
        if let Some(instead) = instead {
            return format!("there is no {option} here; write {instead}");
        }
    }
    match alike(typed, error, command) {
        Some(option) => {
            format!("there is no {typed} here; did you mean {option}? --help lists all")
        }
        None => format!("there is no {typed} here; --help lists all options"),
    }
}

/// The arguments before `--`, without the values that `=` gives them.
fn words(written: &[OsString]) -> impl Iterator<Item = &str> {
    let words = written.iter().filter_map(|word| word.to_str());
    let words = words.take_while(|word| *word != "--");
    words.map(|word| word.split('=').next().unwrap_or(word))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The option that takes this value: `-f csv` of `csv`.
fn option_with_value(command: &Command, value: &str) -> Option<String> {
    let takes = |argument: &&Arg| {
        !OF_MANY_KINDS.contains(&argument.get_id().as_str())
            && (argument.get_possible_values().iter()).any(|known| known.matches(value, false))
    };
    let argument = command.get_arguments().find(takes)?;
    let values = argument.get_possible_values();
    let value = values.iter().find(|known| known.matches(value, false))?;
    Some(format!("{} {}", name_of(argument)?, value.get_name()))
}

/// An option as it is written: by its letter where it has one.
fn name_of(argument: &Arg) -> Option<String> {
    let letter = argument.get_short().map(|letter| format!("-{letter}"));
    letter.or_else(|| argument.get_long().map(|long| format!("--{long}")))
}

/// An option that begins as what was typed, or is much like it.
fn alike(typed: &str, error: &Error, command: &Command) -> Option<String> {
    let name = typed.strip_prefix("--").filter(|name| name.len() > 1)?;
    let options = command.get_arguments().filter_map(Arg::get_long);
    let mut longer = options.filter(|option| option.starts_with(name));
    if let (Some(option), None) = (longer.next(), longer.next()) {
        return Some(format!("--{option}"));
    }
    text(error, ContextKind::SuggestedArg)
}

/// The answer to a value that an option does not take.
fn refused_value(
    error: &Error,
    command: &Command,
    written: &[OsString],
    of_tool: Spellings,
) -> Option<String> {
    let value = text(error, ContextKind::InvalidValue).filter(|value| !value.is_empty())?;
    // clap reads `-flat` as `-f lat`.
    for word in words(written).filter(|word| word.ends_with(&value) && *word != value) {
        if let Some(instead) = instead_of(word, of_tool) {
            return Some(format!("there is no {word} here; write {instead}"));
        }
    }
    let named = text(error, ContextKind::InvalidArg)?;
    let option = named.split(' ').next()?;
    let here = format!("{option} {value}");
    if let Some(instead) = instead_of(&format!("{option}={value}"), of_tool) {
        return Some(format!("there is no {here} here; write {instead}"));
    }
    if let Some(instead) = option_with_value(command, &value) {
        return Some(format!("there is no {here} here; write {instead}"));
    }
    if let Some(source) = error.source() {
        return Some(format!("{here}: {source}"));
    }
    let known = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(known)) if !known.is_empty() => known.join(", "),
        _ => return None,
    };
    let meant = text(error, ContextKind::SuggestedValue);
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    Some(format!("there is no {here} here{meant}; there are {known}"))
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    }
}

/// clap's own sentence, without the usage behind it and its tips.
fn in_one_line(error: &Error) -> String {
    let whole = error.render().to_string();
    let sentence = whole.strip_prefix("error: ").unwrap_or(&whole);
    let lines = sentence.lines().map(str::trim);
    let is_end = |line: &str| {
        ["Usage:", "tip:", "For more"]
            .iter()
            .any(|end| line.starts_with(end))
    };
    let lines = lines.take_while(|line| !is_end(line) && !line.starts_with("[possible values"));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    format!("{}; --help lists all options", lines.join(" "))
}

/// Fails if a row names an option that exists, or suggests one that does not, or the short help has one that does not
/// exist. For the tests of the tools.
///
/// # Errors
/// With what is wrong.
pub fn check<Args: CommandLine>() -> Result<(), Vec<String>> {
    let command = super::whole_command::<Args>();
    let mut wrong = Vec::new();
    for id in Args::SHORT_HELP {
        if command
            .get_arguments()
            .all(|argument| argument.get_id() != id)
        {
            wrong.push(format!("{id} of the short help is no option"));
        }
    }
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
    let mut before: Vec<&str> = Vec::new();
    for row in rows(Args::SPELLINGS) {
        let Some((others, instead)) = row.split_once(BEFORE_ANSWER) else {
            wrong.push(format!("\"{row}\": no answer"));
            continue;
        };
        for other in others.split(' ') {
            if is_known(other) {
                wrong.push(format!("{other} is an option"));
            }
            // A value is refused by an option that is there.
            if let Some((option, _)) = other
                .split_once('=')
                .filter(|(option, _)| !is_known(option))
            {
                wrong.push(format!("{other}: {option} is no option"));
            }
            if before.contains(&other) {
                wrong.push(format!("{other} has two rows"));
            }
            before.push(other);
        }
        // Suggestions that name another tool (`cg-…`, `| jq`) are not checked.
        let options = instead
            .split([' ', '=', ';', ','])
            .filter(|word| word.starts_with('-'));
        let is_of_others = instead.contains("cg-") || instead.contains('|');
        let unknown = options.filter(|option| !is_known(option) && !is_of_others);
        wrong.extend(unknown.map(|option| format!("\"{instead}\": {option} is no option")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
