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

/// Text with its entities replaced: the five of XML and numbered ones. What is none is kept as it is.
pub(super) fn unescape_into(mut text: &[u8], out: &mut Vec<u8>) {
    while let Some(start) = memchr::memchr(b'&', text) {
        out.extend_from_slice(&text[..start]);
        text = &text[start..];
        let end = text.iter().take(12).position(|byte| *byte == b';');
        match end.and_then(|end| Some((character(&text[1..end])?, end))) {
            Some((character, end)) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                text = &text[end + 1..];
            }
            None => {
                out.push(b'&');
                text = &text[1..];
            }
        }
    }
    out.extend_from_slice(text);
}

fn character(entity: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        let digits = std::str::from_utf8(digits).ok()?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?)
    };
    match entity {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}
