//! What `--generate` prints: completions and the manual page.

use std::io::{self, Write};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// What `--generate` takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Generated {
    Completion(Shell),
    Manual,
}

impl Generated {
    /// What a word asks for.
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

/// Writes what is asked for.
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

/// The sections that clap_mangen knows, and the examples, which it leaves out.
fn write_manual(command: Command, out: &mut dyn Write) -> io::Result<()> {
    let examples = examples(&command);
    let notes = command.get_after_long_help().map(ToString::to_string);
    let manual = Man::new(command);
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
    if let Some(notes) = notes {
        let mut section = Roff::default();
        section.control("SH", ["NOTES"]);
        for line in notes.lines() {
            if line.trim().is_empty() {
                section.control("PP", []);
            } else {
                section.text([roman(line)]);
            }
        }
        section.to_writer(out)?;
    }
    manual.render_version_section(out)
}

/// The commands of `--help`, below the line that says what they are.
fn examples(command: &Command) -> Vec<String> {
    let help = command.get_before_long_help().or(command.get_before_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let lines = help.lines().skip(1).map(|line| line.trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}
