use std::io::{self, Write};

use anstyle::Style;
use answerback::finding::{Rule, Severity, codes};
use anyhow::bail;
use serde_json::json;

use crate::exit::Exit;
use crate::options::Format;

/// Explain what a code means and how to mend it
///
/// Without a code, all codes are listed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback explain TOOL-008
  answerback explain val-001 --format json
  answerback explain | less")]
pub(crate) struct Arguments {
    /// The code, in any letter case
    #[arg(value_name = "CODE")]
    code: Option<String>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut out = anstream::AutoStream::auto(io::stdout().lock());
    match &arguments.code {
        Some(code) => match codes::find(code.trim()) {
            Some(rule) => explain(&mut out, rule, arguments.format)?,
            None => bail!("{}", unknown(code)),
        },
        None => {
            for rule in codes::all() {
                match arguments.format {
                    Format::Json => json_line(&mut out, rule)?,
                    Format::Text => {
                        writeln!(
                            out,
                            "{:<9} {:<8} {}",
                            rule.code,
                            rule.severity.as_str(),
                            rule.title
                        )?;
                    }
                }
            }
        }
    }
    Ok(Exit::Good)
}

fn explain(out: &mut impl Write, rule: &Rule, format: Format) -> anyhow::Result<()> {
    if format == Format::Json {
        return json_line(out, rule);
    }
    let bold = Style::new().bold();
    writeln!(out, "{bold}{}{bold:#}  {}", rule.code, rule.title)?;
    writeln!(out)?;
    writeln!(out, "Severity  {}", severity(rule))?;
    writeln!(out, "Why       {}", rule.reason)?;
    writeln!(out, "Remedy    {}", rule.remedy)?;
    Ok(())
}

fn severity(rule: &Rule) -> String {
    let strict = rule.severity.as_str();
    match rule.lenient {
        lenient if lenient == rule.severity => strict.to_owned(),
        lenient => format!("{strict} ({lenient} under the lenient profile)"),
    }
}

fn json_line(out: &mut impl Write, rule: &Rule) -> anyhow::Result<()> {
    let severity = |severity: Severity| severity.as_str();
    let line = json!({
        "code": rule.code,
        "title": rule.title,
        "severity": severity(rule.severity),
        "severity_lenient": severity(rule.lenient),
        "reason": rule.reason,
        "remedy": rule.remedy,
    });
    writeln!(out, "{line}")?;
    Ok(())
}

fn unknown(code: &str) -> String {
    let shown: String = code.chars().filter(|character| !character.is_control()).take(40).collect();
    let family = shown.split('-').next().unwrap_or_default().to_ascii_uppercase();
    let known: Vec<&str> = codes::all()
        .map(|rule| rule.code)
        .filter(|code| code.split('-').next() == Some(&family))
        .collect();
    match (known.first(), known.last()) {
        (Some(first), Some(last)) => {
            format!("there is no code {shown:?}; {family} codes go from {first} to {last}")
        }
        _ => format!("there is no code {shown:?}; 'answerback explain' lists all codes"),
    }
}
