//! Colours and width of standard output. Part of the process edge.

use cg_tool::{ColorChoice, Output};

use cg_document::text::Screen;

/// Returns the screen for the layout of tables. `width` is the number of columns that the user wants.
pub(crate) fn screen(color: ColorChoice, width: Option<usize>, output: &Output) -> Screen {
    Screen {
        width: output.width(width),
        is_coloured: output.is_coloured(color),
        has_bars: output.is_terminal(),
    }
}
