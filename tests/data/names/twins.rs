//! Leaks in everything that a Rust program allocates by: its library, closures, threads, traits of its own for types of
//! the library. `tests/names.rs` builds and runs it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::mem::forget;

trait Go {
    fn go(&self) -> Vec<u8>;
}

impl Go for Vec<u8> {
    #[inline(never)]
    fn go(&self) -> Vec<u8> {
        self.clone()
    }
}

#[inline(never)]
fn leak_map(n: i32) {
    let mut map: HashMap<i32, String> = HashMap::new();
    for i in 0..n {
        map.insert(i, format!("v{i}"));
    }
    forget(map);
}

#[inline(never)]
fn leak_set(n: i32) {
    let set: HashSet<i32> = (0..n).collect();
    forget(set);
}

#[inline(never)]
fn leak_tree(n: i32) {
    let mut tree = BTreeMap::new();
    for i in 0..n {
        tree.insert(i, vec![i; 3]);
    }
    forget(tree);
}

#[inline(never)]
fn leak_in_closure(n: usize) {
    let boxes: Vec<Box<usize>> = (0..n).map(|x| Box::new(x * 2)).collect();
    forget(boxes);
}

#[inline(never)]
fn leak_in_thread() {
    let thread = std::thread::spawn(|| forget(vec![1u8; 77]));
    thread.join().unwrap();
}

#[inline(never)]
fn leak_text() {
    let texts: Vec<String> = ["a", "b"].iter().map(|text| text.to_string()).collect();
    forget(texts.join("-"));
    let mut queue = VecDeque::new();
    queue.push_back(5u64);
    forget(queue);
}

mod inner {
    pub struct Node {
        bytes: Vec<u8>,
    }

    impl Clone for Node {
        #[inline(never)]
        fn clone(&self) -> Node {
            Node {
                bytes: self.bytes.to_vec(),
            }
        }
    }

    #[inline(never)]
    pub fn leak_clones() {
        let node = Node { bytes: vec![1; 9] };
        std::mem::forget(vec![node.clone(); 2]);
    }
}

#[inline(never)]
fn bad_read() {
    let bytes = vec![1u8; 16];
    unsafe { std::ptr::read_volatile(bytes.as_ptr().add(16)) };
}

#[inline(never)]
fn leak_while_sorting() {
    let mut numbers = vec![3, 1, 2];
    numbers.sort_by(|a, b| {
        forget(Box::new([0u8; 33]));
        a.cmp(b)
    });
}

fn main() {
    leak_map(50);
    leak_set(40);
    leak_tree(30);
    leak_in_closure(5);
    leak_in_thread();
    leak_text();
    inner::leak_clones();
    bad_read();
    leak_while_sorting();
    forget(vec![1u8].go());
}
