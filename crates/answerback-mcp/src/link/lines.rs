//! Messages on a pair of streams, a line each.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::wire::{Line, LineReader, Message, MessageError, code};

/// What is read from a stream at once.
const READING: usize = 1 << 16;

/// Writes messages a line each until nobody sends any more, or nobody reads.
pub async fn write_lines(
    mut queue: mpsc::Receiver<impl Into<Message>>,
    mut to: impl AsyncWrite + Unpin,
) {
    while let Some(message) = queue.recv().await {
        let mut line = message.into().into_text();
        line.push('\n');
        // What waits already goes out in one piece.
        while line.len() < READING
            && let Ok(next) = queue.try_recv()
        {
            line.push_str(next.into().text());
            line.push('\n');
        }
        if to.write_all(line.as_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// Reads messages, none longer than so many bytes, until the stream ends or `take` says that it is enough. What is no
/// message goes to `take` as the answer that JSON-RPC has for it.
pub async fn read_lines<F>(
    from: impl AsyncRead + Unpin,
    most: usize,
    mut take: impl FnMut(Result<Message, Message>) -> F,
) where
    F: Future<Output = bool>,
{
    let mut lines = LineReader::new(BufReader::with_capacity(READING, from), most);
    loop {
        let read = match lines.next().await {
            Ok(Some(Line::Text(text))) => Message::read(text).map_err(|error| {
                let code = match error {
                    MessageError::NotJson(_) => code::PARSE_ERROR,
                    MessageError::NoMessage => code::INVALID_REQUEST,
                };
                Message::error(None, code, &error.to_string(), None)
            }),
            Ok(Some(Line::NotText)) => {
                Err(Message::error(None, code::PARSE_ERROR, "the message is not UTF-8", None))
            }
            Ok(Some(Line::TooLong)) => {
                let text = format!("the message has more than {most} bytes");
                Err(Message::error(None, code::INVALID_REQUEST, &text, None))
            }
            Ok(None) | Err(_) => return,
        };
        if !take(read).await {
            return;
        }
    }
}
