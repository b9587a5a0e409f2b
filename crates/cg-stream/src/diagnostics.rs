//! Where a library says what it has to say: warnings, troubles, and how far a long reading has come.

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::visible::visible;

/// Receives the messages of library code and hands them to the tool.
pub struct Diagnostics {
    sink: MessageSink,
    progress: Option<ShowProgress>,
    /// The progress display shared by all inputs, between [`Diagnostics::begin_inputs`] and
    /// [`Diagnostics::end_inputs`].
    all_inputs: Option<Arc<Mutex<Box<dyn Progress>>>>,
    trouble: bool,
    troubles: Vec<String>,
}

/// At most this many trouble messages are kept for [`Diagnostics::troubles`].
const MOST_KEPT: usize = 20;

/// Takes a message and whether it is trouble.
type MessageSink = Box<dyn FnMut(&str, bool) + Send>;

/// Makes a progress display for an input of this many bytes; `None` if progress is not shown.
pub type ShowProgress = fn(length: u64) -> Option<Box<dyn Progress>>;

/// Shows how far the reading of an input has come.
pub trait Progress: Send {
    /// So many bytes more were read.
    fn advance(&mut self, bytes: u64);

    /// The input is read to its end.
    fn finish(&mut self);
}

impl Diagnostics {
    /// Hands each message, a single line, to a function, with whether it is trouble.
    pub fn to(sink: impl FnMut(&str, bool) + Send + 'static) -> Diagnostics {
        Diagnostics {
            sink: Box::new(sink),
            progress: None,
            all_inputs: None,
            trouble: false,
            troubles: Vec::new(),
        }
    }

    /// Also shows the progress of reading, with the displays that this function makes.
    pub fn with_progress(self, show: ShowProgress) -> Diagnostics {
        Diagnostics {
            progress: Some(show),
            ..self
        }
    }

    /// Says something that changes no data and no exit status.
    pub fn warn(&mut self, message: impl Display) {
        (self.sink)(&visible(&message.to_string()), false);
    }

    /// Says something that is trouble, or else a warning.
    pub fn say(&mut self, is_trouble: bool, message: impl Display) {
        match is_trouble {
            true => self.trouble(message),
            false => self.warn(message),
        }
    }

    /// Says what could not be done; the tool goes on with what it has and exits 2.
    pub fn trouble(&mut self, message: impl Display) {
        self.note_trouble(message, true);
    }

    /// The same of what the output tells too: where remarks are silenced, it is not said twice.
    pub fn trouble_in_output(&mut self, message: impl Display) {
        self.note_trouble(message, false);
    }

    fn note_trouble(&mut self, message: impl Display, is_error: bool) {
        self.trouble = true;
        let message = visible(&message.to_string()).into_owned();
        (self.sink)(&message, is_error);
        if self.troubles.len() < MOST_KEPT {
            self.troubles.push(message);
        }
    }

    /// Whether anything could not be done.
    pub fn had_trouble(&self) -> bool {
        self.trouble
    }

    /// The trouble messages so far; of many only the first are kept.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// Says which files will be read, so that the reading of many is shown as one.
    pub fn begin_inputs<P: AsRef<Path>>(&mut self, files: impl IntoIterator<Item = P>) {
        let Some(show) = self.progress else { return };
        // Skips paths that are not regular files or whose metadata cannot be read.
        let length = |file: P| std::fs::metadata(file).ok().filter(|file| file.is_file());
        let lengths = files.into_iter().filter_map(length);
        let all = show(lengths.map(|file| file.len()).sum());
        self.all_inputs = all.map(|all| Arc::new(Mutex::new(all)));
    }

    /// Says that all of them are read.
    pub fn end_inputs(&mut self) {
        if let Some(all) = self.all_inputs.take() {
            all.lock().unwrap_or_else(PoisonError::into_inner).finish();
        }
    }

    /// A progress display for an input of this many bytes; `None` if progress is not shown.
    pub fn progress(&self, length: u64) -> Option<Box<dyn Progress>> {
        match &self.all_inputs {
            Some(all) => Some(Box::new(OneOfAll(Arc::clone(all)))),
            None => self.progress.and_then(|show| show(length)),
        }
    }
}

/// One of several inputs: advances the shared display, but does not finish it.
struct OneOfAll(Arc<Mutex<Box<dyn Progress>>>);

impl Progress for OneOfAll {
    fn advance(&mut self, bytes: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.advance(bytes);
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was shown: lengths, bytes and ends, in their order.
    static SHOWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn note(text: String) {
        SHOWN.lock().unwrap().push(text);
    }

    struct Noted;

    impl Progress for Noted {
        fn advance(&mut self, bytes: u64) {
            note(format!("+{bytes}"));
        }

        fn finish(&mut self) {
            note("end".to_owned());
        }
    }

    #[test]
    fn several_inputs_are_shown_as_one() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b", "none"].map(|name| folder.path().join(name));
        std::fs::write(&files[0], "12345").unwrap();
        std::fs::write(&files[1], "123").unwrap();
        let show: ShowProgress = |length| {
            note(format!("of {length}"));
            Some(Box::new(Noted))
        };
        let mut diagnostics = Diagnostics::to(|_, _| {}).with_progress(show);
        let read = |diagnostics: &Diagnostics, length| {
            let mut progress = diagnostics.progress(length).unwrap();
            progress.advance(length);
            progress.finish();
        };
        diagnostics.begin_inputs(&files);
        read(&diagnostics, 5);
        read(&diagnostics, 3);
        diagnostics.end_inputs();
        read(&diagnostics, 7);
        let shown = SHOWN.lock().unwrap().join(" ");
        assert_eq!(shown, "of 8 +5 +3 end of 7 +7 end");
    }
}
