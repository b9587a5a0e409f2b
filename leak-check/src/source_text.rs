//! The text of source lines, which identifies a line wherever it moved: the line and the headers of the blocks around it.
//!
//! Only sources below the root are read. A text that occurs twice in the same blocks identifies nothing, and is left out.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use cg_sources::{FoundSource, Places};

use crate::paths::Paths;

/// The texts of the lines of a file; `None` for a text that is empty or not unique.
type LineTexts = Rc<[Option<Rc<str>>]>;

/// Sources below the root, read on first use.
#[derive(Debug, Default)]
pub(crate) struct SourceLines {
    places: Places,
    /// The paths before any search below the root.
    paths: Paths,
    /// The base names to search for, if one of them is needed.
    names: HashSet<String>,
    found: OnceCell<Paths>,
    /// The lines of each file; empty for a file that cannot be read.
    files: RefCell<HashMap<String, LineTexts>>,
}

impl SourceLines {
    /// Creates sources below the root of `paths`. Text logs name files without directories; `names` are those of the program.
    pub(crate) fn new(paths: &Paths, names: HashSet<String>) -> SourceLines {
        SourceLines {
            places: Places {
                roots: paths.root().map(ToOwned::to_owned).into_iter().collect(),
                ..Places::default()
            },
            paths: paths.clone(),
            names,
            ..SourceLines::default()
        }
    }

    /// Returns the text of a line with the headers of its blocks; `None` if it is not readable or not unique.
    pub(crate) fn text(&self, file: &str, line: u64) -> Option<Rc<str>> {
        if self.places.roots.is_empty() {
            return None;
        }
        let position = usize::try_from(line.checked_sub(1)?).ok()?;
        if let Some(lines) = self.files.borrow().get(file) {
            return lines.get(position)?.clone();
        }
        let lines: LineTexts = self.read(file).into();
        self.files
            .borrow_mut()
            .insert(file.to_owned(), lines.clone());
        lines.get(position)?.clone()
    }

    fn read(&self, file: &str) -> Vec<Option<Rc<str>>> {
        let path = match self.names.contains(file) {
            true => self.found().found(file).unwrap_or(file),
            false => file,
        };
        let all = [1..=u64::MAX];
        match self.places.find(path, &all) {
            FoundSource::Shown(_, text) => unique_texts(text.lines().values().map(String::as_str)),
            FoundSource::Refused(..) | FoundSource::Nowhere => Vec::new(),
        }
    }

    fn found(&self) -> &Paths {
        self.found.get_or_init(|| {
            let mut paths = self.paths.clone();
            paths.find(&self.names.iter().map(String::as_str).collect());
            paths
        })
    }
}

/// Returns for each line its text and the headers of its blocks; `None` for an empty line or one that occurs again in the
/// same blocks.
fn unique_texts<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Option<Rc<str>>> {
    let mut blocks = Blocks::default();
    let mut seen: HashMap<Rc<str>, usize> = HashMap::new();
    let texts: Vec<Option<Rc<str>>> = lines
        .map(|line| {
            let text = without_blanks(line);
            let text = (!text.is_empty()).then(|| Rc::from(blocks.around(&text)));
            if let Some(text) = &text {
                *seen.entry(Rc::clone(text)).or_default() += 1;
            }
            blocks.read(line);
            text
        })
        .collect();
    texts
        .into_iter()
        .map(|text| text.filter(|text| seen[text] == 1))
        .collect()
}

/// Reduces each sequence of blanks to one, and removes those at both ends.
fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The blocks in braces that are open at a line of C, C++, Rust, Go or a similar language.
#[derive(Default)]
struct Blocks {
    /// The text before each open brace.
    open: Vec<String>,
    /// The text since the last statement or block.
    header: String,
    /// The number of open parentheses. A `;` inside them ends no statement.
    parentheses: usize,
    is_in_comment: bool,
    is_in_directive: bool,
}

impl Blocks {
    /// Returns the text with the headers of the open blocks before it.
    fn around(&self, text: &str) -> String {
        let mut around = self.open.join(" { ");
        if !around.is_empty() {
            around.push_str(" { ");
        }
        around + text
    }

    fn read(&mut self, line: &str) {
        let continues = line.trim_end().ends_with('\\');
        let is_directive =
            self.is_in_directive || (!self.is_in_comment && line.trim_start().starts_with('#'));
        self.is_in_directive = is_directive && continues;
        if is_directive {
            return;
        }
        let mut rest = line;
        while let Some(next) = rest.chars().next() {
            if self.is_in_comment {
                let Some(end) = rest.find("*/") else {
                    return;
                };
                self.is_in_comment = false;
                rest = &rest[end + 2..];
            } else if rest.starts_with("//") {
                return;
            } else if rest.starts_with("/*") {
                self.is_in_comment = true;
                rest = &rest[2..];
            } else {
                let length = match literal_length(rest) {
                    0 => next.len_utf8(),
                    length => length,
                };
                let (token, left) = rest.split_at(length);
                self.token(token);
                rest = left;
            }
        }
        self.header.push(' ');
    }

    /// Reads a character or a literal.
    fn token(&mut self, token: &str) {
        match token {
            "{" => {
                let header = std::mem::take(&mut self.header);
                self.open.push(without_blanks(&header));
                self.parentheses = 0;
            }
            "}" => {
                self.open.pop();
                self.header.clear();
                self.parentheses = 0;
            }
            ";" if self.parentheses == 0 => self.header.clear(),
            _ => {
                match token {
                    "(" => self.parentheses += 1,
                    ")" => self.parentheses = self.parentheses.saturating_sub(1),
                    _ => {}
                }
                self.header.push_str(token);
            }
        }
    }
}

/// Returns the length of the string or character literal at the beginning of a text; 0 if there is none. A lifetime of Rust
/// is no literal.
fn literal_length(text: &str) -> usize {
    let mut characters = text.char_indices();
    let Some((_, quote @ ('"' | '\''))) = characters.next() else {
        return 0;
    };
    let mut is_escaped = false;
    for (position, (at, character)) in characters.enumerate() {
        if quote == '\''
            && !is_escaped
            && position > 0
            && character != '\''
            && !text[1..].starts_with('\\')
        {
            return 0;
        }
        if character == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    // A string that goes on in the next line.
    match quote {
        '"' => text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<Option<String>> {
        let texts = unique_texts(source.lines()).into_iter();
        texts
            .map(|text| text.map(|text| text.to_string()))
            .collect()
    }

    #[test]
    fn a_line_is_known_by_its_text_and_the_headers_of_its_blocks() {
        let source = "\
#define OPEN {
int  add(int a, int b) { return a + b; } // {
/* { */ const char *brace = \"{\\\"\"; char c = '{', d = '\\'';
int sum(int *v,
        int n)
{
    for (int i = 0; i < n; i++) {
        v[0] += v[i];
    }
    return v[0];
}";
        let texts = texts(source);
        let text = |line: usize| texts[line - 1].as_deref().unwrap();
        assert_eq!(text(2), "int add(int a, int b) { return a + b; } // {");
        assert_eq!(
            text(7),
            "int sum(int *v, int n) { for (int i = 0; i < n; i++) {"
        );
        assert_eq!(
            text(8),
            "int sum(int *v, int n) { for (int i = 0; i < n; i++) { v[0] += v[i];"
        );
        assert_eq!(text(10), "int sum(int *v, int n) { return v[0];");
    }

    #[test]
    fn equal_lines_differ_by_function_and_are_left_out_in_one_function() {
        let function = |name: &str, lines: usize| {
            format!(
                "int {name}(int a) {{\n{}}}\n",
                "    a = a + 1;\n".repeat(lines)
            )
        };
        let first = texts(&[function("f", 1), function("g", 1)].concat());
        assert_eq!(first[1].as_deref(), Some("int f(int a) { a = a + 1;"));
        assert_eq!(first[4].as_deref(), Some("int g(int a) { a = a + 1;"));
        let twice = texts(&function("f", 2));
        assert_eq!((&twice[1], &twice[2]), (&None, &None));
    }

    #[test]
    fn literals_end_at_their_own_quote() {
        for (text, expected) in [
            (r#""a{" b"#, r#""a{""#),
            (r#""a\"b" c"#, r#""a\"b""#),
            ("'{' b", "'{'"),
            (r"'\'' b", r"'\''"),
            (r"'\\' b", r"'\\'"),
            ("'a, T: 'a>", ""),
            ("a", ""),
            ("\"open", "\"open"),
        ] {
            assert_eq!(&text[..literal_length(text)], expected, "{text}");
        }
    }
}
