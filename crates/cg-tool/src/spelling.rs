//! Usage errors in one line, with the option or word that the user should write instead.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command};

use super::CommandLine;
use cg_stream::visible::visible;

/// Options and words that users know from other programs, with the tool's own options for them. This is the text of a tool's
/// `spellings.txt`, which has one row per line and comments after `#`. The text before ` => ` is what the user writes:
///
/// - `--limit`, `-l`: an option that the tool does not have. `-N` is a number with a dash (`head -5`), and `N` in the
///   answer is replaced by that number
/// - `--format=text`: the long name of an option and a value that the option does not accept
/// - `help`: a word instead of the first file
/// - `-o=.png`: an ending of the file of `-o` that the tool cannot write
pub type Spellings = &'static str;

const BEFORE_ANSWER: &str = " => ";

/// Options whose completions are too diverse to conclude from a word that the user meant the option.
const OF_MANY_KINDS: [&str; 5] = ["sort", "columns", "events", "color", "generate"];

/// Returns the error of a command line that clap refuses, in one line; `None` if clap's message is a help text or the
/// version.
pub(super) fn usage_error(
    error: &Error,
    command: &Command,
    written: &[OsString],
    spellings: Spellings,
) -> Option<String> {
    let line = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return None,
        ErrorKind::UnknownArgument => unknown_option(
            &text(error, ContextKind::InvalidArg)?,
            error,
            command,
            written,
            spellings,
        ),
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            refused_value(error, command, written, spellings).unwrap_or_else(|| in_one_line(error))
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

/// Returns the error of a first argument that is a command in other programs; `None` if it is not, or if such a file exists.
pub(super) fn usage_error_for_word(written: &[OsString], spellings: Spellings) -> Option<String> {
    let word = written.first()?.to_str()?;
    let is_word = word.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_word || Path::new(word).exists() {
        return None;
    }
    let instead = instead_of(word, spellings)?;
    Some(format!(
        "there is no {word} here, and no file of that name; write {instead}"
    ))
}

/// Returns the error of an ending of `-o`'s file for which the tool has no format; `None` if the ending is not in the table.
pub(super) fn usage_error_for_output(path: &Path, spellings: Spellings) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let instead = instead_of(&format!("-o=.{ending}"), spellings)?;
    Some(format!(
        "-o {}: there is no .{ending} here; write {instead}",
        path.display()
    ))
}

fn instead_of(written: &str, spellings: Spellings) -> Option<&'static str> {
    let rows = rows(spellings).filter_map(|row| row.split_once(BEFORE_ANSWER));
    let mut rows = rows.filter(|(others, _)| others.split(' ').any(|other| other == written));
    rows.next().map(|(_, instead)| instead)
}

fn rows(spellings: Spellings) -> impl Iterator<Item = &'static str> {
    let lines = spellings.lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the error of an unknown option. The suggestion is from the table, an option with this value, or a similar option.
fn unknown_option(
    typed: &str,
    error: &Error,
    command: &Command,
    written: &[OsString],
    spellings: Spellings,
) -> String {
    let typed = typed.split('=').next().unwrap_or(typed);
    // clap refuses only `-c` of `-cum`, but other programs have options such as `-cum`.
    for option in words(written)
        .filter(|word| word.starts_with(typed))
        .chain([typed])
    {
        let number = option.strip_prefix('-').filter(|number| is_number(number));
        let instead = match number {
            Some(number) => instead_of("-N", spellings).map(|instead| instead.replace('N', number)),
            None => instead_of(option, spellings).map(str::to_owned),
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

/// Returns the arguments before `--`, without values after `=`.
fn words(written: &[OsString]) -> impl Iterator<Item = &str> {
    let words = written.iter().filter_map(|word| word.to_str());
    let words = words.take_while(|word| *word != "--");
    words.map(|word| word.split('=').next().unwrap_or(word))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the option that accepts this value, with the value: `-f csv` for `csv`.
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

/// Returns an option as users write it: its letter if it has one, otherwise its long name.
fn name_of(argument: &Arg) -> Option<String> {
    let letter = argument.get_short().map(|letter| format!("-{letter}"));
    letter.or_else(|| argument.get_long().map(|long| format!("--{long}")))
}

/// Returns the only option that begins with the typed text, or clap's suggestion.
fn alike(typed: &str, error: &Error, command: &Command) -> Option<String> {
    let name = typed.strip_prefix("--").filter(|name| name.len() > 1)?;
    let options = command.get_arguments().filter_map(Arg::get_long);
    let mut longer = options.filter(|option| option.starts_with(name));
    if let (Some(option), None) = (longer.next(), longer.next()) {
        return Some(format!("--{option}"));
    }
    text(error, ContextKind::SuggestedArg)
}

/// Returns the error of a value that an option does not accept.
fn refused_value(
    error: &Error,
    command: &Command,
    written: &[OsString],
    spellings: Spellings,
) -> Option<String> {
    let value = text(error, ContextKind::InvalidValue).filter(|value| !value.is_empty())?;
    // clap reads `-flat` as `-f lat`.
    for word in words(written).filter(|word| word.ends_with(&value) && *word != value) {
        if let Some(instead) = instead_of(word, spellings) {
            return Some(format!("there is no {word} here; write {instead}"));
        }
    }
    let named = text(error, ContextKind::InvalidArg)?;
    let option = named.split(' ').next()?;
    let here = format!("{option} {value}");
    if let Some(instead) = instead_of(&format!("{option}={value}"), spellings) {
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

/// Returns clap's own message without its usage and its tips.
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

/// Checks a tool's spellings and its short help. The tests of the tools call this.
///
/// # Errors
/// Returns a message for each row that contains an existing option as unknown or suggests an unknown option, and for each
/// unknown option in the short help.
pub fn check<Args: CommandLine>() -> Result<(), Vec<String>> {
    let command = super::whole_command::<Args>();
    let mut wrong = Vec::new();
    for id in Args::SHORT_HELP {
        if command
            .get_arguments()
            .all(|argument| argument.get_id() != id)
        {
            wrong.push(format!("{id} of the short help is not an option"));
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
            // A row about a value needs an existing option.
            if let Some((option, _)) = other
                .split_once('=')
                .filter(|(option, _)| !is_known(option))
            {
                wrong.push(format!("{other}: {option} is not an option"));
            }
            if before.contains(&other) {
                wrong.push(format!("{other} has two rows"));
            }
            before.push(other);
        }
        // Suggestions of other tools (`cg-…`, `| jq`) are not checked.
        let options = instead
            .split([' ', '=', ';', ','])
            .filter(|word| word.starts_with('-'));
        let has_other_tool = instead.contains("cg-") || instead.contains('|');
        let unknown = options.filter(|option| !is_known(option) && !has_other_tool);
        wrong.extend(unknown.map(|option| format!("\"{instead}\": {option} is not an option")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}
