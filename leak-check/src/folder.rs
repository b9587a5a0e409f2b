//! Folders among the inputs: what lies directly in one is read as if each file was named.
//!
//! Every file counts, whatever its name: Valgrind calls its logs as it was told to. A file that is no log makes the answer
//! uncertain, as it does where it is named, since an empty file or one that nobody recognises may be all that a process
//! left. So does a folder in the folder. Names that begin with a dot are left out with a warning: they are `.gitignore` and
//! the like, which a shell's `*` leaves out too.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cg_stream::Diagnostics;

/// The inputs, with the files of each folder in its place, sorted by name.
pub(crate) fn with_files_of_folders(
    inputs: Vec<PathBuf>,
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
            diagnostics.trouble(format!("{}: {error}", input.display()));
        } else if files.len() == before {
            diagnostics.trouble(format!(
                "{}: expected logs in this folder, found none",
                input.display()
            ));
        }
    }
    files
}

/// Adds the files of a folder.
fn add_files(
    folder: &Path,
    inputs: &[PathBuf],
    files: &mut Vec<PathBuf>,
    diagnostics: &mut Diagnostics,
) -> io::Result<()> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<io::Result<Vec<OsString>>>()?;
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let shown = path.display();
        if name.as_encoded_bytes().starts_with(b".") {
            diagnostics.warn(format!("{shown}: left out, as its name begins with a dot"));
        } else if path.is_file() {
            files.push(path);
        } else if !path.is_dir() {
            diagnostics.trouble(format!(
                "{shown}: expected a log, found neither a file nor a folder"
            ));
        } else if !inputs.contains(&path) {
            diagnostics.trouble(format!(
                "{shown}: a folder in a folder of logs is not read; name it too, or take it out"
            ));
        }
    }
    Ok(())
}
