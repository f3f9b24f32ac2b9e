//! Errors, for endow and for whoever starts such a program by hand.

use std::io::Write;

/// Has a panic tell where it was alone: its message may hold the value that led to it.
pub fn tell_only_where_it_panicked(program: &'static str) {
    std::panic::set_hook(Box::new(move |panic| {
        if let Some(place) = panic.location() {
            say(&format!("{program}: panic at {}:{}\n", place.file(), place.line()));
        }
    }));
}

/// Says something on standard error.
pub fn say(line: &str) {
    // Nobody may be there to read it.
    drop(std::io::stderr().write_all(line.as_bytes()));
}
