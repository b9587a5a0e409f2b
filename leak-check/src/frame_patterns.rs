//! What `--only` and `--ignore` look for in the frames of a stack.

use cg_stream::record::Frame;
use regex::RegexSet;

use crate::paths::Paths;

/// Regular expressions for frames. Those for function and file, and those for the object, both have to match where both
/// are given; of each one match is enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePatterns {
    /// For the function, and for the file in full and as reports show it.
    pub(crate) code: Option<AnyOf>,
    /// For the object.
    pub(crate) obj: Option<AnyOf>,
}

/// Regular expressions of which one match is enough, in any number. The regex crate limits the size of a set, so they
/// are spread over several sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnyOf {
    sets: Vec<RegexSet>,
}

impl AnyOf {
    /// The set of these.
    ///
    /// # Errors
    /// Where one of them is none, or is too large by itself.
    pub(crate) fn new<P: AsRef<str>>(patterns: &[P]) -> Result<AnyOf, regex::Error> {
        /// More in one set match slower than two sets of half as many.
        const MOST_IN_A_SET: usize = 500;
        let mut any_of = AnyOf::default();
        for chunk in patterns.chunks(MOST_IN_A_SET) {
            any_of.add(chunk)?;
        }
        Ok(any_of)
    }

    fn add<P: AsRef<str>>(&mut self, patterns: &[P]) -> Result<(), regex::Error> {
        match RegexSet::new(patterns) {
            Ok(set) => self.sets.push(set),
            Err(regex::Error::CompiledTooBig(_)) if patterns.len() > 1 => {
                let (first, second) = patterns.split_at(patterns.len() / 2);
                self.add(first)?;
                self.add(second)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn is_match(&self, text: &str) -> bool {
        self.sets.iter().any(|set| set.is_match(text))
    }
}

impl FramePatterns {
    /// True where nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_none() && self.obj.is_none()
    }

    /// Whether a frame matches. A path is shown relative to the root of the project, as in reports.
    pub(crate) fn match_frame(&self, frame: &Frame, paths: &Paths) -> bool {
        let is_code = |patterns: &AnyOf| {
            let is_match = |text: &str| patterns.is_match(text);
            frame.name.as_deref().is_some_and(is_match)
                || frame
                    .file
                    .as_deref()
                    .is_some_and(|file| is_match(file) || is_match(&paths.shown(file)))
        };
        let is_obj = |patterns: &AnyOf| {
            let obj = frame.obj.as_deref();
            obj.is_some_and(|obj| patterns.is_match(obj))
        };
        !self.is_empty()
            && self.code.as_ref().is_none_or(is_code)
            && self.obj.as_ref().is_none_or(is_obj)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use cg_stream::record::Name;

    fn is_match(code: &str, obj: &str) -> bool {
        let patterns = |text: &str| (!text.is_empty()).then(|| AnyOf::new(&[text]).unwrap());
        let frame = Frame {
            name: Some(Name::from("logcrate::jit::setup")),
            file: Some(Name::from("/home/dev/logcrate/src/lib.rs")),
            obj: Some(Name::from("/home/dev/logcrate/target/debug/app")),
            ..Frame::default()
        };
        let patterns = FramePatterns {
            code: patterns(code),
            obj: patterns(obj),
        };
        let paths = Paths::relative_to(Path::new("/home/dev/logcrate")).unwrap();
        patterns.match_frame(&frame, &paths)
    }

    #[test]
    fn a_file_matches_as_it_is_shown_and_in_full() {
        assert!(is_match("^src/", ""));
        assert!(is_match("^/home/dev/", ""));
        assert!(is_match("^logcrate::", ""));
        assert!(!is_match("^tests/", ""));
    }

    #[test]
    fn there_can_be_more_patterns_than_one_set_holds() {
        // A word character of Unicode is large; some dozens of these are more than the crate allows in one set.
        let mut patterns: Vec<String> = (0..24).map(|i| format!("^\\w{{40}}_{i}$")).collect();
        patterns.push("^logcrate::jit".to_owned());
        let any_of = AnyOf::new(&patterns).unwrap();
        assert!(any_of.sets.len() > 1);
        assert!(any_of.is_match("logcrate::jit::setup"));
        assert!(any_of.is_match(&format!("{}_23", "x".repeat(40))));
        assert!(!any_of.is_match("other"));
        assert!(AnyOf::new(&["("]).is_err());
    }

    #[test]
    fn objects_have_patterns_of_their_own() {
        assert!(!is_match("app$", ""));
        assert!(is_match("", "app$"));
        assert!(is_match("^src/", "app$"));
        assert!(!is_match("^src/", "other$"));
        assert!(!is_match("^tests/", "app$"));
        assert!(!is_match("", ""));
    }
}
