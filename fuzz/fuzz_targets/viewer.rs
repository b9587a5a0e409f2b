#![no_main]
libfuzzer_sys::fuzz_target!(
    init: {
        // As Rust's own main has it: a tool that refuses its input does not read it to the end, and the write fails.
        // SAFETY: no other thread runs yet, and no handler is replaced that anybody relies on.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    },
    |bytes: &[u8]| tests::fuzzed::viewer(bytes)
);
