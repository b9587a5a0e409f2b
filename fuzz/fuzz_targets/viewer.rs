#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cg_tests::fuzzed::viewer(bytes));
