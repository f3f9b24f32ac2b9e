//! One direction of a connection.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use rustix::pipe::{SpliceFlags, splice};

use super::gate::Lodge;
use super::pipes::{PIPE_BYTES, Pipe, Pipes};

/// How often one direction is served before others have their turn.
const TURNS: usize = 16;

/// How often one that ends is served: enough for what a socket holds.
const RESCUE_TURNS: usize = 4 * TURNS;

/// How much is copied at once where there is no pipe.
const COPY_BYTES: usize = 64 * 1024;

/// What all flows share.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) pipes: Pipes,
    pub(super) lodge: Lodge,
    buffer: Vec<u8>,
}

impl Default for Tools {
    fn default() -> Self {
        let (pipes, lodge) = (Pipes::default(), Lodge::default());
        Self { pipes, lodge, buffer: vec![0; COPY_BYTES] }
    }
}

/// A socket, and what it is known to take and give without waiting.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) socket: OwnedFd,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// No more will come than what can be read now.
    pub(super) ended: bool,
}

impl Side {
    /// Nothing has been tried yet.
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, readable: true, writable: true, ended: false }
    }
}

/// What became of one direction.
#[derive(Debug, Default)]
pub(super) struct Flow {
    /// Bytes that were taken and not given yet.
    held: Option<Held>,
    /// No more will come.
    ended: bool,
    /// That was passed on.
    pub(super) closed: bool,
    /// How many bytes were given.
    pub(super) bytes: u64,
}

#[derive(Debug)]
struct Held {
    pipe: Pipe,
    length: usize,
}

impl Flow {
    /// Moves what can be moved. Returns whether there may be more without waiting.
    pub(super) fn pump(
        &mut self,
        from: &mut Side,
        to: &mut Side,
        tools: &mut Tools,
    ) -> Result<bool, Errno> {
        for _ in 0..TURNS {
            if self.closed || !to.writable {
                return Ok(false);
            }
            match &mut self.held {
                Some(_) => self.give(to, &mut tools.pipes)?,
                None if self.ended => self.close(to),
                None if !from.readable => return Ok(false),
                None => self.take(from, to, tools)?,
            }
        }
        Ok(true)
    }

    /// Moves what a side had said when it broke. Its end is none to be passed on.
    pub(super) fn rescue(&mut self, from: &mut Side, to: &mut Side, tools: &mut Tools) {
        // What came with the news of the end was not heard of yet.
        from.readable = true;
        for _ in 0..RESCUE_TURNS {
            let moved = match &mut self.held {
                Some(_) => self.give(to, &mut tools.pipes),
                None if self.ended || !from.readable => return,
                None => self.take(from, to, tools),
            };
            if moved.is_err() || !to.writable {
                return;
            }
        }
    }

    /// Moves at most so many of the first bytes. Returns how many went.
    pub(super) fn begin(
        &mut self,
        (from, to): (&mut Side, &mut Side),
        length: usize,
        tools: &mut Tools,
    ) -> Result<usize, Errno> {
        let before = self.bytes;
        let length = length.min(COPY_BYTES);
        if to.writable {
            self.copy(from, to, tools.buffer.get_mut(..length).unwrap_or_default())?;
        }
        Ok(usize::try_from(self.bytes - before).unwrap_or_default())
    }

    /// Takes bytes only when they can be given: a side that reads nothing then costs nothing.
    fn take(&mut self, from: &mut Side, to: &mut Side, tools: &mut Tools) -> Result<(), Errno> {
        let Some(pipe) = tools.pipes.borrow() else {
            return self.copy(from, to, &mut tools.buffer);
        };
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        let taken = splice(&from.socket, None, &pipe.writer, None, PIPE_BYTES, flags);
        match taken {
            Ok(length @ 1..) => self.held = Some(Held { pipe, length }),
            other => {
                tools.pipes.give_back(pipe);
                self.nothing_taken(from, other.map(drop))?;
            }
        }
        Ok(())
    }

    fn nothing_taken(&mut self, from: &mut Side, taken: Result<(), Errno>) -> Result<(), Errno> {
        match taken {
            Ok(()) => self.ended = true,
            Err(Errno::AGAIN) => from.readable = false,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(())
    }

    fn give(&mut self, to: &mut Side, pipes: &mut Pipes) -> Result<(), Errno> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let flags = SpliceFlags::NONBLOCK | SpliceFlags::MOVE;
        match splice(&held.pipe.reader, None, &to.socket, None, held.length, flags) {
            Ok(given) => {
                held.length = held.length.saturating_sub(given);
                self.bytes += given as u64;
            }
            Err(Errno::AGAIN) => to.writable = false,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        if let Some(held) = self.held.take_if(|held| held.length == 0) {
            pipes.give_back(held.pipe);
        }
        Ok(())
    }

    /// Looks at bytes, gives them, and takes as many as went: nothing is held in between.
    fn copy(&mut self, from: &mut Side, to: &mut Side, buffer: &mut [u8]) -> Result<(), Errno> {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        let seen = match recv(&from.socket, &mut *buffer, flags) {
            Ok((_, length @ 1..)) => length,
            other => return self.nothing_taken(from, other.map(drop)),
        };
        let seen = buffer.get_mut(..seen).unwrap_or_default();
        match send(&to.socket, seen, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(given) => {
                self.bytes += given as u64;
                let given = seen.get_mut(..given).unwrap_or_default();
                recv(&from.socket, given, RecvFlags::DONTWAIT | RecvFlags::TRUNC).map(drop)
            }
            Err(Errno::AGAIN) => {
                to.writable = false;
                Ok(())
            }
            Err(errno) => Err(errno),
        }
    }

    fn close(&mut self, to: &Side) {
        let _ = shutdown(&to.socket, Shutdown::Write);
        self.closed = true;
    }

    /// Gives the pipe up with what is in it.
    pub(super) fn abandon(self, pipes: &mut Pipes) {
        if let Some(held) = self.held {
            pipes.lost(held.pipe);
        }
    }
}
