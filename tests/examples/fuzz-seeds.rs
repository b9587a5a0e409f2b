//! `fuzz-seeds FOLDER`: writes the seeds for fuzzing the readers, one subfolder of FOLDER per format.
#![allow(clippy::print_stderr, reason = "this program prints")]
#![allow(clippy::unwrap_used, reason = "a missing seed is a bug")]

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use cg_parse::FORMATS;
use tests::data;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: fuzz-seeds FOLDER");
        return ExitCode::from(2);
    };
    for format in FORMATS {
        let folder = folder.join(format.name);
        fs::create_dir_all(&folder).unwrap();
        let found = fs::read_dir(data("fuzzed").join(format.name));
        let found = found
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().path());
        for path in tests::seeds(format).into_iter().chain(found) {
            fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    ExitCode::SUCCESS
}
