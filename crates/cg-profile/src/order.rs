//! The order of rows of equal cost: by the fields of their keys, with names compared as bytes.

use std::cmp::Ordering;

use super::{FrameKey, FunctionKey, Key, Profile, StackId, Symbol};

impl Profile {
    /// Compares two functions by name, file and object.
    pub fn order_of_functions(&self, a: &FunctionKey, b: &FunctionKey) -> Ordering {
        self.order_of_names(a.name, b.name)
            .then_with(|| self.order_of_names(a.file, b.file))
            .then_with(|| self.order_of_names(a.obj, b.obj))
    }

    /// Compares two keys of a type. Different keys are never equal in this order, so that the input order does not matter.
    pub fn order_of_keys(&self, a: &Key, b: &Key) -> Ordering {
        // Lists every field, so that the compiler reports a new field that is not compared.
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
            earlier_search,
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
            .then_with(|| (cut, earlier_search).cmp(&(&b.cut, &b.earlier_search)))
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

    /// Compares two stacks frame by frame, from the innermost outwards.
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
            addr,
        } = a;
        self.order_of_functions(function, &b.function)
            .then_with(|| line.cmp(&b.line))
            .then_with(|| self.order_of_names(*site, b.site))
            .then_with(|| marks.cmp(&b.marks))
            .then_with(|| self.order_of_names(*addr, b.addr))
    }
}

#[cfg(test)]
mod tests {
    use cg_stream::Reader;
    use cg_stream::record::RecordType;

    use super::*;

    /// Compares two stacks with these further fields.
    fn order(first: &str, second: &str) -> Ordering {
        let mut profile = Profile::default();
        for fields in [first, second] {
            let text = format!(
                "{{\"type\":\"stack\",\"fn\":\"f\",\"cost\":{{\"samples\":1}},{fields}\"stack\":[{{\"fn\":\"f\"}}]}}\n"
            );
            let mut reader = Reader::new(text.as_bytes());
            profile.add(&reader.next_line().unwrap().unwrap()).unwrap();
        }
        let table = profile.table(RecordType::Stack);
        assert_eq!(table.len(), 2);
        profile.order_of_keys(&table.key(0), &table.key(1))
    }

    #[test]
    fn keys_are_sorted_in_ascending_order_by_each_field() {
        for (less, greater) in [
            ("\"tid\":1,", "\"tid\":2,"),
            ("\"tid\":9,", "\"tid\":10,"),
            ("", "\"tid\":0,"),
            ("\"thread\":\"a\",", "\"thread\":\"b\","),
            ("\"process\":\"a\",", "\"process\":\"b\","),
            ("\"time\":5,", "\"time\":6,"),
            ("", "\"cut\":true,"),
            // An earlier field decides.
            ("\"tid\":1,\"time\":9,", "\"tid\":2,\"time\":3,"),
            ("\"thread\":\"a\",\"tid\":9,", "\"thread\":\"b\",\"tid\":3,"),
        ] {
            assert_eq!(order(less, greater), Ordering::Less, "{less} {greater}");
            assert_eq!(order(greater, less), Ordering::Greater, "{less} {greater}");
        }
    }
}
