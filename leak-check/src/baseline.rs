//! The baseline: findings that are known and do not fail the gate, as sorted JSON lines that are reviewed like code.
//!
//! A line says that up to `count` findings with this fingerprint are known *in one process*. A test suite reaches one
//! leak from many processes, and one test more must not make it new; a second loss record of the same fingerprint in
//! one process is a new one. Of leaks it says too how many bytes and blocks these findings have together in the process
//! that has most of them.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use cg_stream::record::Count;
use cg_stream::tool::whole_file::Replaceable;
use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Finding, ProcessId};
use crate::fingerprint::{Fingerprint, NormalNames};
use crate::growth::LostSize;
use crate::ruling::Ruling;
use crate::stack::Stack;

/// Known findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(BTreeMap<Fingerprint, KnownFindings>);

/// What is known of the findings with one fingerprint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct KnownFindings {
    /// How many of them a process may have.
    count: u64,
    /// Of leaks; `None` where the baseline is of a version that did not write it.
    size: Option<LostSize>,
}

impl KnownFindings {
    /// The larger of each figure of two processes or two lines.
    fn max(self, other: KnownFindings) -> KnownFindings {
        KnownFindings {
            count: self.count.max(other.count),
            size: match (self.size, other.size) {
                (Some(size), Some(other)) => Some(size.max(other)),
                (size, other) => size.or(other),
            },
        }
    }
}

/// A known finding of which there are fewer now, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) fingerprint: Fingerprint,
    /// How many the baseline knows.
    pub(crate) known: u64,
    /// How many there are.
    pub(crate) present: u64,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "known")]
struct KnownLine {
    kind: String,
    frames: Vec<String>,
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blocks: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    indirect_bytes: Option<u64>,
    /// For people who look up the fingerprint of a SARIF or GitLab report; not read back.
    #[serde(default, skip_deserializing)]
    fingerprint: String,
}

impl KnownLine {
    fn new(fingerprint: &Fingerprint, known: &KnownFindings) -> KnownLine {
        // The sum of one process's counts: it has no more bytes than addresses.
        let written = |count: Count| u64::try_from(count).unwrap_or(u64::MAX);
        KnownLine {
            kind: fingerprint.kind.clone(),
            frames: fingerprint.frames.clone(),
            count: known.count,
            bytes: known.size.map(|size| written(size.bytes)),
            blocks: known.size.map(|size| written(size.blocks)),
            indirect_bytes: known
                .size
                .filter(|size| size.indirect_bytes > 0)
                .map(|size| written(size.indirect_bytes)),
            fingerprint: fingerprint.hex(),
        }
    }

    fn known(&self) -> KnownFindings {
        let size = self.bytes.zip(self.blocks).map(|(bytes, blocks)| LostSize {
            bytes: bytes.into(),
            blocks: blocks.into(),
            indirect_bytes: self.indirect_bytes.unwrap_or(0).into(),
        });
        KnownFindings {
            count: self.count,
            size,
        }
    }
}

impl Baseline {
    /// The counted findings as a baseline, under the fingerprints by which the old baseline knows them.
    pub(crate) fn of(evidence: &Evidence, rulings: &[Ruling]) -> Baseline {
        Baseline::by(evidence, rulings, |finding, ruling| {
            ruling.fingerprint(finding)
        })
    }

    /// The counted findings as a new baseline, all under today's fingerprints.
    pub(crate) fn renewed(evidence: &Evidence, rulings: &[Ruling]) -> Baseline {
        Baseline::by(evidence, rulings, |finding, ruling| {
            let known = || ruling.fingerprint(finding);
            ruling.renewed.as_ref().unwrap_or_else(known)
        })
    }

    fn by<'r>(
        evidence: &Evidence,
        rulings: &'r [Ruling],
        fingerprint: impl Fn(&Finding, &'r Ruling) -> &'r Fingerprint,
    ) -> Baseline {
        let mut in_process: HashMap<(ProcessId, &Fingerprint), KnownFindings> = HashMap::new();
        for (finding, ruling) in evidence.findings.iter().zip(rulings) {
            if !ruling.status.is_counted() || finding.is_unprinted() {
                continue;
            }
            let known = in_process
                .entry((finding.process, fingerprint(finding, ruling)))
                .or_default();
            known.count += 1;
            if let Some(size) = LostSize::of(finding) {
                known.size = Some(known.size.unwrap_or_default().plus(size));
            }
        }
        let mut most = Baseline::default();
        for ((_, fingerprint), known) in in_process {
            most.add(fingerprint.clone(), known);
        }
        most
    }

    /// Adds what is known from another process or line.
    fn add(&mut self, fingerprint: Fingerprint, known: KnownFindings) {
        let most = self.0.entry(fingerprint).or_default();
        *most = most.max(known);
    }

    /// Whether it knows nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many findings with this fingerprint are known in a process.
    pub(crate) fn allowed(&self, fingerprint: &Fingerprint) -> u64 {
        self.0.get(fingerprint).map_or(0, |known| known.count)
    }

    /// How much the findings with this fingerprint come to in a process, where that is known.
    pub(crate) fn size(&self, fingerprint: &Fingerprint) -> Option<LostSize> {
        self.0.get(fingerprint)?.size
    }

    /// What this baseline knows beyond what is present.
    pub(crate) fn gone(&self, present: &Baseline) -> Vec<Gone> {
        self.0
            .iter()
            .map(|(fingerprint, known)| Gone {
                fingerprint: fingerprint.clone(),
                known: known.count,
                present: present.allowed(fingerprint),
            })
            .filter(|gone| gone.present < gone.known)
            .collect()
    }

    /// How many findings it knows.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// Where it cannot be read, and for a line that is not one of a baseline, with its number.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Baseline> {
        let name = path.display();
        let file = std::fs::File::open(path).with_context(|| name.to_string())?;
        let mut baseline = Baseline::default();
        for (position, line) in BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("{name}:{}", position + 1))?;
            if line.trim().is_empty() {
                continue;
            }
            let entry: KnownLine = serde_json::from_str(&line).map_err(|error| {
                // Its messages end in "at line 1 column N", and the line is known better here.
                let message = error.to_string();
                let reason = message.split(" at line ").next().unwrap_or(&message);
                anyhow::anyhow!(
                    "{name}:{}: expected a known finding of a baseline: {reason}",
                    position + 1
                )
            })?;
            // A merge of two branches may leave a finding on two lines.
            let known = entry.known();
            let written = Fingerprint {
                frames: entry.frames,
                kind: entry.kind,
            };
            baseline.add(written, known);
        }
        Ok(baseline.normalised())
    }

    /// The baseline with its fingerprints made by today's rules. Entries that become equal are added up: a process may
    /// have all of them.
    fn normalised(self) -> Baseline {
        let names = NormalNames::default();
        let mut normal: BTreeMap<Fingerprint, KnownFindings> = BTreeMap::new();
        for (written, known) in self.0 {
            let fingerprint = Fingerprint::of_baseline(written.kind, &written.frames, &names);
            let sum = normal.entry(fingerprint).or_default();
            *sum = KnownFindings {
                count: sum.count + known.count,
                size: match (sum.count, sum.size, known.size) {
                    (0, _, size) => size,
                    (_, Some(sum), Some(size)) => Some(sum.plus(size)),
                    // If one of the lines has no size, the size of the sum is unknown.
                    _ => None,
                },
            };
        }
        Baseline(normal)
    }

    /// Writes the baseline in place of the file, whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn write(&self, file: &Replaceable) -> std::io::Result<()> {
        let mut text = Vec::new();
        for (fingerprint, known) in &self.0 {
            serde_json::to_writer(&mut text, &KnownLine::new(fingerprint, known))?;
            text.push(b'\n');
        }
        file.replace(&text)
    }
}

/// Finds the fingerprint by which a baseline knows each finding.
pub(crate) struct Recognised<'a> {
    baseline: &'a Baseline,
    names: &'a NormalNames,
    /// A cache of the results for fingerprints that the baseline does not have, by fingerprint and stack.
    others: HashMap<(Fingerprint, Stack), Option<Fingerprint>>,
}

impl<'a> Recognised<'a> {
    pub(crate) fn new(baseline: &'a Baseline, names: &'a NormalNames) -> Recognised<'a> {
        Recognised {
            baseline,
            names,
            others: HashMap::new(),
        }
    }

    /// The fingerprint of a finding; if the baseline knows it by another one, that one and then today's.
    pub(crate) fn known_as(&mut self, finding: &Finding) -> (Fingerprint, Option<Fingerprint>) {
        let now = self.names.fingerprint(finding);
        let Baseline(known) = self.baseline;
        if known.is_empty() || known.contains_key(&now) || finding.is_unprinted() {
            return (now, None);
        }
        let other = self
            .others
            .entry((now.clone(), finding.stack.clone()))
            .or_insert_with(|| {
                known
                    .keys()
                    .find(|known| self.names.is_known_as(finding, &now, known))
                    .cloned()
            });
        match other {
            Some(other) => (other.clone(), Some(now)),
            None => (now, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(kind: &str, frames: &[&str]) -> Fingerprint {
        Fingerprint {
            kind: kind.to_owned(),
            frames: frames.iter().map(|frame| (*frame).to_owned()).collect(),
        }
    }

    fn known(count: u64, size: Option<(Count, Count, Count)>) -> KnownFindings {
        KnownFindings {
            count,
            size: size.map(|(bytes, blocks, indirect_bytes)| LostSize {
                bytes,
                blocks,
                indirect_bytes,
            }),
        }
    }

    #[test]
    fn a_baseline_reads_back_and_is_sorted_by_frames() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let baseline = Baseline(BTreeMap::from([
            (
                fingerprint("definite", &["b", "main"]),
                known(2, Some((64, 3, 8))),
            ),
            (
                fingerprint("InvalidRead", &["a\"<T>", "main"]),
                known(1, None),
            ),
        ]));
        baseline.write(&Replaceable::at(&path).unwrap()).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), baseline);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(
            r#"{"type":"known","kind":"InvalidRead","frames":["a\"<T>","main"],"count":1,"fingerprint":""#
        ));
        assert!(text.contains(
            r#"["b","main"],"count":2,"bytes":64,"blocks":3,"indirect_bytes":8,"fingerprint":""#
        ));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn of_two_lines_of_one_finding_the_larger_figures_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let line = |rest: &str| {
            format!("{{\"type\":\"known\",\"kind\":\"definite\",\"frames\":[\"f\"],{rest}}}\n")
        };
        let text = [
            line(r#""count":1,"bytes":10,"blocks":4"#),
            line(r#""count":2"#),
            line(r#""count":1,"bytes":12,"blocks":3,"indirect_bytes":1"#),
        ]
        .concat();
        std::fs::write(&path, text).unwrap();
        assert_eq!(
            Baseline::read(&path).unwrap(),
            Baseline(BTreeMap::from([(
                fingerprint("definite", &["f"]),
                known(2, Some((12, 4, 1)))
            )]))
        );
    }

    #[test]
    fn lines_that_todays_rules_do_not_tell_apart_add_up_and_equal_lines_do_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let line = |name: &str| {
            format!(
                "{{\"type\":\"known\",\"kind\":\"definite\",\"frames\":[\"{name}\"],\"count\":2,\"bytes\":5,\"blocks\":1}}\n"
            )
        };
        let known = |lines: [&str; 2]| {
            std::fs::write(&path, lines.map(line).concat()).unwrap();
            let baseline = Baseline::read(&path).unwrap();
            let fingerprint = fingerprint("definite", &["make(int)"]);
            let bytes = baseline.size(&fingerprint).map(|size| size.bytes);
            (baseline.len(), baseline.allowed(&fingerprint), bytes)
        };
        let clone = "make(int) [clone .constprop.0]";
        assert_eq!(known(["make(int)", clone]), (1, 4, Some(10)));
        assert_eq!(known(["make(int)", "make(int)"]), (1, 2, Some(5)));
        assert_eq!(known([clone, clone]), (1, 2, Some(5)));
    }

    #[test]
    fn a_line_that_is_no_known_finding_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        std::fs::write(&path, "\n{\"type\":\"fn\"}\n").unwrap();
        let message = Baseline::read(&path).unwrap_err().to_string();
        assert!(message.contains("known.jsonl:2: expected"), "{message}");
    }

    #[test]
    fn fewer_is_gone_and_more_is_not() {
        let baseline = |findings: &[(&str, u64)]| {
            Baseline(
                findings
                    .iter()
                    .map(|&(name, count)| (fingerprint("definite", &[name]), known(count, None)))
                    .collect(),
            )
        };
        let present = baseline(&[("a", 1), ("c", 3)]);
        let known = baseline(&[("a", 2), ("b", 1), ("c", 1)]);
        let gone: Vec<_> = known
            .gone(&present)
            .into_iter()
            .map(|gone| (gone.fingerprint.frames.concat(), gone.known, gone.present))
            .collect();
        assert_eq!(gone, [("a".to_owned(), 2, 1), ("b".to_owned(), 1, 0)]);
    }
}
