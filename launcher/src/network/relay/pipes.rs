//! Pipes through which bytes go from one socket to another without being copied.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// The most pipes of one network. A connection has one only while bytes are in it, and pages of
/// pipes are limited per user (`fs.pipe-user-pages-soft`, 16,384 by default): these take 4,096.
const PIPES_MAX: usize = 64;

/// How much a pipe holds: what one call moves at most.
pub(super) const PIPE_BYTES: usize = 256 * 1024;

/// A pipe that is empty whenever nobody has it.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) reader: OwnedFd,
    pub(super) writer: OwnedFd,
}

/// The pipes that nobody has.
#[derive(Debug, Default)]
pub(super) struct Pipes {
    idle: Vec<Pipe>,
    made: usize,
}

impl Pipes {
    /// Lends a pipe; `None` when all are in use, or no more can be made.
    pub(super) fn borrow(&mut self) -> Option<Pipe> {
        self.idle.pop().or_else(|| self.make())
    }

    fn make(&mut self) -> Option<Pipe> {
        if self.made >= PIPES_MAX {
            return None;
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // A user who has many pipes gets smaller ones.
        let _ = fcntl_setpipe_size(&writer, PIPE_BYTES);
        self.made += 1;
        Some(Pipe { reader, writer })
    }

    /// Takes an empty pipe back.
    pub(super) fn give_back(&mut self, pipe: Pipe) {
        self.idle.push(pipe);
    }

    /// Says that a pipe is gone with the bytes in it.
    pub(super) fn lost(&mut self, pipe: Pipe) {
        drop(pipe);
        self.made -= 1;
    }
}
