#![no_main]
//! The fuzzer of [`endow_fuzz::tree_objects`].

libfuzzer_sys::fuzz_target!(|input: &[u8]| endow_fuzz::tree_objects(input));
