//! What reading one object may cost. DWARF is input like any other: whatever its figures claim, memory and time stay
//! within what is said here.

/// How much of one file is read, and how long its debug information may be worked on.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes that compressed sections of one file may become, unless the file itself is large.
    pub decompressed: u64,
    /// How many bytes a byte of a large file may become. Real debug information shrinks to a half or a third.
    pub ratio: u64,
    /// Steps, each about a nanosecond: addresses written, entries of range lists, bytes of abbreviations and line tables.
    pub steps: u64,
    /// Inlined places that hold an address, in one unit.
    pub nodes: usize,
    /// How deep functions may be inlined or nested.
    pub depth: usize,
    /// Units of one object.
    pub units: usize,
    /// Bytes of the abbreviations of one unit. What is parsed takes about twenty times as much memory.
    pub abbreviations: usize,
    /// Bytes of the file table of one unit.
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

/// The steps that are left; see [`Limits::steps`].
#[derive(Debug)]
pub(crate) struct Steps(u64);

/// All steps are used up.
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
