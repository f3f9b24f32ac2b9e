//! The project's tasks.

fn main() {}
