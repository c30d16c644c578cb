//! An attempt counted and written down with what is answered, in one transaction.

use answerback::retry::Outcome;
use answerback_ledger::{Draft, Part};
use answerback_store::{Appended, StoreError, entry_reference};

use crate::Recorder;
use crate::attempt::AttemptInput;
use crate::decide::resolve_by_model;
use crate::open_case::OpenCase;
use crate::record::About;

/// An attempt with all that its entry says, whatever becomes of it. It owns all of that, so that a unit of work can hold
/// it.
pub(crate) struct Counting {
    pub(crate) attempt: AttemptInput,
    pub(crate) about: About,
    /// The call as it came.
    pub(crate) parts: Vec<Part>,
    /// Whether a program waits for what a person decides; otherwise a model behind us is told.
    pub(crate) is_awaited: bool,
    /// The entry, by what became of the call.
    pub(crate) entry: fn(&AttemptInput, &Outcome) -> Draft,
}

/// What an attempt came to.
pub(crate) struct Counted<T> {
    pub(crate) outcome: Outcome,
    /// What is answered.
    pub(crate) answer: T,
    /// Where it is in the record.
    pub(crate) appended: Appended,
}

impl Counting {
    /// Counts the attempt. `answer` says what is answered to an outcome: as the record has it, and as it is.
    pub(crate) async fn count<T: Send + 'static>(
        self,
        recorder: &Recorder,
        answer: impl Fn(&Outcome) -> (Option<String>, T) + Send + 'static,
    ) -> Result<Counted<T>, StoreError> {
        let weight = self.parts.iter().map(|part| part.bytes().len()).sum::<usize>() + 8192;
        let keeping = recorder.clone();
        let ticket = recorder.store().write_weighing(weight, move |transaction| {
            let Self { attempt, about, parts, is_awaited, entry } = &self;
            attempt.count(transaction, |transaction, outcome| {
                let draft = about.on(entry(attempt, outcome));
                let mut draft = parts.iter().cloned().fold(draft, Draft::with_part);
                let (delivered, told) = answer(outcome);
                if let Some(delivered) = delivered {
                    let delivered = keeping.parts("delivered", &delivered, None)?;
                    draft = delivered.into_iter().fold(draft, Draft::with_part);
                }
                let appended = transaction.append(&draft)?;
                let reference = entry_reference(appended.index);
                let (seal, is_awaited) = (keeping.seal(), *is_awaited);
                let case = OpenCase { attempt, about, is_awaited, seal: seal.as_deref() };
                case.open(transaction, outcome, &reference)?;
                if let Outcome::Proceed(proceed) = outcome
                    && let Some(case) = &proceed.resolved
                {
                    resolve_by_model(transaction, &keeping, case)?;
                }
                Ok(((appended, told), reference))
            })
        })?;
        let (outcome, (appended, answer)) = ticket.await?.value;
        Ok(Counted { outcome, answer, appended })
    }
}
