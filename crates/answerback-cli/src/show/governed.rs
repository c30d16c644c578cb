//! Draws a governed response: its content, the agent's identity, and its attestations.

use answerback::contract::governed::{Flag, MEMBERS};
use serde_json::{Map, Value};

use super::artifact::others_of;
use super::banner::Banner;
use super::brief::{brief, is_blank, list, rest, text};
use super::document::prose;
use super::moment::stamp;
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::{PLAIN, STRONG, Tone};
use super::tree::tree;
use super::ui::section;
use super::width::beginning;

/// Draws the response.
pub(crate) fn draw(sheet: Sheet, document: &Map<String, Value>) -> Vec<Line> {
    let empty = Map::new();
    let part = |name: &str| document.get(name).and_then(Value::as_object).unwrap_or(&empty);
    let (agent, response, request) = (part("agent"), part("response"), part("request_context"));
    let summary = text(request, "request_summary").unwrap_or("(no request summary)".into());
    let mut banner =
        Banner::new(summary).word(text(response, "status").unwrap_or("no status".into()));
    if let Some(kind) = text(request, "request_type") {
        banner = banner.about(kind);
    }
    if let Some(id) = text(agent, "agent_id") {
        banner = banner.about(id);
    }
    if let Some(time) = text(document, "timestamp") {
        banner = banner.about(stamp(&time));
    }
    let mut lines = banner.draw(sheet);
    lines.extend(answer(sheet, response));
    lines.extend(governance(sheet, document.get("governance")));
    lines.extend(next_actions(sheet, part("next_actions")));
    lines.extend(identity(sheet, document, agent, request));
    for name in ["agent", "response", "request_context", "next_actions"] {
        if let Some(odd) = document.get(name).filter(|odd| !odd.is_object() && !is_blank(odd)) {
            lines.extend(section(sheet, name, ""));
            lines.extend(indented(tree(sheet.narrower(2), odd), 2));
        }
    }
    // Extensions are not part of the contract, but they are shown, too.
    let known: Vec<&str> = MEMBERS.iter().copied().filter(|name| *name != "_meta").collect();
    lines.extend(others_of(sheet, rest(document, &known)));
    lines
}

/// Draws the content and its confidence. Errors and refusals are drawn as cards.
fn answer(sheet: Sheet, response: &Map<String, Value>) -> Vec<Line> {
    let Some(content) = response.get("content").filter(|content| !is_blank(content)) else {
        return Vec::new();
    };
    let empty = Map::new();
    let members = content.as_object().unwrap_or(&empty);
    let data = members.get("data").unwrap_or(content);
    let confidence = response.get("confidence").map_or_else(String::new, |word| {
        format!("confidence {}", brief(word, 24).replace('_', " "))
    });
    let mut lines = Vec::new();
    let status = text(response, "status").unwrap_or_default();
    match data.as_object() {
        Some(fields)
            if fields.contains_key("refusal_reason") || fields.contains_key("error_code") =>
        {
            lines.push(Line::default());
            lines.extend(failure(sheet, fields, &confidence));
        }
        _ => {
            lines.extend(section(sheet, "Answer", &confidence));
            let inner = sheet.narrower(2);
            let format = text(members, "format").unwrap_or("plain".into());
            let narrative = data.get("narrative").filter(|narrative| narrative.is_string());
            match (narrative, data) {
                (Some(narrative), Value::Object(fields)) => {
                    lines.extend(indented(prose(inner, narrative, "markdown"), 2));
                    let others = rest(fields, &["narrative"]);
                    if !others.is_empty() {
                        lines.push(Line::default());
                        lines.extend(indented(tree(inner, &Value::Object(others)), 2));
                    }
                }
                _ => lines.extend(indented(prose(inner, data, &format), 2)),
            }
            if is_blank(data) && status == "success" {
                lines.extend(sheet.note("a success without content"));
            }
        }
    }
    lines.extend(others_of(sheet, rest(members, &["type", "data", "format"])));
    lines.extend(others_of(sheet, rest(response, &["status", "content", "confidence"])));
    lines
}

/// Draws an error or a refusal.
fn failure(sheet: Sheet, fields: &Map<String, Value>, confidence: &str) -> Vec<Line> {
    let inner = sheet.in_card();
    let is_refusal = fields.contains_key("refusal_reason");
    let (word, code, message) = if is_refusal {
        ("refused", "refusal_reason", "explanation")
    } else {
        ("error", "error_code", "error_message")
    };
    let style = Tone::Bad.style();
    let code_text = fields.get(code).map_or_else(String::new, |code| brief(code, 60));
    let mut title = Line::from(sheet.span(format!("✘ {word} {code_text}"), style));
    if !confidence.is_empty() {
        title.push(sheet.dim(format!(" · {confidence}")));
    }
    let mut body = Vec::new();
    if let Some(message) = fields.get(message) {
        body.extend(inner.paragraph(&brief(message, 4000), STRONG));
    }
    let named = [
        ("error_details", "details"),
        ("suggested_agent", "ask instead"),
        ("governance_rule", "rule"),
        ("recovery_suggestion", "next"),
    ];
    let rows = named
        .iter()
        .filter_map(|(name, label)| {
            let value = fields.get(*name).filter(|value| !is_blank(value))?;
            Some((inner.dim(label), Line::from(inner.plain(brief(value, 1000)))))
        })
        .collect();
    body.extend(inner.fields(rows));
    let mut known = vec![code, message];
    known.extend(named.iter().map(|(name, _)| *name));
    let others = rest(fields, &known);
    if !others.is_empty() {
        body.extend(tree(inner, &Value::Object(others)));
    }
    sheet.card(title, body, style)
}

/// Draws the attestations, one per line. The heading marks them as the agent's own claims.
fn governance(sheet: Sheet, governance: Option<&Value>) -> Vec<Line> {
    let Some(governance) = governance.filter(|governance| !governance.is_null()) else {
        return Vec::new();
    };
    let mut lines = section(sheet, "Governance", "attested by the agent");
    let inner = sheet.narrower(2);
    let Some(members) = governance.as_object() else {
        lines.extend(indented(tree(inner, governance), 2));
        return lines;
    };
    let mut body = Vec::new();
    let flags = Flag::ALL.iter().map(|flag| flag.as_str());
    for name in flags.clone() {
        let (tone, answer) = match members.get(name) {
            Some(Value::Bool(true)) => (Tone::Good, "yes".to_owned()),
            Some(Value::Bool(false)) => (Tone::Bad, "no".to_owned()),
            Some(other) => (Tone::Warning, format!("unclear: {}", brief(other, 60))),
            None => (Tone::Warning, "not attested".to_owned()),
        };
        let mark = inner.span(format!("{} ", tone.sign()), tone.style());
        let mut line = Line::from(inner.plain(format!("{}  ", name.replace('_', " "))).clone())
            .padded(24.min(inner.width / 2));
        line.push(inner.span(answer, tone.style()));
        body.extend(inner.hanging(mark, line));
    }
    if let Some(explanation) = members.get("explanation").filter(|text| !is_blank(text)) {
        body.extend(inner.paragraph(&brief(explanation, 2000), PLAIN));
    }
    let known: Vec<&str> = flags.chain(["explanation"]).collect();
    let others = rest(members, &known);
    if !others.is_empty() {
        body.extend(tree(inner, &Value::Object(others)));
    }
    lines.extend(indented(body, 2));
    lines
}

fn next_actions(sheet: Sheet, next: &Map<String, Value>) -> Vec<Line> {
    let inner = sheet.narrower(2);
    let mut body = Vec::new();
    for handoff in list(next, "suggested_handoffs").iter().take(sheet.rows) {
        let Some(members) = handoff.as_object() else {
            body.extend(inner.note(format!("not a handoff: {}", brief(handoff, 80))));
            continue;
        };
        let target =
            members.get("target_agent").map_or_else(|| "(no agent)".into(), |v| brief(v, 80));
        let mut line = Line::from(inner.plain("hand off to "));
        line.push(inner.strong(target));
        match members.get("required") {
            Some(Value::Bool(true)) => line.push(inner.span(" required", Tone::Warning.style())),
            Some(Value::Bool(false)) => line.push(inner.dim(" optional")),
            _ => {}
        }
        body.extend(inner.hanging(inner.span("→ ", Tone::Info.style()), line));
        if let Some(reason) = members.get("reason").filter(|reason| !is_blank(reason)) {
            let reason = Line::from(inner.plain(brief(reason, 600)));
            body.extend(indented(reason.wrapped(inner.prose().width.saturating_sub(2)), 2));
        }
        let others = rest(members, &["target_agent", "required", "reason"]);
        if !others.is_empty() {
            body.extend(indented(tree(inner.narrower(2), &Value::Object(others)), 2));
        }
    }
    for (name, mark) in [("followup_questions", "? "), ("additional_context_needed", "• ")] {
        let all = list(next, name);
        if all.is_empty() {
            continue;
        }
        body.push(inner.dim(name.replace('_', " ")).into());
        for one in all.iter().take(sheet.rows) {
            let mark = inner.span(mark, Tone::Info.style());
            body.extend(inner.hanging(mark, Line::from(inner.plain(brief(one, 600)))));
        }
    }
    let others =
        rest(next, &["suggested_handoffs", "followup_questions", "additional_context_needed"]);
    if !others.is_empty() {
        body.extend(tree(inner, &Value::Object(others)));
    }
    if body.is_empty() {
        return Vec::new();
    }
    let mut lines = section(sheet, "Next", "");
    lines.extend(indented(body, 2));
    lines
}

/// Draws the ids, the versions and the prompt hash.
fn identity(
    sheet: Sheet,
    document: &Map<String, Value>,
    agent: &Map<String, Value>,
    request: &Map<String, Value>,
) -> Vec<Line> {
    let inner = sheet.narrower(2);
    let mut fields = Vec::new();
    let mut field = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            fields.push((inner.dim(name), Line::from(inner.plain(value))));
        }
    };
    let shown = |members: &Map<String, Value>, name: &str| {
        members.get(name).filter(|value| !is_blank(value)).map(|value| brief(value, 120))
    };
    let who = ["agent_type", "agent_id", "agent_version"].map(|name| shown(agent, name));
    field("agent", Some(who.into_iter().flatten().collect::<Vec<_>>().join(" ")));
    field("prompt", shown(agent, "prompt_hash"));
    field("response", shown(document, "response_id"));
    field("request", shown(request, "request_id"));
    field("protocol", shown(document, "protocol_version"));
    for (members, known) in [
        (agent, &["agent_type", "agent_id", "agent_version", "prompt_hash"][..]),
        (request, &["request_id", "request_type", "request_summary"][..]),
    ] {
        for (name, value) in rest(members, known).iter().take(10) {
            field(beginning(name, 40).0, Some(brief(value, 200)));
        }
    }
    if fields.is_empty() {
        return Vec::new();
    }
    let mut lines = section(sheet, "Identity", "");
    lines.extend(indented(inner.fields(fields), 2));
    lines
}
