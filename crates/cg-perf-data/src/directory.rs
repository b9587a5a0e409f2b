//! The directory that `perf record --threads` writes: the main file `data`, and the files `data.0`, `data.1` … that contain
//! the records of the threads.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use cg_reader::{Error, Lines};

use crate::fields::FileEndian;

/// The name of the main file.
const MAIN: &str = "data";

/// Returns the main file of a recording that is a directory; `None` if there is no such file.
pub fn main_file(directory: &Path) -> Option<PathBuf> {
    let main = directory.join(MAIN);
    let mut magic = [0; 8];
    File::open(&main).ok()?.read_exact(&mut magic).ok()?;
    FileEndian::from_magic(&magic).map(|_| main)
}

/// Opens the files with the records of a recording, whose path is its directory or the main file in it.
pub(crate) fn open_files(recording: &Path) -> Result<Vec<Lines>, Error> {
    let directory = match recording.is_dir() {
        true => Some(recording),
        false => recording.parent().filter(|_| recording.is_file()),
    };
    let mut files = Vec::new();
    for entry in directory.into_iter().flat_map(fs::read_dir).flatten() {
        let path = entry.map_err(Error::Input)?.path();
        let number = (path.extension())
            .filter(|_| path.file_stem().is_some_and(|stem| stem == MAIN))
            .and_then(|number| number.to_str()?.parse::<u32>().ok());
        files.extend(number.map(|number| (number, path)));
    }
    files.sort_unstable();
    if files.is_empty() {
        return Err(Error::whole(
            "this is one file of a recording of perf record --threads, and the files data.0, data.1 … are missing; pass the directory of the recording",
        ));
    }
    let open = |(_, path): (u32, PathBuf)| {
        let file = File::open(path).map_err(Error::Input)?;
        Ok(Lines::new(Box::new(file)))
    };
    files.into_iter().map(open).collect()
}
