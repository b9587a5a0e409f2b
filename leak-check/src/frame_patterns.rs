//! What `--only` and `--ignore` look for in the frames of a stack.

use cg_stream::record::Frame;
use regex::RegexSet;

use crate::paths::Paths;

/// Regular expressions for frames. Those for function and file, and those for the object, both have to match where both
/// are given; of each one match is enough.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramePatterns {
    /// For the function, and for the file in full and as reports show it.
    pub(crate) code: Option<RegexSet>,
    /// For the object.
    pub(crate) obj: Option<RegexSet>,
}

impl FramePatterns {
    /// True where nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.code.is_none() && self.obj.is_none()
    }

    /// Whether a frame matches. A path is shown relative to the root of the project, as in reports.
    pub(crate) fn match_frame(&self, frame: &Frame, paths: &Paths) -> bool {
        let is_code = |patterns: &RegexSet| {
            let is_match = |text: &str| patterns.is_match(text);
            frame.name.as_deref().is_some_and(is_match)
                || frame
                    .file
                    .as_deref()
                    .is_some_and(|file| is_match(file) || is_match(&paths.shown(file)))
        };
        let is_obj = |patterns: &RegexSet| {
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
        let patterns = |text: &str| (!text.is_empty()).then(|| RegexSet::new([text]).unwrap());
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
    fn objects_have_patterns_of_their_own() {
        assert!(!is_match("app$", ""));
        assert!(is_match("", "app$"));
        assert!(is_match("^src/", "app$"));
        assert!(!is_match("^src/", "other$"));
        assert!(!is_match("^tests/", "app$"));
        assert!(!is_match("", ""));
    }
}
