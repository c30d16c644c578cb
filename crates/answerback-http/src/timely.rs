//! A body that has to be there in time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// How long a body may take as a whole. One that trickles would hold a connection for as long as it likes.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A body that ends with an error when it takes too long.
pub(crate) struct Timely {
    body: Body,
    limit: Pin<Box<Sleep>>,
    is_late: Late,
}

/// Whether a body took too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late(Arc<AtomicBool>);

impl Late {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body was not there in time")]
struct TookTooLong;

impl Timely {
    /// The body within its time, and what says whether it kept it. One that is there already needs no watch.
    pub(crate) fn watch(body: Body) -> (Body, Late) {
        let is_late = Late::default();
        if body.is_end_stream() {
            return (body, is_late);
        }
        let timely = Self { body, limit: Box::pin(sleep(LIMIT)), is_late: is_late.clone() };
        (Body::new(timely), is_late)
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() && self.limit.as_mut().poll(context).is_ready() {
            self.is_late.0.store(true, Ordering::Release);
            return Poll::Ready(Some(Err(axum::Error::new(TookTooLong))));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
