//! A witness for tests, with HTTP on loopback and its own memory. It uses the verifier's code and
//! not the store's.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use answerback::Digest;
use answerback_verify::{
    LogCheckpoint, MerkleHash, NoteVerifierKey, SignatureCheck, SignedNote, consistency_holds,
};
use data_encoding::BASE64;
use ed25519_dalek::{Signer, SigningKey};

/// The behavior of the witness.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Manner {
    /// It follows the specification.
    Honest,
    /// It accepts the request and never responds.
    Silent,
    /// It signs other content than it received.
    Forging,
    /// It signs with another key than its own.
    Stranger,
    /// It responds with this status and no signature.
    Status(u16),
}

pub(crate) struct WitnessServer {
    address: String,
    key: SigningKey,
    memory: Arc<Mutex<Memory>>,
}

struct Memory {
    /// The key of the one known log.
    log: Option<NoteVerifierKey>,
    seen: Option<LogCheckpoint>,
    manner: Manner,
    /// The old sizes of the requests so far.
    asked: Vec<u64>,
}

const NAME: &str = "witness.example/w1";

impl WitnessServer {
    /// Starts a witness that does not know a log yet.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let memory = Memory { log: None, seen: None, manner: Manner::Honest, asked: Vec::new() };
        let (key, memory) = (SigningKey::from_bytes(&[42; 32]), Arc::new(Mutex::new(memory)));
        let server = Self { address, key: key.clone(), memory: Arc::clone(&memory) };
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (key, memory) = (key.clone(), Arc::clone(&memory));
                std::thread::spawn(move || {
                    // Ignore clients that disconnect.
                    let _ = serve(stream, &key, &memory);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/w1", self.address)
    }

    /// Returns the key that verifies its cosignatures.
    pub(crate) fn key(&self) -> String {
        let bytes = public(&self.key);
        format!("{NAME}+{}+{}", &id(&bytes)[..8], BASE64.encode(&bytes))
    }

    /// Adds a known log by its key.
    pub(crate) fn know(&self, vkey: &str) {
        self.memory.lock().unwrap().log = Some(NoteVerifierKey::parse(vkey).unwrap());
    }

    pub(crate) fn behave(&self, manner: Manner) {
        self.memory.lock().unwrap().manner = manner;
    }

    /// Returns the old sizes of the requests so far, and clears them.
    pub(crate) fn asked(&self) -> Vec<u64> {
        std::mem::take(&mut self.memory.lock().unwrap().asked)
    }
}

fn public(key: &SigningKey) -> Vec<u8> {
    [&[4], key.verifying_key().as_bytes().as_slice()].concat()
}

/// Returns the hash of name and key. Its first bytes are the key's id.
fn id(public: &[u8]) -> String {
    Digest::of_bytes(&[NAME.as_bytes(), b"\n", public].concat()).to_string()
}

fn serve(stream: TcpStream, key: &SigningKey, memory: &Mutex<Memory>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let is_call = line.starts_with("POST /w1/add-checkpoint HTTP/1.1");
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.to_ascii_lowercase().trim_end().split_once(": ") {
            Some(("content-length", number)) => length = number.parse().unwrap(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let mut memory = memory.lock().unwrap();
    let (status, answer) = match memory.manner {
        Manner::Silent => {
            drop(memory);
            // This is longer than any client in these tests waits.
            std::thread::sleep(std::time::Duration::from_secs(30));
            return Ok(());
        }
        Manner::Status(status) => (status, "no\n".to_owned()),
        _ if !is_call => (404, String::new()),
        _ => match judge(std::str::from_utf8(&body).unwrap(), key, &mut memory) {
            Ok(lines) => (200, lines),
            Err(refusal) => refusal,
        },
    };
    drop(memory);
    let kind = if status == 409 { "text/x.tlog.size" } else { "text/plain" };
    let length = answer.len();
    let mut stream = reader.into_inner();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
    )
}

/// Follows the steps of the specification in order.
fn judge(body: &str, key: &SigningKey, memory: &mut Memory) -> Result<String, (u16, String)> {
    let refuse = |status| Err((status, String::new()));
    let Some((head, note_text)) = body.split_once("\n\n") else { return refuse(400) };
    let mut lines = head.lines();
    let old = lines.next().and_then(|line| line.strip_prefix("old ")?.parse::<u64>().ok());
    let proof: Option<Vec<MerkleHash>> = lines.map(MerkleHash::from_base64).collect();
    let (Some(old), Some(proof)) = (old, proof) else { return refuse(400) };
    let Ok(note) = SignedNote::parse(note_text) else { return refuse(400) };
    let Ok(checkpoint) = LogCheckpoint::of_note(&note) else { return refuse(400) };
    memory.asked.push(old);
    let Some(log) = memory.log.as_ref().filter(|log| log.name() == checkpoint.origin) else {
        return refuse(404);
    };
    if note.signed_by(log) != SignatureCheck::Yes {
        return refuse(403);
    }
    if old > checkpoint.size {
        return refuse(400);
    }
    let seen = memory.seen.as_ref().map_or(0, |seen| seen.size);
    if old != seen {
        return Err((409, format!("{seen}\n")));
    }
    let root = memory.seen.as_ref().map_or(MerkleHash::of_nothing(), |seen| seen.root);
    if old == checkpoint.size && root != checkpoint.root {
        return Err((409, format!("{seen}\n")));
    }
    if !consistency_holds(old, root, checkpoint.size, checkpoint.root, &proof) {
        return refuse(422);
    }
    memory.seen = Some(checkpoint);
    let text = match memory.manner {
        Manner::Forging => "something else\n",
        _ => note.text(),
    };
    let signer = match memory.manner {
        Manner::Stranger => &SigningKey::from_bytes(&[43; 32]),
        _ => key,
    };
    Ok(cosignature(signer, text))
}

fn cosignature(key: &SigningKey, text: &str) -> String {
    let time: u64 = 1_794_767_084;
    let message = format!("cosignature/v1\ntime {time}\n{text}");
    let id = u32::from_str_radix(&id(&public(key))[..8], 16).unwrap();
    let signature = key.sign(message.as_bytes()).to_bytes();
    let line = [&id.to_be_bytes()[..], &time.to_be_bytes(), &signature].concat();
    format!("— {NAME} {}\n", BASE64.encode(&line))
}
