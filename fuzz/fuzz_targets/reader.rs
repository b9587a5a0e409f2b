#![no_main]
use libfuzzer_sys::Corpus;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> Corpus {
    match tests::fuzzed::reader_of_first_byte(bytes) {
        true => Corpus::Keep,
        false => Corpus::Reject,
    }
});
