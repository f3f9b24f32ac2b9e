//! Puts a request to the socket of the view, and waits for the answer.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use endow_policy::BRIDGE_SOCKET;

use crate::Request;
use crate::request::{ANSWER_MAX, MESSAGE_MAX, read_answer};

/// How long an answer may take: others may be served before.
const PATIENCE: Duration = Duration::from_secs(30);

/// Asks. An error is the reason why it was not done.
pub(super) fn ask(request: &Request) -> Result<(), String> {
    let message = request.encode();
    if message.len() > MESSAGE_MAX {
        return Err(format!("more than {MESSAGE_MAX} bytes can't be handed over"));
    }
    let answer = exchange(&message);
    let answer = answer.map_err(|error| format!("can't reach endow outside: {error}"))?;
    read_answer(&answer)
}

fn exchange(message: &[u8]) -> io::Result<Vec<u8>> {
    let mut socket = UnixStream::connect(BRIDGE_SOCKET)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    socket.write_all(message)?;
    socket.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    socket.take(ANSWER_MAX as u64).read_to_end(&mut answer)?;
    Ok(answer)
}
