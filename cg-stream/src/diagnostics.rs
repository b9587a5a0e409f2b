//! Where a library says what it has to say: warnings, troubles, and how far a long reading has come.

use std::fmt::Display;

use crate::visible::visible;

/// Takes the messages of whoever reads or writes for its owner.
pub struct Diagnostics {
    sink: Sink,
    progress: Option<ShowProgress>,
    trouble: bool,
    troubles: Vec<String>,
}

/// How many messages of trouble are kept for those who want to repeat them.
const MOST_KEPT: usize = 20;

/// Takes a message and whether it is trouble.
type Sink = Box<dyn FnMut(&str, bool) + Send>;

/// Shows the reading of an input of so many bytes; `None` where nobody wants to see it.
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
            trouble: false,
            troubles: Vec::new(),
        }
    }

    /// The same, and whatever is read from files is shown by this function.
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

    /// Says what could not be done; the tool goes on with what it has and exits 2.
    pub fn trouble(&mut self, message: impl Display) {
        self.trouble = true;
        let message = visible(&message.to_string()).into_owned();
        (self.sink)(&message, true);
        if self.troubles.len() < MOST_KEPT {
            self.troubles.push(message);
        }
    }

    /// Whether anything could not be done.
    pub fn had_trouble(&self) -> bool {
        self.trouble
    }

    /// What could not be done, as it was said; of many messages the first.
    pub fn troubles(&self) -> &[String] {
        &self.troubles
    }

    /// What shows the reading of an input of so many bytes, where it is shown.
    pub fn progress(&self, length: u64) -> Option<Box<dyn Progress>> {
        self.progress.and_then(|show| show(length))
    }
}
