//! Tests of the filter, as a table, as a policy, and as a program.

mod decisions;
mod harness;
mod programs;
mod tables;
