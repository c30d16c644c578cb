use std::borrow::Cow;

use answerback_findings::{Preview, Profile, Rule, ValidationError, preview};
use answerback_json::ValuePath;
use answerback_redaction::{is_blank, redact};
use serde_json::{Map, Value};

use crate::word::{Word, WordList};

/// Collects the findings of a check, and offers the checks of a single member that every contract needs.
///
/// Each method reports a problem under the given rule, and returns the typed value if it is valid. A check
/// therefore reads as a list of its rules and never stops at the first finding.
pub(crate) struct ContractFindings {
    profile: Profile,
    findings: Vec<ValidationError>,
}

type Members = Map<String, Value>;

impl ContractFindings {
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, findings: Vec::new() }
    }

    pub(crate) fn into_findings(self) -> Vec<ValidationError> {
        self.findings
    }

    /// Adds a finding of `rule` at `place`. The profile decides its severity.
    pub(crate) fn add(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        message: impl Into<String>,
    ) -> &mut ValidationError {
        let severity = rule.severity_under(self.profile);
        // Messages quote values of the document, which may be secret.
        let mut message = message.into();
        if let Cow::Owned(redacted) = redact(&message) {
            message = redacted;
        }
        let finding = ValidationError::of(rule, place.pointer())
            .with_severity(severity)
            .with_message(message);
        self.findings.push(finding);
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Adds a finding with the expected form and a preview of the value.
    pub(crate) fn wrong(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &Value,
        expected: impl Into<String>,
    ) {
        let expected = expected.into();
        let found = self.add(rule, place, format!("expected {expected}"));
        found.expected_value = Some(expected);
        found.actual_value = Some(Preview::new().show_at(&found.field_path, value));
    }

    /// Returns the document as an object, or reports that it is not one.
    pub(crate) fn root<'d>(
        &mut self,
        rule: &'static Rule,
        document: &'d Value,
    ) -> Option<&'d Members> {
        self.object(rule, &ValuePath::Root, document)
    }

    /// Returns a required member. A missing member is reported at its own place.
    pub(crate) fn required<'d>(
        &mut self,
        rule: &'static Rule,
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
        expected: &str,
    ) -> Option<&'d Value> {
        let member = members.get(name);
        if member.is_none() {
            let message = format!("the required member {name:?} is missing");
            self.add(rule, &parent.key(name), message).expected_value = Some(expected.to_owned());
        }
        member
    }

    /// Returns the value as an object, or reports that it is not one.
    pub(crate) fn object<'d>(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &'d Value,
    ) -> Option<&'d Members> {
        let members = value.as_object();
        if members.is_none() {
            self.wrong(rule, place, value, "an object");
        }
        members
    }

    /// Returns the value as an array, or reports that it is not one.
    pub(crate) fn array<'d>(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &'d Value,
    ) -> Option<&'d [Value]> {
        let elements = value.as_array();
        if elements.is_none() {
            self.wrong(rule, place, value, "an array");
        }
        elements.map(Vec::as_slice)
    }

    /// Returns the value as a string, or reports that it is not one.
    pub(crate) fn string<'d>(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &'d Value,
    ) -> Option<&'d str> {
        let text = value.as_str();
        if text.is_none() {
            self.wrong(rule, place, value, "a string");
        }
        text
    }

    /// Returns the value as a string that is not blank, or reports that it is not one.
    pub(crate) fn text<'d>(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &'d Value,
    ) -> Option<&'d str> {
        let text = value.as_str().filter(|text| !is_blank(text));
        if text.is_none() {
            self.wrong(rule, place, value, "a string that is not blank");
        }
        text
    }

    /// Returns the value as a boolean, or reports that it is not one.
    pub(crate) fn boolean(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &Value,
    ) -> Option<bool> {
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(rule, place, value, "true or false");
        }
        flag
    }

    /// Returns the value as one of a closed set of words, or reports that it is not one.
    pub(crate) fn one_of<'d>(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        value: &'d Value,
        words: &[&str],
    ) -> Option<&'d str> {
        let word = value.as_str().filter(|word| words.contains(word));
        if word.is_none() {
            self.wrong(rule, place, value, format!("one of: {}", words.join(", ")));
        }
        word
    }

    /// Returns a required string that is not blank. Missing and blank strings are reported under separate
    /// rules.
    pub(crate) fn required_text<'d>(
        &mut self,
        (missing, blank): (&'static Rule, &'static Rule),
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
    ) -> Option<&'d str> {
        let value = self.required(missing, parent, members, name, "a string that is not blank")?;
        self.text(blank, &parent.key(name), value)
    }

    /// Returns a required word of a closed set. Missing and wrong words are reported under separate rules.
    pub(crate) fn required_word<W: Word>(
        &mut self,
        (missing, wrong): (&'static Rule, &'static Rule),
        parent: &ValuePath<'_>,
        members: &Members,
        name: &str,
    ) -> Option<W> {
        let Some(value) = members.get(name) else {
            // The list of words is only built if it is needed.
            self.required(missing, parent, members, name, &WordList(W::WORDS).to_string());
            return None;
        };
        self.one_of(wrong, &parent.key(name), value, W::WORDS).and_then(W::from_word)
    }

    /// Returns a required string of a fixed form. Missing and wrong strings are reported under separate
    /// rules.
    pub(crate) fn required_form<'d>(
        &mut self,
        (missing, wrong): (&'static Rule, &'static Rule),
        (is_form, expected): (fn(&str) -> bool, &str),
        parent: &ValuePath<'_>,
        members: &'d Members,
        name: &str,
    ) -> Option<&'d str> {
        let value = self.required(missing, parent, members, name, expected)?;
        let text = value.as_str().filter(|text| is_form(text));
        if text.is_none() {
            self.wrong(wrong, &parent.key(name), value, expected);
        }
        text
    }

    /// Reports every member that the contract does not define.
    pub(crate) fn unknown_members(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        members: &Members,
        known: &[&str],
    ) {
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let shown = preview(&Value::from(name.as_str()));
            self.add(rule, &place.key(name), format!("{shown} is not a member of this contract"));
        }
    }
}
