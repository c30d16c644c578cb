//! Draws missions: the objective, the arguments and the possible decisions.

use serde_json::{Map, Value};

use super::brief::{brief, rest, text};
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::Tone;
use super::tree::tree;

/// The members that every mission has.
const KNOWN: [&str; 4] = ["mission_id", "status", "objective_type", "objective_description"];

/// The members in which a draft may list the allowed decisions.
const DECISIONS: [&str; 3] = ["allowed_decisions", "allowed", "decisions"];

/// The decisions on a proposal.
const ALL_DECISIONS: &str = "approve · modify · reject · respond · defer";

/// Draws a draft as a card with the objective, every argument and the decisions.
pub(crate) fn draft(
    sheet: Sheet,
    mission: &Map<String, Value>,
    metadata: Option<&Map<String, Value>>,
) -> Vec<Line> {
    let inner = sheet.in_card();
    let status = text(mission, "status").unwrap_or("no status".into());
    let mut body = objective(inner, mission).wrapped(inner.width);
    body.extend(id(inner, mission).wrapped(inner.width));
    let known: Vec<&str> = KNOWN.into_iter().chain(DECISIONS).collect();
    let others = rest(mission, &known);
    if !others.is_empty() {
        body.push(Line::default());
        body.extend(tree(inner, &Value::Object(others)));
    }
    let allowed = DECISIONS.iter().find_map(|name| mission.get(*name)?.as_array());
    let awaits = metadata
        .and_then(|metadata| metadata.get("awaiting_approval"))
        .and_then(Value::as_bool)
        .unwrap_or(status == "proposed");
    let decisions = match allowed {
        Some(allowed) => {
            let words: Vec<String> = allowed.iter().take(8).map(|word| brief(word, 24)).collect();
            Some(words.join(" · "))
        }
        None => awaits.then(|| ALL_DECISIONS.to_owned()),
    };
    if let Some(decisions) = decisions {
        body.push(Line::default());
        let mark = inner.span("decide  ", Tone::Info.style().bold());
        body.extend(inner.hanging(mark, Line::from(inner.strong(decisions))));
    }
    let mut title = Line::from(sheet.plain("mission "));
    title.push(sheet.signed(&status));
    if awaits {
        title.push(sheet.plain(" · awaits a decision"));
    }
    sheet.card(title, body, Tone::of(&status).style())
}

/// Draws a mission in a list: its status, its objective and its id.
pub(crate) fn reference(sheet: Sheet, mission: &Value) -> Vec<Line> {
    let Some(members) = mission.as_object() else {
        return sheet.note(format!("not a mission: {}", brief(mission, 80)));
    };
    let status = text(members, "status").unwrap_or("no status".into());
    let inner = sheet.narrower(2);
    let mut lines = Vec::new();
    lines.extend(
        sheet.hanging([sheet.signed(&status), sheet.plain("  ")], objective(sheet, members)),
    );
    lines.extend(indented(id(inner, members).wrapped(inner.width), 2));
    let others = rest(members, &KNOWN);
    if !others.is_empty() {
        lines.extend(indented(tree(inner, &Value::Object(others)), 2));
    }
    lines
}

/// Draws the type and the description of the objective.
fn objective(sheet: Sheet, mission: &Map<String, Value>) -> Line {
    let member = |name: &str, most| mission.get(name).map_or_else(String::new, |v| brief(v, most));
    let kind = member("objective_type", 40);
    let gap = if kind.is_empty() { "" } else { "  " };
    let description = member("objective_description", 2000);
    Line::from([sheet.strong(kind), sheet.plain(format!("{gap}{description}"))])
}

fn id(sheet: Sheet, mission: &Map<String, Value>) -> Line {
    let id = mission.get("mission_id").map_or_else(|| "(no id)".to_owned(), |v| brief(v, 80));
    sheet.dim(format!("id {id}")).into()
}
