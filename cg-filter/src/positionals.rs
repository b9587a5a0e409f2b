//! Splits the arguments without an option into the regular expression and the inputs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The arguments without an option.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Positionals {
    pub(crate) regex: Option<OsString>,
    pub(crate) files: Vec<PathBuf>,
    /// A note on the interpretation of the first argument, if it may surprise the user.
    pub(crate) note: Option<String>,
}

/// The options beside the arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GivenOptions {
    /// There are regular expressions from -e.
    pub(crate) has_regexp: bool,
    /// There is another condition, such as a crate, so a regular expression is not needed.
    pub(crate) has_condition: bool,
}

/// The state of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// There is something to read.
    Something,
    /// It is a pipe without any data.
    EmptyPipe,
    /// It is a terminal or empty, such as the null device.
    Nothing,
}

/// Splits the arguments. The first is a regular expression, unless there is one from -e, or it is the path of a file and
/// does not look like a regular expression. Calls `stdin` only if necessary, because it waits for the first byte.
pub(crate) fn split_arguments(
    positionals: &[OsString],
    options: GivenOptions,
    stdin: impl FnOnce() -> Stdin,
) -> Positionals {
    let GivenOptions {
        has_regexp,
        has_condition,
    } = options;
    let files = |arguments: &[OsString]| arguments.iter().map(PathBuf::from).collect();
    let all_files = |note| Positionals {
        regex: None,
        files: files(positionals),
        note,
    };
    let (first, others) = match positionals {
        [first, others @ ..] if !has_regexp => (first, others),
        _ => return all_files(None),
    };
    if first == "-" {
        return all_files(None);
    }
    let is_path = is_file(first) && is_hardly_a_regex(first);
    let read_as_file = || (!has_condition).then(|| read_as_file(first));
    if is_path && !others.is_empty() {
        return all_files(read_as_file());
    }
    let name = first.display();
    let mut note = None;
    if !others.is_empty() {
        let may_be_misspelt = has_condition && is_hardly_a_regex(first) && is_plain(first);
        note = may_be_misspelt
            .then(|| format!("{name} is the regular expression: there is no file of that name"));
    } else if !first.is_empty() {
        // After a pipe, a single argument is the regular expression.
        let stdin = stdin();
        if is_path && stdin != Stdin::Something {
            return all_files(read_as_file());
        }
        // Reading the file fails, and the error names it.
        if has_condition && is_plain(first) && stdin == Stdin::Nothing {
            return all_files(None);
        }
        let reads = match is_file(first) {
            true => format!("cg-filter '' {name} reads the file"),
            false => "cg-filter REGEX FILE reads a file".to_owned(),
        };
        note = (stdin == Stdin::Nothing).then(|| {
            format!(
                "{name} is the regular expression, and there is nothing on standard input; {reads}"
            )
        });
    }
    Positionals {
        regex: Some(first.clone()),
        files: files(others),
        note,
    }
}

fn read_as_file(argument: &OsStr) -> String {
    let name = argument.display();
    format!("{name} is read as a file; -e {name} searches function names for it")
}

/// Returns true for an existing path that is not a directory, including a pipe such as `<(…)`.
fn is_file(argument: &OsStr) -> bool {
    Path::new(argument)
        .metadata()
        .is_ok_and(|metadata| !metadata.is_dir())
}

/// Returns true if an argument looks like the name of a profile: with a folder, an extension or a process number. The names
/// of functions hardly ever have these characters.
fn is_hardly_a_regex(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.iter().any(|byte| matches!(byte, b'/' | b'.' | b'-'))
}

/// Returns true if no character of an argument has a meaning in regular expressions, except for the dot.
fn is_plain(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    !bytes.iter().any(|byte| br"^$*+?()[]{}|\".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits arguments. Returns true for a regular expression, the number of files, and true for a note.
    fn split(arguments: &[&OsStr], options: GivenOptions, stdin: Stdin) -> (bool, usize, bool) {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let found = split_arguments(&arguments, options, || stdin);
        (
            found.regex.is_some(),
            found.files.len(),
            found.note.is_some(),
        )
    }

    #[test]
    fn file_is_an_input_unless_a_stream_waits_or_the_name_may_be_a_function() {
        use Stdin::{EmptyPipe, Nothing, Something};
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("callgrind.out.7");
        std::fs::write(&profile, "").unwrap();
        let profile = profile.as_os_str();
        let folder = folder.path().as_os_str();
        let regex = OsStr::new("^main$");
        for (arguments, has_regexp, stdin, expected) in [
            (&[profile][..], false, Nothing, (false, 1, true)),
            (&[profile], false, EmptyPipe, (false, 1, true)),
            (&[profile], false, Something, (true, 0, false)),
            (&[profile, profile], false, Something, (false, 2, true)),
            (&[profile], true, Nothing, (false, 1, false)),
            (&[regex, profile], false, Nothing, (true, 1, false)),
            (&[regex], false, Something, (true, 0, false)),
            (&[regex], false, EmptyPipe, (true, 0, false)),
            (&[regex], false, Nothing, (true, 0, true)),
            (
                &[OsStr::new("no/such.out")],
                false,
                Nothing,
                (true, 0, true),
            ),
            (&[folder], false, Something, (true, 0, false)),
            (&[OsStr::new("-")], false, Something, (false, 1, false)),
            (&[OsStr::new("")], false, Nothing, (true, 0, false)),
            (&[], false, Nothing, (false, 0, false)),
        ] {
            let options = GivenOptions {
                has_regexp,
                has_condition: false,
            };
            assert_eq!(
                split(arguments, options, stdin),
                expected,
                "{arguments:?}, -e {has_regexp}, {stdin:?}"
            );
        }
    }

    #[test]
    fn with_another_condition_the_argument_is_an_input() {
        use Stdin::{EmptyPipe, Nothing, Something};
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("callgrind.out.7");
        std::fs::write(&profile, "").unwrap();
        let profile = profile.as_os_str();
        let [misspelt, regex] = ["typo.out", "^a.b"].map(OsStr::new);
        for (arguments, stdin, expected) in [
            (&[profile][..], Nothing, (false, 1, false)),
            (&[profile], Something, (true, 0, false)),
            (&[profile, profile], Something, (false, 2, false)),
            (&[misspelt], Nothing, (false, 1, false)),
            (&[misspelt], Something, (true, 0, false)),
            (&[misspelt], EmptyPipe, (true, 0, false)),
            (&[misspelt, profile], Something, (true, 1, true)),
            (&[regex], Nothing, (true, 0, true)),
            (&[regex, profile], Nothing, (true, 1, false)),
        ] {
            let options = GivenOptions {
                has_regexp: false,
                has_condition: true,
            };
            assert_eq!(
                split(arguments, options, stdin),
                expected,
                "{arguments:?}, {stdin:?}"
            );
        }
    }
}
