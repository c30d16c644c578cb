//! Counts an attempt and records it with its response, in one transaction.

use answerback::retry::AttemptOutcome;
use answerback_ledger::{Draft, Part};
use answerback_store::{Appended, StoreError, entry_reference};

use crate::Recorder;
use crate::attempt::AttemptInput;
use crate::decide::resolve_by_model;
use crate::open_case::OpenCase;
use crate::record::About;

/// Holds an attempt with the content of its entry. It owns its data, because it is moved into a transaction.
pub(crate) struct Counting {
    pub(crate) attempt: AttemptInput,
    pub(crate) about: About,
    /// The parts of the entry that hold the received call.
    pub(crate) parts: Vec<Part>,
    /// True if a program waits for the person's decision. Otherwise the model receives it with a later call.
    pub(crate) is_awaited: bool,
    /// Builds the entry from the outcome.
    pub(crate) entry: fn(&AttemptInput, &AttemptOutcome) -> Draft,
}

/// Holds the result of a counted attempt.
pub(crate) struct Counted<T> {
    pub(crate) outcome: AttemptOutcome,
    /// The response.
    pub(crate) answer: T,
    /// The place of the entry in the ledger.
    pub(crate) appended: Appended,
}

impl Counting {
    /// Counts the attempt. `answer` returns the response to an outcome, as the ledger stores it and as a value.
    pub(crate) async fn count<T: Send + 'static>(
        self,
        recorder: &Recorder,
        answer: impl Fn(&AttemptOutcome) -> (Option<String>, T) + Send + 'static,
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
                if let AttemptOutcome::Proceed(proceed) = outcome
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
