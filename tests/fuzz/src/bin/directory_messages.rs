#![no_main]
//! The fuzzer of [`endow_fuzz::directory_messages`].

libfuzzer_sys::fuzz_target!(|input: &[u8]| endow_fuzz::directory_messages(input));
