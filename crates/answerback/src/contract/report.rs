use serde_json::{Map, Value};

use super::Profile;
use crate::finding::{Rule, Severity, ValidationError, preview};
use crate::json::Place;

/// What a check has found so far, and the questions every contract asks of a member.
///
/// A question reports what is wrong under the rule it is given and answers with the typed value when
/// the member is usable, so that a check reads as a list of its rules and never stops at the first finding.
pub(crate) struct Report {
    profile: Profile,
    findings: Vec<ValidationError>,
}

impl Report {
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, findings: Vec::new() }
    }

    pub(crate) fn profile(&self) -> Profile {
        self.profile
    }

    pub(crate) fn into_findings(self) -> Vec<ValidationError> {
        self.findings
    }

    /// Adds a finding of `rule` at `place`, as severe as the profile makes it.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        place: &Place<'_>,
        message: impl Into<String>,
    ) -> &mut ValidationError {
        let severity = rule.severity_under(self.profile);
        let index = self.findings.len();
        self.findings.push(
            ValidationError::of(rule, place.pointer())
                .with_severity(severity)
                .with_message(message),
        );
        &mut self.findings[index]
    }

    /// Adds a finding that names what was expected and shows what is there.
    pub(crate) fn wrong(
        &mut self,
        rule: &'static Rule,
        place: &Place<'_>,
        value: &Value,
        expected: impl Into<String>,
    ) {
        let expected = expected.into();
        let found = self.add(rule, place, format!("{}: expected {expected}", rule.title));
        found.expected_value = Some(expected);
        found.actual_value = Some(preview(value));
    }

    /// Adds a finding that a required member is missing, at the member's own place.
    pub(crate) fn missing(
        &mut self,
        rule: &'static Rule,
        parent: &Place<'_>,
        name: &str,
        expected: &str,
    ) {
        let found =
            self.add(rule, &parent.key(name), format!("the required member {name:?} is missing"));
        found.expected_value = Some(expected.to_owned());
    }

    /// The root as an object.
    pub(crate) fn root<'d>(
        &mut self,
        rule: &'static Rule,
        document: &'d Value,
    ) -> Option<&'d Map<String, Value>> {
        let members = document.as_object();
        if members.is_none() {
            self.wrong(rule, &Place::Root, document, "an object");
        }
        members
    }

    /// Warns of every member that the contract does not know.
    pub(crate) fn unknown_members(
        &mut self,
        rule: &'static Rule,
        place: &Place<'_>,
        members: &Map<String, Value>,
        known: &[&str],
    ) {
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let shown = preview(&Value::from(name.as_str()));
            self.add(rule, &place.key(name), format!("{shown} is not a member of this contract"));
        }
    }

    /// Whether anything found so far is an error.
    pub(crate) fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}
