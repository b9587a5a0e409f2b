#![no_main]
libfuzzer_sys::fuzz_target!(
    init: {
        // Rust's own main ignores SIGPIPE too. A tool that rejects its input does not read to the end, so the write fails.
        // SAFETY: no other thread runs yet, and no code relies on the replaced handler.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    },
    |bytes: &[u8]| tests::fuzzed::pipeline(bytes)
);
