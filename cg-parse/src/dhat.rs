//! Being written.

use cg_stream::tool::Diagnostics;

use crate::{Error, Lines, Options, Out};

pub(crate) fn parse(
    _source: &str,
    _lines: &mut Lines,
    _options: &Options,
    _out: &mut Out,
    _diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    Err(Error::whole("this format is not read yet"))
}
