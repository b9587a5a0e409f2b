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

/// Returns the directory of a recording, if `file` has only the records of one thread.
pub fn directory_of_thread(file: &Path) -> Option<&Path> {
    /// The place of the features in a header (`perf_file_header`), and the bit of those in a directory.
    const FEATURES_AT: usize = 72;
    const DIRECTORY: usize = 24;
    number(file)?;
    let directory = file.parent()?;
    let mut header = [0; FEATURES_AT + 8];
    let main = directory.join(MAIN);
    File::open(main).ok()?.read_exact(&mut header).ok()?;
    let endian = FileEndian::from_magic(&header[..8])?;
    let features = endian.u64(*header.last_chunk()?);
    (features >> DIRECTORY & 1 == 1).then_some(directory)
}

/// Returns the number of a thread's file: 1 for `data.1`.
fn number(file: &Path) -> Option<u32> {
    let is_of_thread = file.file_stem().is_some_and(|stem| stem == MAIN);
    let number = file.extension().filter(|_| is_of_thread)?.to_str()?;
    number.parse().ok()
}

/// The files with the records of threads.
pub(crate) struct ThreadFiles {
    pub(crate) lines: Vec<Lines>,
    /// Their numbers, ascending.
    pub(crate) numbers: Vec<u32>,
}

/// Returns an error if a file of a thread is missing. `count` is the number of files, as far as the recording shows it.
pub(crate) fn check_numbers(numbers: &[u32], count: usize) -> Result<(), Error> {
    const SHOWN: usize = 4;
    let last = numbers.last().map_or(0, |last| *last as usize + 1);
    let is_missing = |number: &usize| !numbers.iter().any(|there| *there as usize == *number);
    let missing = (0..last.max(count)).filter(is_missing).take(SHOWN);
    let missing: Vec<String> = missing.map(|number| format!("{MAIN}.{number}")).collect();
    let more = match last.max(count) - numbers.len() - missing.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Error::whole(format!(
            "the recording is not complete: it lacks {}{more}",
            missing.join(", ")
        ))),
    }
}

/// Opens the files with the records of a recording, whose path is its directory or the main file in it.
pub(crate) fn open_files(recording: &Path) -> Result<ThreadFiles, Error> {
    let directory = match recording.is_dir() {
        true => Some(recording),
        false => recording.parent().filter(|_| recording.is_file()),
    };
    let mut files = Vec::new();
    for entry in directory.into_iter().flat_map(fs::read_dir).flatten() {
        let path = entry.map_err(Error::Input)?.path();
        files.extend(number(&path).map(|number| (number, path)));
    }
    files.sort_unstable();
    if files.is_empty() {
        return Err(Error::whole(
            "this is one file of a recording of perf record --threads, and the files data.0, data.1 … are missing; pass the directory of the recording",
        ));
    }
    let open = |(_, path): &(u32, PathBuf)| {
        let file = File::open(path).map_err(Error::Input)?;
        Ok(Lines::new(Box::new(file)))
    };
    Ok(ThreadFiles {
        lines: files.iter().map(open).collect::<Result<_, Error>>()?,
        numbers: files.into_iter().map(|(number, _)| number).collect(),
    })
}
