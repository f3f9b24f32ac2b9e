//! Connections: taken from the supervisor, served side by side by one thread.

mod client;
mod connection;
mod tunnel;

use std::io;
use std::rc::Rc;
use std::time::Duration;

use endow_adapter::Control;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::control::{Arrival, Message};
use crate::order::Host;
use crate::tls::Tls;
use connection::Connection;

/// The most connections that are served at once; further ones are turned away.
const SERVED_MAX: usize = 512;

/// The most that are turned away at once; those beyond them are closed without a word.
const TURNED_AWAY_MAX: usize = 64;

/// The most in all.
pub(crate) const CONNECTIONS_MAX: usize = SERVED_MAX + TURNED_AWAY_MAX;

/// How long requests may go on when the supervisor is gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves until the supervisor closes the control socket.
pub(crate) async fn serve(control: Control, hosts: &[Rc<Host>], tls: &Tls) -> io::Result<()> {
    let control = watched(control)?;
    let (still_wanted, ending) = watch::channel(());
    let mut connections = Connections::default();
    loop {
        match next(&control).await? {
            Message::End => break,
            Message::Malformed => {}
            Message::Connection(arrival) => {
                if let Some(connection) = made(arrival, hosts, tls, &ending) {
                    connections.take(connection);
                }
            }
        }
    }
    drop(still_wanted);
    // What is not finished by then is cut off with the process.
    let _ = timeout(LAST_WORDS, connections.all_end()).await;
    Ok(())
}

/// Those that are there. One that is turned away takes no place of one that is served.
#[derive(Default)]
struct Connections {
    served: JoinSet<()>,
    turned_away: JoinSet<()>,
}

impl Connections {
    fn take(&mut self, connection: Connection) {
        while self.served.try_join_next().is_some() {}
        while self.turned_away.try_join_next().is_some() {}
        if self.served.len() < SERVED_MAX {
            self.served.spawn_local(connection.serve());
        } else if self.turned_away.len() < TURNED_AWAY_MAX {
            self.turned_away.spawn_local(connection.turn_away());
        }
    }

    async fn all_end(&mut self) {
        while self.served.join_next().await.is_some() {}
        while self.turned_away.join_next().await.is_some() {}
    }
}

#[expect(deprecated, reason = "the other one is unsafe; descriptor 0 stays what it is to the end")]
fn watched(control: Control) -> io::Result<AsyncFd<Control>> {
    AsyncFd::with_interest(control, Interest::READABLE)
}

async fn next(control: &AsyncFd<Control>) -> io::Result<Message> {
    loop {
        let mut guard = control.readable().await?;
        let received = guard.try_io(|control| Ok(Message::receive(*control.get_ref())?));
        match received {
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            // The other side went without having read what it was sent.
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Ok(received) => return received,
            Err(_would_block) => {}
        }
    }
}

/// One for a host that is not in the order is no connection.
fn made(
    arrival: Arrival,
    hosts: &[Rc<Host>],
    tls: &Tls,
    ending: &watch::Receiver<()>,
) -> Option<Connection> {
    let host = Rc::clone(hosts.get(arrival.host)?);
    Connection::new(arrival, host, tls.clone(), ending.clone()).ok()
}
