use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use answerback_ledger::Id;
use postgres::types::ToSql;
use postgres::{Client, Config, NoTls, Row, Statement};

use super::uint;
use crate::engine::{EngineError, EngineFailure, EngineResult, Linked};
use crate::{Random, Settings};

/// The oldest PostgreSQL that is supported, as `server_version_num` counts.
const OLDEST: i64 = 150_000;

/// The schema of a URL that names none.
const SCHEMA: &str = "answerback";

/// How long to rest before the server is tried again.
const REST: Duration = Duration::from_millis(50);

/// A parameter of a query.
pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// How to connect.
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
        // What the driver says of a URL can hold a piece of it, and so a password.
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

    /// A connection whose tables are those of the schema. Nothing here speaks TLS, and a URL that asks for it was
    /// refused.
    pub(super) fn connect(&self) -> EngineResult<Client> {
        let mut client = self.config.connect(NoTls).map_err(|error| {
            EngineError::new(
                EngineFailure::Broken,
                format!("{}: {}", self.name, super::said(&error)),
            )
        })?;
        let lock = self.lock_timeout.as_millis().max(1);
        let idle = self.longest_idle().as_millis();
        // A replica that vanished with the lock in its hands loses it to the idle limit. And a plan that was made
        // while the log was small outlives that: every table has the index that its queries need, so none is
        // ever read as a whole. Compiling such small queries costs more than running them.
        client.batch_execute(&format!(
            "SET search_path = {}; SET lock_timeout = {lock};
             SET idle_in_transaction_session_timeout = {idle}; SET enable_seqscan = off;
             SET jit = off",
            self.schema
        ))?;
        Ok(client)
    }

    /// How long the server lets a transaction idle whose client it believes to be there.
    fn longest_idle(&self) -> Duration {
        (2 * self.lock_timeout).max(Duration::from_secs(10))
    }
}

/// Takes `schema=NAME` out of a URL; the driver does not know it.
pub(super) fn split(url: &str) -> Result<(String, String), String> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err("the store's URL begins with postgresql://".to_owned());
    }
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut schema, mut rest) = (SCHEMA, Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("schema", name)) => schema = name,
            // A URL that asks for TLS is never answered in plain.
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

/// One connection, which is made anew when it was lost.
pub(crate) struct PostgresConnection {
    pub(super) session: PostgresSession,
    pub(super) client: Client,
    statements: HashMap<String, Statement>,
    /// Whether a transaction was begun and not ended.
    pub(super) is_begun: bool,
    /// Which writer this is, and how many of its batches were sent.
    pub(super) writer: String,
    pub(super) batch: u64,
    /// What was read together with the head under the lock.
    pub(super) now: Option<i64>,
    pub(super) moved: Option<String>,
    pub(super) warnings: Vec<String>,
    pub(super) ahead: Ahead,
}

/// What was looked up for the units of a transaction before they run.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) linked: HashMap<Id, Linked>,
    pub(super) responses: HashMap<Id, Option<u64>>,
    pub(super) replies: HashMap<Id, Option<u64>>,
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

    /// What a connection that writes needs beside the tables.
    pub(super) fn prepare_to_write(&mut self) -> EngineResult<()> {
        let mut bytes = [0; 16];
        (self.session.random)(&mut bytes)
            .map_err(|error| EngineError::new(EngineFailure::Broken, error))?;
        self.writer = answerback::Hex(&bytes).to_string();
        self.make_durable()?;
        // Whoever is in doubt asks within seconds; what is a day old nobody asks for.
        self.client.batch_execute(
            "DELETE FROM writer WHERE ts < extract(epoch FROM clock_timestamp())::bigint - 86400",
        )?;
        Ok(())
    }

    /// Sees to it that a commit is on the disk when the server says so, as far as a session can.
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

    /// Makes the connection anew, for as long as others may hold the lock.
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

    /// Takes the lock on the log, in a transaction of its own.
    ///
    /// The head is read by the next statement, not by this one: what a statement sees beside the row it
    /// waited for is older than the wait.
    pub(super) fn lock(&mut self) -> EngineResult<()> {
        self.is_begun = true;
        // The row of the tables' version stands in for a head that is not there yet.
        Ok(self.client.batch_execute(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT 1 FROM head WHERE id = 0 FOR UPDATE;
             SELECT 1 FROM meta WHERE key = 'tables' AND NOT EXISTS (SELECT 1 FROM head WHERE id = 0) FOR UPDATE",
        )?)
    }

    /// The connection went while a commit was under way: finds out what became of it.
    ///
    /// The transaction held the lock on the log. Whoever gets that lock knows that it has ended, and then
    /// its writer's row says how.
    pub(super) fn resolve(&mut self, lost: EngineError) -> EngineResult<()> {
        // As long as the server may keep the lock for a transaction whose commit did not reach it.
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

/// What an operator should know.
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
                (Err(said), Err(wanted)) => assert!(said.starts_with(wanted), "{url}: {said}"),
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
    fn what_is_not_durable_is_said() {
        assert_eq!(warnings("on", "on", "on"), warnings("on", "on", "remote_apply"));
        let said = [warnings("off", "on", "on"), warnings("on", "off", "on")];
        assert!(said[0][0].starts_with("fsync is off") && said[1][0].starts_with("full_page"));
        for low in ["off", "local", "remote_write"] {
            assert_eq!(warnings("on", "on", low).len(), 1, "{low}");
        }
    }
}
