//! Reports on a verdict, one module per format. Makes no decisions.

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
mod overview;
mod place;
mod sources;
mod table;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

use cg_collections::maps::{Map, Set};
use cg_collections::sorting::Order as _;
use cg_document::number::plural;
use cg_document::text::Screen;
use cg_document::visible;
use cg_sources::Places;
use cg_stream::record::{Count, Frame, LeakKind};
use cg_tool::Output;

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
    /// Text for people.
    Text,
    /// A comment on a pull request, with a marker in its first line.
    Markdown,
    /// A self-contained page for a browser.
    Html,
    /// The stream; each record has its status and its fingerprint.
    Json,
    /// JUnit XML with a case for each process or test.
    Junit,
    /// SARIF 2.1.0 for code scanning.
    Sarif,
    /// Annotations for GitHub Actions.
    Github,
    /// GitLab's Code Quality report.
    Gitlab,
}

impl ReportFormat {
    /// Returns the format for the ending of the output file's name; `None` for other endings.
    pub(crate) fn from_file_name(output: &Output) -> Option<ReportFormat> {
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

    /// Returns true if the consumer of the format looks up source lines in the repository.
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

/// The contents of a report.
pub(crate) struct GateReport<'a> {
    pub(crate) evidence: &'a Evidence,
    pub(crate) verdict: &'a Verdict,
    /// The number of findings for each topic of the default suppressions.
    pub(crate) defaults_used: BTreeMap<&'a str, u64>,
    pub(crate) paths: &'a Paths,
    /// The directories from which a page may show sources.
    pub(crate) places: &'a Places,
    pub(crate) lines: StackLines<'a>,
    /// The reasons why the inputs could not be judged; empty if they could.
    pub(crate) reasons: &'a [String],
    /// The inputs as given, for reasons without a process.
    pub(crate) inputs: &'a [String],
    /// The number of processes that `--expect` requires.
    pub(crate) expected: Option<u64>,
}

/// Writes the report in many small writes, so `output` should be buffered.
///
/// # Errors
/// Returns an error if the output cannot be written, or if a count does not fit the format.
pub(crate) fn write(
    report: &GateReport<'_>,
    format: ReportFormat,
    screen: Screen,
    output: &mut dyn Write,
) -> io::Result<()> {
    match format {
        ReportFormat::Text => text::write(report, screen, output),
        ReportFormat::Markdown => output.write_all(markdown::render(report).as_bytes()),
        ReportFormat::Html => html::write(report, output),
        ReportFormat::Json => json::write(report, output),
        ReportFormat::Junit => junit::write(report, output),
        ReportFormat::Sarif => sarif::write(report, output),
        ReportFormat::Github => github::write(report, output),
        ReportFormat::Gitlab => gitlab::write(report, output),
    }
}

/// Equal findings in one or several processes.
pub(crate) struct ReportEntry<'a> {
    pub(crate) finding: &'a Finding,
    pub(crate) ruling: &'a Ruling,
    pub(crate) sentence: String,
    pub(crate) stack: Rc<[FoldedLine]>,
    /// The process of each finding, so a process may occur several times.
    pub(crate) processes: Vec<ProcessId>,
}

/// The key of equal findings: group, status, sentence, and lines of the stack.
type EqualFindings = (usize, RulingStatus, String, Rc<[FoldedLine]>);

/// Entries blamed on one function.
pub(crate) struct BlamedGroup<'a> {
    /// The function, otherwise the object, file or address of the frame, or the reason why there is no frame.
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) entries: Vec<ReportEntry<'a>>,
}

impl<'a> GateReport<'a> {
    /// Returns the findings with their rulings.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&'a Finding, &'a Ruling)> {
        self.evidence.findings.iter().zip(&self.verdict.rulings)
    }

    /// Returns the findings of each process, in the order of the processes. Unprinted findings follow all printed ones in
    /// the evidence, so the findings of a process need not be consecutive there.
    pub(crate) fn findings_by_process(&self) -> Vec<Vec<(&'a Finding, &'a Ruling)>> {
        let mut by_process = vec![Vec::new(); self.evidence.processes.len()];
        for (finding, ruling) in self.findings() {
            by_process[finding.process.0].push((finding, ruling));
        }
        by_process
    }

    /// Returns the findings that fail the gate or that a limit accepts, with equal findings in one entry. Sorts new findings
    /// first, then errors before leaks, then by lost bytes.
    pub(crate) fn groups(&self) -> Vec<BlamedGroup<'a>> {
        self.collect_groups(RulingStatus::is_shown)
    }

    /// Returns the entries of [`GateReport::groups`].
    pub(crate) fn entries(&self) -> Vec<ReportEntry<'a>> {
        let groups = self.groups().into_iter();
        groups.flat_map(|group| group.entries).collect()
    }

    /// Returns the entries for all findings, including excused ones.
    pub(crate) fn all_entries(&self) -> Vec<ReportEntry<'a>> {
        let groups = self.collect_groups(|_| true).into_iter();
        groups.flat_map(|group| group.entries).collect()
    }

    fn collect_groups(&self, is_wanted: fn(RulingStatus) -> bool) -> Vec<BlamedGroup<'a>> {
        let mut groups: Vec<BlamedGroup<'a>> = Vec::new();
        let mut group_index: Map<(String, Option<String>), usize> = Map::default();
        let mut entry_index: Map<EqualFindings, usize> = Map::default();
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
            let group = *group_index
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
            let entry = *entry_index.entry(key).or_insert_with(|| {
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

    /// Returns the sentence of a finding, with its growth if the growth fails the gate.
    pub(crate) fn sentence(&self, finding: &Finding, ruling: &Ruling) -> String {
        let mut sentence = visible(&sentence(finding, self.paths)).into_owned();
        if ruling.status == RulingStatus::Grown
            && let Some(growth) = self.verdict.growth.get(ruling.fingerprint(finding))
        {
            sentence.push_str(&format!("; grown: {growth}"));
        }
        if let Some(mark) = self.mark(finding) {
            sentence.push_str(&format!("; {mark}"));
        }
        sentence
    }

    /// Returns a line for each topic of the default suppressions that matched.
    pub(crate) fn default_suppression_lines(&self) -> Vec<String> {
        self.defaults_used
            .iter()
            .map(|(name, uses)| {
                let findings = plural(Count::from(*uses), "finding", "findings");
                format!("{findings} suppressed by default: {name}")
            })
            .collect()
    }

    /// Returns the known leaks that grew within the limit.
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

    /// Returns the sentence with its subject: `make_node leaks 64 bytes in 1 block, definitely lost`.
    pub(crate) fn message(&self, entry: &ReportEntry<'_>) -> String {
        let blamed = entry.ruling.blamed(entry.finding);
        with_subject(blamed, &entry.sentence)
    }

    /// Returns the same message, with a function name of at most `widest_name` columns.
    pub(crate) fn short_message(&self, entry: &ReportEntry<'_>, widest_name: usize) -> String {
        match entry.ruling.blamed(entry.finding) {
            Some(frame) => {
                let name = cg_document::short_name(&function_name(frame), widest_name);
                format!("{name} {}", entry.sentence)
            }
            None => entry.sentence.clone(),
        }
    }

    /// Returns the lines of an entry's stack.
    pub(crate) fn stack_lines(&self, entry: &ReportEntry<'_>) -> Vec<String> {
        let lines = entry.stack.iter().enumerate();
        lines
            .map(|(at, line)| self.lines.shown(at, *line))
            .collect()
    }

    /// Returns the titles of an entry's first few processes, and the number of the others.
    pub(crate) fn process_lines(&self, entry: &ReportEntry<'_>) -> Vec<String> {
        let lines = self.linked_process_lines(entry).into_iter();
        lines.map(|(line, _)| line).collect()
    }

    /// Returns the lines of [`GateReport::process_lines`], each with its process.
    fn linked_process_lines(&self, entry: &ReportEntry<'_>) -> Vec<(String, Option<ProcessId>)> {
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
            let more = (counted.len() - MOST_SHOWN) as Count;
            lines.push((plural(more, "more process", "more processes"), None));
        }
        lines
    }
}

/// Prepends the blamed function to a sentence, if there is one.
fn with_subject(blamed: Option<&Frame>, sentence: &str) -> String {
    match blamed {
        Some(frame) => format!("{} {sentence}", function_name(frame)),
        None => sentence.to_owned(),
    }
}

impl ReportEntry<'_> {
    /// Returns true if one of the `count` frames from `position` on is the blamed one.
    fn is_blamed_on(&self, position: usize, count: u32) -> bool {
        let repeated = position..position + count as usize;
        self.ruling
            .blame
            .is_some_and(|blame| repeated.contains(&blame))
    }

    /// Returns the sort key: failing entries first, errors before leaks, more bytes before fewer, then by text.
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
