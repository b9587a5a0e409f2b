//! Tags and texts of Valgrind's XML, as it is and not as it should be.
//!
//! Valgrind writes thread names and paths without escaping them, raw bytes without declaring an encoding, and `]]>`
//! inside CDATA. So an element that holds text is read up to its own closing tag, whatever is in between. Nothing here
//! minds where an element is closed; that is for the document to know.

use memchr::memmem::{self, Finder};

/// A piece of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum XmlToken<'a> {
    /// The beginning of an element that holds others.
    Open(&'a [u8]),
    /// The end of one.
    Close(&'a [u8]),
    /// An element that holds text, and the text with its entities.
    Text(&'a [u8], &'a [u8]),
    /// Everything inside a `<frame>`.
    Frame(&'a [u8]),
}

/// Cuts lines into tokens.
pub(super) struct XmlScanner {
    /// The element that a line left unfinished.
    pending: Option<Pending>,
    /// What was read of it.
    text: Vec<u8>,
    end_of_frame: Finder<'static>,
}

enum Pending {
    Frame,
    /// With its closing tag.
    Text(Vec<u8>),
}

/// No element of text is longer; one that is was never closed, and what follows is read as if it had been.
const LONGEST_TEXT: usize = 1024 * 1024;

const END_OF_FRAME: &[u8] = b"</frame>";

/// Where a document begins.
const DOCUMENT: &[u8] = b"<valgrindoutput";

/// Elements that hold text even where it begins with a line's end or with `<`.
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

    /// Whether the input ended inside an element.
    pub(super) fn is_inside_element(&self) -> bool {
        self.pending.is_some()
    }

    /// Where a line has just ended behind `<frame>`: the frame, if these bytes that follow begin with all of it, and how
    /// many of them and how many lines it takes. Most of a document is frames, and this is faster than line by line.
    pub(super) fn frame<'a>(&mut self, bytes: &'a [u8]) -> Option<(&'a [u8], usize, usize)> {
        /// Bytes and lines that are enough for nearly all frames; others are read line by line.
        const USUAL_LENGTH: usize = 4096;
        const MOST_LINES: usize = 6;
        if !matches!(self.pending, Some(Pending::Frame)) || !self.text.is_empty() {
            return None;
        }
        let end = self
            .end_of_frame
            .find(&bytes[..bytes.len().min(USUAL_LENGTH)])?;
        let frame = &bytes[..end];
        // A frame that was cut short would go on into another document.
        let lines = memchr::memchr_iter(b'\n', frame).count();
        if lines > MOST_LINES {
            return None;
        }
        self.pending = None;
        Some((frame, end + END_OF_FRAME.len(), lines))
    }

    /// Cuts one line, given without its `\n`.
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
                    // The element was cut short where another process' document begins.
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

    /// Reads an element's tag and, if it holds text, the text. `rest` begins behind the `<`; what follows is returned.
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
        // `<?xml …>`, comments, and a `<` that is none of XML's.
        if name.is_empty() {
            // What another program has taken out is not read. One that a program's output leaves open hides nothing.
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

/// Whether an element holds text: it is known to, or its content begins with something else than another element.
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

/// Text with its entities replaced: the five of XML and numbered ones. What is none is kept as it is.
pub(crate) fn unescape_into(mut text: &[u8], out: &mut Vec<u8>) {
    /// Bytes of the longest entity, `&#x10ffff;`.
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
    fn containers_and_texts() {
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
    fn what_valgrind_does_not_escape() {
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
    fn an_element_that_was_cut_short_ends_with_its_document() {
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
    fn entities() {
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
