//! What is known of standard output: whether it shows colours, and how wide it is. Part of the process edge.

use std::io::{self, IsTerminal};

use cg_stream::tool::{ColorChoice, Output};

use cg_document::text::Screen;

/// The screen that tables are laid out for. Only a terminal has a width; a pipe gets everything in full.
pub(crate) fn screen(color: ColorChoice, width: Option<usize>, output: &Output) -> Screen {
    let is_terminal = output.is_stdout() && io::stdout().is_terminal();
    let width = match width {
        Some(0) => None,
        Some(width) => Some(width),
        None => output.terminal_width(),
    };
    Screen {
        width,
        is_coloured: output.is_coloured(color),
        has_bars: is_terminal,
    }
}
