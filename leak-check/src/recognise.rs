//! Finds the known finding for each finding of a run. A finding in the baseline excuses at most as many findings of a process
//! as it counts, so two findings of a run are never taken for one.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::baseline::Baseline;
use crate::finding::{Evidence, Finding, ProcessId};
use crate::fingerprint::Fingerprint;
use crate::identity::{NormalNames, OwnFrames};
use crate::ruling::{Ruling, RulingStatus};
use crate::sameness::{is_same_stack, is_same_with_more_frames};
use crate::stack::Stack;

/// The entries of a baseline, with the number of findings that each of them has excused in each process.
struct Recognition<'b> {
    baseline: &'b Baseline,
    names: &'b NormalNames,
    used: HashMap<(ProcessId, &'b Fingerprint), u64>,
    /// The entries that are the same finding as one with this fingerprint and stack.
    same: HashMap<(Fingerprint, Stack), Rc<[&'b Fingerprint]>>,
}

/// Changes new findings that are in the baseline to known ones.
pub(crate) fn recognise(
    evidence: &Evidence,
    baseline: &Baseline,
    names: &NormalNames,
    rulings: &mut [Ruling],
) {
    if baseline.is_empty() {
        return;
    }
    let mut recognition = Recognition {
        baseline,
        names,
        used: HashMap::new(),
        same: HashMap::new(),
    };
    let mut others: Vec<(&Finding, &mut Ruling, Fingerprint, Rc<[&Fingerprint]>)> = Vec::new();
    for (finding, ruling) in evidence.findings.iter().zip(rulings) {
        if ruling.status != RulingStatus::New || finding.is_unprinted() {
            continue;
        }
        let now = names.fingerprint(finding);
        // The findings that are exactly in the baseline come first, so that no other finding takes their place.
        match recognition.find_exact(finding, &now) {
            Some(known) if recognition.take(finding.process, known) => {
                ruling.status = RulingStatus::Known;
                ruling.known_equals = baseline.allowed(known);
                ruling.fingerprint = OnceCell::from(now);
            }
            _ => {
                let same = recognition.find_same(finding, &now);
                others.push((finding, ruling, now, same));
            }
        }
    }
    // Findings with less choice come first.
    others.sort_by_key(|(.., same)| same.len());
    for (finding, ruling, now, same) in others {
        let free = same
            .iter()
            .copied()
            .find(|known| recognition.take(finding.process, known));
        if free.is_some() {
            ruling.status = RulingStatus::Known;
        }
        match free.or_else(|| same.first().copied()) {
            Some(known) => {
                ruling.known_equals = baseline.allowed(known);
                ruling.renewed = (*known != now).then_some(now);
                ruling.fingerprint = OnceCell::from(known.clone());
            }
            None => ruling.fingerprint = OnceCell::from(now),
        }
    }
}

impl<'b> Recognition<'b> {
    /// Returns the entry with this fingerprint. For an error without a stack, its line must still have the same text.
    fn find_exact(&self, finding: &Finding, now: &Fingerprint) -> Option<&'b Fingerprint> {
        let (known, entry) = self.baseline.get(now)?;
        let is_same = || {
            let frames = self.names.frames(finding);
            let mut stacks = entry.stacks().iter();
            stacks.any(|stack| is_same_stack(&frames, stack))
        };
        (!now.is_of_a_line() || is_same()).then_some(known)
    }

    /// Returns all entries that are the same finding.
    fn find_same(&mut self, finding: &Finding, now: &Fingerprint) -> Rc<[&'b Fingerprint]> {
        let key = (now.clone(), finding.stack.clone());
        if let Some(same) = self.same.get(&key) {
            return same.clone();
        }
        let frames = self.names.frames(finding);
        let all_names = OnceCell::new();
        let is_same = |stack: &OwnFrames| {
            let all = || all_names.get_or_init(|| self.names.all_names(&finding.stack));
            is_same_stack(&frames, stack)
                || (stack.len() > frames.len() && is_same_with_more_frames(&frames, all(), stack))
        };
        let entries = self.baseline.entries();
        let same: Rc<[&Fingerprint]> = entries
            .filter(|(known, entry)| known.kind == now.kind && entry.stacks().iter().any(is_same))
            .map(|(known, _)| known)
            .collect();
        self.same.insert(key, same.clone());
        same
    }

    /// Uses an entry for a finding of a process. Returns false if the process has used it up.
    fn take(&mut self, process: ProcessId, known: &'b Fingerprint) -> bool {
        let used = self.used.entry((process, known)).or_default();
        let is_free = *used < self.baseline.allowed(known);
        *used += u64::from(is_free);
        is_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Details, JudgedProcess, Leak};
    use cg_stream::record::{Frame, LeakKind, Name};

    /// A leak in a process, with frames of `name` or `name|address|file|line`.
    fn leak(process: usize, frames: &[&'static str]) -> Finding {
        let frame = |text: &&'static str| {
            let mut fields = text.split('|');
            Frame {
                name: fields.next().map(Name::from),
                addr: fields.next().map(Name::from),
                file: fields.next().map(Name::from),
                line: fields.next().map(|line| line.parse().unwrap()),
                ..Frame::default()
            }
        };
        Finding {
            process: ProcessId(process),
            details: Details::Leak(Leak {
                kind: LeakKind::Definite,
                bytes: 1,
                blocks: 1,
                indirect_bytes: 0,
                earlier_search: false,
            }),
            stack: frames.iter().map(frame).collect(),
            suppression: None,
        }
    }

    /// Judges findings with a baseline of `known`. Returns the number of known findings.
    fn count_known(known: Vec<Finding>, now: Vec<Finding>) -> usize {
        let names = Rc::new(NormalNames::default());
        let judged = |findings: Vec<Finding>, baseline: &Baseline| {
            let evidence = Evidence {
                processes: vec![JudgedProcess::default(), JudgedProcess::default()],
                findings,
                ..Evidence::default()
            };
            let ruling = |_: &Finding| Ruling {
                status: RulingStatus::New,
                blame: None,
                fingerprint: OnceCell::new(),
                names: names.clone(),
                renewed: None,
                known_equals: 0,
            };
            let mut rulings: Vec<Ruling> = evidence.findings.iter().map(ruling).collect();
            recognise(&evidence, baseline, &names, &mut rulings);
            (evidence, rulings)
        };
        let (evidence, rulings) = judged(known, &Baseline::default());
        let baseline = Baseline::renewed(&evidence, &rulings);
        let (_, rulings) = judged(now, &baseline);
        let is_known = |ruling: &&Ruling| ruling.status == RulingStatus::Known;
        rulings.iter().filter(is_known).count()
    }

    const FULL: [&str; 3] = ["malloc|0x1", "a::get(int)|0x2|a.cpp|5", "main|0x3|a.cpp|9"];
    const INLINED: [&str; 3] = ["malloc|0x1", "get|0x3|a.cpp|5", "main|0x3|a.cpp|9"];
    const NAMELESS: [&str; 3] = [
        "malloc|0x1",
        "UnknownInlinedFun|0x3|a.cpp|5",
        "main|0x3|a.cpp|9",
    ];
    const OTHER: [&str; 3] = ["malloc|0x1", "b::get(int)|0x2|a.cpp|5", "main|0x3|a.cpp|9"];

    #[test]
    fn one_known_finding_excuses_one_finding_of_a_process() {
        for (known, now, expected) in [
            (&[&FULL][..], &[(0, &INLINED)][..], 1),
            (&[&FULL], &[(0, &INLINED), (1, &INLINED)], 2),
            (&[&FULL], &[(0, &INLINED), (0, &NAMELESS)], 1),
            (&[&FULL], &[(0, &INLINED), (0, &FULL)], 1),
            (&[&FULL, &OTHER], &[(0, &INLINED), (0, &NAMELESS)], 2),
            (&[&FULL], &[(0, &OTHER)], 0),
            // The nameless one may be any of both, but the other one has no choice.
            (&[&FULL, &INLINED], &[(0, &NAMELESS), (0, &FULL)], 2),
        ] {
            let known: Vec<Finding> = known.iter().map(|stack| leak(0, *stack)).collect();
            let now: Vec<Finding> = now
                .iter()
                .map(|(process, stack)| leak(*process, *stack))
                .collect();
            assert_eq!(count_known(known, now), expected);
        }
    }

    #[test]
    fn places_of_all_stacks_with_equal_names_are_kept() {
        let full = |line| ["malloc|0x1", line, "main|0x3|a.cpp|9"];
        let known = ["a::get(int)|0x2|a.cpp|5", "a::get(int)|0x2|a.cpp|6"].map(full);
        let now = ["get|0x3|a.cpp|5", "get|0x3|a.cpp|6", "get|0x3|a.cpp|7"].map(full);
        let leaks =
            |stacks: &[[&'static str; 3]]| stacks.iter().map(|stack| leak(0, stack)).collect();
        assert_eq!(count_known(leaks(&known), leaks(&now)), 2);
    }
}
