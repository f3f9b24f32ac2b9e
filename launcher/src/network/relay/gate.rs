//! Bytes that wait until they have said which server they are for.

use std::cell::Cell;
use std::rc::Rc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::flow::Side;
use crate::network::server_name::{
    ANSWER_MAX, Again, Answer, Asked, BYTES_MAX, again, answer, asked, hello_length, remembered,
};

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
    stage: Stage,
    /// What has gone on, as far as it means something for what follows.
    gone: Gone,
    /// How many bytes may still be looked at.
    looks: usize,
}

/// Which bytes come next. A server of TLS 1.3 may answer a `ClientHello` by asking for another one, and
/// believes the name in that (RFC 8446, 4.1.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first ones.
    First,
    /// So many of a `ClientHello` for the server. With none left, its answer is awaited.
    Hello(usize),
    /// So many of a record that the server passes over. With none left, another one, or the other
    /// `ClientHello`.
    Again(usize),
    /// Those that may be for anybody.
    Rest,
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
        Self { expected, stage: Stage::First, gone: Gone::default(), looks: LOOKS_MAX }
    }

    /// Whether the server's answer must be heard before either side goes on.
    pub(super) fn awaits(&self) -> bool {
        self.stage == Stage::Hello(0)
    }

    /// Hears how the server answers, if that is awaited, and takes none of it.
    pub(super) fn hear(&mut self, far: &mut Side) -> Result<(), Errno> {
        if !self.awaits() || !far.readable {
            return Ok(());
        }
        let mut bytes = [0; ANSWER_MAX];
        let Some(length) = peek(far, &mut bytes)? else { return Ok(()) };
        let may_go_on = (1..ANSWER_MAX).contains(&length) && !far.ended;
        match answer(bytes.get(..length).unwrap_or_default()) {
            Answer::Retry => self.stage = Stage::Again(0),
            Answer::More if may_go_on => far.readable = false,
            Answer::More | Answer::Other => self.stage = Stage::Rest,
        }
        Ok(())
    }

    /// Looks at what a side has said so far, and takes none of it.
    pub(super) fn look(&mut self, side: &mut Side, lodge: &mut Lodge) -> Result<Passage, Errno> {
        match self.stage {
            Stage::Rest => Ok(Passage::Free),
            _ if !side.readable => Ok(Passage::Waits),
            Stage::First | Stage::Again(0) => self.judge(side, lodge),
            Stage::Hello(left) | Stage::Again(left) => Ok(match peek(side, &mut [0])? {
                Some(0) => Passage::Free,
                Some(_) if left > 0 => Passage::Part(left),
                _ => Passage::Waits,
            }),
        }
    }

    fn judge(&mut self, side: &mut Side, lodge: &mut Lodge) -> Result<Passage, Errno> {
        let gone = self.gone.bytes.len();
        let seen = &mut lodge.seen;
        seen.clone_from(&self.gone.bytes);
        seen.resize(gone + BYTES_MAX, 0);
        let length = match peek(side, seen.get_mut(gone..).unwrap_or_default())? {
            None => return Ok(Passage::Waits),
            Some(0) => return Ok(self.at_the_end()),
            Some(length) => length,
        };
        seen.truncate(gone + length);
        let Some(looks) = self.looks.checked_sub(seen.len()) else { return Ok(Passage::Refused) };
        self.looks = looks;
        let is_first = self.stage == Stage::First;
        let passage = if is_first { self.first(seen, length) } else { self.again(seen) };
        if passage == Passage::Waits {
            if side.ended {
                return Ok(Passage::Refused);
            }
            // News comes with the next bytes.
            side.readable = false;
        }
        Ok(passage)
    }

    /// Judges the first bytes, of which so many are new.
    fn first(&mut self, seen: &[u8], new: usize) -> Passage {
        match asked(seen) {
            Asked::Unlikely => Passage::Part(new),
            Asked::More => Passage::Waits,
            Asked::Other => Passage::Free,
            Asked::For(name) if self.is_for(&name) => match hello_length(seen) {
                Some(length) => {
                    self.stage = Stage::Hello(length);
                    Passage::Part(length)
                }
                None => Passage::Free,
            },
            Asked::For(_) | Asked::Nobody => Passage::Refused,
        }
    }

    /// Judges what follows after the server has asked for another `ClientHello`.
    fn again(&mut self, seen: &[u8]) -> Passage {
        match again(seen) {
            Again::More => Passage::Waits,
            Again::Record(length) => {
                self.stage = Stage::Again(length);
                Passage::Part(length)
            }
            Again::Hello => match asked(seen) {
                Asked::More => Passage::Waits,
                Asked::For(name) if self.is_for(&name) => Passage::Free,
                _ => Passage::Refused,
            },
        }
    }

    fn is_for(&self, name: &str) -> bool {
        name.trim_end_matches('.') == self.expected
    }

    /// Judges the end of what a side says. With it a server may do something with a line that has no end.
    fn at_the_end(&self) -> Passage {
        let whole = [&self.gone.bytes[..], b"\n\n"].concat();
        match asked(&whole) {
            _ if self.gone.bytes.is_empty() => Passage::Free,
            Asked::For(name) if self.is_for(&name) => Passage::Free,
            Asked::For(_) | Asked::Nobody => Passage::Refused,
            Asked::More | Asked::Unlikely | Asked::Other => Passage::Free,
        }
    }

    /// Hears how many of the bytes that were looked at last have gone on. Returns whether there is
    /// room to remember them.
    pub(super) fn passed(&mut self, length: usize, lodge: &Lodge) -> bool {
        if let Stage::Hello(left) | Stage::Again(left) = &mut self.stage {
            *left = left.saturating_sub(length);
            return true;
        }
        let seen = lodge.seen.iter().take(self.gone.bytes.len() + length);
        self.gone = Gone::default();
        let gone = lodge.remember(remembered(seen.copied().collect()));
        let is_remembered = gone.is_some();
        self.gone = gone.unwrap_or_default();
        is_remembered
    }
}

/// Copies what a side can give, and takes none of it: how much, and `None` where nothing is there yet.
fn peek(side: &mut Side, into: &mut [u8]) -> Result<Option<usize>, Errno> {
    match recv(&side.socket, into, RecvFlags::DONTWAIT | RecvFlags::PEEK) {
        Ok((_, length)) => Ok(Some(length)),
        Err(Errno::AGAIN | Errno::INTR) => {
            side.readable = false;
            Ok(None)
        }
        Err(errno) => Err(errno),
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
