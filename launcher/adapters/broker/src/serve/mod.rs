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

/// The most in all: those beyond them are closed without a word.
pub(crate) const CONNECTIONS_MAX: usize = SERVED_MAX + 64;

/// How long requests may go on when the supervisor is gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves until the supervisor closes the control socket.
pub(crate) async fn serve(control: Control, hosts: &[Rc<Host>], tls: &Tls) -> io::Result<()> {
    let control = watched(control)?;
    let (still_wanted, ending) = watch::channel(());
    let mut connections = JoinSet::new();
    loop {
        match next(&control).await? {
            Message::End => break,
            Message::Malformed => {}
            Message::Connection(arrival) => {
                while connections.try_join_next().is_some() {}
                let connection = made(arrival, hosts, tls, &ending);
                match (connection, connections.len()) {
                    (Some(it), ..SERVED_MAX) => drop(connections.spawn_local(it.serve())),
                    (Some(it), ..CONNECTIONS_MAX) => drop(connections.spawn_local(it.turn_away())),
                    _ => {}
                }
            }
        }
    }
    drop(still_wanted);
    let all_end = async { while connections.join_next().await.is_some() {} };
    // What is not finished by then is cut off with the process.
    let _ = timeout(LAST_WORDS, all_end).await;
    Ok(())
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
