//! Bytes that wait until they have said which server they are for.

use std::cell::Cell;
use std::rc::Rc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::flow::Side;
use crate::network::server_name::{Asked, BYTES_MAX, asked, remembered};

/// What is made of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// More of them must come.
    Waits,
    /// So many may go on, and what follows is looked at with them.
    Part(usize),
    /// They may go on.
    Free,
    /// They are for another server.
    Refused,
}

/// The most bytes that are looked at for one connection, those that are looked at again counted
/// again: a first line of 96 KiB may come in pieces of 100 bytes.
const LOOKS_MAX: usize = 64 * 1024 * 1024;

/// The most bytes that are remembered for all connections together.
const REMEMBERED_MAX: usize = 16 * 1024 * 1024;

/// What all gates share.
#[derive(Debug, Default)]
pub(super) struct Lodge {
    /// Where bytes are looked at.
    seen: Vec<u8>,
    /// How many are remembered.
    remembered: Rc<Cell<usize>>,
}

/// Stands before a server until the first bytes have said that they are for it.
#[derive(Debug)]
pub(super) struct Gate {
    expected: String,
    /// What has gone on, as far as it means something for what follows.
    gone: Gone,
    /// How many bytes may still be looked at.
    looks: usize,
}

/// Bytes that count as remembered.
#[derive(Debug, Default)]
struct Gone {
    bytes: Vec<u8>,
    all: Rc<Cell<usize>>,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.all.set(self.all.get() - self.bytes.len());
    }
}

impl Lodge {
    /// Remembers bytes; `None` where too many are remembered already.
    fn remember(&self, bytes: Vec<u8>) -> Option<Gone> {
        let all = self.remembered.get() + bytes.len();
        (all <= REMEMBERED_MAX).then(|| {
            self.remembered.set(all);
            Gone { bytes, all: Rc::clone(&self.remembered) }
        })
    }
}

impl Gate {
    /// One before the server of this name.
    pub(super) fn new(expected: String) -> Self {
        Self { expected, gone: Gone::default(), looks: LOOKS_MAX }
    }

    /// Looks at what a side has said so far, and takes none of it.
    pub(super) fn look(&mut self, side: &mut Side, lodge: &mut Lodge) -> Result<Passage, Errno> {
        if !side.readable {
            return Ok(Passage::Waits);
        }
        let gone = self.gone.bytes.len();
        let seen = &mut lodge.seen;
        seen.clone_from(&self.gone.bytes);
        seen.resize(gone + BYTES_MAX, 0);
        let new = seen.get_mut(gone..).unwrap_or_default();
        let length = match recv(&side.socket, new, RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((_, 0)) => return Ok(self.at_the_end()),
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => return Err(errno),
        };
        seen.truncate(gone + length);
        let Some(looks) = self.looks.checked_sub(seen.len()) else { return Ok(Passage::Refused) };
        self.looks = looks;
        Ok(match asked(seen) {
            Asked::Unlikely if length > 0 => Passage::Part(length),
            Asked::More | Asked::Unlikely if side.ended => Passage::Refused,
            Asked::More | Asked::Unlikely => {
                // News comes with the next bytes.
                side.readable = false;
                Passage::Waits
            }
            Asked::For(name) if name.trim_end_matches('.') == self.expected => Passage::Free,
            Asked::Other => Passage::Free,
            Asked::For(_) | Asked::Nobody => Passage::Refused,
        })
    }

    /// Judges the end of what a side says. With it a server may do something with a line that has no end.
    fn at_the_end(&self) -> Passage {
        let whole = [&self.gone.bytes[..], b"\n\n"].concat();
        match asked(&whole) {
            _ if self.gone.bytes.is_empty() => Passage::Free,
            Asked::For(name) if name.trim_end_matches('.') == self.expected => Passage::Free,
            Asked::For(_) | Asked::Nobody => Passage::Refused,
            Asked::More | Asked::Unlikely | Asked::Other => Passage::Free,
        }
    }

    /// Hears how many of the bytes that were looked at last have gone on. Returns whether there is
    /// room to remember them.
    pub(super) fn passed(&mut self, length: usize, lodge: &Lodge) -> bool {
        let seen = lodge.seen.iter().take(self.gone.bytes.len() + length);
        self.gone = Gone::default();
        let gone = lodge.remember(remembered(seen.copied().collect()));
        let is_remembered = gone.is_some();
        self.gone = gone.unwrap_or_default();
        is_remembered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_gates_together_remember_so_much() {
        let lodge = Lodge::default();
        let most = lodge.remember(vec![0; REMEMBERED_MAX]).unwrap();
        assert!(lodge.remember(vec![0]).is_none());
        drop(most);
        assert!(lodge.remember(vec![0]).is_some());
    }
}
