//! Ports of the host that lead inside for a while, so that logins can come back.

use std::os::fd::OwnedFd;
use std::time::Instant;

use endow_policy::LOGIN_LASTS;
use rustix::net::getsockname;

use super::Served;
use crate::network::slab::Key;
use crate::network::target::Target;

/// The logins that are under way.
#[derive(Debug, Default)]
pub(super) struct Logins(Vec<Login>);

#[derive(Clone, Copy, Debug)]
struct Login {
    port: u16,
    listener: Key,
    until: Instant,
}

impl Logins {
    /// Returns when the first of them is over.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|login| login.until).min()
    }
}

impl Served {
    /// Has a port of the host lead to the same port inside until a login is over. Without a socket
    /// it does already, and goes on.
    pub(crate) fn login(&mut self, port: u16, socket: Option<OwnedFd>) {
        let until = Instant::now() + LOGIN_LASTS;
        if let Some(known) = self.logins.0.iter_mut().find(|login| login.port == port) {
            known.until = until;
        }
        let Some(socket) = socket.filter(|socket| is_at(socket, port)) else { return };
        // One that can't be watched takes nobody: the browser says so.
        if let Ok(listener) = self.listeners.add(&self.poll, socket, Target::Published(port)) {
            self.logins.0.push(Login { port, listener, until });
        }
    }

    /// Closes the ports of logins that are over.
    pub(super) fn end_logins(&mut self, now: Instant) {
        for login in self.logins.0.extract_if(.., |login| login.until <= now) {
            self.listeners.remove(&self.poll, login.listener);
        }
    }
}

/// Whether a socket takes connections of this machine alone, at this port.
fn is_at(socket: &OwnedFd, port: u16) -> bool {
    let at = getsockname(socket).and_then(std::net::SocketAddr::try_from);
    at.is_ok_and(|at| at.ip().is_loopback() && at.port() == port)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use endow_policy::Network;

    use super::*;
    use crate::network::dns::upstream::{ResolverConfig, Upstream};
    use crate::network::nearby::Surroundings;

    fn served() -> Served {
        let upstream = Upstream::new(ResolverConfig::new("", "")).expect("made");
        Served::new(Network::default(), upstream, Surroundings::new().expect("read")).expect("made")
    }

    fn listening(address: &str) -> (u16, OwnedFd) {
        let socket = TcpListener::bind((address, 0)).expect("bound");
        (socket.local_addr().expect("an address").port(), socket.into())
    }

    fn is_open(port: u16) -> bool {
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    }

    #[test]
    fn port_is_closed_when_its_login_is_over() {
        let (mut served, (port, socket)) = (served(), listening("127.0.0.1"));
        assert_eq!(served.deadline(), None);
        let before = Instant::now();
        served.login(port, Some(socket));
        served.end_logins(before + LOGIN_LASTS);
        assert!(is_open(port));
        let over = served.deadline().expect("there is one");
        served.login(port, None);
        served.end_logins(over);
        assert!(is_open(port), "it began once more");
        served.end_logins(Instant::now() + LOGIN_LASTS);
        assert!(!is_open(port));
        assert_eq!(served.deadline(), None);
    }

    #[test]
    fn socket_that_others_reach_or_of_another_port_is_closed() {
        let mut served = served();
        let (open, socket) = listening("0.0.0.0");
        served.login(open, Some(socket));
        let (other, socket) = listening("127.0.0.1");
        served.login(other ^ 1, Some(socket));
        assert!(!is_open(open) && !is_open(other));
        assert_eq!(served.deadline(), None);
    }
}
