//! Checks a handoff against manifest and lock.

use answerback_findings::{Profile, ValidationError, preview};
use answerback_json::ValuePath;
use serde_json::Value;

use crate::ContractFindings;
use crate::governance::Authority;
use crate::governance::handoff::{self, rule};
use crate::governed::check::identity;

impl Authority {
    /// Checks a handoff by itself and against manifest and lock, and returns every finding.
    pub fn check_handoff(&self, document: &Value, profile: Profile) -> Vec<ValidationError> {
        let mut findings = handoff::check(document, profile);
        let mut report = ContractFindings::new(profile);
        if let Some(complaint) = self.complaint() {
            let message = format!("nothing can be verified: {complaint}");
            report.add(&rule::AUTHORITY_BROKEN, &ValuePath::Root, message);
        }
        for name in handoff::AGENTS {
            if let Some(members) = document.get(name).and_then(Value::as_object) {
                let place = ValuePath::Root.key(name);
                // The check above has already reported malformed members, so this report is dropped.
                let mut aside = ContractFindings::new(profile);
                let claimed = identity::read(&mut aside, &handoff::IDENTITY, &place, members);
                self.agent_of_handoff(&mut report, &place, &claimed);
            }
        }
        findings.extend(report.into_findings());
        findings
    }

    fn agent_of_handoff(
        &self,
        report: &mut ContractFindings,
        place: &ValuePath<'_>,
        claimed: &identity::Claimed<'_>,
    ) {
        let Some(id) = claimed.agent_id.filter(|_| self.knows_agents()) else { return };
        let here = place.key("agent_id");
        let Some(agent) = self.agent(id) else {
            let found = report.add(&rule::AGENT_UNKNOWN, &here, self.unknown(id).to_string());
            found.actual_value = Some(preview(&Value::from(id)));
            return;
        };
        match &agent.identity {
            Some(observed) => {
                identity::compare(report, &handoff::IDENTITY, place, claimed, observed);
            }
            None => {
                let message = format!("the lock has no prompt of {id}");
                report.add(&rule::AGENT_NOT_LOCKED, &here, message);
            }
        }
        if let Some(finding) = agent.composition.first() {
            let message = format!("the composition of {id} is broken: {}", finding.message);
            report.add(&rule::COMPOSITION_BROKEN, &here, message);
        }
    }
}
