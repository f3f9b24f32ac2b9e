#![no_main]
//! The fuzzer of [`endow_fuzz::ref_names`].

libfuzzer_sys::fuzz_target!(|input: &[u8]| endow_fuzz::ref_names(input));
