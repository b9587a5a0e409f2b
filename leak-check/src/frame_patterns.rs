//! The regexes of `--only` and `--ignore`, for the frames of a stack.

use std::borrow::Cow;

use cg_stream::record::Frame;
use regex::RegexSet;

use crate::paths::Paths;

/// Regexes for frames. If both fields are set, both must match.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePatterns {
    /// Regexes for the function, the full path of the file, and its path in reports.
    pub(crate) code: Option<AnyOf>,
    /// Regexes for the object.
    pub(crate) obj: Option<AnyOf>,
}

/// Any number of regexes, one of which must match. The regex crate limits the size of a set, so there may be several sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnyOf {
    sets: Vec<RegexSet>,
    /// The option with these regexes.
    option: &'static str,
    /// The files that the last regexes come from, with their numbers of regexes.
    files: Vec<(String, usize)>,
}

impl AnyOf {
    /// Compiles the regexes.
    ///
    /// # Errors
    /// Returns an error if a pattern is not a valid regex or is too large.
    pub(crate) fn new<P: AsRef<str>>(patterns: &[P]) -> Result<AnyOf, regex::Error> {
        /// The maximum number of regexes in a set. Two sets of this size are faster than one of twice the size.
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

    /// Records the origin of the regexes: an option, and the files that the last regexes come from.
    pub(crate) fn with_origin(self, option: &'static str, files: Vec<(String, usize)>) -> AnyOf {
        AnyOf {
            option,
            files,
            ..self
        }
    }

    fn is_match(&self, text: &str) -> bool {
        self.sets.iter().any(|set| set.is_match(text))
    }

    /// Returns the conditions, each with the end position of its regexes. A condition is a regex of the option, or all
    /// regexes of one file.
    fn conditions(&self) -> Vec<(String, usize)> {
        let n_in_files: usize = self.files.iter().map(|(_, lines)| lines).sum();
        let texts: Vec<&String> = self.sets.iter().flat_map(RegexSet::patterns).collect();
        let single = &texts[..texts.len() - n_in_files];
        let mut conditions = Vec::new();
        for text in single {
            conditions.push((format!("{} \"{text}\"", self.option), conditions.len() + 1));
        }
        let mut end = single.len();
        for (name, lines) in &self.files {
            end += lines;
            conditions.push((name.clone(), end));
        }
        conditions
    }

    /// Returns the conditions that match none of these texts.
    pub(crate) fn without_match<'t>(
        &self,
        texts: impl Iterator<Item = Cow<'t, str>>,
    ) -> Vec<String> {
        let conditions = self.conditions();
        let condition_at =
            |position: usize| conditions.partition_point(|(_, end)| *end <= position);
        let mut is_met = vec![false; conditions.len()];
        for text in texts {
            let mut first = 0;
            for set in &self.sets {
                let here = condition_at(first)..=condition_at(first + set.len() - 1);
                // Skip a set if all its conditions have matched, because a file can have any number of lines.
                if !is_met[here].iter().all(|is_met| *is_met) {
                    for position in set.matches(&text) {
                        is_met[condition_at(first + position)] = true;
                    }
                }
                first += set.len();
            }
        }
        let all = conditions.into_iter().zip(is_met);
        all.filter(|(_, is_met)| !is_met)
            .map(|((condition, _), _)| condition)
            .collect()
    }
}

impl FramePatterns {
    /// Returns true if there are no regexes.
    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_none() && self.obj.is_none()
    }

    /// Returns true if a frame matches.
    pub(crate) fn match_frame(&self, frame: &Frame, paths: &Paths) -> bool {
        let is_code =
            |patterns: &AnyOf| code_texts(frame, paths).any(|text| patterns.is_match(&text));
        let is_obj = |patterns: &AnyOf| {
            let obj = frame.obj.as_deref();
            obj.is_some_and(|obj| patterns.is_match(obj))
        };
        !self.is_empty()
            && self.code.as_ref().is_none_or(is_code)
            && self.obj.as_ref().is_none_or(is_obj)
    }
}

/// Returns the texts that identify a frame's code: the function, the full path of the file, and its path in reports.
pub(crate) fn code_texts<'f>(
    frame: &'f Frame,
    paths: &'f Paths,
) -> impl Iterator<Item = Cow<'f, str>> {
    let file = frame.file.as_deref();
    let unchanged = frame.name.as_deref().into_iter().chain(file);
    let shown = file.into_iter().map(|file| paths.shown(file));
    unchanged.map(Cow::Borrowed).chain(shown)
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
    fn a_file_matches_by_its_full_path_and_its_path_in_reports() {
        assert!(is_match("^src/", ""));
        assert!(is_match("^/home/dev/", ""));
        assert!(is_match("^logcrate::", ""));
        assert!(!is_match("^tests/", ""));
    }

    #[test]
    fn there_can_be_more_patterns_than_one_set_holds() {
        // The compiled form of a Unicode word character is large, so these patterns exceed the limit of one set.
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
    fn objects_have_separate_patterns() {
        assert!(!is_match("app$", ""));
        assert!(is_match("", "app$"));
        assert!(is_match("^src/", "app$"));
        assert!(!is_match("^src/", "other$"));
        assert!(!is_match("^tests/", "app$"));
        assert!(!is_match("", ""));
    }
}
