//! Judges findings: applies the policy, the suppressions and the baseline to the evidence. Never reads or prints.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use cg_stream::record::{Count, Frame};

use crate::baseline::{Baseline, Gone};
use crate::finding::{Evidence, Finding, LeakKinds, ProcessId};
use crate::fingerprint::Fingerprint;
use crate::frame_patterns::FramePatterns;
use crate::growth::{LeakGrowth, LostSize, MaxGrowth};
use crate::identity::NormalNames;
use crate::own;
use crate::paths::Paths;
use crate::recognise::recognise;
use crate::ruling::{Ruling, RulingStatus};
use crate::suppression::Suppressions;

/// What counts as a finding.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    /// `--errors-for-leak-kinds`.
    pub(crate) leak_kinds: LeakKinds,
    /// True if leaks count only if the last search of their process reported them.
    pub(crate) last_search: bool,
    /// True if errors other than leaks count.
    pub(crate) errors: bool,
    /// True if a signal that ended a process counts.
    pub(crate) signals: bool,
    /// The maximum total of direct bytes in new leaks.
    pub(crate) max_bytes: Option<Count>,
    /// The maximum total of blocks in new leaks.
    pub(crate) max_blocks: Option<Count>,
    /// The maximum growth of a known leak.
    pub(crate) max_growth: Option<MaxGrowth>,
    /// Patterns that the blamed frame must match.
    pub(crate) only: FramePatterns,
    /// Patterns that neither the blamed frame nor a frame that it called may match.
    pub(crate) ignore: FramePatterns,
}

/// The decisions about all findings.
#[derive(Debug)]
pub(crate) struct Verdict {
    /// One ruling per finding, in the order of the evidence.
    pub(crate) rulings: Vec<Ruling>,
    /// Baseline entries that no longer occur.
    pub(crate) gone: Vec<Gone>,
    /// The known leaks that grew, within the limit or beyond it.
    pub(crate) growth: BTreeMap<Fingerprint, LeakGrowth>,
    /// The number of known leaks without a size in the baseline, whose growth is unknown.
    pub(crate) known_without_size: usize,
    /// The number of findings that each suppression matched, in the order of the suppressions.
    pub(crate) suppression_uses: Vec<u64>,
}

impl Verdict {
    /// Returns true if no finding fails the gate.
    pub(crate) fn is_clean(&self) -> bool {
        !self.rulings.iter().any(|ruling| ruling.status.fails())
    }

    pub(crate) fn count(&self, status: RulingStatus) -> usize {
        self.rulings
            .iter()
            .filter(|ruling| ruling.status == status)
            .count()
    }
}

/// Judges every finding.
pub(crate) fn judge(
    evidence: &Evidence,
    policy: &Policy,
    suppressions: &Suppressions,
    baseline: &Baseline,
    names: &Rc<NormalNames>,
    paths: &Paths,
) -> Verdict {
    let mut suppression_uses = vec![0; suppressions.len()];
    let mut rulings = Vec::with_capacity(evidence.findings.len());
    for finding in &evidence.findings {
        let blame = frame_to_blame(finding, policy, paths);
        let tool = evidence.process(finding.process).run.tool.as_ref();
        let status = if let Some(position) = suppressions.find(finding, tool) {
            suppression_uses[position] += 1;
            RulingStatus::Suppressed
        } else if !counts(finding, policy) {
            RulingStatus::NotCounted
        } else if !is_wanted(finding, blame, policy, paths) {
            RulingStatus::OtherCode
        } else if is_ignored(finding, blame, policy, paths) {
            RulingStatus::Ignored
        } else {
            RulingStatus::New
        };
        rulings.push(Ruling {
            status,
            blame,
            fingerprint: OnceCell::new(),
            names: names.clone(),
            renewed: None,
            known_equals: 0,
        });
    }
    recognise(evidence, baseline, names, &mut rulings);
    allow_within_limits(evidence, policy, &mut rulings);
    let (growth, known_without_size) = check_growth(evidence, policy, baseline, &mut rulings);
    Verdict {
        gone: if baseline.is_empty() {
            Vec::new()
        } else {
            baseline.gone(&Baseline::from_rulings(evidence, &rulings))
        },
        growth,
        known_without_size,
        rulings,
        suppression_uses,
    }
}

fn counts(finding: &Finding, policy: &Policy) -> bool {
    match finding.leak_kind() {
        Some(_) if policy.last_search && finding.is_from_earlier_search() => false,
        Some(kind) => policy.leak_kinds.contains(kind),
        None if finding.is_fatal_signal() => policy.errors && policy.signals,
        None => policy.errors,
    }
}

/// Returns the position of the blamed frame: the innermost frame that `--only` matches, otherwise the innermost own frame.
///
/// A leak is reported at its allocation, often deep in an innocent library, so `--only` searches the whole stack. An
/// error is reported where it happened, so `--only` may match only the innermost own frame or a frame further in.
fn frame_to_blame(finding: &Finding, policy: &Policy, paths: &Paths) -> Option<usize> {
    let stack = &finding.stack;
    let wanted = stack
        .iter()
        .position(|frame| policy.only.match_frame(frame, paths));
    let own = own::frame_to_blame_in(finding);
    match (wanted, own) {
        (Some(wanted), _) if finding.leak_kind().is_some() => Some(wanted),
        (Some(wanted), Some(own)) if wanted <= own => Some(wanted),
        _ => own,
    }
}

/// Returns true if `--only` keeps the finding. Findings that Valgrind did not print have no frames, so `--only` never
/// excludes them.
fn is_wanted(finding: &Finding, blame: Option<usize>, policy: &Policy, paths: &Paths) -> bool {
    policy.only.is_empty()
        || finding.is_unprinted()
        || blame.is_some_and(|blame| policy.only.match_frame(&finding.stack[blame], paths))
}

fn is_ignored(finding: &Finding, blame: Option<usize>, policy: &Policy, paths: &Paths) -> bool {
    let matches = |frame: &Frame| policy.ignore.match_frame(frame, paths);
    !policy.ignore.is_empty()
        && blame.is_some_and(|blame| finding.stack.iter().take(blame + 1).any(matches))
}

/// Accepts all new leaks if their totals are within `--max-bytes` and `--max-blocks`.
fn allow_within_limits(evidence: &Evidence, policy: &Policy, rulings: &mut [Ruling]) {
    if policy.max_bytes.is_none() && policy.max_blocks.is_none() {
        return;
    }
    let mut new_leaks: Vec<&mut Ruling> = Vec::new();
    let (mut bytes, mut blocks) = (0, 0);
    for (finding, ruling) in evidence.findings.iter().zip(rulings) {
        if ruling.status == RulingStatus::New
            && let Some(lost) = finding.lost()
        {
            bytes += lost.0;
            blocks += lost.1;
            new_leaks.push(ruling);
        }
    }
    let is_within = |limit: Option<Count>, amount: Count| limit.is_none_or(|limit| amount <= limit);
    if is_within(policy.max_bytes, bytes) && is_within(policy.max_blocks, blocks) {
        for ruling in new_leaks {
            ruling.status = RulingStatus::Allowed;
        }
    }
}

/// Compares known leaks with their sizes in the baseline, for each process. Leaks that grew beyond `--max-growth` fail. A leak
/// without any function name is new if it grew, because its address may belong to another function in another build.
/// Returns all growth, and the number of known leaks without a size in the baseline.
fn check_growth(
    evidence: &Evidence,
    policy: &Policy,
    baseline: &Baseline,
    rulings: &mut [Ruling],
) -> (BTreeMap<Fingerprint, LeakGrowth>, usize) {
    let mut present: HashMap<(&Fingerprint, ProcessId), LostSize> = HashMap::new();
    for (finding, ruling) in evidence.findings.iter().zip(&*rulings) {
        if ruling.status == RulingStatus::Known
            && let Some(size) = LostSize::from_finding(finding)
        {
            let sum = present
                .entry((ruling.fingerprint(finding), finding.process))
                .or_default();
            *sum = sum.plus(size);
        }
    }
    let mut growth: BTreeMap<Fingerprint, LeakGrowth> = BTreeMap::new();
    let mut without_size: HashSet<&Fingerprint> = HashSet::new();
    let mut too_large: HashSet<(Fingerprint, ProcessId)> = HashSet::new();
    let mut unlike: HashSet<(Fingerprint, ProcessId)> = HashSet::new();
    for ((fingerprint, process), present) in present {
        let Some(known) = baseline.size(fingerprint) else {
            without_size.insert(fingerprint);
            continue;
        };
        if !present.is_larger_than(known) {
            continue;
        }
        if fingerprint.is_nameless() {
            unlike.insert((fingerprint.clone(), process));
            continue;
        }
        let here = LeakGrowth { known, present };
        growth
            .entry(fingerprint.clone())
            .and_modify(|growth| growth.present = growth.present.max(present))
            .or_insert(here);
        if policy.max_growth.is_some_and(|most| most.is_exceeded(here)) {
            too_large.insert((fingerprint.clone(), process));
        }
    }
    let without_size = without_size.len();
    for (larger, status) in [
        (too_large, RulingStatus::Grown),
        (unlike, RulingStatus::New),
    ] {
        if larger.is_empty() {
            continue;
        }
        for (finding, ruling) in evidence.findings.iter().zip(&mut *rulings) {
            if ruling.status == RulingStatus::Known
                && larger.contains(&(ruling.fingerprint(finding).clone(), finding.process))
            {
                ruling.status = status;
                // The baseline has no finding that is certainly this one.
                if status == RulingStatus::New {
                    ruling.known_equals = 0;
                }
            }
        }
    }
    (growth, without_size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Details, ErrorDetails, JudgedProcess, Leak};
    use crate::frame_patterns::AnyOf;
    use cg_stream::record::{ErrorKind, LeakKind, Name};

    fn finding(details: Details, frames: &[&'static str]) -> Finding {
        Finding {
            process: ProcessId(0),
            details,
            stack: frames
                .iter()
                .map(|name| Frame {
                    name: Some(Name::from(*name)),
                    ..Frame::default()
                })
                .collect(),
            suppression: None::<Rc<str>>,
        }
    }

    fn leak(frames: &[&'static str]) -> Finding {
        finding(
            Details::Leak(Leak {
                kind: LeakKind::Definite,
                bytes: 10,
                blocks: 1,
                indirect_bytes: 0,
                earlier_search: false,
            }),
            frames,
        )
    }

    fn error(kind: &str, frames: &[&'static str]) -> Finding {
        finding(
            Details::Error(ErrorDetails {
                kind: ErrorKind::from(kind),
                what: String::new(),
                count: 1,
                size: None,
                address: None,
                block: None,
                thread: None,
                thread_name: None,
                notes: Vec::new(),
            }),
            frames,
        )
    }

    /// Judges a finding. Returns its status and the blamed function.
    fn judged(finding: Finding, only: &str, ignore: &str) -> (RulingStatus, &'static str) {
        let patterns = |text: &str| FramePatterns {
            code: (!text.is_empty())
                .then(|| AnyOf::new(&text.split_whitespace().collect::<Vec<_>>()).unwrap()),
            obj: None,
        };
        let policy = Policy {
            leak_kinds: LeakKinds::ALL,
            errors: true,
            signals: true,
            max_bytes: None,
            max_blocks: None,
            max_growth: None,
            last_search: false,
            only: patterns(only),
            ignore: patterns(ignore),
        };
        let stack = finding.stack.clone();
        let evidence = Evidence {
            processes: vec![JudgedProcess::default()],
            findings: vec![finding],
            ..Evidence::default()
        };
        let verdict = judge(
            &evidence,
            &policy,
            &Suppressions::default(),
            &Baseline::default(),
            &Rc::default(),
            &Paths::default(),
        );
        let ruling = &verdict.rulings[0];
        let name = ruling.blame.and_then(|blame| stack[blame].name.clone());
        let name = ["helper", "mine", "main", "write", "malloc"]
            .into_iter()
            .find(|known| name.as_deref() == Some(known))
            .unwrap_or("");
        (ruling.status, name)
    }

    #[test]
    fn a_leak_is_blamed_along_the_stack_and_an_error_where_it_happened() {
        let frames = &["malloc", "helper", "mine", "main"];
        assert_eq!(judged(leak(frames), "", ""), (RulingStatus::New, "helper"));
        assert_eq!(
            judged(leak(frames), "^mine$", ""),
            (RulingStatus::New, "mine")
        );
        assert_eq!(
            judged(leak(frames), "^other$ ^main$", ""),
            (RulingStatus::New, "main")
        );
        assert_eq!(
            judged(leak(frames), "^other$", ""),
            (RulingStatus::OtherCode, "helper")
        );
        let frames = &["std::f", "helper", "mine", "main"];
        let read = || error("InvalidRead", frames);
        assert_eq!(judged(read(), "", ""), (RulingStatus::New, "helper"));
        assert_eq!(
            judged(read(), "^mine$", ""),
            (RulingStatus::OtherCode, "helper")
        );
        assert_eq!(
            judged(read(), "^helper$", ""),
            (RulingStatus::New, "helper")
        );
    }

    #[test]
    fn ignore_matches_frames_up_to_the_blamed_one() {
        let frames = &["malloc", "helper", "mine", "main"];
        assert_eq!(
            judged(leak(frames), "", "^helper$").0,
            RulingStatus::Ignored
        );
        assert_eq!(
            judged(leak(frames), "^mine$", "^helper$").0,
            RulingStatus::Ignored
        );
        assert_eq!(
            judged(leak(frames), "^mine$", "^main$").0,
            RulingStatus::New
        );
    }

    #[test]
    fn a_system_call_is_blamed_on_its_caller() {
        let call = error("SyscallParam", &["write", "mine", "main"]);
        assert_eq!(judged(call, "", ""), (RulingStatus::New, "mine"));
        assert_eq!(
            judged(error("SyscallParam", &["write"]), "", ""),
            (RulingStatus::New, "write")
        );
        assert_eq!(
            judged(error("FdNotClosed", &[]), "", ""),
            (RulingStatus::New, "")
        );
    }
}
