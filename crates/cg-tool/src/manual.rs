//! The output of `--generate`: shell completions and the manual page.

use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// A value of `--generate`.
#[derive(Clone, Copy, Debug)]
pub(super) enum Generated {
    Completion(Shell),
    Manual,
}

impl Generated {
    /// Parses a value of `--generate`.
    pub(super) fn parse(word: &str) -> Result<Generated, String> {
        let shell = word.strip_prefix("complete-").map(str::parse);
        match (shell, word) {
            (Some(Ok(shell)), _) => Ok(Generated::Completion(shell)),
            (None, "man") => Ok(Generated::Manual),
            _ => Err(
                "expected complete-bash, complete-elvish, complete-fish, complete-powershell, complete-zsh or man"
                    .to_owned(),
            ),
        }
    }
}

/// Writes a completion or the manual page.
pub(super) fn write(what: Generated, mut command: Command, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    match what {
        Generated::Completion(shell) => {
            let name = command.get_name().to_owned();
            clap_complete::generate(shell, &mut command, name, &mut text);
        }
        Generated::Manual => write_manual(command, &mut text)?,
    }
    out.write_all(&text)?;
    out.flush()
}

/// All tools. Each manual page refers to the pages of the others.
const TOOLS: [&str; 5] = ["cg-parse", "cg-filter", "cg-diff", "cg-fmt", "leak-check"];

/// The beginning of the help's paragraph about exit statuses.
const EXIT_STATUS: &str = "Exit status: ";

/// The options that accept other values than the words that shells complete.
const TAKE_MORE: [&str; 8] = [
    "sort",
    "columns",
    "top",
    "tree",
    "types",
    "relative_to",
    "snapshot",
    "snapshots",
];

/// Writes the sections of clap_mangen, and the sections that it lacks: examples, exit status, notes, other pages.
fn write_manual(command: Command, out: &mut dyn Write) -> io::Result<()> {
    let examples = examples(&command);
    let tool = command.get_name().to_owned();
    let notes = command.get_after_long_help().map(ToString::to_string);
    let notes = notes.unwrap_or_default();
    let paragraphs = notes.split("\n\n").map(str::trim);
    let (status, notes): (Vec<&str>, Vec<&str>) = paragraphs
        .filter(|paragraph| !paragraph.is_empty())
        .partition(|paragraph| paragraph.starts_with(EXIT_STATUS));
    // The manual page lists possible values that the help hides, except for options that accept other values too.
    let manual = Man::new(command.mut_args(|argument| {
        let is_any = TAKE_MORE.contains(&argument.get_id().as_str());
        argument.hide_possible_values(is_any)
    }));
    manual.render_title(out)?;
    manual.render_name_section(out)?;
    manual.render_synopsis_section(out)?;
    if !examples.is_empty() {
        let mut section = Roff::default();
        section.control("SH", ["EXAMPLES"]);
        section.control("nf", []);
        for example in &examples {
            section.text([roman(example)]);
        }
        section.control("fi", []);
        section.to_writer(out)?;
    }
    manual.render_description_section(out)?;
    manual.render_options_section(out)?;
    let status = status
        .iter()
        .filter_map(|text| text.strip_prefix(EXIT_STATUS));
    // Each exit status begins a new line: `0 is done; 1 is …`.
    let meanings: Vec<&str> = status.flat_map(|text| text.split("; ")).collect();
    write_section("EXIT STATUS", &meanings, out)?;
    write_section("NOTES", &notes, out)?;
    let others = TOOLS.iter().filter(|other| **other != tool);
    let others: Vec<String> = others.map(|other| format!("{other}(1)")).collect();
    write_section("SEE ALSO", &[&others.join(", ")], out)?;
    manual.render_version_section(out)
}

/// Writes a section of paragraphs, if there are any.
fn write_section(title: &str, paragraphs: &[&str], out: &mut dyn Write) -> io::Result<()> {
    if paragraphs.is_empty() {
        return Ok(());
    }
    let mut section = Roff::default();
    section.control("SH", [title]);
    for (position, paragraph) in paragraphs.iter().enumerate() {
        if position > 0 {
            section.control("PP", []);
        }
        for line in paragraph.lines() {
            section.text([roman(line)]);
        }
    }
    section.to_writer(out)
}

/// Returns the example commands of `--help`, without their heading.
fn examples(command: &Command) -> Vec<String> {
    let help = command.get_before_long_help().or(command.get_before_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let lines = help.lines().skip(1).map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}
