use super::*;

fn text(name: Option<impl ToString>) -> Option<String> {
    name.map(|name| name.to_string())
}

#[test]
fn crates_and_modules_are_found_in_demangled_names() {
    for (function, expected_crate, expected_module) in [
        ("demo::main", Some("demo"), Some("demo")),
        (
            "demo::parse::Parser::next",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "demo::parse::Parser<T>::next::<u8>",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "demo::parse::Parser::next::skip_blanks",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "demo::parse::next::{closure#0}",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "demo::parse::next::{{closure}}",
            Some("demo"),
            Some("demo::parse"),
        ),
        ("demo[1a2b]::parse::next", Some("demo"), Some("demo::parse")),
        (
            "<demo::parse::Parser as core::iter::Iterator>::next",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "<demo::parse::Parser>::next",
            Some("demo"),
            Some("demo::parse"),
        ),
        (
            "<alloc::vec::Vec<T, A> as core::iter::Extend<demo::X>>::extend",
            Some("alloc"),
            Some("alloc::vec"),
        ),
        (
            "<&demo::log::Line as core::fmt::Debug>::fmt",
            Some("demo"),
            Some("demo::log"),
        ),
        (
            "<&T as core::fmt::Debug>::fmt",
            Some("core"),
            Some("core::fmt"),
        ),
        (
            "<u8 as alloc::slice::hack::ConvertVec>::to_vec",
            Some("alloc"),
            Some("alloc::slice::hack"),
        ),
        (
            "<[A] as core::slice::cmp::SlicePartialEq<B>>::equal",
            Some("core"),
            Some("core::slice::cmp"),
        ),
        (
            "<F as core::ops::function::FnOnce<(A,)>>::call_once",
            Some("core"),
            Some("core::ops::function"),
        ),
        (
            "<dyn demo::Shape as core::any::Any>::type_id",
            Some("demo"),
            Some("demo"),
        ),
        (
            "<<demo::a::B as demo::C>::D as demo::E>::f",
            Some("demo"),
            Some("demo::a"),
        ),
        (
            "core::fmt::impls::<impl core::fmt::Debug for u64>::fmt",
            Some("core"),
            Some("core::fmt::impls"),
        ),
        (
            "core::ptr::drop_in_place<alloc::string::String>",
            Some("core"),
            Some("core::ptr"),
        ),
        (
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            Some("core"),
            Some("core::ops::function"),
        ),
        (
            "<fn(u8) -> demo::R as core::ops::function::FnOnce<(u8,)>>::call_once",
            Some("core"),
            Some("core::ops::function"),
        ),
        (
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            Some("std"),
            Some("std::vector"),
        ),
        ("void std::sort<int*>(int*, int*)", Some("std"), Some("std")),
        (
            "std::map<int, A>::iterator ns::find<int>(int)",
            Some("ns"),
            Some("ns"),
        ),
        (
            "ns::operator<<(std::ostream&, A const&)",
            Some("ns"),
            Some("ns"),
        ),
        (
            "bool ns::operator==<A>(A const&, A const&)",
            Some("ns"),
            Some("ns"),
        ),
        ("ns::A::operator()(int) const", Some("ns"), Some("ns")),
        ("ns::A::operator bool() const", Some("ns"), Some("ns")),
        (
            "(anonymous namespace)::helper(int)",
            Some("(anonymous namespace)"),
            Some("(anonymous namespace)"),
        ),
        (
            "ns::(anonymous namespace)::helper(int)",
            Some("ns"),
            Some("ns::(anonymous namespace)"),
        ),
        ("operator new(unsigned long)", None, None),
        ("main", None, None),
        ("malloc", None, None),
        ("f(std::string)", None, None),
        ("f [clone .cold]", None, None),
        ("decltype(auto) ns::k<int>(int)", Some("ns"), Some("ns")),
        (
            "decltype (f<int>()) ns::in::k<int>(int)",
            Some("ns"),
            Some("ns::in"),
        ),
        ("void (*ns::pick<int>(int))(char)", Some("ns"), Some("ns")),
        (
            "ns::run(int)::{lambda(int)#1}::operator()(int) const",
            Some("ns"),
            Some("ns::run"),
        ),
        (
            "ns::A::f() const::'lambda0'(int)::operator()(int) const",
            Some("ns"),
            Some("ns"),
        ),
        ("ns::a<(ns::E)1>::b()", Some("ns"), Some("ns::a")),
        ("ns::h(int) [clone .cold]", Some("ns"), Some("ns")),
        ("ns::f[abi:cxx11](int)", Some("ns"), Some("ns")),
        ("ns::a<((ns::b)>(1))>::f(int)", Some("ns"), Some("ns::a")),
        ("non-virtual thunk to ns::A::f()", Some("ns"), Some("ns")),
        ("operator delete[](void*)", None, None),
        ("demo::{impl#4}::fmt", Some("demo"), Some("demo")),
        ("???", None, None),
        ("0x00000000000080d8", None, None),
        ("", None, None),
        ("<", None, None),
        ("::", None, None),
    ] {
        assert_eq!(
            text(ParsedName::new(function.as_bytes()).crate_name()),
            expected_crate.map(str::to_owned),
            "crate of {function}"
        );
        assert_eq!(
            text(ParsedName::new(function.as_bytes()).module_name()),
            expected_module.map(str::to_owned),
            "module of {function}"
        );
        let name = ParsedName::new(function.as_bytes());
        assert_eq!(
            name.is_bare(),
            name.segments().len() == 1,
            "segments of {function}"
        );
    }
}

#[test]
fn names_are_split_into_path_short_name_and_suffix() {
    for (name, path, short, suffix) in [
        (
            "decltype(auto) std::__do_visit<R, V&>(V&&, std::variant<A, B>&)",
            "std::__do_visit<R, V&>",
            "__do_visit",
            "",
        ),
        (
            "std::pair<int, int> g::h<char>(char) const",
            "g::h<char>",
            "h",
            " const",
        ),
        (
            "operator new(unsigned long)",
            "operator new",
            "operator new",
            "",
        ),
        (
            "A::operator()<int>(int)",
            "A::operator()<int>",
            "operator()",
            "",
        ),
        (
            "A::operator bool() const",
            "A::operator bool",
            "operator bool",
            " const",
        ),
        ("f(int, char)", "f", "f", ""),
        ("<A as B>::f", "<A as B>::f", "f", ""),
        ("main", "main", "main", ""),
        ("(below main)", "(below main)", "(below main)", ""),
        (
            "make(int, int*) [clone .constprop.0]",
            "make",
            "make",
            " [clone .constprop.0]",
        ),
        ("f [clone .cold]", "f", "f", " [clone .cold]"),
        (
            "do_call<&(dyn a::Fn<(), Output=i32>), i32>",
            "do_call<&(dyn a::Fn<(), Output=i32>), i32>",
            "do_call",
            "",
        ),
        (
            "demo::main::{closure#0}",
            "demo::main::{closure#0}",
            "main",
            "",
        ),
        ("", "", "", ""),
    ] {
        let parsed = ParsedName::new(name.as_bytes());
        assert_eq!(parsed.path(), path, "path of {name}");
        assert_eq!(parsed.short_name(), short, "short name of {name}");
        assert_eq!(parsed.suffix(), suffix, "suffix of {name}");
    }
}

#[test]
fn segments_begin_after_separators_outside_of_brackets() {
    for (name, expected) in [
        ("calc::stats::f", "calc|stats|f"),
        ("<calc::Log as core::fmt::Debug>::fmt", "<calc|fmt"),
        ("calc::each::<calc::main::{closure}>", "calc|each"),
        ("calc::main::{closure#0}", "calc|main"),
        ("void ns::sort<int>(ns::A const&)", "ns|sort<int"),
        ("(anonymous namespace)::f", "(anonymous|f"),
        ("a::operator->", "a|operator"),
        ("main", "main"),
        ("", ""),
    ] {
        let starts = ParsedName::new(name.as_bytes()).segment_starts();
        let words: Vec<&str> = starts
            .iter()
            .map(|start| {
                let rest = &name[*start..];
                let is_end = |c: char| !(c.is_alphanumeric() || "<(".contains(c));
                &rest[..rest.find(is_end).unwrap_or(rest.len())]
            })
            .collect();
        assert_eq!(words.join("|"), expected, "{name}");
    }
}

#[test]
fn generic_arguments_are_compared_whole() {
    for (name, expected) in [
        ("insert<i32, u8, alloc::alloc::Global>", true),
        ("a::B<alloc::alloc::Global>::f", true),
        ("insert<Vec<u8, alloc::alloc::Global>>", false),
        ("f(alloc::alloc::Global)", false),
        ("f", false),
    ] {
        let parsed = ParsedName::new(name.as_bytes());
        assert_eq!(
            parsed.has_generic_argument("alloc::alloc::Global"),
            expected,
            "{name}"
        );
    }
}

#[test]
fn identifiers_equal_those_of_the_mangled_name() {
    for (name, expected) in [
        ("void std::vector<int>::push(int)", "std vector push"),
        ("<demo::Tree as core::ops::Drop>::drop", "demo Tree drop"),
        ("<&mut demo::Tree>::walk::{closure#0}", "demo Tree walk"),
        ("ns::operator<<(std::ostream&, A const&)", "ns"),
        ("demo[1a2b3c4d]::f", "demo f"),
    ] {
        let parsed = ParsedName::new(name.as_bytes());
        let words: Vec<String> = parsed.identifiers().iter().map(|w| w.to_string()).collect();
        assert_eq!(words.join(" "), expected, "{name}");
    }
}

#[test]
fn methods_of_built_in_types_belong_to_the_library_that_defines_them() {
    for (function, file, expected_crate, expected_module) in [
        ("<u8>::is_ascii", "", "core", "core::num"),
        (
            "<f64>::sin",
            "/rustc/x/library/std/src/f64.rs",
            "std",
            "std::num",
        ),
        ("<str>::trim", "", "core", "core::str"),
        ("<char>::to_digit", "", "core", "core::char"),
        ("<[u8]>::sort", "", "core", "core::slice"),
        ("<[demo::Item]>::sort::<fn()>", "", "core", "core::slice"),
        ("<[u8; 4]>::map", "", "core", "core::array"),
        ("<*const demo::Item>::add", "", "core", "core::ptr"),
        ("<*mut [u8]>::len", "", "core", "core::ptr"),
        (
            "<[u8]>::to_vec",
            "/rustc/x/library/alloc/src/slice.rs",
            "alloc",
            "alloc::slice",
        ),
        (
            "<[u8]>::to_vec",
            "library/alloc/src/slice.rs",
            "alloc",
            "alloc::slice",
        ),
        (
            "<[u8]>::to_vec",
            "/home/dev/library/demo/src/slice.rs",
            "core",
            "core::slice",
        ),
        (
            "<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec",
            "library/alloc/src/slice.rs",
            "alloc",
            "alloc::slice",
        ),
        // The methods of a trait belong to the crate of the trait, even if they were inlined into another file.
        (
            "<u8 as core::clone::Clone>::clone",
            "library/alloc/src/slice.rs",
            "core",
            "core::clone",
        ),
        ("<&str as text::Pattern>::find", "", "text", "text"),
        ("<u8 as wire::Codec>::encode", "", "wire", "wire"),
        ("<[demo::Item] as wire::Codec>::encode", "", "wire", "wire"),
        (
            "<(u8, demo::Item) as core::cmp::Ord>::cmp",
            "",
            "core",
            "core::cmp",
        ),
        ("<&demo::Item as core::fmt::Debug>::fmt", "", "demo", "demo"),
        (
            "<demo::Item>::len",
            "library/alloc/src/slice.rs",
            "demo",
            "demo",
        ),
        ("<u8x::Lane>::add", "", "u8x", "u8x"),
    ] {
        let name = ParsedName::new(function.as_bytes());
        let found = (
            text(name.crate_name_in(file)),
            text(name.module_name_in(file)),
        );
        let expected = (
            Some(expected_crate.to_owned()),
            Some(expected_module.to_owned()),
        );
        assert_eq!(found, expected, "{function} {file}");
    }
}

#[test]
fn names_may_be_cut_short_anywhere() {
    for name in [
        "void (*demo::f<int>(int))(char)",
        "f (*demo::g",
        "<demo::parse::Parser as core::iter::Iterator>::next::{closure#0}",
        "decltype (a(*b)) std::vector<int, A<(B)1> >::operator bool(int (*)(char)) const [clone .cold]",
        "run(int)::{lambda(int)#1}::operator()(int) const",
    ] {
        for end in 0..=name.len() {
            let parsed = ParsedName::new(&name.as_bytes()[..end]);
            let _ = (
                parsed.crate_name(),
                parsed.module_name(),
                parsed.implementor(),
            );
            let path = parsed.path();
            let shown = &name[..end];
            assert!(shown.contains(&path.to_string()), "{path}: {shown}");
            assert!(
                parsed.segment_starts().iter().all(|start| *start <= end),
                "{shown}"
            );
        }
    }
    let cut = ParsedName::new(b"void (*demo::f<int");
    assert_eq!(cut.path(), "demo::f<int");
    assert_eq!(text(cut.crate_name()).as_deref(), Some("demo"));
    assert_eq!(ParsedName::new(b"f (*").path(), "");
}
