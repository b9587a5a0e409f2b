//! The identity of a finding across builds, as it is in the baseline and in reports: its kind and its own frames.
//!
//! A fingerprint excludes what changes without an edit of the code: pids, compilers' hashes, the frames of libc and the
//! standard libraries, and the lines and addresses of frames with a full name. It also excludes bytes, blocks and counts,
//! which depend on the program's input; `--max-bytes` limits these.

use std::fmt;
use std::str::FromStr;

/// A finding's identity across rebuilds and edits.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint {
    /// Normal forms of the names of own frames, innermost first. A frame without a name has its file, or its object and
    /// address.
    pub(crate) frames: Vec<String>,
    /// A leak kind, or the error's kind as Valgrind's XML names it.
    pub(crate) kind: String,
    /// The identity of each frame.
    pub(crate) marks: Vec<FrameMark>,
}

/// The property that identifies a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum FrameMark {
    /// Its full name, or for an entry of an older baseline, its only name.
    #[default]
    Name,
    /// The bare name of an inlined function, and its place.
    Bare(Option<Place>),
    /// Its place, or without one its object and address. It has no function name.
    Unnamed(Option<Place>),
    /// The line of an error without a stack, or the text of that line.
    Line(Option<Place>),
}

impl FrameMark {
    /// Returns the place that is a part of the identity.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            FrameMark::Name => None,
            FrameMark::Bare(place) | FrameMark::Unnamed(place) | FrameMark::Line(place) => {
                place.as_ref()
            }
        }
    }

    /// Returns true if the frame has a function name, full or bare.
    pub(crate) fn is_named(&self) -> bool {
        match self {
            FrameMark::Name | FrameMark::Bare(_) => true,
            FrameMark::Unnamed(_) | FrameMark::Line(_) => false,
        }
    }

    /// Returns the word in a baseline.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            FrameMark::Name => "name",
            FrameMark::Bare(_) => "bare",
            FrameMark::Unnamed(_) => "unnamed",
            FrameMark::Line(_) => "line",
        }
    }

    /// Creates the mark with this word; `None` for an unknown word.
    pub(crate) fn from_word(word: &str, place: Option<Place>) -> Option<FrameMark> {
        Some(match word {
            "name" => FrameMark::Name,
            "bare" => FrameMark::Bare(place),
            "unnamed" => FrameMark::Unnamed(place),
            "line" => FrameMark::Line(place),
            _ => return None,
        })
    }
}

/// A line of a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// The base name of the file, because directories differ from machine to machine.
    pub(crate) file: String,
    pub(crate) line: u64,
}

/// Writes `tree.c:12`.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Place, ()> {
        let (file, line) = text.rsplit_once(':').ok_or(())?;
        Ok(Place {
            file: file.to_owned(),
            line: line.parse().map_err(drop)?,
        })
    }
}

impl Fingerprint {
    /// Returns 16 hex digits, for formats that need a short text. They do not depend on lines, so an edit elsewhere in a
    /// file does not change them. Uses FNV-1a, which is the same on every machine and in every version, unlike the hashes of
    /// the standard library.
    pub(crate) fn hex(&self) -> String {
        let parts = std::iter::once(&self.kind).chain(&self.frames);
        hex(parts.map(String::as_str))
    }

    /// Returns true if no frame has a function name, so that addresses or lines are the only evidence.
    pub(crate) fn is_nameless(&self) -> bool {
        !self.marks.is_empty() && !self.marks.iter().any(FrameMark::is_named)
    }

    /// Returns true if a frame has no function name.
    pub(crate) fn has_unnamed_frame(&self) -> bool {
        !self.marks.iter().all(FrameMark::is_named)
    }

    /// Returns true for an error without a stack.
    pub(crate) fn is_of_a_line(&self) -> bool {
        let is_line = |mark: &FrameMark| matches!(mark, FrameMark::Line(_));
        self.marks.iter().any(is_line)
    }
}

/// Returns 16 hex digits for several texts.
pub(crate) fn hex<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.flat_map(|part| part.bytes().chain(std::iter::once(0))) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_fingerprint_is_fnv_1a() {
        let fingerprint = Fingerprint {
            frames: vec!["make_node".to_owned(), "main".to_owned()],
            kind: "definite".to_owned(),
            marks: vec![FrameMark::Name, FrameMark::Name],
        };
        // Computed with an independent implementation of FNV-1a over "definite\0make_node\0main\0".
        assert_eq!(fingerprint.hex(), "cc10f1052c47c1d1");
    }
}
