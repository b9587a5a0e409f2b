//! Recognises conditions in the syntax of other filters, such as `Ir>1000` or `fn == "main"`, in place of the regular
//! expression.

use std::ffi::OsStr;
use std::sync::LazyLock;

use regex::Regex;

/// Returns a message with the replacement for a condition; `None` if the text is only a regular expression.
pub(crate) fn suggestion(regex: &OsStr) -> Option<String> {
    static CONDITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let form = r#"^\s*(?:select\(|filter )?\s*[$.]?((?:cost\.|incl\.|\.)*)([A-Za-z_][\w.:%-]*?)\s*(>=|<=|=~|==|!=|=|>|<)\s*["']?([^"')]*)["']?\)?\s*$"#;
        Regex::new(form).ok()
    });
    let text = regex.to_str()?;
    let parts = CONDITION.as_ref()?.captures(text)?;
    let part = |index: usize| parts.get(index).map_or("", |part| part.as_str());
    let (path, key, operator, value) = (part(1), part(2), part(3), part(4).trim());
    let option = match key {
        "fn" | "name" | "function" | "symbol" => Some(""),
        "file" => Some("--file "),
        "obj" | "object" => Some("--obj "),
        "caller" => Some("--caller "),
        "callee" => Some("--callee "),
        "frame" | "stack" => Some("--frame "),
        "thread" | "tid" => Some("--thread "),
        "process" | "pid" | "comm" => Some("--process "),
        "type" => Some("--type "),
        _ => None,
    };
    let instead = match (option, operator) {
        // In names, `>` can be a part of the name, and `=` a part of an assignment operator.
        (Some(_), ">" | "<" | ">=" | "<=") | (Some(_), "=") if value.is_empty() => return None,
        (Some(option), "==" | "=" | "=~") => match option {
            "--type " => format!("--type {value}"),
            _ if operator == "=~" => format!("{option}'{value}'"),
            _ => format!("{option}'^{value}$'"),
        },
        (Some(option), "!=") => format!("-v {option}'^{value}$'"),
        (Some(_), _) => return None,
        (None, _) => count_option(path, key, operator, value)?,
    };
    Some(format!(
        "{text} is a condition, but REGEX searches names; write {instead} (-e {text} searches names for the text)"
    ))
}

/// Returns the option for a condition on a count, such as `--min Ir=1001` for `Ir>1000`.
fn count_option(path: &str, key: &str, operator: &str, value: &str) -> Option<String> {
    let (value, is_percent) = match value.strip_suffix('%') {
        Some(value) => (value.trim(), true),
        None => (value, key.ends_with('%')),
    };
    if event_is_path(key) {
        return None;
    }
    let digits = value.replace(['_', ','], "");
    let number: f64 = digits.parse().ok()?;
    let event = key.trim_end_matches('%');
    let key = match path.contains("incl") || event.starts_with("incl.") {
        true => format!("incl.{}", event.trim_start_matches("incl.")),
        false => event.to_owned(),
    };
    Some(match operator {
        "<" | "<=" | "!=" => {
            format!("| jq -c 'select(.cost.{event} {operator} {digits})' after cg-filter")
        }
        _ if is_percent => format!("--min-percent {key}={digits}"),
        ">" if number.fract() == 0.0 => format!("--min {key}={}", number as i64 + 1),
        _ => format!("--min {key}={}", number.ceil() as i64),
    })
}

/// Returns true for the path of a function. Event names have single colons (`cycles:u`), paths have double colons.
fn event_is_path(key: &str) -> bool {
    key.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_distinguished_from_names_and_replaced_by_options() {
        for (typed, expected) in [
            ("Ir>1000", Some("write --min Ir=1001 (")),
            ("Ir >= 1_000", Some("write --min Ir=1000 (")),
            ("incl.Ir>5%", Some("write --min-percent incl.Ir=5 (")),
            (".cost.Ir > 10", Some("write --min Ir=11 (")),
            (".incl.Ir > 10", Some("write --min incl.Ir=11 (")),
            ("select(.cost.Ir > 10)", Some("write --min Ir=11 (")),
            ("$Ir > 10.5", Some("write --min Ir=11 (")),
            ("calls==3", Some("write --min calls=3 (")),
            ("Ir<5", Some("write | jq -c 'select(.cost.Ir < 5)'")),
            ("fn == \"main\"", Some("write '^main$' (")),
            ("fn=~^demo", Some("write '^demo' (")),
            ("file=a.c", Some("write --file '^a.c$' (")),
            ("type=leak", Some("write --type leak (")),
            ("thread=worker", Some("write --thread '^worker$' (")),
            ("fn!=main", Some("write -v '^main$' (")),
            // Names, and regular expressions for names.
            ("operator>=", None),
            ("operator>", None),
            ("Option<u8>", None),
            ("^a=b", None),
            ("(?<name>x)", None),
            ("malloc", None),
            ("fn>", None),
            ("std::ptr::eq<5", None),
        ] {
            let found = suggestion(OsStr::new(typed));
            match expected {
                Some(expected) => assert!(
                    found.as_deref().is_some_and(|text| text.contains(expected)),
                    "{typed}: {found:?}"
                ),
                None => assert_eq!(found, None, "{typed}"),
            }
        }
    }
}
