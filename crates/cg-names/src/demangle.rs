//! Demangling of names that Valgrind left mangled.
//!
//! Valgrind demangles names by default, but not names to which a linker or LLVM appended a suffix. Versions before 3.17 do
//! not know Rust's v0 mangling. The results here look like Valgrind's: Rust paths without a hash, and C++ functions with
//! their parameters.

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::cpp;

/// The maximum length of a demangled name, in bytes. Mangled names repeat parts by reference, so a few hundred bytes can
/// expand to gigabytes. Demangling stops at this length, and the name stays mangled.
pub const LONGEST_DEMANGLED: usize = 64 << 10;

/// Demangles a name. Returns it unchanged if it is not mangled or would become too long.
pub fn demangle(name: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(name).map(demangle_str) {
        Ok(Cow::Owned(demangled)) => Cow::Owned(demangled.into_bytes()),
        _ => Cow::Borrowed(name),
    }
}

/// Demangles text, like [`demangle`].
pub fn demangle_str(name: &str) -> Cow<'_, str> {
    if !is_mangled(name.as_bytes()) {
        return Cow::Borrowed(name);
    }
    let demangled = match rustc_demangle::try_demangle(name) {
        Ok(demangled) => bounded(|text| write!(text, "{demangled:#}")),
        Err(_) => demangle_cpp(name),
    };
    demangled.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Completes the demangling of Rust names that a C++ demangler processed, as macOS' `sample`, DTrace, bpftrace and heaptrack
/// write them: `_$LT$T$GT$::f::h98daf2b039558124 (.llvm.17)`. Passes other names to [`demangle`].
pub fn demangle_path(name: &[u8]) -> Cow<'_, [u8]> {
    let text = match name.strip_suffix(b")") {
        Some(inside) => match inside.windows(8).rposition(|words| words == b" (.llvm.") {
            Some(suffix) => &name[..suffix],
            None => name,
        },
        None => name,
    };
    let has_hash = text.len() > 19
        && text[text.len() - 19..].starts_with(b"::h")
        && text[text.len() - 16..].iter().all(u8::is_ascii_hexdigit);
    let Ok(text) = std::str::from_utf8(text) else {
        return Cow::Borrowed(name);
    };
    if !has_hash {
        return demangle(name);
    }
    let mut mangled = "_ZN".to_owned();
    for part in text.split("::") {
        mangled += &format!("{}{part}", part.len());
    }
    mangled.push('E');
    match demangle_str(&mangled) {
        Cow::Owned(demangled) if demangled != mangled => Cow::Owned(demangled.into_bytes()),
        _ => Cow::Borrowed(name),
    }
}

fn is_mangled(name: &[u8]) -> bool {
    matches!(
        name,
        [b'_', b'R' | b'Z', ..] | [b'_', b'_', b'Z' | b'R', ..]
    )
}

/// Demangles a C++ name without its suffix, and appends the suffix again. Compilers append `.part.0` or `.constprop.0`,
/// linkers `@VERSION`. Drops `.llvm.…`, which is only a hash.
fn demangle_cpp(text: &str) -> Option<String> {
    let (mangled, suffix) = match text.split_once(['.', '@']) {
        Some((mangled, _)) => (mangled, &text[mangled.len()..]),
        None => (text, ""),
    };
    let mut demangled = cpp::demangle(mangled, without_suffix)?;
    if suffix.starts_with('@') {
        demangled.push_str(suffix);
    } else if let Some(clone) = suffix.strip_prefix('.')
        && !clone.starts_with("llvm.")
    {
        demangled.push_str(&format!(" [clone .{clone}]"));
    }
    Some(demangled)
}

/// Demangles a C++ name that has no suffix; `None` if it is not a mangled name or would become too long.
fn without_suffix(mangled: &str) -> Option<String> {
    let symbol = cpp_demangle::Symbol::new(mangled).ok()?;
    let options = cpp_demangle::DemangleOptions::new();
    bounded(|text| symbol.structured_demangle(text, &options))
}

/// Returns the output of `write`; `None` if it is too long or `write` fails.
fn bounded(write: impl FnOnce(&mut Bounded) -> fmt::Result) -> Option<String> {
    let mut text = Bounded(String::new());
    write(&mut text).ok().map(|()| text.0)
}

/// Text of at most [`LONGEST_DEMANGLED`] bytes. Writing more is an error.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_DEMANGLED {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
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
    fn cpp_names_keep_clone_suffixes() {
        check("_ZN4Tree4walkEi", "Tree::walk(int)");
        check("_ZN4Tree4walkEi.part.0", "Tree::walk(int) [clone .part.0]");
        check("_ZN4Tree4walkEi.llvm.42", "Tree::walk(int)");
    }

    /// The expected text is `c++filt`'s.
    #[test]
    fn members_of_dependent_types_are_demangled_as_gcc_mangles_them() {
        for (mangled, expected) in [
            (
                "_Z2a3IiENSt9enable_ifIXsr4toplIT_E5valueEiE4typeES2_",
                "std::enable_if<topl<int>::value, int>::type a3<int>(int)",
            ),
            (
                "_Z2a2IiENSt9enable_ifIXsrN2my4deep6is_fooIT_E2inE1vEiE4typeES4_",
                "std::enable_if<my::deep::is_foo<int>::in::v, int>::type a2<int>(int)",
            ),
            (
                "_Z2c7IiENSt9enable_ifIXsrN2my4deep6is_fooIT_EE2tvIiEES4_E4typeES4_",
                "std::enable_if<my::deep::is_foo<int>::tv<int>, int>::type c7<int>(int)",
            ),
            (
                "_ZSt4swapIiENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_",
                "std::enable_if<std::__and_<std::__not_<std::__is_tuple_like<int> >, std::is_move_constructible<int>, std::is_move_assignable<int> >::value, void>::type std::swap<int>(int&, int&)",
            ),
            // A substitution after the expression counts the parts of its type.
            (
                "_Z2e1I4topliENSt9enable_ifIXsrT_IT0_E5valueEiE4typeES4_",
                "std::enable_if<topl<int>::value, int>::type e1<topl, int>(topl<int>)",
            ),
            // The form of the ABI, which Clang writes.
            (
                "_Z1fI3fooENSt9enable_ifIXsr4toplIT_EE5valueEvE4typeES2_",
                "std::enable_if<topl<foo>::value, void>::type f<foo>(foo)",
            ),
        ] {
            check(mangled, expected);
        }
    }

    /// The expected text is that of LLVM 19's `llvm-cxxfilt` without requires-clauses, with arguments instead of `T`.
    #[test]
    fn templates_of_cpp_20_are_demangled() {
        for (mangled, expected) in [
            ("_Z2f1ITk3BigiET_S0_", "int f1<int>(int)"),
            ("_Z2f3IiET_S0_QrQS0__Xplfp_fp_E", "int f3<int>(int)"),
            (
                "_Z2f5ITkSt8integraliTk3BigiEDaT_T0_",
                "auto f5<int, int>(int, int)",
            ),
            ("_Z2f9ITtTk3BigE2S9Eiv", "int f9<S9>()"),
            ("_Z3f11ITnDcLi4EEiv", "int f11<4>()"),
            (
                "_ZN2S9IiE1mITk3BiglEET_S2_i",
                "long S9<int>::m<long>(long, int)",
            ),
            (
                "_Z2frIlET_2S9IiES0_Q3BigITL0__E",
                "long fr<long>(S9<int>, long)",
            ),
            ("_Z2f2IiQ3BigIT_EES0_S0_", "int f2<int>(int)"),
            // The same declaration by Clang and by g++.
            ("_Z2f4ITkN3lib4SameIiEEiET_S2_", "int f4<int>(int)"),
            ("_Z2f4ITkN3lib4SameEIiEiET_S1_", "int f4<int>(int)"),
            // Clang counts the name of this concept, g++ does not, and the name does not show which compiler wrote it.
            (
                "_Z3f12IiTpTkSt14convertible_toIT_EJliEEiS1_DpT0_",
                "_Z3f12IiTpTkSt14convertible_toIT_EJliEEiS1_DpT0_",
            ),
            (
                "_ZNSt4pairINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiEC2IKS5_iTnNSt9enable_ifIXaaclsr6_PCCFPIT_T0_EE18_ConstructiblePairISA_SB_EEclsr6_PCCFPISA_SB_EE26_ImplicitlyConvertiblePairISA_SB_EEEbE4typeELb1EEERKS_ISA_SB_E",
                "std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int>::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, int, true>(std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, int> const&)",
            ),
            (
                "_ZNKSt6ranges8__access4_EndclITkNS_8__detail22__maybe_borrowed_rangeERSt6vectorIiSaIiEEQoooo18is_bounded_array_vINSt16remove_referenceIT_E4typeEE12__member_endIS9_E9__adl_endIS9_EEEDaOS9_",
                "auto std::ranges::__access::_End::operator()<std::vector<int, std::allocator<int> >&>(std::vector<int, std::allocator<int> >&) const",
            ),
            (
                "_ZNSt5tupleIJiEEC2IJlEQcl15__constructibleIDpTL0__EEEEDpOT_",
                "std::tuple<int>::tuple<long>(long&&)",
            ),
            (
                "_ZN1C1IFeqERKS0_S2_Q19equality_comparableIDTclsr3stdE7declvalIRT_EEEE",
                "C::I::operator==(C::I const&, C::I const&)",
            ),
        ] {
            check(mangled, expected);
        }
    }

    /// The expected text is `c++filt`'s.
    #[test]
    fn constructor_templates_keep_their_first_parameter() {
        for (mangled, expected) in [
            (
                "_ZNSt4pairIiiEC2IiiEEOT_OT0_",
                "std::pair<int, int>::pair<int, int>(int&&, int&&)",
            ),
            ("_ZN1SIiEC1IlEET_", "S<int>::S<long>(long)"),
            ("_ZN1SIiEC1El", "S<int>::S(long)"),
            ("_ZN1SIiEcvT_IlEEv", "S<int>::operator long<long>()"),
        ] {
            check(mangled, expected);
        }
        // A function template with a constructor as its argument has a return type.
        check("_Z1fIXadL_ZN1SC1IiEEvEEEvv", "void f<&S::S<int>()>()");
    }

    /// The expected text is `c++filt`'s.
    #[test]
    fn functions_around_closures_have_no_return_type() {
        for (mangled, expected) in [
            (
                "_ZZ3fooIiEvT_ENKUlvE_clEv",
                "foo<int>(int)::{lambda()#1}::operator()() const",
            ),
            ("_ZZ3fooIiEvT_E1x", "foo<int>(int)::x"),
            (
                "_ZZN1a3fooIiEEPNS_1bET_ENKUlS2_E_clES2_",
                "a::foo<int>(int)::{lambda(a::b*)#1}::operator()(a::b*) const",
            ),
            (
                "_Z3barIZ3fooIiEvT_EUlvE_EvS1_",
                "void bar<foo<int>(int)::{lambda()#1}>(foo<int>(int)::{lambda()#1})",
            ),
            (
                "_ZZ3fooIiEDaT_ENKUlS0_E_clIlEEDaS0_",
                "auto foo<int>(int)::{lambda(auto:1)#1}::operator()<long>(long) const",
            ),
            (
                "_ZZN1S1mEvENKUlvE_clEv",
                "S::m()::{lambda()#1}::operator()() const",
            ),
            (
                "_ZZN1ScvT_IiEEvENKUlvE_clEv",
                "S::operator int<int>()::{lambda()#1}::operator()() const",
            ),
            (
                "_ZZN1SC1IiEET_ENKUlvE_clEv",
                "S::S<int>(int)::{lambda()#1}::operator()() const",
            ),
        ] {
            check(mangled, expected);
        }
    }

    /// The expected text is `c++filt`'s.
    #[test]
    fn packs_are_expanded() {
        for (mangled, expected) in [
            (
                "_Z1fIJidcEEvDpOT_",
                "void f<int, double, char>(int&&, double&&, char&&)",
            ),
            (
                "_Z1fIJRidcEEvDpOT_",
                "void f<int&, double, char>(int&, double&&, char&&)",
            ),
            ("_Z1fIJiEEvDpRKT_", "void f<int>(int const&)"),
            (
                "_Z1fIJidcEEvDpRKT_",
                "void f<int, double, char>(int const&, double const&, char const&)",
            ),
            (
                "_Z1fIJidEEvDpPKT_",
                "void f<int, double>(int const*, double const*)",
            ),
            ("_Z1fIJEEvDpRKT_", "void f<>()"),
            ("_Z1fIiJEEvT_DpOT0_", "void f<int>(int)"),
            (
                "_Z1fIJSt6vectorIiSaIiEEiEEvDpOT_i",
                "void f<std::vector<int, std::allocator<int> >, int>(std::vector<int, std::allocator<int> >&&, int&&, int)",
            ),
            (
                "_Z1fIJilEEvSt5tupleIJDpOT_EE",
                "void f<int, long>(std::tuple<int&&, long&&>)",
            ),
            (
                "_Z1fIJLm1ELm2EEEvSt5arrayIJXspT_EEE",
                "void f<1ul, 2ul>(std::array<1ul, 2ul>)",
            ),
            ("_Z1fIJEEvSt5arrayIJXspT_EEE", "void f<>(std::array<>)"),
        ] {
            check(mangled, expected);
        }
    }

    #[test]
    fn half_demangled_rust_paths_are_completed() {
        for (name, expected) in [
            (
                "std::fs::File::open::hb90e1c1c787080f0",
                "std::fs::File::open",
            ),
            (
                "_$LT$F$u20$as$u20$alloc..boxed..FnBox$LT$A$GT$$GT$::call_box::h8612a2a83552fc2d",
                "<F as alloc::boxed::FnBox<A>>::call_box",
            ),
            (
                "std::panicking::try::do_call::hab896c32750930ec (.llvm.7886897009887049720)",
                "std::panicking::try::do_call",
            ),
            ("main", "main"),
            ("f(int)", "f(int)"),
            ("demo::h98daf2b03955812z", "demo::h98daf2b03955812z"),
            ("_ZN4Tree4walkEi", "Tree::walk(int)"),
        ] {
            let demangled = demangle_path(name.as_bytes());
            assert_eq!(String::from_utf8_lossy(&demangled), expected);
        }
    }

    #[test]
    fn names_that_are_not_mangled_stay_unchanged() {
        check("main", "main");
        check("_dl_start", "_dl_start");
        check("_Zebra", "_Zebra");
        check("_D2dd1A1fMFiZi", "_D2dd1A1fMFiZi");
    }

    /// Returns a C++ type whose name refers to itself twice at each level, so its length doubles.
    fn doubling(levels: usize) -> String {
        const DIGITS: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut name = "_Z1f1aIiiE".to_owned();
        for digit in &DIGITS[..levels] {
            let last = char::from(*digit);
            name += &format!("S_IS{last}_S{last}_E");
        }
        name
    }

    #[test]
    fn a_name_that_would_be_too_long_stays_mangled() {
        let name = doubling(8);
        let demangled = demangle(name.as_bytes());
        assert!(demangled.starts_with(b"f(a<int, int>"), "{name}");
        assert!(demangled.len() < LONGEST_DEMANGLED);
        // Each further level would double time and memory.
        let name = doubling(36);
        assert_eq!(demangle(name.as_bytes()), name.as_bytes());
    }
}
