use std::ops::Range;

use super::schema;
use super::session::{PostgresConnection, PostgresSession};
use super::value::{int, limit, uint};
use crate::engine::{EngineError, EngineFailure, EngineResult};
use crate::engine::{IndexStep, TextIndex};

/// The maximum length of one entry's indexed text, in bytes. A `tsvector` must be smaller than one
/// megabyte.
const LONGEST: usize = 128 * 1024;

/// A word index in two tables of the same schema. It stores which words an entry contains, but not
/// the text.
struct WordIndex {
    engine: PostgresConnection,
    /// The position that the next step starts from.
    from: u64,
}

pub(super) fn open(session: &PostgresSession) -> EngineResult<Box<dyn TextIndex>> {
    let mut engine = PostgresConnection::open(session)?;
    schema::check(&mut engine.client, &session.schema)?;
    Ok(Box::new(WordIndex { engine, from: 0 }))
}

impl WordIndex {
    /// Runs a function in a transaction and returns its result after the commit.
    fn in_transaction<T>(
        &mut self,
        act: impl FnOnce(&mut PostgresConnection) -> EngineResult<T>,
    ) -> EngineResult<T> {
        self.engine.client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED")?;
        let done = act(&mut self.engine);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        self.engine.client.batch_execute(end)?;
        done
    }
}

impl TextIndex for WordIndex {
    fn position(&mut self) -> EngineResult<u64> {
        // The thread that fills the index lives as long as the store. Its connection may be lost
        // earlier.
        if self.engine.client.is_closed() {
            self.engine.reconnect()?;
        }
        let row = self.engine.row("SELECT next FROM text_position WHERE id = 0", &[])?;
        let missing =
            || EngineError::new(EngineFailure::Damaged, "the index for full text has no position");
        self.from = uint(row.ok_or_else(missing)?.try_get(0)?);
        Ok(self.from)
    }

    fn advance(&mut self, step: &IndexStep) -> EngineResult<()> {
        let from = int(self.from);
        self.in_transaction(|engine| {
            // Several processes may fill the index. Only the first one advances the position. The
            // text that another process read before may have been erased since.
            let moved = engine.execute(
                "UPDATE text_position SET next = $1 WHERE id = 0 AND next = $2",
                &[&int(step.position), &from],
            )?;
            if moved == 0 {
                return Ok(());
            }
            for (index, body) in step.add.iter().chain(&step.replace) {
                let words = body.get(..body.floor_char_boundary(LONGEST)).unwrap_or(body);
                engine.execute(
                    "INSERT INTO text_words(seq, words) VALUES ($1, to_tsvector('simple', $2))
                     ON CONFLICT (seq) DO UPDATE SET words = excluded.words",
                    &[&int(*index), &words.replace('\0', " ")],
                )?;
            }
            engine.execute("DELETE FROM text_words WHERE seq < $1", &[&int(step.below)])?;
            Ok(())
        })
    }

    fn remove(&mut self, index: u64) -> EngineResult<()> {
        self.engine.execute("DELETE FROM text_words WHERE seq = $1", &[&int(index)])?;
        Ok(())
    }

    fn find(
        &mut self,
        words: &str,
        within: Range<u64>,
        newest_first: bool,
        most: usize,
    ) -> EngineResult<Vec<u64>> {
        let order = if newest_first { "DESC" } else { "ASC" };
        // Use plain text search, because user input must not be parsed as query syntax.
        let sql = format!(
            "SELECT seq FROM text_words WHERE words @@ plainto_tsquery('simple', $1)
             AND seq >= $2 AND seq < $3 ORDER BY seq {order} LIMIT $4"
        );
        let words = words.replace('\0', " ");
        let rows = self
            .engine
            .rows(&sql, &[&words, &int(within.start), &int(within.end), &limit(most)])?;
        rows.iter().map(|row| Ok(uint(row.try_get(0)?))).collect()
    }

    fn clear(&mut self) -> EngineResult<()> {
        self.in_transaction(|engine| {
            engine.execute("UPDATE text_position SET next = 0", &[])?;
            engine.execute("DELETE FROM text_words", &[])?;
            Ok(())
        })
    }
}
