//! Splits Valgrind's XML into tags and texts, although it is not well-formed.
//!
//! Valgrind does not escape thread names and paths, does not declare an encoding for raw bytes, and writes `]]>` inside
//! CDATA. So an element with text is read up to its closing tag, with any text in between. The scanner does not check that
//! elements are closed in order; that is the task of the document.

use memchr::memmem::{self, Finder};

/// A piece of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XmlToken<'a> {
    /// The beginning of an element that contains other elements.
    Open(&'a [u8]),
    /// The end of such an element.
    Close(&'a [u8]),
    /// An element with text: its name, and its text with entities.
    Text(&'a [u8], &'a [u8]),
    /// The contents of a `<frame>`.
    Frame(&'a [u8]),
}

/// Splits lines into tokens.
pub(super) struct XmlScanner {
    /// The unfinished element of previous lines.
    pending: Option<Pending>,
    /// Its text so far.
    text: Vec<u8>,
    end_of_frame: Finder<'static>,
}

enum Pending {
    Frame,
    /// An element with text, and its closing tag.
    Text(Vec<u8>),
}

/// The maximum length of a text element. A longer element lacks its end tag and is treated as closed.
const LONGEST_TEXT: usize = 1024 * 1024;

const END_OF_FRAME: &[u8] = b"</frame>";

/// The beginning of a document.
const DOCUMENT: &[u8] = b"<valgrindoutput";

/// Elements that contain text even if the text begins with a line end or with `<`.
const TEXT_ELEMENTS: [&[u8]; 18] = [
    b"what",
    b"auxwhat",
    b"text",
    b"threadname",
    b"path",
    b"fn",
    b"obj",
    b"dir",
    b"file",
    b"arg",
    b"exe",
    b"value",
    b"name",
    b"usercomment",
    b"rawtext",
    b"kind",
    b"isrootthread",
    b"time",
];

impl XmlScanner {
    pub(super) fn new() -> XmlScanner {
        XmlScanner {
            pending: None,
            text: Vec::new(),
            end_of_frame: Finder::new(END_OF_FRAME),
        }
    }

    /// Returns true if an element is unfinished.
    pub(super) fn is_inside_element(&self) -> bool {
        self.pending.is_some()
    }

    /// Reads a whole frame from `bytes` if the previous line ended with `<frame>`. Returns the frame, and its length in
    /// bytes and lines. Most of a document is frames, and this is faster than reading line by line.
    pub(super) fn frame<'a>(&mut self, bytes: &'a [u8]) -> Option<(&'a [u8], usize, usize)> {
        /// The length of nearly all frames, in bytes. Longer frames are read line by line.
        const USUAL_LENGTH: usize = 4096;
        /// The maximum number of line ends in such a frame.
        const MOST_LINES: usize = 6;
        if !matches!(self.pending, Some(Pending::Frame)) || !self.text.is_empty() {
            return None;
        }
        let end = self
            .end_of_frame
            .find(&bytes[..bytes.len().min(USUAL_LENGTH)])?;
        let frame = &bytes[..end];
        // A truncated frame would extend into another document.
        let lines = memchr::memchr_iter(b'\n', frame).count();
        if lines > MOST_LINES {
            return None;
        }
        self.pending = None;
        Some((frame, end + END_OF_FRAME.len(), lines))
    }

    /// Splits one line, given without its `\n`.
    pub(super) fn line(&mut self, line: &[u8], mut take: impl FnMut(XmlToken)) {
        let mut rest = line;
        if let Some(pending) = &self.pending {
            let end = match pending {
                Pending::Frame => self
                    .end_of_frame
                    .find(line)
                    .map(|end| (end, END_OF_FRAME.len())),
                Pending::Text(closing) => {
                    memmem::find(line, closing).map(|end| (end, closing.len()))
                }
            };
            match end {
                Some((end, length)) => {
                    self.text.extend_from_slice(&line[..end]);
                    take(pending.token(&self.text));
                    self.pending = None;
                    rest = &line[end + length..];
                }
                None if self.text.len() > LONGEST_TEXT || line.starts_with(DOCUMENT) => {
                    // The element is truncated, because another document begins.
                    self.pending = None;
                }
                None => {
                    self.text.extend_from_slice(line);
                    self.text.push(b'\n');
                    return;
                }
            }
        }
        while let Some(start) = memchr::memchr(b'<', rest) {
            rest = self.element(&rest[start + 1..], &mut take);
        }
    }

    /// Reads a tag and, if the element contains text, its text. `rest` begins after the `<`. Returns the remaining bytes.
    fn element<'a>(&mut self, rest: &'a [u8], take: &mut impl FnMut(XmlToken)) -> &'a [u8] {
        let (is_close, rest) = match rest.strip_prefix(b"/") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        let (name, after) = rest.split_at(length);
        // `<?xml …>`, a comment, or a `<` in other text.
        if name.is_empty() {
            // Skip a comment, which other programs use to remove elements. Ignore an unclosed comment, which may come from
            // the output of a program.
            let comment_end = rest
                .strip_prefix(b"!--")
                .and_then(|comment| Some(&comment[memmem::find(comment, b"-->")? + 3..]));
            return comment_end.unwrap_or(after);
        }
        let Some(end) = memchr::memchr(b'>', after) else {
            return after;
        };
        let is_empty = after[..end].ends_with(b"/");
        let after = &after[end + 1..];
        if is_close {
            take(XmlToken::Close(name));
            return after;
        }
        if is_empty {
            take(XmlToken::Text(name, b""));
            return after;
        }
        if name == b"frame" {
            if let Some(end) = self.end_of_frame.find(after) {
                take(XmlToken::Frame(&after[..end]));
                return &after[end + END_OF_FRAME.len()..];
            }
            return self.begin(Pending::Frame, after);
        }
        if !holds_text(name, after) {
            take(XmlToken::Open(name));
            return after;
        }
        let closing = [b"</", name, b">"].concat();
        match memmem::find(after, &closing) {
            Some(end) => {
                take(XmlToken::Text(name, &after[..end]));
                &after[end + closing.len()..]
            }
            None => self.begin(Pending::Text(closing), after),
        }
    }

    fn begin<'a>(&mut self, pending: Pending, text: &'a [u8]) -> &'a [u8] {
        self.pending = Some(pending);
        self.text.clear();
        if !text.trim_ascii().is_empty() {
            self.text.extend_from_slice(text);
            self.text.push(b'\n');
        }
        b""
    }
}

impl Pending {
    fn token<'a>(&'a self, text: &'a [u8]) -> XmlToken<'a> {
        match self {
            Pending::Frame => XmlToken::Frame(text),
            Pending::Text(closing) => XmlToken::Text(&closing[2..closing.len() - 1], text),
        }
    }
}

/// Returns true if an element contains text: it is in the list, or its content does not begin with another element.
fn holds_text(name: &[u8], after: &[u8]) -> bool {
    if TEXT_ELEMENTS.contains(&name) {
        return true;
    }
    match after.trim_ascii_start() {
        [] => false,
        [b'<', b'/', rest @ ..] => rest.starts_with(name),
        content => !content.starts_with(b"<"),
    }
}

/// Replaces the entities in a text: the five of XML, and numeric ones. Keeps anything else unchanged.
pub(crate) fn unescape_into(mut text: &[u8], out: &mut Vec<u8>) {
    /// The length of the longest entity, `&#x10ffff;`.
    const LONGEST: usize = 10;
    while let Some(start) = memchr::memchr(b'&', text) {
        out.extend_from_slice(&text[..start]);
        text = &text[start..];
        let end = text.iter().take(LONGEST).position(|byte| *byte == b';');
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expected: &[&str]) {
        let mut scanner = XmlScanner::new();
        let mut tokens = Vec::new();
        for line in document.split('\n') {
            scanner.line(line.as_bytes(), |token| {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                tokens.push(match token {
                    XmlToken::Open(name) => format!("<{}>", text(name)),
                    XmlToken::Close(name) => format!("</{}>", text(name)),
                    XmlToken::Text(name, content) => format!("{}={}", text(name), text(content)),
                    XmlToken::Frame(content) => format!("frame={}", text(content)),
                });
            });
        }
        assert_eq!(tokens, expected, "{document}");
    }

    #[test]
    fn elements_are_split_into_containers_and_texts() {
        check(
            "<?xml version=\"1.0\"?>\n<error>\n  <unique>0x0</unique>\n</error>",
            &["<error>", "unique=0x0", "</error>"],
        );
        check(
            "<stack><frame><ip>0x1</ip></frame></stack><!-- x -->",
            &["<stack>", "frame=<ip>0x1</ip>", "</stack>"],
        );
        check(
            "<frame>\n <ip>0x1</ip>\n</frame>",
            &["frame= <ip>0x1</ip>\n"],
        );
        check("<suppressed>0</suppressed>", &["suppressed=0"]);
        check(
            "<suppressed>\n<bytes>0</bytes>\n</suppressed>",
            &["<suppressed>", "bytes=0", "</suppressed>"],
        );
        check(
            "<isrootthread></isrootthread><a/>",
            &["isrootthread=", "a="],
        );
        check("<new></new>", &["new="]);
        check("<!-- <error> 1 > 0 --><a/><!-- <error>", &["a=", "<error>"]);
    }

    #[test]
    fn unescaped_text_of_valgrind_is_read() {
        check(
            "<threadname>n & <w></threadname>\n<kind>K</kind>",
            &["threadname=n & <w>", "kind=K"],
        );
        check(
            "<what>a value: -3\n</what>  <stack>",
            &["what=a value: -3\n", "<stack>"],
        );
        check(
            "<rawtext>\n<![CDATA[\n{\n ]]> }\n]]>\n</rawtext>",
            &["rawtext=<![CDATA[\n{\n ]]> }\n]]>\n"],
        );
        check("a < b\n<x>\n1 <\n", &["<x>"]);
    }

    #[test]
    fn a_truncated_element_ends_with_its_document() {
        check(
            "<fn>ma<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n<pid>1</pid>",
            &["<valgrindoutput>", "pid=1"],
        );
        check(
            "<frame>\n<ip>0x1\n<valgrindoutput>\n<fn>f</fn>",
            &["<valgrindoutput>", "fn=f"],
        );
    }

    #[test]
    fn only_known_entities_are_replaced() {
        let unescaped = |text: &str| {
            let mut out = Vec::new();
            unescape_into(text.as_bytes(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(unescaped("a&lt;b&gt; &amp;&quot;&apos;"), "a<b> &\"'");
        assert_eq!(unescaped("&#65;&#x41;&#xffffffff;"), "AA&#xffffffff;");
        assert_eq!(unescaped("R&D &nbsp; & &"), "R&D &nbsp; & &");
    }
}
