use std::collections::HashMap;
use std::time::Duration;

use answerback_mcp::wire::{Id, Message, Shape, meta, splice, word};
use tokio::time::Instant;

use super::response_stream::ResponseStream;
use super::stream_usage::StreamUsage;

/// The limits for the stored messages of a client: unread ones, and read ones that a resuming client may have
/// missed.
pub(super) const STORAGE_LIMIT: StreamUsage = StreamUsage { events: 256, bytes: 4 << 20 };
/// The time for which a slow reader may delay its server. Later output of the server waits as well, and may
/// include other responses.
pub(super) const SLOW_READER_GRACE: Duration = Duration::from_millis(250);
/// The number of the stream for messages that belong to no request.
pub(super) const GENERAL_STREAM: u64 = 0;

/// The open streams of a client, and the limits that they share.
#[derive(Debug, Default)]
pub(super) struct StreamTable {
    /// The streams in the order in which they were opened.
    pub(super) streams: Vec<ResponseStream>,
    /// Maps progress tokens to their requests.
    pub(super) tokens: HashMap<Id, Id>,
    /// The number of streams that were opened so far.
    pub(super) opened: u64,
    /// The number of messages so far.
    pub(super) messages: u64,
    /// The number of readers so far.
    pub(super) readers: u64,
    /// The amount of stored data in all streams.
    pub(super) usage: StreamUsage,
    /// True if several clients share the streams. Such clients cannot be told about a gap.
    pub(super) is_shared: bool,
    /// True if the session is ending, so that no stream can be resumed.
    pub(super) is_ending: bool,
}

impl StreamTable {
    pub(super) fn by_number(&mut self, number: u64) -> Option<&mut ResponseStream> {
        // The requested stream is mostly a recent one.
        self.streams.iter_mut().rev().find(|stream| stream.number == number)
    }

    /// The position of the stream of an unanswered request.
    pub(super) fn unanswered(&self, id: &Id) -> Option<usize> {
        let is_match =
            |stream: &ResponseStream| !stream.is_answered && stream.request.as_ref() == Some(id);
        self.streams.iter().position(is_match)
    }

    pub(super) fn remove_token(&mut self, id: &Id) {
        if !self.tokens.is_empty() {
            self.tokens.retain(|_, request| request != id);
        }
    }

    pub(super) fn remove(&mut self, position: usize) {
        let mut stream = self.streams.remove(position);
        self.usage -= stream.size();
        stream.remove_reader();
        if let Some(id) = stream.request.as_ref().filter(|_| !stream.is_answered) {
            self.remove_token(id);
        }
    }

    /// Removes the reader of a stream. The stream stays open if the client can resume it.
    pub(super) fn release_reader(&mut self, position: usize) {
        if self.streams[position].can_be_resumed() && !self.is_ending {
            self.streams[position].remove_reader();
        } else {
            self.remove(position);
        }
        self.enforce_limit();
    }

    /// Keeps a stream, with its events, when its reader leaves.
    pub(super) fn make_resumable(&mut self, number: u64, is_primed: bool) {
        if let Some(stream) = self.by_number(number) {
            (stream.is_resumable, stream.is_primed) = (true, is_primed);
        }
    }

    /// Runs a function on a stream and updates the total usage.
    pub(super) fn with<T>(
        &mut self,
        position: usize,
        function: impl FnOnce(&mut ResponseStream) -> T,
    ) -> T {
        let stream = &mut self.streams[position];
        self.usage -= stream.size();
        let output = function(stream);
        self.usage += stream.size();
        output
    }

    /// Removes the oldest events until the limits are met. Unread events of current readers are removed last,
    /// from the slowest reader first, and only after a grace period. The result is the end of that period if a
    /// reader still has time.
    pub(super) fn enforce_limit(&mut self) -> Option<Instant> {
        while self.usage.exceeds(STORAGE_LIMIT) {
            if let Some(position) = self.oldest() {
                self.remove_oldest(position);
                continue;
            }
            let position = self.slowest_reader()?;
            let deadline = self.streams[position].lagging_since()? + SLOW_READER_GRACE;
            if Instant::now() < deadline {
                return Some(deadline);
            }
            if self.is_shared {
                tracing::warn!("a client does not read its response, which is cut off");
                self.remove(position);
            } else {
                tracing::debug!(
                    "a client does not read its response, and misses the oldest part of it"
                );
                self.remove_oldest(position);
            }
        }
        None
    }

    /// The position of the stream with the oldest removable event.
    pub(super) fn oldest(&self) -> Option<usize> {
        let has_size = self.usage.events <= STORAGE_LIMIT.events;
        let streams = self.streams.iter().enumerate();
        let oldest = streams
            .filter_map(|(position, stream)| Some((stream.oldest_removable(has_size)?, position)));
        oldest.min().map(|(_, position)| position)
    }

    /// The position of the stream whose reader has the most unread data.
    pub(super) fn slowest_reader(&self) -> Option<usize> {
        let is_large = self.usage.bytes > STORAGE_LIMIT.bytes;
        let most = |unread: StreamUsage| if is_large { unread.bytes } else { unread.events };
        let streams = self.streams.iter().enumerate();
        let lagging =
            streams.filter_map(|(position, stream)| Some((most(stream.unread_usage()?), position)));
        lagging.max().map(|(_, position)| position)
    }

    pub(super) fn remove_oldest(&mut self, position: usize) {
        self.with(position, ResponseStream::remove_oldest);
        if self.streams[position].is_finished() {
            self.remove(position);
        }
    }

    /// Adds a message to a stream. The result is the time until which a slow reader may delay the server.
    pub(super) fn add(&mut self, number: u64, message: Message) -> Option<Instant> {
        self.messages += 1;
        let order = self.messages;
        if let Shape::Response { id } = message.shape() {
            self.remove_token(id);
        }
        let position = self.streams.iter().rposition(|stream| stream.number == number)?;
        self.with(position, |stream| stream.add(message, order));
        self.enforce_limit()
    }

    /// The number of the stream that a message belongs to. It is `None` if the message answers no open request.
    pub(super) fn stream_for(&self, message: &Message, about: Option<&Id>) -> Option<u64> {
        let at = |position: usize| self.streams[position].number;
        if let Shape::Response { id } = message.shape() {
            return self.unanswered(id).map(at);
        }
        let request = about.cloned().or_else(|| match message.shape() {
            Shape::Notification { .. } if is_progress(message) => {
                self.tokens.get(&notification_token(message)?).cloned()
            }
            Shape::Notification { .. } => subscription_id(message),
            _ => None,
        });
        if let Some(position) = request.as_ref().and_then(|id| self.unanswered(id)) {
            return Some(at(position));
        }
        // A message about one client's request must not reach another client.
        if self.is_shared && (request.is_some() || is_progress(message)) {
            return None;
        }
        let is_read = |stream: &&ResponseStream| !stream.is_answered && stream.has_reader();
        let read = || self.streams.iter().rev().filter(is_read).map(|stream| stream.number);
        let general = || read().find(|number| *number == GENERAL_STREAM);
        let newest = || read().find(|number| *number != GENERAL_STREAM);
        let number = match message.shape() {
            // A server mostly asks while it processes a call, and the newest call is the most likely one. All
            // calls have the same user.
            Shape::Request { .. } => newest().or_else(general),
            _ => general().or_else(newest),
        };
        // Without a reader, the message is stored for a later one.
        number.or(Some(GENERAL_STREAM))
    }
}

/// Reads the id of the subscription that a notification belongs to.
fn subscription_id(notification: &Message) -> Option<Id> {
    if !word::SUBSCRIPTION.is_in(notification) {
        return None;
    }
    splice::id_at(notification.text(), &["params", "_meta", meta::SUBSCRIPTION])
}

fn is_progress(message: &Message) -> bool {
    matches!(message.shape(), Shape::Notification { method } if method == "notifications/progress")
}

/// Reads the progress token of a notification.
fn notification_token(notification: &Message) -> Option<Id> {
    splice::id_at(notification.text(), &["params", "progressToken"])
}
