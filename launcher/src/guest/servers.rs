//! Connects to a host by name or address: `endow verify`.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::io::Errno;

use crate::network::resolve;

/// How long a name and each address are waited for.
const WITHIN: Duration = Duration::from_secs(5);

/// Connects to `PORT HOST`, whichever of its addresses answers first in their order.
pub(super) fn connect(question: &str) -> Result<(), Errno> {
    let (port, host) = question.split_once(' ').ok_or(Errno::INVAL)?;
    let port = port.parse().map_err(|_| Errno::INVAL)?;
    let addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => resolve::addresses(host, WITHIN)?,
    };
    let mut answer = Err(Errno::NOENT);
    for address in addresses {
        answer = connect_to(SocketAddr::new(address, port));
        if answer.is_ok() {
            break;
        }
    }
    answer
}

fn connect_to(address: SocketAddr) -> Result<(), Errno> {
    TcpStream::connect_timeout(&address, WITHIN).map(drop).map_err(|error| {
        // The standard library's own error for too long has no number.
        let late = error.kind() == io::ErrorKind::TimedOut;
        Errno::from_io_error(&error).unwrap_or(if late { Errno::TIMEDOUT } else { Errno::IO })
    })
}
