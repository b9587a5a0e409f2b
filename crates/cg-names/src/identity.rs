//! Identity of functions, files and objects across builds: by the rules, and by Rust's two mangling schemes.
//!
//! cg-diff joins rows, baselines identify findings, and `--stable-names` writes names with these functions, so all agree.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::mangling::{RustPath, can_be_instance};
use crate::paths::base_name;
use crate::rules::{Part, Rules, Strength};
use crate::structure::ParsedName;

static RULES: LazyLock<Rules> = LazyLock::new(Rules::from_table);

/// Returns the normal form of a function's name, which is the same in every build of the same source.
///
/// ```
/// use cg_names::identity::normal_function;
///
/// assert_eq!(normal_function("_ZN4demo4sort17h0123456789abcdefE"), "demo::sort");
/// assert_eq!(normal_function("demo::sort.llvm.77"), "demo::sort");
/// ```
pub fn normal_function(name: &str) -> Cow<'_, str> {
    RULES.apply(name, Part::Function, Strength::Counter).0
}

/// Removes the parts of a function's name that differ between builds. Different functions of one build, including closures,
/// keep different names.
pub fn normal_function_within_build(name: &str) -> Cow<'_, str> {
    RULES.apply(name, Part::Function, Strength::Build).0
}

/// Returns the normal form of an object's path: its base name without version and hash.
pub fn normal_object(path: &str) -> Cow<'_, str> {
    match RULES.apply(path, Part::Object, Strength::Counter).0 {
        Cow::Borrowed(path) => Cow::Borrowed(base_name(path)),
        Cow::Owned(path) => Cow::Owned(base_name(&path).to_owned()),
    }
}

/// Returns the normal form of a source file's path: its base name. The directories differ from machine to machine.
pub fn normal_file(path: &str) -> &str {
    base_name(path)
}

/// Returns true if one of two different normal forms is the legacy name of a Rust function, and the other is the v0 name of
/// one of its instances. This relation is not transitive: `f` is the legacy name of both `f::<u8>` and `f::<u16>`.
pub fn is_same_in_other_mangling(a: &str, b: &str) -> bool {
    let is_instance = |instance: &str, pattern: &str| {
        can_be_instance(instance)
            && RustPath::new(instance)
                .matches(&RustPath::new(pattern))
                .is_some()
    };
    is_instance(a, b) || is_instance(b, a)
}

/// Returns true for a source of C. There, the bare name of an inlined function is its whole name.
pub fn is_source_of_c(file: &str) -> bool {
    file.ends_with(".c")
}

/// Returns true for a shared library, which every run may load at another address.
pub fn is_shared_library(path: &str) -> bool {
    let base = base_name(path);
    base.ends_with(".so") || base.contains(".so.")
}

/// Returns true for a name with neither a path nor parameters, as debug information names inlined functions: `get`.
pub fn is_bare_name(name: &str) -> bool {
    let parsed = ParsedName::new(name.as_bytes());
    parsed.is_bare() && parsed.path() == name
}

/// Returns true if two different normal forms at one place of the source belong to the same function: one is the bare name of
/// the other, or they differ only in the names that compilers give to lambdas.
///
/// ```
/// use cg_names::identity::is_same_at_one_place;
///
/// assert!(is_same_at_one_place("get", "app::Cache<app::Node>::get(int)"));
/// assert!(!is_same_at_one_place("get", "app::Cache<app::Node>::put(int)"));
/// ```
pub fn is_same_at_one_place(a: &str, b: &str) -> bool {
    let is_bare_form = |bare: &str, full: &str| {
        let [own, other] = [bare, full].map(|name| ParsedName::new(name.as_bytes()));
        let ends_with_it = || {
            let path = other.path().strip_suffix(bare.as_bytes());
            path.is_some_and(|path| path.ends_with(b"::"))
        };
        is_bare_name(bare) && (own.short_name() == other.short_name() || ends_with_it())
    };
    is_bare_form(a, b) || is_bare_form(b, a) || {
        let (a, b) = (with_equal_lambdas(a), with_equal_lambdas(b));
        a.is_some() && a == b
    }
}

/// Replaces the names that compilers give to lambdas: `{lambda(int)}` by GCC, `$_0` by Clang, which the normal form turns into
/// `{unnamed type}`. Returns `None` for a name without these.
fn with_equal_lambdas(name: &str) -> Option<String> {
    const LAMBDA: &str = "{lambda(";
    const UNNAMED: &str = "{unnamed type}";
    let mut text = name.replace(UNNAMED, "{lambda}");
    while let Some(start) = text.find(LAMBDA) {
        let mut depth = 1u32;
        let inside = &text[start + 1..];
        let end = inside.find(|next| {
            depth = match next {
                '{' => depth + 1,
                '}' => depth - 1,
                _ => depth,
            };
            depth == 0
        })?;
        text.replace_range(start..start + 1 + end + 1, "{lambda}");
    }
    (text != name).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_at_one_place_are_the_same_if_one_is_bare_or_only_lambdas_differ() {
        for (a, b, expected) in [
            ("get", "app::Cache<app::Node>::get(int)", true),
            ("get<int>", "app::get<int>(int)", true),
            ("get", "app::forget(int)", false),
            ("get", "put", false),
            ("get(int)", "app::get(int)", false),
            ("operator=", "app::Foo::operator=(app::Foo const&)", true),
            ("operator<<", "app::operator<<(app::Out&, int)", true),
            ("operator bool", "app::Foo::operator bool() const", true),
            ("operator[]", "app::Foo::operator[](int)", true),
            ("~Foo", "app::Foo::~Foo()", true),
            ("Foo", "app::Foo::~Foo()", false),
            ("operator()", "run(int)::$_0::operator()(int) const", true),
            ("parse", "demo::Parser<T>::parse", true),
            (
                "run(int)::{lambda(int)#1}::operator()(int) const",
                "run(int)::$_0::operator()(int) const",
                true,
            ),
            (
                "void each<run(int)::{lambda(void ({unnamed type#1}))#1}>()",
                "void each<run(int)::$_1>()",
                true,
            ),
            (
                "run(int)::{lambda(int)#1}::operator()(int) const",
                "go(int)::$_0::operator()(int) const",
                false,
            ),
            ("app::f(int)", "app::g(int)", false),
        ] {
            let [a, b] = [a, b].map(normal_function);
            assert_eq!(is_same_at_one_place(&a, &b), expected, "{a} {b}");
            assert_eq!(is_same_at_one_place(&b, &a), expected, "{a} {b}");
        }
    }

    /// Returns true if two names belong to the same function.
    fn same(a: &str, b: &str) -> bool {
        let (a, b) = (normal_function(a), normal_function(b));
        a == b || is_same_in_other_mangling(&a, &b)
    }

    #[test]
    fn names_that_differ_only_between_builds_belong_to_one_function() {
        for (a, b, expected) in [
            ("parse(int) [clone .isra.0]", "parse(int)", true),
            (
                "make(int, int*) [clone .constprop.0]",
                "make(int, int*)",
                true,
            ),
            (
                "run(int)::'lambda'(int)::operator()(int) const",
                "run(int)::'lambda0'(int)::operator()(int) const",
                true,
            ),
            (
                "run(int)::'lambda0'(int)::operator()(int) const",
                "run(int)::{lambda(int)#2}::operator()(int) const",
                true,
            ),
            ("demo::{{closure}}", "demo::{closure#0}", true),
            ("demo::main::{closure#1}", "demo::main::{closure#2}", true),
            (
                "_ZN4demo1f17h463b2c6f0ba30854E",
                "_ZN4demo1f17h463b2c6f0ba30855E",
                true,
            ),
            ("_ZN4demo1f17h463b2c6f0ba30854E", "demo::f", true),
            (
                "_RNvCs6xxl1lAjzDf_4demo1f",
                "_RNvCs6xxl1lAjzDg_4demo1f",
                true,
            ),
            ("_RNvCs6xxl1lAjzDf_4demo1f", "demo::f", true),
            ("parse.specialized.3", "parse", true),
            ("parse.warm", "parse", true),
            ("make+35", "make+40", true),
            ("make+0x23", "make", true),
            ("memcpy@@GLIBC_2.14", "memcpy@@GLIBC_2.20", true),
            ("memcpy@GLIBC_2.2.5", "memcpy", true),
            (
                "demo::f::h0123456789abcdef",
                "demo::f::hfedcba9876543210",
                true,
            ),
            (
                "demo[8f3b2c1d9e0a7f65]::f",
                "demo[0f3b2c1d9e0a7f66]::f",
                true,
            ),
            ("f[abi:cxx11](int)", "f(int)", true),
            ("0x401136", "0x0000000000401a50", true),
            (
                "alloc::raw_vec::RawVecInner<A>::finish_grow",
                "<alloc::raw_vec::RawVecInner>::finish_grow",
                true,
            ),
            (
                "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
                "<alloc::vec::Vec<u8> as core::ops::drop::Drop>::drop",
                true,
            ),
            ("demo::f", "demo::f::<u8>", true),
            ("f(int)", "f(long)", false),
            ("f(int)", "f(int) const", false),
            ("f<int>(int)", "f<long>(int)", false),
            ("demo::parse::<u8>", "demo::parse::<u16>", false),
            ("<demo::A as demo::T>::f", "<demo::B as demo::T>::f", false),
            ("operator+(A, A)", "operator-(A, A)", false),
            ("operator++(A)", "operator+(A)", false),
            ("demo::a", "demo::b", false),
            ("demo::f", "demo::f::{closure#0}", false),
            (
                "f()::{lambda(int)#1}::operator()(int) const",
                "f()::{lambda(long)#1}::operator()(long) const",
                false,
            ),
            ("A::f()", "B::f()", false),
            ("part", "cold", false),
            ("demo::part::f", "demo::f", false),
            ("read@plt", "read", false),
            ("f(A&)", "f(A&&)", false),
            ("~A", "A", false),
        ] {
            assert_eq!(same(a, b), expected, "{a} | {b}");
            assert_eq!(same(b, a), expected, "{b} | {a}");
        }
    }

    #[test]
    fn normalising_a_normal_form_changes_nothing() {
        for name in [
            "demo::main::{closure}",
            "run(int)::{lambda(int)}::operator()(int) const",
            "0x…",
            "core::fmt::write",
        ] {
            assert_eq!(normal_function(name), name);
        }
    }

    #[test]
    fn normal_objects_have_no_directory_version_or_hash() {
        for (path, expected) in [
            ("/t/debug/deps/demo-eeddf575c8605867", "demo"),
            ("/t/demo-2.0", "demo-2.0"),
            (
                "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30",
                "libstdc++.so",
            ),
            ("demo", "demo"),
        ] {
            assert_eq!(normal_object(path), expected);
        }
    }
}
