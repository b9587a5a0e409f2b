//! The messages of a library: warnings, errors, and the progress of long reads.

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
    has_errors: bool,
    errors: Vec<String>,
}

/// The maximum number of messages that [`Diagnostics::errors`] keeps, a bound for memory.
const MOST_KEPT: usize = 100_000;

/// Receives a message, and true if it is an error.
type MessageSink = Box<dyn FnMut(&str, bool) + Send>;

/// Makes a progress display for an input of this many bytes; `None` if progress is not shown.
pub type ShowProgress = fn(length: u64) -> Option<Box<dyn Progress>>;

/// Shows how far the reading of an input has come.
pub trait Progress: Send {
    /// Adds bytes that were read since the last call.
    fn advance(&mut self, bytes: u64);

    /// Ends the display: the input is read to its end.
    fn finish(&mut self);
}

impl Diagnostics {
    /// Creates diagnostics that pass each message, a single line, to a function, with true if it is an error.
    pub fn to(sink: impl FnMut(&str, bool) + Send + 'static) -> Diagnostics {
        Diagnostics {
            sink: Box::new(sink),
            progress: None,
            all_inputs: None,
            has_errors: false,
            errors: Vec::new(),
        }
    }

    /// Also shows the progress of reading, with the displays that this function makes.
    pub fn with_progress(self, show: ShowProgress) -> Diagnostics {
        Diagnostics {
            progress: Some(show),
            ..self
        }
    }

    /// Replaces the function that makes the displays of progress, if there is one.
    pub fn replace_progress(&mut self, show: ShowProgress) {
        self.progress = self.progress.map(|_| show);
    }

    /// Reports a warning, which changes no data and no exit status.
    pub fn warn(&mut self, message: impl Display) {
        (self.sink)(&visible(&message.to_string()), false);
    }

    /// Reports an error or a warning.
    pub fn report(&mut self, is_error: bool, message: impl Display) {
        match is_error {
            true => self.error(message),
            false => self.warn(message),
        }
    }

    /// Reports an error. The tool continues with the readable input and exits with 2.
    pub fn error(&mut self, message: impl Display) {
        self.record_error(message, true);
    }

    /// Reports an error that the output contains too. If warnings are silenced, it is not printed a second time.
    pub fn error_in_output(&mut self, message: impl Display) {
        self.record_error(message, false);
    }

    fn record_error(&mut self, message: impl Display, is_error: bool) {
        self.has_errors = true;
        let message = visible(&message.to_string()).into_owned();
        (self.sink)(&message, is_error);
        if self.errors.len() < MOST_KEPT {
            self.errors.push(message);
        }
    }

    /// Returns true if an error was reported.
    pub fn has_errors(&self) -> bool {
        self.has_errors
    }

    /// Returns the error messages.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Announces the files that will be read, so that one progress display covers all of them.
    pub fn begin_inputs<P: AsRef<Path>>(&mut self, files: impl IntoIterator<Item = P>) {
        let Some(show) = self.progress else { return };
        // Skips paths that are not regular files or whose metadata cannot be read.
        let length = |file: P| std::fs::metadata(file).ok().filter(|file| file.is_file());
        let lengths = files.into_iter().filter_map(length);
        let all = show(lengths.map(|file| file.len()).sum());
        self.all_inputs = all.map(|all| Arc::new(Mutex::new(all)));
    }

    /// Finishes the shared progress display.
    pub fn end_inputs(&mut self) {
        if let Some(all) = self.all_inputs.take() {
            all.lock().unwrap_or_else(PoisonError::into_inner).finish();
        }
    }

    /// Returns a progress display for an input of this many bytes; `None` if progress is not shown.
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

    /// The calls of the progress display in order: lengths, bytes and ends.
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
