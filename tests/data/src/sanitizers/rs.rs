use std::thread;
struct Node { next: Option<Box<Node>>, v: Vec<u8> }
#[inline(never)] fn leak(n: usize) { let b = Box::new(Node { next: Some(Box::new(Node { next: None, v: vec![1; n] })), v: Vec::new() }); std::hint::black_box(&b); std::mem::forget(b); }
#[inline(never)] fn uaf() -> u8 { let v = vec![1u8, 2, 3]; let p = v.as_ptr(); drop(v); unsafe { *p.add(1) } }
#[inline(never)] fn over(n: usize) -> u8 { let v = vec![1u8, 2, 3]; unsafe { *v.get_unchecked(n) } }
static mut COUNT: u64 = 0;
#[inline(never)] fn uninit() -> i32 { let l = std::alloc::Layout::new::<[u64; 4]>(); let p = unsafe { std::alloc::alloc(l) } as *mut u64; if unsafe { *std::hint::black_box(p) } == 3 { 1 } else { 2 } }
fn main() {
    println!("program output");
    let w = std::env::args().nth(1).unwrap();
    match w.as_str() {
        "leak" => leak(100), "uaf" => { std::process::exit(uaf().into()) } "over" => { std::process::exit(over(4).into()) }
        "race" => { let t = thread::Builder::new().name("adder".into()).spawn(|| for _ in 0..1000 { unsafe { COUNT += 1 } }).unwrap(); for _ in 0..1000 { unsafe { COUNT += 1 } } t.join().unwrap(); }
        "uninit" => std::process::exit(uninit()),
        _ => { let n = Node { next: None, v: vec![] }; println!("{} {}", n.next.is_none(), n.v.len()); }
    }
}
