//! Limits on a comparison: their grammar, and what breaks them.
//!
//! ```text
//! limit  := [ "any." ] [ "worst." ] figure [ "[" regex "]" ] op value
//! figure := event | "incl." event | "calls"
//! op     := ">" | ">=" | "<" | "<="
//! value  := number            the new figure itself
//!         | sign number       its change
//!         | sign number "%"   its change, of the old figure
//! ```
//!
//! Without a regex a limit is on the total; with one, on each matching function; with `worst.`, on the function whose
//! change exceeds it most. A function that the old run lacks rose from 0, which is more than any percentage. A limit is
//! on the last run; with `any.`, on every run.

use std::fmt;
use std::str::FromStr;

use cg_document::number::{grouped, signed};
use cg_stream::record::Count;
use regex::Regex;

/// A limit as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Limit {
    text: String,
    /// What is limited.
    pub(crate) figure: Limited,
    /// Whose figure.
    pub(crate) scope: Scope,
    /// True where it is on every run, not on the last alone.
    pub(crate) is_on_any: bool,
    op: Op,
    threshold: Threshold,
}

/// The figure that a limit is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    /// Self cost of an event; on the total, the total.
    Cost(String),
    /// Inclusive cost of an event.
    Incl(String),
    /// The call count.
    Calls,
}

/// Whose figure a limit is on.
#[derive(Clone, Debug)]
pub(crate) enum Scope {
    /// That of the whole run.
    Total,
    /// That of every function that matches.
    Functions(Regex),
    /// That of the matching function that exceeds the limit most.
    Worst(Option<Regex>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// Percentages are held in millionths, so that a limit is compared exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threshold {
    Level(Count),
    Change(Count),
    PercentMillionths(Count),
}

/// A figure as it is held against a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// What the figure is of: `the total`, or a function.
    pub(crate) of: String,
    /// The old figure; `None` where the old run lacks it.
    pub(crate) old: Option<Count>,
    /// The new figure; `None` where the new run lacks it.
    pub(crate) new: Option<Count>,
    /// What the change can be by noise, where a side has several files.
    pub(crate) noise: Option<Count>,
    /// What the change can be by chance, where the runs were sampled.
    pub(crate) chance: Option<Count>,
    /// What the figures are shares of, where shares are compared.
    pub(crate) whole: Option<Count>,
    /// The run that broke it, where that need not be the last.
    pub(crate) run: Option<String>,
}

/// What figures that vary by chance say to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitAnswer {
    Kept,
    Broken,
    /// Chance alone decides.
    Open,
}

impl Limit {
    /// Whether the figures break the limit, given what they may differ by through chance: yes, no, or undecided.
    pub(crate) fn answer(&self, old: Count, new: Count, chance: Count) -> LimitAnswer {
        if matches!(self.threshold, Threshold::Level(_)) {
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

    /// The event that is limited, if it is one.
    pub(crate) fn event(&self) -> Option<&str> {
        match &self.figure {
            Limited::Cost(event) | Limited::Incl(event) => Some(event),
            _ => None,
        }
    }

    /// True for a limit on what leaks count.
    pub(crate) fn is_on_leaks(&self) -> bool {
        let (Limited::Cost(event) | Limited::Incl(event)) = &self.figure else {
            return false;
        };
        matches!(event.as_str(), "bytes" | "blocks")
    }

    /// True for a limit on the new figure itself.
    pub(crate) fn is_level(&self) -> bool {
        matches!(self.threshold, Threshold::Level(_))
    }

    /// True where these figures break the limit. A change that is no greater than the noise is none.
    pub(crate) fn is_broken_beyond(
        &self,
        old: Option<Count>,
        new: Option<Count>,
        noise: Option<Count>,
    ) -> bool {
        let change = new.unwrap_or(0) - old.unwrap_or(0);
        let is_level = matches!(self.threshold, Threshold::Level(_));
        if !is_level && noise.is_some_and(|noise| change.abs() <= noise) {
            self.is_broken(old, old)
        } else {
            self.is_broken(old, new)
        }
    }

    /// True where these figures break the limit.
    pub(crate) fn is_broken(&self, old: Option<Count>, new: Option<Count>) -> bool {
        let (old, new) = (old.unwrap_or(0), new.unwrap_or(0));
        // One count and a percentage stay within 128 bits; the sum of billions of them saturates.
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

    /// True where more is worse.
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
            write!(f, "; noise makes up to {}", grouped(noise))?;
        }
        match (self.chance, self.whole) {
            (None, _) => {}
            (Some(chance), None) => write!(f, "; chance makes up to {}", grouped(chance))?,
            (Some(chance), Some(whole)) => {
                let points = chance as f64 * 100.0 / whole.max(1) as f64;
                write!(f, "; chance makes up to {points:.2} points")?;
            }
        }
        if let Some(run) = &self.run {
            write!(f, ", in {run}")?;
        }
        Ok(())
    }
}

impl Measured {
    fn write_change(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(old), Some(new)) = (self.old, self.new) else {
            return match (self.old, self.new) {
                (Some(old), None) => write!(f, "{} is gone, it was {}", self.of, grouped(old)),
                (None, Some(new)) => write!(f, "{} is new with {}", self.of, grouped(new)),
                _ => write!(f, "{} has no figure", self.of),
            };
        };
        let delta = new - old;
        let verb = match delta {
            0 => return write!(f, "{} is {}", self.of, grouped(new)),
            1.. => "rose",
            _ => "fell",
        };
        let (of, shown_old, shown_new) = (&self.of, self.shown(old), self.shown(new));
        write!(f, "{of} {verb} from {shown_old} to {shown_new}")?;
        let percent =
            (old != 0).then(|| format!("{:+.2}%", delta as f64 * 100.0 / old.abs() as f64));
        match (self.whole, percent) {
            (None, None) => write!(f, " ({})", signed(delta)),
            (None, Some(percent)) => write!(f, " ({}, {percent})", signed(delta)),
            (Some(_), None) => write!(f, " of all"),
            (Some(_), Some(percent)) => write!(f, " of all ({percent})"),
        }
    }

    /// A figure, or what share it is where shares are compared.
    fn shown(&self, figure: Count) -> String {
        match self.whole {
            Some(whole) if whole != 0 => {
                format!("{:.2}%", figure as f64 * 100.0 / whole as f64)
            }
            _ => grouped(figure),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let text = text.trim();
        // The brackets are looked for first: a regex or a function's name may contain comparison signs.
        let (subject, rest) = match (text.find('['), text.rfind(']')) {
            (Some(open), Some(close)) if open < close => {
                if text[open + 1..close].trim().is_empty() {
                    return Err(format!(
                        "expected a regex in [ and ] in \"{text}\", found none (a variable that is not set?)"
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
        let figure = figure.trim();
        let (figure, is_on_any) = match figure.strip_prefix("any.") {
            Some(figure) => (figure, true),
            None => (figure, false),
        };
        let (figure, is_worst) = match figure.strip_prefix("worst.") {
            Some(figure) => (figure, true),
            None => (figure, false),
        };
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
            "expected a number, a change such as +1000 or a percentage such as +5%, found \"{value}\""
        )
    };
    let (sign, number) = match value.as_bytes().first() {
        Some(b'+') => (Some(1), &value[1..]),
        Some(b'-') => (Some(-1), &value[1..]),
        _ => (None, value),
    };
    if let Some(percent) = number.strip_suffix('%') {
        let sign = sign.ok_or_else(|| {
            format!("a percentage is of a change: expected +{value} or -{value}, found \"{value}\"")
        })?;
        let millionths = percent_millionths(percent.trim_end()).ok_or_else(expected)?;
        return Ok(Threshold::PercentMillionths(sign * millionths));
    }
    let number = integer(number).ok_or_else(expected)?;
    Ok(match sign {
        None => Threshold::Level(number),
        Some(sign) => Threshold::Change(sign * number),
    })
}

/// Digits with `_` or `,` between them, within 64 bits.
fn integer(text: &str) -> Option<Count> {
    let digits: String = text.chars().filter(|c| !matches!(c, '_' | ',')).collect();
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok().map(Count::from)
}

/// A decimal number with at most six digits behind the point, times a million.
fn percent_millionths(text: &str) -> Option<Count> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 6 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let fraction: u32 = format!("{fraction:0<6}").parse().ok()?;
    Some(Count::from(whole) * MILLION + Count::from(fraction))
}

/// The limits in a file, one a line; `#` begins a comment line.
///
/// # Errors
/// Where a line is no limit, with its number, and where there is none.
pub(crate) fn parse_file(text: &str) -> Result<Vec<Limit>, String> {
    let limits: Vec<Limit> = text
        .lines()
        .enumerate()
        .map(|(number, line)| (number + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| line.parse().map_err(|error| format!("{number}: {error}")))
        .collect::<Result<_, _>>()?;
    match limits.is_empty() {
        true => Err(" expected a limit a line, found none".to_owned()),
        false => Ok(limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: &str, old: Count, new: Count) -> bool {
        limit
            .parse::<Limit>()
            .unwrap()
            .is_broken(Some(old), Some(new))
    }

    #[test]
    fn chance_leaves_open_what_it_can_decide() {
        let answer = |limit: &str, old, new, chance| {
            limit.parse::<Limit>().unwrap().answer(old, new, chance)
        };
        for (limit, old, new, chance, expected) in [
            // 200 less 52 is more than 120, 200 with 52 too.
            ("samples[f]>+20%", 100, 200, 52, LimitAnswer::Broken),
            // 130 less 45 is 85, and 130 with 45 is 175.
            ("samples[f]>+20%", 100, 130, 45, LimitAnswer::Open),
            ("samples[f]>+20%", 1000, 1010, 134, LimitAnswer::Kept),
            ("samples[f]>+20%", 1000, 1100, 134, LimitAnswer::Open),
            // The limit itself is not beyond it.
            ("samples[f]>+20", 100, 110, 10, LimitAnswer::Kept),
            ("samples[f]>=+20", 100, 110, 10, LimitAnswer::Open),
            ("samples[f]<-10%", 100, 60, 29, LimitAnswer::Broken),
            ("samples[f]<-10%", 100, 60, 30, LimitAnswer::Open),
            // A level is what was counted.
            ("samples[f]>100", 0, 101, 50, LimitAnswer::Broken),
            ("samples[f]>100", 0, 100, 50, LimitAnswer::Kept),
            // What nobody met is 0.
            ("samples[f]>+5%", 0, 0, 0, LimitAnswer::Kept),
        ] {
            assert_eq!(
                answer(limit, old, new, chance),
                expected,
                "{limit} {old} {new} {chance}"
            );
        }
    }

    #[test]
    fn percentages_are_of_the_old_figure_and_exact() {
        assert!(!check("Ir>+5%", 1000, 1050));
        assert!(check("Ir>+5%", 1000, 1051));
        assert!(check("Ir>=+5%", 1000, 1050));
        assert!(!check("Ir>+0.000001%", 100_000_000, 100_000_001));
        assert!(check("Ir>+0.000001%", 100_000_000, 100_000_002));
        assert!(check("Ir<-10%", 1000, 899));
        assert!(!check("Ir<-10%", 1000, 900));
        assert!(check("Ir>+5%", 0, 1));
        assert!(!check("Ir>+5%", 0, 0));
        let most = Count::from(u64::MAX);
        assert!(check("Ir>+100%", most / 2, most));
        assert!(!check("Ir>+4294967295%", most, most));
    }

    #[test]
    fn a_sign_makes_a_change_of_a_level() {
        assert!(check("end_bytes>0", 5, 1));
        assert!(!check("end_bytes>+0", 5, 1));
        assert!(check("total_blocks > +0", 5, 6));
        assert!(check("Ir<-1_000", 5000, 3999));
        assert!(check("Ir<=100", 5, 100));
    }

    #[test]
    fn scopes_are_told_by_regex_and_worst() {
        let limit = |text: &str| text.parse::<Limit>().unwrap();
        assert!(matches!(limit("Ir>+1").scope, Scope::Total));
        let functions = limit("incl.Ir[^mycrate::[a-z]+<.*>$]>+1000");
        assert_eq!(functions.figure, Limited::Incl("Ir".to_owned()));
        let Scope::Functions(regex) = functions.scope else {
            panic!("no regex")
        };
        assert_eq!(regex.as_str(), "^mycrate::[a-z]+<.*>$");
        assert!(matches!(limit("worst.Ir>+1").scope, Scope::Worst(None)));
        assert!(matches!(
            limit("worst.incl.Ir[f]>+1").scope,
            Scope::Worst(Some(_))
        ));
        assert_eq!(limit("calls[malloc]>+0").figure, Limited::Calls);
    }

    #[test]
    fn what_is_no_limit_says_why() {
        for (text, why) in [
            ("Ir", "expected > >= < or <= in \"Ir\", as in 'Ir>+5%'"),
            (
                "Ir>5%",
                "a percentage is of a change: expected +5% or -5%, found \"5%\"",
            ),
            ("Ir>+", "expected a number"),
            ("Ir>+x%", "expected a number"),
            ("Ir>+1.0000001%", "expected a number"),
            ("Ir>99999999999999999999", "expected a number"),
            (">5", "expected an event"),
            ("incl.Ir>+5%", "inclusive cost has no total"),
            ("Ir[a>5", "expected a regex in [ and ]"),
            ("Ir[(]>5", "regex parse error"),
            ("Ir[]>5", "found none"),
            ("worst.Ir[ ]>5", "found none"),
            ("Ir[a]5", "expected > >= < or <="),
        ] {
            let error = text.parse::<Limit>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_broken_limit_is_told_with_its_figures() {
        let limit: Limit = "Ir>+5%".parse().unwrap();
        let broken = |old, new| {
            limit.sentence(&Measured {
                chance: None,
                whole: None,
                of: "the total".to_owned(),
                old,
                new,
                noise: None,
                run: None,
            })
        };
        assert_eq!(
            broken(Some(1000), Some(1100)),
            "Ir>+5%: the total rose from 1,000 to 1,100 (+100, +10.00%)"
        );
        assert_eq!(broken(None, Some(7)), "Ir>+5%: the total is new with 7");
    }

    #[test]
    fn a_change_within_the_noise_is_none_and_a_level_is_a_level() {
        let check = |limit: &str, new, noise| {
            let limit: Limit = limit.parse().unwrap();
            limit.is_broken_beyond(Some(1000), Some(new), noise)
        };
        assert!(!check("Ir>+0.5%", 1010, Some(10)));
        assert!(check("Ir>+0.5%", 1011, Some(10)));
        assert!(check("Ir>+0.5%", 1010, None));
        assert!(check("Ir>=+0", 1001, Some(10)));
        assert!(check("Ir>1000", 1010, Some(10)));
        assert!(!check("Ir<-1", 990, Some(10)));
    }

    #[test]
    fn a_file_has_a_limit_a_line() {
        let limits = parse_file("# agreed\n\nIr>+5%\n calls[malloc]>+0 \n").unwrap();
        assert_eq!(limits.len(), 2);
        assert!(parse_file("# nothing agreed yet\n").is_err());
        assert!(
            parse_file("Ir>+5%\nIr>>5\n")
                .unwrap_err()
                .starts_with("2: ")
        );
    }
}
