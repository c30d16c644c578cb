use answerback::retry::AttemptOutcome;
use answerback_ledger::{Draft, Id};
use answerback_store::{NewCase, StoreError, Transaction};

use crate::attempt::AttemptInput;
use crate::original::Kept;
use crate::record::About;
use crate::seal::Seal;

/// Holds the data of a case that is being opened.
pub(crate) struct OpenCase<'a> {
    pub(crate) attempt: &'a AttemptInput,
    pub(crate) about: &'a About,
    /// True if a program waits for the person's decision.
    pub(crate) is_awaited: bool,
    pub(crate) seal: Option<&'a Seal>,
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
        let id = Id::try_from(&case.id).map_err(StoreError::unit)?;
        let (digest, revision) = (case.digest, case.revision);
        let original = self.attempt.original();
        let key = self.attempt.key.as_str();
        let schema = self.attempt.schema.as_ref();
        let kept = Kept::new(key, &case.id, original.as_ref(), schema, self.seal)
            .with_awaited(self.is_awaited);
        let mut new = NewCase::new(case, content)
            .with_reference(reference)
            .with_blocked_key(&self.attempt.key);
        // The case shows data of every attempt, so it refers to all their entries.
        for source in transaction.attempt_sources(&self.attempt.key)? {
            new = new.with_source(source);
        }
        transaction.put_case(&new.with_private(kept.to_bytes()))?;
        let draft = self.about.on(Draft::escalation(id, digest, revision));
        transaction.append(&draft)?;
        Ok(())
    }
}
