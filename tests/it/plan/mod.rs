//! Plans as values: every kind of grant on every kind of host, without touching either.

mod another_tree;
mod cases;
mod golden;
mod hosts;
mod invariants;
mod learned;
mod made;
mod tree;
