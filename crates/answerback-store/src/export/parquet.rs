//! Writes a Parquet file with a row per entry and a column per member.

use std::io::Write;
use std::sync::Arc;

use answerback_ledger::Leaf;
use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::{Map, Value};

use super::range::ExportRange;
use super::visit::{leaves, parsed};
use super::{ExportError, ExportProgress, otel};
use crate::EntryFilter;
use crate::engine::EngineRead;

/// The number of entries in a row group, which is held in memory.
const GROUP: usize = 8192;

/// The members of a leaf that are text.
const TEXTS: [&str; 25] = [
    "status",
    "outcome",
    "contract",
    "upstream",
    "principal",
    "agent_id",
    "agent_type",
    "agent_version",
    "tool",
    "tool_sha256",
    "reply_id",
    "correlation_id",
    "request_id",
    "response_id",
    "case_id",
    "prompt_sha256",
    "manifest_sha256",
    "lock_sha256",
    "subject",
    "sha256",
    "decision",
    "digest",
    "target_part",
    "basis",
    "root",
];

/// The members of a leaf that are numbers or numbers written as decimal text.
const NUMBERS: [&str; 6] =
    ["request_index", "attempt", "max_attempts", "revision", "target_index", "below"];

/// The data of one row.
struct ParquetRow {
    index: u64,
    leaf: Leaf,
    bytes: Vec<u8>,
    attributes: Map<String, Value>,
}

/// A column with its name and the source of its values.
struct ParquetColumn {
    name: String,
    source: ColumnSource,
}

enum ColumnSource {
    Index,
    Time,
    /// The leaf's exact bytes.
    Leaf,
    Kind,
    Text(&'static str),
    Number(&'static str),
    /// The verification result of a governed response.
    Verdict,
    /// The error codes, separated by spaces.
    Codes,
    /// The total length of all parts in bytes, including erased parts.
    ContentBytes,
    Attribute(&'static str),
}

/// Returns the columns in order.
fn columns() -> Vec<ParquetColumn> {
    let column = |name: &str, source| ParquetColumn { name: name.to_owned(), source };
    let mut columns = vec![
        column("index", ColumnSource::Index),
        column("ts", ColumnSource::Time),
        column("kind", ColumnSource::Kind),
    ];
    columns.extend(TEXTS.map(|name| column(name, ColumnSource::Text(name))));
    columns.extend(NUMBERS.map(|name| column(name, ColumnSource::Number(name))));
    columns.push(column("verdict", ColumnSource::Verdict));
    columns.push(column("codes", ColumnSource::Codes));
    columns.push(column("content_bytes", ColumnSource::ContentBytes));
    columns.extend(otel::names().map(|name| column(name, ColumnSource::Attribute(name))));
    columns.push(column("leaf", ColumnSource::Leaf));
    columns
}

impl ParquetColumn {
    fn schema(&self) -> ParquetResult<Type> {
        let (physical, converted) = match self.source {
            ColumnSource::Time => (Physical::INT64, ConvertedType::TIMESTAMP_MICROS),
            ColumnSource::Index | ColumnSource::Number(_) | ColumnSource::ContentBytes => {
                (Physical::INT64, ConvertedType::NONE)
            }
            ColumnSource::Leaf => (Physical::BYTE_ARRAY, ConvertedType::NONE),
            _ => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let is_always_there = matches!(
            self.source,
            ColumnSource::Index
                | ColumnSource::Time
                | ColumnSource::Kind
                | ColumnSource::ContentBytes
                | ColumnSource::Leaf
        );
        let repetition = if is_always_there { Repetition::REQUIRED } else { Repetition::OPTIONAL };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted)
            .build()
    }

    fn write(
        &self,
        entries: &[ParquetRow],
        group: &mut SerializedRowGroupWriter<'_, &mut (dyn Write + Send)>,
    ) -> ParquetResult<()> {
        let Some(mut writer) = group.next_column()? else { return Ok(()) };
        match self.source {
            ColumnSource::Index | ColumnSource::Time | ColumnSource::ContentBytes => {
                let values: Vec<i64> =
                    entries.iter().map(|entry| self.number(entry).unwrap_or_default()).collect();
                writer.typed::<Int64Type>().write_batch(&values, None, None)?;
            }
            ColumnSource::Number(_) => {
                let (values, levels) = there(entries.iter().map(|entry| self.number(entry)));
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
            ColumnSource::Leaf | ColumnSource::Kind => {
                let values: Vec<ByteArray> =
                    entries.iter().map(|entry| self.text(entry).unwrap_or_default()).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            }
            _ => {
                let (values, levels) = there(entries.iter().map(|entry| self.text(entry)));
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()
    }

    fn number(&self, entry: &ParquetRow) -> Option<i64> {
        match self.source {
            ColumnSource::Index => i64::try_from(entry.index).ok(),
            ColumnSource::Time => Some(entry.leaf.micros()),
            ColumnSource::ContentBytes => {
                let parts = entry.leaf.member("parts").and_then(Value::as_array);
                let lengths = parts.into_iter().flatten().filter_map(|part| part["len"].as_i64());
                Some(lengths.sum())
            }
            ColumnSource::Number(name) => match entry.leaf.member(name)? {
                Value::String(decimal) => decimal.parse().ok(),
                number => number.as_i64(),
            },
            _ => None,
        }
    }

    fn text(&self, entry: &ParquetRow) -> Option<ByteArray> {
        let leaf = &entry.leaf;
        match self.source {
            ColumnSource::Leaf => Some(ByteArray::from(entry.bytes.clone())),
            ColumnSource::Kind => Some(ByteArray::from(leaf.kind().as_str())),
            ColumnSource::Text(name) => leaf.text(name).map(ByteArray::from),
            ColumnSource::Verdict => {
                leaf.member("verdict")?["result"].as_str().map(ByteArray::from)
            }
            ColumnSource::Codes => {
                let codes = leaf.member("codes").or_else(|| leaf.member("verdict")?.get("failed"));
                let codes = codes?.as_array()?.iter().filter_map(Value::as_str);
                let codes = codes.collect::<Vec<_>>().join(" ");
                (!codes.is_empty()).then(|| ByteArray::from(codes.as_str()))
            }
            ColumnSource::Attribute(name) => {
                entry.attributes.get(name)?.as_str().map(ByteArray::from)
            }
            _ => None,
        }
    }
}

/// Splits optional values into the present values and a definition level (0 or 1) per row.
fn there<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let mut levels = Vec::new();
    let values =
        values.inspect(|value| levels.push(i16::from(value.is_some()))).flatten().collect();
    (values, levels)
}

/// Writes a range of the log as a Parquet file.
pub(super) fn write(
    read: &mut dyn EngineRead,
    span: &ExportRange,
    output: &mut (dyn Write + Send),
    progress: &mut dyn FnMut(ExportProgress),
) -> Result<(), ExportError> {
    let columns = columns();
    let fields: ParquetResult<Vec<_>> =
        columns.iter().map(|column| column.schema().map(Arc::new)).collect();
    let schema = Type::group_type_builder("entry").with_fields(fields?).build()?;
    let about = [
        ("answerback.origin", &span.origin),
        ("answerback.vkey", &span.vkey),
        ("answerback.checkpoint", &span.newest),
    ];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value.clone()));
    let properties =
        WriterProperties::builder().set_key_value_metadata(Some(about.to_vec())).build();
    let mut file = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties))?;
    let total = span.size - span.from;
    let mut waiting = Vec::new();
    leaves(read, &EntryFilter::default(), span.from..span.size, &mut |index, bytes, _| {
        let leaf = parsed(index, &bytes)?;
        let attributes = otel::attributes(&leaf);
        waiting.push(ParquetRow { index, leaf, bytes, attributes });
        let done = index - span.from + 1;
        if waiting.len() == GROUP || done == total {
            let mut group = file.next_row_group()?;
            for column in &columns {
                column.write(&waiting, &mut group)?;
            }
            group.close()?;
            waiting.clear();
            progress(ExportProgress { done, total });
        }
        Ok(())
    })?;
    file.close()?;
    Ok(())
}
