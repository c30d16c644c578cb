use std::sync::Arc;

use answerback_mcp::link::{Flow, Incoming, Watch};
use answerback_mcp::wire::Id;
use tokio::sync::mpsc;

use crate::serve::Streams;

/// Where what a client is told goes.
#[derive(Clone, Debug)]
pub(crate) enum ClientSink {
    /// One after the other.
    Queue(mpsc::Sender<Incoming>),
    /// One after the other, to what makes several servers one for a client that hears through another outlet.
    OneOfMany { queue: mpsc::Sender<Incoming>, client: Box<Self> },
    /// Each message into the answer that it belongs to.
    Streams(Arc<Streams>),
}

impl ClientSink {
    /// Ends the answer to a request that nobody waits for any more.
    pub(crate) fn close(&self, request: &Id) {
        if let Self::Streams(streams) = self {
            streams.close(request);
        }
    }

    /// Whether somebody waits for the answer to a request, or can come back for it. On a pair of streams the client is there
    /// until it leaves, which is told otherwise.
    pub(crate) fn is_waited_for(&self, request: &Id) -> bool {
        match self {
            Self::Queue(_) => true,
            Self::OneOfMany { client, .. } => client.is_waited_for(request),
            Self::Streams(streams) => streams.is_waited_for(request),
        }
    }

    /// Notes what becomes of the stream that a server answers a request with: ours is like it.
    pub(crate) fn flows(&self, request: &Id, flow: Flow) {
        if let Self::Streams(streams) = self {
            streams.flows(request, flow);
        }
    }

    /// Who wants to know what becomes of that stream, if anybody.
    pub(crate) fn watch(&self, request: &Id) -> Option<Watch> {
        match self {
            Self::Streams(streams) if streams.can_resume() => {
                let (streams, request) = (Arc::clone(streams), request.clone());
                Some(Box::new(move |flow| streams.flows(&request, flow)))
            }
            Self::Streams(_) | Self::Queue(_) | Self::OneOfMany { .. } => None,
        }
    }

    pub(crate) async fn send(&self, said: Incoming) {
        match self {
            // A client that is gone hears nothing.
            Self::Queue(queue) | Self::OneOfMany { queue, .. } => {
                let _ = queue.send(said).await;
            }
            Self::Streams(streams) => streams.send(said).await,
        }
    }
}
