//! The built adapter, with stand-ins for the launcher and for the user's programs.

mod attacks;
mod harness;
mod ways;
