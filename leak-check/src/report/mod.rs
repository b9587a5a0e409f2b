//! How a verdict is shown. Everything is decided by now: this is only form, one module a format.

mod text;

mod github;
mod gitlab;
mod html;
mod json;
mod junit;
mod markdown;
mod sarif;

mod frames;
mod kinds;
mod ordinal;
mod place;
mod sources;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use cg_document::number::plural;
use cg_document::text::Screen;
use cg_document::visible;
use cg_sources::Places;
use cg_stream::maps::{Map, Set};
use cg_stream::record::{Count, Frame, LeakKind};
use cg_stream::sorting::Order as _;
use cg_stream::tool::Output;

use crate::finding::{Evidence, Finding, ProcessId};
use crate::fingerprint::Fingerprint;
use crate::growth::LeakGrowth;
use crate::paths::Paths;
use crate::policy::Verdict;
use crate::ruling::{Ruling, RulingStatus};
use crate::sentence::sentence;

pub(crate) use frames::{FoldedLine, StackLines, function_name};

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people.
    Text,
    /// A comment on a pull request; its first line is a marker to find it by.
    Markdown,
    /// A page for a browser that needs nothing else.
    Html,
    /// The stream, every record with what became of it and its fingerprint.
    Json,
    /// A case for each process or test.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// Annotations of GitHub Actions.
    Github,
    /// GitLab's Code Quality report.
    Gitlab,
}

impl ReportFormat {
    /// The format that the name of the output asks for.
    pub(crate) fn of_name(output: &Output) -> Option<ReportFormat> {
        let known: [(ReportFormat, &[&str]); 5] = [
            (ReportFormat::Html, &[".html", ".htm"]),
            (ReportFormat::Markdown, &[".md", ".markdown"]),
            (ReportFormat::Sarif, &[".sarif", ".sarif.json"]),
            (ReportFormat::Json, &[".json", ".jsonl", ".ndjson"]),
            (ReportFormat::Junit, &[".xml"]),
        ];
        let (format, _) = known
            .into_iter()
            .find(|(_, endings)| output.ends_in(endings))?;
        Some(format)
    }

    /// Whether its consumer looks up source lines in the repository.
    pub(crate) fn needs_repository_paths(self) -> bool {
        matches!(
            self,
            ReportFormat::Markdown
                | ReportFormat::Html
                | ReportFormat::Sarif
                | ReportFormat::Github
                | ReportFormat::Gitlab
        )
    }
}

/// What a report is made of.
pub(crate) struct GateReport<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) verdict: &'a Verdict,
    /// What the default suppressions matched, and how often.
    pub(crate) defaults_used: BTreeMap<&'a str, u64>,
    pub(crate) paths: &'a Paths,
    /// Where a page may show sources from.
    pub(crate) places: &'a Places,
    pub(crate) lines: StackLines<'a>,
    /// Something kept the inputs from being judged as a whole.
    pub(crate) could_not_judge: bool,
    /// Which conditions judged nothing, in sentences.
    pub(crate) doubts: Vec<String>,
}

/// Writes the report, as long as it may be, in small writes.
///
/// # Errors
/// Those of the output, and where a count does not fit the format.
pub(crate) fn write(
    report: &GateReport<'_>,
    format: ReportFormat,
    screen: Screen,
    output: &mut dyn Write,
) -> io::Result<()> {
    match format {
        ReportFormat::Text => text::write(report, screen, output),
        ReportFormat::Markdown => output.write_all(markdown::text_of(report).as_bytes()),
        ReportFormat::Html => html::write(report, output),
        ReportFormat::Json => json::write(report, output),
        ReportFormat::Junit => junit::write(report, output),
        ReportFormat::Sarif => sarif::write(report, output),
        ReportFormat::Github => github::write(report, output),
        ReportFormat::Gitlab => gitlab::write(report, output),
    }
}

/// Equal findings of one or several processes.
pub(crate) struct ReportEntry<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) ruling: &'a Ruling,
    pub(crate) sentence: String,
    pub(crate) stack: Rc<[FoldedLine]>,
    /// One a finding, so a process may be there several times.
    pub(crate) processes: Vec<ProcessId>,
}

/// The key that equal findings share: the group, the status, the sentence, the lines of the stack.
type EqualFindings = (usize, RulingStatus, String, Rc<[FoldedLine]>);

/// Entries that are blamed on one function.
pub(crate) struct BlamedGroup<'a> {
    /// The function, or what else is known of the frame.
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) entries: Vec<ReportEntry<'a>>,
}

impl<'a> GateReport<'a> {
    /// Findings with their rulings.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&'a Finding, &'a Ruling)> {
        self.evidence.findings.iter().zip(&self.verdict.rulings)
    }

    /// The findings of each process, in the order of the processes. What Valgrind did not print comes after all that it
    /// did, so the findings of a process need not be together.
    pub(crate) fn findings_by_process(&self) -> Vec<Vec<(&'a Finding, &'a Ruling)>> {
        let mut by_process = vec![Vec::new(); self.evidence.processes.len()];
        for (finding, ruling) in self.findings() {
            by_process[finding.process.0].push((finding, ruling));
        }
        by_process
    }

    /// What fails the gate, and what a limit lets pass; equal findings in one entry. In the order of the groups: new
    /// ones first, errors before leaks, then by bytes lost.
    pub(crate) fn groups(&self) -> Vec<BlamedGroup<'a>> {
        self.groups_of(RulingStatus::is_shown)
    }

    /// The entries of the groups, one after the other.
    pub(crate) fn entries(&self) -> Vec<ReportEntry<'a>> {
        let groups = self.groups().into_iter();
        groups.flat_map(|group| group.entries).collect()
    }

    /// The same of all findings, what is excused with it.
    pub(crate) fn all_entries(&self) -> Vec<ReportEntry<'a>> {
        let groups = self.groups_of(|_| true).into_iter();
        groups.flat_map(|group| group.entries).collect()
    }

    fn groups_of(&self, is_wanted: fn(RulingStatus) -> bool) -> Vec<BlamedGroup<'a>> {
        let mut groups: Vec<BlamedGroup<'a>> = Vec::new();
        let mut group_of: Map<(String, Option<String>), usize> = Map::default();
        let mut entry_of: Map<EqualFindings, usize> = Map::default();
        for (finding, ruling) in self.findings() {
            if !is_wanted(ruling.status) {
                continue;
            }
            let blamed = ruling.blamed(finding);
            let function = blamed.map_or_else(
                || {
                    let title = match finding.is_unprinted() {
                        true => "not printed",
                        false => "without a stack",
                    };
                    title.to_owned()
                },
                function_name,
            );
            let file = blamed
                .and_then(|frame| frame.file.as_deref())
                .map(|file| visible(&self.paths.shown(file)).into_owned());
            let group = *group_of
                .entry((function.clone(), file.clone()))
                .or_insert_with(|| {
                    groups.push(BlamedGroup {
                        function,
                        file,
                        entries: Vec::new(),
                    });
                    groups.len() - 1
                });
            let sentence = self.sentence(finding, ruling);
            let stack: Rc<[FoldedLine]> = self.lines.folded(&finding.stack).into();
            let key = (group, ruling.status, sentence.clone(), stack.clone());
            let entries = &mut groups[group].entries;
            let entry = *entry_of.entry(key).or_insert_with(|| {
                entries.push(ReportEntry {
                    finding,
                    ruling,
                    sentence,
                    stack,
                    processes: Vec::new(),
                });
                entries.len() - 1
            });
            entries[entry].processes.push(finding.process);
        }
        for group in &mut groups {
            group.entries.order_by_cached_key(ReportEntry::rank);
        }
        groups.order_by_cached_key(|group| {
            let first = group.entries.first().map(ReportEntry::rank);
            (first, group.function.clone(), group.file.clone())
        });
        groups
    }

    /// What there is to say of a finding, and how it grew where that fails.
    pub(crate) fn sentence(&self, finding: &Finding, ruling: &Ruling) -> String {
        let mut sentence = visible(&sentence(finding, self.paths)).into_owned();
        if ruling.status == RulingStatus::Grown
            && let Some(growth) = self.verdict.growth.get(ruling.fingerprint(finding))
        {
            sentence.push_str(&format!("; grown: {growth}"));
        }
        sentence
    }

    /// What the default suppressions matched, in a line each.
    pub(crate) fn default_suppression_lines(&self) -> Vec<String> {
        self.defaults_used
            .iter()
            .map(|(name, uses)| {
                let findings = plural(Count::from(*uses), "finding", "findings");
                format!("{findings} suppressed by default: {name}")
            })
            .collect()
    }

    /// Known leaks that grew and pass, with how they did.
    pub(crate) fn passing_growth(&self) -> Vec<(&'a Fingerprint, LeakGrowth)> {
        let failing: Set<&Fingerprint> = self
            .findings()
            .filter(|(_, ruling)| ruling.status == RulingStatus::Grown)
            .map(|(finding, ruling)| ruling.fingerprint(finding))
            .collect();
        self.verdict
            .growth
            .iter()
            .filter(|(fingerprint, _)| !failing.contains(fingerprint))
            .map(|(fingerprint, growth)| (fingerprint, *growth))
            .collect()
    }

    /// The sentence with its subject: `make_node leaks 64 bytes in 1 block, definitely lost`.
    pub(crate) fn message(&self, entry: &ReportEntry<'_>) -> String {
        let blamed = entry.ruling.blamed(entry.finding);
        with_subject(blamed, &entry.sentence)
    }

    /// The stack of an entry, a line a frame.
    pub(crate) fn stack_lines(&self, entry: &ReportEntry<'_>) -> Vec<String> {
        let lines = entry.stack.iter().enumerate();
        lines
            .map(|(at, line)| self.lines.shown(at, *line))
            .collect()
    }

    /// The processes of an entry, the first few by name.
    pub(crate) fn process_lines(&self, entry: &ReportEntry<'_>) -> Vec<String> {
        let lines = self.lines_of_processes(entry).into_iter();
        lines.map(|(line, _)| line).collect()
    }

    /// The same, with the process that a line is of.
    fn lines_of_processes(&self, entry: &ReportEntry<'_>) -> Vec<(String, Option<ProcessId>)> {
        const MOST_SHOWN: usize = 5;
        let mut counted: Vec<(ProcessId, u64)> = Vec::new();
        for &process in &entry.processes {
            match counted.last_mut() {
                Some((last, count)) if *last == process => *count += 1,
                _ => counted.push((process, 1)),
            }
        }
        let mut lines: Vec<(String, Option<ProcessId>)> = counted
            .iter()
            .take(MOST_SHOWN)
            .map(|&(process, count)| {
                let title = self.evidence.process(process).title();
                let title = visible(&title);
                let line = match count {
                    1 => title.into_owned(),
                    count => format!("{title}, {count} times"),
                };
                (line, Some(process))
            })
            .collect();
        if counted.len() > MOST_SHOWN {
            let more = counted.len() - MOST_SHOWN;
            lines.push((format!("{more} more processes"), None));
        }
        lines
    }

    /// `3 new findings in 2 of 40 processes`: the verdict in a line.
    pub(crate) fn verdict_line(&self) -> String {
        let all_processes = plural(
            self.evidence.processes.len() as Count,
            "process",
            "processes",
        );
        let mut failing: Vec<ProcessId> = self
            .findings()
            .filter(|(_, ruling)| ruling.status.fails())
            .map(|(finding, _)| finding.process)
            .collect();
        failing.sort_unstable();
        failing.dedup();
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
                count => failures.push(plural(count as Count, one, many)),
            }
        }
        let mut line = match (failures.is_empty(), self.could_not_judge) {
            (true, false) => format!("clean: no new findings in {all_processes}"),
            (true, true) => {
                format!("could not judge: no new findings in what could be read of {all_processes}")
            }
            (false, could_not_judge) => format!(
                "{}{} in {} of {all_processes}",
                if could_not_judge {
                    "could not judge all: "
                } else {
                    ""
                },
                failures.join(" and "),
                failing.len()
            ),
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
            grown => line.push_str(&format!(", {grown} of the known grown")),
        }
        line
    }
}

/// A sentence with its subject, where there is one.
fn with_subject(blamed: Option<&Frame>, sentence: &str) -> String {
    match blamed {
        Some(frame) => format!("{} {sentence}", function_name(frame)),
        None => sentence.to_owned(),
    }
}

impl ReportEntry<'_> {
    /// Whether it is blamed on the frame at a position of its stack, or on one of those that repeat it.
    fn is_blamed_on(&self, position: usize, count: u32) -> bool {
        let repeated = position..position + count as usize;
        self.ruling
            .blame
            .is_some_and(|blame| repeated.contains(&blame))
    }

    /// The sort key of entries: failing ones first, errors before leaks, more bytes before fewer, then by text.
    fn rank(
        &self,
    ) -> (
        RulingStatus,
        Option<LeakKind>,
        std::cmp::Reverse<Count>,
        String,
    ) {
        let bytes = self.finding.lost().map_or(0, |(bytes, _)| bytes);
        (
            self.ruling.status,
            self.finding.leak_kind(),
            std::cmp::Reverse(bytes),
            self.sentence.clone(),
        )
    }
}
