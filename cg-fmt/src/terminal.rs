//! Colours and width of standard output. Part of the process edge.

use std::io::{self, IsTerminal};

use cg_tool::{ColorChoice, Output};

use cg_document::text::Screen;

/// Returns the screen for the layout of tables. Without `width`, a terminal has its own width, and everything else the
/// width of the variable `COLUMNS`. Without both, tables are written in full.
pub(crate) fn screen(color: ColorChoice, width: Option<usize>, output: &Output) -> Screen {
    let is_terminal = output.is_stdout() && io::stdout().is_terminal();
    let width = match width {
        Some(0) => None,
        Some(width) => Some(width),
        None => output.terminal_width().or_else(|| columns(is_terminal)),
    };
    Screen {
        width,
        is_coloured: output.is_coloured(color),
        has_bars: is_terminal,
    }
}

/// Returns the number in the variable `COLUMNS`, if it is positive.
fn columns(is_terminal: bool) -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok().filter(|_| !is_terminal)?;
    columns.parse().ok().filter(|columns| *columns > 0)
}
