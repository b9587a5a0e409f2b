//! Cachegrind's profile format.
//!
//! Manual: Cachegrind, "Cachegrind Out File Format"; writer: `cachegrind/cg_main.c:fprint_CC_table_and_calc_totals`,
//! and `cg_diff` and `cg_merge`, which write the same.
//!
//! ```text
//! desc: …          any number; none where the cache is not simulated (3.21 and later)
//! cmd: …
//! events: Ir …
//! fl=FILE
//! fn=FUNCTION
//! LINE COUNT …     0 is an unknown line; missing counts and `.` are 0; cg_diff writes negative ones
//! summary: …       the sum of all counts, always last
//! ```
//!
//! There are no objects, calls or inclusive cost, and names are written in full. A function stands once under each
//! file that code in it came from, and is one record each. Very old files have `fi=` and `fe=`: these change the file
//! of the lines and not the function.

use cg_stream::Diagnostics;

use crate::costs::callgrind::{counts::LineCounts, header};
use crate::costs::section::{FunctionId, FunctionKey, LineKey, Section, Signedness, StringId};
use crate::error::Error;
use crate::error::excerpt;
use crate::format::{Lines, Options};
use crate::number::leading_u64;
use cg_names::demangle::demangle;

/// Adds a profile to a section. What was read before an error is in the section.
pub(crate) fn read(
    source: &str,
    lines: &mut Lines,
    options: &Options,
    section: &mut Section,
    diagnostics: &mut Diagnostics,
) -> Result<(), Error> {
    section.run.add_source(source);
    let mut reader = Reader {
        section,
        demangle: options.demangle,
        wants_lines: options.lines || options.instr,
        events: Vec::new(),
        columns: Vec::new(),
        sums: Vec::new(),
        command: None,
        file: StringId::NOT_GIVEN,
        line_file: StringId::NOT_GIVEN,
        function: None,
        counts: LineCounts::default(),
        row: Vec::new(),
        summary: None,
    };
    let result = reader.read(lines);
    let line_number = lines.line_number();
    match result {
        Err(message) => Err(Error::at(line_number, message)),
        Ok(()) => {
            let is_cut = !lines.ended_with_newline();
            reader
                .finish(is_cut, |message| {
                    diagnostics.warn(format!("{source}:{line_number}: {message}"));
                })
                .map_err(|message| Error::at(line_number, message))
        }
    }
    .inspect_err(|_| reader.section.leave_open())
}

struct Reader<'a> {
    section: &'a mut Section,
    demangle: bool,
    wants_lines: bool,
    events: Vec<String>,
    columns: Vec<usize>,
    /// The sum of each event, to be compared with `summary:`.
    sums: Vec<i128>,
    command: Option<Vec<u8>>,
    file: StringId,
    /// The file of the lines: `file`, but for `fi=` in old profiles.
    line_file: StringId,
    function: Option<FunctionId>,
    counts: LineCounts,
    row: Vec<u64>,
    summary: Option<Vec<i128>>,
}

impl Reader<'_> {
    fn read(&mut self, lines: &mut Lines) -> Result<(), String> {
        while lines.advance().map_err(|error| error.to_string())? {
            let line = match lines.last_line() {
                [line @ .., b'\r'] => line,
                line => line,
            };
            match line {
                [b'0'..=b'9', ..] => self.cost_line(line)?,
                [b'f', b'n', b'=', name @ ..] => self.function_line(name)?,
                [b'f', b'l', b'=', name @ ..] => {
                    self.body()?;
                    self.file = self.section.strings.intern(name);
                    self.line_file = self.file;
                    self.function = None;
                }
                [b'f', b'i' | b'e', b'=', name @ ..] => {
                    self.body()?;
                    self.line_file = self.section.strings.intern(name);
                }
                [] | [b'#', ..] => {}
                _ => self.header_line(line)?,
            }
        }
        Ok(())
    }

    /// Whether costs may come: behind `events:` and before `summary:`.
    fn body(&self) -> Result<(), String> {
        if self.events.is_empty() {
            return Err("expected events: before the first position".to_owned());
        }
        if self.summary.is_some() {
            return Err("expected nothing behind summary:".to_owned());
        }
        Ok(())
    }

    #[inline]
    fn cost_line(&mut self, line: &[u8]) -> Result<(), String> {
        self.body()?;
        let refused = || format!("expected a line number and counts, found {}", excerpt(line));
        let (line_number, rest) = leading_u64(line).ok_or_else(refused)?;
        let rest = match rest {
            [] => rest,
            [b' ' | b'\t', ..] => rest.trim_ascii_start(),
            _ => return Err(refused()),
        };
        self.counts.read(rest, self.events.len())?;
        if self.counts.has_negative() && self.section.signedness() == Signedness::Unsigned {
            self.section
                .become_signed()
                .map_err(|_| "a negative count in a profile with counts beyond 2^63".to_owned())?;
        }
        let function = match self.function {
            Some(function) => function,
            // cg_annotate calls these `<unspecified>`; a name that is not given is left out here.
            None => self.begin_function(StringId::NOT_GIVEN),
        };
        let signedness = self.section.signedness();
        self.row.clear();
        self.row.resize(self.section.event_count(), 0);
        for ((count, column), sum) in self
            .counts
            .get()
            .iter()
            .zip(&self.columns)
            .zip(&mut self.sums)
        {
            self.row[*column] = self.row[*column].wrapping_add(*count);
            *sum += signedness.count(*count);
        }
        let too_large = |_| "a sum of counts is beyond 64 bits".to_owned();
        self.section
            .add_cost(function, &self.row)
            .map_err(too_large)?;
        if self.wants_lines {
            let key = LineKey {
                function,
                file: self.line_file,
                line: line_number,
                address: None,
            };
            self.section
                .add_line(key, &self.row, &[], false)
                .map_err(too_large)?;
        }
        Ok(())
    }

    fn function_line(&mut self, name: &[u8]) -> Result<(), String> {
        self.body()?;
        let name = if self.demangle {
            self.section.strings.intern(&demangle(name))
        } else {
            self.section.strings.intern(name)
        };
        self.begin_function(name);
        Ok(())
    }

    fn begin_function(&mut self, name: StringId) -> FunctionId {
        let function = self.section.function(FunctionKey {
            name,
            file: self.file,
            object: StringId::NOT_GIVEN,
        });
        self.function = Some(function);
        function
    }

    fn header_line(&mut self, line: &[u8]) -> Result<(), String> {
        let in_header = self.events.is_empty();
        match header::key_and_value(line) {
            Some((b"desc", value)) if in_header => {
                header::description(value, &mut self.section.run);
            }
            Some((b"cmd", value)) if in_header => self.command = Some(value.to_vec()),
            Some((b"events", value)) if in_header => {
                if let Some(command) = &self.command {
                    self.section.run.command.say(header::text(command));
                }
                self.events = header::event_names(value)?;
                self.columns = self.section.columns(&self.events);
                self.sums = vec![0; self.events.len()];
            }
            Some((b"summary", value)) if !in_header => {
                self.body()?;
                self.summary = Some(header::sums(value, self.events.len())?);
            }
            _ if line.trim_ascii().is_empty() => {}
            // Cachegrind does not escape line ends in arguments.
            _ if in_header && self.command.is_some() => {
                if let Some(command) = &mut self.command {
                    command.push(b'\n');
                    command.extend_from_slice(line);
                }
            }
            _ if in_header => {
                return Err(format!(
                    "expected desc:, cmd: or events:, found {}",
                    excerpt(line)
                ));
            }
            _ => {
                return Err(format!(
                    "expected fl=, fn=, a line number or summary:, found {}",
                    excerpt(line)
                ));
            }
        }
        Ok(())
    }

    /// Checks the end: Cachegrind always writes `summary:`, and it is the sum.
    fn finish(&mut self, is_cut: bool, mut warn: impl FnMut(String)) -> Result<(), String> {
        let Some(summary) = self.summary.take() else {
            return Err(
                "expected summary: at the end, found the end of the file; the profile is cut short"
                    .to_owned(),
            );
        };
        if summary == self.sums {
            return Ok(());
        }
        if is_cut {
            return Err("the summary: is cut short by the end of the file".to_owned());
        }
        for ((event, summary), sum) in self.events.iter().zip(&summary).zip(&self.sums) {
            if summary != sum {
                self.section
                    .run
                    .add_summary(event, u64::try_from(*summary).unwrap_or(*summary as u64));
                warn(format!(
                    "summary: has {summary} {event}, but the counts add up to {sum}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::format::Options;
    use crate::testing::{check_all_prefixes, parse};

    fn records(text: &str, kind: &str, options: &Options) -> Vec<String> {
        let parsed = parse(text.as_bytes(), options);
        assert!(
            !parsed.trouble && parsed.is_whole(),
            "{:?}",
            parsed.messages
        );
        assert_eq!(parsed.messages, [""; 0]);
        parsed.of(kind).into_iter().map(str::to_owned).collect()
    }

    #[track_caller]
    fn refused(text: &str, message: &str) {
        let parsed = parse(text.as_bytes(), &Options::default());
        assert_eq!(parsed.messages, [message]);
        assert!(parsed.trouble && !parsed.is_whole());
    }

    #[test]
    fn a_function_is_a_record_under_each_of_its_files() {
        let text = "desc: I1 cache: 32768 B\ncmd: ./a b\nevents: Ir I1mr \nfl=a.c\nfn=f\n3 10 1\n4 5\nfl=b.h\nfn=f\n0 2 .\nsummary: 17 1\n";
        assert_eq!(
            records(text, "run", &Options::default()),
            [
                "\"stream\":1,\"tool\":\"cachegrind\",\"command\":\"./a b\",\"source\":[\"in\"],\"events\":[\"Ir\",\"I1mr\"],\"total\":{\"Ir\":17,\"I1mr\":1},\"desc\":{\"I1 cache\":\"32768 B\"}}"
            ]
        );
        assert_eq!(
            records(text, "fn", &Options::default()),
            [
                "\"fn\":\"f\",\"file\":\"a.c\",\"calls\":0,\"cost\":{\"Ir\":15,\"I1mr\":1}}",
                "\"fn\":\"f\",\"file\":\"b.h\",\"calls\":0,\"cost\":{\"Ir\":2}}"
            ]
        );
    }

    #[test]
    fn an_argument_may_have_lines() {
        let text =
            "cmd: python3 -c print(1)\nprint(2)\nevents: Ir\nfl=a.c\nfn=f\n3 10\nsummary: 10\n";
        let run = &records(text, "run", &Options::default())[0];
        assert!(
            run.contains("\"command\":\"python3 -c print(1)\\nprint(2)\""),
            "{run}"
        );
    }

    #[test]
    fn a_command_and_events_alone_do_not_make_it_cachegrind() {
        let parsed = parse(
            b"cmd: unknown\nevents: Time\n\nfn=(1) f\n1 2\n",
            &Options::default(),
        );
        assert!(parsed.of("run")[0].contains("\"tool\":\"callgrind\""));
    }

    #[test]
    fn old_profiles_switch_files_inside_a_function() {
        let lines = Options {
            lines: true,
            ..Options::default()
        };
        let text =
            "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n3 10\nfi=b.h\n7 2\nfe=a.c\n4 1\nsummary: 13\n";
        assert_eq!(records(text, "fn", &lines).len(), 1);
        assert_eq!(
            records(text, "line", &lines)[1],
            "\"fn\":\"f\",\"file\":\"b.h\",\"line\":7,\"cost\":{\"Ir\":2}}"
        );
    }

    #[test]
    fn differences_are_negative() {
        let text = "desc: Files compared:   a; b\ncmd: a; b\nevents: Ir\nfl=a.c\nfn=f\n0 -10\nfn=g\n0 4\nsummary: -6\n";
        assert_eq!(
            records(text, "fn", &Options::default()),
            [
                "\"fn\":\"g\",\"file\":\"a.c\",\"calls\":0,\"cost\":{\"Ir\":4}}",
                "\"fn\":\"f\",\"file\":\"a.c\",\"calls\":0,\"cost\":{\"Ir\":-10}}"
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        refused(
            "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\n",
            "in:5: expected summary: at the end, found the end of the file; the profile is cut short",
        );
        refused(
            "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 20\nsummary: 2",
            "in:6: the summary: is cut short by the end of the file",
        );
        refused(
            "cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2 3\nsummary: 2\n",
            "in:5: expected at most 1 counts, one an event, found 2",
        );
        refused(
            "cmd: a\nevents: Ir\nfl=a.c\nhello\nsummary: 2\n",
            "in:4: expected fl=, fn=, a line number or summary:, found \"hello\"",
        );
    }

    #[test]
    fn a_summary_that_is_wrong_is_told_with_both_figures() {
        let parsed = parse(
            b"cmd: a\nevents: Ir\nfl=a.c\nfn=f\n1 2\nsummary: 3\n",
            &Options::default(),
        );
        assert_eq!(
            parsed.messages,
            ["in:6: summary: has 3 Ir, but the counts add up to 2"]
        );
        assert!(!parsed.trouble);
    }

    #[test]
    fn no_prefix_panics_and_every_one_is_an_error() {
        let text = b"desc: x\ncmd: ./a\nevents: Ir Dr\nfl=a.c\nfn=f\n3 10 4\n4 5\nsummary: 15 4\n";
        check_all_prefixes(text, &Options::default());
        for length in 0..text.len() - 1 {
            assert!(
                parse(&text[..length], &Options::default()).trouble,
                "{length}"
            );
        }
    }
}
