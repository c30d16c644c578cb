use answerback_findings::{Profile, ValidationError};
use answerback_json::ValuePath;
use serde_json::{Map, Value};

use super::{LockfileVersion, rule};
use crate::ContractFindings;
use crate::form::is_semver;
use crate::governance::manifest::{CountRules, PROMPT_FILE, is_prompt_file};
use crate::governed::check::preamble::{MOMENT, moment};
use crate::governed::{AgentType, AgentVersion, PromptHash};

/// Checks a lock by itself and returns every finding.
pub(crate) fn check(document: &Value, profile: Profile) -> Vec<ValidationError> {
    let mut report = ContractFindings::new(profile);
    if let Some(members) = report.root(&rule::NOT_AN_OBJECT, document) {
        let mut check = LockCheck { report: &mut report, members };
        check.heading();
        check.algorithm();
        check.prompts();
        check.report.unknown_members(&rule::MEMBER_UNKNOWN, &ValuePath::Root, members, MEMBERS);
    }
    report.into_findings()
}

type Members = Map<String, Value>;

struct LockCheck<'c, 'd> {
    report: &'c mut ContractFindings,
    members: &'d Members,
}

const MEMBERS: &[&str] = &[
    "version",
    "lockfileVersion",
    "generated",
    "description",
    "algorithm",
    "prompts",
    "integrity",
];

impl<'d> LockCheck<'_, 'd> {
    fn heading(&mut self) {
        let missing = &rule::MEMBER_MISSING;
        let form = (is_semver as fn(&str) -> bool, AgentVersion::EXPECTED);
        let rules = (missing, &rule::VERSION_WRONG);
        self.report.required_form(rules, form, &ValuePath::Root, self.members, "version");
        let is_moment: fn(&str) -> bool = |text| moment(text).is_some();
        let rules = (missing, &rule::GENERATED_WRONG);
        let form = (is_moment, MOMENT);
        self.report.required_form(rules, form, &ValuePath::Root, self.members, "generated");
        let rules = (missing, &rule::DESCRIPTION_BLANK);
        self.report.required_text(rules, &ValuePath::Root, self.members, "description");
    }

    fn algorithm(&mut self) {
        let number = self.required("lockfileVersion", "1 or 2");
        let version =
            number.and_then(Value::as_u64).and_then(|n| LockfileVersion::try_from(n).ok());
        if let (Some(number), None) = (number, version) {
            let place = ValuePath::Root.key("lockfileVersion");
            self.report.wrong(&rule::LOCKFILE_VERSION_WRONG, &place, number, "1 or 2");
        }
        let Some(algorithm) = self.required("algorithm", "SHA-256") else { return };
        let spellings =
            [LockfileVersion::One, LockfileVersion::Two].map(LockfileVersion::algorithm);
        let place = ValuePath::Root.key("algorithm");
        match (algorithm.as_str(), version) {
            (Some(word), Some(version)) if word == version.algorithm() => {}
            (Some(word), None) if spellings.contains(&word) => {}
            (Some(word), Some(version)) if spellings.contains(&word) => {
                let number = version.number();
                let expected =
                    format!("{}, since lockfileVersion is {number}", version.algorithm());
                self.report.wrong(&rule::ALGORITHM_WRONG, &place, algorithm, expected);
            }
            // A wrong spelling may be a warning, but another algorithm is an error under any profile.
            _ => {
                let expected = spellings.join(" or ");
                self.report.wrong(&rule::ALGORITHM_UNKNOWN, &place, algorithm, expected);
            }
        }
    }

    fn prompts(&mut self) {
        let prompts = self.group("prompts");
        let group = ValuePath::Root.key("prompts");
        let mut listed = [Some(0), Some(0), Some(0)];
        if prompts.is_none() {
            listed = [None; 3];
        }
        for (key, entry) in prompts.into_iter().flatten() {
            let place = group.key(key);
            let entry = self.report.object(&rule::GROUP_WRONG, &place, entry);
            match entry.and_then(|entry| self.prompt(&place, entry)) {
                Some(kind) => {
                    let at = AgentType::ALL.iter().position(|one| *one == kind).unwrap_or(0);
                    listed[at] = listed[at].map(|count: u64| count + 1);
                }
                // The type of the entry is unknown, so the counts cannot be compared.
                None => listed = [None; 3],
            }
        }
        let Some(integrity) = self.group("integrity") else { return };
        let counts = CountRules {
            missing: &rule::MEMBER_MISSING,
            wrong: &rule::COUNT_WRONG,
            mismatch: &rule::COUNT_MISMATCH,
        };
        counts.check(self.report, &ValuePath::Root.key("integrity"), integrity, listed);
    }

    /// Checks one entry and returns its agent type, or `None` if the type is not valid.
    fn prompt(&mut self, place: &ValuePath<'_>, entry: &'d Members) -> Option<AgentType> {
        let missing = &rule::MEMBER_MISSING;
        let rules = (missing, &rule::FILE_WRONG);
        self.report.required_form(rules, (is_prompt_file, PROMPT_FILE), place, entry, "file");
        let form = (PromptHash::is_valid as fn(&str) -> bool, PromptHash::EXPECTED);
        self.report.required_form((missing, &rule::HASH_WRONG), form, place, entry, "hash");
        let kind = self.report.required_word((missing, &rule::TYPE_WRONG), place, entry, "type");
        let form = (AgentVersion::is_valid as fn(&str) -> bool, AgentVersion::EXPECTED);
        let rules = (missing, &rule::PROMPT_VERSION_WRONG);
        self.report.required_form(rules, form, place, entry, "version");
        kind
    }

    fn group(&mut self, name: &str) -> Option<&'d Members> {
        let value = self.required(name, "an object")?;
        self.report.object(&rule::GROUP_WRONG, &ValuePath::Root.key(name), value)
    }

    fn required(&mut self, name: &str, expected: &str) -> Option<&'d Value> {
        let missing = &rule::MEMBER_MISSING;
        self.report.required(missing, &ValuePath::Root, self.members, name, expected)
    }
}
