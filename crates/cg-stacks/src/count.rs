//! Fractional counts, stored as integers in a unit that is a power of ten.

use cg_stream::record::Count;

use crate::table::{StackKeyId, StackTable};

/// A decimal number: `digits` × 10^-`decimals`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: Count,
    pub(super) decimals: u32,
    /// True if digits were dropped.
    pub(super) is_rounded: bool,
}

/// The maximum number of decimals. A `double` near 1 has no more.
const MOST_DECIMALS: u32 = 18;

impl Decimal {
    /// Parses a text that consists of one number: digits, optionally with a minus sign, a fraction and an exponent. Returns
    /// `None` if the text is not a number or exceeds 64 bits.
    pub(super) fn parse(text: &[u8]) -> Option<Decimal> {
        let mut value: u64 = 0;
        if !text.is_empty() && text.len() <= 19 && text.iter().all(u8::is_ascii_digit) {
            for digit in text {
                value = value * 10 + u64::from(digit - b'0');
            }
            return Some(Decimal {
                digits: value.into(),
                decimals: 0,
                is_rounded: false,
            });
        }
        Decimal::parse_any(text)
    }

    #[cold]
    fn parse_any(text: &[u8]) -> Option<Decimal> {
        let (is_negative, text) = match text {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, text),
        };
        let (number, exponent) = match memchr::memchr2(b'e', b'E', text) {
            Some(at) => (&text[..at], exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (whole, fraction) = match memchr::memchr(b'.', number) {
            Some(at) => (&number[..at], &number[at + 1..]),
            None => (number, &b""[..]),
        };
        let digits = || whole.iter().chain(fraction);
        if whole.is_empty() || !digits().all(u8::is_ascii_digit) {
            return None;
        }
        // The number of digits before the point, after applying the exponent.
        let point = i64::try_from(whole.len()).ok()? + exponent;
        let mut value: Count = 0;
        let mut decimals = 0;
        let mut dropped = Dropped::default();
        let leading_zeros = 0..-point;
        let zeros = leading_zeros.take(MOST_DECIMALS as usize + 1).map(|_| 0u8);
        decimals += u32::try_from(zeros.count()).ok()?;
        if decimals > MOST_DECIMALS {
            let is_zero = digits().all(|digit| *digit == b'0');
            return Some(Decimal {
                digits: 0,
                decimals: 0,
                is_rounded: !is_zero,
            });
        }
        for (position, digit) in (0i64..).zip(digits()) {
            let is_fraction = position >= point;
            if is_fraction && decimals == MOST_DECIMALS {
                dropped.add(digit - b'0');
                continue;
            }
            value = value.checked_mul(10)? + Count::from(digit - b'0');
            decimals += u32::from(is_fraction);
        }
        for _ in i64::try_from(whole.len() + fraction.len()).ok()?..point {
            value = value.checked_mul(10).filter(|value| *value < 1 << 80)?;
        }
        if dropped.rounds_up(value % 2 != 0) {
            value += 1;
        }
        if value / power_of_ten(decimals) > Count::from(u64::MAX) {
            return None;
        }
        Some(Decimal {
            digits: if is_negative { -value } else { value },
            decimals,
            is_rounded: dropped.any,
        })
    }
}

/// The digits that [`Decimal`] does not keep.
#[derive(Default)]
struct Dropped {
    first: Option<u8>,
    /// True if any digit is not 0.
    any: bool,
    /// True if any digit after the first is not 0.
    more: bool,
}

impl Dropped {
    fn add(&mut self, digit: u8) {
        self.more |= self.first.is_some() && digit != 0;
        self.first.get_or_insert(digit);
        self.any |= digit != 0;
    }

    fn rounds_up(&self, is_odd: bool) -> bool {
        match self.first {
            Some(5) => self.more || is_odd,
            Some(digit) => digit > 5,
            None => false,
        }
    }
}

fn exponent(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    // No count has an exponent of more than three digits.
    if digits.is_empty() || digits.len() > 3 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
    Some(if is_negative { -value } else { value })
}

fn power_of_ten(exponent: u32) -> Count {
    Count::pow(10, exponent)
}

/// Rounds numbers to integers and carries each remainder over to the next number, so that the sum of the integers
/// differs from the sum of the numbers by less than 1.
#[derive(Default)]
pub(super) struct Carry {
    /// The remainder, in units of 10^-[`MOST_DECIMALS`].
    rest: Count,
    /// The number of results that were not integers.
    pub(super) rounded: u64,
}

impl Carry {
    /// Returns a number times `factor`, rounded with the carry; `None` on overflow.
    #[inline]
    pub(super) fn add(&mut self, number: Decimal, factor: Count) -> Option<Count> {
        let product = number.digits.checked_mul(factor)?;
        if number.decimals == 0 {
            return Some(product);
        }
        self.add_fraction(product, number.decimals)
    }

    fn add_fraction(&mut self, digits: Count, decimals: u32) -> Option<Count> {
        let one = power_of_ten(MOST_DECIMALS);
        let exact = digits.checked_mul(power_of_ten(MOST_DECIMALS.checked_sub(decimals)?))?;
        self.rounded += u64::from(exact % one != 0);
        let sum = exact.checked_add(self.rest)?;
        let whole = (sum + one / 2).div_euclid(one);
        self.rest = sum - whole * one;
        Some(whole)
    }
}

/// The unit of the costs while a table is filled: the finest one that a number has needed so far.
#[derive(Default)]
pub(super) struct CountUnit {
    decimals: u32,
    /// The number of rounded numbers.
    rounded: u64,
}

impl CountUnit {
    /// Adds a number to a row; `None` if no unit can hold the sum.
    #[inline]
    pub(super) fn add(
        &mut self,
        table: &mut StackTable,
        row: StackKeyId,
        event: usize,
        number: Decimal,
    ) -> Option<()> {
        let digits = match number.decimals == self.decimals {
            true => number.digits,
            false => self.adjust(table, number)?,
        };
        self.rounded += u64::from(number.is_rounded);
        let cost = table.cost_mut(row, event);
        *cost = cost.checked_add(digits)?;
        Some(())
    }

    /// Converts a number to the unit, and makes the unit finer if the number needs it.
    #[cold]
    fn adjust(&mut self, table: &mut StackTable, number: Decimal) -> Option<Count> {
        if number.decimals > self.decimals {
            let factor = power_of_ten(number.decimals - self.decimals);
            for event in 0..table.events().len() {
                table.multiply(event, factor).then_some(())?;
            }
            self.decimals = number.decimals;
        }
        let factor = power_of_ten(self.decimals - number.decimals);
        number.digits.checked_mul(factor)
    }

    /// Makes the unit as coarse as possible without loss, then coarser until 64 bits hold all counts. Returns the unit,
    /// `None` for 1, and the number of rounded counts.
    pub(super) fn settle(mut self, table: &mut StackTable) -> (Option<String>, u64) {
        while self.decimals > 0 && all_costs(table).all(|cost| cost % 10 == 0) {
            self.coarsen(table);
        }
        while self.decimals > 0 && !fits(table) {
            self.rounded += all_costs(table).filter(|cost| cost % 10 != 0).count() as u64;
            self.coarsen(table);
        }
        let unit = match self.decimals {
            0 => None,
            decimals => Some(format!("0.{:0>1$}", 1, decimals as usize)),
        };
        (unit, self.rounded)
    }

    fn coarsen(&mut self, table: &mut StackTable) {
        self.decimals -= 1;
        for cost in table.costs_mut() {
            let rest = *cost % 10;
            let quotient = *cost / 10;
            let up = rest.abs() > 5 || (rest.abs() == 5 && quotient % 2 != 0);
            *cost = quotient + if up { rest.signum() } else { 0 };
        }
    }
}

fn all_costs(table: &StackTable) -> impl Iterator<Item = Count> {
    let rows = table.row_count();
    let events = 0..table.events().len();
    events.flat_map(move |event| (0..rows).map(move |row| table.cost(row, event)))
}

/// Returns true if 64 bits hold every count and the sum of every event.
fn fits(table: &StackTable) -> bool {
    let largest = Count::from(i64::MAX);
    (0..table.events().len()).all(|event| {
        let costs = (0..table.row_count()).map(|row| table.cost(row, event).abs());
        let sum = costs.fold(0, Count::saturating_add);
        sum <= largest
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::StackKey;

    #[test]
    fn numbers_are_exact() {
        let cases: [(&str, Option<(Count, u32)>); 18] = [
            ("0", Some((0, 0))),
            ("17", Some((17, 0))),
            ("18446744073709551615", Some((u64::MAX.into(), 0))),
            ("18446744073709551616", None),
            ("-4", Some((-4, 0))),
            ("12.5", Some((125, 1))),
            ("-0.25", Some((-25, 2))),
            ("3.", Some((3, 0))),
            ("1e3", Some((1000, 0))),
            ("1.5e-3", Some((15, 4))),
            ("2.50E+1", Some((250, 1))),
            ("0.3000000000000000444", Some((300_000_000_000_000_044, 18))),
            ("1e-40", Some((0, 0))),
            ("1e30", None),
            ("1e99", None),
            (".5", None),
            ("1.2.3", None),
            ("0x10", None),
        ];
        for (text, expected) in cases {
            let parsed = Decimal::parse(text.as_bytes());
            let parsed = parsed.map(|number| (number.digits, number.decimals));
            assert_eq!(parsed, expected, "{text}");
        }
        for (text, is_rounded) in [
            ("0.1234567890123456789", true),
            ("1e-40", true),
            ("0e-40", false),
        ] {
            assert_eq!(
                Decimal::parse(text.as_bytes()).unwrap().is_rounded,
                is_rounded
            );
        }
    }

    #[test]
    fn carrying_preserves_the_sum() {
        let mut carry = Carry::default();
        let mut add = |text: &str| {
            let number = Decimal::parse(text.as_bytes()).unwrap();
            carry.add(number, 1000).unwrap()
        };
        let numbers = ["0.0004", "0.0004", "1", "0.0004", "2.5", "-0.0012"];
        assert_eq!(numbers.map(&mut add), [0, 1, 1000, 0, 2500, -1]);
        assert_eq!(carry.rounded, 4);
        assert_eq!(
            Carry::default().add(Decimal::parse(b"1e15").unwrap(), Count::MAX),
            None
        );
    }

    /// Returns the counts of the rows, their unit, and the number of rounded counts.
    fn settled(numbers: &[&str]) -> (Vec<Count>, Option<String>, u64) {
        let mut table = StackTable::new(["samples"]);
        let mut unit = CountUnit::default();
        for (pid, number) in (0..).zip(numbers) {
            let row = StackKey {
                pid: Some(pid),
                ..StackKey::default()
            };
            let row = table.row(row).unwrap();
            let number = Decimal::parse(number.as_bytes()).unwrap();
            unit.add(&mut table, row, 0, number).unwrap();
        }
        let (unit, rounded) = unit.settle(&mut table);
        (all_costs(&table).collect(), unit, rounded)
    }

    #[test]
    fn the_unit_is_the_coarsest_that_loses_nothing() {
        let unit = |text: &str| Some(text.to_owned());
        assert_eq!(settled(&["3", "4"]), (vec![3, 4], None, 0));
        assert_eq!(settled(&["3.00", "4.0"]), (vec![3, 4], None, 0));
        assert_eq!(settled(&["3", "0.25"]), (vec![300, 25], unit("0.01"), 0));
        assert_eq!(settled(&["-0.5", "20"]), (vec![-5, 200], unit("0.1"), 0));
    }

    #[test]
    fn counts_beyond_64_bits_are_rounded_and_counted() {
        // The first number is 0.1 + 0.2 as a `double`. The second leaves no room for 17 decimals.
        let (counts, unit, rounded) = settled(&["0.30000000000000004", "1000000.5"]);
        assert_eq!(counts, [300_000_000_000, 1_000_000_500_000_000_000]);
        assert_eq!((unit.as_deref(), rounded), (Some("0.000000000001"), 1));
    }
}
