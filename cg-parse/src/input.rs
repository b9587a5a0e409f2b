//! Inputs: files, and `-` for stdin. Compressed inputs are decompressed.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cg_reader::{BYTE_ORDER_MARK, Error, Lines};
use cg_stream::diagnostics::{Diagnostics, Progress};

use crate::detect;
use crate::packed;
use crate::utf16::{ByteOrder, Utf16};

/// The name of standard input in messages.
const STDIN: &str = "<stdin>";

/// An open, decompressed input.
pub(crate) struct Input {
    /// The name in messages: the path as given, or `<stdin>`.
    pub(crate) name: String,
    pub(crate) reader: Box<dyn Read>,
}

impl Input {
    /// Opens a file, or stdin for `-`. Never seeks, so process substitution and named pipes work.
    pub(crate) fn open(path: &Path, diagnostics: &Diagnostics) -> Result<Input, Error> {
        let name = input_name(path);
        if let Some(directory) = cg_perf_data::directory_of_thread(path) {
            return Err(Error::whole(format!(
                "this file has the records of one thread of a recording of perf record --threads; read the directory: cg-parse {}",
                match directory.as_os_str().is_empty() {
                    true => Path::new("."),
                    false => directory,
                }
                .display()
            )));
        }
        let reader = if path.as_os_str() == "-" {
            packed::unpacked(Uninterrupted(io::stdin()))
        } else {
            // A recording of perf can be a directory. Its reader finds the other files.
            let main = cg_perf_data::main_file(path);
            File::open(main.as_deref().unwrap_or(path)).and_then(|file| {
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(io::Error::new(
                        io::ErrorKind::IsADirectory,
                        "is a directory; name the files in it, or read benchmark results with cg-parse DIR",
                    ));
                }
                let progress = metadata
                    .is_file()
                    .then(|| diagnostics.progress(metadata.len()))
                    .flatten();
                match progress {
                    Some(progress) => packed::unpacked(Uninterrupted(Watched {
                        input: file,
                        progress,
                    })),
                    None => packed::unpacked(Uninterrupted(file)),
                }
            })
        };
        Ok(Input {
            reader: reader.map_err(Error::Input)?,
            name,
        })
    }
}

/// Returns the lines of an input, after a UTF-8 byte order mark, if any. Converts a text with a UTF-16 byte order mark to
/// UTF-8.
pub(crate) fn lines(reader: Box<dyn Read>) -> Result<Lines, Error> {
    let mut lines = Lines::new(reader);
    let beginning = lines.peek(BYTE_ORDER_MARK.len()).map_err(Error::Input)?;
    if beginning == BYTE_ORDER_MARK {
        lines.consume(BYTE_ORDER_MARK.len());
    } else if let Some(order) = ByteOrder::from_mark(beginning) {
        lines.consume(2);
        return Ok(Lines::new(Box::new(Utf16::new(lines, order))));
    }
    Ok(lines)
}

/// Returns the name of an input for messages.
pub(crate) fn input_name(path: &Path) -> String {
    if path.as_os_str() == "-" {
        STDIN.to_owned()
    } else {
        path.display().to_string()
    }
}

/// Removes the empty files of `callgrind --separate-threads=yes` from the inputs.
///
/// Callgrind then writes one file per thread (`callgrind.out.7-01`, `callgrind.out.7-02`) and leaves `callgrind.out.7`
/// empty. The empty file is removed only if a file of one of its threads is also an input. Any other empty file stays, and
/// is reported as an error later.
pub fn without_empty_bases(inputs: &[PathBuf]) -> Vec<PathBuf> {
    let is_base =
        |base: &Path| inputs.iter().any(|path| is_thread_of(path, base)) && is_empty(base);
    inputs
        .iter()
        .filter(|path| !is_base(path))
        .cloned()
        .collect()
}

/// Returns true if a path is the file of one thread of the file `base`.
fn is_thread_of(path: &Path, base: &Path) -> bool {
    let (path, base) = (path.as_os_str().as_encoded_bytes(), base.as_os_str());
    path.strip_prefix(base.as_encoded_bytes())
        .and_then(|rest| rest.strip_prefix(b"-"))
        .is_some_and(|thread| thread.len() >= 2 && thread.iter().all(u8::is_ascii_digit))
}

fn is_empty(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0)
}

/// Valgrind leaves an empty file if the program executes another one, which it does not follow by default.
const EMPTY_FILE: &str = "the input is empty; a program under Valgrind that executes another one leaves an empty file: \
                          valgrind --trace-children=yes follows the other one";

/// Explains the error about an empty input that has a path: Valgrind did not follow another program, or the costs are in the
/// files of threads beside it. The explanation is the same for a packed file and a pipe. Returns other errors unchanged.
pub(crate) fn explain_empty(source: &str, error: Error) -> Error {
    const MOST: usize = 3;
    let base = Path::new(source);
    let is_about_empty = matches!(
        &error,
        Error::Malformed { message, .. } if message == detect::EMPTY
    );
    if source == STDIN || !is_about_empty {
        return error;
    }
    let folder = base
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter();
    let name = base.file_name().map(Path::new).unwrap_or(base);
    let mut threads: Vec<String> = entries
        .flatten()
        .flatten()
        .map(|entry| PathBuf::from(entry.file_name()))
        .filter(|path| is_thread_of(path, name))
        .map(|path| base.with_file_name(path).display().to_string())
        .collect();
    if threads.is_empty() {
        return Error::whole(EMPTY_FILE);
    }
    threads.sort();
    let others = threads.len().saturating_sub(MOST);
    threads.truncate(MOST);
    if others > 0 {
        threads.push(format!("… ({others} more)"));
    }
    Error::whole(format!(
        "the input is empty: Callgrind wrote the costs of each thread to a file of its own; read {}",
        threads.join(" ")
    ))
}

/// Retries reads that a signal interrupted, because not every decoder retries them.
struct Uninterrupted<R>(R);

impl<R: Read> Read for Uninterrupted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(out) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Reports the progress of reading.
struct Watched<R> {
    input: R,
    progress: Box<dyn Progress>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(out)?;
        if length == 0 {
            self.progress.finish();
        } else {
            self.progress.advance(length as u64);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Returns an `Interrupted` error before each byte.
    struct Nervous<'a> {
        bytes: &'a [u8],
        was_interrupted: bool,
    }
    impl Read for Nervous<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.was_interrupted = !self.was_interrupted;
            if self.was_interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let length = out.len().min(1);
            self.bytes.read(&mut out[..length])
        }
    }

    #[test]
    fn interrupted_reads_are_tried_again() {
        let text = b"one\ntwo\n";
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        for bytes in [text.to_vec(), packed.finish().unwrap()] {
            let input = Nervous {
                bytes: Box::leak(bytes.into_boxed_slice()),
                was_interrupted: false,
            };
            let mut read = Vec::new();
            let mut reader = packed::unpacked(Uninterrupted(input)).unwrap();
            // This loop does not retry interrupted reads.
            let mut byte = [0];
            while reader.read(&mut byte).unwrap() > 0 {
                read.push(byte[0]);
            }
            assert_eq!(read, text);
        }
    }

    #[test]
    fn only_an_empty_file_with_a_file_of_its_thread_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let remaining = |files: &[(&str, &str)]| -> Vec<String> {
            let paths: Vec<PathBuf> = files
                .iter()
                .map(|(name, text)| {
                    let path = folder.path().join(name);
                    std::fs::write(&path, text).unwrap();
                    path
                })
                .collect();
            let left = without_empty_bases(&paths);
            left.iter()
                .map(|path| path.file_name().unwrap().display().to_string())
                .collect()
        };
        type NameAndText = (&'static str, &'static str);
        let cases: [(&[NameAndText], &[&str]); 7] = [
            (&[("out.7", ""), ("out.7-01", "data")], &["out.7-01"]),
            (&[("out.7-100", "data"), ("out.7", "")], &["out.7-100"]),
            // An empty file of a thread is not the base of another file.
            (&[("out.7", ""), ("out.7-01", "")], &["out.7-01"]),
            (
                &[("out.7", "data"), ("out.7-01", "data")],
                &["out.7", "out.7-01"],
            ),
            (
                &[("out.7", ""), ("out.8-01", "data")],
                &["out.7", "out.8-01"],
            ),
            // Valgrind writes the number of a thread with at least two digits.
            (&[("out.7", ""), ("out.7-1", "data")], &["out.7", "out.7-1"]),
            (
                &[("out.7", ""), ("out.7-0a", "data")],
                &["out.7", "out.7-0a"],
            ),
        ];
        for (files, expected) in cases {
            assert_eq!(remaining(files), expected, "{files:?}");
        }
    }

    #[test]
    fn text_is_the_same_with_a_mark_and_in_utf_16() {
        let text = "a;b;c 1\r\na;caf\u{e9} 4\r\na;b 5";
        let marked = format!("\u{feff}{text}");
        let units = || marked.encode_utf16();
        for bytes in [
            text.as_bytes().to_vec(),
            marked.as_bytes().to_vec(),
            units().flat_map(u16::to_le_bytes).collect(),
            units().flat_map(u16::to_be_bytes).collect(),
        ] {
            let mut lines = lines(Box::new(io::Cursor::new(bytes))).unwrap();
            let read = lines.peek(text.len() + 1).unwrap();
            assert_eq!(String::from_utf8_lossy(read), text);
        }
    }
}
