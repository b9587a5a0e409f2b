//! Inputs as the tools take them: files, `-` or nothing for stdin, gzip by its magic bytes, progress for a waiting person.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use flate2::bufread::MultiGzDecoder;
use indicatif::{ProgressBar, ProgressStyle};

use super::Diagnostics;

/// An input that is open, decompressed, and knows what to be called in messages.
pub struct Input {
    /// The path as it was given, or `<stdin>`.
    pub name: String,
    /// The bytes.
    pub reader: Box<dyn Read + Send>,
}

impl Input {
    /// Opens a file, or stdin for `-`. Never seeks, so process substitution and named pipes work.
    ///
    /// # Errors
    /// Where it cannot be opened or its first bytes cannot be read, with its name.
    pub fn open(path: &Path) -> anyhow::Result<Input> {
        if path.as_os_str() == "-" {
            return Input::stdin();
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| name.clone())?;
        let metadata = file.metadata().with_context(|| name.clone())?;
        anyhow::ensure!(
            !metadata.is_dir(),
            "{name}: is a directory; name the files in it"
        );
        let length = metadata.is_file().then_some(metadata.len());
        let reader = decompressed(Progress::new(file, length)).with_context(|| name.clone())?;
        Ok(Input { name, reader })
    }

    /// Standard input.
    ///
    /// # Errors
    /// Where its first bytes cannot be read.
    pub fn stdin() -> anyhow::Result<Input> {
        let reader = decompressed(io::stdin()).context("<stdin>")?;
        Ok(Input {
            name: "<stdin>".to_owned(),
            reader,
        })
    }
}

/// The paths a tool was given, `-` where it was given none. A person who started it by mistake is told what it waits for.
pub fn inputs(paths: &[PathBuf], diagnostics: &mut Diagnostics) -> Vec<PathBuf> {
    let paths = if paths.is_empty() {
        vec![PathBuf::from("-")]
    } else {
        paths.to_vec()
    };
    if paths.iter().any(|path| path.as_os_str() == "-") && io::stdin().is_terminal() {
        diagnostics
            .warn("reading from the terminal; name a file or pipe one in (--help has examples)");
    }
    paths
}

/// The input as it is, or unpacked where it begins with gzip's magic bytes.
fn decompressed(input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(2);
    let mut input = input;
    (&mut input).take(2).read_to_end(&mut head)?;
    let is_gzip = head == [0x1f, 0x8b];
    let whole = io::Cursor::new(head).chain(input);
    Ok(if is_gzip {
        Box::new(MultiGzDecoder::new(BufReader::with_capacity(
            128 * 1024,
            whole,
        )))
    } else {
        Box::new(whole)
    })
}

/// Shows a bar on stderr once a person at a terminal has waited for a second.
struct Progress<R> {
    input: R,
    length: Option<u64>,
    read: u64,
    started: Instant,
    bar: Option<ProgressBar>,
    wanted: bool,
}

impl<R> Progress<R> {
    fn new(input: R, length: Option<u64>) -> Progress<R> {
        // With stdout on the same terminal, output and bar would overwrite each other.
        let wanted = length.is_some() && io::stderr().is_terminal() && !io::stdout().is_terminal();
        Progress {
            input,
            length,
            read: 0,
            started: Instant::now(),
            bar: None,
            wanted,
        }
    }

    fn show(&mut self) {
        let Some(length) = self.length else { return };
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::new(length);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(self.read);
    }
}

impl<R: Read> Read for Progress<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(out)?;
        if self.wanted {
            self.read += length as u64;
            if length == 0 {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
            } else if self.started.elapsed() > Duration::from_secs(1) {
                self.show();
            }
        }
        Ok(length)
    }
}
