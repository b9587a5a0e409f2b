//! Conditions on frames that matched nothing: a misspelled or outdated name must not make a gate pass.

use std::borrow::Cow;
use std::collections::HashMap;

use cg_stream::record::Frame;

use crate::finding::{Evidence, JudgedProcess};
use crate::frame_patterns::{AnyOf, FramePatterns, code_texts};
use crate::own;
use crate::paths::Paths;
use crate::policy::{Policy, Verdict};
use crate::ruling::RulingStatus;

/// A reason to doubt that the conditions had the intended effect.
#[derive(Debug)]
pub(crate) struct Doubt {
    pub(crate) sentence: String,
    /// True if a condition matched nothing, which may be intended. False if it could not be evaluated.
    pub(crate) is_unmatched: bool,
}

impl Doubt {
    fn unmatched(condition: &str, excluded: usize) -> Doubt {
        let excluded = match excluded {
            0 => String::new(),
            some => format!("; findings excluded: {some}"),
        };
        Doubt {
            sentence: format!(
                "{condition} matches no frame of any finding{excluded}; --allow-unmatched accepts that"
            ),
            is_unmatched: true,
        }
    }
}

/// Returns the conditions of `--only` and `--ignore` that matched nothing or could not be evaluated.
///
/// A regex is matched if it matches any frame of any finding, blamed or not. All regexes of a file are one condition,
/// because one file may serve many programs. If no finding reaches the conditions, none of the conditions counts as
/// unmatched. Suppressions and leak kinds are applied first.
pub(crate) fn doubts(
    evidence: &Evidence,
    policy: &Policy,
    verdict: &Verdict,
    paths: &Paths,
) -> Vec<Doubt> {
    let has_leaks = evidence.processes.iter().any(JudgedProcess::may_have_leaks);
    if !policy.errors && !has_leaks && !evidence.processes.is_empty() {
        return vec![Doubt {
            sentence: "--no-errors counts only leaks, but no process ran under a tool that searches for leaks; \
                       --allow-unmatched accepts that"
                .to_owned(),
            is_unmatched: true,
        }];
    }
    let conditions = [("--only", &policy.only), ("--ignore", &policy.ignore)];
    if conditions.iter().all(|(_, patterns)| patterns.is_empty())
        || !verdict
            .rulings
            .iter()
            .any(|ruling| ruling.status.reaches_conditions())
    {
        return Vec::new();
    }
    // Findings share most of their frames, so visit each interned frame once.
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
    let excluded = verdict.count(RulingStatus::OtherCode);
    let mut doubts = Vec::new();
    for (option, patterns) in conditions {
        let excluded = if option == "--only" { excluded } else { 0 };
        let unmatched = without_match(option, patterns, &frames, paths);
        doubts.extend(
            unmatched
                .iter()
                .map(|condition| Doubt::unmatched(condition, excluded)),
        );
    }
    doubts.extend(without_objects(evidence, policy, verdict, paths));
    doubts
}

/// Returns the conditions of an option that match none of these frames.
fn without_match(
    option: &str,
    patterns: &FramePatterns,
    frames: &[&Frame],
    paths: &Paths,
) -> Vec<String> {
    let code = frames.iter().flat_map(|frame| code_texts(frame, paths));
    let objects = frames.iter().filter_map(|frame| frame.obj.as_deref());
    let regexes = |patterns: &Option<AnyOf>| patterns.clone().unwrap_or_default();
    let mut unmatched = regexes(&patterns.code).without_match(code);
    unmatched.extend(regexes(&patterns.obj).without_match(objects.map(Cow::Borrowed)));
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

/// Returns a doubt if `--only-obj` excluded findings with a frame that may match but has no object. In text logs a frame has
/// either a line or an object.
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
        // `--only-obj` checks every frame of a leak, and the frames of an error up to the blamed one.
        let n_checked = match finding.leak_kind() {
            Some(_) => finding.stack.len(),
            None => own::frame_to_blame_in(finding).map_or(0, |own| own + 1),
        };
        ruling.status == RulingStatus::OtherCode
            && finding.stack.iter().take(n_checked).any(may_match)
    });
    let count = open.count();
    (count > 0).then(|| Doubt {
        sentence: format!(
            "--only-obj cannot be judged: findings with frames without an object: {count}; \
             use Valgrind's XML (--xml=yes), which names all objects"
        ),
        is_unmatched: false,
    })
}
