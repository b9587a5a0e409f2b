//! The events of a format for other programs: all, or one where it holds no more.

use anyhow::{bail, ensure};

use crate::options::{Events, Options};

/// How many events a format holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// One; the format is called this in messages.
    OneEvent(&'static str),
    AllEvents,
}

/// The positions of the events to write.
pub(crate) fn choose(
    names: &[&str],
    options: &Options,
    holds: Holds,
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
        Events::Fitting if matches!(holds, Holds::OneEvent(_)) => {
            let counted = (0..names.len()).find(is_counted);
            vec![counted.unwrap_or(0)]
        }
        Events::Fitting | Events::All => (0..names.len()).collect(),
    };
    if let Holds::OneEvent(format) = holds {
        ensure!(
            chosen.len() == 1 && !names.is_empty(),
            "{format} hold one event: choose one with --event ({})",
            names.join(", ")
        );
    }
    Ok(chosen)
}
