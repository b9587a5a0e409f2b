//! Code of the tools that runs before `main`. It needs unsafe code, which all other crates forbid, so there is nothing else here.
//!
//! - It checks if standard output was open when the process started. Before `main`, Rust's runtime replaces a closed standard
//!   stream (`tool >&-`) by `/dev/null`. Then every write succeeds and the output is lost. A later check cannot detect this,
//!   because the user may have chosen `/dev/null`.
//! - It tells the allocator of glibc to return large blocks to the system when they are freed. By default, glibc does so only
//!   until the first large block is freed. Later, the freed tables of one file stay in memory, in pieces, while the next file
//!   is read: a comparison of two large profiles took a quarter more memory.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Blocks of this size and larger are returned to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK: libc::c_int = 1 << 20;

/// More free memory than this at the end of the heap is returned to the system. It must be larger than a block below
/// [`LARGE_BLOCK`] and what glibc adds to it: if the heap cannot grow in one piece, glibc can return a new piece before it uses
/// it, and then reports that memory is exhausted.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_END: libc::c_int = 2 * LARGE_BLOCK;

ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn start() {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            // Duplicating a descriptor does not need the runtime, and fails if the descriptor is closed.
            let copy = std::io::stdout().as_fd().try_clone_to_owned();
            WAS_CLOSED.store(copy.is_err(), Ordering::Relaxed);
        }
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        // SAFETY: No other thread runs before `main`, and the allocator takes any size.
        unsafe {
            // The tools also work if the allocator refuses this.
            libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE_END);
            libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
        }
    }
}

/// Returns true if standard output was closed when the process started. Always false on platforms other than Unix.
pub fn stdout_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
