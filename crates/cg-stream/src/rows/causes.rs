//! Rendering of `cause` records as JSON. Each function has several causes, so its name is rendered once and then copied.

use std::io;

use super::json::put_text;
use crate::record::{CauseKind, Count, FunctionName};

/// The functions and events of causes, rendered as JSON.
#[derive(Default)]
pub struct CauseNames {
    json: Vec<u8>,
    /// The end of each function in `json`.
    ends: Vec<usize>,
    /// Each event as a JSON key, with the colon.
    events: Vec<Vec<u8>>,
}

/// A function of [`CauseNames`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseName(usize);

impl CauseNames {
    /// Creates the names of these events, without functions.
    pub fn new<'e>(events: impl Iterator<Item = &'e str>) -> CauseNames {
        let key = |event: &str| {
            let mut key = Vec::new();
            put_text(&mut key, event);
            key.push(b':');
            key
        };
        CauseNames {
            events: events.map(key).collect(),
            ..CauseNames::default()
        }
    }

    /// Adds a function and returns its position.
    pub fn add(&mut self, function: &FunctionName) -> CauseName {
        let fields = [
            (",\"fn\":", &function.name),
            (",\"file\":", &function.file),
            (",\"obj\":", &function.obj),
        ];
        for (key, name) in fields {
            if let Some(name) = name {
                self.json.extend_from_slice(key.as_bytes());
                put_text(&mut self.json, name);
            }
        }
        self.ends.push(self.json.len());
        CauseName(self.ends.len() - 1)
    }

    /// Returns the JSON fields of a function, which begin with a comma.
    fn fields(&self, CauseName(function): CauseName) -> &[u8] {
        let start = function
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        &self.json[start..self.ends[function]]
    }
}

/// A [`CauseRecord`](crate::record::CauseRecord) whose functions are in [`CauseNames`].
#[derive(Clone, Copy, Debug)]
pub struct CauseRow<'a> {
    /// The kind of the cause.
    pub kind: CauseKind,
    /// The function; the caller if the cause is a call.
    pub function: CauseName,
    /// The function that `function` is inlined into.
    pub host: Option<CauseName>,
    /// The called function.
    pub callee: Option<CauseName>,
    /// True if the callee is inlined, not called.
    pub inline: bool,
    /// The old and the new number of calls.
    pub calls: [Count; 2],
    /// The old and the new number of times that the function ran.
    pub ran: [Count; 2],
    /// The old and the new self cost by event, if the kind is cost per call.
    pub cost: &'a [[Count; 2]],
    /// The number of the function's cycle.
    pub cycle: Option<u64>,
    /// True if a function was paired by a guess.
    pub guess: bool,
    /// The line that changed most.
    pub line: Option<u64>,
    /// The file of that line, if it is not the function's file.
    pub site: Option<&'a str>,
    /// The cause's share of the change of the total, by event.
    pub delta: &'a [Count],
}

impl CauseRow<'_> {
    /// Appends the record.
    ///
    /// # Errors
    /// Returns an error if a count does not fit in 64 bits.
    pub(crate) fn put(&self, names: &CauseNames, json: &mut Vec<u8>) -> io::Result<()> {
        let kind = match self.kind {
            CauseKind::CostPerCall => "cost-per-call",
            CauseKind::Calls => "calls",
            CauseKind::Entered => "entered",
        };
        json.extend_from_slice(b"{\"type\":\"cause\",\"kind\":\"");
        json.extend_from_slice(kind.as_bytes());
        json.push(b'"');
        json.extend_from_slice(names.fields(self.function));
        for (key, function) in [(",\"host\":", self.host), (",\"callee\":", self.callee)] {
            if let Some(function) = function {
                json.extend_from_slice(key.as_bytes());
                json.push(b'{');
                let fields = names.fields(function);
                json.extend_from_slice(fields.get(1..).unwrap_or_default());
                json.push(b'}');
            }
        }
        if self.inline {
            json.extend_from_slice(b",\"inline\":true");
        }
        json.extend_from_slice(b",\"calls\":");
        put_counts(json, &self.calls)?;
        if !self.cost.is_empty() {
            json.extend_from_slice(b",\"per_call\":");
            let [old_ran, new_ran] = self.ran;
            put_by_event(json, &names.events, self.cost, |json, [old, new]| {
                put_counts(json, &[*old, old_ran, *new, new_ran])
            })?;
        }
        if self.kind == CauseKind::Calls {
            for (side, key) in [",\"old_rate\":", ",\"new_rate\":"].into_iter().enumerate() {
                json.extend_from_slice(key.as_bytes());
                put_counts(json, &[self.calls[side], self.ran[side]])?;
            }
        }
        put_number(json, ",\"cycle\":", self.cycle);
        if self.guess {
            json.extend_from_slice(b",\"guess\":true");
        }
        put_number(json, ",\"line\":", self.line);
        if let Some(site) = self.site {
            json.extend_from_slice(b",\"site\":");
            put_text(json, site);
        }
        json.extend_from_slice(b",\"delta\":");
        put_by_event(json, &names.events, self.delta, |json, count| {
            put_count(json, *count)
        })?;
        json.push(b'}');
        Ok(())
    }
}

fn put_number(json: &mut Vec<u8>, key: &str, number: Option<u64>) {
    if let Some(number) = number {
        json.extend_from_slice(key.as_bytes());
        json.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }
}

fn put_by_event<T>(
    json: &mut Vec<u8>,
    events: &[Vec<u8>],
    values: &[T],
    put: impl Fn(&mut Vec<u8>, &T) -> io::Result<()>,
) -> io::Result<()> {
    for (position, (event, value)) in events.iter().zip(values).enumerate() {
        json.push(if position == 0 { b'{' } else { b',' });
        json.extend_from_slice(event);
        put(json, value)?;
    }
    json.push(b'}');
    Ok(())
}

fn put_counts(json: &mut Vec<u8>, counts: &[Count]) -> io::Result<()> {
    for (position, count) in counts.iter().enumerate() {
        json.push(if position == 0 { b'[' } else { b',' });
        put_count(json, *count)?;
    }
    json.push(b']');
    Ok(())
}

fn put_count(json: &mut Vec<u8>, count: Count) -> io::Result<()> {
    let mut digits = itoa::Buffer::new();
    let digits = match (u64::try_from(count), i64::try_from(count)) {
        (Ok(count), _) => digits.format(count),
        (_, Ok(count)) => digits.format(count),
        _ => return Err(io::Error::other("a count does not fit in 64 bits")),
    };
    json.extend_from_slice(digits.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;
    use crate::record::{CauseRecord, Counts, CountsPerRun, PerRun};

    fn function(name: &str) -> FunctionName<'static> {
        FunctionName {
            name: Some(name.to_owned().into()),
            file: (name.len() > 1).then(|| "a \"b\".c".into()),
            obj: None,
        }
    }

    fn per_run(counts: &[Count]) -> PerRun {
        PerRun(counts.iter().copied().map(Some).collect())
    }

    /// Returns the record that a row represents.
    fn record(row: &CauseRow, functions: &[FunctionName<'static>]) -> CauseRecord<'static> {
        let named = |name: CauseName| functions[name.0].clone();
        let of = named(row.function);
        let rate = |side: usize| match row.kind {
            CauseKind::Calls => per_run(&[row.calls[side], row.ran[side]]),
            _ => PerRun::default(),
        };
        let events = ["Ir", "D\"r"];
        let cost = events.iter().zip(row.cost);
        let cost = cost.map(|(event, [old, new])| {
            let figures = per_run(&[*old, row.ran[0], *new, row.ran[1]]);
            ((*event).into(), figures)
        });
        let delta = events.iter().zip(row.delta);
        CauseRecord {
            kind: row.kind,
            name: of.name,
            file: of.file,
            obj: of.obj,
            host: row.host.map(|host| Box::new(named(host))),
            callee: row.callee.map(|callee| Box::new(named(callee))),
            inline: row.inline,
            calls: per_run(&row.calls),
            per_call: CountsPerRun(cost.collect()),
            old_rate: rate(0),
            new_rate: rate(1),
            cycle: row.cycle,
            guess: row.guess,
            line: row.line,
            site: row.site.map(|site| site.to_owned().into()),
            delta: Counts(
                delta
                    .map(|(event, count)| ((*event).into(), *count))
                    .collect(),
            ),
        }
    }

    #[test]
    fn a_row_is_written_like_its_record() {
        let functions = [function("f"), function("main"), function("")];
        let mut names = CauseNames::new(["Ir", "D\"r"].into_iter());
        let [f, main, nameless] = [0, 1, 2].map(|at| names.add(&functions[at]));
        let row = CauseRow {
            kind: CauseKind::CostPerCall,
            function: f,
            host: None,
            callee: None,
            inline: false,
            calls: [0, 7],
            ran: [3, u64::MAX.into()],
            cost: &[],
            cycle: None,
            guess: false,
            line: None,
            site: None,
            delta: &[i64::MIN.into(), 0],
        };
        let rows = [
            CauseRow {
                cost: &[[1, 2], [3, 4]],
                ..row
            },
            CauseRow {
                kind: CauseKind::Calls,
                callee: Some(main),
                inline: true,
                cycle: Some(2),
                guess: true,
                line: Some(14),
                site: Some("a\\h"),
                ..row
            },
            CauseRow {
                kind: CauseKind::Entered,
                function: main,
                host: Some(nameless),
                cycle: Some(1),
                line: Some(3),
                ..row
            },
        ];
        for row in rows {
            let mut writer = Writer::new(Vec::new());
            writer.record(&record(&row, &functions)).unwrap();
            writer.cause(&row, &names).unwrap();
            writer.flush().unwrap();
            let text = String::from_utf8(writer.into_inner()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0], lines[1]);
        }
        let beyond = CauseRow {
            calls: [1 << 64, 0],
            ..row
        };
        assert!(Writer::new(Vec::new()).cause(&beyond, &names).is_err());
    }
}
