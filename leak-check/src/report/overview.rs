//! The verdict in one line, the reasons of a missing verdict, and the commands that were judged. Every format has these.

use cg_collections::maps::Map;
use cg_document::number::plural;
use cg_document::visible;
use cg_stream::record::{Count, LeakKind};

use super::GateReport;
use crate::finding::{Finding, JudgedProcess, ProcessId};
use crate::ruling::RulingStatus;

impl GateReport<'_> {
    /// Returns true if an input could not be judged.
    pub(crate) fn could_not_judge(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// Returns the verdict in one line: `failed: 3 new findings (2 definite leaks, 1 InvalidRead) in 2 processes; judged 40
    /// of 40 processes`.
    pub(crate) fn verdict_line(&self) -> String {
        let failures = self.failures();
        let n_without_report = self.evidence.without_report.len();
        let rests_on_job = n_without_report > 0 && self.evidence.processes.is_empty();
        let mut line = match (failures.is_empty(), self.could_not_judge()) {
            (true, false) if rests_on_job => {
                "clean: no report, and the exit status of the job is 0".to_owned()
            }
            (true, false) => "clean: no new findings".to_owned(),
            (true, true) => {
                "could not judge all input: no new findings in the readable part".to_owned()
            }
            (false, false) => format!("failed: {failures}"),
            (false, true) => format!("could not judge all input: {failures}"),
        };
        for (status, word) in [
            (RulingStatus::Allowed, "within the limits"),
            (RulingStatus::Known, "known"),
            (RulingStatus::Suppressed, "suppressed"),
        ] {
            let count = self.verdict.count(status);
            if count > 0 {
                line.push_str(&format!(", {count} {word}"));
            }
        }
        match self.passing_growth().len() {
            0 => {}
            grown => line.push_str(&format!(", {grown} of the known ones grown")),
        }
        let found = self.evidence.processes.len() as u64;
        let judged = self.judged().count();
        let expected = plural(
            self.expected.unwrap_or(found).into(),
            "process",
            "processes",
        );
        line.push_str(&format!("; judged {judged} of {expected}"));
        if n_without_report > 0 && !rests_on_job {
            let inputs = plural(n_without_report as Count, "input", "inputs");
            line.push_str(&format!(
                ", and {inputs} without a report by the exit status 0 of the job"
            ));
        }
        line
    }

    /// Returns the number of failing findings, with their kinds and the number of their processes; empty if there are none.
    fn failures(&self) -> String {
        let mut failures = Vec::new();
        for (status, one, many) in [
            (RulingStatus::New, "new finding", "new findings"),
            (
                RulingStatus::Grown,
                "known leak grown beyond --max-growth",
                "known leaks grown beyond --max-growth",
            ),
        ] {
            match self.verdict.count(status) {
                0 => {}
                count => failures.push(format!(
                    "{} ({})",
                    plural(count as Count, one, many),
                    self.kinds(status)
                )),
            }
        }
        if failures.is_empty() {
            return String::new();
        }
        let mut failing: Vec<ProcessId> = self
            .findings()
            .filter(|(_, ruling)| ruling.status.fails())
            .map(|(finding, _)| finding.process)
            .collect();
        failing.sort_unstable();
        failing.dedup();
        let processes = plural(failing.len() as Count, "process", "processes");
        format!("{} in {processes}", failures.join(" and "))
    }

    /// Returns the number of findings with a status, by kind: `2 InvalidRead, 1 definite leak`.
    fn kinds(&self, status: RulingStatus) -> String {
        /// A kind in a stream can be any text.
        const MOST_SHOWN: usize = 12;
        let mut counts: Map<(Option<LeakKind>, &str), Count> = Map::default();
        for (finding, ruling) in self.findings() {
            if ruling.status == status {
                let key = (finding.leak_kind(), finding.kind());
                *counts.entry(key).or_default() += 1;
            }
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_unstable();
        let shown = counts.iter().take(MOST_SHOWN);
        let mut kinds: Vec<String> = shown
            .map(|((leak, kind), count)| match leak {
                Some(_) => plural(*count, &format!("{kind} leak"), &format!("{kind} leaks")),
                None => format!("{count} {}", visible(kind)),
            })
            .collect();
        if counts.len() > MOST_SHOWN {
            let more = (counts.len() - MOST_SHOWN) as Count;
            kinds.push(plural(more, "more kind", "more kinds"));
        }
        kinds.join(", ")
    }

    fn judged(&self) -> impl Iterator<Item = &JudgedProcess> {
        let processes = self.evidence.processes.iter();
        processes.filter(|process| process.is_judged())
    }

    /// Returns the commands of the judged processes, each with its number of processes if there are several. Counts the
    /// commands beyond `most`.
    pub(super) fn command_lines(&self, most: usize) -> Vec<String> {
        let mut positions: Map<&str, usize> = Map::default();
        let mut counted: Vec<(&str, Count)> = Vec::new();
        for command in self
            .judged()
            .filter_map(|process| process.run.command.as_deref())
        {
            let position = *positions.entry(command).or_insert_with(|| {
                counted.push((command, 0));
                counted.len() - 1
            });
            counted[position].1 += 1;
        }
        let mut lines: Vec<String> = counted
            .iter()
            .take(most)
            .map(|(command, count)| match count {
                1 => visible(command).into_owned(),
                count => format!("{}, {count} processes", visible(command)),
            })
            .collect();
        if counted.len() > most {
            let more = plural((counted.len() - most) as Count, "command", "commands");
            lines.push(format!("{more} more; -f json has all"));
        }
        lines
    }

    /// Returns the mark of a leak whose process was ended by a signal: the process might still have freed the block.
    pub(super) fn mark(&self, finding: &Finding) -> Option<String> {
        let process = self.evidence.process(finding.process);
        let signal = process
            .ended_by()
            .filter(|_| finding.leak_kind().is_some())?;
        Some(format!(
            "unfinished work: {} ended the process",
            visible(&signal)
        ))
    }
}
