//! Questions, answered one after the other until nobody asks any more.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use endow_adapter::Control;
use endow_policy::{RemoteAnswer, RemoteRequest};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;
use tonic::Status;

use crate::blobs::{File, Remote};
use crate::client::{is_gone, said, time_for};
use crate::control::{self, Arrival};
use crate::message::Digest;
use crate::results;

/// How long a question may take without what goes with it: five calls of a minute.
const QUESTION_PATIENCE: Duration = Duration::from_mins(5);
/// The most bytes of what a server says that are passed on.
pub(crate) const WHY_MAX: usize = 200;
/// The most bytes of one result, in which no content is.
const RESULT_MAX: u64 = 16 << 20;

/// Answers until the socket ends.
pub(crate) async fn serve(control: Control, remote: &Remote) -> io::Result<()> {
    let control = watched(control)?;
    loop {
        match next(&control).await? {
            Arrival::End => return Ok(()),
            Arrival::Malformed => {
                control::answer(*control.get_ref(), &failed("not a question", false))?;
            }
            Arrival::Question(request, file) => {
                let answered = timeout(patience(&request), answer(request, file, remote)).await;
                let late = |_| Status::deadline_exceeded("the server takes too long for all of it");
                let answer = answered.map_err(late).flatten();
                let answer =
                    answer.unwrap_or_else(|status| failed(&told(&said(&status)), is_gone(&status)));
                control::answer(*control.get_ref(), &answer)?;
            }
        }
    }
}

#[expect(deprecated, reason = "the other one is unsafe; descriptor 0 stays what it is to the end")]
fn watched(control: Control) -> io::Result<AsyncFd<Control>> {
    AsyncFd::with_interest(control, Interest::READABLE)
}

async fn next(control: &AsyncFd<Control>) -> io::Result<Arrival> {
    loop {
        let mut guard = control.readable().await?;
        let received = guard.try_io(|control| Ok(Arrival::receive(*control.get_ref())?));
        match received {
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            // The other side went without having read what it was sent.
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {}
            Ok(received) => return received,
            Err(_would_block) => {}
        }
    }
}

async fn answer(
    request: RemoteRequest,
    file: Option<OwnedFd>,
    remote: &Remote,
) -> Result<RemoteAnswer, Status> {
    let file = file.map(|file| Arc::new(File::from(file)));
    let file = file.ok_or_else(|| Status::internal("no file came with the question"));
    match request {
        RemoteRequest::Lacking(contents) => {
            remote.lacking(&contents).await.map(RemoteAnswer::Lacking)
        }
        RemoteRequest::Results(actions) => {
            results::look_up(&remote.client, &actions, &*file?).await.map(RemoteAnswer::Results)
        }
        RemoteRequest::Fetch(contents) => {
            remote.fetch(&contents, &file?).await.map(RemoteAnswer::Done)
        }
        RemoteRequest::Put(contents) => remote.put(&contents, &file?).await.map(RemoteAnswer::Done),
        RemoteRequest::PutResult(hash, size) => {
            let file = file?;
            let result = Bytes::from(file.read(0, file.length(RESULT_MAX)?)?);
            remote.client.update_action_result(Digest::new(&hash, size), result).await?;
            Ok(RemoteAnswer::Done(Vec::new()))
        }
    }
}

fn failed(why: &str, gone: bool) -> RemoteAnswer {
    RemoteAnswer::Failed { why: why.to_owned(), gone }
}

/// What a server says, short and on one line: it may be anything.
pub(crate) fn told(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let fits = |(at, c): &(usize, char)| at + c.len_utf8() <= WHY_MAX;
    text.char_indices().take_while(fits).map(|(_, c)| plain(c)).collect()
}

/// How long a question may take in all, however often parts of it are tried.
fn patience(request: &RemoteRequest) -> Duration {
    let bytes = match request {
        RemoteRequest::Fetch(contents) | RemoteRequest::Put(contents) => {
            contents.iter().fold(0, |sum: u64, it| sum.saturating_add(it.size))
        }
        _ => 0,
    };
    QUESTION_PATIENCE + time_for(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_short_and_on_one_line() {
        assert_eq!(told("a\n\u{1b}[31mb"), "a  [31mb");
        for long in ["x", "\u{e9}", "\u{4e16}", "\u{1f600}"] {
            let told = told(&long.repeat(1_000));
            assert!(told.len() <= WHY_MAX && told.len() > WHY_MAX - 4, "{long}");
        }
    }
}
