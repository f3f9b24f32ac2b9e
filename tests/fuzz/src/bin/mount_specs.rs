#![no_main]
//! The fuzzer of [`endow_fuzz::mount_specs`].

libfuzzer_sys::fuzz_target!(|input: &[u8]| endow_fuzz::mount_specs(input));
