use std::collections::HashSet;

use answerback_findings::{Profile, Rule, ValidationError};
use answerback_json::ValuePath;
use serde_json::{Map, Value};

use super::rule;
use crate::ContractFindings;
use crate::form::{is_relative_path, is_semver};
use crate::governed::check::preamble::{MOMENT, moment};
use crate::governed::{AgentId, AgentType, AgentVersion};

/// Checks a manifest by itself and returns every finding.
pub(crate) fn check(document: &Value, profile: Profile) -> Vec<ValidationError> {
    let mut report = ContractFindings::new(profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let mut check =
            ManifestCheck { report: &mut report, members, seen: UniqueNames::default() };
        check.heading();
        check.prompts();
        check.taxonomy();
        check.governance();
        check.report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

/// Returns true if a finding concerns one archetype's composition and does not affect the rest of the
/// manifest.
pub(crate) fn names_a_composition(finding: &ValidationError) -> bool {
    [&rule::COMPOSITION_SIZE, &rule::COMPOSITION_UNKNOWN, &rule::COMPOSITION_SUM]
        .iter()
        .any(|rule| finding.error_code == rule.code)
}

/// Returns true if a path is valid for a prompt file: it is relative and never leaves its folder.
pub(crate) fn is_prompt_file(path: &str) -> bool {
    is_relative_path(path)
        && !path.contains('\0')
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// Describes to people what [`is_prompt_file`] requires.
pub(crate) const PROMPT_FILE: &str =
    "a relative path with forward slashes and without .., such as domains/02-analysis.md";

type Members = Map<String, Value>;

struct ManifestCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    members: &'d Members,
    seen: UniqueNames<'d>,
}

/// Collects the keys, ids and files that must be unique within a manifest.
#[derive(Default)]
struct UniqueNames<'d> {
    keys: HashSet<&'d str>,
    ids: HashSet<&'d str>,
    files: HashSet<&'d str>,
}

const MEMBERS: &[&str] = &[
    "version",
    "generated",
    "description",
    "taxonomy",
    "domains",
    "archetypes",
    "orchestrators",
    "governance",
];

const GROUPS: [(&str, AgentType); 3] = [
    ("domains", AgentType::Domain),
    ("archetypes", AgentType::Archetype),
    ("orchestrators", AgentType::Orchestrator),
];

impl<'d> ManifestCheck<'_, 'd> {
    fn heading(&mut self) {
        let missing = &rule::MEMBER_MISSING;
        let form = (is_semver as fn(&str) -> bool, AgentVersion::EXPECTED);
        let rules = (missing, &rule::VERSION_WRONG);
        self.report.required_form(rules, form, &ValuePath::Root, self.members, "version");
        let is_moment: fn(&str) -> bool = |text| moment(text).is_some();
        let rules = (missing, &rule::GENERATED_WRONG);
        let form = (is_moment, MOMENT);
        self.report.required_form(rules, form, &ValuePath::Root, self.members, "generated");
        self.text(&ValuePath::Root, self.members, "description");
    }

    fn prompts(&mut self) {
        for (name, kind) in GROUPS {
            let Some(prompts) = self.group(name, kind != AgentType::Orchestrator) else { continue };
            let group = ValuePath::Root.key(name);
            for (key, entry) in prompts {
                let place = group.key(key);
                if !self.seen.keys.insert(key) {
                    let message = format!("{key:?} names another prompt already");
                    self.report.add(&rule::KEY_TWICE, &place, message);
                }
                if let Some(entry) = self.report.object(&rule::GROUP_WRONG, &place, entry) {
                    self.prompt(&place, entry, kind);
                }
            }
        }
    }

    fn prompt(&mut self, place: &ValuePath<'_>, entry: &'d Members, kind: AgentType) {
        let missing = &rule::MEMBER_MISSING;
        self.text(place, entry, "name");
        let file = self.report.required_form(
            (missing, &rule::FILE_WRONG),
            (is_prompt_file, PROMPT_FILE),
            place,
            entry,
            "file",
        );
        self.once(&rule::FILE_TWICE, place, "file", file, |seen| &mut seen.files);
        let id = self.report.required_form(
            (missing, &rule::CANONICAL_ID_WRONG),
            (AgentId::is_valid, AgentId::EXPECTED),
            place,
            entry,
            "canonical_id",
        );
        self.once(&rule::CANONICAL_ID_TWICE, place, "canonical_id", id, |seen| &mut seen.ids);
        self.report.required_form(
            (missing, &rule::PROMPT_VERSION_WRONG),
            (AgentVersion::is_valid, AgentVersion::EXPECTED),
            place,
            entry,
            "version",
        );
        if kind == AgentType::Archetype {
            self.composition(place, entry);
            self.text(place, entry, "purpose");
        } else {
            self.text(place, entry, "scope");
        }
    }

    fn once(
        &mut self,
        rule: &'static Rule,
        place: &ValuePath<'_>,
        name: &str,
        value: Option<&'d str>,
        among: for<'s> fn(&'s mut UniqueNames<'d>) -> &'s mut HashSet<&'d str>,
    ) {
        if let Some(value) = value
            && !among(&mut self.seen).insert(value)
        {
            let message = format!("another prompt has the {name} {value:?} already");
            self.report.add(rule, &place.key(name), message).actual_value = Some(value.to_owned());
        }
    }

    fn composition(&mut self, parent: &ValuePath<'_>, archetype: &'d Members) {
        let expected = "an object of domains and percentages";
        let missing = &rule::MEMBER_MISSING;
        let Some(value) = self.report.required(missing, parent, archetype, "composition", expected)
        else {
            return;
        };
        let place = parent.key("composition");
        let wrong = &rule::COMPOSITION_WRONG;
        let Some(parts) = self.report.object(wrong, &place, value) else { return };
        if !(2..=4).contains(&parts.len()) {
            let message = format!("it is composed of {}, not of two to four", parts.len());
            let found = self.report.add(&rule::COMPOSITION_SIZE, &place, message);
            found.expected_value = Some("2 to 4 domains".to_owned());
            found.actual_value = Some(parts.len().to_string());
        }
        let domains = self.members.get("domains").and_then(Value::as_object);
        let mut shares = Vec::with_capacity(parts.len());
        for (domain, share) in parts {
            let place = place.key(domain);
            if domains.is_some_and(|domains| !domains.contains_key(domain)) {
                let message = format!("there is no domain {domain:?}");
                self.report.add(&rule::COMPOSITION_UNKNOWN, &place, message).expected_value =
                    Some("the key of a domain".to_owned());
            }
            match share.as_u64().filter(|share| (1..=100).contains(share)) {
                Some(share) => shares.push(share),
                None => {
                    self.report.wrong(wrong, &place, share, "a whole number from 1 to 100");
                }
            }
        }
        // Invalid or missing shares cannot be summed.
        if shares.len() < parts.len() || shares.is_empty() {
            return;
        }
        let sum: u64 = shares.iter().sum();
        if sum != 100 {
            let message = format!("the percentages sum to {sum}");
            let found = self.report.add(&rule::COMPOSITION_SUM, &place, message);
            found.expected_value = Some("100".to_owned());
            found.actual_value = Some(sum.to_string());
        }
        let largest = shares.into_iter().max().unwrap_or(0);
        if !(40..=60).contains(&largest) {
            let message = format!("the largest share is {largest} percent");
            let found = self.report.add(&rule::COMPOSITION_PRIMARY, &place, message);
            found.expected_value = Some("40 to 60".to_owned());
            found.actual_value = Some(largest.to_string());
        }
    }

    fn taxonomy(&mut self) {
        let Some(taxonomy) = self.group("taxonomy", true) else { return };
        let listed = GROUPS.map(|(name, _)| {
            let group = self.members.get(name);
            match group {
                None => Some(0),
                Some(group) => group.as_object().map(|prompts| prompts.len() as u64),
            }
        });
        let counts = CountRules {
            missing: &rule::MEMBER_MISSING,
            wrong: &rule::COUNT_WRONG,
            mismatch: &rule::COUNT_MISMATCH,
        };
        counts.check(self.report, &ValuePath::Root.key("taxonomy"), taxonomy, listed);
    }

    fn governance(&mut self) {
        let Some(governance) = self.group("governance", true) else { return };
        let place = ValuePath::Root.key("governance");
        for (name, waived) in [
            ("immutable_domains", false),
            ("hash_verification_required", true),
            ("version_increment_required", false),
            ("archetype_composition_validation", true),
        ] {
            let missing = &rule::MEMBER_MISSING;
            let form = "true or false";
            let Some(value) = self.report.required(missing, &place, governance, name, form) else {
                continue;
            };
            let here = place.key(name);
            let flag = self.report.boolean(&rule::GOVERNANCE_WRONG, &here, value);
            if flag == Some(false) && waived {
                let message = format!("{name} is false; it is verified all the same");
                self.report.add(&rule::GOVERNANCE_WAIVED, &here, message);
            }
        }
    }

    /// Returns a group of the manifest as an object. It reports a required group that is missing, and a group
    /// that is not an object.
    fn group(&mut self, name: &str, required: bool) -> Option<&'d Members> {
        if required {
            let missing = &rule::MEMBER_MISSING;
            self.report.required(missing, &ValuePath::Root, self.members, name, "an object");
        }
        let value = self.members.get(name)?;
        self.report.object(&rule::GROUP_WRONG, &ValuePath::Root.key(name), value)
    }

    fn text(&mut self, parent: &ValuePath<'_>, members: &'d Members, name: &str) {
        let rules = (&rule::MEMBER_MISSING, &rule::TEXT_BLANK);
        self.report.required_text(rules, parent, members, name);
    }
}

/// Holds the rules for the counts that a manifest's taxonomy and a lock's integrity state.
pub(crate) struct CountRules {
    pub(crate) missing: &'static Rule,
    pub(crate) wrong: &'static Rule,
    pub(crate) mismatch: &'static Rule,
}

impl CountRules {
    /// Compares the stated counts with the numbers of listed domains, archetypes and orchestrators. `None` in
    /// `listed` means that a group could not be counted, which is already reported.
    pub(crate) fn check(
        &self,
        report: &mut ContractFindings,
        place: &ValuePath<'_>,
        stated: &Members,
        listed: [Option<u64>; 3],
    ) {
        let [domains, archetypes, orchestrators] = listed;
        let total = domains.zip(archetypes).zip(orchestrators);
        let total = total
            .map(|((domains, archetypes), orchestrators)| domains + archetypes + orchestrators);
        for (name, listed) in [
            ("domains", domains),
            ("archetypes", archetypes),
            ("orchestrators", orchestrators),
            ("total_prompts", total),
        ] {
            let value = match stated.get(name) {
                Some(value) => value,
                // Older documents have no count of orchestrators.
                None if name == "orchestrators" => continue,
                None => {
                    report.required(self.missing, place, stated, name, "how many there are");
                    continue;
                }
            };
            let here = place.key(name);
            let Some(count) = value.as_u64() else {
                report.wrong(self.wrong, &here, value, "a whole number, 0 or more");
                continue;
            };
            if let Some(listed) = listed
                && count != listed
            {
                let message = format!("{name} says {count}, but {listed} are listed");
                let found = report.add(self.mismatch, &here, message);
                found.expected_value = Some(listed.to_string());
                found.actual_value = Some(count.to_string());
            }
        }
    }
}
