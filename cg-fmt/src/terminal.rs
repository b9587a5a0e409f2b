//! What is known of standard output: whether it shows colours, and how wide it is. Part of the process edge.

use std::io::{self, IsTerminal};

use anstream::{AutoStream, ColorChoice};
use cg_stream::tool::Output;

use crate::args::ColorName;
use cg_document::text::Screen;

/// The screen that tables are laid out for. Only a terminal has a width; a pipe gets everything in full.
pub(crate) fn screen(color: ColorName, width: Option<usize>, output: &Output) -> Screen {
    let stdout = io::stdout();
    let is_stdout = output.is_stdout();
    let is_coloured = match color {
        ColorName::Always => true,
        ColorName::Never => false,
        // Knows NO_COLOR, CLICOLOR_FORCE, TERM=dumb and whether this is a terminal.
        ColorName::Auto => is_stdout && AutoStream::choice(&stdout) != ColorChoice::Never,
    };
    let is_terminal = is_stdout && stdout.is_terminal();
    let width = match width {
        Some(0) => None,
        Some(width) => Some(width),
        None if is_terminal => {
            terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
        }
        None => None,
    };
    Screen {
        width,
        is_coloured,
        has_bars: is_terminal,
    }
}
