//! Numbers as people and as programs read them.

use std::fmt::Write as _;

pub(crate) use cg_stream::number::grouped;
use cg_stream::record::Count;

use crate::table::Cell;

/// A difference: grouped, with its sign; 0 has none.
pub(crate) fn signed(delta: Count) -> String {
    let sign = if delta > 0 { "+" } else { "" };
    format!("{sign}{}", grouped(delta))
}

/// A share as callgrind_annotate prints it: `( 3.25%)`, and one decimal where two would not fit.
pub(crate) fn annotate_percent(percent: f64) -> String {
    if -9.995 < percent && percent < 99.995 {
        format!("({percent:5.2}%)")
    } else {
        format!("({percent:5.1}%)")
    }
}

/// A share in a sentence: `3.25%`.
pub(crate) fn percent(percent: f64) -> String {
    format!("{percent:.2}%")
}

/// A change in a sentence: `+3.25%`. What rounds to nothing has no sign.
pub(crate) fn signed_percent(percent: f64) -> String {
    let text = format!("{percent:+.2}%");
    match text.as_str() {
        "+0.00%" | "-0.00%" => "0.00%".to_owned(),
        _ => text,
    }
}

/// A quotient as dh_view prints it: at most two decimals, and a comma between thousands.
pub(crate) fn quotient(value: f64) -> String {
    let text = format!("{:.2}", value.abs());
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let sign = if value < 0.0 && text != "0" { "-" } else { "" };
    let (whole, decimals) = text.split_at(text.find('.').unwrap_or(text.len()));
    match whole.parse::<Count>() {
        Ok(count) => format!("{sign}{}{decimals}", grouped(count)),
        // Beyond 128 bits; quotients of counts do not come near.
        Err(_) => format!("{sign}{text}"),
    }
}

/// A cell as programs read it: bare integers, percentages without a sign, nothing for nothing.
pub(crate) fn push_plain(text: &mut String, cell: &Cell) {
    match cell {
        Cell::Empty => {}
        Cell::Name(name) => text.push_str(name),
        Cell::Text(words) => text.push_str(words),
        Cell::Called { name, .. } => text.push_str(name),
        Cell::Count(number) | Cell::Delta(number) => push_integer(text, *number),
        Cell::Ordinal(number) => text.push_str(itoa::Buffer::new().format(*number)),
        Cell::Quotient { .. } => {
            if let Some(ratio) = cell.ratio() {
                // Writing to a string does not fail.
                let _ = write!(text, "{ratio:.2}");
            }
        }
        Cell::Share { .. } | Cell::Change { .. } => {
            if let Some(percent) = cell.percentage() {
                // Writing to a string does not fail.
                let _ = write!(text, "{percent:.2}");
            }
        }
    }
}

fn push_integer(text: &mut String, number: Count) {
    // Almost every count fits in 64 bits, whose division is several times faster than that of 128.
    match i64::try_from(number) {
        Ok(number) => text.push_str(itoa::Buffer::new().format(number)),
        Err(_) => text.push_str(itoa::Buffer::new().format(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_stand_between_thousands() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (-123_456, "-123,456"),
            (Count::from(u64::MAX), "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(count), text);
        }
        assert_eq!(signed(1_000), "+1,000");
        assert_eq!(signed(0), "0");
        assert_eq!(signed(-1), "-1");
    }

    #[test]
    fn percentages_have_callgrind_annotates_form() {
        for (percent, text) in [
            (0.0, "( 0.00%)"),
            (3.254, "( 3.25%)"),
            (99.99, "(99.99%)"),
            (99.996, "(100.0%)"),
            (100.0, "(100.0%)"),
            (468.6, "(468.6%)"),
            (-9.99, "(-9.99%)"),
            (-10.0, "(-10.0%)"),
        ] {
            assert_eq!(annotate_percent(percent), text);
        }
    }

    #[test]
    fn quotients_have_two_decimals_at_most() {
        for (value, text) in [
            (2180.0, "2,180"),
            (377_168.316_6, "377,168.32"),
            (0.5, "0.5"),
            (-0.25, "-0.25"),
            (0.001, "0"),
            (100.0, "100"),
        ] {
            assert_eq!(quotient(value), text);
        }
    }

    #[test]
    fn changes_carry_a_sign_unless_they_round_to_nothing() {
        assert_eq!(signed_percent(5.0), "+5.00%");
        assert_eq!(signed_percent(-0.001), "0.00%");
        assert_eq!(signed_percent(-12.345), "-12.35%");
    }

    #[test]
    fn programs_get_bare_integers() {
        let plain = |cell: Cell| {
            let mut text = String::new();
            push_plain(&mut text, &cell);
            text
        };
        assert_eq!(plain(Cell::Count(1_234_567)), "1234567");
        assert_eq!(plain(Cell::Count(u64::MAX.into())), "18446744073709551615");
        assert_eq!(plain(Cell::Delta(-1_234)), "-1234");
        assert_eq!(plain(Cell::share(1, 3)), "33.33");
        assert_eq!(plain(Cell::Empty), "");
    }
}
