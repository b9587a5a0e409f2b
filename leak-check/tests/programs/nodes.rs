//! Leaks in functions with mangled names: methods, trait implementations, generics and closures.

use std::hint::black_box;

struct Node {
    name: String,
}

trait Grow {
    fn grow(&self) -> Box<Node>;
}

impl Grow for Node {
    #[inline(never)]
    fn grow(&self) -> Box<Node> {
        let mut name = self.name.clone();
        name.push('+');
        Box::new(Node { name })
    }
}

#[inline(never)]
fn lose<T: Clone>(values: &[T]) {
    std::mem::forget(black_box(values.to_vec()));
}

fn main() {
    let node = Node {
        name: "node".to_owned(),
    };
    std::mem::forget(black_box(node.grow()));
    lose(&[1u64, 2, 3]);
    let forget = |size: usize| std::mem::forget(black_box(vec![0u8; size]));
    black_box(forget)(black_box(10));
}
