//! Checks the content of a response against its type, its status and the reason of a refusal.

use answerback_json::ValuePath;
use answerback_redaction::is_blank;
use serde_json::Value;

use super::{Check, Members};
use crate::governed::{AgentId, ContentType, Format, GovernedStatus, RefusalReason, rule};
use crate::word::{Word, WordList};

impl<'d> Check<'_, 'd> {
    /// Checks the content. Returns true if the content explains a false flag, or `None` if this stays open.
    pub(super) fn content(
        &mut self,
        parent: &ValuePath<'_>,
        response: &'d Members,
        status: Option<GovernedStatus>,
    ) -> Option<bool> {
        let expected = "an object with type, data and format";
        let value = self.required(parent, response, "content", expected)?;
        let place = parent.key("content");
        let content = self.report.object(&rule::GROUP_WRONG, &place, value)?;
        let kind = self.word::<ContentType>(&rule::CONTENT_TYPE_WRONG, &place, content, "type");
        let data = self.required(&place, content, "data", "a string or an object");
        let format = self.word::<Format>(&rule::FORMAT_WRONG, &place, content, "format");
        if let (Some(kind), Some(format)) = (kind, format)
            && !kind.allows(format)
        {
            let allowed = if kind == ContentType::Text { "markdown or plain" } else { "json" };
            let expected = format!("{allowed}, since the type is {kind}");
            let place = place.key("format");
            self.report.wrong(&rule::FORMAT_MISMATCH, &place, &content["format"], expected);
        }
        let data = data?;
        let place = place.key("data");
        if let Some(expected) = mismatch(kind, data) {
            self.report.wrong(&rule::DATA_MISMATCH, &place, data, expected);
            return None;
        }
        let empty = match data {
            Value::String(text) => is_blank(text),
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        if empty && status == Some(GovernedStatus::Success) {
            let expected = "content, since the status is success";
            self.report.wrong(&rule::DATA_EMPTY, &place, data, expected);
        } else if kind == Some(ContentType::Mixed) && !has_text(data, "narrative") {
            let message = "mixed content has no narrative";
            self.report.add(&rule::NARRATIVE_MISSING, &place.key("narrative"), message);
        }
        match status? {
            GovernedStatus::Error => self.error(&place, data),
            GovernedStatus::Refused => self.refusal(&place, data, GovernedStatus::Refused),
            GovernedStatus::Partial if data.get("refusal_reason").is_some() => {
                self.refusal(&place, data, GovernedStatus::Partial)
            }
            GovernedStatus::Success | GovernedStatus::Partial => {
                Some(has_text(data, "explanation") || has_text(data, "error_message"))
            }
        }
    }

    /// Checks the form of an error. Its message counts as an explanation. A missing message is reported here,
    /// so the result is then `None`.
    fn error(&mut self, place: &ValuePath<'_>, data: &'d Value) -> Option<bool> {
        let rule = &rule::ERROR_FORM_WRONG;
        let Some(members) = data.as_object() else {
            self.report.wrong(rule, place, data, "an object with error_code and error_message");
            return None;
        };
        self.text(rule, place, members, "error_code");
        let message = self.text(rule, place, members, "error_message");
        if let Some(details) = self.advised(&rule::ERROR_FORM_THIN, place, members, "error_details")
            && !(details.is_string() || details.is_object())
        {
            self.report.wrong(rule, &place.key("error_details"), details, "a text or an object");
        }
        let thin = &rule::ERROR_FORM_THIN;
        if let Some(suggestion) = self.advised(thin, place, members, "recovery_suggestion") {
            self.report.text(rule, &place.key("recovery_suggestion"), suggestion);
        }
        message.map(|_| true)
    }

    /// Checks the form of a refusal with status `refused` or `partial`.
    fn refusal(
        &mut self,
        place: &ValuePath<'_>,
        data: &'d Value,
        status: GovernedStatus,
    ) -> Option<bool> {
        let wrong = &rule::REFUSAL_FORM_WRONG;
        let Some(members) = data.as_object() else {
            self.report.wrong(wrong, place, data, "an object with refusal_reason and explanation");
            return None;
        };
        let reason = self.refusal_reason(place, members, status);
        let explanation = self.text(wrong, place, members, "explanation");
        let thin = &rule::REFUSAL_FORM_THIN;
        let agent = if reason.is_some_and(RefusalReason::is_for_another_agent) {
            self.advised(thin, place, members, "suggested_agent")
        } else {
            members.get("suggested_agent")
        };
        if let Some(agent) = agent
            && !agent.as_str().is_some_and(AgentId::is_valid)
        {
            self.report.wrong(wrong, &place.key("suggested_agent"), agent, AgentId::EXPECTED);
        }
        if let Some(rule) = self.advised(thin, place, members, "governance_rule") {
            self.report.text(wrong, &place.key("governance_rule"), rule);
        }
        self.security_flag(place, members, reason.is_some_and(RefusalReason::is_security));
        explanation.map(|_| true)
    }

    fn refusal_reason(
        &mut self,
        place: &ValuePath<'_>,
        members: &'d Members,
        status: GovernedStatus,
    ) -> Option<RefusalReason> {
        let name = "refusal_reason";
        let Some(value) = members.get(name) else {
            let expected = WordList(RefusalReason::WORDS).to_string();
            self.report.required(&rule::REFUSAL_FORM_WRONG, place, members, name, &expected);
            return None;
        };
        let unknown = &rule::REFUSAL_REASON_UNKNOWN;
        let word = self.report.one_of(unknown, &place.key(name), value, RefusalReason::WORDS)?;
        let reason = RefusalReason::from_word(word)?;
        if reason.status() != status {
            let due = reason.status();
            let message =
                format!("status is {status}, but the refusal reason {reason} makes it {due}");
            let response = ValuePath::Root.key("response");
            let found =
                self.report.add(&rule::REFUSAL_STATUS_MISMATCH, &response.key("status"), message);
            found.expected_value = Some(due.to_string());
            found.actual_value = Some(status.to_string());
        }
        Some(reason)
    }

    fn security_flag(&mut self, place: &ValuePath<'_>, members: &Members, is_security: bool) {
        let place = place.key("security_flag");
        match members.get("security_flag") {
            Some(Value::Bool(flag)) if *flag || !is_security => {}
            Some(flag) => {
                let expected = if is_security { "true" } else { "true or false" };
                self.report.wrong(&rule::SECURITY_FLAG_WRONG, &place, flag, expected);
            }
            None if is_security => {
                let message = "the refusal is for a security reason and does not say so";
                self.report.add(&rule::SECURITY_FLAG_MISSING, &place, message).expected_value =
                    Some("true".to_owned());
            }
            None => {}
        }
    }
}

/// Returns the form that the data should have, or `None` if the data matches its type.
fn mismatch(kind: Option<ContentType>, data: &Value) -> Option<&'static str> {
    match (kind, data) {
        (Some(ContentType::Text), Value::String(_))
        | (Some(ContentType::Structured | ContentType::Mixed), Value::Object(_))
        | (None, Value::String(_) | Value::Object(_)) => None,
        (Some(ContentType::Text), _) => Some("a string, since the type is text"),
        (Some(_), Value::String(text)) if text.trim_start().starts_with(['{', '[']) => {
            Some("an object, not JSON text in a string")
        }
        (Some(ContentType::Structured), _) => Some("an object, since the type is structured"),
        (Some(ContentType::Mixed), _) => Some("an object, since the type is mixed"),
        (None, _) => Some("a string or an object"),
    }
}

/// True if the object has a string of this name that is not blank.
fn has_text(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_str).is_some_and(|text| !is_blank(text))
}
