//! Colours and width of standard output. Part of the process edge.

use std::io::{self, IsTerminal};

use cg_tool::{ColorChoice, Output};

use cg_document::text::Screen;

/// Returns the screen for the layout of tables. Without `width`, only a terminal has a width; a pipe gets everything in
/// full.
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
