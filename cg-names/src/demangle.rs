//! Demangles the names that Valgrind left mangled.
//!
//! Valgrind demangles by itself unless told not to, but gives up where a linker or LLVM hung a suffix on a name, and
//! before 3.17 it did not know Rust's newer mangling. The result looks like Valgrind's own: no hash at the end of a
//! Rust path, and C++ functions with their parameters.

use std::borrow::Cow;

/// The name as its source has it; names that are not mangled as they are.
pub fn demangle(name: &[u8]) -> Cow<'_, [u8]> {
    let is_mangled = matches!(
        name,
        [b'_', b'R' | b'Z', ..] | [b'_', b'_', b'Z' | b'R', ..]
    );
    if !is_mangled {
        return Cow::Borrowed(name);
    }
    let Ok(text) = std::str::from_utf8(name) else {
        return Cow::Borrowed(name);
    };
    if let Ok(demangled) = rustc_demangle::try_demangle(text) {
        return Cow::Owned(format!("{demangled:#}").into_bytes());
    }
    demangle_cpp(text).map_or(Cow::Borrowed(name), |demangled| {
        Cow::Owned(demangled.into_bytes())
    })
}

/// A C++ name. What GCC or LLVM appended (`.part.0`, `.constprop.0`, `.llvm.123`) is not part of it, and what tells a
/// reader something is kept.
fn demangle_cpp(text: &str) -> Option<String> {
    let (mangled, suffix) = match text.split_once(['.', '@']) {
        Some((mangled, _)) => (mangled, &text[mangled.len()..]),
        None => (text, ""),
    };
    let symbol = cpp_demangle::Symbol::new(mangled).ok()?;
    let mut demangled = symbol.demangle().ok()?;
    if suffix.starts_with('@') {
        demangled.push_str(suffix);
    } else if let Some(clone) = suffix.strip_prefix('.')
        && !clone.starts_with("llvm.")
    {
        demangled.push_str(&format!(" [clone .{clone}]"));
    }
    Some(demangled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mangled: &str, expected: &str) {
        assert_eq!(
            String::from_utf8_lossy(&demangle(mangled.as_bytes())),
            expected
        );
    }

    #[test]
    fn rust_names_lose_hash_and_llvm_suffix() {
        check(
            "_ZN4core3fmt8builders10DebugInner5entry17h98daf2b039558124E.llvm.1950472155316790172",
            "core::fmt::builders::DebugInner::entry",
        );
        check("_ZN2rs4pong17hcc47841c3c82513eE", "rs::pong");
        check("_RNvNtCsgEmfK2I1SDS_4core3fmt5write", "core::fmt::write");
    }

    #[test]
    fn cpp_names_keep_what_a_clone_is_called() {
        check("_ZN4Tree4walkEi", "Tree::walk(int)");
        check("_ZN4Tree4walkEi.part.0", "Tree::walk(int) [clone .part.0]");
        check("_ZN4Tree4walkEi.llvm.42", "Tree::walk(int)");
    }

    #[test]
    fn other_names_stay() {
        check("main", "main");
        check("_dl_start", "_dl_start");
        check("_Zebra", "_Zebra");
        check("_D2dd1A1fMFiZi", "_D2dd1A1fMFiZi");
    }
}
