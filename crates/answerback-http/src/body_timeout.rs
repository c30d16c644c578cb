//! Limits the time that a request body may take.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use http_body_util::Limited;

use crate::Alarm;
use crate::connection_timer::Deadline;

/// The longest time for a whole body. Without a limit, a slow body could hold a connection forever.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// Wraps a body and fails when the body takes too long or is too long. One type does both, because each wrapper would
/// cost one more allocation per request.
pub(crate) struct Timely {
    body: Limited<Body>,
    limit: Deadline,
    is_late: Late,
}

/// A shared flag that is set when a body took too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late(Option<Arc<AtomicBool>>);

impl Late {
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|is_late| is_late.load(Ordering::Acquire))
    }

    fn set(&self) {
        if let Some(is_late) = &self.0 {
            is_late.store(true, Ordering::Release);
        }
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body was not there in time")]
struct TookTooLong;

impl Timely {
    /// Wraps a body with the time and size limits, and returns a flag that reports a timeout. An empty body is returned
    /// as it is.
    pub(crate) fn watch(body: Body, most: usize, alarm: &Alarm) -> (Body, Late) {
        if body.is_end_stream() {
            return (body, Late::default());
        }
        let is_late = Late(Some(Arc::default()));
        let body = Limited::new(body, most);
        let timely = Self { body, limit: alarm.after(LIMIT), is_late: is_late.clone() };
        (Body::new(timely), is_late)
    }
}

impl HttpBody for Timely {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() && Pin::new(&mut self.limit).poll(context).is_ready() {
            self.is_late.set();
            return Poll::Ready(Some(Err(TookTooLong.into())));
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
