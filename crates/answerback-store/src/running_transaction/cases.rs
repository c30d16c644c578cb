//! Stores cases, and records their changes as effects.

use answerback::UuidV7;
use answerback::case::{DecisionSubmission, decide};

use super::{RunningTransaction, checked_reference};
use crate::transaction::{Cases, NewCase, Transaction};
use crate::{CaseRecord, StoreError};

impl Cases for RunningTransaction<'_> {
    fn put_case(&mut self, new: &NewCase) -> Result<CaseRecord, StoreError> {
        let record = CaseRecord {
            case: new.case.clone(),
            created: self.now(),
            content: new.content.clone(),
            private: new.private.clone(),
            reference: new.reference.clone(),
        };
        if self.write(|engine| engine.put_case(&record))? {
            self.unit.effects.note_case(&record.case, &record.content)?;
            if let Some(key) = &new.blocked {
                self.unit.effects.note_block(&record.case, key);
            }
            for source in new.reference.iter().chain(&new.sources) {
                let source = checked_reference(source)?;
                self.write(|engine| engine.add_case_source(&record.case.id, source, false))?;
            }
            return Ok(record);
        }
        self.case(&record.case.id)?
            .ok_or_else(|| StoreError::Missing(format!("case {}", record.case.id)))
    }

    fn case(&mut self, id: &UuidV7) -> Result<Option<CaseRecord>, StoreError> {
        self.read(|engine| engine.case(id))
    }

    fn store_private(&mut self, id: &UuidV7, private: Option<&[u8]>) -> Result<(), StoreError> {
        self.scrub = true;
        self.write(|engine| engine.set_private(id, private))
    }

    fn add_words_source(&mut self, id: &UuidV7, reference: &str) -> Result<(), StoreError> {
        let reference = checked_reference(reference)?;
        self.write(|engine| engine.add_case_source(id, reference, true))
    }

    fn decide_case(
        &mut self,
        id: &UuidV7,
        submission: &DecisionSubmission,
    ) -> Result<CaseRecord, StoreError> {
        let stored = self.case(id)?.ok_or_else(|| StoreError::Missing(format!("case {id}")))?;
        let decided = decide(&stored.case, submission, self.now())?;
        if decided != stored.case {
            let swapped = self.write(|engine| engine.swap_case(&decided, stored.case.revision))?;
            if !swapped {
                return Err(StoreError::Damaged(format!("case {id} changed under the lock")));
            }
            self.unit.effects.note_case(&decided, &stored.content)?;
            self.scrub |= stored.private.is_some() && decided.decision().is_some();
        }
        Ok(CaseRecord { case: decided, ..stored })
    }
}
