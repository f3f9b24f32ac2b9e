//! A connection after HTTP: bytes both ways, those of the server searched.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::time::timeout;

use crate::redact::{IDLE, Redactor};

/// The most bytes that are read at once.
const CHUNK: usize = 16 << 10;

/// Moves bytes between a client and a server until both have said all.
pub(super) async fn join((client, server): (OnUpgrade, OnUpgrade), redactor: Redactor) {
    let (Ok(client), Ok(server)) = (client.await, server.await) else { return };
    let (from_client, to_client) = split(TokioIo::new(client));
    let (from_server, to_server) = split(TokioIo::new(server));
    let out = copy(from_client, to_server, None);
    let back = copy(from_server, to_client, Some(redactor));
    // Both ends of a broken connection are closed by its maker.
    drop(both(out, back).await);
}

async fn copy(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut redactor: Option<Redactor>,
) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK];
    loop {
        let length = if let Some(redactor) = redactor.as_mut().filter(|it| it.spare() > 0) {
            let Ok(length) = timeout(IDLE, from.read(&mut bytes)).await else {
                // Who waits for the end of a message would wait for ever.
                to.write_all(&redactor.release()).await?;
                to.flush().await?;
                continue;
            };
            length?
        } else {
            from.read(&mut bytes).await?
        };
        let chunk = &bytes[..length];
        match &mut redactor {
            None => to.write_all(chunk).await?,
            Some(redactor) if length == 0 => to.write_all(&redactor.finish()).await?,
            Some(redactor) => to.write_all(&redactor.push(chunk)).await?,
        }
        to.flush().await?;
        if length == 0 {
            return to.shutdown().await;
        }
    }
}

/// Waits for both, or for the first error.
async fn both(
    one: impl Future<Output = io::Result<()>>,
    other: impl Future<Output = io::Result<()>>,
) -> io::Result<()> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    let (mut one_over, mut other_over) = (false, false);
    poll_fn(|cx| {
        if !one_over && let Poll::Ready(ended) = one.as_mut().poll(cx) {
            ended?;
            one_over = true;
        }
        if !other_over && let Poll::Ready(ended) = other.as_mut().poll(cx) {
            ended?;
            other_over = true;
        }
        if one_over && other_over { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::redact::Needles;

    #[test]
    fn end_of_a_message_waits_for_no_other() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            let (mut server, from) = tokio::io::duplex(64);
            let (to, mut client) = tokio::io::duplex(64);
            let redactor = Redactor::new(&Rc::new(Needles::new(&["sk-0123456789"])));
            let talk = async {
                let mut message = [0; 3];
                server.write_all(b"yes").await.expect("written");
                client.read_exact(&mut message).await.expect("read");
                assert_eq!(&message, b"yes");
                drop(server);
                Ok(())
            };
            both(copy(from, to, Some(redactor)), talk).await.expect("copied");
        });
    }
}
