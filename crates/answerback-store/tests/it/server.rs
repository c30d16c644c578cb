//! Connects to the PostgreSQL server that `scripts/postgres` started, and uses separate schemas in
//! it.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use answerback_store::postgres_place;
use answerback_verify::{Postgres, VerifyOptions, VerifyReport, verify};
use postgres::{Client, NoTls};

/// Holds the prefix of the test's schemas, which are dropped together with it.
pub(crate) struct Server {
    url: String,
    prefix: String,
}

impl Server {
    /// Returns `None` and prints a message if there is no server.
    #[expect(clippy::print_stdout, reason = "reports a skipped test")]
    pub(crate) fn new() -> Option<Self> {
        let Ok(url) = std::env::var("ANSWERBACK_TEST_POSTGRES") else {
            println!(
                "skipped: ANSWERBACK_TEST_POSTGRES is not set; `scripts/postgres COMMAND` sets it"
            );
            return None;
        };
        // The random prefix keeps two test processes apart.
        let number = RandomState::new().hash_one(std::process::id());
        Some(Self { url, prefix: format!("test_{number:016x}") })
    }

    pub(crate) fn schema(&self, name: &str) -> String {
        format!("{}_{name}", self.prefix)
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}?schema={}", self.url, self.schema(name))
    }

    /// Returns the host and port of the server.
    pub(crate) fn address(&self) -> String {
        let (_, rest) = self.url.split_once('@').unwrap();
        rest.split('/').next().unwrap().to_owned()
    }

    /// Connects to one of the schemas directly, without the store.
    pub(crate) fn behind(&self, name: &str) -> Client {
        let mut client = Client::connect(&self.url, NoTls).unwrap();
        client.batch_execute(&format!("SET search_path = {}", self.schema(name))).unwrap();
        client
    }

    /// Runs the verifier, which reads the tables itself, on a log.
    pub(crate) fn judged(&self, name: &str) -> VerifyReport {
        let (url, schema) = postgres_place(&self.url(name)).unwrap();
        verify(&mut Postgres::open(&url, &schema).unwrap(), &VerifyOptions::new()).unwrap()
    }

    /// Starts the program that appends entries and prints the acknowledged ones.
    pub(crate) fn appender(&self, name: &str, key: &Path, count: u64, in_flight: usize) -> Child {
        let tests = std::env::current_exe().unwrap();
        let program = tests.parent().and_then(Path::parent).unwrap().join("examples/appender");
        Command::new(program)
            .arg(self.url(name))
            .arg(key)
            .args([count.to_string(), in_flight.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Ok(mut client) = Client::connect(&self.url, NoTls) else { return };
        let sql = "SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, $1)";
        for row in client.query(sql, &[&self.prefix]).unwrap_or_default() {
            let schema: String = row.get(0);
            let _ = client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE"));
        }
    }
}
