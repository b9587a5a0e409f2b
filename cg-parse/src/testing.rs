//! What the tests of the formats share.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use cg_stream::Diagnostics;

use crate::format::Options;
use crate::input::Input;
use crate::profiles::parse_input;

/// What a parse of some text came to.
pub(crate) struct Parsed {
    /// The records, a line each.
    pub(crate) records: Vec<String>,
    /// What was said, trouble and warnings alike, with the file called `in`.
    pub(crate) messages: Vec<String>,
    /// Whether some of it was trouble, which is exit status 2.
    pub(crate) trouble: bool,
}

impl Parsed {
    /// The records of a type, in order, without `{"type":"…",` in front.
    pub(crate) fn of(&self, kind: &str) -> Vec<&str> {
        let prefix = format!("{{\"type\":\"{kind}\",");
        self.records
            .iter()
            .filter_map(|record| record.strip_prefix(&prefix))
            .collect()
    }

    /// True where the stream has its `end`.
    pub(crate) fn is_whole(&self) -> bool {
        self.records
            .last()
            .is_some_and(|record| record.starts_with("{\"type\":\"end\""))
    }
}

/// Parses bytes as an input called `in`.
pub(crate) fn parse(text: &[u8], options: &Options) -> Parsed {
    let messages = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&messages);
    let mut diagnostics = Diagnostics::to(move |message, _| {
        said.lock().unwrap().push(message.to_owned());
    });
    let mut output = Vec::new();
    let input = Input {
        name: "in".to_owned(),
        reader: Box::new(Cursor::new(text.to_vec())),
    };
    parse_input(input, options, &mut output, &mut diagnostics).unwrap();
    let trouble = diagnostics.had_trouble();
    Parsed {
        records: String::from_utf8(output)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect(),
        messages: messages.lock().unwrap().clone(),
        trouble,
    }
}

/// The law for every format: a prefix of a file is a result or an error, and never a panic; and where it is no trouble,
/// its stream is whole.
pub(crate) fn check_all_prefixes(text: &[u8], options: &Options) {
    for length in 0..text.len() {
        let parsed = parse(&text[..length], options);
        assert_eq!(
            parsed.is_whole(),
            !parsed.trouble,
            "prefix of {length} bytes: {:?}",
            parsed.messages
        );
    }
}
