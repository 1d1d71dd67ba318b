#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tinyllama_fuzz::order(bytes));
