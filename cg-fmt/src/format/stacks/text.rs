//! The names of frames in formats that have one text for a frame.

use std::borrow::Cow;

use cg_collections::intern::{Id, Texts, TooMany};
use cg_collections::sorting::Order as _;
use cg_names::paths::base_name;
use cg_stream::record::Frame;
use cg_stream::visible::visible;

use super::WrittenFrameId;

/// Returns the name of a frame's function. A frame without a name gets its object or address, in the notation of perf's
/// tools.
pub(crate) fn frame_name<'f>(frame: &'f Frame<'_>) -> Cow<'f, str> {
    let given = |name: &'f Option<cg_stream::record::Name<'_>>| {
        name.as_deref().filter(|name| !name.is_empty())
    };
    match (given(&frame.name), given(&frame.obj), given(&frame.addr)) {
        (Some(name), _, _) => name.into(),
        (None, Some(object), _) => format!("[{}]", base_name(object)).into(),
        (None, None, Some(address)) => address.into(),
        (None, None, None) => "[unknown]".into(),
    }
}

/// The distinct texts of frames, in a form that folded stacks can hold.
#[derive(Default)]
pub(crate) struct FrameTexts {
    texts: Texts<WrittenFrameId>,
    changed: Texts<WrittenFrameId>,
}

impl FrameTexts {
    /// Interns the text of a frame: its name and a suffix.
    ///
    /// # Errors
    /// Returns an error if there are more texts than ids.
    pub(crate) fn intern(&mut self, name: &str, suffix: &str) -> Result<WrittenFrameId, TooMany> {
        let fitting = fitting(name);
        if matches!(fitting, Cow::Owned(_)) {
            self.changed.intern(name)?;
        }
        match suffix {
            "" => self.texts.intern(&fitting),
            _ => self.texts.intern(&format!("{fitting}{suffix}")),
        }
    }

    pub(crate) fn text(&self, frame: WrittenFrameId) -> &str {
        self.texts.text(frame)
    }

    /// Returns the rank of each text when sorted as bytes.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        let all = 0..self.texts.len();
        self.ranks_among(all.filter_map(|position| WrittenFrameId::at(position).ok()))
    }

    /// Returns the rank of each of these texts when sorted as bytes. Other texts have the rank 0.
    pub(crate) fn ranks_among(&self, frames: impl Iterator<Item = WrittenFrameId>) -> Vec<u32> {
        let mut is_known = vec![false; self.texts.len()];
        let mut order: Vec<WrittenFrameId> = frames
            .filter(|frame| !std::mem::replace(&mut is_known[frame.index()], true))
            .collect();
        order.order_by_key(|frame| self.text(*frame));
        let mut ranks = vec![0; self.texts.len()];
        for (rank, frame) in (0..).zip(order) {
            ranks[frame.index()] = rank;
        }
        ranks
    }

    /// Returns the number of texts.
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the number of names that folded stacks cannot hold unchanged.
    pub(crate) fn changed(&self) -> usize {
        self.changed.len()
    }
}

/// Converts a name to a frame of folded stacks. The format has no escapes: `;` and line breaks end a frame, blanks around a
/// frame are trimmed, `# ` begins a comment, and readers treat a number after the last blank as a count. Pictures are XML,
/// which cannot hold U+FFFE and U+FFFF.
fn fitting(name: &str) -> Cow<'_, str> {
    // Most names need no change: they are ASCII without blanks and `;`.
    let is_plain = |byte| matches!(byte, b'!'..=b':' | b'<'..=b'~');
    if !name.is_empty() && name.bytes().all(is_plain) {
        return name.into();
    }
    let mut text = visible(name);
    if text.contains(['\u{fffe}', '\u{ffff}']) {
        text = text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}").into();
    }
    if text.contains(';') {
        text = text.replace(';', ":").into();
    }
    if text.trim() != text {
        text = text.trim().to_owned().into();
    }
    if text.is_empty() {
        return "[unknown]".to_owned().into();
    }
    if text.starts_with("# ") {
        text = text.replacen("# ", "#_", 1).into();
    }
    if let Some((front, end)) = text.rsplit_once(' ')
        && end
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        text = format!("{front}_{end}").into();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_frame() {
        for (name, expected) in [
            (
                "std::vec<int, a>::f(int) const",
                "std::vec<int, a>::f(int) const",
            ),
            ("core::fmt::write", "core::fmt::write"),
            ("", "[unknown]"),
            ("#1", "#1"),
            ("a\u{7f}", "a\\u{7f}"),
            ("f(a;b)", "f(a:b)"),
            ("a\nb", "a\\nb"),
            (" f ", "f"),
            ("port 8080", "port_8080"),
            ("a 1 2", "a 1_2"),
            ("# f", "#_f"),
            (" ", "[unknown]"),
        ] {
            assert_eq!(fitting(name), expected);
        }
    }
}
