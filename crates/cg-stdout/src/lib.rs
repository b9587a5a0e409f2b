//! Checks if standard output was open when the process started.
//!
//! Before `main`, Rust's runtime replaces a closed standard stream (`tool >&-`) by `/dev/null`. Then every write succeeds
//! and the output is lost. A later check cannot detect this, because the user may have chosen `/dev/null`. So this crate
//! checks before the runtime starts. It needs unsafe code, which all other crates forbid, and does nothing else.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn look_at_stdout() {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            // Duplicating a descriptor does not need the runtime, and fails if the descriptor is closed.
            let copy = std::io::stdout().as_fd().try_clone_to_owned();
            WAS_CLOSED.store(copy.is_err(), Ordering::Relaxed);
        }
    }
}

/// Returns true if standard output was closed when the process started. Always false on platforms other than Unix.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
