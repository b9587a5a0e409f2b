//! A bar on stderr for a person who waits for a long input.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::diagnostics::Progress;

/// A bar for an input of so many bytes, where a person can see it.
pub(super) fn bar(length: u64) -> Option<Box<dyn Progress>> {
    // With stdout on the same terminal, output and bar would overwrite each other.
    let wanted = io::stderr().is_terminal() && !io::stdout().is_terminal();
    wanted.then(|| {
        Box::new(Bar {
            length,
            read: 0,
            started: Instant::now(),
            shown: None,
        }) as Box<dyn Progress>
    })
}

/// Comes up once the person has waited for a second.
struct Bar {
    length: u64,
    read: u64,
    started: Instant,
    shown: Option<ProgressBar>,
}

impl Progress for Bar {
    fn advance(&mut self, bytes: u64) {
        self.read += bytes;
        if self.started.elapsed() <= Duration::from_secs(1) {
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
