//! The readers as the tests call them: of one input; and what holds for both.

mod laws;
mod stacks;

use cg_reader::{Error, FARTHEST_LOOK, Head, Lines, Options, Out};
use cg_stream::Diagnostics;

use crate::recognise::recognise;
use crate::sums::{Summed, Sums};

/// Reads a profile of Callgrind.
pub(crate) fn callgrind(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    out: &mut Out<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    read(
        Summed::Callgrind,
        (source, lines),
        options,
        out,
        diagnostics,
    )
}

/// Reads a profile of the tool that it shows; Callgrind's where it shows none.
pub(crate) fn recognised(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    out: &mut Out<'_>,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let text = lines.peek(FARTHEST_LOOK).map_err(Error::Input)?;
    let (_, tool) = recognise(&Head::new(text, true)).unwrap_or_default();
    let tool = tool.unwrap_or(Summed::Callgrind);
    read(tool, (source, lines), options, out, diagnostics)
}

fn read(
    tool: Summed,
    (source, lines): (&str, &mut Lines),
    options: &Options,
    out: &mut Out,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    let mut sums = Sums::new(options);
    let read = sums.read(tool, source, lines, out, diagnostics);
    sums.write(read.is_ok(), out, diagnostics)?;
    read
}
