use std::io::{self, Write};

use answerback::schema;
use anyhow::bail;

use crate::exit::Exit;
use crate::output::ClosableOutput;

/// Print a contract's JSON Schema
///
/// Without a name, the schemas are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback schema
  answerback schema tool > tool.schema.json")]
pub(crate) struct Arguments {
    /// The name of the schema
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// The format of the list; a schema is always JSON
    #[arg(long, value_enum, default_value_t = crate::options::OutputFormat::Text)]
    format: crate::options::OutputFormat,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut out = ClosableOutput::new(io::stdout().lock());
    let Some(name) = &arguments.name else {
        for schema in schema::ALL {
            match arguments.format {
                crate::options::OutputFormat::Text => {
                    writeln!(out, "{:<12} {}", schema.name, schema.title)?;
                }
                crate::options::OutputFormat::Json => {
                    writeln!(
                        out,
                        "{}",
                        serde_json::json!({"name": schema.name, "title": schema.title})
                    )?;
                }
            }
        }
        return Ok(Exit::Good);
    };
    let Some(schema) = schema::ALL.iter().find(|schema| schema.name == name) else {
        let names: Vec<&str> = schema::ALL.iter().map(|schema| schema.name).collect();
        let shown: String =
            name.chars().filter(|character| !character.is_control()).take(40).collect();
        bail!("there is no schema {shown:?}; the schemas are {}", names.join(", "));
    };
    writeln!(out, "{:#}", schema.document())?;
    Ok(Exit::Good)
}
