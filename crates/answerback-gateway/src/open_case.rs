use answerback::retry::Outcome;
use answerback_ledger::{Draft, Id};
use answerback_store::{NewCase, StoreError, Transaction};

use crate::attempt::AttemptInput;
use crate::original::Kept;
use crate::record::About;
use crate::seal::Seal;

/// A case on its way to a person.
pub(crate) struct OpenCase<'a> {
    pub(crate) attempt: &'a AttemptInput,
    pub(crate) about: &'a About,
    /// Whether a program waits for what the person decides.
    pub(crate) is_awaited: bool,
    pub(crate) seal: Option<&'a Seal>,
}

impl OpenCase<'_> {
    /// Lays a new escalation before a person.
    pub(crate) fn open(
        &self,
        transaction: &mut dyn Transaction,
        outcome: &Outcome,
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
        // What is shown tells of every attempt, and of the first call most.
        for source in transaction.attempt_sources(&self.attempt.key)? {
            new = new.with_source(source);
        }
        transaction.put_case(&new.with_private(kept.to_bytes()))?;
        let draft = self.about.on(Draft::escalation(id, digest, revision));
        transaction.append(&draft)?;
        Ok(())
    }
}
