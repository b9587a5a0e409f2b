//! A buffer that is handled well, badly, and worse, for the tests to show under Valgrind.

use std::alloc::{Layout, alloc, dealloc};

/// Bytes that are freed by hand.
pub struct Buffer {
    bytes: *mut u8,
    layout: Layout,
}

impl Buffer {
    /// A buffer of this length, filled with ones.
    pub fn new(length: usize) -> Buffer {
        let layout = Layout::array::<u8>(length).expect("a length that memory has room for");
        assert!(length > 0, "an allocation has a byte at least");
        // SAFETY: the layout is not empty, and all of it is written before anything else looks at it.
        let bytes = unsafe { alloc(layout) };
        assert!(!bytes.is_null(), "out of memory");
        unsafe { bytes.write_bytes(1, length) };
        Buffer { bytes, layout }
    }

    /// The byte at this position, without a check that the buffer has it.
    pub fn get(&self, position: usize) -> u8 {
        // UNSAFE: this is the bug.
        unsafe { self.bytes.add(position).read_volatile() }
    }

    /// Frees the bytes.
    pub fn free(self) {
        // SAFETY: `bytes` came from `alloc` with this layout, and nobody has it any more.
        unsafe { dealloc(self.bytes, self.layout) };
    }
}
