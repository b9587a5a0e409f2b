//! Members of dependent types in mangled C++ names, as g++ mangles them.
//!
//! g++ writes `std::is_class<T>::value` in an expression as `sr <type> <name>`: `srSt8is_classIT_E5value`. The C++ ABI
//! divides such a type into levels, and `cpp_demangle` reads only this form. [`mark`] replaces `sr` by operators that
//! `cpp_demangle` reads in the same way as g++ reads `sr`: `ptat <type> <name>`, which is `alignof (<type>)-><name>` and
//! never occurs in a program, because a number has no members. [`restore`] replaces the text by `<type>::<name>`.

const OPERATOR: &[u8] = b"sr";
const MARK: &str = "ptat";
const BEGIN: &str = "alignof (";
const END: &str = ")->";

/// Returns a mangled name with all members marked; `None` if it has none.
pub(crate) fn mark(mangled: &str) -> Option<String> {
    let bytes = mangled.as_bytes();
    let mut marked = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(OPERATOR) && !bytes[..at].ends_with(b"gs") {
            marked.push_str(mangled.get(copied..at)?);
            marked.push_str(MARK);
            at += OPERATOR.len();
            copied = at;
        } else {
            at += token_length(rest);
        }
    }
    marked.push_str(mangled.get(copied..)?);
    (copied > 0).then_some(marked)
}

/// Replaces the text of all marks.
pub(crate) fn restore(demangled: &str) -> String {
    let mut restored = String::with_capacity(demangled.len());
    // The depth of the brackets around each open mark, and its position in the output.
    let mut open: Vec<(usize, usize)> = Vec::new();
    // The depth around each member whose parentheses are left out.
    let mut hidden: Vec<usize> = Vec::new();
    let mut depth = 0usize;
    let mut rest = demangled;
    while let Some(next) = rest.chars().next() {
        let mut length = next.len_utf8();
        if rest.starts_with(BEGIN) {
            open.push((depth, restored.len()));
            length = BEGIN.len();
            depth += 1;
        } else if next == ')' && open.last().is_some_and(|(outer, _)| outer + 1 == depth) {
            depth -= 1;
            let begin = open.pop().map_or(0, |(_, begin)| begin);
            if let Some(member) = rest.strip_prefix(END) {
                restored.push_str("::");
                length = END.len();
                // `cpp_demangle` encloses a member with template arguments in parentheses.
                if member.starts_with('(') {
                    hidden.push(depth);
                    length += 1;
                    depth += 1;
                }
            } else {
                restored.insert_str(begin, BEGIN);
                restored.push(next);
            }
        } else if next == ')' && hidden.last().is_some_and(|outer| outer + 1 == depth) {
            depth -= 1;
            hidden.pop();
        } else {
            match next {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            restored.push(next);
        }
        rest = &rest[length..];
    }
    restored
}

/// Returns the length of the token at the beginning of a mangled name: an identifier, a reference, a literal, or one byte.
pub(crate) fn token_length(rest: &[u8]) -> usize {
    let length = match rest[0] {
        b'0'..=b'9' => identifier(rest),
        b'S' | b'T' => reference(rest),
        b'f' if matches!(rest.get(1), Some(b'p' | b'L')) => {
            let digits = digits(&rest[2..]);
            (rest.get(2 + digits) == Some(&b'_')).then_some(2 + digits)
        }
        b'L' => literal(rest),
        _ => None,
    };
    length.unwrap_or(1)
}

/// Returns the length of an identifier with its number: `5value`.
fn identifier(rest: &[u8]) -> Option<usize> {
    let digits = digits(rest);
    let number: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let length = digits.checked_add(number)?;
    (length <= rest.len()).then_some(length)
}

/// Returns the length of a substitution or template parameter: `St`, `S1_`, `T_`.
fn reference(rest: &[u8]) -> Option<usize> {
    let number = rest[1..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        .count();
    if rest.get(1 + number) == Some(&b'_') {
        return Some(number + 2);
    }
    let is_abbreviation = matches!(
        rest,
        [b'S', b'a' | b'b' | b'd' | b'i' | b'o' | b's' | b't', ..]
    );
    is_abbreviation.then_some(2)
}

/// Returns the length of a literal with a number: `Lm16E`, `LN2my4KindE1E`.
fn literal(rest: &[u8]) -> Option<usize> {
    let after_name = |at: usize| match rest.get(at)? {
        b'S' => reference(&rest[at..]).map(|length| at + length),
        b'0'..=b'9' => identifier(&rest[at..]).map(|length| at + length),
        _ => None,
    };
    let mut at = match rest.get(1)? {
        b'N' => {
            let mut at = 2;
            while let Some(end) = after_name(at) {
                at = end;
            }
            at + usize::from(rest.get(at) == Some(&b'E'))
        }
        b'a'..=b'z' => 2,
        _ => after_name(1)?,
    };
    at += usize::from(rest.get(at) == Some(&b'n'));
    let digits = digits(rest.get(at..)?);
    (digits > 0 && rest.get(at + digits) == Some(&b'E')).then_some(at + digits + 1)
}

fn digits(rest: &[u8]) -> usize {
    rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_literals_are_not_operators() {
        for (mangled, marked) in [
            ("_Z1fI3srsEvT_", None),
            ("_Z1fIXLm16EE4srsrEvv", None),
            ("_Z1fIXLN1aE16EE4srsrEvv", None),
            ("_ZNSsrsEi", None),
            ("_Z1fIXgssr1aE1bEEvv", None),
            ("_Z1fIXsrT_1vEEvv", Some("_Z1fIXptatT_1vEEvv")),
            ("_Z1fIXsr2sr2srEEvv", Some("_Z1fIXptat2sr2srEEvv")),
        ] {
            assert_eq!(mark(mangled).as_deref(), marked, "{mangled}");
        }
    }

    #[test]
    fn only_marks_become_members() {
        for (demangled, restored) in [
            ("f<alignof (a<(int)1>)->v>()", "f<a<(int)1>::v>()"),
            (
                "f<alignof (a<alignof (b)->v>)->w>(int)",
                "f<a<b::v>::w>(int)",
            ),
            ("f<alignof (a)->(v<(int)1>)>(int)", "f<a::v<(int)1>>(int)"),
            ("f<alignof (int)>()", "f<alignof (int)>()"),
            ("f<alignof (a<alignof (b)->v>)>()", "f<alignof (a<b::v>)>()"),
        ] {
            assert_eq!(restore(demangled), restored);
        }
    }
}
