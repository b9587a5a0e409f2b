//! The mangled names of C++'s operators. Allocation operators are mangled completely: nearly every stack of a C++ leak
//! begins with one, suppression files contain its mangled name, and reports contain its demangled name.

/// The operators and their codes in the Itanium ABI.
const LETTERS: [(&str, &str); 33] = [
    ("()", "cl"),
    ("[]", "ix"),
    ("->", "pt"),
    ("->*", "pm"),
    ("=", "aS"),
    ("==", "eq"),
    ("!=", "ne"),
    ("<", "lt"),
    (">", "gt"),
    ("<=", "le"),
    (">=", "ge"),
    ("<=>", "ss"),
    ("+=", "pL"),
    ("-=", "mI"),
    ("*=", "mL"),
    ("/=", "dV"),
    ("%=", "rM"),
    ("&=", "aN"),
    ("|=", "oR"),
    ("^=", "eO"),
    ("<<=", "lS"),
    (">>=", "rS"),
    ("<<", "ls"),
    (">>", "rs"),
    ("/", "dv"),
    ("%", "rm"),
    ("|", "or"),
    ("^", "eo"),
    ("!", "nt"),
    ("~", "co"),
    ("&&", "aa"),
    ("||", "oo"),
    ("++", "pp"),
];

/// Returns the mangled name of an allocation operator, for 64-bit and 32-bit sizes; `None` for other names.
pub(super) fn mangled(name: &str) -> Option<String> {
    let (prefix, parameters) = [
        ("operator new[](", "_Zna"),
        ("operator new(", "_Znw"),
        ("operator delete[](", "_Zda"),
        ("operator delete(", "_Zdl"),
    ]
    .into_iter()
    .find_map(|(operator, mangled)| Some((mangled, name.strip_prefix(operator)?)))?;
    let mut text = prefix.to_owned();
    for parameter in parameters.strip_suffix(')')?.split(", ") {
        text.push_str(match parameter {
            "unsigned long" => "m",
            "unsigned int" => "j",
            "void*" => "Pv",
            "std::nothrow_t const&" => "RKSt9nothrow_t",
            "std::align_val_t" => "St11align_val_t",
            _ => return None,
        });
    }
    Some(text)
}

/// Returns the letters of an operator in mangled names, given the text after `operator`; `None` for `*`, `&`, `+` and `-`,
/// whose letters depend on the number of operands.
pub(super) fn letters(symbol: &str) -> Option<&'static str> {
    let found = LETTERS.iter().find(|(known, _)| *known == symbol)?;
    Some(found.1)
}

/// Returns the text after `operator` for these letters.
pub(super) fn symbol(letters: &str) -> Option<&'static str> {
    let found = LETTERS.iter().find(|(_, known)| *known == letters)?;
    Some(found.0)
}

#[cfg(test)]
mod tests {
    use super::{LETTERS, mangled};

    #[test]
    fn mangled_operators_demangle_to_their_names() {
        for symbol in [
            "_Znwm",
            "_Znam",
            "_Znwj",
            "_ZnwmRKSt9nothrow_t",
            "_ZnamSt11align_val_t",
            "_ZnwmSt11align_val_tRKSt9nothrow_t",
            "_ZdlPv",
            "_ZdaPv",
            "_ZdlPvm",
            "_ZdaPvSt11align_val_t",
            "_ZdlPvRKSt9nothrow_t",
        ] {
            let name = cg_names::demangle::demangle_str(symbol);
            assert_eq!(mangled(&name).as_deref(), Some(symbol), "{name}");
        }
        for (symbol, code) in LETTERS {
            let symbol_of_class = format!("_ZN1A{code}ERKS_");
            let name = cg_names::demangle::demangle_str(&symbol_of_class);
            assert!(
                name.starts_with(&format!("A::operator{symbol}(")),
                "{symbol_of_class} {name}"
            );
        }
        assert_eq!(mangled("operator==(A, A)"), None);
        assert_eq!(mangled("operator new(Pool&)"), None);
    }
}
