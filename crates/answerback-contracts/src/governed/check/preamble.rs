//! Checks the members that responses and handoffs share: the timestamp and the protocol version.

use answerback_findings::{Rule, ValidationError};
use answerback_json::ValuePath;
use answerback_json::time::{Timestamp, Zone};
use serde_json::{Map, Value};

use crate::ContractFindings;
use crate::form::is_semver;
use crate::governed::ProtocolVersion;
use crate::governed::identity::is_newer_edition;

/// The expected form of a timestamp, as shown to people.
pub(crate) const MOMENT: &str = "a date and time such as 2026-02-11T00:45:15Z";

/// The rules under which a contract reports problems of these members.
pub(crate) struct PreambleRules {
    pub(crate) missing: &'static Rule,
    pub(crate) timestamp: &'static Rule,
    /// The rule for a timestamp without a time zone.
    pub(crate) naive: &'static Rule,
    pub(crate) protocol: &'static Rule,
    /// The rule for a major version other than 1.
    pub(crate) major: &'static Rule,
    /// The rule for a version newer than the one that this library knows.
    pub(crate) newer: &'static Rule,
}

/// Checks `timestamp`.
pub(crate) fn timestamp(
    report: &mut ContractFindings,
    rules: &PreambleRules,
    members: &Map<String, Value>,
) {
    let Some(time) = report.required(rules.missing, &ValuePath::Root, members, "timestamp", MOMENT)
    else {
        return;
    };
    let place = ValuePath::Root.key("timestamp");
    match time.as_str().and_then(moment) {
        None => report.wrong(rules.timestamp, &place, time, MOMENT),
        Some((_, Zone::Naive)) => report.wrong(rules.naive, &place, time, "Z or an offset"),
        Some(_) => {}
    }
}

/// The tolerated difference between the clocks of two machines, in milliseconds.
const CLOCK_TOLERANCE: i64 = 5 * 60 * 1000;

/// Checks that `timestamp` is not in the future. A timestamp that cannot be parsed has a finding of its own.
pub(crate) fn not_in_the_future(
    rule: &'static Rule,
    document: &Value,
    now: Timestamp,
) -> Option<ValidationError> {
    let (time, _) = moment(document.get("timestamp")?.as_str()?)?;
    if time.unix_millis() <= now.unix_millis().saturating_add(CLOCK_TOLERANCE) {
        return None;
    }
    let message = format!("the timestamp {time} is in the future; it is {now} now");
    let place = ValuePath::Root.key("timestamp").pointer();
    Some(ValidationError::of(rule, place).with_message(message).with_actual(time.to_string()))
}

/// Checks `protocol_version`.
pub(crate) fn protocol_version(
    report: &mut ContractFindings,
    rules: &PreambleRules,
    members: &Map<String, Value>,
) {
    let (name, form) = ("protocol_version", ProtocolVersion::EXPECTED);
    let Some(version) = report.required(rules.missing, &ValuePath::Root, members, name, form)
    else {
        return;
    };
    let place = ValuePath::Root.key(name);
    match version.as_str() {
        Some(text) if !is_semver(text) => report.wrong(rules.protocol, &place, version, form),
        Some(text) if !ProtocolVersion::is_valid(text) => {
            report.wrong(rules.major, &place, version, form);
        }
        Some(text) if is_newer_edition(text) => report.wrong(rules.newer, &place, version, "1.0.0"),
        Some(_) => {}
        None => report.wrong(rules.protocol, &place, version, form),
    }
}

/// Parses an ISO 8601 date and time with a `T` between the two.
pub(crate) fn moment(text: &str) -> Option<(Timestamp, Zone)> {
    let read = Timestamp::parse(text).ok()?;
    matches!(text.as_bytes().get(10), Some(b'T' | b't')).then_some(read)
}
