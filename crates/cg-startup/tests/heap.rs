//! A test that blocks of all sizes can be allocated if the heap cannot grow in one piece, as under Valgrind.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() {
    /// The heap can grow by this number of bytes.
    const ROOM: usize = 512 << 10;
    const PAGE: usize = 4096;

    // Links the crate, whose code runs before `main`.
    assert!(!cg_startup::stdout_was_closed());
    // SAFETY: The page is mapped only if nothing is mapped there, and is never used.
    let wall = unsafe {
        let end = libc::sbrk(0) as usize;
        let address = (end + ROOM).next_multiple_of(PAGE);
        libc::mmap(
            address as *mut libc::c_void,
            PAGE,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    assert_ne!(wall, libc::MAP_FAILED, "the page is free");
    // The first block does not fit into the heap. The later ones do.
    let sizes = [900, 700, 295, 120, 60, 295, 500, 1000, 20, 295, 350];
    for round in 1..=4 {
        let blocks: Vec<Vec<u8>> = sizes
            .iter()
            .map(|kilobytes| std::hint::black_box(Vec::with_capacity((kilobytes << 10) / round)))
            .collect();
        let bytes: usize = blocks.iter().map(Vec::capacity).sum();
        assert!(bytes * round > 4 << 20);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() {}
