//! Which of the arguments without an option is the regular expression, and which are inputs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The arguments without an option, told apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Positionals {
    pub(crate) regex: Option<OsString>,
    pub(crate) files: Vec<PathBuf>,
    /// What was taken as what, where that may not be what was meant.
    pub(crate) note: Option<String>,
}

/// What standard input has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    /// Something to read.
    Something,
    /// It is a pipe, and nothing came out of it.
    EmptyPipe,
    /// Nothing was piped in: a person at a terminal, the null device.
    Nothing,
}

/// Tells the arguments apart. The first is a regular expression unless -e gives one, or it is the path of a file and
/// hardly anything else. `stdin` is asked only where the answer matters, since it waits for the first byte.
pub(crate) fn tell_apart(
    positionals: &[OsString],
    has_regexp: bool,
    stdin: impl FnOnce() -> Stdin,
) -> Positionals {
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
    if is_path && !others.is_empty() {
        return all_files(Some(read_as_file(first)));
    }
    let mut note = None;
    // Behind a pipe, one argument is the regular expression.
    if others.is_empty() && !first.is_empty() {
        let stdin = stdin();
        if is_path && stdin != Stdin::Something {
            return all_files(Some(read_as_file(first)));
        }
        let name = first.display();
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

/// Pipes are files too: `<(…)` is one.
fn is_file(argument: &OsStr) -> bool {
    Path::new(argument)
        .metadata()
        .is_ok_and(|metadata| !metadata.is_dir())
}

/// Names of profiles have a folder, an extension or a process number in them. Of functions somebody searches for, hardly
/// any has.
fn is_hardly_a_regex(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    bytes.iter().any(|byte| matches!(byte, b'/' | b'.' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of arguments: the regular expression, the number of files, and whether something is said.
    fn told(arguments: &[&OsStr], has_regexp: bool, stdin: Stdin) -> (bool, usize, bool) {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let told = tell_apart(&arguments, has_regexp, || stdin);
        (told.regex.is_some(), told.files.len(), told.note.is_some())
    }

    #[test]
    fn a_file_is_no_regex_unless_a_stream_waits_or_its_name_could_be_a_functions() {
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
            assert_eq!(
                told(arguments, has_regexp, stdin),
                expected,
                "{arguments:?}, -e {has_regexp}, {stdin:?}"
            );
        }
    }
}
