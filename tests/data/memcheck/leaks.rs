// What a safe and an unsafe Rust program can do wrong: forget memory, hold it in a cycle, read what was freed.
use std::cell::RefCell;
use std::rc::Rc;

struct Node {
    next: RefCell<Option<Rc<Node>>>,
    payload: Vec<u8>,
}

mod cycle {
    use super::{Node, Rc, RefCell};

    pub fn make() -> usize {
        let first = Rc::new(Node { next: RefCell::new(None), payload: vec![1; 40] });
        let second = Rc::new(Node { next: RefCell::new(Some(Rc::clone(&first))), payload: vec![2; 50] });
        *first.next.borrow_mut() = Some(Rc::clone(&second));
        first.payload.len() + second.payload.len()
    }
}

fn forget<T>(value: T) {
    std::mem::forget(value);
}

fn main() {
    let seen = cycle::make();
    forget(vec![seen; 100].into_boxed_slice());
    let freed = {
        let bytes = vec![7u8; 10];
        bytes.as_ptr()
    };
    std::process::exit(i32::from(unsafe { freed.add(3).read_volatile() } > 100));
}
