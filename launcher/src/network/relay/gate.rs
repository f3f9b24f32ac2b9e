//! Bytes that wait until they have said which server they are for.

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::flow::Side;
use crate::network::server_name::{Asked, BYTES_MAX, asked};

/// What is made of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// More of them must come.
    Waits,
    /// They may go on.
    Free,
    /// They are for another server.
    Refused,
}

/// Looks at what a side has said so far, and takes none of it.
pub(super) fn look(side: &mut Side, expected: &str) -> Result<Passage, Errno> {
    if !side.readable {
        return Ok(Passage::Waits);
    }
    let mut bytes = vec![0; BYTES_MAX];
    let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
    let seen = match recv(&side.socket, &mut bytes, flags) {
        Ok((_, 0)) => return Ok(Passage::Free),
        Ok((_, length)) => bytes.get(..length).unwrap_or_default(),
        Err(Errno::AGAIN | Errno::INTR) => &[],
        Err(errno) => return Err(errno),
    };
    Ok(match asked(seen) {
        Asked::More if side.ended => Passage::Refused,
        Asked::More => {
            // News comes with the next bytes.
            side.readable = false;
            Passage::Waits
        }
        Asked::For(name) if name.trim_end_matches('.') == expected => Passage::Free,
        Asked::Other => Passage::Free,
        Asked::For(_) | Asked::Nobody => Passage::Refused,
    })
}
