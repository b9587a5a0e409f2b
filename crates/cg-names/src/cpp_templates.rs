//! C++20's additions to mangled names of templates: declarations of template parameters, and constraints.
//!
//! Clang 18 and g++ 14 write the declaration of a parameter before its argument: `TnmLm0E` is the argument 0 of a parameter
//! of type `unsigned long`. A requires-clause follows the parameters of the function: `Q3BigIT_E`. `cpp_demangle` 0.5.1 reads
//! neither. [`remove`] removes both, because Valgrind's names do not have them. Other parts of a name refer to its types and
//! scopes by number, so a declaration with one of these cannot be removed, and such a name stays mangled.

use crate::cpp_members::token_length;

/// The maximum number of constraints to try. Names have a few.
const MAX_CONSTRAINTS: usize = 16;

/// Calls `demangle` with a mangled name without its additions, until it returns text. The last constraint ends a name, but
/// only `demangle` can find out if the text before it is a name.
pub(crate) fn demangle_without(
    mangled: &str,
    demangle: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let bytes = mangled.as_bytes();
    // `_ZT` begins a special name, such as that of a vtable.
    let mut at = if mangled.starts_with("_ZT") { 3 } else { 0 };
    let mut plain = mangled[..at].to_owned();
    let mut constraints = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        if rest[0] == b'Q' && constraints < MAX_CONSTRAINTS {
            constraints += 1;
            if let Some(demangled) = demangle(&plain) {
                return Some(demangled);
            }
        }
        if is_declaration(rest) {
            at += declaration(rest)?;
        } else {
            let end = at + token_length(rest);
            plain.push_str(mangled.get(at..end)?);
            at = end;
        }
    }
    match plain.len() < mangled.len() {
        true => demangle(&plain),
        false => None,
    }
}

fn is_declaration(rest: &[u8]) -> bool {
    matches!(rest, [b'T', b'k' | b'n' | b'p' | b't' | b'y', ..])
}

/// Returns the length of a declaration; `None` if it contains a type or prefix that the rest of the name may refer to.
fn declaration(rest: &[u8]) -> Option<usize> {
    if !is_declaration(rest) {
        return None;
    }
    let content = &rest[2..];
    let length = match rest[1] {
        b'y' => 0,
        b'p' => declaration(content)?,
        b'n' => match content {
            // `u` begins the name of a type.
            [b'u', ..] => return None,
            [b'a'..=b'z', ..] => 1,
            [b'D', b'a' | b'c', ..] => 2,
            _ => return None,
        },
        b'k' => {
            let path = if content.starts_with(b"St") { 2 } else { 0 };
            let name = &content[path..];
            let length = name.first()?.is_ascii_digit().then(|| token_length(name))?;
            if name.get(length) == Some(&b'I') {
                return None;
            }
            path + length
        }
        // The declarations of the parameters of a template that is a parameter.
        _ => {
            let mut length = 0;
            while content.get(length)? != &b'E' {
                length += declaration(&content[length..])?;
            }
            length + 1
        }
    };
    Some(2 + length)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns the tried texts, separated by spaces.
    fn tried(mangled: &str) -> String {
        let tried = RefCell::new(String::new());
        demangle_without(mangled, |plain| {
            let mut tried = tried.borrow_mut();
            *tried += plain;
            *tried += " ";
            None
        });
        tried.into_inner().trim_end().to_owned()
    }

    #[test]
    fn declarations_without_types_and_scopes_are_removed() {
        for (mangled, plain) in [
            ("_Z1fILi1EEvv", ""),
            ("_Z1fITniLi1EEvv", "_Z1fILi1EEvv"),
            ("_Z1fITnDaLi3EEvv", "_Z1fILi3EEvv"),
            ("_Z1fIJTpTnmLm0EEEvv", "_Z1fIJLm0EEEvv"),
            ("_Z1fITk3BigiEvT_", "_Z1fIiEvT_"),
            ("_Z1fITkSt8integraliEvT_", "_Z1fIiEvT_"),
            ("_Z1fITtTk3BigTniE2S9Evv", "_Z1fI2S9Evv"),
            (
                "_ZZ4mainENKUlTyT_E_clIiEEDaS_",
                "_ZZ4mainENKUlT_E_clIiEEDaS_",
            ),
            // The rest can refer to `N::C` or `C<T>`.
            ("_Z1fITkN1N1CEiEvT_", ""),
            ("_Z1fITk1CIiEiEvT_", ""),
            ("_Z1fITnT_Li1EEvv", ""),
            ("_Z1fITtTkN1N1CEE2S9Evv", ""),
            // A vtable and an identifier have no declarations.
            ("_ZTn16_N1C1fEv", ""),
            ("_Z4TkTyv", ""),
            ("_Z1fITk", ""),
            ("_Z1fITt", ""),
            ("_Z1fIT", ""),
        ] {
            assert_eq!(tried(mangled), plain, "{mangled}");
        }
    }

    #[test]
    fn each_constraint_may_end_the_name() {
        assert_eq!(tried("_Z1fIiEvvQ3Big"), "_Z1fIiEvv");
        assert_eq!(tried("_Z1fIiQ1CEvvQ1D"), "_Z1fIi _Z1fIiQ1CEvv");
        let many = tried(&format!("_Z1f{}", "Q".repeat(1000)));
        assert_eq!(many.split(' ').count(), MAX_CONSTRAINTS);
    }
}
