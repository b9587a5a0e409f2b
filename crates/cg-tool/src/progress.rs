//! A progress bar on stderr for long inputs.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use cg_stream::diagnostics::Progress;

/// Returns a bar for an input of this many bytes if the output goes to standard output; `None` if a user would not see it.
pub(super) fn bar(length: u64) -> Option<Box<dyn Progress>> {
    match is_same_terminal() {
        true => None,
        false => bar_beside_file(length),
    }
}

/// Returns true if standard output is on the terminal of stderr, so that output and bar would overwrite each other.
fn is_same_terminal() -> bool {
    io::stdout().is_terminal() && are_same_device()
}

/// Returns true if standard output and stderr are the same device.
#[cfg(unix)]
fn are_same_device() -> bool {
    use std::os::fd::{AsFd as _, BorrowedFd};
    use std::os::unix::fs::MetadataExt as _;

    let device = |stream: BorrowedFd| -> io::Result<u64> {
        Ok(std::fs::File::from(stream.try_clone_to_owned()?)
            .metadata()?
            .rdev())
    };
    match (device(io::stdout().as_fd()), device(io::stderr().as_fd())) {
        (Ok(output), Ok(messages)) => output == messages,
        // An unknown device may be the same one.
        _ => true,
    }
}

/// Returns true, because a console is the only terminal of a process.
#[cfg(not(unix))]
fn are_same_device() -> bool {
    true
}

/// Returns a bar for an input of this many bytes if the output goes to a file; `None` if a user would not see it.
pub(super) fn bar_beside_file(length: u64) -> Option<Box<dyn Progress>> {
    io::stderr().is_terminal().then(|| {
        Box::new(Bar {
            length,
            read: 0,
            started: Instant::now(),
            shown: None,
        }) as Box<dyn Progress>
    })
}

/// A progress bar that appears after half a second, as in cargo.
struct Bar {
    length: u64,
    read: u64,
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Progress for Bar {
    fn advance(&mut self, bytes: u64) {
        self.read += bytes;
        if self.started.elapsed() <= Duration::from_millis(500) {
            return;
        }
        let length = self.length;
        let bar = self.shown.get_or_insert_with(|| {
            let bar = ProgressBar::new(length);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {eta}")
            {
                bar.set_style(style);
            }
            bar
        });
        bar.set_position(self.read);
    }

    fn finish(&mut self) {
        if let Some(bar) = self.shown.take() {
            bar.finish_and_clear();
        }
    }
}
