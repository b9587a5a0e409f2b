//! The rules by which a finding is the same as a known one, although the builds differ.
//!
//! Valgrind prints the bare name of an inlined function, and the full name otherwise; link-time optimisation may leave no
//! name. So the same frame may have other names in another build, and different frames may have the same bare name.

use cg_names::identity::{is_same_at_one_place, is_same_in_other_mangling};

use crate::fingerprint::{FrameMark, Place};
use crate::identity::IdentityFrame;

/// Returns true if two findings of the same kind have the same own frames.
pub(crate) fn is_same_stack(now: &[IdentityFrame], known: &[IdentityFrame]) -> bool {
    now.len() == known.len()
        && !now.is_empty()
        && (0..now.len()).all(|position| is_same_frame(now, known, position))
}

fn is_same_frame(now: &[IdentityFrame], known: &[IdentityFrame], position: usize) -> bool {
    let (a, b) = (&now[position], &known[position]);
    let is_at_one_place = a.place.is_some() && a.place == b.place;
    let [file, other_file] = [a, b].map(|frame| frame.place.as_ref().map(|place| &place.file));
    let is_same_source = a.source.is_some() && a.source == b.source && file == other_file;
    match (&a.mark, &b.mark) {
        (FrameMark::Name, FrameMark::Name) => {
            a.name == b.name
                || is_same_in_other_mangling(&a.name, &b.name)
                || (is_at_one_place && is_same_at_one_place(&a.name, &b.name))
        }
        (FrameMark::Bare(_), FrameMark::Bare(_)) if a.name == b.name => {
            is_at_one_place || is_same_source || moved_together(now, known, position)
        }
        (FrameMark::Line(_), FrameMark::Line(_)) => {
            match a.source.is_some() && b.source.is_some() {
                true => is_same_source,
                false => a.place == b.place && a.name == b.name,
            }
        }
        (FrameMark::Line(_), _) | (_, FrameMark::Line(_)) => false,
        (FrameMark::Unnamed(None), FrameMark::Unnamed(None)) => a.name == b.name,
        (FrameMark::Unnamed(_), FrameMark::Unnamed(_)) => is_at_one_place || is_same_source,
        (FrameMark::Unnamed(_), _) | (_, FrameMark::Unnamed(_)) => is_at_one_place,
        (FrameMark::Bare(_), _) | (_, FrameMark::Bare(_)) => {
            is_at_one_place && (a.name == b.name || is_same_at_one_place(&a.name, &b.name))
        }
    }
}

/// Returns true if all frames in the file of this frame moved by the same number of lines. A single frame shows nothing: any
/// other function of its name would have moved "together" with itself.
fn moved_together(now: &[IdentityFrame], known: &[IdentityFrame], position: usize) -> bool {
    let Some(place) = &now[position].place else {
        return false;
    };
    let is_there = |frame: &IdentityFrame| {
        let there = frame.place.as_ref();
        there.is_some_and(|there| there.file == place.file)
    };
    let distance = |a: &Option<Place>, b: &Option<Place>| {
        let (a, b) = (a.as_ref()?, b.as_ref()?);
        (a.file == b.file).then(|| i128::from(a.line) - i128::from(b.line))
    };
    let distances: Vec<Option<i128>> = now
        .iter()
        .zip(known)
        .filter(|(a, b)| is_there(a) || is_there(b))
        .map(|(a, b)| distance(&a.place, &b.place))
        .collect();
    distances.len() > 1 && distances[0].is_some() && distances.iter().all(|at| *at == distances[0])
}

/// Returns true if the known finding is from an older version, which treated more frames as own frames. All own frames must
/// have full names.
pub(crate) fn is_same_with_more_frames(
    now: &[IdentityFrame],
    all: &[String],
    known: &[IdentityFrame],
) -> bool {
    let names = |frames: &[IdentityFrame]| -> Option<Vec<String>> {
        let name = |frame: &IdentityFrame| {
            matches!(frame.mark, FrameMark::Name).then(|| frame.name.clone())
        };
        frames.iter().map(name).collect()
    };
    if now.len() >= known.len() {
        return false;
    }
    let (Some(now), Some(known)) = (names(now), names(known)) else {
        return false;
    };
    is_subsequence(&now, &known) && is_subsequence(&known, all)
}

/// Returns true if `part` is a subsequence of `whole`.
fn is_subsequence(part: &[String], whole: &[String]) -> bool {
    let same = |a: &String, b: &String| a == b || is_same_in_other_mangling(a, b);
    let mut rest = whole.iter();
    part.iter()
        .all(|wanted| rest.any(|found| same(wanted, found)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    /// Parses `word name file:line source` for each frame, with `-` for a missing place.
    fn stack(frames: &[&str]) -> Vec<IdentityFrame> {
        let frame = |text: &&str| {
            let mut words = text.splitn(4, ' ');
            let mut next = || words.next().unwrap_or("-");
            let (word, name, place, source) = (next(), next(), next(), next());
            let place: Option<Place> = place.parse().ok();
            IdentityFrame {
                name: name.to_owned(),
                mark: FrameMark::from_word(word, place.clone()).unwrap(),
                place,
                source: (source != "-").then(|| Rc::from(source)),
            }
        };
        frames.iter().map(frame).collect()
    }

    fn check(now: &[&str], known: &[&str], expected: bool) {
        let (now, known) = (stack(now), stack(known));
        assert_eq!(is_same_stack(&now, &known), expected, "{now:?} {known:?}");
        assert_eq!(is_same_stack(&known, &now), expected, "{known:?} {now:?}");
    }

    #[test]
    fn a_full_name_is_enough_wherever_its_line_moved() {
        check(&["name f(int) a.cpp:1"], &["name f(int) a.cpp:9"], true);
        check(&["name f(int) a.cpp:1"], &["name f(int)"], true);
        check(&["name f(int) a.cpp:1"], &["name g(int) a.cpp:1"], false);
        check(&["name f", "name main"], &["name main"], false);
        check(&[], &[], false);
    }

    #[test]
    fn names_that_differ_need_one_place() {
        let full = "name app::Left::get(int)";
        for (a, b, expected) in [
            (full, "bare get", true),
            (full, "bare put", false),
            (full, "unnamed a.cpp", true),
            ("bare get", "unnamed a.cpp", true),
            ("name get", "bare get", true),
        ] {
            let at = |text: &str, line: u64| format!("{text} a.cpp:{line}");
            check(&[&at(a, 5)], &[&at(b, 5)], expected);
            check(&[&at(a, 5)], &[&at(b, 6)], false);
            check(&[a], &[b], false);
        }
        check(
            &["bare get a.cpp:5"],
            &["name app::Left::get(int) b.cpp:5"],
            false,
        );
    }

    #[test]
    fn a_bare_name_needs_its_line_its_text_or_frames_that_moved_together() {
        let known = [
            "bare get a.cpp:5 f{get",
            "bare run a.cpp:16",
            "name main a.cpp:20",
        ];
        check(
            &[
                "bare get a.cpp:5",
                "bare run a.cpp:16",
                "name main a.cpp:25",
            ],
            &known,
            true,
        );
        check(
            &[
                "bare get a.cpp:8",
                "bare run a.cpp:19",
                "name main a.cpp:23",
            ],
            &known,
            true,
        );
        check(
            &[
                "bare get a.cpp:8",
                "bare run a.cpp:13",
                "name main a.cpp:20",
            ],
            &known,
            false,
        );
        check(
            &[
                "bare get a.cpp:8 f{get",
                "bare run a.cpp:16",
                "name main a.cpp:25",
            ],
            &known,
            true,
        );
        check(
            &[
                "bare get a.cpp:8 g{get",
                "bare run a.cpp:16",
                "name main a.cpp:25",
            ],
            &known,
            false,
        );
        // Copies of a function in two files have the same text.
        check(
            &["bare get a.cpp:5 f{get"],
            &["bare get b.cpp:5 f{get"],
            false,
        );
        // A single frame of a file shows nothing, and neither does an older entry without places.
        check(
            &["bare get a.h:8", "name main a.cpp:20"],
            &["bare get a.h:5", "name main a.cpp:20"],
            false,
        );
        check(&["bare get a.cpp:5"], &["name get"], false);
        // A frame of another file breaks the sequence.
        check(
            &["bare get a.h:8", "bare run a.h:9"],
            &["bare get a.h:5", "bare run b.h:6"],
            false,
        );
    }

    #[test]
    fn a_frame_without_a_name_needs_its_line_or_address() {
        check(&["unnamed lto.c lto.c:3"], &["unnamed lto.c lto.c:3"], true);
        check(
            &["unnamed lto.c lto.c:3"],
            &["unnamed lto.c lto.c:4"],
            false,
        );
        check(
            &["unnamed lto.c lto.c:3 f{x"],
            &["unnamed lto.c lto.c:4 f{x"],
            true,
        );
        // Without a name, moving together shows too little.
        check(
            &["unnamed lto.c lto.c:3", "name main lto.c:5"],
            &["unnamed lto.c lto.c:4", "name main lto.c:6"],
            false,
        );
        check(&["unnamed st+0x1"], &["unnamed st+0x1"], true);
        check(&["unnamed st+0x1"], &["unnamed st+0x2"], false);
    }

    #[test]
    fn a_line_without_a_stack_is_known_by_its_text_if_it_is_readable() {
        let at = "name overflow";
        for (now, known, expected) in [
            ("line a.c a.c:3", "line a.c a.c:3", true),
            ("line a.c a.c:3", "line a.c a.c:4", false),
            ("line a.c a.c:3 f{a", "line a.c a.c:4 f{a", true),
            ("line a.c a.c:3 f{a", "line a.c a.c:3 f{b", false),
            ("line a.c a.c:3 f{a", "line a.c a.c:3", true),
            ("line a.c a.c:3 f{a", "line b.c b.c:3 f{a", false),
            ("line a.c", "line a.c", true),
            ("line a.c", "line b.c", false),
        ] {
            check(&[at, now], &[at, known], expected);
            check(&[at, now], &["name other", known], false);
        }
    }

    #[test]
    fn an_older_entry_with_more_full_names_is_recognised() {
        let all: Vec<String> = ["malloc", "map", "parse", "main"].map(str::to_owned).into();
        let check = |now: &[&str], known: &[&str], expected: bool| {
            let found = is_same_with_more_frames(&stack(now), &all, &stack(known));
            assert_eq!(found, expected, "{known:?}");
        };
        let now = ["name parse", "name main"];
        check(&now, &["name map", "name parse", "name main"], true);
        check(&now, &["name other", "name parse", "name main"], false);
        check(&now, &["name map", "name main", "name parse"], false);
        check(&now, &["name main"], false);
        check(
            &["bare parse a.cpp:3", "name main"],
            &["name map", "name parse", "name main"],
            false,
        );
    }
}
