//! What a format for other programs can hold: the rest is left out, which is said.

use anyhow::{bail, ensure};

use crate::options::{Events, Options};

/// What a format can hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatHolds {
    /// What files of the format are called in messages.
    pub(crate) format: &'static str,
    /// Whether a file has one event only.
    pub(crate) one_event: bool,
    pub(crate) held: &'static [Held],
}

/// What stacks have besides functions and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Files,
    Lines,
    /// The file of a function beside that of its line.
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
    /// Which code a compiler at run time made, and which is the kernel's.
    Jit,
    Wakers,
}

impl FormatHolds {
    /// Whether a format holds something.
    pub(crate) fn has(&self, held: Held) -> bool {
        self.held.contains(&held)
    }
}

/// The positions of the events to write.
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
