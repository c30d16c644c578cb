//! Connects to a server over a pair of streams.

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    Incoming, Link, ServerEnd, UnreadableLine, link_error, read_lines, trusted, write_lines,
};
use crate::wire::Messages;

/// Creates a link over a pair of streams, one message per line. The messages of a batch arrive one by one. Lines
/// that are not a message, or are longer than `max_bytes` bytes, are skipped and logged. If such a line looks like the
/// response to a request, that request is answered with [`link_error()`].
pub fn connect_streams(
    name: &str,
    max_bytes: usize,
    from: impl AsyncRead + Unpin + Send + 'static,
    to: impl AsyncWrite + Unpin + Send + 'static,
) -> Link {
    let (link, ServerEnd { from_client, to_client }) = Link::pair();
    tokio::spawn(write_lines(from_client, to));
    let name = name.to_owned();
    tokio::spawn(async move {
        let take = |read| async {
            match read {
                Ok(message) => {
                    for read in Messages::from(message) {
                        let is_open = match read {
                            Ok(message) => {
                                let message = trusted(&name, message);
                                to_client.send(Incoming::from(message)).await.is_ok()
                            }
                            Err(error) => {
                                tracing::warn!(upstream = %name, %error, "the server wrote a batch with something that is no message");
                                true
                            }
                        };
                        if !is_open {
                            return false;
                        }
                    }
                    true
                }
                Err(unreadable) => {
                    let unreadable: UnreadableLine = unreadable;
                    let fault = unreadable.error();
                    tracing::warn!(upstream = %name, fault = fault.text(), "the server wrote a line that is no message");
                    match &unreadable.id {
                        // The client waits for this response, and the server sends no other.
                        Some(id) if unreadable.is_answer => {
                            let reason = format!("its answer {}", unreadable.reason);
                            to_client.send(link_error(id, &reason, None).into()).await.is_ok()
                        }
                        _ => true,
                    }
                }
            }
        };
        read_lines(from, max_bytes, take).await;
    });
    link
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::super::{Link, link_error_reason};
    use super::*;

    /// Without this answer the client would wait until the call times out.
    #[tokio::test]
    async fn an_answer_that_cannot_be_read_is_answered_at_once() {
        let cases: [(&[u8], &str); 5] = [
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"t\":\"\xff\"}}", "its answer is not UTF-8"),
            (b"{\"result\":{\"t\":\"\xc3\x28\"},\"jsonrpc\":\"2.0\",\"id\":1}", "its answer is not UTF-8"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":NaN}}", "its answer is not JSON"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1}", "its answer is neither a request"),
            (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}", "its answer has more than"),
        ];
        for (line, expected) in cases {
            let (mut server, ours) = tokio::io::duplex(1 << 10);
            let (from, to) = tokio::io::split(ours);
            let Link { mut from, to: _to, .. } = connect_streams("s", 70, from, to);
            server.write_all(line).await.unwrap();
            server.write_all(b"\n").await.unwrap();
            let answer = from.recv().await.unwrap().message;
            let reason = link_error_reason(&answer).unwrap();
            assert!(reason.starts_with(expected), "{reason}");
            assert!(answer.text().contains("\"id\":1"), "{}", answer.text());
        }
    }

    /// The server numbers its own requests, so an id may equal one of the client's.
    #[tokio::test]
    async fn a_request_that_cannot_be_read_answers_nothing() {
        let (mut server, ours) = tokio::io::duplex(1 << 10);
        let (from, to) = tokio::io::split(ours);
        let Link { mut from, to: _to, .. } = connect_streams("s", 90, from, to);
        let long = "x".repeat(90);
        server
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"\xff\"}\n")
            .await
            .unwrap();
        server
            .write_all(
                format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"params\":\"{long}\"}}\n").as_bytes(),
            )
            .await
            .unwrap();
        server.write_all(b"{\"level\":\"info\",\"id\":1}\n").await.unwrap();
        server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":2}\n").await.unwrap();
        let answer = from.recv().await.unwrap().message;
        assert_eq!(answer.text(), r#"{"jsonrpc":"2.0","id":1,"result":2}"#);
    }
}
