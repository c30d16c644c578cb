//! Opens the case of a call that was stopped after the last attempt.

use answerback::retry::AttemptOutcome;
use answerback_ledger::{Draft, LeafId};
use answerback_store::{NewCase, StoreError, Transaction};

use super::AttemptInput;
use crate::call_facts::CallFacts;
use crate::case_encryption::CaseCipher;
use crate::case_private_data::CasePrivateData;

/// Holds the data of a case that is being opened.
pub(crate) struct OpenCase<'a> {
    pub(crate) attempt: &'a AttemptInput,
    pub(crate) facts: &'a CallFacts,
    /// True if a program waits for the person's decision.
    pub(crate) is_for_program: bool,
    pub(crate) cipher: Option<&'a CaseCipher>,
}

impl OpenCase<'_> {
    /// Opens a case for a new escalation.
    pub(crate) fn open(
        &self,
        transaction: &mut dyn Transaction,
        outcome: &AttemptOutcome,
        reference: &str,
    ) -> Result<(), StoreError> {
        let Some((case, content)) = self.attempt.case(outcome, transaction.now()) else {
            return Ok(());
        };
        let id = LeafId::try_from(&case.id).map_err(StoreError::unit)?;
        let (digest, revision) = (case.digest, case.revision);
        let redacted_arguments = self.attempt.redacted_arguments();
        let key = self.attempt.key.as_str();
        let schema = self.attempt.schema.as_ref();
        let private_data =
            CasePrivateData::new(key, &case.id, redacted_arguments.as_ref(), schema, self.cipher)
                .for_program(self.is_for_program);
        let mut new = NewCase::new(case, content)
            .with_reference(reference)
            .with_blocked_key(&self.attempt.key);
        // The case shows data of every attempt, so it refers to all their entries.
        for source in transaction.attempt_sources(&self.attempt.key)? {
            new = new.with_source(source);
        }
        transaction.put_case(&new.with_private(private_data.to_bytes()))?;
        let draft = self.facts.add_to(Draft::escalation(id, digest, revision));
        transaction.append(&draft)?;
        Ok(())
    }
}
