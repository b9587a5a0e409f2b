//! All tests pass, but under Valgrind leak-check finds errors in two of them.

use nextest_example::Buffer;

#[test]
fn clean() {
    let buffer = Buffer::new(16);
    assert_eq!(buffer.get(15), 1);
    buffer.free();
}

#[test]
fn leaks() {
    let buffer = Buffer::new(100);
    assert_eq!(buffer.get(0), 1);
}

#[test]
fn reads_past_the_end() {
    let buffer = Buffer::new(16);
    let _ = buffer.get(16);
    buffer.free();
}
