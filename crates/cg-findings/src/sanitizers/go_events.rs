//! The events of `go test -json` (`cmd/internal/test2json`): one JSON object per line, with the output of a test binary in
//! `Output`. Tests of several packages run at once, so their lines are interleaved.

use cg_collections::maps::Map;
use cg_reader::{Error, Reading};
use memchr::memmem;
use serde::Deserialize;

use super::SanitizerLog;
use crate::table::FindingTable;

/// An event with output.
#[derive(Deserialize)]
pub(crate) struct GoEvent {
    #[serde(rename = "Action")]
    _action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Output")]
    pub(super) output: String,
}

impl GoEvent {
    /// Parses a line; `None` for all lines without output of a test.
    pub(crate) fn parse(line: &[u8]) -> Option<GoEvent> {
        if !line.starts_with(b"{") || memmem::find(line, b"\"Output\":").is_none() {
            return None;
        }
        serde_json::from_slice(line).ok()
    }
}

/// The output of each package's test binary while it is read.
#[derive(Default)]
pub(crate) struct GoEvents {
    packages: Vec<PackageOutput>,
    positions: Map<String, usize>,
}

struct PackageOutput {
    log: SanitizerLog,
    /// The beginning of a line whose end is in a later event.
    partial: String,
}

impl GoEvents {
    /// Adds the output of an event.
    pub(crate) fn event(&mut self, event: GoEvent, line_number: u64, table: &mut FindingTable) {
        let position = match self.positions.get(&event.package) {
            Some(known) => *known,
            None => {
                self.packages.push(PackageOutput::new(&event.package));
                let position = self.packages.len() - 1;
                self.positions.insert(event.package, position);
                position
            }
        };
        let package = &mut self.packages[position];
        package.partial.push_str(&event.output);
        while let Some(end) = package.partial.find('\n') {
            let rest = package.partial.split_off(end + 1);
            let line = std::mem::replace(&mut package.partial, rest);
            let line = line.trim_end_matches('\n');
            package.log.line(line.as_bytes(), line_number, table);
        }
    }

    /// Ends the log.
    pub(crate) fn finish(&mut self, lines: u64, table: &mut FindingTable) {
        for package in &mut self.packages {
            let line = std::mem::take(&mut package.partial);
            let is_whole = line.is_empty();
            if !is_whole {
                package.log.line(line.as_bytes(), lines, table);
            }
            package.log.finish(is_whole, lines, table);
        }
    }

    /// Returns true if no package has a report.
    pub(crate) fn is_empty(&self) -> bool {
        self.packages.iter().all(|package| package.log.is_empty())
    }

    /// Writes the processes of each package.
    pub(crate) fn write_processes(
        &self,
        table: &FindingTable,
        reading: &mut Reading,
    ) -> Result<(), Error> {
        for package in &self.packages {
            package.log.write_processes(table, reading)?;
        }
        Ok(())
    }
}

impl PackageOutput {
    /// Creates the output of a package. `go test` builds a binary named after the package.
    fn new(package: &str) -> PackageOutput {
        let log = SanitizerLog {
            command: Some(format!("{package}.test")),
            ..SanitizerLog::default()
        };
        PackageOutput {
            log,
            partial: String::new(),
        }
    }
}
