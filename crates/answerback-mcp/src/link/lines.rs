//! Reads and writes messages on a pair of streams, one per line.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::UnreadableLine;
use crate::wire::{LineReader, Message, WireLine};

/// The size of the read buffer, and of the largest batch of queued messages that is written at once.
const BUFFER_SIZE: usize = 1 << 16;

/// Writes one message per line until all senders are dropped or the stream closes.
pub async fn write_lines(
    mut queue: mpsc::Receiver<impl Into<Message>>,
    mut to: impl AsyncWrite + Unpin,
) {
    while let Some(message) = queue.recv().await {
        let mut line = on_one_line(message.into());
        line.push('\n');
        // Messages that are already queued are written together.
        while line.len() < BUFFER_SIZE
            && let Ok(next) = queue.try_recv()
        {
            line.push_str(&on_one_line(next.into()));
            line.push('\n');
        }
        if to.write_all(line.as_bytes()).await.is_err() || to.flush().await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// Returns the text of a message on one line. Valid JSON has line breaks only between tokens, so a space is
/// equivalent. An unchanged line break would split the message in two, and the second part would be unchecked.
fn on_one_line(message: Message) -> String {
    let text = message.into_text();
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return text;
    }
    text.replace(['\n', '\r'], " ")
}

/// Reads messages of at most `max_bytes` bytes until the stream ends or `take` returns false. A line that is not a
/// message is passed to `take` as an [`UnreadableLine`], because a caller may be waiting for it.
pub async fn read_lines<F>(
    from: impl AsyncRead + Unpin,
    max_bytes: usize,
    mut take: impl FnMut(Result<Message, UnreadableLine>) -> F,
) where
    F: Future<Output = bool>,
{
    let mut lines = LineReader::new(BufReader::with_capacity(BUFFER_SIZE, from), max_bytes);
    loop {
        let read = match lines.next().await {
            Ok(Some(WireLine::Text(text))) => Message::read_or_return(text)
                .map_err(|(text, error)| UnreadableLine::not_message(&text, &error)),
            Ok(Some(WireLine::NotText(text))) => Err(UnreadableLine::not_text(text)),
            Ok(Some(WireLine::TooLong { head, tail })) => {
                Err(UnreadableLine::too_long(&head, &tail, max_bytes))
            }
            Ok(None) | Err(_) => return,
        };
        if !take(read).await {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_message_is_one_line() {
        let (sender, queue) = mpsc::channel(4);
        let text =
            "{\"id\":1,\n\"method\":\"m\",\"params\":[\r\n{\"id\":2,\"method\":\"tools/call\"}\n]}";
        for _ in 0..2 {
            sender.send(Message::read(text.to_owned()).unwrap()).await.unwrap();
        }
        drop(sender);
        let mut written = Vec::new();
        write_lines(queue, &mut written).await;
        let written = String::from_utf8(written).unwrap();
        assert_eq!(written.lines().count(), 2, "{written}");
        assert!(!written.contains('\r'));
    }
}
