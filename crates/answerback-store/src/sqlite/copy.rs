//! The store's rows as they are, for a move to another engine.

use rusqlite::types::ValueRef;

use super::Sqlite;
use crate::engine::{EngineError, Outcome};
use crate::table::{Cell, Column, Table};

impl Sqlite {
    pub(super) fn rows_of(
        &self,
        table: &Table,
        each: &mut dyn FnMut(Vec<Cell>) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut statement =
            self.connection.prepare(&format!("SELECT {} FROM {}", table.list(), table.name))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cell =
                |(at, (name, column)): (usize, &(&str, Column))| match (column, row.get_ref(at)?) {
                    (_, ValueRef::Null) => Ok(Cell::Null),
                    (Column::Int, ValueRef::Integer(number)) => Ok(Cell::Int(number)),
                    (Column::Bool, ValueRef::Integer(number)) => Ok(Cell::Bool(number != 0)),
                    (Column::Text, ValueRef::Text(text)) => {
                        let text = std::str::from_utf8(text);
                        let text = text.map_err(|error| EngineError::damaged(error.to_string()))?;
                        Ok(Cell::Text(text.to_owned()))
                    }
                    (Column::Bytes, ValueRef::Blob(bytes)) => Ok(Cell::Bytes(bytes.to_vec())),
                    (_, value) => Err(EngineError::damaged(format!(
                        "{name} of {} holds a {}",
                        table.name,
                        value.data_type()
                    ))),
                };
            each(table.columns.iter().enumerate().map(cell).collect::<Outcome<_>>()?)?;
        }
        Ok(())
    }

    pub(super) fn set_moved(&self, to: &str) -> Outcome<()> {
        let sql = "INSERT OR REPLACE INTO meta(key, value) VALUES ('moved', ?1)";
        self.connection.execute(sql, [to])?;
        Ok(())
    }
}
