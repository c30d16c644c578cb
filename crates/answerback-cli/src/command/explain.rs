use std::io::{self, Write};

use anstyle::Style;
use answerback::contract::atdf::validators;
use answerback::contract::governed::RefusalReason;
use answerback::contract::tool::ErrorCatalog;
use answerback::finding::{Rule, Severity, codes};
use answerback_store::recording::RESPONSE_ID_TAKEN;
use anyhow::bail;
use serde_json::json;

use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::ClosableOutput;
use crate::terminal::fitted;

/// Explain a code and how to fix its cause
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

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut out = ClosableOutput::new(anstream::AutoStream::auto(io::stdout().lock()));
    match &arguments.code {
        Some(code) => match codes::find(code.trim()) {
            Some(rule) => explain(&mut out, rule, arguments.format)?,
            None => match OutcomeWord::find(code.trim()) {
                Some(word) => word.explain(&mut out, arguments.format)?,
                None => bail!("{}", unknown(code)),
            },
        },
        None => {
            for rule in codes::all() {
                match arguments.format {
                    OutputFormat::Json => json_line(&mut out, rule)?,
                    OutputFormat::Text => {
                        let (severity, title) = (rule.severity.as_str(), rule.title);
                        let line = format!("{:<9} {severity:<8} {title}", rule.code);
                        write!(out, "{}", fitted(&line, 19))?;
                    }
                }
            }
            for word in OutcomeWord::all() {
                match arguments.format {
                    OutputFormat::Json => word.json_line(&mut out)?,
                    OutputFormat::Text => {
                        let line = format!("{:<26} {}", word.code, word.meaning);
                        write!(out, "{}", fitted(&line, 27))?;
                    }
                }
            }
        }
    }
    Ok(Exit::Good)
}

/// An outcome code that is not a rule, such as a code in a tool envelope.
struct OutcomeWord {
    code: String,
    meaning: String,
    /// The place where the code occurs.
    place: &'static str,
    /// The page with more information.
    docs: &'static str,
}

impl OutcomeWord {
    fn all() -> impl Iterator<Item = Self> {
        let listed = |place, docs| {
            move |(code, meaning): (&str, &str)| Self {
                code: code.to_owned(),
                meaning: meaning.to_owned(),
                place,
                docs,
            }
        };
        let tool = listed("errors and warnings of a tool envelope", "docs/reference/tools.md");
        let tool: Vec<Self> = ErrorCatalog::default().iter().map(tool).collect();
        let gateway = listed(
            "errors and warnings of the gateway's envelopes",
            "docs/reference/gateway-codes.md",
        );
        let reasons = RefusalReason::ALL.iter().map(|reason| (reason.as_str(), reason.meaning()));
        let refusal =
            listed("refusal_reason of a governed response", "docs/reference/governance.md");
        let validator = listed("answers of the ATDF validators", "docs/reference/tools.md");
        let taken = [(RESPONSE_ID_TAKEN, "another reply is recorded under this response id")];
        let ledger = listed("entries of the ledger", "docs/reference/ledger-format.md");
        tool.into_iter()
            .chain(answerback_gateway::codes().map(gateway))
            .chain(reasons.map(refusal))
            .chain(validators::CODES.into_iter().map(validator))
            .chain(taken.into_iter().map(ledger))
    }

    fn find(code: &str) -> Option<Self> {
        Self::all().find(|word| word.code.eq_ignore_ascii_case(code))
    }

    fn explain(&self, out: &mut impl Write, format: OutputFormat) -> anyhow::Result<()> {
        if format == OutputFormat::Json {
            return self.json_line(out);
        }
        heading(out, &self.code, &self.meaning)?;
        print_field(out, "Where", self.place)?;
        print_field(out, "More", self.docs)
    }

    fn json_line(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let line = json!({"code": self.code, "title": self.meaning, "place": self.place});
        writeln!(out, "{line}")?;
        Ok(())
    }
}

fn explain(out: &mut impl Write, rule: &Rule, format: OutputFormat) -> anyhow::Result<()> {
    if format == OutputFormat::Json {
        return json_line(out, rule);
    }
    heading(out, rule.code, rule.title)?;
    print_field(out, "Severity", &severity(rule))?;
    print_field(out, "Why", rule.reason)?;
    print_field(out, "Remedy", rule.remedy)
}

fn heading(out: &mut impl Write, code: &str, title: &str) -> anyhow::Result<()> {
    let text = fitted(&format!("{code}  {title}"), 2);
    let bold = Style::new().bold();
    // No terminal is so narrow that the code itself is wrapped.
    let rest = text.strip_prefix(code).unwrap_or(&text);
    writeln!(out, "{bold}{code}{bold:#}{rest}")?;
    Ok(())
}

fn print_field(out: &mut impl Write, label: &str, text: &str) -> anyhow::Result<()> {
    write!(out, "{}", fitted(&format!("{label:<9} {text}"), 10))?;
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
