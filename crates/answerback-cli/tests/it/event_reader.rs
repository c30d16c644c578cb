//! A client for the console's live events.

use std::io::{BufRead, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::gateway::{Gateway, PATIENCE};

/// A client for server-sent events.
pub(crate) struct Reader {
    lines: BufReader<TcpStream>,
}

/// A received event: name, id and data.
pub(crate) type Sent = (String, Option<u64>, Value);

impl Reader {
    pub(crate) fn open(gateway: &Gateway, path: &str, header: &str) -> Self {
        let mut reader = Self::ask(gateway, path, header);
        assert_eq!(reader.answer(), Some(200), "{path}");
        reader
    }

    /// Returns only the status of the response and closes the connection.
    pub(crate) fn status(gateway: &Gateway, path: &str, header: &str) -> Option<u16> {
        Self::ask(gateway, path, header).answer()
    }

    fn answer(&mut self) -> Option<u16> {
        let mut status = String::new();
        self.lines.read_line(&mut status).unwrap();
        status.split(' ').nth(1)?.parse().ok()
    }

    /// Sends the request without waiting for the response.
    pub(crate) fn ask(gateway: &Gateway, path: &str, header: &str) -> Self {
        let url = gateway.url(path);
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let token = if header.contains("Cookie") {
            String::new()
        } else {
            format!("Authorization: Bearer {}\r\n", gateway.token)
        };
        let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n{token}{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        Self { lines: BufReader::new(stream) }
    }

    /// Returns the next event, or `None` at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<Sent> {
        let (mut name, mut id, mut data) = (String::new(), None, None);
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(word) = line.strip_prefix("event: ") {
                word.clone_into(&mut name);
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().ok();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).ok();
            } else if line == "0" {
                return None;
            } else if line.is_empty()
                && let Some(data) = data.take()
            {
                return Some((name, id, data));
            }
        }
    }

    /// Returns the next event of a live stream.
    pub(crate) fn live(&mut self) -> Option<(u64, Value)> {
        loop {
            let (name, id, data) = self.next()?;
            if name == "live" {
                return Some((id.unwrap(), data));
            }
        }
    }
}
