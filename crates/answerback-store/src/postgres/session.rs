use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use answerback_ledger::LeafId;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, Statement};

use super::error::describe;
use super::value::uint;
use crate::engine::{EngineError, EngineFailure, EngineResult, LinkedEntries};
use crate::{Random, Settings};

/// The oldest supported PostgreSQL version, in the format of `server_version_num`.
const OLDEST: i64 = 150_000;

/// The schema for a URL that names none.
const SCHEMA: &str = "answerback";

/// The pause before the next attempt to reach the server.
const REST: Duration = Duration::from_millis(50);

/// A parameter of a query.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// The configuration of a connection to PostgreSQL.
#[derive(Clone)]
pub(crate) struct PostgresSession {
    config: Config,
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) lock_timeout: Duration,
    random: Random,
}

impl PostgresSession {
    pub(super) fn parse(url: &str, settings: &Settings) -> Result<Self, String> {
        let (url, schema) = split(url)?;
        // The driver's error may quote a part of the URL, and so a password.
        let unfit =
            |_| "the store's URL is not one of PostgreSQL: postgresql://USER@HOST:PORT/DATABASE";
        let mut config: Config = url.parse().map_err(unfit)?;
        if config.get_application_name().is_none() {
            config.application_name("answerback");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(settings.lock_timeout);
        }
        let host = match config.get_hosts().first() {
            Some(postgres::config::Host::Tcp(host)) => host.clone(),
            _ => "the local socket".to_owned(),
        };
        let database = config.get_dbname().unwrap_or("its database").to_owned();
        let name = format!("schema {schema} of {database} at {host}");
        let (lock_timeout, random) = (settings.lock_timeout, settings.random.clone());
        Ok(Self { config, schema, name, lock_timeout, random })
    }

    /// Connects and sets the schema for all queries. It does not use TLS; `split` has rejected URLs
    /// that ask for it.
    pub(super) fn connect(&self) -> EngineResult<Client> {
        let mut client = self.config.connect(NoTls).map_err(|error| {
            EngineError::new(EngineFailure::Broken, format!("{}: {}", self.name, describe(&error)))
        })?;
        let lock = self.lock_timeout.as_millis().max(1);
        let idle = self.longest_idle().as_millis();
        // The idle limit releases the lock of a replica that vanished while holding it. Sequential
        // scans are off because a query plan from when the log was small may stay cached; every
        // table has the indexes that its queries need. JIT compilation of such small queries costs
        // more than running them.
        client.batch_execute(&format!(
            "SET search_path = {}; SET lock_timeout = {lock};
             SET idle_in_transaction_session_timeout = {idle}; SET enable_seqscan = off;
             SET jit = off",
            self.schema
        ))?;
        Ok(client)
    }

    /// Returns the time after which the server ends an idle transaction of a client that still
    /// seems connected.
    fn longest_idle(&self) -> Duration {
        (2 * self.lock_timeout).max(Duration::from_secs(10))
    }
}

/// Removes `schema=NAME` from a URL, because the driver does not know it, and returns both.
pub(super) fn split(url: &str) -> Result<(String, String), String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("the store's URL begins with postgresql://".to_owned());
    }
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut schema, mut rest) = (SCHEMA, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("schema", name)) => schema = name,
            // Never use a plain connection for a URL that asks for TLS.
            Some(("sslmode", mode @ ("require" | "verify-ca" | "verify-full"))) => {
                return Err(format!(
                    "the store's URL asks for TLS (sslmode={mode}), which is not spoken here: connect through a tunnel \
                     to the server's side, and say sslmode=disable"
                ));
            }
            _ => rest.push(pair),
        }
    }
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let begins = schema.starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
    if !begins || schema.len() > 63 || !schema.bytes().all(is_name) || schema.starts_with("pg_") {
        return Err(format!("{schema:?} is not a schema's name here: a-z, 0-9 and _, at most 63"));
    }
    let question = if rest.is_empty() { "" } else { "?" };
    Ok((format!("{before}{question}{}", rest.join("&")), schema.to_owned()))
}

/// One connection, which is reopened if it is lost.
pub(crate) struct PostgresConnection {
    pub(super) session: PostgresSession,
    pub(super) client: Client,
    statements: HashMap<String, Statement>,
    /// True between the start and the end of a transaction.
    pub(super) is_begun: bool,
    /// The random id of this writer. `batch` counts the batches that it sent.
    pub(super) writer: String,
    pub(super) batch: u64,
    /// The server's clock, read together with the head under the lock. `moved` was read at the same
    /// time.
    pub(super) now: Option<i64>,
    pub(super) moved: Option<String>,
    pub(super) warnings: Vec<String>,
    pub(super) ahead: Ahead,
}

/// The results of the lookups for the units of a transaction, before the units run.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) linked: HashMap<LeafId, LinkedEntries>,
    pub(super) responses: HashMap<LeafId, Option<u64>>,
    pub(super) replies: HashMap<LeafId, Option<u64>>,
}

impl PostgresConnection {
    pub(super) fn open(session: &PostgresSession) -> EngineResult<Self> {
        Ok(Self {
            session: session.clone(),
            client: session.connect()?,
            statements: HashMap::new(),
            is_begun: false,
            writer: String::new(),
            batch: 0,
            now: None,
            moved: None,
            warnings: Vec::new(),
            ahead: Ahead::default(),
        })
    }

    /// Prepares a connection for writing: gives it a writer id, checks durability and removes old
    /// writer rows.
    pub(super) fn prepare_to_write(&mut self) -> EngineResult<()> {
        let mut bytes = [0; 16];
        (self.session.random)(&mut bytes)
            .map_err(|error| EngineError::new(EngineFailure::Broken, error))?;
        self.writer = data_encoding::HEXLOWER.encode(&bytes);
        self.make_durable()?;
        // A writer with an unknown commit checks its row within seconds, so rows older than a day
        // are not needed.
        self.client.batch_execute(
            "DELETE FROM writer WHERE ts < extract(epoch FROM clock_timestamp())::bigint - 86400",
        )?;
        Ok(())
    }

    /// Makes commits durable as far as a session can, and collects warnings about server settings.
    fn make_durable(&mut self) -> EngineResult<()> {
        let row = self.client.query_one(
            "SELECT current_setting('server_version_num')::bigint, current_setting('fsync'),
               current_setting('full_page_writes'), current_setting('synchronous_commit')",
            &[],
        )?;
        let version: i64 = row.try_get(0)?;
        if version < OLDEST {
            let error = format!("PostgreSQL 15 or newer is needed; this is {}", version / 10_000);
            return Err(EngineError::new(EngineFailure::Unfit, error));
        }
        let synchronous: &str = row.try_get(3)?;
        if !["on", "remote_apply"].contains(&synchronous) {
            self.client.batch_execute("SET synchronous_commit = on")?;
        }
        self.warnings = warnings(row.try_get(1)?, row.try_get(2)?, synchronous);
        Ok(())
    }

    /// Reopens the connection. It retries for as long as other writers may hold the lock.
    pub(super) fn reconnect(&mut self) -> EngineResult<()> {
        let until = Instant::now() + self.session.lock_timeout;
        self.is_begun = false;
        self.statements.clear();
        loop {
            let connected = self.session.connect().and_then(|client| {
                self.client = client;
                if self.writer.is_empty() { Ok(()) } else { self.make_durable() }
            });
            match connected {
                Err(_) if Instant::now() < until => thread::sleep(REST),
                done => return done,
            }
        }
    }

    fn statement(&mut self, sql: &str) -> EngineResult<Statement> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(super) fn rows(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> EngineResult<Vec<Row>> {
        let statement = self.statement(sql)?;
        Ok(self.client.query(&statement, parameters)?)
    }

    pub(super) fn row(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> EngineResult<Option<Row>> {
        let statement = self.statement(sql)?;
        Ok(self.client.query_opt(&statement, parameters)?)
    }

    pub(super) fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> EngineResult<u64> {
        let statement = self.statement(sql)?;
        Ok(self.client.execute(&statement, parameters)?)
    }

    /// Begins a transaction and takes the lock on the log.
    ///
    /// The next statement reads the head, not this one. A statement that waits for a lock sees
    /// other rows as they were before the wait.
    pub(super) fn lock(&mut self) -> EngineResult<()> {
        self.is_begun = true;
        // The row with the tables' version replaces a head that does not exist yet.
        Ok(self.client.batch_execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1 FROM head WHERE id = 0 FOR UPDATE;
             SELECT 1 FROM meta WHERE key = 'tables' AND NOT EXISTS (SELECT 1 FROM head WHERE id = 0) FOR UPDATE",
        )?)
    }

    /// Finds out whether a commit succeeded after the connection was lost.
    ///
    /// The transaction held the lock on the log. A connection that gets the lock knows that the
    /// transaction has ended. The row of the writer then says whether it was committed.
    pub(super) fn resolve(&mut self, lost: EngineError) -> EngineResult<()> {
        // The server may hold the lock this long for a transaction whose commit did not arrive.
        let until = Instant::now() + self.session.longest_idle() + self.session.lock_timeout;
        loop {
            match self.newest_batch() {
                Ok(Some(batch)) if batch == self.batch => return Ok(()),
                Ok(_) => return Err(EngineError { failure: EngineFailure::Conflict, ..lost }),
                Err(_) if Instant::now() < until => thread::sleep(REST),
                Err(_) => return Err(EngineError { failure: EngineFailure::Broken, ..lost }),
            }
        }
    }

    fn newest_batch(&mut self) -> EngineResult<Option<u64>> {
        self.reconnect()?;
        self.lock()?;
        let writer = self.writer.clone();
        let row = self.row("SELECT batch FROM writer WHERE id = $1", &[&writer])?;
        self.client.batch_execute("ROLLBACK")?;
        self.is_begun = false;
        Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(uint))
    }
}

/// Returns warnings about server settings that weaken durability.
fn warnings(fsync: &str, full_page_writes: &str, synchronous: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if fsync != "on" {
        warnings
            .push("fsync is off: a power cut can lose entries that were acknowledged".to_owned());
    }
    if full_page_writes != "on" {
        warnings.push("full_page_writes is off: a power cut can tear pages of the log".to_owned());
    }
    if !["on", "remote_apply"].contains(&synchronous) {
        warnings.push(format!(
            "synchronous_commit is {synchronous}: the store raises it to on for its own sessions"
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_schema() {
        let table = [
            ("postgresql://a@h/d", Ok(("postgresql://a@h/d", "answerback"))),
            ("postgres://h/d?schema=log_2", Ok(("postgres://h/d", "log_2"))),
            (
                "postgres://h/d?connect_timeout=3&schema=x&sslmode=disable",
                Ok(("postgres://h/d?connect_timeout=3&sslmode=disable", "x")),
            ),
            ("postgres://h/d?schema=Audit", Err("\"Audit\" is not")),
            ("postgres://h/d?schema=a;drop", Err("\"a;drop\" is not")),
            ("postgres://h/d?schema=", Err("\"\" is not")),
            ("postgres://h/d?schema=pg_x", Err("\"pg_x\" is not")),
            (
                "postgres://h/d?sslmode=require",
                Err("the store's URL asks for TLS (sslmode=require)"),
            ),
            ("postgres://h/d?schema=x&sslmode=verify-full", Err("the store's URL asks for TLS")),
            ("host=h", Err("the store's URL begins")),
        ];
        for (url, wanted) in table {
            match (split(url), wanted) {
                (Ok((rest, schema)), Ok(wanted)) => {
                    assert_eq!((rest.as_str(), schema.as_str()), wanted, "{url}");
                }
                (Err(message), Err(wanted)) => {
                    assert!(message.starts_with(wanted), "{url}: {message}");
                }
                (found, _) => panic!("{url}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_password_is_not_in_the_name_nor_in_an_error() {
        let settings = Settings::new("");
        let session = PostgresSession::parse("postgres://me:s3cret@h/d", &settings).unwrap();
        assert_eq!(session.name, "schema answerback of d at h");
        let unfit =
            PostgresSession::parse("postgres://me:s3cret@h:port/d", &settings).err().unwrap();
        assert!(!unfit.contains("s3cret"), "{unfit}");
    }

    #[test]
    fn settings_that_are_not_durable_give_warnings() {
        assert_eq!(warnings("on", "on", "on"), warnings("on", "on", "remote_apply"));
        let texts = [warnings("off", "on", "on"), warnings("on", "off", "on")];
        assert!(texts[0][0].starts_with("fsync is off") && texts[1][0].starts_with("full_page"));
        for low in ["off", "local", "remote_write"] {
            assert_eq!(warnings("on", "on", low).len(), 1, "{low}");
        }
    }
}
