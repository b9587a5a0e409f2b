//! The end of a part: checks its totals, adds it to the section, and prepares for the next part.

use cg_collections::intern::Id as _;
use cg_reader::Error;

use super::{CallgrindReader, PartState, Stage};
use crate::callgrind::inclusive;
use crate::refusal::Refusal;

impl CallgrindReader<'_> {
    /// Ends the part and begins the next one.
    pub(super) fn next_part(&mut self) -> Result<(), Refusal> {
        self.flush_calls()?;
        self.check_totals()?;
        self.finish_part().map_err(Refusal::Other)
    }

    pub(super) fn end_of_file(&mut self, ended_with_newline: bool) -> Result<(), Error> {
        let line_number = self.line_number;
        let here = |message: String| Error::at(line_number, message);
        if self.calls.is_some() {
            return Err(here(
                "expected the cost of calls=, found the end of the file; the profile is cut short"
                    .to_owned(),
            ));
        }
        if self.stage == Stage::Header && (self.has_header || self.parts == 0) {
            return Err(here(
                "expected events:, found the end of the file".to_owned(),
            ));
        }
        let has_costs = self.stage > Stage::Body || !self.part.present.is_empty();
        // A summary of 0 says that nothing was counted.
        let is_counted = |summary: &[i128]| summary.iter().any(|count| *count != 0);
        let needs_costs = self.summary.as_deref().is_none_or(is_counted);
        if self.stage > Stage::Header && !has_costs && self.parts == 0 && needs_costs {
            return Err(here("expected costs, found the end of the file".to_owned()));
        }
        if self.stage == Stage::Totals
            && !ended_with_newline
            && let Some((_, totals)) = &self.totals
            && *totals != self.part_sums()
        {
            return Err(here(
                "the totals: are cut short by the end of the file".to_owned(),
            ));
        }
        self.check_totals()
            .map_err(|refusal| refusal.at(line_number))?;
        self.finish_part()
    }

    /// Returns the self cost of the part, in the order of its events.
    fn part_sums(&self) -> Vec<i128> {
        let mut sums = vec![0i128; self.section.event_count()];
        for node in &self.part.present {
            for (sum, cell) in sums.iter_mut().zip(self.part.own.row(node.index())) {
                *sum += self.part.signedness.count(*cell);
            }
        }
        match &self.columns {
            None => {
                sums.truncate(self.events.len());
                sums
            }
            Some(columns) => columns.iter().map(|column| sums[*column]).collect(),
        }
    }

    /// Returns true if the part's writer ends every part with `totals:`. Callgrind also writes `summary:` before the costs,
    /// so a profile without `summary:` has been changed by another program and need not have `totals:`.
    fn must_have_totals(&self) -> bool {
        self.is_xtree || self.shown.is_callgrind && self.summary.is_some()
    }

    /// Compares the part's `totals:` with the sum of its costs.
    fn check_totals(&mut self) -> Result<(), Refusal> {
        let has_continued_names = std::mem::take(&mut self.has_continued_names);
        let Some((line, totals)) = self.totals.take() else {
            if has_continued_names {
                // A damaged cost line after a name looks the same.
                self.section.mark_incomplete();
                self.diagnostics.error(format!(
                    "{}:{}: no totals: at the end of the part; lines read as the rest of a name may be damaged costs",
                    self.source, self.line_number
                ));
            }
            return if self.stage > Stage::Header && self.must_have_totals() {
                Err(
                    "expected totals: at the end of the part, found none; the profile is cut short"
                        .to_owned()
                        .into(),
                )
            } else {
                if self.is_xdebug && self.stage == Stage::Body && self.summary.is_none() {
                    self.diagnostics.warn(format!(
                        "{}:{}: no summary:, which Xdebug writes last; the profile may be cut short",
                        self.source, self.line_number
                    ));
                }
                Ok(())
            };
        };
        for ((event, total), sum) in self.events.iter().zip(totals).zip(self.part_sums()) {
            if total != sum {
                self.section.mark_incomplete();
                self.diagnostics.error(format!(
                    "{}:{line}: totals: has {total} {event}, but the costs add up to {sum}",
                    self.source
                ));
            }
        }
        Ok(())
    }

    /// Returns the summary of a cProfile part, as written by pyprof2calltree or its predecessor lsprofcalltree; `None` for
    /// other parts.
    fn cprofile_summary(&self) -> Option<u64> {
        let has_python_event =
            matches!(self.events.as_slice(), [event] if event == "ns" || event == "Ticks");
        let summary = self
            .summary
            .as_deref()
            .filter(|_| self.is_anonymous && has_python_event);
        u64::try_from(*summary?.first()?).ok()
    }

    /// Adds the part to the section and prepares for the next part.
    pub(super) fn finish_part(&mut self) -> Result<(), Error> {
        if self.stage == Stage::Header {
            return Ok(());
        }
        self.shown.timed = self.cprofile_summary();
        let summary = self.summary.take().unwrap_or_else(|| self.part_sums());
        for (event, count) in self.events.iter().zip(summary) {
            // A summary is arithmetic modulo 2^64.
            self.section.run.add_summary(event, count as u64);
        }
        let added = inclusive::fold(
            &self.part,
            &self.nodes,
            &self.function_names,
            self.shown,
            self.section,
        );
        self.part.clear();
        self.parts += 1;
        self.section.run.end_part(self.pid);
        self.stage = Stage::Header;
        self.state = PartState::default();
        added.map_err(|no_room| Refusal::from(no_room).at(self.line_number))?;
        (self.part_done)(self.section)
    }
}
