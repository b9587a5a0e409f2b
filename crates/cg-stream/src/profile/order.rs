//! The order of rows of equal cost: by the fields of their keys, with names compared as bytes.

use std::cmp::Ordering;

use super::{FrameKey, FunctionKey, Key, Profile, StackId, Symbol};

impl Profile {
    /// The order of two functions: by name, file and object.
    pub fn order_of_functions(&self, a: &FunctionKey, b: &FunctionKey) -> Ordering {
        self.order_of_names(a.name, b.name)
            .then_with(|| self.order_of_names(a.file, b.file))
            .then_with(|| self.order_of_names(a.obj, b.obj))
    }

    /// The order of two keys of a type. No two rows of a table are equal in it, so that the order in which their records
    /// came makes no difference.
    pub fn order_of_keys(&self, a: &Key, b: &Key) -> Ordering {
        // Names every field, so that the compiler reports a new field that has no place in the order yet.
        let Key {
            function,
            line,
            addr,
            site,
            inlined,
            ambiguous,
            callee,
            kind,
            what,
            snapshot,
            part,
            thread,
            thread_name,
            tid,
            process,
            cut,
            time,
            labels,
            stack,
        } = a;
        self.order_of_functions(function, &b.function)
            .then_with(|| self.order_of_names(*site, b.site))
            .then_with(|| line.cmp(&b.line))
            .then_with(|| self.order_of_names(*addr, b.addr))
            .then_with(|| match (callee, &b.callee) {
                (Some(a), Some(b)) => self.order_of_functions(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            })
            .then_with(|| self.order_of_names(*kind, b.kind))
            .then_with(|| self.order_of_names(*what, b.what))
            .then_with(|| (snapshot, part, thread).cmp(&(&b.snapshot, &b.part, &b.thread)))
            .then_with(|| self.order_of_names(*thread_name, b.thread_name))
            .then_with(|| tid.cmp(&b.tid))
            .then_with(|| self.order_of_names(*process, b.process))
            .then_with(|| cut.cmp(&b.cut))
            .then_with(|| time.cmp(&b.time))
            .then_with(|| self.order_of_names(*labels, b.labels))
            .then_with(|| self.order_of_stacks(*inlined, b.inlined))
            .then_with(|| self.order_of_stacks(*ambiguous, b.ambiguous))
            .then_with(|| self.order_of_stacks(*stack, b.stack))
    }

    fn order_of_names(&self, a: Option<Symbol>, b: Option<Symbol>) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        self.text(a).cmp(&self.text(b))
    }

    /// Frame by frame, from the innermost outwards.
    fn order_of_stacks(&self, a: Option<StackId>, b: Option<StackId>) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        let [a, b] = [a, b].map(|stack| self.stacks().frames_of(stack));
        match a.first_difference(b) {
            Some([a, b]) => self.order_of_frames(a, b),
            None => a.len().cmp(&b.len()),
        }
    }

    fn order_of_frames(&self, a: &FrameKey, b: &FrameKey) -> Ordering {
        let FrameKey {
            function,
            line,
            site,
            marks,
        } = a;
        self.order_of_functions(function, &b.function)
            .then_with(|| line.cmp(&b.line))
            .then_with(|| self.order_of_names(*site, b.site))
            .then_with(|| marks.cmp(&b.marks))
    }
}
