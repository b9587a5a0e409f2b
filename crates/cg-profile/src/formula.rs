//! Figures that are computed from the events of a profile: weighted sums of events, and ratios of such sums.
//!
//! Weighted sums can be added up over records like events, so such a sum is an event too. Ratios cannot be added up: they
//! are computed from sums, and they have no share of a total.

use cg_stream::record::Count;

/// A sum of events, each with its weight and the position of the event.
pub type WeightedSum = Vec<(Count, usize)>;

/// A figure that is computed from events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The figure's name.
    pub name: String,
    /// The sum; the dividend if the figure is a ratio.
    pub sum: WeightedSum,
    /// The divisor, if the figure is a ratio.
    pub divisor: Option<WeightedSum>,
}

/// The events that a profile must have for a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// All events of the figure.
    All,
    /// Any event of the figure. Events that the profile does not have count as 0.
    Any,
    /// The first event of the figure and any other.
    FirstAndAnother,
}

/// The figures with names. The sums are those of KCachegrind's `EventType` (libcore/eventtype.cpp): misses of data and of
/// instructions at a cache level, mispredicted branches, and an estimate of the cycles. The ratios are those that
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

/// Events that have two names in perf.
const ALIASES: [(&str, &str); 2] = [
    ("cycles", "cpu-cycles"),
    ("branches", "branch-instructions"),
];

impl Formula {
    /// Returns the names of the known figures.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, ..)| *name)
    }

    /// Returns the figure with this name, ignoring case; `None` if the name is unknown or the needed events are missing.
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

    /// Parses a figure that the user defines: `NAME=EXPRESSION` with `+`, `*` by numbers, one `/`, and brackets. Returns
    /// `None` if the text has no `=`.
    ///
    /// # Errors
    /// Returns an error if the expression is not valid or contains an unknown event.
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
            Ok(_) if is_known => Err(format!("{text}: {} is already an event", name.trim())),
            Ok(formula) => Ok(formula),
        })
    }

    /// Computes the sum from these counts, and the divisor if the figure is a ratio.
    pub fn evaluate(&self, counts: &[Count]) -> (Count, Option<Count>) {
        let divisor = self
            .divisor
            .as_ref()
            .map(|divisor| weighted(divisor, counts));
        (weighted(&self.sum, counts), divisor)
    }
}

/// Computes a weighted sum of counts. Missing counts are 0.
pub fn weighted(sum: &[(Count, usize)], counts: &[Count]) -> Count {
    let count = |event: usize| counts.get(event).copied().unwrap_or(0);
    sum.iter()
        .map(|(weight, event)| weight * count(*event))
        .sum()
}

/// A parser of expressions.
struct Parser<'a> {
    rest: &'a str,
    events: &'a [String],
    /// For each event in the text, true if the profile has it.
    found: Vec<bool>,
}

type Ratio = (WeightedSum, Option<WeightedSum>);

impl Parser<'_> {
    /// Parses `a / b`, or a sum.
    fn ratio(&mut self) -> Result<Ratio, String> {
        let first = self.term()?;
        if self.takes('/') {
            return Ok((first, Some(self.term()?)));
        }
        let sum = self.rest_of_sum(first)?;
        if self.takes('/') {
            return Err("put brackets around the dividend: (a + b) / c".to_owned());
        }
        Ok((sum, None))
    }

    fn rest_of_sum(&mut self, mut sum: WeightedSum) -> Result<WeightedSum, String> {
        while self.takes('+') {
            sum.extend(self.term()?);
        }
        Ok(sum)
    }

    /// Parses `10 Bm`, `10 * Bm`, `Bm * 10` or `(a + b)`.
    fn term(&mut self) -> Result<WeightedSum, String> {
        let mut weight = self.number()?.unwrap_or(1);
        self.takes('*');
        let mut sum = if self.takes('(') {
            let first = self.term()?;
            let sum = self.rest_of_sum(first)?;
            match self.takes(')') {
                true => sum,
                false => return Err("expected ) after the sum".to_owned()),
            }
        } else {
            self.event()?
        };
        if self.takes('*') {
            weight *= self.number()?.ok_or("expected a number after *")?;
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

    /// Parses a weight, which must be a word of its own: `10 Bm`, not `10Bm`.
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
        // A `u32` is large enough for any weight, and small enough that sums of products fit.
        let number: u32 = number
            .parse()
            .map_err(|_| format!("{number} is too large a weight"))?;
        Ok(Some(number.into()))
    }

    fn event(&mut self) -> Result<WeightedSum, String> {
        let text = self.rest.trim_start();
        let is_end =
            |rest: &str| rest.is_empty() || rest.starts_with([' ', '+', '*', '/', '(', ')']);
        // Events of perf can contain a `/`, so the longest matching event is used.
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

/// Returns true if one of the known figures uses this event, so that a profile may lack it.
fn is_in_known(event: &str) -> bool {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let words = |text: &'static str| text.split([' ', '(', ')']);
    let mut words = KNOWN.iter().flat_map(|(_, _, text)| words(text));
    words.any(|word| word == event && !is_number(word))
}

/// Returns the only event that is this one under another name in perf or with a modifier: `cycles:u`, `cpu-cycles`. Returns
/// `None` if there are several.
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
    // For example, it is unknown which of `cycles:u` and `cycles:k` is meant.
    fitting.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(list: &str) -> Vec<String> {
        list.split(' ').map(str::to_owned).collect()
    }

    /// Computes the sum and the divisor of a figure, with the event's position (from 1) as the count of each event.
    fn evaluated(text: &str, list: &str) -> Result<(Count, Option<Count>), String> {
        let events = events(list);
        let formula = match Formula::parse(text, &events) {
            Some(parsed) => parsed?,
            None => Formula::named(text, &events).ok_or("unknown")?,
        };
        let counts: Vec<Count> = (1..).take(events.len()).collect();
        Ok(formula.evaluate(&counts))
    }

    #[test]
    fn figures_have_the_values_of_kcachegrind_and_of_arithmetic() {
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
            // Cycles are not estimated from instructions only, and user and kernel are two events.
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
            assert_eq!(evaluated(text, list).ok(), expected, "{text} of {list}");
        }
    }
}
