use std::sync::Arc;

use answerback_mcp::link::{Incoming, StreamState, StreamWatcher};
use answerback_mcp::wire::Id;
use tokio::sync::mpsc;

use crate::response_streams::ResponseStreams;

/// Sends messages to a client.
#[derive(Clone, Debug)]
pub(crate) enum ClientSink {
    /// Sends all messages in order over one queue.
    Queue(mpsc::Sender<Incoming>),
    /// Sends messages in order to the component that combines several servers, for a client with its own sink.
    OneOfMany { queue: mpsc::Sender<Incoming>, client: Box<Self> },
    /// Sends each message on the response stream that it belongs to.
    Streams(Arc<ResponseStreams>),
}

impl ClientSink {
    /// Closes the response stream of a request that the client cancelled.
    pub(crate) fn close(&self, request: &Id) {
        if let Self::Streams(streams) = self {
            streams.close(request);
        }
    }

    /// Returns true if the client still waits for the response, or can resume its stream. A client on a pipe
    /// waits until it disconnects, which is reported separately.
    pub(crate) fn is_waited_for(&self, request: &Id) -> bool {
        match self {
            Self::Queue(_) => true,
            Self::OneOfMany { client, .. } => client.is_waited_for(request),
            Self::Streams(streams) => streams.is_awaited(request),
        }
    }

    /// Applies the state of the server's response stream to our own stream.
    pub(crate) fn flows(&self, request: &Id, flow: StreamState) {
        if let Self::Streams(streams) = self {
            streams.apply_flow(request, flow);
        }
    }

    /// Returns the callback for the states of the server's response stream, if our stream can be resumed.
    pub(crate) fn watch(&self, request: &Id) -> Option<StreamWatcher> {
        match self {
            Self::Streams(streams) if streams.can_resume() => {
                let (streams, request) = (Arc::clone(streams), request.clone());
                Some(Box::new(move |flow| streams.apply_flow(&request, flow)))
            }
            Self::Streams(_) | Self::Queue(_) | Self::OneOfMany { .. } => None,
        }
    }

    pub(crate) async fn send(&self, said: Incoming) {
        match self {
            // A client that is gone receives nothing.
            Self::Queue(queue) | Self::OneOfMany { queue, .. } => {
                let _ = queue.send(said).await;
            }
            Self::Streams(streams) => streams.send(said).await,
        }
    }
}
