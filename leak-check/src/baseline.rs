//! The baseline: findings that are known and do not fail the gate, as sorted JSON lines that are reviewed like code.
//!
//! A line says that up to `count` findings with this fingerprint are known *in one process*. A test suite reaches one
//! leak from many processes, and one test more must not make it new; a second loss record of the same fingerprint in
//! one process is a new one.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, ProcessId};
use crate::fingerprint::Fingerprint;
use crate::policy::{Ruling, Status};

/// Known findings, and how many equal ones of each a process may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(BTreeMap<Fingerprint, u64>);

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
struct Known {
    kind: String,
    frames: Vec<String>,
    count: u64,
    /// Written for whoever looks up the fingerprint of a SARIF or GitLab report, and not read.
    #[serde(default, skip_deserializing)]
    fingerprint: String,
}

impl Baseline {
    /// The counted findings of the evidence as a baseline.
    pub(crate) fn of(evidence: &Evidence, rulings: &[Ruling]) -> Baseline {
        let mut in_process: HashMap<(ProcessId, &Fingerprint), u64> = HashMap::new();
        let mut most: BTreeMap<Fingerprint, u64> = BTreeMap::new();
        for (finding, ruling) in evidence.findings.iter().zip(rulings) {
            let is_counted = matches!(ruling.status, Status::New | Status::Allowed | Status::Known);
            if !is_counted || finding.is_unprinted() {
                continue;
            }
            let equals = in_process
                .entry((finding.process, &ruling.fingerprint))
                .or_default();
            *equals += 1;
            let known = most.entry(ruling.fingerprint.clone()).or_default();
            *known = (*known).max(*equals);
        }
        Baseline(most)
    }

    /// How many findings with this fingerprint are known in a process.
    pub(crate) fn allowed(&self, fingerprint: &Fingerprint) -> u64 {
        self.0.get(fingerprint).copied().unwrap_or(0)
    }

    /// What this baseline knows beyond what is present.
    pub(crate) fn gone(&self, present: &Baseline) -> Vec<Gone> {
        self.0
            .iter()
            .map(|(fingerprint, &known)| Gone {
                fingerprint: fingerprint.clone(),
                known,
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
        let mut known = BTreeMap::new();
        for (position, line) in BufReader::new(file).lines().enumerate() {
            let line = line.with_context(|| format!("{name}:{}", position + 1))?;
            if line.trim().is_empty() {
                continue;
            }
            let entry: Known = serde_json::from_str(&line).map_err(|error| {
                // Its messages end in "at line 1 column N", and the line is known better here.
                let message = error.to_string();
                let reason = message.split(" at line ").next().unwrap_or(&message);
                anyhow::anyhow!(
                    "{name}:{}: expected a known finding of a baseline: {reason}",
                    position + 1
                )
            })?;
            // A merge of two branches may leave a finding on two lines.
            let count: &mut u64 = known
                .entry(Fingerprint {
                    frames: entry.frames,
                    kind: entry.kind,
                })
                .or_default();
            *count = (*count).max(entry.count);
        }
        Ok(Baseline(known))
    }

    /// Writes the baseline in place of the file, whole or not at all.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let name = path.display().to_string();
        let Some(file_name) = path.file_name() else {
            bail!("{name}: not the name of a file");
        };
        let mut text = Vec::new();
        for (fingerprint, &count) in &self.0 {
            serde_json::to_writer(
                &mut text,
                &Known {
                    kind: fingerprint.kind.clone(),
                    frames: fingerprint.frames.clone(),
                    count,
                    fingerprint: fingerprint.hex(),
                },
            )
            .map_err(std::io::Error::from)?;
            text.push(b'\n');
        }
        let mut temporary = file_name.to_owned();
        temporary.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(temporary);
        let written = std::fs::File::create(&temporary)
            .and_then(|mut file| {
                file.write_all(&text)?;
                file.sync_all()
            })
            .and_then(|()| std::fs::rename(&temporary, path));
        if written.is_err() {
            // The error to tell is that of writing; a file that was never created cannot be removed either.
            let _ = std::fs::remove_file(&temporary);
        }
        written.with_context(|| format!("{name}: cannot write the baseline"))
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

    #[test]
    fn a_baseline_reads_back_and_is_sorted_by_frames() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let baseline = Baseline(BTreeMap::from([
            (fingerprint("definite", &["b", "main"]), 2),
            (fingerprint("InvalidRead", &["a\"<T>", "main"]), 1),
        ]));
        baseline.write(&path).unwrap();
        assert_eq!(Baseline::read(&path).unwrap(), baseline);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(
            r#"{"type":"known","kind":"InvalidRead","frames":["a\"<T>","main"],"count":1,"fingerprint":""#
        ));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
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
        let known = Baseline(BTreeMap::from([
            (fingerprint("definite", &["a"]), 2),
            (fingerprint("definite", &["b"]), 1),
            (fingerprint("definite", &["c"]), 1),
        ]));
        let present = Baseline(BTreeMap::from([
            (fingerprint("definite", &["a"]), 1),
            (fingerprint("definite", &["c"]), 3),
        ]));
        let gone: Vec<_> = known
            .gone(&present)
            .into_iter()
            .map(|gone| (gone.fingerprint.frames.concat(), gone.known, gone.present))
            .collect();
        assert_eq!(gone, [("a".to_owned(), 2, 1), ("b".to_owned(), 1, 0)]);
    }
}
