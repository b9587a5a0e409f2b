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
    labels: bool,
    times: bool,
    inlined: bool,
    /// Other marks than that, but for those of the kernel, whose object tells.
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
            self.inlined |= frame.inlined;
            self.marks |= frame.jit || frame.waker;
        }
        self.threads |= stack.thread.is_some();
        self.processes |= stack.process.is_some();
        self.labels |= stack.labels.is_some();
        self.times |= stack.time.is_some();
    }

    /// Says what was left out of a format that holds only some of it.
    pub(crate) fn say(&self, format: &str, holds: &[&str], diagnostics: &mut Diagnostics) {
        let all = [
            (self.files, "files"),
            (self.lines, "lines"),
            // Where a format holds no lines at all, the entry for lines says so already.
            (
                self.sites && holds.contains(&"lines"),
                "files of functions beside those of their lines",
            ),
            (self.objects, "objects"),
            (self.addresses, "addresses"),
            (self.threads, "threads"),
            (self.processes, "processes"),
            (self.labels, "labels"),
            (self.times, "times of samples"),
            // Where a format tells what was inlined, it has no other mark.
            (self.inlined && !holds.contains(&"inlined"), "marks"),
            (
                self.marks && (!self.inlined || holds.contains(&"inlined")),
                "marks",
            ),
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
