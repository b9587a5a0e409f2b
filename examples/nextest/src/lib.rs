//! A buffer with memory errors that the tests show under Valgrind.

use std::alloc::{Layout, alloc, dealloc};

/// Bytes that must be freed with [`Buffer::free`].
pub struct Buffer {
    bytes: *mut u8,
    layout: Layout,
}

impl Buffer {
    /// Allocates a buffer of this length, filled with ones.
    pub fn new(length: usize) -> Buffer {
        let layout = Layout::array::<u8>(length).expect("the length is at most isize::MAX");
        assert!(length > 0, "the length must not be 0");
        // SAFETY: the layout is not empty, and all bytes are written before they are read.
        let bytes = unsafe { alloc(layout) };
        assert!(!bytes.is_null(), "out of memory");
        unsafe { bytes.write_bytes(1, length) };
        Buffer { bytes, layout }
    }

    /// Returns the byte at this position, without a bounds check.
    pub fn get(&self, position: usize) -> u8 {
        // UNSAFE: this is the bug.
        unsafe { self.bytes.add(position).read_volatile() }
    }

    /// Frees the bytes.
    pub fn free(self) {
        // SAFETY: `bytes` comes from `alloc` with this layout, and `self` is not used afterwards.
        unsafe { dealloc(self.bytes, self.layout) };
    }
}
