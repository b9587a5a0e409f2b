//! What rows are grouped by, and the group of a function.

use bstr::BString;
use cg_names::paths::base_name;
use cg_names::structure::ParsedName;
use cg_names::whose::CodeOwner;

use crate::options::GroupBy;

/// The group of rows that tell no group.
pub(crate) const UNKNOWN: &str = "???";

impl GroupBy {
    /// The name of the column that has the groups' names.
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
        };
        if count == 1 { one } else { many }
    }
}

/// The group of a function with these names. Where names have no path, as in C, the object stands for crate and module,
/// and where there is no object, the file.
pub(crate) fn group_of(
    name: Option<&str>,
    file: Option<&str>,
    obj: Option<&str>,
    by: GroupBy,
) -> String {
    let known = |text: Option<&str>| text.unwrap_or(UNKNOWN).to_owned();
    let in_place = || {
        let mut places = [obj, file].into_iter().flatten();
        places
            .find(|place| *place != UNKNOWN)
            .map_or(UNKNOWN, base_name)
            .to_owned()
    };
    let function = ParsedName::new(name.unwrap_or_default().as_bytes());
    let of_path = |view: Option<BString>| view.map_or_else(in_place, |view| view.to_string());
    match by {
        GroupBy::Function => known(name),
        GroupBy::File => known(file),
        GroupBy::Object => known(obj),
        GroupBy::Crate => of_path(function.crate_name_in(file.unwrap_or_default())),
        GroupBy::Module => of_path(function.module_name_in(file.unwrap_or_default())),
        GroupBy::Whose => CodeOwner::of([name, file, obj]).word().to_owned(),
        // A function does not tell its thread or process.
        GroupBy::Thread | GroupBy::Process => known(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_path_are_grouped_by_object_then_file() {
        let of = |name, file, obj| group_of(name, file, obj, GroupBy::Crate);
        assert_eq!(of(Some("demo::main"), None, Some("/usr/bin/demo")), "demo");
        assert_eq!(
            of(Some("malloc"), Some("malloc.c"), Some("/lib/libc.so.6")),
            "libc.so.6"
        );
        assert_eq!(of(Some("malloc"), Some("/src/malloc.c"), None), "malloc.c");
        assert_eq!(of(None, None, None), "???");
    }
}
