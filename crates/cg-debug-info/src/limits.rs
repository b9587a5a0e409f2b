//! Limits on the cost of reading one object. DWARF is untrusted input, so memory and time stay within these limits, whatever
//! the figures in the file claim.

/// Limits on reading one file and on processing its debug information.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The maximum decompressed size of one file's sections in bytes, unless the file itself is large.
    pub decompressed: u64,
    /// The maximum decompressed size per byte of a large file. Real debug information compresses to a half or a third.
    pub ratio: u64,
    /// The maximum number of steps, each about a nanosecond: addresses written, entries of range lists, bytes of
    /// abbreviations and line tables.
    pub steps: u64,
    /// The maximum number of inlined functions with an address, in one unit.
    pub nodes: usize,
    /// The maximum depth of inlined or nested functions.
    pub depth: usize,
    /// The maximum number of units in one object.
    pub units: usize,
    /// The maximum size of the abbreviations of one unit in bytes. Parsed abbreviations take about twenty times as much
    /// memory.
    pub abbreviations: usize,
    /// The maximum size of the file table of one unit in bytes.
    pub file_table: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            decompressed: 128 << 20,
            ratio: 6,
            steps: 2_000_000_000,
            nodes: 1 << 20,
            depth: 512,
            units: 1 << 20,
            abbreviations: 2 << 20,
            file_table: 1 << 20,
        }
    }
}

/// The remaining steps; see [`Limits::steps`].
#[derive(Debug)]
pub(crate) struct Steps(u64);

/// The error after the last step.
#[derive(Debug)]
pub(crate) struct Exhausted;

impl Steps {
    pub(crate) fn new(limits: &Limits) -> Steps {
        Steps(limits.steps)
    }

    pub(crate) fn take(&mut self, steps: u64) -> Result<(), Exhausted> {
        match self.0.checked_sub(steps) {
            Some(left) => {
                self.0 = left;
                Ok(())
            }
            None => {
                self.0 = 0;
                Err(Exhausted)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_is_left_after_the_limit_was_exceeded_once() {
        let mut steps = Steps::new(&Limits {
            steps: 5,
            ..Limits::default()
        });
        assert!(steps.take(3).is_ok());
        assert!(steps.take(3).is_err());
        assert!(steps.take(1).is_err());
        let mut steps = Steps(5);
        assert!(steps.take(5).is_ok() && steps.take(0).is_ok());
        assert!(steps.take(1).is_err());
    }
}
