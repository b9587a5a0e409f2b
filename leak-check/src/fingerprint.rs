//! The identity of a finding across builds: its kind and the normalised names of its own frames.
//!
//! A fingerprint excludes what changes without an edit of the code: addresses, pids, line numbers, compilers' hashes, and
//! the frames of libc and the standard libraries. It also excludes bytes, blocks and counts, which depend on the program's
//! input; `--max-bytes` limits these.

use std::cell::RefCell;
use std::collections::HashMap;

use cg_names::code_origin::UNKNOWN_INLINED;
use cg_names::identity::{is_same_in_other_mangling, normal_function, normal_object};
use cg_names::paths::base_name;
use cg_stream::record::Frame;

use crate::finding::Finding;
use crate::own::frames_before;
use crate::stack::Stack;

/// A finding's identity across rebuilds and edits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint {
    /// Normal forms of the names of own frames, innermost first.
    pub(crate) frames: Vec<String>,
    /// A leak kind, or the error's kind as Valgrind's XML names it.
    pub(crate) kind: String,
}

impl Fingerprint {
    /// Creates a fingerprint from a line of a baseline. Normalises the names by the current rules, because earlier rules
    /// removed less.
    pub(crate) fn from_baseline(
        kind: String,
        frames: &[String],
        names: &NormalNames,
    ) -> Fingerprint {
        let mut normal = Vec::with_capacity(frames.len());
        for frame in frames {
            push_folded(&mut normal, names.normal(frame));
        }
        Fingerprint {
            frames: normal,
            kind,
        }
    }

    /// Returns 16 hex digits, for formats that need a short text. Uses FNV-1a, which is the same on every machine and in
    /// every version, unlike the hashes of the standard library.
    pub(crate) fn hex(&self) -> String {
        let parts = std::iter::once(&self.kind).chain(&self.frames);
        hex(parts.map(String::as_str))
    }
}

/// Returns 16 hex digits for several texts.
pub(crate) fn hex<'p>(parts: impl Iterator<Item = &'p str>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.flat_map(|part| part.bytes().chain(std::iter::once(0))) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// Creates fingerprints. Caches the normal form of each name.
#[derive(Debug, Default)]
pub(crate) struct NormalNames {
    known: RefCell<HashMap<String, String>>,
}

impl NormalNames {
    pub(crate) fn fingerprint(&self, finding: &Finding) -> Fingerprint {
        Fingerprint {
            frames: self.own_names(&finding.stack, frames_before(finding)),
            kind: finding.kind().to_owned(),
        }
    }

    /// Returns true if a baseline's fingerprint differs from the finding's but means the same finding: one build used
    /// Rust's other mangling, or an older version of leak-check treated more frames as own frames.
    pub(crate) fn is_equivalent(
        &self,
        finding: &Finding,
        now: &Fingerprint,
        known: &Fingerprint,
    ) -> bool {
        if now.kind != known.kind || known.frames.is_empty() {
            return false;
        }
        let same = |a: &String, b: &String| a == b || is_same_in_other_mangling(a, b);
        if now.frames.len() == known.frames.len() {
            return now
                .frames
                .iter()
                .zip(&known.frames)
                .all(|(a, b)| same(a, b));
        }
        if now.frames.len() > known.frames.len() {
            return false;
        }
        let all: Vec<String> = finding
            .stack
            .iter()
            .map(|frame| self.frame_name(frame))
            .collect();
        is_subsequence(&now.frames, &known.frames, same)
            && is_subsequence(&known.frames, &all, same)
    }

    /// Returns the names of the own frames, with recursion folded. If no frame is own, returns the names from the blamed
    /// frame outwards.
    fn own_names(&self, stack: &Stack, before: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (frame, is_own) in stack.iter().skip(before).zip(stack.own_after(before)) {
            if is_own && frame.name.as_deref() != Some(UNKNOWN_INLINED) {
                push_folded(&mut names, self.frame_name(frame));
            }
        }
        if names.is_empty() {
            for frame in stack.iter().skip(stack.blamed_position_after(before)) {
                push_folded(&mut names, self.frame_name(frame));
            }
        }
        names
    }

    fn frame_name(&self, frame: &Frame) -> String {
        match (frame.name.as_deref(), frame.obj.as_deref()) {
            (Some(name), _) if name != "???" => self.normal(name),
            (_, Some(object)) => normal_object(object).into_owned(),
            // Without stacks, UndefinedBehaviorSanitizer prints only a file and a line.
            (_, None) if frame.file.is_some() => {
                base_name(frame.file.as_deref().unwrap_or_default()).to_owned()
            }
            _ => "???".to_owned(),
        }
    }

    /// Returns the normal form of a function's name.
    fn normal(&self, name: &str) -> String {
        if let Some(known) = self.known.borrow().get(name) {
            return known.clone();
        }
        let normal = normal_function(name).into_owned();
        self.known
            .borrow_mut()
            .insert(name.to_owned(), normal.clone());
        normal
    }
}

/// Returns true if `part` is a subsequence of `whole`.
fn is_subsequence(
    part: &[String],
    whole: &[String],
    same: impl Fn(&String, &String) -> bool,
) -> bool {
    let mut rest = whole.iter();
    part.iter()
        .all(|wanted| rest.any(|found| same(wanted, found)))
}

/// Appends a name and folds repetitions: `a b a b a b` becomes `a b`.
fn push_folded(names: &mut Vec<String>, name: String) {
    /// The maximum length of a folded sequence. Longer ones are rare, and only lengthen the fingerprint.
    const LONGEST_ROUND: usize = 8;
    names.push(name);
    let length = names.len();
    for round in 1..=LONGEST_ROUND.min(length / 2) {
        if names[length - round..] == names[length - 2 * round..length - round] {
            names.truncate(length - round);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cg_stream::record::Name;

    fn names(stack: &[&'static str]) -> Vec<String> {
        let stack: Stack = stack
            .iter()
            .map(|name| Frame {
                name: Some(Name::from(*name)),
                ..Frame::default()
            })
            .collect();
        NormalNames::default().own_names(&stack, 0)
    }

    #[test]
    fn only_own_frames_count_and_recursion_is_folded() {
        assert_eq!(
            names(&[
                "malloc",
                "make_node",
                "insert",
                "insert",
                "insert",
                "main",
                "(below main)"
            ]),
            ["make_node", "insert", "main"]
        );
        assert_eq!(
            names(&["malloc", "expr", "term", "expr", "term", "expr", "main"]),
            ["expr", "term", "expr", "main"]
        );
        assert_eq!(
            names(&["malloc", "expr", "term", "expr", "term", "main"]),
            ["expr", "term", "main"]
        );
    }

    #[test]
    fn a_stack_without_own_frames_is_named_from_the_blamed_frame_outwards() {
        assert_eq!(
            names(&["calloc", "_dl_new", "_dl_init"]),
            ["_dl_new", "_dl_init"]
        );
        assert_eq!(names(&["malloc"]), ["malloc"]);
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn a_baseline_of_other_rules_and_other_mangling_is_recognised() {
        let known_as = |frames: &[&'static str]| {
            let finding = Finding {
                process: crate::finding::ProcessId(0),
                details: crate::finding::Details::Leak(crate::finding::Leak {
                    kind: cg_stream::record::LeakKind::Definite,
                    bytes: 1,
                    blocks: 1,
                    indirect_bytes: 0,
                }),
                stack: frames
                    .iter()
                    .map(|name| Frame {
                        name: Some(Name::from(*name)),
                        ..Frame::default()
                    })
                    .collect(),
                suppression: None,
            };
            let names = NormalNames::default();
            let fingerprint = names.fingerprint(&finding);
            move |known: &[&str]| {
                let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
                let known = Fingerprint::from_baseline("definite".to_owned(), &known, &names);
                fingerprint == known || names.is_equivalent(&finding, &fingerprint, &known)
            }
        };
        let known_as = known_as(&[
            "malloc",
            "core::option::map",
            "demo::parse::<u8>",
            "demo::main",
        ]);
        for (frames, expected) in [
            // Older rules left more in a name, and treated more frames as own frames.
            (
                &["demo::parse::<u8>::h0123456789abcdef", "demo::main"][..],
                true,
            ),
            (
                &["core::option::map", "demo::parse::<u8>", "demo::main"],
                true,
            ),
            // The legacy mangling has no template arguments.
            (&["demo::parse", "demo::main"], true),
            (&["_ZN4demo5parse17h463b2c6f0ba30854E", "demo::main"], true),
            (&["demo::parse::<u16>", "demo::main"], false),
            (&["demo::main"], false),
            (&["demo::other", "demo::parse::<u8>", "demo::main"], false),
            (&["demo::main", "demo::parse::<u8>"], false),
            (&[], false),
        ] {
            assert_eq!(known_as(frames), expected, "{frames:?}");
        }
    }

    #[test]
    fn the_hash_of_a_fingerprint_is_fnv_1a() {
        let fingerprint = Fingerprint {
            frames: vec!["make_node".to_owned(), "main".to_owned()],
            kind: "definite".to_owned(),
        };
        // Computed with an independent implementation of FNV-1a over "definite\0make_node\0main\0".
        assert_eq!(fingerprint.hex(), "cc10f1052c47c1d1");
    }
}
