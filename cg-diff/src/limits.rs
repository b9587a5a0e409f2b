//! Limits on a comparison: their grammar, and what breaks them.
//!
//! ```text
//! limit  := [ "any." ] [ "worst." ] figure [ "[" regex "]" ] op value
//! figure := event | "incl." event | "calls"
//! op     := ">" | ">=" | "<" | "<="
//! value  := number [ unit ]   the new figure itself
//!         | sign number [ unit ]   its change
//!         | sign number "%"   its change, relative to the old figure
//! unit   := "k" | "M" | "G"   powers of 1000
//!         | "KiB" | "MiB" | "GiB"   powers of 1024
//! ```
//!
//! Without a regex, a limit applies to the total; with a regex, to each matching function; with `worst.`, to the function
//! that exceeds the limit most. A function that the old run lacks rose from 0, which is more than any percentage. A limit
//! applies to the last run or, with `any.`, to every run.

use std::fmt;
use std::str::FromStr;

use cg_document::number::{grouped, signed};
use cg_stream::record::Count;
use regex::Regex;

/// A parsed limit.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    /// The limit as the user wrote it.
    text: String,
    /// The limited figure.
    pub(crate) figure: Limited,
    pub(crate) scope: Scope,
    /// True if the limit applies to every run, not only to the last.
    pub(crate) is_on_any: bool,
    op: Op,
    threshold: Threshold,
}

/// The figure that a limit applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    /// Self cost of an event or, for [`Scope::Total`], the total.
    Cost(String),
    /// Inclusive cost of an event.
    Incl(String),
    /// The call count.
    Calls,
}

/// The rows that a limit applies to.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// The whole run.
    Total,
    /// Every matching function.
    Functions(Regex),
    /// The matching function that exceeds the limit most.
    Worst(Option<Regex>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// The value that a figure is compared with. Percentages are integers in millionths, so comparisons are exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threshold {
    Level(Count),
    Change(Count),
    PercentMillionths(Count),
}

/// A figure to compare with a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Measured {
    /// `the total`, or the name of a function.
    pub(crate) subject: String,
    /// The old figure; `None` if the old run lacks it.
    pub(crate) old: Option<Count>,
    /// The new figure; `None` if the new run lacks it.
    pub(crate) new: Option<Count>,
    /// The maximum change by noise, if a side has several files.
    pub(crate) noise: Option<Count>,
    /// The maximum change by chance, if the runs are sampled.
    pub(crate) chance: Option<Count>,
    /// The maximum cost that Massif's threshold hides in the old and the new figure.
    pub(crate) hidden: Option<[Count; 2]>,
    /// True if the figures are upper bounds.
    pub(crate) is_bound: bool,
    /// The total that the figures are shares of, if shares are compared.
    pub(crate) whole: Option<Count>,
    /// The run that broke the limit, if the limit applies to any run.
    pub(crate) run: Option<String>,
}

/// The verdict on inexact figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitAnswer {
    Kept,
    Broken,
    /// The unknown part of the figures decides.
    Open,
}

impl Limit {
    /// Compares figures with the limit, allowing for a change of at most `chance`.
    pub(crate) fn answer(&self, old: Count, new: Count, chance: Count) -> LimitAnswer {
        if self.is_level() {
            return match self.is_broken(Some(old), Some(new)) {
                true => LimitAnswer::Broken,
                false => LimitAnswer::Kept,
            };
        }
        let is_broken_at = |new| self.is_broken(Some(old), Some(new));
        match (is_broken_at(new - chance), is_broken_at(new + chance)) {
            (true, true) => LimitAnswer::Broken,
            (false, false) => LimitAnswer::Kept,
            _ => LimitAnswer::Open,
        }
    }

    /// Compares figures with the limit if each figure may be greater by a given amount.
    pub(crate) fn answer_up_to(
        &self,
        [old, new]: [Count; 2],
        [more_old, more_new]: [Count; 2],
    ) -> LimitAnswer {
        // The comparison is linear in both figures, so checking the extremes is enough.
        let ends = [(0, 0), (more_old, 0), (0, more_new), (more_old, more_new)];
        let is_broken = ends.map(|(more_old, more_new)| {
            let figures = (old.saturating_add(more_old), new.saturating_add(more_new));
            self.is_broken(Some(figures.0), Some(figures.1))
        });
        match (is_broken.contains(&true), is_broken.contains(&false)) {
            (true, false) => LimitAnswer::Broken,
            (false, _) => LimitAnswer::Kept,
            (true, true) => LimitAnswer::Open,
        }
    }

    /// The limited event; `None` for calls.
    pub(crate) fn event(&self) -> Option<&str> {
        match &self.figure {
            Limited::Cost(event) | Limited::Incl(event) => Some(event),
            _ => None,
        }
    }

    /// Returns true if the limit is on an event of leak records.
    pub(crate) fn is_on_leaks(&self) -> bool {
        matches!(self.event(), Some("bytes" | "blocks"))
    }

    /// Returns true if the limit is on the new figure itself.
    pub(crate) fn is_level(&self) -> bool {
        matches!(self.threshold, Threshold::Level(_))
    }

    /// Returns true if these figures break the limit. A change within the noise does not count.
    pub(crate) fn is_broken_beyond(
        &self,
        old: Option<Count>,
        new: Option<Count>,
        noise: Option<Count>,
    ) -> bool {
        let change = new.unwrap_or(0) - old.unwrap_or(0);
        if !self.is_level() && noise.is_some_and(|noise| change.abs() <= noise) {
            self.is_broken(old, old)
        } else {
            self.is_broken(old, new)
        }
    }

    /// Returns true if these figures break the limit.
    pub(crate) fn is_broken(&self, old: Option<Count>, new: Option<Count>) -> bool {
        let (old, new) = (old.unwrap_or(0), new.unwrap_or(0));
        // A count times a percentage fits in 128 bits; a sum of billions of counts saturates.
        let (found, limit) = match self.threshold {
            Threshold::Level(level) => (new, level),
            Threshold::Change(change) => (new - old, change),
            Threshold::PercentMillionths(percent) => (
                (new - old).saturating_mul(100 * MILLION),
                percent.saturating_mul(old.abs()),
            ),
        };
        match self.op {
            Op::Above => found > limit,
            Op::AtLeast => found >= limit,
            Op::Below => found < limit,
            Op::AtMost => found <= limit,
        }
    }

    /// The message for a broken limit.
    pub(crate) fn sentence(&self, broken: &Measured) -> String {
        format!("{}: {broken}", self.text)
    }

    /// Returns the same limit for figures that are counted in parts of their unit.
    pub(crate) fn in_parts(&self, parts: Count) -> Limit {
        Limit {
            threshold: match self.threshold {
                Threshold::Level(level) => Threshold::Level(level.saturating_mul(parts)),
                Threshold::Change(change) => Threshold::Change(change.saturating_mul(parts)),
                percent @ Threshold::PercentMillionths(_) => percent,
            },
            ..self.clone()
        }
    }

    /// Returns true if greater figures are worse.
    pub(crate) fn is_upper(&self) -> bool {
        matches!(self.op, Op::Above | Op::AtLeast)
    }

    /// The limit as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

const MILLION: Count = 1_000_000;

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_change(f)?;
        if let Some(noise) = self.noise {
            write!(f, "; noise can reach {}", grouped(noise))?;
        }
        match (self.chance, self.whole) {
            (None, _) => {}
            (Some(chance), None) => write!(f, "; chance can reach {}", grouped(chance))?,
            (Some(chance), Some(whole)) => {
                let points = chance as f64 * 100.0 / whole.max(1) as f64;
                write!(f, "; chance can reach {points:.2} points")?;
            }
        }
        if let Some(run) = &self.run {
            write!(f, ", in {run}")?;
        }
        Ok(())
    }
}

impl Measured {
    /// Writes figures that Massif's threshold makes inexact.
    fn write_inexact(
        &self,
        f: &mut fmt::Formatter<'_>,
        [more_old, more_new]: [Count; 2],
    ) -> fmt::Result {
        let range = |figure: Option<Count>, more: Count| match (figure.unwrap_or(0), more) {
            (figure, 0) => grouped(figure),
            (0, more) => format!("at most {}", grouped(more)),
            (figure, more) => format!("{} to {}", grouped(figure), grouped(figure + more)),
        };
        let (old, new) = (range(self.old, more_old), range(self.new, more_new));
        write!(
            f,
            "{} was {old} and is {new} (inexact: below Massif's threshold)",
            self.subject
        )
    }

    fn write_change(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(more) = self.hidden {
            return self.write_inexact(f, more);
        }
        if self.is_bound {
            let [old, new] = [self.old, self.new].map(|bound| grouped(bound.unwrap_or(0)));
            return write!(f, "{} was at most {old} and is at most {new}", self.subject);
        }
        let (Some(old), Some(new)) = (self.old, self.new) else {
            return match (self.old, self.new) {
                (Some(old), None) => {
                    write!(f, "{} is gone (it was {})", self.subject, grouped(old))
                }
                (None, Some(new)) => write!(f, "{} is new with {}", self.subject, grouped(new)),
                _ => write!(f, "{} has no figure", self.subject),
            };
        };
        let delta = new - old;
        let verb = match delta {
            0 => return write!(f, "{} is {}", self.subject, grouped(new)),
            1.. => "rose",
            _ => "fell",
        };
        let (subject, shown_old, shown_new) = (&self.subject, self.shown(old), self.shown(new));
        write!(f, "{subject} {verb} from {shown_old} to {shown_new}")?;
        let percent =
            (old != 0).then(|| format!("{:+.2}%", delta as f64 * 100.0 / old.abs() as f64));
        match (self.whole, percent) {
            (None, None) => write!(f, " ({})", signed(delta)),
            (None, Some(percent)) => write!(f, " ({}, {percent})", signed(delta)),
            (Some(_), None) => write!(f, " of all"),
            (Some(_), Some(percent)) => write!(f, " of all ({percent})"),
        }
    }

    /// Formats a figure, as a percentage if shares are compared.
    fn shown(&self, figure: Count) -> String {
        match self.whole {
            Some(whole) if whole != 0 => {
                format!("{:.2}%", figure as f64 * 100.0 / whole as f64)
            }
            _ => grouped(figure),
        }
    }
}

/// Strips a prefix. Returns the rest, and true if the prefix was there.
fn without_prefix<'f>(figure: &'f str, prefix: &str) -> (&'f str, bool) {
    match figure.strip_prefix(prefix) {
        Some(rest) => (rest, true),
        None => (figure, false),
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let text = text.trim();
        // Look for the brackets first: a regex may contain comparison signs.
        let (subject, rest) = match (text.find('['), text.rfind(']')) {
            (Some(open), Some(close)) if open < close => {
                if text[open + 1..close].trim().is_empty() {
                    return Err(format!(
                        "expected a regex in [ and ] in \"{text}\", found none (an unset variable?)"
                    ));
                }
                let regex = Regex::new(&text[open + 1..close])
                    .map_err(|error| error.to_string().replace('\n', " "))?;
                ((&text[..open], Some(regex)), &text[close + 1..])
            }
            (None, None) => {
                let op = text.find(['<', '>']).ok_or_else(|| {
                    format!("expected > >= < or <= in \"{text}\", as in 'Ir>+5%'")
                })?;
                ((&text[..op], None), &text[op..])
            }
            _ => return Err(format!("expected a regex in [ and ] in \"{text}\"")),
        };
        let (figure, regex) = subject;
        let (figure, is_on_any) = without_prefix(figure.trim(), "any.");
        let (figure, is_worst) = without_prefix(figure, "worst.");
        let rest = rest.trim();
        let ops = [
            (">=", Op::AtLeast),
            ("<=", Op::AtMost),
            (">", Op::Above),
            ("<", Op::Below),
        ];
        let (op, value) = ops
            .into_iter()
            .find_map(|(sign, op)| rest.strip_prefix(sign).map(|value| (op, value.trim())))
            .ok_or_else(|| format!("expected > >= < or <= in \"{text}\", found \"{rest}\""))?;
        let limited = match figure {
            "" => {
                return Err(format!(
                    "expected an event, incl.EVENT or calls in \"{text}\""
                ));
            }
            "calls" => Limited::Calls,
            other => match other.strip_prefix("incl.") {
                Some(event) => Limited::Incl(event.to_owned()),
                None => Limited::Cost(other.to_owned()),
            },
        };
        let scope = match (regex, is_worst) {
            (regex, true) => Scope::Worst(regex),
            (Some(regex), false) => Scope::Functions(regex),
            (None, false) => Scope::Total,
        };
        if matches!((&limited, &scope), (Limited::Incl(_), Scope::Total)) {
            return Err(format!(
                "\"{text}\": inclusive cost has no total; limit functions, as in 'incl.{}[REGEX]…'",
                figure.trim_start_matches("incl.")
            ));
        }
        Ok(Limit {
            text: text.to_owned(),
            figure: limited,
            scope,
            is_on_any,
            op,
            threshold: threshold(value)?,
        })
    }
}

fn threshold(value: &str) -> Result<Threshold, String> {
    let expected = || {
        format!(
            "expected a number, a change such as +1000 or a percentage such as +5%, found \"{value}\"; units are k, M, G, KiB, MiB, GiB"
        )
    };
    let (sign, number) = match value.as_bytes().first() {
        Some(b'+') => (Some(1), &value[1..]),
        Some(b'-') => (Some(-1), &value[1..]),
        _ => (None, value),
    };
    if let Some(percent) = number.strip_suffix('%') {
        let sign = sign.ok_or_else(|| {
            format!(
                "a percentage limits a change: expected +{value} or -{value}, found \"{value}\""
            )
        })?;
        let millionths = percent_millionths(percent.trim_end()).ok_or_else(expected)?;
        return Ok(Threshold::PercentMillionths(sign * millionths));
    }
    let number = count_with_unit(number).ok_or_else(expected)?;
    Ok(match sign {
        None => Threshold::Level(number),
        Some(sign) => Threshold::Change(sign * number),
    })
}

/// The units of values, with the counts that they multiply. `k` is not the beginning of another unit.
const UNITS: [(&str, Count); 6] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
];

/// Parses a count with an optional unit. With a unit, it may have decimals. `None` beyond 64 bits, or for a part of a count.
fn count_with_unit(text: &str) -> Option<Count> {
    let mut units = UNITS.iter();
    let found = units.find_map(|(unit, size)| Some((text.strip_suffix(unit)?, *size)));
    let Some((number, size)) = found else {
        return integer(text);
    };
    let number = number.trim_end();
    let millionths = match integer(number) {
        Some(whole) => whole.checked_mul(MILLION)?,
        None if number.starts_with(|c: char| c.is_ascii_digit()) => percent_millionths(number)?,
        None => return None,
    };
    let product = millionths.checked_mul(size)?;
    let is_count = product % MILLION == 0 && product / MILLION <= Count::from(u64::MAX);
    is_count.then_some(product / MILLION)
}

/// Parses digits with optional `_` or `,` between them; `None` beyond 64 bits.
fn integer(text: &str) -> Option<Count> {
    let digits: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok().map(Count::from)
}

/// Parses a decimal number with at most six decimals. Returns it times a million.
fn percent_millionths(text: &str) -> Option<Count> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let fraction: u32 = format!("{fraction:0<6}").parse().ok()?;
    Some(Count::from(whole) * MILLION + Count::from(fraction))
}

/// Parses a file of limits, one per line; `#` begins a comment line.
///
/// # Errors
/// Returns an error with its line number if a line is not a limit, and an error if there are no limits.
pub(crate) fn parse_file(text: &str) -> Result<Vec<Limit>, String> {
    let limits: Vec<Limit> = text
        .lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| line.parse().map_err(|error| format!("{number}: {error}")))
        .collect::<Result<_, _>>()?;
    match limits.is_empty() {
        true => Err(" expected one limit per line, found none".to_owned()),
        false => Ok(limits),
    }
}

#[cfg(test)]
mod tests;
