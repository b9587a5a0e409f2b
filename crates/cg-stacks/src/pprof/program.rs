//! Names from the profiled program (`--exe`), for profiles that contain its mapping but not its build id.

use cg_debug_info::Search;
use cg_names::paths::base_name;
use cg_reader::plural;
use cg_stream::record::Name;

/// Finds the program among the objects of a profile: the object with the file name of `--exe`, or else the first object that
/// is not a library, as in the order of Linux' `/proc/PID/maps`.
pub(super) fn program_among<'o>(
    mut objects: impl Iterator<Item = &'o [u8]> + Clone,
    search: &Search,
) -> Option<&'o [u8]> {
    let is_library = |object: &[u8]| {
        let base = file_name(object);
        base.starts_with(b"[") || memchr::memmem::find(base, b".so").is_some()
    };
    let wanted = search.exe.as_deref().and_then(|path| path.file_name());
    let wanted = wanted.map(|name| name.as_encoded_bytes());
    objects
        .clone()
        .find(|object| Some(file_name(object)) == wanted)
        .or_else(|| objects.find(|object| !is_library(object)))
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns a warning about addresses of the program that have no names; `None` if all have names.
pub(super) fn left_unnamed(
    program: &[u8],
    left: usize,
    total: usize,
    search: &Search,
) -> Option<String> {
    let shown = Name::from_bytes(program);
    let shown = base_name(&shown);
    let looks_up = "cg-parse --exe PROGRAM FILE looks up names in the program";
    match (left, &search.exe) {
        (0, _) => None,
        (left, None) => Some(plural(
            left as u64,
            &format!("address of {shown} has no name in the profile; {looks_up}"),
            &format!("addresses of {shown} have no names in the profile; {looks_up}"),
        )),
        (_, Some(_)) => Some(format!(
            "the program of --exe has no names for {left} of {total} addresses of {shown}: it is stripped, or not the profiled build"
        )),
    }
}
