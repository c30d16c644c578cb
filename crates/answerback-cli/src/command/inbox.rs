//! `answerback inbox`: lists, shows and decides cases.

use std::fmt::Write as _;
use std::io::Write as _;

use answerback::UuidV7;
use answerback::case::{CaseKind, CaseState, Decision, DecisionKind, DecisionSubmission};
use answerback::json;
use answerback::retry::{HideSecrets, fits_message};
use answerback_console::CaseDocument;
use answerback_store::{CaseFilter, CaseRecord, CaseStatus, Store, StoreError};
use anyhow::{Context, bail};
use serde_json::Value;

use super::ledger::location::Location;
use crate::actor::ActorOptions;
use crate::exit::Exit;
use crate::options::OutputFormat;
use crate::output::{Leavable, push_line, sanitise, say};
use crate::plural::counted;
use crate::terminal;
use answerback_record::system;

/// The number of cases that are read at a time.
const PAGE: usize = 200;

/// See what waits for a person, and decide it
///
/// When a model cannot get a call right, its calls to that tool stop and a case waits here. A decision is bound to
/// what you saw: when the case changed in between it does not count. The first decision wins, and each is recorded in
/// the ledger with who made it and where.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback inbox list
  answerback inbox show 01a3185c-7d0e
  answerback inbox respond 01a3185c-7d0e \"the path is /data/report.csv\"
  answerback inbox modify 01a3185c-7d0e '{\"path\": \"/data/report.csv\"}'
  answerback inbox reject 01a3185c-7d0e --reason \"not today\"
  answerback inbox approve 01a3185c-7d0e --token-file desk.token

A case is named by its id or the beginning of it; cases of one minute begin alike. A decision is a person's: it needs a
terminal, or a token to which the configuration grants it, in --token-file or $ANSWERBACK_TOKEN:
  gateway: {tokens: {desk: {scopes: [decide], file: desk.token}}}

Exit codes: 0 shown or decided, 1 the decision does not hold or the token may not decide, 2 anything else.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    decider: ActorOptions,

    #[command(flatten)]
    location: Location,

    #[command(subcommand)]
    command: InboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum InboxCommand {
    /// List the cases that wait, oldest first
    List {
        /// List those that were decided or lapsed, too
        #[arg(long)]
        all: bool,
        /// How to print
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Show a case: what was tried, what was wrong, what can be decided
    Show {
        /// The case, or the beginning of its id
        case: String,
        /// How to print
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Let the call run once although the check failed
    Approve {
        /// The case, or the beginning of its id
        case: String,
    },
    /// Give the corrected arguments, as JSON
    Modify {
        /// The case, or the beginning of its id
        case: String,
        /// The arguments, a JSON object
        arguments: String,
    },
    /// Stop: the tool is not called again for this
    Reject {
        /// The case, or the beginning of its id
        case: String,
        /// Why, for the model
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Tell the model how to go on; it may try again
    Respond {
        /// The case, or the beginning of its id
        case: String,
        /// What the model is told
        message: String,
    },
    /// Decide later; calls stay blocked
    Defer {
        /// The case, or the beginning of its id
        case: String,
        /// How many hours later at the latest
        #[arg(long, value_name = "HOURS", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=720))]
        hours: u16,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    match &arguments.command {
        InboxCommand::List { all, format } => list(&arguments.location.read()?, *all, *format),
        InboxCommand::Show { case, format } => {
            let store = arguments.location.read()?;
            let options = arguments.options();
            show(&store, &find(&store, case, &options)?, *format, &options)
        }
        InboxCommand::Approve { case } => decide(arguments, case, Decision::Approve),
        InboxCommand::Modify { case, arguments: text } => {
            let read = json::read(text.as_bytes(), json::Limits::default()).ok();
            let Some(read) = read.filter(|read| read.value.is_object()) else {
                bail!(
                    "the corrected arguments are a JSON object, written as one argument in quotes: '{{\"path\": \"a.txt\"}}'"
                );
            };
            if let Some(place) = read.repeated() {
                bail!("in the corrected arguments {place} stands twice: write it once");
            }
            decide(arguments, case, Decision::Modify { arguments: read.value })
        }
        InboxCommand::Reject { case, reason } => {
            decide(arguments, case, Decision::Reject { reason: reason.clone() })
        }
        InboxCommand::Respond { case, message } => {
            decide(arguments, case, Decision::Respond { message: message.clone() })
        }
        InboxCommand::Defer { case, hours } => {
            let later = system::now().unix_millis() + i64::from(*hours) * 3_600_000;
            let until = answerback::Timestamp::from_unix_millis(later);
            decide(arguments, case, Decision::Defer { until })
        }
    }
}

impl Arguments {
    /// Returns the options with which another command finds the same cases and decides as the same caller.
    fn options(&self) -> String {
        self.location.options() + &self.decider.options()
    }
}

fn list(store: &Store, all: bool, format: OutputFormat) -> anyhow::Result<Exit> {
    let filter = CaseFilter::default();
    let filter = if all { filter } else { filter.with_status(CaseStatus::Waiting) };
    let mut after: Option<UuidV7> = None;
    let mut text = String::new();
    let mut count = 0_usize;
    loop {
        let page = store.cases(&filter, after.as_ref(), PAGE)?;
        count += page.cases.len();
        for record in &page.cases {
            match format {
                OutputFormat::Json => push_line(&mut text, &document(store, record)?)?,
                OutputFormat::Text => push_row(&mut text, store, record),
            }
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    if count == 0 && format == OutputFormat::Text {
        text.push_str("Nothing waits.\n");
    }
    Leavable::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

fn push_row(text: &mut String, store: &Store, record: &CaseRecord) {
    let content = content(record);
    let about = match record.case.kind {
        CaseKind::Escalation => {
            let tool = content["tool"].as_str().unwrap_or("-");
            let tried = content["attempts"].as_array().map_or(0, Vec::len);
            let attempts = counted(tried, "attempt");
            format!("{}  {}  {attempts}", server(store, record), sanitise(tool))
        }
        CaseKind::Proposal => format!("proposal  {}", sanitise(said(&content, "title"))),
        CaseKind::Question => format!("question  {}", sanitise(said(&content, "question"))),
    };
    let row = format!(
        "{}  {}  {}  {about}  {}",
        record.case.id,
        record.created.to_utc_seconds(),
        standing(record),
        until(record)
    );
    text.push_str(&terminal::fitted(&row, 2));
}

fn said<'c>(content: &'c Value, member: &str) -> &'c str {
    content[member].as_str().unwrap_or("-")
}

/// Returns the server of the call, from the entry of the call.
fn server(store: &Store, record: &CaseRecord) -> String {
    let read = || {
        let index = record.reference.as_deref()?.strip_prefix("entry/")?.parse().ok()?;
        store.entry(index).ok()??.leaf.text("upstream").map(|name| sanitise(name).into_owned())
    };
    read().unwrap_or_else(|| "-".to_owned())
}

/// Describes the deadline of a case, or its end.
fn until(record: &CaseRecord) -> String {
    let expires = record.case.expires.to_utc_seconds();
    match &record.case.state {
        CaseState::Decided { .. } if record.case.is_resolved_by_model() => {
            "resolved by the model".to_owned()
        }
        CaseState::Decided { .. } => "decided".to_owned(),
        _ if record.case.is_expired(system::now()) => format!("lapsed {expires}"),
        _ => format!("until {expires}"),
    }
}

fn show(
    store: &Store,
    record: &CaseRecord,
    format: OutputFormat,
    options: &str,
) -> anyhow::Result<Exit> {
    let mut text = String::new();
    match format {
        OutputFormat::Json => push_line(&mut text, &document(store, record)?)?,
        OutputFormat::Text => {
            let content = content(record);
            writeln!(text, "Case {} ({})", record.case.id, standing(record))?;
            match record.case.kind {
                CaseKind::Proposal => push_proposal(&mut text, &content, record)?,
                CaseKind::Question => push_question(&mut text, &content, record)?,
                CaseKind::Escalation => {
                    push_escalation(&mut text, &content, &server(store, record), record)?;
                }
            }
            if record.case.is_resolved_by_model() {
                writeln!(text, "\nResolved by the model: a later call had valid arguments.")?;
            } else if let Some(decision) = record.case.decision() {
                writeln!(text, "\nDecided: {}", sanitise(&serde_json::to_string(decision)?))?;
            } else {
                writeln!(text, "\nYou can decide:")?;
                for kind in &record.case.allowed {
                    let (id, words) = (&record.case.id, words(*kind));
                    writeln!(text, "  {}:", meaning(record.case.kind, *kind))?;
                    let options = sanitise(options);
                    writeln!(text, "    answerback inbox {kind} {id}{words}{options}")?;
                }
            }
        }
    }
    Leavable::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

fn push_escalation(
    text: &mut String,
    content: &Value,
    server: &str,
    record: &CaseRecord,
) -> anyhow::Result<()> {
    let call = content.pointer("/original_call/arguments").and_then(Value::as_str).unwrap_or("-");
    writeln!(text, "Server {server}, tool {}", sanitise(said(content, "tool")))?;
    writeln!(text, "Came in {}, {}", record.created.to_utc_seconds(), until(record))?;
    writeln!(text, "\n{}", lines(said(content, "summary")))?;
    writeln!(text, "\nThe first call: {}", sanitise(call))?;
    // An approval lets this call run.
    if let Some(last) = content.pointer("/last_call/arguments").and_then(Value::as_str) {
        writeln!(text, "The last call: {}", sanitise(last))?;
    }
    Ok(())
}

fn push_proposal(text: &mut String, content: &Value, record: &CaseRecord) -> anyhow::Result<()> {
    writeln!(text, "Proposal: {}", sanitise(said(content, "title")))?;
    writeln!(text, "Came in {}, {}", record.created.to_utc_seconds(), until(record))?;
    if let Some(risk) = content["risk"].as_str() {
        writeln!(text, "Risk: {}", sanitise(risk))?;
    }
    if let Some(description) = content["description"].as_str() {
        writeln!(text, "\n{}", lines(description))?;
    }
    let effects = content["effects"].as_array().into_iter().flatten();
    for effect in effects.filter_map(Value::as_str) {
        writeln!(text, "  - {}", sanitise(effect))?;
    }
    // An approval covers each of these arguments.
    writeln!(text, "\nArguments:")?;
    for (name, value) in content["arguments"].as_object().into_iter().flatten() {
        writeln!(text, "  {}: {}", sanitise(name), sanitise(&value.to_string()))?;
    }
    Ok(())
}

fn push_question(text: &mut String, content: &Value, record: &CaseRecord) -> anyhow::Result<()> {
    writeln!(text, "Question: {}", lines(said(content, "question")))?;
    writeln!(text, "Came in {}, {}", record.created.to_utc_seconds(), until(record))?;
    let options = content["options"].as_array().into_iter().flatten();
    for option in options {
        writeln!(text, "  - {}", sanitise(said(option, "label")))?;
    }
    Ok(())
}

/// Describes the effect of a decision on a case of this kind.
const fn meaning(case: CaseKind, decision: DecisionKind) -> &'static str {
    match (case, decision) {
        (CaseKind::Escalation, decision) => decision.meaning(),
        (_, DecisionKind::Approve) => "do it as it is proposed",
        (_, DecisionKind::Modify) => "do it with other arguments, a JSON object",
        (_, DecisionKind::Reject) => "do not do it",
        (_, DecisionKind::Respond) => "answer in words",
        (_, DecisionKind::Defer) => "decide later; the agent waits",
    }
}

/// Returns the placeholder for the text that a decision requires.
const fn words(decision: DecisionKind) -> &'static str {
    match decision {
        // The placeholder is not valid JSON, so that it cannot be submitted by accident.
        DecisionKind::Modify => " '{\"NAME\": VALUE}'",
        DecisionKind::Respond => " 'TEXT'",
        DecisionKind::Approve | DecisionKind::Reject | DecisionKind::Defer => "",
    }
}

/// Sanitizes each line of a text for a terminal.
fn lines(text: &str) -> String {
    text.lines().map(sanitise).collect::<Vec<_>>().join("\n")
}

fn decide(arguments: &Arguments, case: &str, decision: Decision) -> anyhow::Result<Exit> {
    let location = &arguments.location;
    let who = match arguments.decider.decider(location)? {
        Ok(who) => who,
        Err(refusal) => {
            say(&format!("error: {refusal}"));
            return Ok(Exit::NotGood);
        }
    };
    let store = location.write()?;
    let record = find(&store, case, &arguments.options())?;
    let kind = decision.kind();
    let effect = effect(record.case.kind, &decision);
    let submission = DecisionSubmission::about(&record.case, decision).with_by(who.by);
    let decided =
        answerback_gateway::decide(&store, record.case.id.clone(), submission, who.surface)?;
    let decided = match decided.wait() {
        Ok(decided) => decided.value,
        Err(error @ (StoreError::Decision(_) | StoreError::Unit(_))) => {
            say(&format!("error: {error}"));
            return Ok(Exit::NotGood);
        }
        Err(error) => return Err(error.into()),
    };
    let mut text = String::new();
    writeln!(text, "Case {}: {kind}", decided.case.id)?;
    if let Some(effect) = effect {
        writeln!(text, "{effect}")?;
    }
    Leavable::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

/// Describes when and how a decision takes effect.
fn effect(case: CaseKind, decision: &Decision) -> Option<&'static str> {
    Some(match (case, decision) {
        (_, Decision::Defer { .. }) => return None,
        (CaseKind::Escalation, Decision::Modify { arguments })
            if fits_message(arguments, &HideSecrets) =>
        {
            "Where the call still waits at its client, it runs with these arguments now. Else the model is told them \
             when its next call of the tool fails, and they run when it sends them. A program that has its calls \
             checked gets them with its next check."
        }
        (CaseKind::Escalation, Decision::Modify { .. }) => {
            "Where the call still waits at its client, it runs with these arguments now. Else they do not run: they are \
             too long to be told to the model, which is told to ask for them. A program that has its calls checked \
             gets them with its next check."
        }
        (CaseKind::Escalation, _) => {
            "It takes effect at once where the call still waits at its client, else with the model's next call of the tool."
        }
        _ => "The agent hears of it when it asks.",
    })
}

/// Finds the case with this id, or the only one whose id begins with it.
fn find(store: &Store, named: &str, options: &str) -> anyhow::Result<CaseRecord> {
    let listed = format!("see `answerback inbox list --all{options}`");
    if let Ok(id) = UuidV7::try_from(named.to_owned()) {
        return store.case(&id)?.with_context(|| format!("there is no case {named}; {listed}"));
    }
    let mut after: Option<UuidV7> = None;
    let mut found = Vec::new();
    while found.len() < 2 {
        let page = store.cases(&CaseFilter::default(), after.as_ref(), PAGE)?;
        let is_meant = |record: &CaseRecord| record.case.id.as_str().starts_with(named);
        found.extend(page.cases.into_iter().filter(is_meant));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    match found.len() {
        0 => bail!("no case begins with {named:?}; {listed}"),
        1 => Ok(found.remove(0)),
        _ => bail!("several cases begin with {named:?}; write more of the id, {listed}"),
    }
}

fn document(store: &Store, record: &CaseRecord) -> anyhow::Result<CaseDocument> {
    Ok(CaseDocument::of(record.clone(), store, system::now())?)
}

fn content(record: &CaseRecord) -> Value {
    serde_json::from_slice(&record.content).unwrap_or_default()
}

fn standing(record: &CaseRecord) -> &'static str {
    match &record.case.state {
        CaseState::Decided { .. } => "decided",
        _ if record.case.is_expired(system::now()) => "lapsed",
        CaseState::Open => "open",
        CaseState::Deferred { .. } => "deferred",
    }
}
