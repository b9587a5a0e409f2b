//! Removal of secrets from the description of a run, for profiles that are published.
//!
//! Command lines, options of Java's virtual machine and labels contain passwords and tokens. Their values are replaced if
//! their names look like secrets, or if the values have the form of a known token. Records other than `run` do not change.

use cg_stream::Error;
use cg_stream::record::{Description, DiffRecord, RecordType, RunRecord};
use cg_stream::rows::{Row, RowSink, RowTables};
use serde_json::Value;

/// The text in place of a secret.
const REDACTED: &str = "***";

/// A sink that passes `run` records on without secrets.
pub(crate) struct Redacted<'a> {
    sink: &'a mut dyn RowSink,
}

impl<'a> Redacted<'a> {
    pub(crate) fn new(sink: &'a mut dyn RowSink) -> Redacted<'a> {
        Redacted { sink }
    }
}

impl RowSink for Redacted<'_> {
    fn run(&mut self, run: &RunRecord) -> Result<(), Error> {
        let mut run = run.clone();
        redact_run(&mut run);
        self.sink.run(&run)
    }

    fn expect(&mut self, kind: RecordType, rows: usize) {
        self.sink.expect(kind, rows);
    }

    fn row(&mut self, row: &Row<'_>, tables: &dyn RowTables) -> Result<(), Error> {
        self.sink.row(row, tables)
    }

    fn diff(&mut self, record: DiffRecord<'_>) -> Result<(), Error> {
        self.sink.diff(record)
    }

    fn end(&mut self, records: u64) -> Result<(), Error> {
        self.sink.end(records)
    }

    fn cut(&mut self, why: Option<&str>) -> Result<bool, Error> {
        self.sink.cut(why)
    }

    fn wants(&self, kind: RecordType) -> bool {
        self.sink.wants(kind)
    }
}

fn redact_run(run: &mut RunRecord) {
    let texts = [&mut run.command, &mut run.process.user_comment];
    for text in texts.into_iter().flatten() {
        *text = redact_text(text);
    }
    match &mut run.desc {
        Some(Description::Text(text)) => *text = redact_text(text),
        Some(Description::ByKey(texts)) => redact_entries(texts),
        None => {}
    }
    redact_entries(&mut run.sampling.labels);
    let mut options = CommandLine::default();
    for option in &mut run.process.options {
        *option = options.redact(option);
    }
    for qualifier in &mut run.process.log_file_qualifiers {
        qualifier.value = redact_value(&qualifier.variable, &qualifier.value);
    }
    for (key, value) in &mut run.extra {
        redact_json(key, value);
    }
}

fn redact_entries(texts: &mut std::collections::BTreeMap<String, String>) {
    let entries = std::mem::take(texts).into_iter();
    *texts = entries
        .map(|(key, text)| (redact_text(&key), redact_value(&key, &text)))
        .collect();
}

fn redact_json(key: &str, value: &mut Value) {
    match value {
        Value::String(text) => *text = redact_value(key, text),
        Value::Array(elements) => elements
            .iter_mut()
            .for_each(|value| redact_json(key, value)),
        Value::Object(fields) => {
            for (key, value) in fields {
                redact_json(key, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_value(name: &str, text: &str) -> String {
    match is_secret(name) {
        true => REDACTED.to_owned(),
        false => redact_text(text),
    }
}

fn redact_text(text: &str) -> String {
    CommandLine::default().redact(text)
}

/// The state between the words of a command line.
#[derive(Default)]
struct CommandLine {
    /// True if the previous word names a secret, so that the next word is its value.
    is_value_next: bool,
    /// True if the previous word was an option for a user, whose password may follow the name: `-u NAME:PASSWORD`.
    is_user_next: bool,
}

impl CommandLine {
    /// Replaces the secrets in the next words of a command line.
    fn redact(&mut self, text: &str) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(|letter: char| !letter.is_whitespace()) {
            let (blanks, words) = rest.split_at(start);
            redacted.push_str(blanks);
            let (word, after) = words.split_at(word_length(words));
            redacted.push_str(&self.redact_word(word));
            rest = after;
        }
        redacted + rest
    }

    fn redact_word(&mut self, word: &str) -> String {
        let is_value = std::mem::take(&mut self.is_value_next);
        let is_user = std::mem::take(&mut self.is_user_next);
        if ["bearer", "basic"].contains(&word.to_ascii_lowercase().as_str()) {
            self.is_value_next = true;
            return word.to_owned();
        }
        if is_value && !word.starts_with('-') {
            return REDACTED.to_owned();
        }
        if let Some(value) = find_secret_value(word) {
            self.is_value_next = value == word.len();
            return match self.is_value_next {
                true => word.to_owned(),
                false => word[..value].to_owned() + REDACTED,
            };
        }
        self.is_value_next = word.starts_with('-') && !word.contains('=') && is_secret(word);
        self.is_user_next = ["-u", "-U", "--user", "--proxy-user"].contains(&word);
        if is_known_token(word) {
            return REDACTED.to_owned();
        }
        let user = find_user_of_url(word).or_else(|| find_password_of_user(word, is_user));
        match user {
            Some(user) => format!("{}{REDACTED}{}", &word[..user.start], &word[user.end..]),
            None => word.to_owned(),
        }
    }
}

/// Returns the length of the first word. Blanks between quotes belong to a word if the quotes are at its start, or after
/// `=`: elsewhere, a quote may be an apostrophe.
fn word_length(text: &str) -> usize {
    let mut before = '=';
    let mut closing = None;
    for (position, letter) in text.char_indices() {
        let is_quote = letter == '"' || letter == '\'';
        if closing == Some(letter) {
            closing = None;
        } else if closing.is_none() && letter.is_whitespace() {
            return position;
        } else if closing.is_none() && is_quote && before == '=' {
            closing = Some(letter).filter(|quote| text[position + 1..].contains(*quote));
        }
        before = letter;
    }
    text.len()
}

/// Returns the position of the value after a name that looks like a secret, as in `--token=TEXT` and `"password":"TEXT"`.
/// The value extends to the end of the word, because passwords may contain any character.
fn find_secret_value(word: &str) -> Option<usize> {
    let mut separators = word.match_indices(['=', ':']).map(|(position, _)| position);
    separators.find_map(|position| {
        let (before, after) = (&word[..position], &word[position + 1..]);
        // A path of modules, or the scheme of a URL.
        let is_other = word[position..].starts_with(':')
            && (before.ends_with(':') || after.starts_with([':', '/']));
        let before = before.trim_end_matches(['"', '\'']);
        let start =
            before.rfind(|letter: char| !(letter.is_alphanumeric() || "-_.".contains(letter)));
        let name = &before[start.map_or(0, |start| start + 1)..];
        (!is_other && is_secret(name)).then_some(position + 1)
    })
}

/// Returns true if a name looks like the name of a secret: `API_KEY`, `--auth-token`, `spring.datasource.password`, `apiKey`.
fn is_secret(name: &str) -> bool {
    const PARTS: [&str; 7] = [
        "apikey",
        "credential",
        "passphrase",
        "passwd",
        "password",
        "secret",
        "token",
    ];
    const WORDS: [&str; 12] = [
        "auth",
        "authorization",
        "bearer",
        "cookie",
        "jwt",
        "otp",
        "pat",
        "pw",
        "pwd",
        "salt",
        "sas",
        "signature",
    ];
    let is_joined = |word: &str| {
        let word = word.to_ascii_lowercase();
        WORDS.contains(&word.as_str())
            || word.ends_with("key")
            || word.ends_with("keys")
            || word.ends_with("pass") && word != "bypass"
            || PARTS.iter().any(|part| word.contains(part))
    };
    let pieces = name.split(|letter: char| !letter.is_alphanumeric());
    pieces
        .flat_map(|piece| [piece, last_hump(piece)])
        .any(is_joined)
}

/// Returns the last word of a name such as `userAuth`.
fn last_hump(name: &str) -> &str {
    match name.rfind(char::is_uppercase) {
        Some(start) => &name[start..],
        None => name,
    }
}

/// Returns true if a word has the form of the tokens that large services give out.
fn is_known_token(word: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        "AKIA",
        "ASIA",
        "AIza",
        "eyJ",
        "gho_",
        "ghp_",
        "ghr_",
        "ghs_",
        "ghu_",
        "github_pat_",
        "glpat-",
        "npm_",
        "sk-",
        "sk_live_",
        "xox",
    ];
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let word = word.trim_matches(['"', '\'']);
    word.len() >= 20
        && word.chars().all(is_letter)
        && word.contains(|letter: char| letter.is_ascii_digit())
        && BEGINNINGS
            .iter()
            .any(|beginning| word.starts_with(beginning))
}

/// Returns the range of `USER:PASSWORD` in a URL.
fn find_user_of_url(word: &str) -> Option<std::ops::Range<usize>> {
    let start = word.find("://")? + "://".len();
    let host = &word[start..];
    let host = &host[..host.find(['/', '?', '#']).unwrap_or(host.len())];
    let end = start + host.rfind('@')?;
    word[start..end].contains(':').then_some(start..end)
}

/// Returns the range of the password in `NAME:PASSWORD@HOST`, or in `NAME:PASSWORD` after an option for a user. Numbers are
/// the ids of a user and a group.
fn find_password_of_user(word: &str, is_user: bool) -> Option<std::ops::Range<usize>> {
    let (before, rest) = word.trim_end_matches(['"', '\'']).split_once(':')?;
    let name_start = before.rfind(['=', '"', '\'']).map_or(0, |at| at + 1);
    let name = &before[name_start..];
    let is_letter = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    let is_scheme = rest.starts_with("//") || name.eq_ignore_ascii_case("mailto");
    if name.is_empty() || !name.chars().all(is_letter) || is_scheme {
        return None;
    }
    let password = match is_user {
        true => rest,
        // A digest follows the tag of a container.
        false => {
            let (password, host) = rest.rsplit_once('@')?;
            (!host.starts_with("sha256:") && !password.contains('/')).then_some(password)?
        }
    };
    let is_number = password.chars().all(|letter| letter.is_ascii_digit());
    let start = before.len() + 1;
    (!is_number || !is_user).then_some(start..start + password.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_command_lines_are_replaced() {
        for (text, expected) in [
            (
                "env SHOP_API_KEY=a1 ./serve --port 8080 --auth-token=b2 --password c3",
                "env SHOP_API_KEY=*** ./serve --port 8080 --auth-token=*** --password ***",
            ),
            (
                "java -Dshop.password=a=b,c -Xmx1g -jar x.jar",
                "java -Dshop.password=*** -Xmx1g -jar x.jar",
            ),
            (
                "-Dapi.userAuth=x -DsecretKey=y",
                "-Dapi.userAuth=*** -DsecretKey=***",
            ),
            ("x --password 'two words' end", "x --password *** end"),
            ("x --token=\"two words\" end", "x --token=*** end"),
            ("x --token --verbose", "x --token --verbose"),
            (
                "keytool -storepass a -keypass b --bypass c --otp d",
                "keytool -storepass *** -keypass *** --bypass c --otp ***",
            ),
            (
                "curl -u admin:a1 --proxy-user b:b2 -u 10:20 h",
                "curl -u admin:*** --proxy-user b:*** -u 10:20 h",
            ),
            (
                "x --dsn=u:a=b@tcp(h)/db 'v:b@h' img:1.2@sha256:ab git@h:a/b a::b mailto:c@h",
                "x --dsn=u:***@tcp(h)/db 'v:***@h' img:1.2@sha256:ab git@h:a/b a::b mailto:c@h",
            ),
            (
                "curl -H 'Authorization: Bearer abc' https://me:pw@host/a?b",
                "curl -H 'Authorization:*** https://***@host/a?b",
            ),
            (
                "x Authorization: Bearer abc next",
                "x Authorization: Bearer *** next",
            ),
            ("x ghp_0123456789abcdefghij", "x ***"),
            ("x {\"password\":\"a\"}", "x {\"password\":***"),
        ] {
            assert_eq!(redact_text(text), expected);
        }
    }

    #[test]
    fn other_words_of_command_lines_stay() {
        for text in [
            "./serve --port 8080  --name=x",
            "cargo test parser::token::reads --exact",
            "don't --author me --passes 3",
            "https://host/path:8080?q=1 C:\\x",
            "\tpadded\n",
            "",
        ] {
            assert_eq!(redact_text(text), text);
        }
    }

    #[test]
    fn all_texts_of_a_run_are_redacted() {
        let mut run = RunRecord::new("memcheck");
        run.command = Some("x --password a1".to_owned());
        run.process.options = ["--token", "a2"].map(str::to_owned).to_vec();
        run.process.user_comment = Some("--secret=a3".to_owned());
        let labels = [("DB_PASSWORD", "a4"), ("jvm_arguments", "-Dtoken=a5")];
        run.sampling.labels = labels
            .map(|(key, text)| (key.to_owned(), text.to_owned()))
            .into();
        run.desc = Some(Description::Text("--key=a6".to_owned()));
        run.extra = serde_json::from_str(r#"{"new":["--pwd=a7",{"secret":"a8"}]}"#).unwrap();
        redact_run(&mut run);
        let text = serde_json::to_string(&run).unwrap();
        let left = (1..9).filter(|number| text.contains(&format!("a{number}")));
        assert_eq!(Vec::from_iter(left), [0; 0], "{text}");
    }
}
