use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use answerback::contract::atdf::descriptor::mcp_to_descriptor;
use answerback::contract::{Contract, Profile, recognise};
use answerback::finding::secrets::redact_pointer;
use answerback::finding::{Severity, ValidationError, display_name};
use answerback::json::{Limits, Pointer, TextPosition, locate, read};
use answerback_store::system::now;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Exit;
use crate::governance_inputs::DocumentVerdict as Outcome;
use crate::governance_inputs::{
    GovernanceInputs, GovernanceOptions, verification_json, verification_lines,
};
use crate::input::InputSource;
use crate::options::{LimitOptions, OutputFormat, ProfileName};
use crate::output::{ClosableOutput, OUTPUT_CLOSED, quiet_json, sanitise, say};
use crate::plural::count_noun;
use crate::progress::ProgressLine;

/// Check documents against their contract
///
/// The contract is recognized by the document's shape, and the output says how; --as sets it instead.
/// Every finding has a code that `answerback explain` explains.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback check reply.json
  answerback check --profile lenient --format json replies/*.json
  my-tool | answerback check --as tool -
  answerback check --ndjson log.ndjson
  answerback check --manifest prompt-manifest.json --lock prompt-lock.json --handoff handoff.json response.json
  answerback check --lock prompt-lock.json prompt-manifest.json
  answerback check tools.json

Each tool of a tools/list of the Model Context Protocol is converted to a descriptor, which is checked.
With --manifest and --lock a governed response is verified: identity, version and prompt hash must match the lock,
every agent in it must exist, and with --handoff it must answer that handoff. A claim that cannot be computed is not
accepted. Handoffs are checked against both, a manifest against its lock and a lock against its manifest.

JSON output has one line per document:
  {\"file\", \"line\"?, \"tool\"?, \"contract\", \"recognised_by\"?, \"valid\", \"findings\": [{\"error_code\", \"field_path\",
   \"message\", \"severity\", \"expected_value\"?, \"actual_value\"?}], \"verification\"?, \"error\"?}
'line' is present with --ndjson. 'error' is the reason why a document could not be checked. 'verification' is present
for a verified response: {\"accepted\", \"halt\", \"agent\", \"scope\", \"claims\": [{\"flag\", \"claimed\", \"observed\"}]}, or
{\"accepted\", \"halt\", \"severity\", \"refusal\"}; 'observed' is null where a claim cannot be computed.")]
pub(crate) struct Arguments {
    /// The documents; '-' is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// The contract to check against, instead of recognizing it
    #[arg(long = "as", value_name = "CONTRACT", value_parser = crate::options::contract())]
    contract: Option<Contract>,

    /// The strictness of the check
    #[arg(long, value_enum, default_value_t = ProfileName::Strict)]
    profile: ProfileName,

    /// Treat each line of a file as a document
    #[arg(long)]
    ndjson: bool,

    /// Print every finding of a document, not only the first 50
    #[arg(long)]
    all: bool,

    /// The output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    format: OutputFormat,

    #[command(flatten)]
    governance: GovernanceOptions,

    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let stdout = anstream::AutoStream::auto(io::stdout());
    let mut checker = DocumentChecker {
        contract: arguments.contract,
        profile: arguments.profile.into(),
        format: arguments.format,
        most: if arguments.all { usize::MAX } else { 50 },
        limits: arguments.limits.limits(),
        governance: GovernanceInputs::read(&arguments.governance, arguments.limits.limits())?,
        out: BufWriter::with_capacity(1 << 16, ClosableOutput::new(stdout)),
        exit: Exit::Good,
    };
    for file in &arguments.files {
        let input = InputSource::new(file);
        let result = if arguments.ndjson { checker.lines(&input) } else { checker.file(&input) };
        if let Err(error) = result {
            // The error already names the input.
            let error = format!("{error:#}");
            checker.report_unchecked(&input.name(), None, &error, &error)?;
        }
    }
    checker.out.flush()?;
    Ok(checker.exit)
}

/// One line of JSON output: the result for one document.
#[derive(Serialize)]
struct DocumentLine<'a> {
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    /// The tool of a list that was checked as a descriptor.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    contract: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recognised_by: Option<&'a str>,
    valid: bool,
    findings: &'a [ValidationError],
    /// The result of verifying a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Value>,
    /// The reason why the document could not be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

struct DocumentChecker<W: Write> {
    contract: Option<Contract>,
    profile: Profile,
    format: OutputFormat,
    /// The largest number of findings per document in text output.
    most: usize,
    limits: Limits,
    governance: GovernanceInputs,
    out: BufWriter<ClosableOutput<W>>,
    exit: Exit,
}

impl<W: Write> DocumentChecker<W> {
    fn file(&mut self, input: &InputSource) -> anyhow::Result<()> {
        let bytes = input.bytes(self.limits)?;
        self.check(&input.name(), None, &bytes)
    }

    /// Checks the input line by line and holds only one line in memory.
    fn lines(&mut self, input: &InputSource) -> anyhow::Result<()> {
        let (name, has_end) = (input.name(), input.has_end());
        let mut reader = BufReader::with_capacity(1 << 16, input.open()?);
        let mut progress = ProgressLine::new("documents");
        let mut buffer = Vec::new();
        let mut is_empty = true;
        for number in 1.. {
            buffer.clear();
            let most = self.limits.max_bytes as u64;
            let read = io::Read::take(&mut reader, most + 1).read_until(b'\n', &mut buffer)?;
            if read == 0 {
                break;
            }
            progress.step(read as u64);
            is_empty &= buffer.trim_ascii().is_empty();
            if read as u64 > most && !buffer.ends_with(b"\n") {
                let error = format!("more than {most} bytes in one line, the limit --max-bytes");
                self.report_unreadable(&name, Some(number), &error)?;
                skip_line(&mut reader)?;
                continue;
            }
            if !buffer.trim_ascii().is_empty() {
                self.check(&name, Some(number), buffer.trim_ascii_end())?;
            }
            if self.out.get_ref().is_closed() && !has_end {
                self.stop();
                break;
            }
        }
        progress.finish();
        if is_empty {
            self.report_unreadable(&name, None, "it contains no documents")?;
        }
        Ok(())
    }

    /// Stops before the end of the input. The exit code must not claim that unread documents are valid.
    fn stop(&mut self) {
        if self.exit == Exit::Good {
            self.exit = Exit::CouldNotCheck;
            say(&format!("error: {OUTPUT_CLOSED}"));
        }
    }

    fn check(&mut self, name: &str, line: Option<u64>, bytes: &[u8]) -> anyhow::Result<()> {
        let document = match read(bytes, self.limits) {
            Ok(document) => document,
            Err(error) => return self.report_unreadable(name, line, &error.to_string()),
        };
        let (contract, recognised_by) = match (self.contract, recognise(&document.value)) {
            (None | Some(Contract::Descriptor), None) if is_tool_list(&document.value) => {
                return self.tools(name, line, &document.value, bytes);
            }
            (Some(contract), _) => (contract, None),
            (None, Some(found)) => (found.contract, Some(found.reason)),
            (None, None) => {
                return self.report_unreadable(name, line, &crate::options::unrecognised());
            }
        };
        let (mut lines, mut verification) = (Vec::new(), None);
        let mut findings = match self.governance.check(contract, &document, self.profile) {
            Outcome::Checked(findings) => findings,
            Outcome::Verified(verified) => {
                match self.format {
                    OutputFormat::Text => lines = verification_lines(&verified),
                    OutputFormat::Json => verification = Some(verification_json(&verified)),
                }
                verified.into_findings()
            }
            Outcome::Needs(option) => {
                let message = format!(
                    "a {} is checked against manifest and lock: add {option}",
                    contract.title()
                );
                return self.report_unreadable(name, line, &message);
            }
        };
        findings.extend(contract.check_time(&document.value, now()));
        let valid = !findings.iter().any(ValidationError::is_error);
        if !valid {
            self.exit = self.exit.max(Exit::NotGood);
        }
        match self.format {
            OutputFormat::Json => self.json(&DocumentLine {
                file: name,
                line,
                tool: None,
                contract: Some(contract.as_str()),
                recognised_by: recognised_by.as_deref(),
                valid,
                findings: &findings,
                verification,
                error: None,
            }),
            OutputFormat::Text => {
                let place = line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
                self.heading(&place, contract, recognised_by.as_deref(), &findings)?;
                let text = String::from_utf8_lossy(bytes);
                self.findings(&findings, |finding| locate(&text, &finding.field_path))?;
                for line in lines {
                    writeln!(self.out, "           {}", sanitise(&line))?;
                }
                Ok(())
            }
        }
    }

    /// Converts each MCP tool of a list to an ATDF descriptor and checks that.
    fn tools(
        &mut self,
        name: &str,
        line: Option<u64>,
        list: &Value,
        bytes: &[u8],
    ) -> anyhow::Result<()> {
        const REASON: &str = "an MCP tool, converted to a descriptor";
        let text = String::from_utf8_lossy(bytes);
        for (place, tool) in tool_places(list) {
            let shown = tool["name"].as_str().map_or_else(|| place.to_string(), display_name);
            let whole = line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
            let whole = format!("{whole}, tool {shown}");
            let descriptor = match mcp_to_descriptor(tool) {
                Ok(descriptor) => descriptor,
                Err(error) => {
                    self.report_unchecked(
                        name,
                        line,
                        &error.to_string(),
                        &format!("{whole}: {error}"),
                    )?;
                    continue;
                }
            };
            let contract = Contract::Descriptor;
            let findings = contract.check(&descriptor, self.profile);
            let valid = !findings.iter().any(ValidationError::is_error);
            if !valid {
                self.exit = self.exit.max(Exit::NotGood);
            }
            match self.format {
                OutputFormat::Json => self.json(&DocumentLine {
                    file: name,
                    line,
                    tool: tool["name"].as_str(),
                    contract: Some(contract.as_str()),
                    recognised_by: Some(REASON),
                    valid,
                    findings: &findings,
                    verification: None,
                    error: None,
                })?,
                OutputFormat::Text => {
                    self.heading(&whole, contract, Some(REASON), &findings)?;
                    // A finding refers to the descriptor, but the file contains only the tool, so the tool's position
                    // is printed.
                    self.findings(&findings, |_| locate(&text, &place))?;
                }
            }
        }
        Ok(())
    }

    /// Reports a document that could not be read or recognized.
    fn report_unreadable(
        &mut self,
        name: &str,
        line: Option<u64>,
        error: &str,
    ) -> anyhow::Result<()> {
        let place = line.map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
        self.report_unchecked(name, line, error, &format!("{place}: {error}"))
    }

    fn report_unchecked(
        &mut self,
        name: &str,
        line: Option<u64>,
        error: &str,
        message: &str,
    ) -> anyhow::Result<()> {
        self.exit = self.exit.max(Exit::CouldNotCheck);
        if self.format == OutputFormat::Json {
            self.json(&DocumentLine {
                file: name,
                line,
                tool: None,
                contract: None,
                recognised_by: None,
                valid: false,
                findings: &[],
                verification: None,
                error: Some(error),
            })?;
        }
        self.out.flush()?;
        say(&format!("error: {message}"));
        Ok(())
    }

    fn json(&mut self, line: &DocumentLine<'_>) -> anyhow::Result<()> {
        let text = serde_json::to_string(line)?;
        writeln!(self.out, "{}", quiet_json(&text))?;
        Ok(())
    }

    fn heading(
        &mut self,
        place: &str,
        contract: Contract,
        recognised_by: Option<&str>,
        findings: &[ValidationError],
    ) -> anyhow::Result<()> {
        let count =
            |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let errors = count(Severity::Error);
        let (style, mark, word) =
            if errors == 0 { (GOOD, '✔', "valid") } else { (BAD, '✘', "not a valid") };
        let bold = Style::new().bold();
        write!(
            self.out,
            "{style}{mark}{style:#} {bold}{}{bold:#}: {word} {}",
            sanitise(place),
            contract.title()
        )?;
        let parts: Vec<String> = [
            (errors, "error"),
            (count(Severity::Warning), "warning"),
            (count(Severity::Info), "note"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| count_noun(count, word))
        .collect();
        if !parts.is_empty() {
            write!(self.out, ", {}", parts.join(", "))?;
        }
        if let Some(reason) = recognised_by {
            write!(self.out, " {DIM}(recognized: {}){DIM:#}", sanitise(reason))?;
        }
        writeln!(self.out)?;
        Ok(())
    }

    fn findings(
        &mut self,
        findings: &[ValidationError],
        position: impl Fn(&ValidationError) -> TextPosition,
    ) -> anyhow::Result<()> {
        for finding in findings.iter().take(self.most) {
            self.finding(finding, position(finding))?;
        }
        if findings.len() > self.most {
            let more = findings.len() - self.most;
            writeln!(self.out, "           {DIM}… {more} more findings (--all){DIM:#}")?;
        }
        Ok(())
    }

    fn finding(&mut self, finding: &ValidationError, position: TextPosition) -> anyhow::Result<()> {
        let (style, word) = match finding.severity {
            Severity::Error => (BAD, "error"),
            Severity::Warning => (WARN, "warning"),
            Severity::Info => (DIM, "note"),
        };
        let path = redact_pointer(finding.field_path.as_str());
        let path = if path.is_empty() { "(root)" } else { &path };
        let place = format!("{}:{}", position.line, position.column);
        writeln!(
            self.out,
            "  {DIM}{place:>7}{DIM:#}  {style}{word:<7}{style:#}  {}  {}: {}",
            finding.error_code,
            sanitise(path),
            sanitise(&finding.message)
        )?;
        if let Some(actual) = &finding.actual_value {
            writeln!(self.out, "           {DIM}found {}{DIM:#}", sanitise(actual))?;
        }
        Ok(())
    }
}

/// Returns the MCP tools of a document: a definition, a list of them, or a response to `tools/list`.
fn tool_places(document: &Value) -> Vec<(Pointer, &Value)> {
    if document.get("inputSchema").is_some() {
        return vec![(Pointer::root(), document)];
    }
    let holders = ["", "/tools", "/result/tools"].into_iter().filter_map(|place| {
        let place = Pointer::try_from(place).ok()?;
        let tools = place.find(document)?.as_array()?;
        Some((place, tools))
    });
    let tools = holders.flat_map(|(place, tools)| {
        let numbered = tools.iter().enumerate();
        numbered.map(move |(index, tool)| (place.join(&index.to_string()), tool))
    });
    tools.collect()
}

fn is_tool_list(document: &Value) -> bool {
    tool_places(document)
        .iter()
        .any(|(_, tool)| tool["name"].is_string() && tool.get("inputSchema").is_some())
}

/// Skips the rest of a line that is too long.
fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        let (length, ends) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        reader.consume(length);
        if ends {
            return Ok(());
        }
    }
}

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();
const DIM: Style = Style::new().dimmed();
