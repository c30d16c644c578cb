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

use crate::ConnectionTimer;
use crate::connection_timer::Deadline;

/// The longest time for a whole body. Without a limit, a slow body could hold a connection forever.
const LIMIT: Duration = Duration::from_secs(30);

/// Wraps a body and fails when the body takes too long or is too long. One type does both, because each wrapper would
/// cost one more allocation per request.
pub(crate) struct TimedBody {
    body: Limited<Body>,
    deadline: Deadline,
    timeout: BodyTimeoutFlag,
}

/// A shared flag that is set when a body took too long.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyTimeoutFlag(Option<Arc<AtomicBool>>);

impl BodyTimeoutFlag {
    pub(crate) fn is_set(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }

    fn set(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::Release);
        }
    }
}

#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the body did not arrive in time")]
struct BodyTimeoutError;

impl TimedBody {
    /// Wraps a body with the time and size limits, and returns a flag that reports a timeout. An empty body is returned
    /// as it is.
    pub(crate) fn limit(
        body: Body,
        max_bytes: usize,
        timer: &ConnectionTimer,
    ) -> (Body, BodyTimeoutFlag) {
        if body.is_end_stream() {
            return (body, BodyTimeoutFlag::default());
        }
        let timeout = BodyTimeoutFlag(Some(Arc::default()));
        let body = Limited::new(body, max_bytes);
        let wrapped = Self { body, deadline: timer.deadline_in(LIMIT), timeout: timeout.clone() };
        (Body::new(wrapped), timeout)
    }
}

impl HttpBody for TimedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_pending() && Pin::new(&mut self.deadline).poll(context).is_ready() {
            self.timeout.set();
            return Poll::Ready(Some(Err(BodyTimeoutError.into())));
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
