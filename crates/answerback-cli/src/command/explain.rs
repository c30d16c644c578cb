use std::io::{self, Write};

use anstyle::Style;
use answerback::contract::atdf::validators;
use answerback::contract::governed::RefusalReason;
use answerback::contract::tool::Catalogue;
use answerback::finding::{Rule, Severity, codes};
use answerback_record::TAKEN;
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
  answerback explain CALLS_BLOCKED
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
            None => match Word::find(code.trim()) {
                Some(word) => word.explain(&mut out, arguments.format)?,
                None => bail!("{}", unknown(code)),
            },
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
            for word in Word::all() {
                match arguments.format {
                    Format::Json => word.json_line(&mut out)?,
                    Format::Text => writeln!(out, "{:<26} {}", word.code, word.meaning)?,
                }
            }
        }
    }
    Ok(Exit::Good)
}

/// A code that is no rule: a word in an answer that says what happened.
struct Word {
    code: String,
    meaning: String,
    /// Where it stands.
    place: &'static str,
    /// What says more.
    docs: &'static str,
}

impl Word {
    fn all() -> impl Iterator<Item = Self> {
        let listed = |place, docs| {
            move |(code, meaning): (&str, &str)| Self {
                code: code.to_owned(),
                meaning: meaning.to_owned(),
                place,
                docs,
            }
        };
        let tool = listed("errors and warnings of a tool envelope", "docs/tools.md");
        let tool: Vec<Self> = Catalogue::default().iter().map(tool).collect();
        let gateway = listed("errors and warnings of the gateway's envelopes", "docs/gateway.md");
        let reasons = RefusalReason::ALL.iter().map(|reason| (reason.as_str(), reason.meaning()));
        let refusal = listed("refusal_reason of a governed response", "docs/governance.md");
        let validator = listed("answers of the ATDF validators", "docs/tools.md");
        let taken = [(TAKEN, "another reply is recorded under this response id")];
        let ledger = listed("entries of the ledger", "docs/ledger.md");
        tool.into_iter()
            .chain(answerback_gateway::codes().map(gateway))
            .chain(reasons.map(refusal))
            .chain(validators::CODES.into_iter().map(validator))
            .chain(taken.into_iter().map(ledger))
    }

    fn find(code: &str) -> Option<Self> {
        Self::all().find(|word| word.code.eq_ignore_ascii_case(code))
    }

    fn explain(&self, out: &mut impl Write, format: Format) -> anyhow::Result<()> {
        if format == Format::Json {
            return self.json_line(out);
        }
        let bold = Style::new().bold();
        writeln!(out, "{bold}{}{bold:#}  {}", self.code, self.meaning)?;
        writeln!(out)?;
        writeln!(out, "Where     {}", self.place)?;
        writeln!(out, "More      {}", self.docs)?;
        Ok(())
    }

    fn json_line(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let line = json!({"code": self.code, "title": self.meaning, "place": self.place});
        writeln!(out, "{line}")?;
        Ok(())
    }
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
