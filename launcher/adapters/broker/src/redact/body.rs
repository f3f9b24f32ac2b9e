//! A response's body, searched while it passes.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::IDLE;
use super::redactor::Redactor;

/// A body as long as the server's. Its trailers are left out.
pub(crate) struct RedactedBody<B = Incoming> {
    inner: B,
    redactor: Redactor,
    ended: bool,
    /// Nothing comes since a while.
    idle: Option<Pin<Box<Sleep>>>,
}

impl<B> RedactedBody<B> {
    /// Searches a body.
    pub(crate) fn new(inner: B, redactor: Redactor) -> Self {
        Self { inner, redactor, ended: false, idle: None }
    }
}

impl<B: Body<Data = Bytes> + Unpin> RedactedBody<B> {
    /// What comes of a part of the body; `None` if all of it is held back.
    fn part(&mut self, part: Option<Frame<Bytes>>) -> Option<Vec<u8>> {
        let ready = match part.map(Frame::into_data) {
            Some(Ok(data)) => self.redactor.push(&data),
            Some(Err(_trailers)) => return None,
            None => {
                self.ended = true;
                self.redactor.finish()
            }
        };
        (!ready.is_empty()).then_some(ready)
    }

    /// What can be passed on when nothing has come for a moment.
    fn pause(&mut self, cx: &mut Context<'_>) -> Poll<Vec<u8>> {
        if self.redactor.spare() == 0 {
            return Poll::Pending;
        }
        let idle = self.idle.get_or_insert_with(|| Box::pin(sleep(IDLE)));
        ready!(idle.as_mut().poll(cx));
        self.idle = None;
        Poll::Ready(self.redactor.release())
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for RedactedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        while !self.ended {
            let Poll::Ready(part) = Pin::new(&mut self.inner).poll_frame(cx) else {
                let shown = ready!(self.pause(cx));
                return Poll::Ready(Some(Ok(Frame::data(shown.into()))));
            };
            self.idle = None;
            let part = match part.transpose() {
                Ok(part) => part,
                Err(error) => {
                    self.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            };
            if let Some(ready) = self.part(part) {
                return Poll::Ready(Some(Ok(Frame::data(ready.into()))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.ended || (self.redactor.held() == 0 && self.inner.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let inner = self.inner.size_hint();
        let held = self.redactor.held() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(held));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(held));
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use http_body_util::Full;

    use super::super::Needles;
    use super::*;

    #[test]
    fn body_keeps_its_length_to_the_end() {
        let redactor = Redactor::new(&Rc::new(Needles::new(&["secret", "secret"])));
        let mut body = RedactedBody::new(Full::from("a secret, a secre"), redactor);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut said = Vec::new();
        assert_eq!(body.size_hint().exact(), Some(17));
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) {
            said.extend_from_slice(frame.data_ref().expect("data"));
            assert_eq!(body.size_hint().exact(), Some(17 - said.len() as u64));
        }
        assert_eq!(said, b"a ******, a secre");
        assert!(body.is_end_stream());
    }
}
