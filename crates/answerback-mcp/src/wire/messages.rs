//! Splits a text with several messages, as one revision of the protocol allowed.

use super::{Message, MessageError, Shape, json_scanner};

/// Iterates over the messages of a text in their order: the one message, or each message of a batch.
///
/// Each message is read only when the iterator reaches it, so a batch needs no more memory than its text. An
/// element that is not a message yields an error in its place. An empty batch yields one error.
#[derive(Debug)]
pub struct Messages(BatchState);

#[derive(Debug)]
enum BatchState {
    Alone(Message),
    /// The text of a list, and the position up to which it was read.
    Batch {
        text: String,
        at: usize,
    },
    Done,
}

impl From<Message> for Messages {
    fn from(message: Message) -> Self {
        Self(match message.shape() {
            Shape::Batch => BatchState::Batch { text: message.into_text(), at: 0 },
            _ => BatchState::Alone(message),
        })
    }
}

impl Iterator for Messages {
    type Item = Result<Message, MessageError>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.0, BatchState::Done) {
            BatchState::Alone(message) => Some(Ok(message)),
            BatchState::Batch { text, at } => {
                let Some((value, next)) = json_scanner::next_element(&text, at) else {
                    return (at == 0).then_some(Err(MessageError::NotMessage));
                };
                let read = Message::read(value.to_owned());
                self.0 = BatchState::Batch { at: next, text };
                Some(match read {
                    // A batch must not contain batches.
                    Ok(message) if *message.shape() == Shape::Batch => {
                        Err(MessageError::NotMessage)
                    }
                    read => read,
                })
            }
            BatchState::Done => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(text: &str) -> Vec<String> {
        let messages = Messages::from(Message::read(text.to_owned()).unwrap());
        messages
            .map(|read| read.map_or_else(|error| error.to_string(), Message::into_text))
            .collect()
    }

    #[test]
    fn each_message_of_a_batch_is_as_it_was_written() {
        let (one, two) = (r#"{"id":1,"result":{"n":1.0}}"#, r#"{ "method":"m,[]" }"#);
        assert_eq!(apart(one), [one]);
        assert_eq!(apart(&format!("[{one}]")), [one]);
        assert_eq!(apart(&format!(" [ {one} ,\t{two}]\n")), [one, two]);
    }

    #[test]
    fn what_is_no_message_is_told_in_its_place() {
        let (one, none) =
            (r#"{"id":1,"result":1}"#, "neither a request, nor a notification, nor a response");
        assert_eq!(apart("[]"), [none]);
        assert_eq!(apart(" [ ] "), [none]);
        assert_eq!(apart(&format!("[1,{one},{{}},[{one}]]")), [none, one, none, none]);
        // A response without an id has the shape of a batch, but contains no messages.
        let unnamed = Messages::from(Message::error(None, -32600, "x", None));
        assert_eq!(unnamed.flatten().count(), 0);
    }
}
