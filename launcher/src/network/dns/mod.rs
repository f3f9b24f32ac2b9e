//! Names: what the command asks, what it is answered, and what the world says of them.
//!
//! The wire format is read by hand. To the crate `simple-dns` a question for a kind that it does
//! not know (SSHFP, TLSA) is an error, so that ssh would be told that it asked nonsense; so is a
//! whole answer with a record of an unknown class. It looks for version and code of an OPT record
//! in the wrong bytes. And 64 KiB of pointers to pointers take it 0.3 s (measured), in which the
//! supervisor would do nothing else. Tests read with it what is written here.

pub(crate) mod answer;
mod message;
mod name;
pub(crate) mod question;
pub(crate) mod upstream;

#[cfg(test)]
mod tests;
