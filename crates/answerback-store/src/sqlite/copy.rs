//! Reads the store's rows without conversion, for a move to another engine.

use rusqlite::types::ValueRef;

use super::SqliteConnection;
use crate::engine::{EngineError, EngineResult};
use crate::tables::{SqlCell, SqlColumn, SqlTable};

impl SqliteConnection {
    pub(super) fn rows_of(
        &self,
        table: &SqlTable,
        each: &mut dyn FnMut(Vec<SqlCell>) -> EngineResult<()>,
    ) -> EngineResult<()> {
        let mut statement =
            self.connection.prepare(&format!("SELECT {} FROM {}", table.list(), table.name))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cell = |(at, (name, column)): (usize, &(&str, SqlColumn))| match (
                column,
                row.get_ref(at)?,
            ) {
                (_, ValueRef::Null) => Ok(SqlCell::Null),
                (SqlColumn::Int, ValueRef::Integer(number)) => Ok(SqlCell::Int(number)),
                (SqlColumn::Bool, ValueRef::Integer(number)) => Ok(SqlCell::Bool(number != 0)),
                (SqlColumn::Text, ValueRef::Text(text)) => {
                    let text = std::str::from_utf8(text);
                    let text = text.map_err(|error| EngineError::damaged(error.to_string()))?;
                    Ok(SqlCell::Text(text.to_owned()))
                }
                (SqlColumn::Bytes, ValueRef::Blob(bytes)) => Ok(SqlCell::Bytes(bytes.to_vec())),
                (_, value) => Err(EngineError::damaged(format!(
                    "{name} of {} holds a {}",
                    table.name,
                    value.data_type()
                ))),
            };
            each(table.columns.iter().enumerate().map(cell).collect::<EngineResult<_>>()?)?;
        }
        Ok(())
    }

    pub(super) fn set_moved(&self, to: &str) -> EngineResult<()> {
        let sql = "INSERT OR REPLACE INTO meta(key, value) VALUES ('moved', ?1)";
        self.connection.execute(sql, [to])?;
        Ok(())
    }
}
