//! Figures that follow from the events of a profile: sums of them with weights, and ratios of such sums.
//!
//! A sum adds up over records as its events do, so it is an event like others. A ratio does not: it is computed from sums,
//! and has no share of a total.

use crate::record::Count;

/// A weight and the position of an event, added up.
pub type WeightedSum = Vec<(Count, usize)>;

/// A figure that follows from events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// What it is called.
    pub name: String,
    /// The sum, or what is divided.
    pub sum: WeightedSum,
    /// What it is divided by, if it is a ratio.
    pub divisor: Option<WeightedSum>,
}

/// What a figure needs of its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// All of them.
    All,
    /// Any: what a profile does not count is 0.
    Any,
    /// The first, and any other.
    FirstAndAnother,
}

/// The figures that are known by name, after KCachegrind's `EventType` (libcore/eventtype.cpp): misses of data and of
/// instructions at a level, mispredicted branches, and the cycles that these cost by estimate. The others are ratios that
/// `perf stat` prints and `cg_annotate` users compute.
const KNOWN: &[(&str, Needs, &str)] = &[
    ("I1m", Needs::All, "I1mr"),
    ("D1m", Needs::Any, "D1mr + D1mw"),
    ("L1m", Needs::Any, "I1mr + D1mr + D1mw"),
    ("L2m", Needs::Any, "I2mr + D2mr + D2mw"),
    ("DLm", Needs::Any, "DLmr + DLmw"),
    ("LLm", Needs::Any, "ILmr + DLmr + DLmw"),
    ("Bm", Needs::Any, "Bcm + Bim"),
    (
        "CEst",
        Needs::FirstAndAnother,
        "Ir + 10 Bm + 10 L1m + 20 Ge + 100 L2m + 100 LLm",
    ),
    ("IPC", Needs::All, "instructions / cycles"),
    ("CPI", Needs::All, "cycles / instructions"),
    (
        "cache-miss-rate",
        Needs::All,
        "cache-misses / cache-references",
    ),
    ("branch-miss-rate", Needs::All, "branch-misses / branches"),
    ("D1-miss-rate", Needs::Any, "D1m / (Dr + Dw)"),
    ("L1-miss-rate", Needs::Any, "L1m / (Ir + Dr + Dw)"),
    ("LL-miss-rate", Needs::Any, "LLm / (Ir + Dr + Dw)"),
    ("mispredict-rate", Needs::Any, "Bm / (Bc + Bi)"),
];

/// Events that perf knows by two names.
const ALIASES: [(&str, &str); 2] = [
    ("cycles", "cpu-cycles"),
    ("branches", "branch-instructions"),
];

impl Formula {
    /// The figure of this name, in letters of either case, if the events are there that it needs.
    pub fn named(name: &str, events: &[String]) -> Option<Formula> {
        let (known, needs, text) = KNOWN
            .iter()
            .find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        let mut parser = Parser {
            rest: text,
            events,
            found: Vec::new(),
        };
        let (sum, divisor) = parser.ratio().ok()?;
        let is_there = |sum: &WeightedSum| !sum.is_empty();
        let has_what_it_needs = match needs {
            Needs::All => parser.found.iter().all(|found| *found),
            Needs::Any => true,
            Needs::FirstAndAnother => parser.found.first() == Some(&true) && sum.len() > 1,
        };
        let has_terms = is_there(&sum) && divisor.as_ref().is_none_or(is_there);
        (has_terms && has_what_it_needs).then(|| Formula {
            name: (*known).to_owned(),
            sum,
            divisor,
        })
    }

    /// A figure of the user's own: `NAME=EXPRESSION` with `+`, `*` by numbers, one `/`, and brackets. `None` without `=`.
    ///
    /// # Errors
    /// Where the expression is none, or names what is no event.
    pub fn parse(text: &str, events: &[String]) -> Option<Result<Formula, String>> {
        let (name, expression) = text.split_once('=')?;
        let mut parser = Parser {
            rest: expression,
            events,
            found: Vec::new(),
        };
        let parsed = parser
            .ratio()
            .and_then(|(sum, divisor)| match parser.rest.trim() {
                "" => Ok(Formula {
                    name: name.trim().to_owned(),
                    sum,
                    divisor,
                }),
                rest => Err(format!("expected +, * or one /, found \"{rest}\"")),
            });
        let is_known = events.iter().any(|event| event == name.trim());
        Some(match parsed {
            Err(error) => Err(format!("{text}: {error}")),
            Ok(_) if name.trim().is_empty() => Err(format!("{text}: expected NAME=EXPRESSION")),
            Ok(_) if is_known => Err(format!("{text}: there is an event {}", name.trim())),
            Ok(formula) => Ok(formula),
        })
    }

    /// The sum, and of a ratio what it is divided by, of these counts.
    pub fn of(&self, counts: &[Count]) -> (Count, Option<Count>) {
        let divisor = self
            .divisor
            .as_ref()
            .map(|divisor| weighted(divisor, counts));
        (weighted(&self.sum, counts), divisor)
    }
}

/// A sum of counts; those that are not there are 0.
pub fn weighted(sum: &[(Count, usize)], counts: &[Count]) -> Count {
    let count = |event: usize| counts.get(event).copied().unwrap_or(0);
    sum.iter()
        .map(|(weight, event)| weight * count(*event))
        .sum()
}

/// Reads an expression.
struct Parser<'a> {
    rest: &'a str,
    events: &'a [String],
    /// For each name of an event that was read, whether the profile has it.
    found: Vec<bool>,
}

type Ratio = (WeightedSum, Option<WeightedSum>);

impl Parser<'_> {
    /// `a / b`, or a sum.
    fn ratio(&mut self) -> Result<Ratio, String> {
        let first = self.term()?;
        if self.takes('/') {
            return Ok((first, Some(self.term()?)));
        }
        let sum = self.sum_behind(first)?;
        if self.takes('/') {
            return Err("write brackets around what is divided: (a + b) / c".to_owned());
        }
        Ok((sum, None))
    }

    fn sum_behind(&mut self, mut sum: WeightedSum) -> Result<WeightedSum, String> {
        while self.takes('+') {
            sum.extend(self.term()?);
        }
        Ok(sum)
    }

    /// `10 Bm`, `10 * Bm`, `Bm * 10`, `(a + b)`.
    fn term(&mut self) -> Result<WeightedSum, String> {
        let mut weight = self.number()?.unwrap_or(1);
        self.takes('*');
        let mut sum = if self.takes('(') {
            let first = self.term()?;
            let sum = self.sum_behind(first)?;
            match self.takes(')') {
                true => sum,
                false => return Err("expected ) behind a sum".to_owned()),
            }
        } else {
            self.event()?
        };
        if self.takes('*') {
            weight *= self.number()?.ok_or("expected a number behind *")?;
        }
        for (of_event, _) in &mut sum {
            *of_event *= weight;
        }
        Ok(sum)
    }

    fn takes(&mut self, mark: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A weight, which stands alone: `10 Bm`, not `10Bm`.
    fn number(&mut self) -> Result<Option<Count>, String> {
        let text = self.rest.trim_start();
        let digits = text.len()
            - text
                .trim_start_matches(|byte: char| byte.is_ascii_digit())
                .len();
        let (number, rest) = text.split_at(digits);
        if digits == 0 || !(rest.is_empty() || rest.starts_with([' ', '*', '(', ')', '+', '/'])) {
            return Ok(None);
        }
        self.rest = rest;
        // Large enough for any weight, and small enough that sums of products fit.
        let number: u32 = number
            .parse()
            .map_err(|_| format!("{number} is too large a weight"))?;
        Ok(Some(number.into()))
    }

    fn event(&mut self) -> Result<WeightedSum, String> {
        let text = self.rest.trim_start();
        let is_end =
            |rest: &str| rest.is_empty() || rest.starts_with([' ', '+', '*', '/', '(', ')']);
        // Events of perf can have a / in them: the longest that fits.
        let events = self.events.iter().enumerate();
        let fitting =
            events.filter(|(_, event)| text.strip_prefix(event.as_str()).is_some_and(is_end));
        if let Some((position, event)) = fitting.max_by_key(|(_, event)| event.len()) {
            self.found.push(true);
            self.rest = &text[event.len()..];
            return Ok(vec![(1, position)]);
        }
        let length = text
            .find([' ', '+', '*', '/', '(', ')'])
            .unwrap_or(text.len());
        let (name, rest) = text.split_at(length);
        if name.is_empty() {
            return Err("expected an event".to_owned());
        }
        self.rest = rest;
        if let Some(position) = variant(name, self.events) {
            self.found.push(true);
            return Ok(vec![(1, position)]);
        }
        let of_sum = |formula: Formula| formula.divisor.is_none().then_some(formula.sum);
        if let Some(sum) = Formula::named(name, self.events).and_then(of_sum) {
            self.found.push(true);
            return Ok(sum);
        }
        let is_known = KNOWN.iter().any(|(known, ..)| *known == name) || is_in_known(name);
        if !is_known {
            return Err(format!(
                "there is no event {name}; there are {}",
                self.events.join(", ")
            ));
        }
        self.found.push(false);
        Ok(Vec::new())
    }
}

/// Whether one of the figures above is made of this event, which a profile may lack.
fn is_in_known(event: &str) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = |text: &'static str| text.split([' ', '(', ')']);
    let mut words = KNOWN.iter().flat_map(|(_, _, text)| words(text));
    words.any(|word| word == event && !is_number(word))
}

/// The one event that is this one under another name of perf's, or with a modifier: `cycles:u`, `cpu-cycles`.
fn variant(name: &str, events: &[String]) -> Option<usize> {
    let alias = ALIASES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, alias)| *alias);
    let is_variant = |event: &str| {
        let base = event.split(':').next().unwrap_or(event);
        base == name || Some(base) == alias
    };
    let mut fitting = (0..events.len()).filter(|position| is_variant(&events[*position]));
    let first = fitting.next()?;
    // Of user and kernel apart nobody says which is meant.
    fitting.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(list: &str) -> Vec<String> {
        list.split(' ').map(str::to_owned).collect()
    }

    /// What a figure comes to where each event counts its position from 1: the sum, and what it is divided by.
    fn of(text: &str, list: &str) -> Result<(Count, Option<Count>), String> {
        let events = events(list);
        let formula = match Formula::parse(text, &events) {
            Some(parsed) => parsed?,
            None => Formula::named(text, &events).ok_or("unknown")?,
        };
        let counts: Vec<Count> = (1..).take(events.len()).collect();
        Ok(formula.of(&counts))
    }

    #[test]
    fn figures_are_those_of_kcachegrind_and_of_arithmetic() {
        let all = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim";
        for (text, list, expected) in [
            // 1 + 10 (11 + 13) + 10 (4 + 5 + 6) + 100 (7 + 8 + 9)
            ("CEst", all, Some((2791, None))),
            ("cest", all, Some((2791, None))),
            ("CEst", "Ir Bcm Bim", Some((51, None))),
            ("CEst", "Ir Ge", Some((41, None))),
            ("L1m", all, Some((15, None))),
            ("D1m", all, Some((11, None))),
            ("LLm", all, Some((24, None))),
            ("LLm", "Ir ILmr", Some((2, None))),
            ("D1-miss-rate", all, Some((11, Some(5)))),
            ("IPC", "cycles instructions", Some((2, Some(1)))),
            ("IPC", "cpu-cycles:u instructions:u", Some((2, Some(1)))),
            (
                "branch-miss-rate",
                "branch-instructions branch-misses",
                Some((2, Some(1))),
            ),
            ("x=a/b", "a b", Some((1, Some(2)))),
            ("x = (a + 3 * b) / (b+b)", "a b", Some((7, Some(4)))),
            ("x=a*10 + 2 b", "a b", Some((14, None))),
            (
                "x=cpu/cycles/ / cpu/cycles/u",
                "cpu/cycles/ cpu/cycles/u",
                Some((1, Some(2))),
            ),
            (
                "x=cache-misses/cache-references",
                "cache-misses cache-references",
                Some((1, Some(2))),
            ),
            ("misses=L1m + LLm", all, Some((39, None))),
            // Nothing but instructions is no estimate of cycles, and user and kernel are two.
            ("CEst", "Ir Dr", None),
            ("IPC", "instructions", None),
            ("IPC", "instructions:u cycles:u cycles:k", None),
            ("L1m", "Ir", None),
            ("nothing", all, None),
            ("x=a+b/c", "a b c", None),
            ("x=a/b+c", "a b c", None),
            ("x=a/0", "a", None),
            ("x=", "a", None),
            ("x=(a", "a", None),
            ("a=b", "a b", None),
            ("x=none/a", "a", None),
            ("x=99999999999 a", "a", None),
        ] {
            assert_eq!(of(text, list).ok(), expected, "{text} of {list}");
        }
    }
}
