use std::sync::Arc;

use answerback_mcp::link::Incoming;
use answerback_mcp::wire::Id;
use tokio::sync::mpsc;

use crate::serve::Streams;

/// Where what a client is told goes.
#[derive(Clone, Debug)]
pub(crate) enum Outlet {
    /// One after the other.
    Queue(mpsc::Sender<Incoming>),
    /// Each message into the answer that it belongs to.
    Streams(Arc<Streams>),
}

impl Outlet {
    /// Ends the answer to a request that nobody waits for any more.
    pub(crate) fn close(&self, request: &Id) {
        if let Self::Streams(streams) = self {
            streams.close(request);
        }
    }

    pub(crate) async fn send(&self, said: Incoming) {
        match self {
            // A client that is gone hears nothing.
            Self::Queue(queue) => {
                let _ = queue.send(said).await;
            }
            Self::Streams(streams) => streams.send(said).await,
        }
    }
}
