//! Rendering of `cause` records as JSON. Details name functions again and again, so a name is rendered once and
//! then copied.

use std::io;

use super::json::put_text;
use crate::record::{CauseKind, Count, FunctionName, InlinedIn};

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
#[derive(Clone, Debug)]
pub struct CauseRow<'a> {
    /// The function.
    pub function: CauseName,
    /// The benchmark, if the compared runs belong to one.
    pub bench: Option<&'a str>,
    /// True if the function was paired by a guess.
    pub guess: bool,
    /// The number of the function's cycle.
    pub cycle: Option<u64>,
    /// The cause's share of the change of the total, by event.
    pub delta: &'a [Count],
    /// The details, the greatest first.
    pub details: Vec<CauseDetailRow<'a>>,
}

/// A detail of a [`CauseRow`].
#[derive(Clone, Copy, Debug)]
pub struct CauseDetailRow<'a> {
    /// The kind of the detail.
    pub kind: CauseKind,
    /// The function that the detail names.
    pub function: Option<CauseName>,
    /// True if that function was paired by a guess.
    pub guess: bool,
    /// The old and the new number of calls.
    pub calls: Option<[Count; 2]>,
    /// True if the number of calls is an estimate.
    pub about: bool,
    /// The old and the new number of entries into the cycle.
    pub entries: Option<[Count; 2]>,
    /// The recorded inclusive costs by event; empty if there are none.
    pub recorded: &'a [[Count; 2]],
    /// The amount that netted out by event; empty if there is none.
    pub moved: &'a [Count],
    /// The function that makes the calls in the other run.
    pub other: Option<CauseName>,
    /// The runs in which the function is inlined.
    pub inlined: Option<InlinedIn>,
    /// The line that changed most.
    pub line: Option<u64>,
    /// The file of that line, if it is not the function's file.
    pub site: Option<&'a str>,
    /// The detail's share of the change of the total, by event.
    pub delta: &'a [Count],
}

impl CauseRow<'_> {
    /// Appends the record.
    ///
    /// # Errors
    /// Returns an error if a count does not fit in 64 bits.
    pub(crate) fn put(&self, names: &CauseNames, json: &mut Vec<u8>) -> io::Result<()> {
        json.extend_from_slice(b"{\"type\":\"cause\"");
        json.extend_from_slice(names.fields(self.function));
        if let Some(bench) = self.bench {
            json.extend_from_slice(b",\"bench\":");
            put_text(json, bench);
        }
        put_mark(json, ",\"guess\":true", self.guess);
        put_number(json, ",\"cycle\":", self.cycle);
        json.extend_from_slice(b",\"delta\":");
        put_by_event(json, &names.events, self.delta, |json, count| {
            put_count(json, *count)
        })?;
        json.extend_from_slice(b",\"details\":[");
        for (position, detail) in self.details.iter().enumerate() {
            if position > 0 {
                json.push(b',');
            }
            detail.put(names, json)?;
        }
        json.extend_from_slice(b"]}");
        Ok(())
    }
}

impl CauseDetailRow<'_> {
    fn put(&self, names: &CauseNames, json: &mut Vec<u8>) -> io::Result<()> {
        json.extend_from_slice(b"{\"kind\":\"");
        json.extend_from_slice(self.kind.name().as_bytes());
        json.push(b'"');
        if let Some(function) = self.function {
            json.extend_from_slice(names.fields(function));
        }
        put_mark(json, ",\"guess\":true", self.guess);
        if let Some(calls) = self.calls {
            json.extend_from_slice(b",\"calls\":");
            put_counts(json, &calls)?;
        }
        put_mark(json, ",\"about\":true", self.about);
        if let Some(entries) = self.entries {
            json.extend_from_slice(b",\"entries\":");
            put_counts(json, &entries)?;
        }
        if !self.recorded.is_empty() {
            json.extend_from_slice(b",\"recorded\":");
            put_by_event(json, &names.events, self.recorded, |json, costs| {
                put_counts(json, costs)
            })?;
        }
        if !self.moved.is_empty() {
            json.extend_from_slice(b",\"moved\":");
            put_by_event(json, &names.events, self.moved, |json, count| {
                put_count(json, *count)
            })?;
        }
        if let Some(other) = self.other {
            json.extend_from_slice(b",\"other\":{");
            let fields = names.fields(other);
            json.extend_from_slice(fields.get(1..).unwrap_or_default());
            json.push(b'}');
        }
        if let Some(inlined) = self.inlined {
            json.extend_from_slice(b",\"inlined\":\"");
            json.extend_from_slice(inlined.name().as_bytes());
            json.push(b'"');
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

fn put_mark(json: &mut Vec<u8>, mark: &str, is_set: bool) {
    if is_set {
        json.extend_from_slice(mark.as_bytes());
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
    use crate::record::{CauseDetail, CauseRecord, Counts, CountsPerRun, PerRun};

    const EVENTS: [&str; 2] = ["Ir", "D\"r"];

    fn function(name: &str) -> FunctionName<'static> {
        FunctionName {
            name: Some(name.to_owned().into()),
            file: (name.len() > 1).then(|| "a \"b\".c".into()),
            obj: None,
        }
    }

    fn per_run(counts: Option<[Count; 2]>) -> PerRun {
        let counts = counts.into_iter().flatten();
        PerRun(counts.map(Some).collect())
    }

    fn by_event(counts: &[Count]) -> Counts<'static> {
        let counts = EVENTS.iter().zip(counts);
        Counts(
            counts
                .map(|(event, count)| ((*event).into(), *count))
                .collect(),
        )
    }

    /// Returns the record that a row represents.
    fn record(row: &CauseRow, functions: &[FunctionName<'static>]) -> CauseRecord<'static> {
        let named = |name: CauseName| functions[name.0].clone();
        let detail = |detail: &CauseDetailRow| {
            let function = detail.function.map(named).unwrap_or_default();
            let recorded = EVENTS.iter().zip(detail.recorded);
            let recorded = recorded.map(|(event, costs)| ((*event).into(), per_run(Some(*costs))));
            CauseDetail {
                kind: detail.kind,
                name: function.name,
                file: function.file,
                obj: function.obj,
                guess: detail.guess,
                calls: per_run(detail.calls),
                about: detail.about,
                entries: per_run(detail.entries),
                recorded: CountsPerRun(recorded.collect()),
                moved: by_event(detail.moved),
                other: detail.other.map(|other| Box::new(named(other))),
                inlined: detail.inlined,
                line: detail.line,
                site: detail.site.map(|site| site.to_owned().into()),
                delta: by_event(detail.delta),
            }
        };
        let function = named(row.function);
        CauseRecord {
            name: function.name,
            file: function.file,
            obj: function.obj,
            bench: row.bench.map(|bench| bench.to_owned().into()),
            guess: row.guess,
            cycle: row.cycle,
            delta: by_event(row.delta),
            details: row.details.iter().map(detail).collect(),
        }
    }

    #[test]
    fn a_row_is_written_like_its_record() {
        let functions = [function("f"), function("main"), function("")];
        let mut names = CauseNames::new(EVENTS.into_iter());
        let [f, main, nameless] = [0, 1, 2].map(|at| names.add(&functions[at]));
        let plain = CauseDetailRow {
            kind: CauseKind::Own,
            function: None,
            guess: false,
            calls: None,
            about: false,
            entries: None,
            recorded: &[],
            moved: &[],
            other: None,
            inlined: None,
            line: None,
            site: None,
            delta: &[i64::MIN.into(), 0],
        };
        let details = vec![
            plain,
            CauseDetailRow {
                kind: CauseKind::Moved,
                function: Some(main),
                guess: true,
                calls: Some([3, 0]),
                about: true,
                recorded: &[[1, 2], [3, u64::MAX as Count]],
                moved: &[7, 0],
                other: Some(nameless),
                line: Some(14),
                site: Some("a\\h"),
                ..plain
            },
            CauseDetailRow {
                kind: CauseKind::Runs,
                calls: Some([8, 15]),
                entries: Some([2, 3]),
                ..plain
            },
            CauseDetailRow {
                kind: CauseKind::Inlined,
                function: Some(f),
                inlined: Some(InlinedIn::New),
                ..plain
            },
        ];
        let row = CauseRow {
            function: f,
            bench: None,
            guess: false,
            cycle: None,
            delta: &[1, -2],
            details: vec![plain],
        };
        let all = CauseRow {
            function: main,
            bench: Some("parse \"x\""),
            guess: true,
            cycle: Some(2),
            details,
            ..row.clone()
        };
        for row in [row.clone(), all] {
            let mut writer = Writer::new(Vec::new());
            writer.record(&record(&row, &functions)).unwrap();
            writer.cause(&row, &names).unwrap();
            writer.flush().unwrap();
            let text = String::from_utf8(writer.into_inner()).unwrap();
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(lines[0], lines[1]);
        }
        let beyond = CauseRow {
            delta: &[1 << 64],
            ..row
        };
        assert!(Writer::new(Vec::new()).cause(&beyond, &names).is_err());
    }
}
