//! The relation of source files to the crates of functions.

use std::borrow::Cow;

use bstr::{BString, ByteSlice as _};

use super::facts::is_primitive;
use super::places_of_code::Directory;
use super::tables::RUNTIME_CRATES;
use crate::structure::ParsedName;

/// The relation of a file to a Rust function, by the names of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileFit {
    /// The file belongs to another project, so its code was inlined into the function.
    Other,
    /// The file may be the function's own.
    Possible,
    /// The file belongs to the function's crate.
    Own,
}

/// Returns the relation of a file to a function. A name without a path and a file that is no Rust source fit.
pub fn fit_file(name: &str, file: &str) -> FileFit {
    if !name.contains("::") || !file.ends_with(".rs") {
        return FileFit::Possible;
    }
    let function = ParsedName::new(name.as_bytes());
    let implementor = function.implementor();
    let (first, second) = match implementor {
        Some(implementor) => (implementor.type_crate, implementor.trait_crate),
        None => (function.crate_name().map(Cow::into_owned), None),
    };
    let crates = || {
        let names = [&first, &second].into_iter().flatten();
        names.filter(|name| !is_primitive(name.as_bstr()))
    };
    let is_own = |folder: &str| crates().any(|name| is_folder_of_crate(folder, name));
    let belongs = match Directory::from_path(file) {
        Directory::None | Directory::Bare | Directory::BelowSrc | Directory::Elsewhere => {
            // A function of the library is in no file of the program.
            let is_of_library = |name: &BString| {
                let mut libraries = RUNTIME_CRATES.iter();
                libraries.any(|library| name == library)
            };
            return match crates().all(is_of_library) {
                true => FileFit::Other,
                false => FileFit::Possible,
            };
        }
        Directory::Runtime => crate_of_library(file).is_some_and(is_own),
        Directory::Dependency | Directory::Installed | Directory::System => {
            file.split('/').any(|folder| {
                let versioned = folder.rsplit_once('-').map(|(name, _)| name);
                is_own(folder) || versioned.is_some_and(is_own)
            })
        }
    };
    match belongs {
        true => FileFit::Own,
        false => FileFit::Other,
    }
}

/// Returns true if a folder has the name of a crate. Names of packages contain `-` in place of `_`.
fn is_folder_of_crate(folder: &str, name: &[u8]) -> bool {
    let is_same = |(folder, name): (u8, &u8)| folder == *name || (folder == b'-' && *name == b'_');
    folder.len() == name.len() && folder.bytes().zip(name).all(is_same)
}

/// Returns the crate of a file of Rust's library or of its test harness: `core` for `library/core/src/…`, `getopts` for
/// `/rust/deps/getopts-0.2.21/src/…`.
fn crate_of_library(path: &str) -> Option<&str> {
    if let Some((_, rest)) = path.rsplit_once("/rust/deps/") {
        let folder = rest.split('/').next()?;
        return folder.rsplit_once('-').map(|(name, _)| name);
    }
    let (_, rest) = path.split_once("library/")?;
    rest.split('/').next()
}

/// Returns true if a file of Rust's library belongs to the crate of a function: `library/test/src/lib.rs`,
/// `/rust/deps/getopts-0.2.21/src/lib.rs`.
pub(super) fn is_file_of_its_crate(function: &ParsedName, path: &str) -> bool {
    let Some(name) = function.crate_name() else {
        return false;
    };
    crate_of_library(path).is_some_and(|folder| is_folder_of_crate(folder, &name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_project_does_not_fit_a_function() {
        const AVX: &str =
            "/rustc/5980/library/core/src/../../stdarch/crates/core_arch/src/x86/avx.rs";
        const OWN: &str = "/home/dev/work/src/main.rs";
        const HTTPARSE: &str =
            "/home/dev/.cargo/registry/src/index-1949/httparse-1.8.0/src/simd/avx2.rs";
        use FileFit::{Other, Own, Possible};
        for (name, file, expected) in [
            ("httparse::simd::avx2::match_url", AVX, Other),
            ("httparse::simd::avx2::match_url", HTTPARSE, Own),
            ("httparse::simd::avx2::match_url", OWN, Possible),
            ("demo::main", OWN, Possible),
            ("demo::main", HTTPARSE, Other),
            ("core::str::from_utf8", OWN, Other),
            (
                "core::str::from_utf8",
                "/rustc/5980/library/core/src/str/mod.rs",
                Own,
            ),
            (
                "getopts::Options::parse",
                "/rust/deps/getopts-0.2.21/src/lib.rs",
                Own,
            ),
            (
                "<bytes::Bytes as core::ops::drop::Drop>::drop",
                OWN,
                Possible,
            ),
            ("main", "/usr/include/stdio.h", Possible),
            ("ns::f", "/usr/include/c++/12/vector", Possible),
        ] {
            assert_eq!(fit_file(name, file), expected, "{name} {file}");
        }
    }
}
