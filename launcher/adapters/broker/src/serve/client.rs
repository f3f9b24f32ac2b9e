//! The client's side of a connection, which is closed with patience.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long a client may go on to send what nobody wants.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked at whether one is still there that has asked, and waits.
const PAUSE: Duration = Duration::from_millis(200);

/// A stream that HTTP uses up, while its maker keeps it.
#[derive(Clone, Debug)]
pub(super) struct Client(Arc<UnixStream>);

impl Client {
    /// Takes a stream.
    pub(super) fn new(stream: UnixStream) -> Self {
        Self(Arc::new(stream))
    }

    /// Waits until the client has closed its side. What it has said before stays to be read, and its end is no
    /// event of its own meanwhile.
    pub(super) async fn leaves(&self) {
        while self.0.ready(Interest::READABLE).await.is_ok_and(|ready| !ready.is_read_closed()) {
            sleep(PAUSE).await;
        }
    }

    /// Says that nothing more is said, and listens for a while. A socket that is closed while it
    /// has unread bytes takes back what it said last: the answer to an upload that was refused.
    pub(super) async fn part(self, mut ending: watch::Receiver<()>) {
        if shutdown(&*self.0, Shutdown::Write).is_err() {
            return;
        }
        let mut drained = pin!(timeout(PATIENCE, self.drain()));
        let mut ended = pin!(ending.changed());
        poll_fn(|cx| match ended.as_mut().poll(cx) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => drained.as_mut().poll(cx).map(drop),
        })
        .await;
    }

    async fn drain(&self) {
        let mut bytes = [0; 4096];
        while self.0.readable().await.is_ok() {
            match self.0.try_read(&mut bytes) {
                Ok(0) => return,
                Ok(_) => tokio::task::yield_now().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }
}

impl AsyncRead for Client {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(|length| buffer.advance(length))),
            }
        }
    }
}

impl AsyncWrite for Client {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(&*self.0, Shutdown::Write).map_err(io::Error::from))
    }
}
