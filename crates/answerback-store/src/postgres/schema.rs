use postgres::Client;

use crate::engine::{EngineError, EngineFailure, EngineResult};

/// The version of the tables. A program does not use tables of an unknown version.
const VERSION: i64 = 4;

/// The maximum number of attempts to create the tables when other processes create them at the same
/// time.
const TRIES: usize = 8;

const TABLES: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE head(
  id BIGINT PRIMARY KEY CHECK (id = 0), size BIGINT NOT NULL, frontier BYTEA NOT NULL,
  root BYTEA NOT NULL, last_ts BIGINT NOT NULL, minimum BIGINT NOT NULL, event_seq BIGINT NOT NULL,
  note TEXT NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE entry(
  seq BIGINT PRIMARY KEY, ts BIGINT NOT NULL, kind TEXT NOT NULL, agent TEXT, tool TEXT, outcome TEXT,
  request_id BYTEA, response_id BYTEA, reply_id BYTEA, leaf_hash BYTEA NOT NULL, leaf BYTEA NOT NULL
);
CREATE INDEX entry_request ON entry(request_id) WHERE request_id IS NOT NULL;
CREATE INDEX entry_response ON entry(response_id) WHERE response_id IS NOT NULL;
CREATE INDEX entry_reply ON entry(reply_id) WHERE reply_id IS NOT NULL AND response_id IS NULL;
CREATE INDEX entry_agent ON entry(agent, seq) WHERE agent IS NOT NULL;
CREATE INDEX entry_tool ON entry(tool, seq) WHERE tool IS NOT NULL;
CREATE TABLE part(
  seq BIGINT NOT NULL, name TEXT COLLATE \"C\" NOT NULL, salt BYTEA NOT NULL, bytes BYTEA NOT NULL,
  PRIMARY KEY (seq, name)
);
CREATE TABLE tile(
  level BIGINT NOT NULL, n BIGINT NOT NULL, root BYTEA NOT NULL, data BYTEA NOT NULL,
  PRIMARY KEY (level, n)
);
ALTER TABLE tile ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE checkpoint(size BIGINT PRIMARY KEY, note TEXT NOT NULL);
CREATE TABLE cosignature(
  size BIGINT NOT NULL, signer TEXT COLLATE \"C\" NOT NULL, line TEXT NOT NULL, PRIMARY KEY (size, signer)
);
CREATE TABLE attempt(
  key TEXT PRIMARY KEY, revision BIGINT NOT NULL, expires BIGINT NOT NULL, blocked BOOLEAN NOT NULL,
  state TEXT NOT NULL
);
CREATE INDEX attempt_expires ON attempt(blocked, expires);
CREATE TABLE attempt_source(
  ref TEXT NOT NULL, key TEXT NOT NULL REFERENCES attempt(key) ON DELETE CASCADE, PRIMARY KEY (ref, key)
);
CREATE INDEX attempt_source_key ON attempt_source(key);
CREATE TABLE case_record(
  id TEXT COLLATE \"C\" PRIMARY KEY, kind TEXT NOT NULL, decided BOOLEAN NOT NULL, expires BIGINT NOT NULL,
  revision BIGINT NOT NULL, created BIGINT NOT NULL, body TEXT NOT NULL, content BYTEA NOT NULL,
  private BYTEA, ref TEXT
);
CREATE INDEX case_waiting ON case_record(decided, id);
CREATE TABLE case_source(
  ref TEXT NOT NULL, id TEXT COLLATE \"C\" NOT NULL REFERENCES case_record(id), said BOOLEAN NOT NULL,
  PRIMARY KEY (ref, id)
);
CREATE TABLE event(
  seq BIGINT PRIMARY KEY, ts BIGINT NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, ref TEXT, body BYTEA
);
CREATE INDEX event_stream ON event(stream, seq);
CREATE INDEX event_ref ON event(ref) WHERE ref IS NOT NULL;
CREATE TABLE stream(
  name TEXT PRIMARY KEY, count BIGINT NOT NULL, digest BYTEA NOT NULL, ended BOOLEAN NOT NULL
);
CREATE TABLE blob(sha256 BYTEA PRIMARY KEY, ts BIGINT NOT NULL, bytes BYTEA NOT NULL);
CREATE TABLE blob_ref(
  ref TEXT NOT NULL, sha256 BYTEA NOT NULL REFERENCES blob(sha256) ON DELETE CASCADE,
  PRIMARY KEY (ref, sha256)
);
CREATE INDEX blob_ref_sha256 ON blob_ref(sha256);
CREATE TABLE writer(id TEXT PRIMARY KEY, batch BIGINT NOT NULL, ts BIGINT NOT NULL);
CREATE TABLE text_position(id BIGINT PRIMARY KEY CHECK (id = 0), next BIGINT NOT NULL);
INSERT INTO text_position VALUES (0, 0);
CREATE TABLE text_words(seq BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
CREATE INDEX text_words_words ON text_words USING gin(words);
";

/// Triggers that protect the log against accidental changes. An attacker can drop them, but the
/// tree reveals changes. A pruning transaction sets the index below which it may delete entries.
const GUARDS: &str = "
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'rows of % are neither changed nor deleted', TG_TABLE_NAME; END $$;
CREATE FUNCTION refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.seq < coalesce(nullif(current_setting('answerback.prune_below', true), ''), '0')::bigint THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'rows of entry are deleted by pruning alone';
END $$;
CREATE TRIGGER entry_delete BEFORE DELETE ON entry FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER entry_change BEFORE UPDATE OR TRUNCATE ON entry EXECUTE FUNCTION refuse_change();
CREATE TRIGGER tile_change BEFORE UPDATE OR DELETE OR TRUNCATE ON tile EXECUTE FUNCTION refuse_change();
CREATE TRIGGER checkpoint_change BEFORE UPDATE OR DELETE OR TRUNCATE ON checkpoint
  EXECUTE FUNCTION refuse_change();
";

/// Creates the tables on first use. Several processes may try at once; one of them succeeds.
pub(super) fn prepare(client: &mut Client, schema: &str) -> EngineResult<()> {
    let mut tries = 0;
    while !is_there(client, schema)? {
        tries += 1;
        if let Err(error) = create(client, schema) {
            client.batch_execute("ROLLBACK")?;
            if tries == TRIES {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Fails if there is no store.
pub(super) fn check(client: &mut Client, schema: &str) -> EngineResult<()> {
    if is_there(client, schema)? {
        return Ok(());
    }
    let error = format!("there is no store in the schema {schema}");
    Err(EngineError::new(EngineFailure::Broken, error))
}

/// True if the schema contains our tables. It fails if the schema contains other tables or another
/// version.
fn is_there(client: &mut Client, schema: &str) -> EngineResult<bool> {
    let names = client.query(
        "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = $1",
        &[&schema],
    )?;
    let names: Vec<String> =
        names.iter().map(|row| row.try_get(0)).collect::<Result<_, postgres::Error>>()?;
    let Some(table) = names.first() else { return Ok(false) };
    if !(names.iter().any(|name| name == "meta") && names.iter().any(|name| name == "writer")) {
        let error = format!(
            "the schema {schema} is another's: it has a table {table}; name another with ?schema=NAME"
        );
        return Err(EngineError::new(EngineFailure::Unfit, error));
    }
    let row = client.query_opt("SELECT value FROM meta WHERE key = 'tables'", &[])?;
    let version: Option<String> = row.map(|row| row.try_get(0)).transpose()?;
    let version = version.unwrap_or_else(|| "none".to_owned());
    if version == VERSION.to_string() {
        return Ok(true);
    }
    Err(EngineError::of_version(&version, VERSION))
}

/// Creates everything in one transaction, so that no process sees a partial schema.
fn create(client: &mut Client, schema: &str) -> EngineResult<()> {
    client.batch_execute(&format!(
        "BEGIN; CREATE SCHEMA IF NOT EXISTS {schema}; {TABLES} {GUARDS}
         INSERT INTO meta VALUES ('tables', '{VERSION}'); COMMIT"
    ))?;
    Ok(())
}
