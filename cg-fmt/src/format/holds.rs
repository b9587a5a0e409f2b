//! The contents that a format for other programs can hold. The rest is left out with a warning.

use anyhow::{bail, ensure};

use crate::options::{Events, Options};

/// The contents that a format can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatHolds {
    /// The name of such files in messages, in the plural.
    pub(crate) format: &'static str,
    /// True if a file can have only one event.
    pub(crate) one_event: bool,
    pub(crate) held: &'static [Held],
}

/// A property of stacks besides functions and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Files,
    Lines,
    /// The file of a function, if its line is in another file.
    Sites,
    Objects,
    Addresses,
    Threads,
    Processes,
    /// The numbers of threads and processes.
    Numbers,
    Labels,
    Times,
    Inlined,
    /// The marks of code from a JIT compiler and of kernel code.
    Jit,
    Wakers,
}

impl FormatHolds {
    /// Returns true if the format can hold this property.
    pub(crate) fn has(&self, held: Held) -> bool {
        self.held.contains(&held)
    }
}

/// Returns the positions of the events to write.
///
/// # Errors
/// Returns an error for an unknown event, and for several events if the format can hold only one.
pub(crate) fn choose(
    names: &[&str],
    options: &Options,
    holds: &FormatHolds,
    is_counted: impl Fn(&usize) -> bool,
) -> anyhow::Result<Vec<usize>> {
    let chosen: Vec<usize> = match &options.events {
        Events::Named(wanted) => {
            let mut chosen = Vec::new();
            for event in wanted {
                let Some(position) = names.iter().position(|name| name == event) else {
                    bail!("there is no event {event}; there are {}", names.join(", "));
                };
                if !chosen.contains(&position) {
                    chosen.push(position);
                }
            }
            chosen
        }
        Events::Fitting if holds.one_event => {
            let counted = (0..names.len()).find(is_counted);
            vec![counted.unwrap_or(0)]
        }
        Events::Fitting | Events::All => (0..names.len()).collect(),
    };
    ensure!(
        !holds.one_event || (chosen.len() == 1 && !names.is_empty()),
        "{} hold one event: choose one with --event ({})",
        holds.format,
        names.join(", ")
    );
    Ok(chosen)
}
