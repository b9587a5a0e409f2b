//! Directories among the inputs. Each file directly in a directory is read as if it were named on the command line.
//!
//! Every file counts, because the user chooses the names of Valgrind's logs. A file that is not a log is an error: it may
//! be all that a process left. A subdirectory is an error too. Hidden files such as `.gitignore` are skipped with a
//! warning, as a shell's `*` skips them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cg_stream::Diagnostics;

/// Replaces each directory among the inputs with its files, sorted by name. Keeps an empty directory if `may_be_empty` is
/// set: a clean job writes no report.
pub(crate) fn expand_directories(
    inputs: Vec<PathBuf>,
    may_be_empty: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for input in &inputs {
        if !input.is_dir() {
            files.push(input.clone());
            continue;
        }
        let before = files.len();
        if let Err(error) = add_files(input, &inputs, &mut files, diagnostics) {
            diagnostics.error(format!("{}: {error}", input.display()));
        } else if files.len() == before && may_be_empty {
            files.push(input.clone());
        } else if files.len() == before {
            diagnostics.error(format!(
                "{}: expected logs in this directory, found none",
                input.display()
            ));
        }
    }
    files
}

fn add_files(
    directory: &Path,
    inputs: &[PathBuf],
    files: &mut Vec<PathBuf>,
    diagnostics: &mut Diagnostics,
) -> io::Result<()> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    for name in names {
        let path = directory.join(&name);
        let shown = path.display();
        if name.as_encoded_bytes().starts_with(b".") {
            diagnostics.warn(format!(
                "{shown}: skipped, because its name begins with a dot"
            ));
        } else if path.is_file() {
            files.push(path);
        } else if !path.is_dir() {
            diagnostics.error(format!(
                "{shown}: expected a log, found neither a file nor a directory"
            ));
        } else if !inputs.contains(&path) {
            diagnostics.error(format!(
                "{shown}: a subdirectory is not read; name it as an input too, or move it elsewhere"
            ));
        }
    }
    Ok(())
}
