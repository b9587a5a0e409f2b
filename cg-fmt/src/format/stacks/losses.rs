//! Says once what a format cannot hold of the stacks that it is given.

use cg_stream::intern::Made;
use cg_stream::tool::Diagnostics;

use super::CountedStack;

/// What stacks had that may have been left out.
#[derive(Default)]
pub(crate) struct Losses {
    noted: Made<()>,
    sites: bool,
    files: bool,
    lines: bool,
    objects: bool,
    addresses: bool,
    threads: bool,
    processes: bool,
    marks: bool,
}

impl Losses {
    /// Takes note of what a stack has.
    pub(crate) fn note(&mut self, stack: &CountedStack) {
        for (number, frame) in stack.frames() {
            if self.noted.get(number).is_some() {
                continue;
            }
            self.noted.set(number, ());
            self.files |= frame.file.is_some();
            self.lines |= frame.line.is_some();
            self.sites |= frame.site.is_some();
            self.objects |= frame.obj.is_some();
            self.addresses |= frame.addr.is_some();
            self.marks |= frame.inlined || frame.jit || frame.waker;
        }
        self.threads |= stack.thread.is_some();
        self.processes |= stack.process.is_some();
    }

    /// Says what was left out of a format that holds only some of it.
    pub(crate) fn say(&self, format: &str, holds: &[&str], diagnostics: &mut Diagnostics) {
        let all = [
            (self.files, "files"),
            (self.lines, "lines"),
            // Where a format holds no lines at all, the entry for lines says so already.
            (
                self.sites && holds.contains(&"lines"),
                "lines of other files than their functions'",
            ),
            (self.objects, "objects"),
            (self.addresses, "addresses"),
            (self.threads, "threads"),
            (self.processes, "processes"),
            (self.marks, "marks"),
        ];
        let lost: Vec<&str> = all
            .iter()
            .filter(|(is_there, what)| *is_there && !holds.contains(what))
            .map(|(_, what)| *what)
            .collect();
        if !lost.is_empty() {
            diagnostics.warn(format!("{format} hold no {}: left out", lost.join(", ")));
        }
    }
}
