//! The crate and the module that a function belongs to.

use bstr::BString;

use crate::paths::base_name;
use crate::structure::ParsedName;

/// The name of a profile for an unknown place.
const UNKNOWN: &str = "???";

/// Returns the crate of a function with this name, file and object. If the name has no path, as in C, returns the name of
/// the object instead. Without an object, returns the name of the file.
pub fn find_crate(name: &str, file: Option<&str>, obj: Option<&str>) -> String {
    let parsed = ParsedName::new(name.as_bytes());
    path_or_place(parsed.crate_name_in(file.unwrap_or_default()), file, obj)
}

/// Returns the module of a function, like [`find_crate`].
pub fn find_module(name: &str, file: Option<&str>, obj: Option<&str>) -> String {
    let parsed = ParsedName::new(name.as_bytes());
    path_or_place(parsed.module_name_in(file.unwrap_or_default()), file, obj)
}

fn path_or_place(path: Option<BString>, file: Option<&str>, obj: Option<&str>) -> String {
    let in_place = || {
        let mut places = [obj, file].into_iter().flatten();
        places
            .find(|place| *place != UNKNOWN)
            .map_or(UNKNOWN, base_name)
            .to_owned()
    };
    path.map_or_else(in_place, |path| path.to_string())
}

/// Returns true if a module is another one, or below it. Hyphens and underscores are alike, because cargo's names have
/// hyphens where Rust's paths have underscores.
pub fn is_within(module: &str, outer: &str) -> bool {
    let is_alike = |a: u8, b: u8| a == b || matches!((a, b), (b'-', b'_') | (b'_', b'-'));
    let (module, outer) = (module.as_bytes(), outer.as_bytes());
    let Some((start, rest)) = module.split_at_checked(outer.len()) else {
        return false;
    };
    let mut pairs = start.iter().zip(outer);
    pairs.all(|(a, b)| is_alike(*a, *b)) && (rest.is_empty() || rest.starts_with(b"::"))
}

/// Returns true if two names are of the same crate. Hyphens and underscores are alike.
pub fn is_same_crate(one: &str, other: &str) -> bool {
    one.len() == other.len() && is_within(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_is_found_in_implementations_closures_and_generic_arguments() {
        for (name, expected) in [
            ("bytes::Bytes::len", "bytes"),
            ("<bytes::BytesMut as core::ops::drop::Drop>::drop", "bytes"),
            ("<bytes::BytesMut>::put::<u8>", "bytes"),
            ("bytes::buf::put::{closure#0}", "bytes"),
            ("<core::option::Option<bytes::Bytes>>::take", "core"),
        ] {
            assert_eq!(find_crate(name, None, None), expected, "{name}");
        }
        assert_eq!(
            find_crate("malloc", Some("/src/malloc.c"), Some("/lib/libc.so.6")),
            "libc.so.6"
        );
        assert_eq!(
            find_crate("malloc", Some("/src/malloc.c"), Some("???")),
            "malloc.c"
        );
        assert_eq!(find_module("bytes::buf::put", None, None), "bytes::buf");
    }

    #[test]
    fn names_of_crates_and_modules_are_whole_names() {
        for (module, outer, expected) in [
            ("bytes::buf", "bytes::buf", true),
            ("bytes::buf::chain", "bytes::buf", true),
            ("bytes::buffer", "bytes::buf", false),
            ("bytes", "byte", false),
            ("byte", "bytes", false),
            ("my_crate::a", "my-crate", true),
        ] {
            assert_eq!(is_within(module, outer), expected, "{module} {outer}");
        }
        assert!(is_same_crate("serde_json", "serde-json"));
        assert!(!is_same_crate("serde_json::de", "serde_json"));
    }
}
