//! Bytes that wait until they have said which server they are for.

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

/// Stands before a server until the first bytes have said that they are for it.
#[derive(Debug)]
pub(super) struct Gate {
    expected: String,
    /// What has gone on, as far as it means something for what follows.
    gone: Vec<u8>,
    /// That, and what was looked at after it.
    seen: Vec<u8>,
}

impl Gate {
    /// One before the server of this name.
    pub(super) fn new(expected: String) -> Self {
        Self { expected, gone: Vec::new(), seen: Vec::new() }
    }

    /// Looks at what a side has said so far, and takes none of it.
    pub(super) fn look(&mut self, side: &mut Side) -> Result<Passage, Errno> {
        if !side.readable {
            return Ok(Passage::Waits);
        }
        let gone = self.gone.len();
        self.seen.clone_from(&self.gone);
        self.seen.resize(gone + BYTES_MAX, 0);
        let new = self.seen.get_mut(gone..).unwrap_or_default();
        let length = match recv(&side.socket, new, RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((_, 0)) => return Ok(self.at_the_end()),
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR) => 0,
            Err(errno) => return Err(errno),
        };
        self.seen.truncate(gone + length);
        Ok(match asked(&self.seen) {
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
        let whole = [&self.gone[..], b"\n\n"].concat();
        match asked(&whole) {
            _ if self.gone.is_empty() => Passage::Free,
            Asked::For(name) if name.trim_end_matches('.') == self.expected => Passage::Free,
            Asked::For(_) | Asked::Nobody => Passage::Refused,
            Asked::More | Asked::Unlikely | Asked::Other => Passage::Free,
        }
    }

    /// Hears how many of the bytes that were looked at have gone on.
    pub(super) fn passed(&mut self, length: usize) {
        self.seen.truncate(self.gone.len() + length);
        self.gone = remembered(std::mem::take(&mut self.seen));
    }
}
