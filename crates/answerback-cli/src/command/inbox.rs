//! `answerback inbox`: lists, shows and decides cases.

use std::fmt::Write as _;
use std::io::Write as _;

use answerback::UuidV7;
use answerback::case::{CaseKind, CaseState, Decision, DecisionKind, DecisionSubmission};
use answerback::json;
use answerback::retry::{HideSecrets, fits_message};
use answerback_store::{CaseFilter, CaseRecord, CaseStatus, Store, StoreError};
use answerback_web::CaseDocument;
use anyhow::{Context, bail};
use serde_json::Value;

use crate::actor::ActorOptions;
use crate::exit::Exit;
use crate::ledger_location::LedgerLocation;
use crate::options::OutputFormat;
use crate::output::{ClosableOutput, push_line, sanitise, say};
use crate::plural::count_noun;
use crate::terminal;
use answerback_store::system;

/// The number of cases that are read at a time.
const PAGE: usize = 200;

/// List the cases that wait for a person, and decide them
///
/// If a model repeatedly makes invalid calls, its calls to that tool stop and a case waits here. A decision applies to
/// the case as you saw it: if the case changed in the meantime, the decision is rejected. The first decision wins. The
/// ledger records each decision with the person and the place.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  answerback inbox list
  answerback inbox show 01a3185c-7d0e
  answerback inbox respond 01a3185c-7d0e \"the path is /data/report.csv\"
  answerback inbox modify 01a3185c-7d0e '{\"path\": \"/data/report.csv\"}'
  answerback inbox reject 01a3185c-7d0e --reason \"not today\"
  answerback inbox approve 01a3185c-7d0e --token-file desk.token

Name a case by its id or a prefix of it; cases of the same minute share a prefix. Only a person may decide: run this in a
terminal, or give a token with the scope decide in --token-file or $ANSWERBACK_TOKEN:
  gateway: {tokens: {desk: {scopes: [decide], file: desk.token}}}

Exit codes: 0 shown or decided, 1 the decision was rejected or the token may not decide, 2 anything else.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    actor: ActorOptions,

    #[command(flatten)]
    location: LedgerLocation,

    #[command(subcommand)]
    command: InboxCommand,
}

#[derive(Debug, clap::Subcommand)]
enum InboxCommand {
    /// List the open cases, oldest first
    List {
        /// Include decided and expired cases
        #[arg(long)]
        all: bool,
        /// The output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Show a case: the attempts, their problems, and the possible decisions
    Show {
        /// The id of the case, or a prefix of it
        case: String,
        /// The output format
        #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
        format: OutputFormat,
    },
    /// Let the call run once although the check failed
    Approve {
        /// The id of the case, or a prefix of it
        case: String,
    },
    /// Correct the arguments, as JSON
    Modify {
        /// The id of the case, or a prefix of it
        case: String,
        /// The arguments, a JSON object
        arguments: String,
    },
    /// Reject the call: the tool is not called again for this
    Reject {
        /// The id of the case, or a prefix of it
        case: String,
        /// The reason, for the model
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Send the model a message; it may try again
    Respond {
        /// The id of the case, or a prefix of it
        case: String,
        /// The message to the model
        message: String,
    },
    /// Decide later; calls stay blocked
    Defer {
        /// The id of the case, or a prefix of it
        case: String,
        /// The latest time of the decision, in hours from now
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
                    "the corrected arguments are not a JSON object; write them as one argument in quotes: '{{\"path\": \"a.txt\"}}'"
                );
            };
            if let Some(place) = read.repeated() {
                bail!("{place} occurs twice in the corrected arguments; remove one of the two");
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
        self.location.options() + &self.actor.options()
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
        text.push_str("No open cases.\n");
    }
    ClosableOutput::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

fn push_row(text: &mut String, store: &Store, record: &CaseRecord) {
    let content = content(record);
    let about = match record.case.kind {
        CaseKind::Escalation => {
            let tool = content["tool"].as_str().unwrap_or("-");
            let tried = content["attempts"].as_array().map_or(0, Vec::len);
            let attempts = count_noun(tried, "attempt");
            format!("{}  {}  {attempts}", server(store, record), sanitise(tool))
        }
        CaseKind::Proposal => format!("proposal  {}", sanitise(member_text(&content, "title"))),
        CaseKind::Question => format!("question  {}", sanitise(member_text(&content, "question"))),
    };
    let row = format!(
        "{}  {}  {}  {about}  {}",
        record.case.id,
        record.created.to_utc_seconds(),
        state_word(record),
        until(record)
    );
    text.push_str(&terminal::fitted(&row, 2));
}

fn member_text<'c>(content: &'c Value, member: &str) -> &'c str {
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
            writeln!(text, "Case {} ({})", record.case.id, state_word(record))?;
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
    ClosableOutput::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

fn push_escalation(
    text: &mut String,
    content: &Value,
    server: &str,
    record: &CaseRecord,
) -> anyhow::Result<()> {
    let call = content.pointer("/original_call/arguments").and_then(Value::as_str).unwrap_or("-");
    writeln!(text, "Server {server}, tool {}", sanitise(member_text(content, "tool")))?;
    writeln!(text, "Opened {}, {}", record.created.to_utc_seconds(), until(record))?;
    writeln!(text, "\n{}", lines(member_text(content, "summary")))?;
    writeln!(text, "\nThe first call: {}", sanitise(call))?;
    // An approval lets this call run.
    if let Some(last) = content.pointer("/last_call/arguments").and_then(Value::as_str) {
        writeln!(text, "The last call: {}", sanitise(last))?;
    }
    Ok(())
}

fn push_proposal(text: &mut String, content: &Value, record: &CaseRecord) -> anyhow::Result<()> {
    writeln!(text, "Proposal: {}", sanitise(member_text(content, "title")))?;
    writeln!(text, "Opened {}, {}", record.created.to_utc_seconds(), until(record))?;
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
    writeln!(text, "Question: {}", lines(member_text(content, "question")))?;
    writeln!(text, "Opened {}, {}", record.created.to_utc_seconds(), until(record))?;
    let options = content["options"].as_array().into_iter().flatten();
    for option in options {
        writeln!(text, "  - {}", sanitise(member_text(option, "label")))?;
    }
    Ok(())
}

/// Describes the effect of a decision on a case of this kind.
const fn meaning(case: CaseKind, decision: DecisionKind) -> &'static str {
    match (case, decision) {
        (CaseKind::Escalation, decision) => decision.meaning(),
        (_, DecisionKind::Approve) => "act as proposed",
        (_, DecisionKind::Modify) => "act with other arguments, a JSON object",
        (_, DecisionKind::Reject) => "do not act",
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
    let who = match arguments.actor.actor(location)? {
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
    ClosableOutput::new(anstream::stdout()).write_all(text.as_bytes())?;
    Ok(Exit::Good)
}

/// Describes when and how a decision takes effect.
fn effect(case: CaseKind, decision: &Decision) -> Option<&'static str> {
    Some(match (case, decision) {
        (_, Decision::Defer { .. }) => return None,
        (CaseKind::Escalation, Decision::Modify { arguments })
            if fits_message(arguments, &HideSecrets) =>
        {
            "If the client still waits for the call, it runs with these arguments now. Otherwise the model gets them when \
             its next call of the tool fails, and they run when the model sends them. A program that only checks \
             calls gets them with its next check."
        }
        (CaseKind::Escalation, Decision::Modify { .. }) => {
            "If the client still waits for the call, it runs with these arguments now. Otherwise they do not run: they are \
             too long for a message, so the model is advised to ask for them. A program that only checks calls gets \
             them with its next check."
        }
        (CaseKind::Escalation, _) => {
            "It takes effect at once if the client still waits for the call, otherwise with the model's next call of the tool."
        }
        _ => "The agent gets the decision with its next request.",
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

fn state_word(record: &CaseRecord) -> &'static str {
    match &record.case.state {
        CaseState::Decided { .. } => "decided",
        _ if record.case.is_expired(system::now()) => "lapsed",
        CaseState::Open => "open",
        CaseState::Deferred { .. } => "deferred",
    }
}
