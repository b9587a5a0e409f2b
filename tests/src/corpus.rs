//! Compares the result of cg-parse for a profile with the result of an independent reader.
//!
//! The independent reader only adds up costs: the self costs of a callgrind file, the heap of Massif's peak, DHAT's program
//! points, the LEAK SUMMARY of a log. It ignores names, arcs and stacks. `documents` adds up JSON from sampling profilers.

mod documents;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::tools;

/// Sums by name: an event, or a name such as `leak definite bytes`.
pub type Sums = BTreeMap<String, i128>;

/// The result of [`check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// cg-parse and the independent reader have the same sums.
    Agrees(Sums),
    /// cg-parse reads the profile, but the independent reader does not support it.
    Unchecked,
    /// cg-parse does not recognise the format.
    NoProfile,
    /// cg-parse rejects all or part of the profile with this message.
    Refused(String),
    /// The sums differ, or cg-parse did not end as specified.
    Wrong(String),
}

/// One line of a report.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Agrees(sums) => {
                write!(f, "agrees   ")?;
                for (name, sum) in sums.iter().take(4) {
                    write!(f, " {name}={sum}")?;
                }
                Ok(())
            }
            Verdict::Unchecked => f.write_str("unchecked"),
            Verdict::NoProfile => f.write_str("no profile"),
            Verdict::Refused(message) => write!(f, "refused   {message}"),
            Verdict::Wrong(message) => write!(f, "WRONG     {message}"),
        }
    }
}

/// Parses a profile and compares the sums.
pub fn check(path: &Path) -> Verdict {
    let output = Command::new("timeout")
        .arg("120")
        .arg(tools::folder().join("cg-parse"))
        .arg(path)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stream = match read_stream(&output.stdout) {
        Ok(stream) => stream,
        Err(message) => return Verdict::Wrong(message),
    };
    let first_message = stderr.lines().next().unwrap_or_default().to_owned();
    match output.status.code() {
        Some(0) if stream.is_whole => {}
        Some(2) if first_message.contains("not recognised as") => return Verdict::NoProfile,
        Some(2) if !stream.is_whole && !stderr.is_empty() => {
            return Verdict::Refused(first_message);
        }
        Some(124) => return Verdict::Wrong("it took more than two minutes".to_owned()),
        status => {
            return Verdict::Wrong(format!(
                "status {status:?}, {} end record, message: {first_message}",
                if stream.is_whole { "an" } else { "no" }
            ));
        }
    }
    let Some(expected) = read_profile(path) else {
        return Verdict::Unchecked;
    };
    for (name, sum) in &expected {
        let found = stream.sums.get(name).copied().unwrap_or(0);
        if found != *sum {
            return Verdict::Wrong(format!("{name}: expected {sum}, found {found}"));
        }
    }
    Verdict::Agrees(expected)
}

struct Stream {
    is_whole: bool,
    sums: Sums,
}

/// Adds up a stream. Checks that the records of each section sum to its total.
fn read_stream(bytes: &[u8]) -> Result<Stream, String> {
    let mut sums = Sums::new();
    let mut section: BTreeMap<String, Sums> = BTreeMap::new();
    let mut total = Sums::new();
    let (mut runs, mut ends) = (0, 0);
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let record: Value = serde_json::from_slice(line)
            .map_err(|error| format!("a line of the stream is not JSON: {error}"))?;
        let kind = record["type"].as_str().unwrap_or_default();
        match kind {
            "run" => {
                runs += 1;
                total = integers(&record["total"]);
                section.clear();
                add(&mut sums, "", &total);
            }
            "end" => {
                ends += 1;
                for (kind, sums) in &section {
                    for (event, sum) in sums {
                        let expected = total.get(event).copied().unwrap_or(0);
                        if *sum != expected
                            && matches!(kind.as_str(), "fn" | "leak" | "program_point" | "stack")
                        {
                            return Err(format!(
                                "{kind} records have {sum} {event}, the total is {expected}"
                            ));
                        }
                    }
                }
            }
            _ => {
                let cost = integers(&record["cost"]);
                add(section.entry(kind.to_owned()).or_default(), "", &cost);
                if kind == "leak" {
                    let leak_kind = record["kind"].as_str().unwrap_or_default();
                    add(&mut sums, &format!("leak {leak_kind} "), &cost);
                    // XML adds the bytes that are reachable only through a leak to the leak's bytes.
                    let indirect = record["indirect_bytes"].as_u64().unwrap_or(0);
                    let bytes = cost.get("bytes").copied().unwrap_or(0) + i128::from(indirect);
                    let name = format!("leak {leak_kind} bytes, indirect ones too");
                    *sums.entry(name).or_default() += bytes;
                }
                *sums.entry(format!("{kind} records")).or_default() += 1;
            }
        }
    }
    Ok(Stream {
        is_whole: runs > 0 && runs == ends,
        sums,
    })
}

fn integers(object: &Value) -> Sums {
    let pairs = object.as_object().into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), value.to_string().parse().ok()?)))
        .collect()
}

fn add(sums: &mut Sums, prefix: &str, more: &Sums) {
    for (name, value) in more {
        *sums.entry(format!("{prefix}{name}")).or_default() += value;
    }
}

/// Adds up a profile without cg-parse; `None` if this reader does not support the profile.
fn read_profile(path: &Path) -> Option<Sums> {
    let mut bytes = std::fs::read(path).ok()?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        flate2::read::MultiGzDecoder::new(&packed[..])
            .read_to_end(&mut bytes)
            .ok()?;
    }
    let text = String::from_utf8_lossy(&bytes);
    if text.contains("<valgrindoutput>") {
        read_xml(&text)
    } else if text.contains("\"dhatFileVersion\"") {
        read_dhat(&text)
    } else if let Some(document) = documents::parse(&text) {
        documents::read(&document)
    } else if text
        .lines()
        .any(|line| line.starts_with("snapshot=") || line.starts_with("#-----------"))
    {
        Some(read_massif(&text))
    } else if text.lines().any(|line| line.starts_with("events:")) {
        read_cost_lines(&text)
    } else if text.contains("LEAK SUMMARY:") {
        read_leak_summary(&text)
    } else if path.to_string_lossy().ends_with(".perf.txt") {
        Some(read_perf_script(&text))
    } else if path.to_string_lossy().ends_with(".folded") {
        read_folded(&text)
    } else {
        None
    }
}

/// Adds up Callgrind and Cachegrind: every cost line that does not follow `calls=`.
fn read_cost_lines(text: &str) -> Option<Sums> {
    let mut sums = Sums::new();
    let mut events: Vec<&str> = Vec::new();
    let mut positions = 1;
    let mut is_inclusive = false;
    for line in text.lines() {
        if let Some(names) = line.strip_prefix("events:") {
            events = names.split_whitespace().collect();
        } else if let Some(names) = line.strip_prefix("positions:") {
            positions = names.split_whitespace().count();
        } else if line.starts_with("calls=") {
            is_inclusive = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            if std::mem::take(&mut is_inclusive) {
                continue;
            }
            let costs = line.split_whitespace().skip(positions);
            for (event, cost) in events.iter().zip(costs) {
                // Some producers compress costs as if they were subpositions.
                if cost.starts_with(['*', '+']) {
                    return None;
                }
                let cost: i128 = match cost.strip_prefix("0x") {
                    Some(digits) => i128::from_str_radix(digits, 16).ok()?,
                    None => cost.parse().ok()?,
                };
                *sums.entry((*event).to_owned()).or_default() += cost;
            }
        }
    }
    Some(sums)
}

/// Adds up perf script: counts the lines with a time, with their events and periods. With `-F ip,sym` there are no times,
/// and half of the empty lines are samples.
fn read_perf_script(text: &str) -> Sums {
    let is_time = |word: &&str| {
        let seconds = word.strip_suffix(':').and_then(|time| time.split_once('.'));
        seconds.is_some_and(|(_, fraction)| matches!(fraction.len(), 6 | 9))
    };
    let mut sums = Sums::new();
    let mut empty = 0;
    for line in text.lines().filter(|line| !line.starts_with(['\t', '#'])) {
        empty += i128::from(line.is_empty());
        let mut words = line
            .split_whitespace()
            .skip_while(|word| !is_time(word))
            .skip(1);
        let Some(first) = words
            .next()
            .filter(|word| !word.starts_with("PERF_RECORD_"))
        else {
            continue;
        };
        *sums.entry("samples".to_owned()).or_default() += 1;
        let (period, event) = match first.parse() {
            Ok(period) => (period, words.next().unwrap_or_default()),
            Err(_) => (1, first),
        };
        *sums
            .entry(event.trim_end_matches(':').to_owned())
            .or_default() += period;
    }
    if sums.is_empty() {
        sums.insert("samples".to_owned(), empty / 2);
    }
    sums
}

/// Adds up folded stacks: the integers after the last blank of each line; `None` if one of them is not an integer.
fn read_folded(text: &str) -> Option<Sums> {
    let counts = text
        .lines()
        .map(|line| line.rsplit(' ').next()?.parse::<i128>().ok());
    let sum = counts.sum::<Option<i128>>()?;
    Some(Sums::from([("samples".to_owned(), sum)]))
}

/// Returns Massif's heap at the snapshot marked as the peak, or at the largest snapshot with a tree.
fn read_massif(text: &str) -> Sums {
    let mut heap = 0;
    let (mut peak, mut largest) = (None, 0);
    for line in text.lines() {
        if let Some(bytes) = line.strip_prefix("mem_heap_B=") {
            heap = bytes.trim().parse().unwrap_or(0);
        } else if let Some(tree) = line.strip_prefix("heap_tree=") {
            match tree.trim() {
                "peak" => peak = Some(heap),
                "detailed" => largest = largest.max(heap),
                _ => {}
            }
        }
    }
    Sums::from([("bytes".to_owned(), peak.unwrap_or(largest))])
}

/// Adds up DHAT's program points.
fn read_dhat(text: &str) -> Option<Sums> {
    const KEYS: [(&str, &str); 8] = [
        ("tb", "total_bytes"),
        ("tbk", "total_blocks"),
        ("gb", "gmax_bytes"),
        ("gbk", "gmax_blocks"),
        ("eb", "end_bytes"),
        ("ebk", "end_blocks"),
        ("rb", "read_bytes"),
        ("wb", "write_bytes"),
    ];
    let profile: Value = serde_json::from_str(text).ok()?;
    let points = profile["pps"].as_array()?;
    let mut sums = Sums::new();
    for point in points {
        for (key, name) in KEYS {
            if let Some(count) = point[key].as_u64() {
                *sums.entry(name.to_owned()).or_default() += i128::from(count);
            }
        }
    }
    Some(sums)
}

/// Adds up the LEAK SUMMARY rows of a text log, for the kinds with loss records. `None` if a process had several leak
/// checks, because only its last summary counts.
fn read_leak_summary(text: &str) -> Option<Sums> {
    let mut processes: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once("LEAK SUMMARY:"))
        .map(|(process, _)| process)
        .collect();
    let summaries = processes.len();
    processes.sort_unstable();
    processes.dedup();
    if processes.len() < summaries {
        return None;
    }

    const ROWS: [(&str, &str, &str); 4] = [
        (
            "definitely lost: ",
            "definite",
            " definitely lost in loss record",
        ),
        (
            "indirectly lost: ",
            "indirect",
            " indirectly lost in loss record",
        ),
        (
            "possibly lost: ",
            "possible",
            " possibly lost in loss record",
        ),
        (
            "still reachable: ",
            "reachable",
            " still reachable in loss record",
        ),
    ];
    let mut sums = Sums::new();
    for (row, kind, record) in ROWS {
        // If the log does not show indirect losses, they are also included in the record of the block that leads to them.
        if !text.contains(record) {
            continue;
        }
        for line in text.lines() {
            let Some((_, counts)) = line.split_once(row) else {
                continue;
            };
            let mut numbers = counts.split_whitespace().filter_map(|word| {
                let digits: String = word.chars().filter(|c| *c != ',').collect();
                digits.parse::<i128>().ok()
            });
            for unit in ["bytes", "blocks"] {
                let count = numbers.next().unwrap_or(0);
                *sums.entry(format!("leak {kind} {unit}")).or_default() += count;
            }
        }
    }
    Some(sums)
}

/// Counts the errors and leaks of XML, and adds up the leaks. `None` if a process had several leak checks, because only the
/// last check counts.
fn read_xml(text: &str) -> Option<Sums> {
    let count = |pattern: &str| text.matches(pattern).count();
    // The last check is at the end of the process. An earlier one may have had other loss records.
    let before_the_end = text
        .split_once("<state>FINISHED</state>")
        .map(|(before, _)| before);
    if count("in loss record 1 of ") > count("<valgrindoutput>")
        || before_the_end.is_some_and(|before| before.contains(" in loss record "))
    {
        return None;
    }
    let mut sums = Sums::new();
    for error in text.split("<error>").skip(1) {
        let error = error.split("</error>").next().unwrap_or_default();
        let field = |name: &str| {
            let (_, rest) = error.split_once(&format!("<{name}>"))?;
            Some(rest.split('<').next().unwrap_or_default())
        };
        let kind = match field("kind") {
            Some("Leak_DefinitelyLost") => "definite",
            Some("Leak_IndirectlyLost") => "indirect",
            Some("Leak_PossiblyLost") => "possible",
            Some("Leak_StillReachable") => "reachable",
            _ => {
                *sums.entry("error records".to_owned()).or_default() += 1;
                continue;
            }
        };
        *sums.entry("leak records".to_owned()).or_default() += 1;
        for (name, unit) in [
            ("leakedblocks", "blocks"),
            ("leakedbytes", "bytes, indirect ones too"),
        ] {
            let count = field(name).and_then(|count| count.parse::<i128>().ok());
            *sums.entry(format!("leak {kind} {unit}")).or_default() += count.unwrap_or(0);
        }
    }
    Some(sums)
}
