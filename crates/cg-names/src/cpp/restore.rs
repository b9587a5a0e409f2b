//! Replaces the text of moved parts in demangled names.

use super::{BEGIN_TEXT, END_TEXT, MEMBER_END_TEXT, MEMBER_TEXT, MIDDLE_TEXT, RETURN_TYPE_TEXT};

/// A call that is not yet closed.
#[derive(Clone, Copy)]
enum Open {
    /// A type, declaration or constraint that begins here in the output.
    Moved(usize),
    Argument,
    Member,
}

pub(super) fn restore(demangled: &str) -> String {
    let mut restored = String::with_capacity(demangled.len());
    let mut open: Vec<Open> = Vec::new();
    let mut rest = demangled;
    while let Some(next) = rest.chars().next() {
        let last = open.last().copied();
        if let Some(after) = rest.strip_prefix(BEGIN_TEXT) {
            open.push(Open::Moved(restored.len()));
            rest = after;
        } else if let Some(after) = rest.strip_prefix(RETURN_TYPE_TEXT) {
            rest = after;
        } else if let Some(Open::Moved(begin)) = last
            && let Some(after) = rest.strip_prefix(MIDDLE_TEXT)
        {
            restored.truncate(begin);
            open.pop();
            open.push(Open::Argument);
            rest = after;
        } else if let Some(Open::Argument) = last
            && let Some(after) = rest.strip_prefix(END_TEXT)
        {
            trim_end(&mut restored, " ");
            open.pop();
            rest = collapse_references(&mut restored, after);
            separate_brackets(&mut restored, rest);
        } else if let Some(Open::Moved(begin)) = last
            && let Some(after) = rest.strip_prefix(END_TEXT)
        {
            // A constraint is the last argument.
            restored.truncate(begin);
            trim_end(&mut restored, ", ");
            open.pop();
            rest = after;
            separate_brackets(&mut restored, rest);
        } else if let Some(Open::Moved(_)) = last
            && let Some(after) = rest.strip_prefix(MEMBER_TEXT)
        {
            trim_end(&mut restored, " ");
            restored.push_str("::");
            open.pop();
            open.push(Open::Member);
            rest = after;
        } else if let Some(Open::Member) = last
            && let Some(after) = rest.strip_prefix(MEMBER_END_TEXT)
        {
            open.pop();
            rest = after;
            separate_brackets(&mut restored, rest);
        } else {
            restored.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    restored
}

/// Separates two brackets at the end of a call, as `cpp_demangle` does elsewhere.
fn separate_brackets(before: &mut String, after: &str) {
    if before.ends_with('>') && after.starts_with('>') {
        before.push(' ');
    }
}

fn trim_end(text: &mut String, end: &str) {
    text.truncate(text.trim_end_matches(end).len());
}

/// Collapses a reference to a reference, as C++ does: only `&&` to `&&` stays `&&`. Returns the rest.
fn collapse_references<'a>(argument: &mut String, rest: &'a str) -> &'a str {
    let outer = rest.len() - rest.trim_start_matches('&').len();
    let own = argument.len() - argument.trim_end_matches('&').len();
    if outer > 0 && own > 0 {
        trim_end(argument, "&");
        argument.push_str(if own == 2 && outer == 2 { "&&" } else { "&" });
        &rest[outer..]
    } else {
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_moved_parts_is_replaced() {
        for (demangled, restored) in [
            (
                "f<(cg$)(cgX<a<(int)1> >, cgM, v, cgN)>()",
                "f<a<(int)1>::v>()",
            ),
            (
                "f<(cg$)(cgX<a<(cg$)(cgX<b>, cgM, v, cgN)> >, cgM, w<c>, cgN)>(int)",
                "f<a<b::v>::w<c> >(int)",
            ),
            ("f<(cg$)(cgX<b::C>, cgY<a<int> >, cgZ)>()", "f<a<int> >()"),
            ("f<int, (cg$)(cgX<C<int> >, cgZ)>()", "f<int>()"),
            (
                "f<(cg$)(cgX<C<int> >, cgY<a&>, cgZ)>((cg$)(cgX<C<int> >, cgY<a&>, cgZ)&&)",
                "f<a&>(a&)",
            ),
            ("f((cg$)(cgX<C>, cgY<a&&>, cgZ)&&)", "f(a&&)"),
            ("f((cg$)(cgX<C>, cgY<a>, cgZ)&&)", "f(a&&)"),
            ("operator>><a<int> >(int)", "operator>><a<int> >(int)"),
            (
                "cg$ f<int, (cg$)(cgX<void>, cgZ)>(int)::{lambda()#1}",
                "f<int>(int)::{lambda()#1}",
            ),
            ("f(b, cgN)", "f(b, cgN)"),
        ] {
            assert_eq!(restore(demangled), restored);
        }
    }
}
