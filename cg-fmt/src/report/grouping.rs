//! The criteria for groups, and the group of a function.

use cg_names::code_origin::CodeOwner;
use cg_names::membership::{find_crate, find_module};

use crate::options::GroupBy;

/// The group of rows whose group is unknown.
pub(crate) const UNKNOWN: &str = "???";

impl GroupBy {
    /// Returns the name of the column with the names of groups.
    pub(crate) fn column(self) -> &'static str {
        match self {
            GroupBy::Function => "fn",
            GroupBy::File => "file",
            GroupBy::Object => "obj",
            GroupBy::Crate => "crate",
            GroupBy::Module => "module",
            GroupBy::Thread => "thread",
            GroupBy::Process => "process",
            GroupBy::Whose => "whose",
            GroupBy::Bench => "bench",
        }
    }

    pub(crate) fn noun(self, count: usize) -> &'static str {
        let (one, many) = match self {
            GroupBy::Function => ("function", "functions"),
            GroupBy::File => ("file", "files"),
            GroupBy::Object => ("object", "objects"),
            GroupBy::Crate => ("crate", "crates"),
            GroupBy::Module => ("module", "modules"),
            GroupBy::Thread => ("thread", "threads"),
            GroupBy::Process => ("process", "processes"),
            GroupBy::Whose => ("owner", "owners"),
            GroupBy::Bench => ("benchmark", "benchmarks"),
        };
        if count == 1 { one } else { many }
    }
}

/// Returns the group of a function with these names. If names have no path, as in C, the object replaces crate and module.
/// Without an object, the file replaces them.
pub(crate) fn find_group(
    name: Option<&str>,
    file: Option<&str>,
    obj: Option<&str>,
    by: GroupBy,
) -> String {
    let known = |text: Option<&str>| text.unwrap_or(UNKNOWN).to_owned();
    let text = name.unwrap_or_default();
    match by {
        GroupBy::Function => known(name),
        GroupBy::File => known(file),
        GroupBy::Object => known(obj),
        GroupBy::Crate => find_crate(text, file, obj),
        GroupBy::Module => find_module(text, file, obj),
        GroupBy::Whose => CodeOwner::from_names([name, file, obj]).word().to_owned(),
        // The thread, process and benchmark of a function are unknown.
        GroupBy::Thread | GroupBy::Process | GroupBy::Bench => known(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_path_are_grouped_by_object_then_file() {
        let group = |name, file, obj| find_group(name, file, obj, GroupBy::Crate);
        assert_eq!(
            group(Some("demo::main"), None, Some("/usr/bin/demo")),
            "demo"
        );
        assert_eq!(
            group(Some("malloc"), Some("malloc.c"), Some("/lib/libc.so.6")),
            "libc.so.6"
        );
        assert_eq!(
            group(Some("malloc"), Some("/src/malloc.c"), None),
            "malloc.c"
        );
        assert_eq!(group(None, None, None), "???");
    }
}
