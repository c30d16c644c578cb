//! A proxy between a store and its server that cuts the connection at a commit.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The moment at which the connection is cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cut {
    /// The server never receives the commit.
    BeforeCommit,
    /// The server commits, but its response is lost.
    AfterCommit,
    /// The server never receives the commit, and all later connections are closed.
    ForGood,
}

pub(crate) struct Proxy {
    address: String,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    cut: Cut,
    armed: AtomicBool,
    closed: AtomicBool,
    cuts: AtomicU64,
}

impl Proxy {
    pub(crate) fn new(server: String, cut: Cut) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            server,
            cut,
            armed: AtomicBool::default(),
            closed: AtomicBool::default(),
            cuts: AtomicU64::default(),
        });
        let accepting = Arc::clone(&shared);
        // The thread ends with the test process.
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&accepting);
                if !shared.closed.load(Ordering::SeqCst) {
                    thread::spawn(move || shared.pass(client));
                }
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    /// Arms the proxy to cut the connection at the next commit.
    pub(crate) fn arm(&self) {
        self.shared.armed.store(true, Ordering::SeqCst);
    }

    pub(crate) fn cuts(&self) -> u64 {
        self.shared.cuts.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn pass(&self, mut client: TcpStream) {
        let Ok(mut server) = TcpStream::connect(&self.server) else { return };
        let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answering = thread::spawn(move || {
            let _ = std::io::copy(&mut answers, &mut back);
            let _ = back.shutdown(Shutdown::Both);
        });
        let mut buffer = vec![0; 1 << 16];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let sent = &buffer[..count];
            // Only the commit of a writer names the `writer` table; a reader's commit does not.
            let commits = [b"INSERT INTO writer".as_slice(), b"COMMIT"]
                .iter()
                .all(|word| sent.windows(word.len()).any(|window| window == *word));
            if commits && self.armed.swap(false, Ordering::SeqCst) {
                self.cuts.fetch_add(1, Ordering::SeqCst);
                self.closed.store(self.cut == Cut::ForGood, Ordering::SeqCst);
                let _ = client.shutdown(Shutdown::Both);
                if self.cut == Cut::AfterCommit {
                    let _ = server.write_all(sent);
                }
                break;
            }
            if server.write_all(sent).is_err() {
                break;
            }
        }
        // The server still reads the sent data before it sees the end of the connection.
        let _ = server.shutdown(Shutdown::Write);
        let _ = answering.join();
    }
}
