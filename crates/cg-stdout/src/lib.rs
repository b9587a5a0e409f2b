//! Whether standard output was open when the process began.
//!
//! Rust's runtime opens `/dev/null` in the place of a standard stream that is closed (`tool >&-`), before `main`. What is
//! written is lost then and every write succeeds; and `/dev/null` may just as well be what somebody asked for. So it
//! has to be looked at before the runtime begins. This crate does nothing else, and all others forbid unsafe code.

use std::sync::atomic::{AtomicBool, Ordering};

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

ctor::declarative::ctor! {
    #[ctor(unsafe)]
    fn look_at_stdout() {
        #[cfg(unix)]
        {
            use std::os::fd::AsFd;
            // Duplicating a descriptor needs nothing of the runtime, and fails for one that is not open.
            let copy = std::io::stdout().as_fd().try_clone_to_owned();
            WAS_CLOSED.store(copy.is_err(), Ordering::Relaxed);
        }
    }
}

/// Whether standard output was closed when the process began. False where a platform has no such thing.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
