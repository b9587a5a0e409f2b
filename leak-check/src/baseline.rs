//! The baseline: known findings that do not fail the gate, as sorted JSON lines that are reviewed like code.
//!
//! A line allows up to `count` findings with one fingerprint *in one process*. In a test suite many processes reach the
//! same leak, so another test does not make it new. A further loss record with the same fingerprint in one process is new.
//! For leaks, a line also has the total bytes and blocks of these findings, in the process that has most of them. The places
//! of the frames identify them if another build inlines other functions, which changes names.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::rc::Rc;

use anyhow::Context;
use cg_stream::record::Count;
use cg_tool::whole_file::{Replaceable, Replaced};
use serde::{Deserialize, Serialize};

use crate::finding::{Evidence, Finding, ProcessId};
use crate::fingerprint::{Fingerprint, FrameMark, Place};
use crate::growth::LostSize;
use crate::identity::{IdentityFrame, NormalNames, OwnFrames, fingerprint_of_frames, push_folded};
use crate::ruling::Ruling;

/// Known findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline(BTreeMap<Fingerprint, KnownFindings>);

/// The known findings with one fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownFindings {
    /// The number of findings that a process may have.
    count: u64,
    /// The size of leaks; `None` for errors, and in baselines of older versions.
    size: Option<LostSize>,
    /// The own frames, once for each combination of their places. Older versions wrote no places.
    stacks: Vec<OwnFrames>,
}

impl KnownFindings {
    /// Returns the own frames, once for each combination of their places.
    pub(crate) fn stacks(&self) -> &[OwnFrames] {
        &self.stacks
    }

    fn add_stacks(&mut self, stacks: Vec<OwnFrames>) {
        for stack in stacks {
            if !self.stacks.contains(&stack) {
                self.stacks.push(stack);
            }
        }
    }

    /// Takes the larger of each figure of two processes or two lines.
    fn take_max(&mut self, other: KnownFindings) {
        self.count = self.count.max(other.count);
        self.size = match (self.size, other.size) {
            (Some(size), Some(other)) => Some(size.max(other)),
            (size, other) => size.or(other),
        };
        self.add_stacks(other.stacks);
    }

    /// Adds the figures of a line that became equal by the current rules.
    fn take_sum(&mut self, other: KnownFindings) {
        self.size = match (self.count, self.size, other.size) {
            (0, _, size) => size,
            (_, Some(sum), Some(size)) => Some(sum.plus(size)),
            // If one of the lines has no size, the size of the sum is unknown.
            _ => None,
        };
        self.count += other.count;
        self.add_stacks(other.stacks);
    }
}

/// A known finding that occurs less often than in the baseline, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) fingerprint: Fingerprint,
    /// The number in the baseline.
    pub(crate) known: u64,
    /// The present number.
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
    /// Lets people look up the fingerprint of a SARIF or GitLab report. Never read back.
    #[serde(default, skip_deserializing)]
    fingerprint: String,
    /// The property that identifies each frame, if not all have full names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    known_by: Vec<String>,
    /// The place of each frame, in each of the stacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<Vec<Option<String>>>,
    /// The text of each frame's line with its function, for frames without a full name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sources: Vec<Option<String>>,
}

impl KnownLine {
    fn new(fingerprint: &Fingerprint, known: &KnownFindings) -> KnownLine {
        // A sum over one process fits in 64 bits, because a process has at most 2^64 addresses.
        let written = |count: Count| u64::try_from(count).unwrap_or(u64::MAX);
        let marks = fingerprint.marks.iter();
        let is_only_named = marks.clone().all(|mark| *mark == FrameMark::Name);
        let place = |frame: &IdentityFrame| frame.place.as_ref().map(Place::to_string);
        let stacks = known.stacks.iter();
        let mut places: Vec<Vec<_>> = stacks
            .map(|stack| stack.iter().map(place).collect())
            .filter(|places: &Vec<Option<String>>| places.iter().any(Option::is_some))
            .collect();
        places.sort_unstable();
        let source = |frame: &IdentityFrame| frame.source.as_deref().map(str::to_owned);
        let sources = known.stacks.iter();
        let mut sources =
            sources.map(|stack| stack.iter().map(source).collect::<Vec<Option<String>>>());
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
            known_by: match is_only_named {
                true => Vec::new(),
                false => marks.map(|mark| mark.word().to_owned()).collect(),
            },
            places,
            sources: sources
                .find(|sources| sources.iter().any(Option::is_some))
                .unwrap_or_default(),
        }
    }

    /// Returns the known findings; `None` if a frame's properties are malformed.
    fn known(&self) -> Option<KnownFindings> {
        let size = self.bytes.zip(self.blocks).map(|(bytes, blocks)| LostSize {
            bytes: bytes.into(),
            blocks: blocks.into(),
            indirect_bytes: self.indirect_bytes.unwrap_or(0).into(),
        });
        let without_places = vec![None; self.frames.len()];
        let places = match self.places.as_slice() {
            [] => std::slice::from_ref(&without_places),
            places => places,
        };
        let stacks: Option<_> = places.iter().map(|places| self.stack(places)).collect();
        Some(KnownFindings {
            count: self.count,
            size,
            stacks: stacks?,
        })
    }

    fn stack(&self, places: &[Option<String>]) -> Option<OwnFrames> {
        let fits = |length: usize| length == 0 || length == self.frames.len();
        if places.len() != self.frames.len()
            || !fits(self.known_by.len())
            || !fits(self.sources.len())
        {
            return None;
        }
        let frames = self.frames.iter().zip(places).enumerate();
        frames
            .map(|(position, (name, place))| {
                let place = place.as_ref().map(|place| place.parse()).transpose();
                let place: Option<Place> = place.ok()?;
                let word = self.known_by.get(position);
                let source = self.sources.get(position).and_then(Option::as_deref);
                Some(IdentityFrame {
                    name: name.clone(),
                    mark: FrameMark::from_word(word.map_or("name", String::as_str), place.clone())?,
                    place,
                    source: source.map(Rc::from),
                })
            })
            .collect()
    }
}

impl Baseline {
    /// Creates a baseline of the counted findings, with their fingerprints in the old baseline.
    pub(crate) fn from_rulings(evidence: &Evidence, rulings: &[Ruling]) -> Baseline {
        Baseline::collect(evidence, rulings, |finding, ruling| {
            ruling.fingerprint(finding)
        })
    }

    /// Returns the entry with this fingerprint.
    pub(crate) fn get(&self, fingerprint: &Fingerprint) -> Option<(&Fingerprint, &KnownFindings)> {
        self.0.get_key_value(fingerprint)
    }

    /// Returns all entries.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Fingerprint, &KnownFindings)> {
        self.0.iter()
    }

    /// Creates a baseline of the counted findings, with fingerprints by the current rules.
    pub(crate) fn renewed(evidence: &Evidence, rulings: &[Ruling]) -> Baseline {
        Baseline::collect(evidence, rulings, |finding, ruling| {
            let known = || ruling.fingerprint(finding);
            ruling.renewed.as_ref().unwrap_or_else(known)
        })
    }

    fn collect<'r>(
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
            if let Some(size) = LostSize::from_finding(finding) {
                known.size = Some(known.size.unwrap_or_default().plus(size));
            }
            known.add_stacks(vec![ruling.names.frames(finding)]);
        }
        let mut most = Baseline::default();
        for ((_, fingerprint), known) in in_process {
            most.add(fingerprint.clone(), known);
        }
        most
    }

    /// Adds the known findings of another process or line.
    fn add(&mut self, fingerprint: Fingerprint, known: KnownFindings) {
        self.0.entry(fingerprint).or_default().take_max(known);
    }

    /// Returns true if the baseline has no findings.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of findings with this fingerprint that a process may have.
    pub(crate) fn allowed(&self, fingerprint: &Fingerprint) -> u64 {
        self.0.get(fingerprint).map_or(0, |known| known.count)
    }

    /// Returns the total size of the findings with this fingerprint in a process; `None` if it is unknown.
    pub(crate) fn size(&self, fingerprint: &Fingerprint) -> Option<LostSize> {
        self.0.get(fingerprint)?.size
    }

    /// Returns the known findings that are no longer present, or in smaller number.
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

    /// Returns the number of known fingerprints.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Reads a baseline.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if a line is not a known finding, with the line number.
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
                // The message ends in "at line 1 column N", but only this function knows the line number.
                let message = error.to_string();
                let reason = message.split(" at line ").next().unwrap_or(&message);
                anyhow::anyhow!(
                    "{name}:{}: expected a known finding of a baseline: {reason}",
                    position + 1
                )
            })?;
            let known = entry.known().with_context(|| {
                format!(
                    "{name}:{}: expected a property and a place for each frame of a known finding",
                    position + 1
                )
            })?;
            let stack = known.stacks.first().cloned().unwrap_or_default();
            // After a merge of two branches, a finding may be on two lines.
            baseline.add(fingerprint_of_frames(&stack, &entry.kind), known);
        }
        Ok(baseline.normalised())
    }

    /// Converts the names to the current rules, because earlier rules removed less. Adds up entries that become equal,
    /// because a process may have all of them.
    fn normalised(self) -> Baseline {
        let names = NormalNames::default();
        let mut normal: BTreeMap<Fingerprint, KnownFindings> = BTreeMap::new();
        for (written, mut known) in self.0 {
            for stack in &mut known.stacks {
                let mut frames = Vec::with_capacity(stack.len());
                for frame in stack.iter() {
                    let mut frame = frame.clone();
                    if frame.mark.is_named() {
                        frame.name = names.normal(&frame.name);
                    }
                    push_folded(&mut frames, frame);
                }
                *stack = frames.into();
            }
            let stack = known.stacks.first().cloned().unwrap_or_default();
            let fingerprint = fingerprint_of_frames(&stack, &written.kind);
            normal.entry(fingerprint).or_default().take_sum(known);
        }
        Baseline(normal)
    }

    /// Replaces the file with the baseline.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub(crate) fn write(&self, file: &Replaceable) -> std::io::Result<Replaced> {
        let mut text = Vec::new();
        for (fingerprint, known) in &self.0 {
            serde_json::to_writer(&mut text, &KnownLine::new(fingerprint, known))?;
            text.push(b'\n');
        }
        file.replace(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[&str]) -> OwnFrames {
        let frame = |name: &&str| IdentityFrame {
            name: (*name).to_owned(),
            mark: FrameMark::Name,
            place: None,
            source: None,
        };
        frames.iter().map(frame).collect()
    }

    fn fingerprint(kind: &str, frames: &[&str]) -> Fingerprint {
        fingerprint_of_frames(&stack(frames), kind)
    }

    fn entry(
        kind: &str,
        frames: &[&str],
        count: u64,
        size: Option<(Count, Count, Count)>,
    ) -> (Fingerprint, KnownFindings) {
        let known = KnownFindings {
            count,
            stacks: vec![stack(frames)],
            size: size.map(|(bytes, blocks, indirect_bytes)| LostSize {
                bytes,
                blocks,
                indirect_bytes,
            }),
        };
        (fingerprint(kind, frames), known)
    }

    #[test]
    fn a_baseline_reads_back_and_is_sorted_by_frames() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("known.jsonl");
        let baseline = Baseline(BTreeMap::from([
            entry("definite", &["b", "main"], 2, Some((64, 3, 8))),
            entry("InvalidRead", &["a\"<T>", "main"], 1, None),
        ]));
        let _ = baseline.write(&Replaceable::at(&path).unwrap()).unwrap();
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
    fn two_lines_of_one_finding_are_merged_by_the_larger_figures() {
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
            Baseline(BTreeMap::from([entry(
                "definite",
                &["f"],
                2,
                Some((12, 4, 1))
            )]))
        );
    }

    #[test]
    fn lines_that_become_equal_by_the_current_rules_add_up_and_equal_lines_do_not() {
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
    fn a_malformed_line_is_reported_with_its_number() {
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
                    .map(|&(name, count)| entry("definite", &[name], count, None))
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
