//! The mangled names of C++'s allocation functions: they begin nearly every stack of a C++ leak, suppression files name
//! them by their mangled names, and reports do not.

/// The mangled name of an allocation operator, for 64-bit and 32-bit sizes.
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

#[cfg(test)]
mod tests {
    use super::mangled;

    #[test]
    fn operators_are_mangled_as_the_abi_says() {
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
        assert_eq!(mangled("operator==(A, A)"), None);
        assert_eq!(mangled("operator new(Pool&)"), None);
    }
}
