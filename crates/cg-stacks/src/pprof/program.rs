//! Names out of the program that was profiled (`--exe`), for profiles that say where it was mapped and not which build it
//! was.

use cg_debug_info::Search;
use cg_names::paths::base_name;
use cg_stream::record::Name;

/// The program among the objects of a profile: what is called like the program of `--exe`, else the first that is mapped and
/// no library: that is the order of Linux' `/proc/PID/maps`.
pub(super) fn program_among<'o>(
    mut objects: impl Iterator<Item = &'o [u8]> + Clone,
    search: &Search,
) -> Option<&'o [u8]> {
    let is_library = |object: &[u8]| {
        let base = base_name_of(object);
        base.starts_with(b"[") || memchr::memmem::find(base, b".so").is_some()
    };
    let wanted = search.exe.as_deref().and_then(|path| path.file_name());
    let wanted = wanted.map(|name| name.as_encoded_bytes());
    objects
        .clone()
        .find(|object| Some(base_name_of(object)) == wanted)
        .or_else(|| objects.find(|object| !is_library(object)))
}

fn base_name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// What a user should know of addresses of the program that are left without names.
pub(super) fn left_unnamed(
    program: &[u8],
    left: usize,
    of: usize,
    search: &Search,
) -> Option<String> {
    let shown = Name::from_bytes(program);
    let shown = base_name(&shown);
    match (left, &search.exe) {
        (0, _) => None,
        (_, None) => Some(format!(
            "{left} addresses of {shown} have no names, as the profile has none; cg-parse --exe PROGRAM FILE takes them from the program"
        )),
        (_, Some(_)) => Some(format!(
            "{left} of {of} addresses of {shown} have no names in the program of --exe: it is stripped, or not the build that was profiled"
        )),
    }
}
