//! Shortened names for narrow places. The least informative parts are removed first, and `…` replaces them.
//!
//! In tables, generic arguments are removed first, beginning with the innermost. Then follow the parameters, the paths of the
//! types in `<Type as Trait>`, and the path before the function. Labels of frames lose the parameters first, and at last
//! everything except the function's own name.

use std::ops::Range;

use super::group;
use super::tokens::{NameToken, TokenKind, tokens};

/// Returns the longest form of a name that fits, or the shortest form if none fits.
pub fn shorten(name: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(name) {
        return name.to_owned();
    }
    let tokens = tokens(name.as_bytes());
    let mut narrowing = Narrowing::new(&tokens, &IN_TABLES);
    narrowing.next(|form| fits(&form.text())).text()
}

/// A step of shortening. A higher number hides more.
struct Step {
    hide: fn(&mut Form<'_>, usize),
    /// True if all numbers above 0 hide the same.
    is_single: bool,
}

impl Step {
    const fn graded(hide: fn(&mut Form<'_>, usize)) -> Step {
        let is_single = false;
        Step { hide, is_single }
    }

    const fn single(hide: fn(&mut Form<'_>, usize)) -> Step {
        let is_single = true;
        Step { hide, is_single }
    }
}

const IN_TABLES: [Step; 4] = [
    Step::graded(|form, number| form.hide_generic_arguments(number)),
    Step::single(|form, number| form.hide_parameters(number)),
    Step::single(|form, number| form.hide_paths_of_types(number)),
    Step::graded(|form, number| form.hide_leading_path(number)),
];

const IN_LABELS: [Step; 6] = [
    Step::single(|form, number| form.hide_parameters(number)),
    Step::graded(|form, number| form.hide_generic_arguments(number)),
    Step::single(|form, number| form.hide_qualifiers(number)),
    Step::single(|form, number| form.hide_paths_of_types(number)),
    Step::graded(|form, number| form.hide_leading_path(number)),
    Step::single(|form, number| form.hide_all_but_own_name(number)),
];

/// The search for ever shorter forms of a name.
struct Narrowing<'t, 's> {
    /// The remaining steps. Later ones are not needed yet.
    steps: &'s [Step],
    /// The form before these steps.
    form: Form<'t>,
    /// A number for the first step with which the form does not fit.
    too_few: usize,
    tried: Form<'t>,
}

impl<'t, 's> Narrowing<'t, 's> {
    fn new(tokens: &'t [NameToken<'t>], steps: &'s [Step]) -> Narrowing<'t, 's> {
        let form = Form::whole(tokens);
        Narrowing {
            steps,
            tried: form.clone(),
            form,
            too_few: 0,
        }
    }

    fn apply(&mut self, step: &Step, number: usize) {
        self.tried.shown.copy_from_slice(&self.form.shown);
        (step.hide)(&mut self.tried, number);
    }

    /// Returns the longest shortened form that fits, or the shortest form if none fits. A form that fits now must have
    /// fitted in earlier calls, too.
    fn next(&mut self, fits: impl Fn(&Form<'t>) -> bool) -> &Form<'t> {
        while let [step, rest @ ..] = self.steps {
            let most = match step.is_single {
                true => self.form.tokens.len().min(1),
                false => self.form.tokens.len(),
            };
            self.apply(step, most);
            // A step that hides nothing leaves a form that does not fit.
            let hides_nothing = self.tried.shown == self.form.shown;
            if hides_nothing || !fits(&self.tried) {
                if !hides_nothing {
                    std::mem::swap(&mut self.form, &mut self.tried);
                }
                self.steps = rest;
                self.too_few = 0;
                continue;
            }
            // Find the lowest number that fits with a binary search.
            let mut enough = most;
            while enough - self.too_few > 1 {
                let number = self.too_few + (enough - self.too_few) / 2;
                self.apply(step, number);
                if fits(&self.tried) {
                    enough = number;
                } else {
                    self.too_few = number;
                }
            }
            self.apply(step, enough);
            return &self.tried;
        }
        &self.form
    }
}

/// A form of a name, as the removed parts of the name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameForm {
    /// The removed parts of the name, in order.
    pub cuts: Vec<NameCut>,
}

impl NameForm {
    /// Returns the text of the form of a name.
    pub fn text(&self, name: &str) -> String {
        let (mut text, mut from) = (String::with_capacity(name.len()), 0);
        for cut in &self.cuts {
            text.push_str(name.get(from..cut.place.start).unwrap_or_default());
            text.push_str(if cut.is_marked { "…" } else { "" });
            from = cut.place.end;
        }
        text.push_str(name.get(from..).unwrap_or_default());
        text
    }
}

/// A part of a name that a form omits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameCut {
    /// The bytes of the name.
    pub place: Range<usize>,
    /// True if `…` replaces the part.
    pub is_marked: bool,
}

/// Returns the forms of a name for labels in ever narrower places, longest first. The first form is the name itself. Each form is at
/// least an eighth shorter than the previous one, so there are few forms.
pub fn forms(name: &str) -> Vec<NameForm> {
    let mut forms = vec![NameForm::default()];
    // A name without paths, parameters and generic arguments has no parts to remove.
    if !name.bytes().any(|byte| matches!(byte, b':' | b'<' | b'(')) {
        return forms;
    }
    let tokens = tokens(name.as_bytes());
    let mut narrowing = Narrowing::new(&tokens, &IN_LABELS);
    let mut last = narrowing.form.length();
    loop {
        let next = narrowing.next(|form| form.length() <= last * 7 / 8);
        let length = next.length();
        if length >= last {
            return forms;
        }
        last = length;
        forms.push(NameForm { cuts: next.cuts() });
    }
}

/// The representation of a token in a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Whole,
    /// `…`, which also replaces the hidden tokens that follow.
    Ellipsis,
    Hidden,
}

/// A name with some of its tokens hidden.
#[derive(Clone)]
struct Form<'t> {
    tokens: &'t [NameToken<'t>],
    is_ascii: bool,
    shown: Vec<Shown>,
}

impl<'t> Form<'t> {
    fn whole(tokens: &'t [NameToken<'t>]) -> Form<'t> {
        Form {
            tokens,
            is_ascii: tokens.iter().all(|token| token.text.is_ascii()),
            shown: vec![Shown::Whole; tokens.len()],
        }
    }

    fn text(&self) -> String {
        let mut bytes = Vec::with_capacity(self.tokens.last().map_or(0, NameToken::end) + 3);
        for (token, shown) in self.tokens.iter().zip(&self.shown) {
            match shown {
                Shown::Whole => bytes.extend_from_slice(token.text),
                Shown::Ellipsis => bytes.extend_from_slice("…".as_bytes()),
                Shown::Hidden => {}
            }
        }
        // Signs are ASCII, so tokens end at character boundaries.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the length of the text in characters.
    fn length(&self) -> usize {
        let mut length = 0;
        for (token, shown) in self.tokens.iter().zip(&self.shown) {
            length += match shown {
                Shown::Whole if self.is_ascii => token.text.len(),
                // Counts the bytes that begin a character.
                Shown::Whole => token
                    .text
                    .iter()
                    .filter(|byte| (**byte as i8) >= -64)
                    .count(),
                Shown::Ellipsis => 1,
                Shown::Hidden => 0,
            };
        }
        length
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

    /// Hides the generic arguments in the `levels` deepest levels.
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
            if token.text == "(" && self.opens_after_name(position) {
                self.hide_inside(position);
            }
        }
    }

    /// Returns true if a bracket opens directly after a name.
    fn opens_after_name(&self, position: usize) -> bool {
        let follows_name = position.checked_sub(1).is_some_and(|before| {
            !matches!(
                self.tokens[before].kind,
                TokenKind::Separator | TokenKind::Open | TokenKind::Blank | TokenKind::Sign
            )
        });
        self.tokens[position].kind == TokenKind::Open && follows_name
    }

    /// Hides the type before the function and the qualifiers after its parameters, without an ellipsis.
    fn hide_qualifiers(&mut self, levels: usize) {
        let is_list = |position: &usize| {
            let token = &self.tokens[*position];
            token.depth == 1 && token.text == "(" && self.opens_after_name(*position)
        };
        // Names without parameters, such as those of tasks, may contain blanks that separate no qualifiers.
        let Some(list) = (0..self.tokens.len()).rfind(is_list).filter(|_| levels > 0) else {
            return;
        };
        let is_blank = |position: &usize| {
            let token = &self.tokens[*position];
            token.depth == 0 && token.kind == TokenKind::Blank
        };
        if let Some(blank) = (0..list).rfind(is_blank) {
            self.shown[..=blank].fill(Shown::Hidden);
        }
        let end = list + group(&self.tokens[list..]);
        let rest = &self.tokens[end.min(self.tokens.len())..];
        if rest.iter().all(|token| token.kind != TokenKind::Separator) {
            self.shown[end.min(self.tokens.len())..].fill(Shown::Hidden);
        }
    }

    /// Hides the path before the function's own name and the brackets after it, without an ellipsis.
    fn hide_all_but_own_name(&mut self, levels: usize) {
        if levels == 0 {
            return;
        }
        let start = self.path_separators().next_back().map_or_else(
            // The first name that is still visible.
            || self.shown.iter().position(|shown| *shown == Shown::Whole),
            |separator| Some(separator + 1),
        );
        let start = start.unwrap_or(0);
        let opens = |position: &usize| {
            let is_list = ["(", "<"]
                .iter()
                .any(|open| self.tokens[*position].text == *open);
            is_list && self.opens_after_name(*position)
        };
        let end = (start + 1..self.tokens.len()).find(opens);
        let end = end.unwrap_or(self.tokens.len());
        if (start..end).any(|position| self.shown[position] == Shown::Whole) {
            self.shown[..start].fill(Shown::Hidden);
            self.shown[end..].fill(Shown::Hidden);
        }
    }

    /// Returns the positions of the `::` that end a segment of the path before the function.
    fn path_separators(&self) -> impl DoubleEndedIterator<Item = usize> {
        let separators = (0..self.tokens.len()).filter(|position| {
            let token = &self.tokens[*position];
            token.kind == TokenKind::Separator && token.depth == 0
        });
        // `{closure}` is not informative, so keep the function that contains it.
        let is_informative = |position: &usize| {
            let next = self.tokens.get(position + 1);
            next.is_some_and(|next| next.kind != TokenKind::Braces && next.text != "<")
        };
        separators.filter(is_informative)
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
            let is_leading = segment.depth > 0
                && segment.kind == TokenKind::Word
                && separator.kind == TokenKind::Separator
                && next.kind == TokenKind::Word;
            if is_leading && self.shown[position] == Shown::Whole {
                self.shown[position] = Shown::Hidden;
                self.shown[position + 1] = Shown::Hidden;
            }
        }
    }

    /// Hides the first `segments` segments of the path before the function, but never the last segment.
    fn hide_leading_path(&mut self, segments: usize) {
        let Some(end) = self.path_separators().take(segments).last() else {
            return;
        };
        self.shown[..end].fill(Shown::Hidden);
        self.shown[0] = Shown::Ellipsis;
    }

    /// Returns true if a `<` opens a list of arguments, not `<Type as Trait>`.
    fn is_argument_list(&self, position: usize) -> bool {
        position.checked_sub(1).is_some_and(|before| {
            !matches!(
                self.tokens[before].kind,
                TokenKind::Open | TokenKind::Blank | TokenKind::Sign
            )
        })
    }

    /// Replaces the contents of a bracket with `…` if they are longer than one byte.
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
        shorten(name, |text| text.chars().count() <= width)
    }

    #[test]
    fn the_least_informative_parts_are_removed_first() {
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
    fn a_name_has_few_forms_and_the_last_is_the_function() {
        let texts = |name: &str| -> Vec<String> {
            let forms = forms(name).into_iter();
            forms.map(|form| form.text(name)).collect()
        };
        assert_eq!(
            texts("core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)"),
            [
                "core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)",
                "core::iter::Map<…>::fold(…)",
                "…::Map<…>::fold(…)",
                "…::fold(…)",
                "fold",
            ]
        );
        assert_eq!(
            texts("void shop::io::print<char>(std::ostream&, int) const"),
            [
                "void shop::io::print<char>(std::ostream&, int) const",
                "void shop::io::print<char>(…) const",
                "shop::io::print<…>(…)",
                "…::io::print<…>(…)",
                "…::print<…>(…)",
                "print",
            ]
        );
        let bomb = format!("{}x{}", "a<b::".repeat(10_000), ">".repeat(10_000));
        assert!(forms(&bomb).len() < 100);
    }

    #[test]
    fn forms_get_shorter_with_the_width() {
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
    fn a_form_equals_its_name_without_the_cuts() {
        for name in [
            "core::iter::Map<a::b::Long, core::Other>::fold(a::b::C)",
            "<alloc::vec::Vec<u8> as core::iter::Iterator>::fold::<\u{e9}::\u{1F600}>",
            "void std::vector<std::pair<int, char>, std::allocator<int>>::push_back(int) const",
        ] {
            assert!(forms(name).len() > 2, "{name}");
            let tokens = tokens(name.as_bytes());
            for width in 0..name.len() {
                let mut narrowing = Narrowing::new(&tokens, &IN_LABELS);
                let form = narrowing.next(|form| form.length() <= width);
                let cuts = form.cuts();
                let text = NameForm { cuts }.text(name);
                assert_eq!(text, form.text());
                assert_eq!(text.chars().count(), form.length());
            }
        }
    }

    #[test]
    fn names_without_paths_and_brackets_have_one_form() {
        for name in [
            "",
            "main",
            "Run the task",
            "operator",
            "operator new[]",
            "memcpy@@GLIBC_2.14",
            "java/lang/Thread.run",
            "{closure#0}",
            "a b.c-d->e",
            "[unknown]",
            "\u{e9}>x)",
            "'lambda0'",
            "-",
        ] {
            assert_eq!(forms(name).len(), 1, "{name}");
            let tokens = tokens(name.as_bytes());
            let mut narrowing = Narrowing::new(&tokens, &IN_LABELS);
            let shortest = narrowing.next(|_| false);
            assert_eq!(shortest.text(), name);
        }
    }

    #[test]
    fn a_name_with_many_brackets_is_shortened_quickly() {
        let bomb = format!("{}x{}", "a<b::".repeat(10_000), ">".repeat(10_000));
        assert!(within(&bomb, 40).chars().count() <= 40);
    }
}
