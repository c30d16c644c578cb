//! Stores the messages for a client's open HTTP responses until they are read, and lets clients resume a stream.
//!
//! Each message goes into the stream of the request that it belongs to. A stream is read as a single message or as
//! server-sent events.

mod response_stream;
mod sse_event;
mod stream_reader;
mod stream_table;
mod stream_usage;
mod streams;
#[cfg(test)]
mod tests;

pub(crate) use response_stream::ResponseKind;
pub(crate) use sse_event::unresumable_event;
pub(crate) use stream_reader::StreamReader;
pub(crate) use streams::ResponseStreams;
