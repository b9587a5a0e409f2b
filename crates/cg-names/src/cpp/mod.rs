//! Parts of mangled C++ names that `cpp_demangle` 0.5.1 does not read, or reads in another way than the compilers mean them.
//!
//! [`rewriter`] rewrites them:
//! - g++ writes `std::is_class<T>::value` in an expression as `sr <type> <name>`: `srSt8is_classIT_E5value`. The C++ ABI
//!   divides such a type into levels, and `cpp_demangle` reads only this form.
//! - Clang 18 and g++ 14 write the declaration of a template parameter before its argument, if the declaration distinguishes
//!   two templates: `TnmLm0E` is the argument 0 of a parameter of type `unsigned long`. A requires-clause follows the
//!   arguments of a template or the parameters of a function: `Q3BigIT_E`. Most tools show neither.
//! - A constructor has no return type, but `cpp_demangle` takes the first parameter of a constructor template for one.
//! - Valgrind's names do not show the return type of a function template around a closure, and those of `cpp_demangle` do.
//! - `cpp_demangle` qualifies only the last type of a pack: `f<int, char>(int, char&&)`.
//!
//! Names refer to their types and scopes by number, so no type may disappear. Instead, a part moves into a call that
//! `cpp_demangle` reads and prints, and [`restore`] replaces the text of this call:
//! - `(cg$)(cgX<TYPE>, cgM, NAME, cgN)` becomes `TYPE::NAME`,
//! - `(cg$)(cgX<DECLARATION>, cgY<ARGUMENT>, cgZ)` becomes the argument,
//! - `(cg$)(cgX<CONSTRAINT>, cgZ)` disappears, and so does a return type,
//! - `cg$ ` disappears in the place of the return type,
//! - `cg$PO, int, char&&, cg$E` becomes `int&&, char&&`.

mod arguments;
mod expressions;
mod literals;
mod packs;
mod restore;
mod rewriter;
mod types;
mod work;

use restore::restore;
use rewriter::{Parameters, rewrite};

/// The beginning of a moved part in a mangled name: `cl <function> <argument>`, without the end of the argument.
const BEGIN: &[u8] = b"cl3cg$3cgXI";
const MIDDLE: &[u8] = b"E3cgYI";
const END: &[u8] = b"E3cgZE";
const MEMBER: &[u8] = b"E3cgM";
const MEMBER_END: &[u8] = b"3cgNE";
/// The type of a vendor. `cpp_demangle` does not count it.
const RETURN_TYPE: &[u8] = b"u3cg$";
/// The beginning of the name of the type before a pack.
const PACK: &[u8] = b"cg$P";
const PACK_END: &[u8] = b"u4cg$E";

/// The identifier of the function in the call. A name with it is not rewritten.
const FUNCTION: &str = "cg$";
const RETURN_TYPE_TEXT: &str = "cg$ ";
const PACK_TEXT: &str = "cg$P";
const PACK_END_TEXT: &str = "cg$E";
const BEGIN_TEXT: &str = "(cg$)(cgX<";
const MIDDLE_TEXT: &str = ">, cgY<";
const END_TEXT: &str = ">, cgZ)";
const MEMBER_TEXT: &str = ">, cgM, ";
const MEMBER_END_TEXT: &str = ", cgN)";

/// Demangles a name with `demangle`, which is `cpp_demangle`; `None` if that would take too long.
pub(crate) fn demangle(mangled: &str, demangle: impl Fn(&str) -> Option<String>) -> Option<String> {
    if work::takes_too_long(mangled) {
        return None;
    }
    let rewritten = [Parameters::Kept, Parameters::Replaced]
        .into_iter()
        .filter(|_| !mangled.contains(FUNCTION))
        .filter_map(|parameters| rewrite(mangled, parameters));
    let mut restored =
        rewritten.filter_map(|rewritten| Some(packs::expand(&restore(&demangle(&rewritten)?))));
    // The name may refer to a replaced parameter.
    let name = restored
        .find(|restored| !restored.contains(FUNCTION))
        .or_else(|| demangle(mangled))?;
    let name = packs::without_empty_packs(name);
    Some(literals::with_suffixes(&name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(mangled: &str) -> String {
        rewrite(mangled, Parameters::Kept).unwrap_or_default()
    }

    #[test]
    fn declarations_without_types_and_scopes_are_removed() {
        for (mangled, expected) in [
            ("_Z1fILi1EEvv", ""),
            ("_Z1fITniLi1EEvv", "_Z1fILi1EEvv"),
            ("_Z1fITnDaLi3EEvv", "_Z1fILi3EEvv"),
            ("_Z1fIJTpTnmLm0EEEvv", "_Z1fIJLm0EEEvv"),
            ("_Z1fITk3BigiEvT_", "_Z1fIiEvT_"),
            ("_Z1fITtTk3BigTniE2S9Evv", "_Z1fI2S9Evv"),
            (
                "_ZZ4mainENKUlTyT_E_clIiEEDaS_",
                "_ZZ4mainENKUlT_E_clIiEEDaS_",
            ),
            // A thunk and an identifier have no declarations.
            ("_ZThn16_N1C1fEv", ""),
            ("_Z4TkTyv", ""),
            // An empty pack has no place for a declaration.
            ("_Z1fIJETpTkN1N1CEJEEvv", ""),
        ] {
            assert_eq!(rewritten(mangled), expected, "{mangled}");
        }
    }

    #[test]
    fn types_and_scopes_of_declarations_move() {
        for (mangled, expected) in [
            (
                "_Z1fITkN1N1CEiEvT_",
                "_Z1fIXcl3cg$3cgXIL_ZN1N1CEEE3cgYIiE3cgZEEEvT_",
            ),
            (
                "_Z1fITpTnT_JLi1ELi2EEEvv",
                "_Z1fIJXcl3cg$3cgXIT_E3cgYILi1EE3cgZEELi2EEEvv",
            ),
            ("_Z1fIiQ1CEvv", "_Z1fIiXcl3cg$3cgXIX1CEE3cgZEEEvv"),
        ] {
            assert_eq!(rewritten(mangled), expected, "{mangled}");
        }
    }

    #[test]
    fn members_of_types_move_except_those_of_scopes() {
        for (mangled, expected) in [
            ("_Z1fI3srsEvT_", ""),
            ("_Z1fIXLm16EE4srsrEvv", ""),
            ("_Z1fIXLN1aE16EE4srsrEvv", ""),
            ("_ZNSsrsEi", ""),
            ("_Z1fIXsr1aE1bEEvv", ""),
            ("_Z1fIXsrT_1vEEvv", "_Z1fIXcl3cg$3cgXIT_E3cgM1v3cgNEEEvv"),
            (
                "_Z1fIXsr2sr2srEEvv",
                "_Z1fIXcl3cg$3cgXI2srE3cgM2sr3cgNEEEvv",
            ),
        ] {
            assert_eq!(rewritten(mangled), expected, "{mangled}");
        }
    }

    #[test]
    fn deep_and_truncated_names_end() {
        for part in [
            "Ty", "Tp", "TtTt", "TnP", "N1aI", "XL_Z1fI", "Xnt", "Z1fI", "Q1CI", "Xrq",
        ] {
            for depth in [1, 100, 100_000] {
                let name = format!("_Z1fI{}", part.repeat(depth));
                assert_eq!(rewritten(&name), "", "{part}");
            }
        }
        assert_eq!(rewritten("_Z99999999999999999999f"), "");
        assert_eq!(rewritten("_Z18446744073709551600f"), "");
    }
}
