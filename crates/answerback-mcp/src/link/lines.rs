//! Messages on a pair of streams, a line each.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use crate::wire::{Id, Line, LineReader, Message, MessageError, code};

/// What is read from a stream at once.
const READING: usize = 1 << 16;

/// Writes messages a line each until nobody sends any more, or nobody reads.
pub async fn write_lines(
    mut queue: mpsc::Receiver<impl Into<Message>>,
    mut to: impl AsyncWrite + Unpin,
) {
    while let Some(message) = queue.recv().await {
        let mut line = on_one_line(message.into());
        line.push('\n');
        // What waits already goes out in one piece.
        while line.len() < READING
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

/// The text of a message on one line. In JSON a line's end stands between two tokens or not at all, so a space does as
/// well; left as it is, it would make two messages of one, and the second one nobody looked at.
fn on_one_line(message: Message) -> String {
    let text = message.into_text();
    if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
        return text;
    }
    text.replace(['\n', '\r'], " ")
}

/// Reads messages, none longer than so many bytes, until the stream ends or `take` says that it is enough. What is no
/// message goes to `take` as the answer that JSON-RPC has for it; of one that is too long the id is told where it can be
/// seen.
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
            Ok(Some(Line::TooLong { head, tail })) => {
                let text = format!("the message has more than {most} bytes");
                let id = id_at_edge(&head, &tail);
                Err(Message::error(id.as_ref(), code::INVALID_REQUEST, &text, None))
            }
            Ok(None) | Err(_) => return,
        };
        if !take(read).await {
            return;
        }
    }
}

/// The id of a message of which only the edges are known: written before its long member, or after it.
fn id_at_edge(head: &str, tail: &str) -> Option<Id> {
    let long = ["\"result\"", "\"error\"", "\"params\""];
    let before = long.iter().filter_map(|name| head.find(name)).min().unwrap_or(head.len());
    let first = head[..before].split_once("\"id\"").map(|(_, rest)| rest);
    let last = tail.rsplit_once("\"id\"").map(|(_, rest)| rest);
    let value = |rest: &str| {
        let rest = rest.trim_start().strip_prefix(':')?;
        let end = rest.find([',', '}'])?;
        // At the end there is nothing behind it but the end.
        Some((Id::read(rest[..end].trim())?, rest[end..].trim() == "}"))
    };
    first
        .and_then(value)
        .map(|(id, _)| id)
        .or_else(|| last.and_then(value).filter(|(_, is_last)| *is_last).map(|(id, _)| id))
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

    #[test]
    fn the_id_is_seen_at_either_edge() {
        let seven = || Some("7".to_owned());
        for (head, tail, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"x"#, "xx", seven()),
            (r#"{"id" : 7 , "result""#, "", seven()),
            (r#"{"result":{"id":9,"x"#, r#"xx"},"id":7}"#, seven()),
            (r#"{"result":{"id":9,"x"#, r#""id":8},"more":1}"#, None),
            (r#"{"result":{"id":9,"x"#, "xx", None),
        ] {
            let id = id_at_edge(head, tail).map(|id| id.as_json().to_owned());
            assert_eq!(id, expected, "{head} … {tail}");
        }
    }
}
