//! The documents to check against: the manifest, the lock and the handoff named on the command line.

use std::path::PathBuf;

use answerback::ValidationError;
use answerback::contract::{Contract, Profile, recognise};
use answerback::governance::{
    Authority, Disagreement, Verification, compare_documents, not_compared,
};
use answerback::json::{Document, Limits};
use anyhow::bail;
use serde_json::{Value, json};

use crate::input::InputSource;

/// The options for the documents to check against.
#[derive(Debug, clap::Args)]
pub(crate) struct GovernanceOptions {
    /// Check responses, handoffs and locks against this manifest
    #[arg(long, value_name = "FILE", help_heading = "Governance")]
    manifest: Option<PathBuf>,

    /// Check responses, handoffs and manifests against this lock
    #[arg(long, value_name = "FILE", help_heading = "Governance")]
    lock: Option<PathBuf>,

    /// Check responses together with the handoff that they answer
    #[arg(long, value_name = "FILE", help_heading = "Governance", requires_all = ["manifest", "lock"])]
    handoff: Option<PathBuf>,
}

/// The parsed documents.
pub(crate) struct GovernanceInputs {
    manifest: Option<Value>,
    lock: Option<Value>,
    handoff: Option<Value>,
    /// The authority, if both manifest and lock are given.
    authority: Option<Authority>,
}

/// The result of checking one document.
pub(crate) enum DocumentVerdict<'a> {
    /// The findings.
    Checked(Vec<ValidationError>),
    /// A verified response.
    Verified(Verification<'a>),
    /// The option that is missing for checking the document.
    Needs(&'static str),
}

impl GovernanceInputs {
    pub(crate) fn read(options: &GovernanceOptions, limits: Limits) -> anyhow::Result<Self> {
        let read = |path: &Option<PathBuf>, contract: Contract| {
            path.as_ref()
                .map(|path| document(&InputSource::new(path), contract, limits))
                .transpose()
        };
        let manifest = read(&options.manifest, Contract::Manifest)?;
        let lock = read(&options.lock, Contract::Lock)?;
        let handoff = read(&options.handoff, Contract::Handoff)?;
        let authority = manifest
            .as_ref()
            .zip(lock.as_ref())
            .map(|(manifest, lock)| Authority::new(manifest, lock));
        Ok(Self { manifest, lock, handoff, authority })
    }

    /// Checks a document by itself and against the given documents. Findings of the parser come first.
    pub(crate) fn check(
        &self,
        contract: Contract,
        document: &Document,
        profile: Profile,
    ) -> DocumentVerdict<'_> {
        let with_reading = |found: Vec<ValidationError>| {
            DocumentVerdict::Checked(document.findings.iter().cloned().chain(found).collect())
        };
        match (contract, &self.authority) {
            (Contract::Governed, Some(authority)) => {
                let handoff = self.handoff.as_ref();
                DocumentVerdict::Verified(authority.verify_document(document, handoff, profile))
            }
            (Contract::Handoff, Some(authority)) => {
                with_reading(authority.check_handoff(&document.value, profile))
            }
            (Contract::Governed | Contract::Handoff, None) if self.manifest.is_some() => {
                DocumentVerdict::Needs("--lock LOCK")
            }
            (Contract::Governed | Contract::Handoff, None) if self.lock.is_some() => {
                DocumentVerdict::Needs("--manifest MANIFEST")
            }
            _ => {
                let mut findings = contract.check(&document.value, profile);
                findings.extend(self.disagreements(contract, &document.value));
                with_reading(findings)
            }
        }
    }

    /// Compares a manifest with the given lock, or a lock with the given manifest. If the given document is invalid,
    /// that is an error, and the valid parts are still compared.
    fn disagreements(&self, contract: Contract, document: &Value) -> Vec<ValidationError> {
        let (other, of, found) = match (contract, &self.manifest, &self.lock) {
            (Contract::Manifest, _, Some(lock)) => {
                let found = compare_documents(document, lock);
                (lock, Contract::Lock, found.iter().map(Disagreement::of_manifest).collect())
            }
            (Contract::Lock, Some(manifest), _) => {
                let found = compare_documents(manifest, document);
                (manifest, Contract::Manifest, found.iter().map(Disagreement::of_lock).collect())
            }
            _ => return Vec::new(),
        };
        let found: Vec<ValidationError> = found;
        let unsound = not_compared(of, &of.check(other, Profile::Lenient));
        unsound.into_iter().chain(found).collect()
    }
}

/// Reads a document of this contract. Any other document is an error.
pub(crate) fn document(
    input: &InputSource,
    contract: Contract,
    limits: Limits,
) -> anyhow::Result<Value> {
    recognised(input.document(limits)?, &input.name(), contract)
}

/// Returns the value of a document that must have this contract.
pub(crate) fn recognised(
    document: Document,
    name: &str,
    contract: Contract,
) -> anyhow::Result<Value> {
    if let Some(finding) = document.findings.iter().find(|finding| finding.is_error()) {
        bail!("{name}: {finding}");
    }
    let title = contract.title();
    match recognise(&document.value) {
        Some(found) if found.contract == contract => Ok(document.value),
        Some(found) => {
            bail!("{name} is not a {title} but a {}: {}", found.contract.title(), found.reason)
        }
        None => bail!("{name} is not recognised as a {title}"),
    }
}

/// Converts a verification to JSON: the computed values next to the claimed ones, or the required refusal.
pub(crate) fn verification_json(verification: &Verification<'_>) -> Value {
    match verification {
        Verification::Accepted(accepted) => {
            let scope: Vec<Value> = accepted
                .scope
                .iter()
                .map(|scope| {
                    json!({"agent_id": scope.canonical_id, "percent": scope.percent, "scope": scope.text})
                })
                .collect();
            let claims: Vec<Value> = accepted
                .claims
                .iter()
                .map(|claim| {
                    json!({"flag": claim.flag, "claimed": claim.claimed, "observed": claim.observed})
                })
                .collect();
            json!({"accepted": true, "halt": accepted.halts, "agent": accepted.agent, "scope": scope, "claims": claims})
        }
        Verification::Refused(refused) => json!({
            "accepted": false,
            "halt": refused.halts(),
            "severity": refused.severity(),
            "refusal": refused.refusal,
        }),
    }
}

/// Formats a verification as lines for people.
pub(crate) fn verification_lines(verification: &Verification<'_>) -> Vec<String> {
    match verification {
        Verification::Accepted(accepted) => {
            let agent = accepted.agent;
            let named = |wanted: fn(Option<bool>) -> bool| {
                let flags = accepted.claims.iter().filter(|claim| wanted(claim.observed));
                flags.map(|claim| claim.flag.as_str()).collect::<Vec<_>>().join(", ")
            };
            let mut lines = vec![format!(
                "accepted: {} {} version {}, prompt hash as locked",
                agent.agent_type, agent.agent_id, agent.agent_version
            )];
            let computed = named(|observed| observed.is_some());
            if !computed.is_empty() {
                lines.push(format!("computed: {computed}"));
            }
            lines.push(format!("claimed only: {}", named(|observed| observed.is_none())));
            if accepted.halts {
                lines.push("halt: it refuses for a security reason".to_owned());
            }
            lines
        }
        Verification::Refused(refused) => {
            let (reason, severity) = (refused.refusal.refusal_reason, refused.severity());
            let halt = if refused.halts() { "; security flag, halt" } else { "" };
            vec![format!("refusal: {reason} ({severity}){halt}")]
        }
    }
}
