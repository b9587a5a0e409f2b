//! Conditions on frames that judged nothing: a misspelled name, or one that has changed, must not make a gate say yes.

use std::borrow::Cow;
use std::collections::HashMap;

use cg_stream::record::Frame;

use crate::finding::{Evidence, JudgedProcess};
use crate::frame_patterns::{AnyOf, FramePatterns, code_of};
use crate::own;
use crate::paths::Paths;
use crate::policy::{Policy, Verdict};
use crate::ruling::RulingStatus;

/// Why a verdict does not rest on what was asked for.
#[derive(Debug)]
pub(crate) struct Doubt {
    pub(crate) sentence: String,
    /// Whether a condition matched nothing, which can be meant; else it could not be judged.
    pub(crate) is_unmatched: bool,
}

impl Doubt {
    fn unmatched(what: &str, set_aside: usize) -> Doubt {
        let set_aside = match set_aside {
            0 => String::new(),
            some => format!("; findings set aside: {some}"),
        };
        Doubt {
            sentence: format!(
                "{what} matches no frame of any finding{set_aside}; --allow-unmatched accepts that"
            ),
            is_unmatched: true,
        }
    }
}

/// What of `--only` and `--ignore` judged nothing, and what of them could not be judged.
///
/// A regex judged something if it matches a frame of any finding, to blame or not. All regexes of a file are one condition,
/// as files are kept for many programs. Where no finding came as far as to be asked, nothing is missing: those that a
/// suppression matches, and those of kinds that do not count, are decided before.
pub(crate) fn doubts(
    evidence: &Evidence,
    policy: &Policy,
    verdict: &Verdict,
    paths: &Paths,
) -> Vec<Doubt> {
    let has_leaks = evidence.processes.iter().any(JudgedProcess::may_have_leaks);
    if !policy.errors && !has_leaks && !evidence.processes.is_empty() {
        return vec![Doubt {
            sentence: "--no-errors counts leaks alone, and no process ran under a tool that looks for them; \
                       --allow-unmatched accepts that"
                .to_owned(),
            is_unmatched: true,
        }];
    }
    let decided_before = [RulingStatus::Suppressed, RulingStatus::NotCounted];
    let is_asked = |status: RulingStatus| !decided_before.contains(&status);
    let conditions = [("--only", &policy.only), ("--ignore", &policy.ignore)];
    if conditions.iter().all(|(_, patterns)| patterns.is_empty())
        || !verdict.rulings.iter().any(|ruling| is_asked(ruling.status))
    {
        return Vec::new();
    }
    // Findings share most of their frames, and each is held once.
    let mut frames: HashMap<usize, &Frame> = HashMap::new();
    for finding in &evidence.findings {
        let known = finding.stack.known_frames().iter();
        frames.extend(
            known
                .zip(finding.stack.iter())
                .map(|(known, frame)| (known.address(), frame)),
        );
    }
    let frames: Vec<&Frame> = frames.into_values().collect();
    let set_aside = verdict.count(RulingStatus::OtherCode);
    let mut doubts = Vec::new();
    for (option, patterns) in conditions {
        let set_aside = if option == "--only" { set_aside } else { 0 };
        let unmatched = without_match(option, patterns, &frames, paths);
        doubts.extend(
            unmatched
                .iter()
                .map(|what| Doubt::unmatched(what, set_aside)),
        );
    }
    doubts.extend(without_objects(evidence, policy, verdict, paths));
    doubts
}

/// What of an option's regexes matches none of these frames.
fn without_match(
    option: &str,
    patterns: &FramePatterns,
    frames: &[&Frame],
    paths: &Paths,
) -> Vec<String> {
    let code = frames.iter().flat_map(|frame| code_of(frame, paths));
    let objects = frames.iter().filter_map(|frame| frame.obj.as_deref());
    let unmatched_of = |patterns: &Option<AnyOf>| patterns.clone().unwrap_or_default();
    let mut unmatched = unmatched_of(&patterns.code).without_match(code);
    unmatched.extend(unmatched_of(&patterns.obj).without_match(objects.map(Cow::Borrowed)));
    let is_both = patterns.code.is_some() && patterns.obj.is_some();
    if is_both
        && unmatched.is_empty()
        && !frames
            .iter()
            .any(|frame| patterns.match_frame(frame, paths))
    {
        unmatched.push(format!("{option} together with {option}-obj"));
    }
    unmatched
}

/// Findings that `--only-obj` set aside although a frame that it asks about does not name its object: text logs name
/// either a frame's line or its object.
fn without_objects(
    evidence: &Evidence,
    policy: &Policy,
    verdict: &Verdict,
    paths: &Paths,
) -> Option<Doubt> {
    policy.only.obj.as_ref()?;
    let code = FramePatterns {
        code: policy.only.code.clone(),
        obj: None,
    };
    let may_match = |frame: &Frame| {
        frame.file.is_some()
            && frame.obj.is_none()
            && (code.is_empty() || code.match_frame(frame, paths))
    };
    let all = evidence.findings.iter().zip(&verdict.rulings);
    let open = all.filter(|(finding, ruling)| {
        // Of a leak every frame is asked about, of an error those up to the one to blame.
        let asked = match finding.leak_kind() {
            Some(_) => finding.stack.len(),
            None => own::frame_to_blame_in(finding).map_or(0, |own| own + 1),
        };
        ruling.status == RulingStatus::OtherCode && finding.stack.iter().take(asked).any(may_match)
    });
    let count = open.count();
    (count > 0).then(|| Doubt {
        sentence: format!(
            "--only-obj cannot be judged: findings with frames that do not name their objects: {count}; \
             Valgrind's XML (--xml=yes) names all of them"
        ),
        is_unmatched: false,
    })
}
