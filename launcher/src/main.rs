//! The `endow` command.

fn main() {}
