//! Names for narrow places: what says least goes first, and each time something goes, `…` stands for it.
//!
//! Generic arguments go first, the innermost of them before the others; then parameters; then the paths of the types in
//! `<Type as Trait>`; then the path in front of the function.

use std::ops::Range;

use super::group;
use super::tokens::{NameToken, TokenKind, tokens};

/// The longest form of a name that fits, or the shortest that there is where none does.
pub fn shortened(name: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(name) {
        return name.to_owned();
    }
    narrowed(&tokens(name.as_bytes()), fits).text()
}

/// The longest form of a name but for the name itself that fits, or the shortest that there is where none does.
fn narrowed<'t>(tokens: &'t [NameToken<'t>], fits: impl Fn(&str) -> bool) -> Form<'t> {
    let mut form = Form {
        tokens,
        shown: vec![Shown::Whole; tokens.len()],
    };
    let steps: [fn(&mut Form, usize); 4] = [
        |form, number| form.hide_generic_arguments(number),
        |form, number| form.hide_parameters(number),
        |form, number| form.hide_paths_of_types(number),
        |form, number| form.hide_leading_path(number),
    ];
    for step in steps {
        // Each number of a step hides what the one before hides, and more: the first that fits is looked for by halves.
        let most = tokens.len();
        let with = |number: usize| {
            let mut form = form.clone();
            step(&mut form, number);
            form
        };
        let last = with(most);
        if !fits(&last.text()) {
            form = last;
            continue;
        }
        let (mut too_few, mut enough) = (0, most);
        while enough - too_few > 1 {
            let number = too_few + (enough - too_few) / 2;
            if fits(&with(number).text()) {
                enough = number;
            } else {
                too_few = number;
            }
        }
        return with(enough);
    }
    form
}

/// A form of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameForm {
    /// It as text.
    pub text: String,
    /// What of the name it lacks, in order.
    pub cuts: Vec<NameCut>,
}

/// What a form lacks of its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameCut {
    /// Where it is in the name, in bytes.
    pub place: Range<usize>,
    /// `…` stands for it.
    pub is_marked: bool,
}

/// The forms that a name has in ever narrower places, the longest first, which is the name itself. Each is shorter than
/// the one before by an eighth at least, so there are few.
pub fn forms(name: &str) -> Vec<NameForm> {
    let length = |form: &str| form.chars().count();
    let tokens = tokens(name.as_bytes());
    let mut last = length(name);
    let mut forms = vec![NameForm {
        text: name.to_owned(),
        cuts: Vec::new(),
    }];
    loop {
        let next = narrowed(&tokens, |form| length(form) <= last * 7 / 8);
        let text = next.text();
        if length(&text) >= last {
            return forms;
        }
        last = length(&text);
        forms.push(NameForm {
            text,
            cuts: next.cuts(),
        });
    }
}

/// What is written of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Whole,
    /// `…`, for this token and those hidden behind it.
    Ellipsis,
    Hidden,
}

/// A name with some of its tokens hidden.
#[derive(Clone)]
struct Form<'t> {
    tokens: &'t [NameToken<'t>],
    shown: Vec<Shown>,
}

impl Form<'_> {
    fn text(&self) -> String {
        let mut bytes = Vec::new();
        for (token, shown) in self.tokens.iter().zip(&self.shown) {
            match shown {
                Shown::Whole => bytes.extend_from_slice(token.text),
                Shown::Ellipsis => bytes.extend_from_slice("…".as_bytes()),
                Shown::Hidden => {}
            }
        }
        // Tokens end where characters do: no byte beyond ASCII is a sign.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn cuts(&self) -> Vec<NameCut> {
        let mut cuts: Vec<NameCut> = Vec::new();
        for (token, shown) in self.tokens.iter().zip(&self.shown) {
            let end = token.start + token.text.len();
            match (shown, cuts.last_mut()) {
                (Shown::Whole, _) => {}
                (Shown::Hidden, Some(cut)) if cut.place.end == token.start => cut.place.end = end,
                _ => cuts.push(NameCut {
                    place: token.start..end,
                    is_marked: *shown == Shown::Ellipsis,
                }),
            }
        }
        cuts
    }

    /// Hides the generic arguments in this many of the deepest levels.
    fn hide_generic_arguments(&mut self, levels: usize) {
        let deepest = self
            .tokens
            .iter()
            .map(|token| token.depth)
            .max()
            .unwrap_or(0);
        for position in 0..self.tokens.len() {
            let token = &self.tokens[position];
            let is_deep = token.depth + levels > deepest;
            if is_deep
                && token.text == "<"
                && token.kind == TokenKind::Open
                && self.is_argument_list(position)
            {
                self.hide_inside(position);
            }
        }
    }

    /// Hides the parameters of functions.
    fn hide_parameters(&mut self, levels: usize) {
        if levels == 0 {
            return;
        }
        for position in 0..self.tokens.len() {
            let token = &self.tokens[position];
            let is_behind_name = position.checked_sub(1).is_some_and(|before| {
                !matches!(
                    self.tokens[before].kind,
                    TokenKind::Separator | TokenKind::Open | TokenKind::Blank | TokenKind::Sign
                )
            });
            if token.text == "(" && token.kind == TokenKind::Open && is_behind_name {
                self.hide_inside(position);
            }
        }
    }

    /// Hides the paths of types inside brackets, without an ellipsis: `core::fmt::Display` becomes `Display`.
    fn hide_paths_of_types(&mut self, levels: usize) {
        if levels == 0 {
            return;
        }
        for position in 0..self.tokens.len().saturating_sub(2) {
            let [segment, separator, next] = &self.tokens[position..position + 3] else {
                continue;
            };
            let leads_on = segment.depth > 0
                && segment.kind == TokenKind::Word
                && separator.kind == TokenKind::Separator
                && next.kind == TokenKind::Word;
            if leads_on && self.shown[position] == Shown::Whole {
                self.shown[position] = Shown::Hidden;
                self.shown[position + 1] = Shown::Hidden;
            }
        }
    }

    /// Hides this many segments of the path in front of the function, but never the last.
    fn hide_leading_path(&mut self, segments: usize) {
        let separators: Vec<usize> = (0..self.tokens.len())
            .filter(|position| {
                let token = &self.tokens[*position];
                token.kind == TokenKind::Separator && token.depth == 0
            })
            .filter(|position| {
                // A closure alone says nothing, so the function that it is in is kept.
                self.tokens
                    .get(position + 1)
                    .is_some_and(|next| next.kind != TokenKind::Braces && next.text != "<")
            })
            .collect();
        let Some(last) = segments.min(separators.len()).checked_sub(1) else {
            return;
        };
        let end = separators[last];
        self.shown[..end].fill(Shown::Hidden);
        self.shown[0] = Shown::Ellipsis;
    }

    /// Whether a `<` opens a list of arguments, and not `<Type as Trait>`.
    fn is_argument_list(&self, position: usize) -> bool {
        position.checked_sub(1).is_some_and(|before| {
            !matches!(
                self.tokens[before].kind,
                TokenKind::Open | TokenKind::Blank | TokenKind::Sign
            )
        })
    }

    /// Puts `…` in the place of what is in a bracket, where that is longer.
    fn hide_inside(&mut self, open: usize) {
        if self.shown[open] != Shown::Whole {
            return;
        }
        let end = open + group(&self.tokens[open..]);
        let inside = open + 1..end.saturating_sub(1);
        let length: usize = self.tokens.get(inside.clone()).map_or(0, |inside| {
            inside.iter().map(|token| token.text.len()).sum()
        });
        if length > 1 {
            self.shown[inside.clone()].fill(Shown::Hidden);
            self.shown[inside.start] = Shown::Ellipsis;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(name: &str, width: usize) -> String {
        shortened(name, |text| text.chars().count() <= width)
    }

    #[test]
    fn what_says_least_goes_first() {
        let rust = "<core::iter::adapters::rev::Rev<alloc::vec::Vec<u8>> as core::iter::traits::Iterator>::fold::<usize>";
        let cpp = "void std::vector<std::pair<int, char>, std::allocator<int>>::push_back(std::pair<int, char>&&) const";
        for (name, width, expected) in [
            (rust, 200, rust),
            (
                rust,
                99,
                "<core::iter::adapters::rev::Rev<alloc::vec::Vec<…>> as core::iter::traits::Iterator>::fold::<usize>",
            ),
            (
                rust,
                81,
                "<core::iter::adapters::rev::Rev<…> as core::iter::traits::Iterator>::fold::<…>",
            ),
            (rust, 60, "<Rev<…> as Iterator>::fold::<…>"),
            (rust, 20, "…::fold::<…>"),
            (rust, 3, "…::fold::<…>"),
            (
                cpp,
                99,
                "void std::vector<std::pair<…>, std::allocator<…>>::push_back(std::pair<…>&&) const",
            ),
            (
                cpp,
                60,
                "void std::vector<…>::push_back(std::pair<…>&&) const",
            ),
            (cpp, 50, "void std::vector<…>::push_back(…) const"),
            (cpp, 30, "…::push_back(…) const"),
            ("a_function_of_c", 5, "a_function_of_c"),
            ("demo::parse::run::{closure#0}", 22, "…::run::{closure#0}"),
            (
                "(anonymous namespace)::f(int, int)",
                27,
                "(anonymous namespace)::f(…)",
            ),
            ("operator<<(std::ostream&, int)", 14, "operator<<(…)"),
            ("", 0, ""),
        ] {
            assert_eq!(within(name, width), expected, "{name} in {width}");
        }
    }

    #[test]
    fn a_name_has_few_forms_that_end_in_the_function() {
        let forms = |name: &str| -> Vec<String> {
            let forms = forms(name).into_iter();
            forms.map(|form| form.text).collect()
        };
        assert_eq!(forms("main"), ["main"]);
        assert_eq!(
            forms("core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)"),
            [
                "core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)",
                "core::iter::Map<…>::fold(a::b::C)",
                "core::iter::Map<…>::fold(…)",
                "…::Map<…>::fold(…)",
                "…::fold(…)",
            ]
        );
        let bomb = format!("{}x{}", "a<b::".repeat(10_000), ">".repeat(10_000));
        assert!(forms(&bomb).len() < 100);
    }

    #[test]
    fn no_form_is_longer_than_the_name_and_less_room_makes_no_longer_one() {
        for name in [
            "f<<<<",
            "a<b>::c<d<e>>(f)[g]",
            "}{::<::(",
            "\u{e9}<\u{1F600}::x>::y",
            "<T as U>::f",
        ] {
            let mut before = name.chars().count();
            for width in (0..=before).rev() {
                let length = within(name, width).chars().count();
                assert!(
                    length <= before,
                    "{name} in {width}: {}",
                    within(name, width)
                );
                before = length;
            }
        }
    }

    #[test]
    fn a_form_is_its_name_without_what_it_lacks() {
        for name in [
            "core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)",
            "<alloc::vec::Vec<u8> as core::iter::Iterator>::fold::<\u{e9}::\u{1F600}>",
            "void std::vector<std::pair<int, char>, std::allocator<int>>::push_back(int) const",
        ] {
            let forms = forms(name);
            assert!(forms.len() > 2, "{name}");
            for form in forms {
                let (mut text, mut from) = (String::new(), 0);
                for cut in &form.cuts {
                    text.push_str(&name[from..cut.place.start]);
                    text.push_str(if cut.is_marked { "…" } else { "" });
                    from = cut.place.end;
                }
                text.push_str(&name[from..]);
                assert_eq!(text, form.text);
            }
        }
    }

    #[test]
    fn a_name_of_many_brackets_is_shortened_at_once() {
        let bomb = format!("{}x{}", "a<b::".repeat(10_000), ">".repeat(10_000));
        assert!(within(&bomb, 40).chars().count() <= 40);
    }
}
