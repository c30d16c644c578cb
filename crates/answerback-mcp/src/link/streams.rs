//! A server at the other end of a pair of streams, whoever runs it.

use tokio::io::{AsyncRead, AsyncWrite};

use super::{FarEnd, Incoming, Link, broken, read_lines, write_lines};
use crate::wire::{Message, Messages, Shape};

/// A link over a pair of streams, one message a line; the messages of a batch come as if each had a line of its own. A line
/// that is no message, or has more than so many bytes, is passed over and told to whoever operates us.
pub fn over(
    name: &str,
    most: usize,
    from: impl AsyncRead + Unpin + Send + 'static,
    to: impl AsyncWrite + Unpin + Send + 'static,
) -> Link {
    let (link, FarEnd { told, say }) = Link::pair();
    tokio::spawn(write_lines(told, to));
    let name = name.to_owned();
    tokio::spawn(async move {
        let take = |read| async {
            match read {
                Ok(message) => {
                    for read in Messages::from(message) {
                        let is_heard = match read {
                            Ok(message) => say.send(Incoming::from(message)).await.is_ok(),
                            Err(error) => {
                                tracing::warn!(upstream = %name, %error, "the server wrote a batch with something that is no message");
                                true
                            }
                        };
                        if !is_heard {
                            return false;
                        }
                    }
                    true
                }
                Err(fault) => {
                    let fault: Message = fault;
                    tracing::warn!(upstream = %name, fault = fault.text(), "the server wrote a line that is no message");
                    match fault.shape() {
                        // Whoever waits for it is told, and does not wait for nothing.
                        Shape::Response { id } => {
                            let reason = format!("its answer has more than {most} bytes");
                            say.send(broken(id, &reason, None).into()).await.is_ok()
                        }
                        _ => true,
                    }
                }
            }
        };
        read_lines(from, most, take).await;
    });
    link
}
