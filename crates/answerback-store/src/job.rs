use answerback_ledger::Hash;

use crate::StoreError;
use crate::engine::LookupHint;
use crate::running_transaction::RunningTransaction;
use crate::ticket::{Commit, Promise, Ticket, ticket};

/// A unit of work in the writer's queue.
pub(crate) trait WriterJob: Send {
    fn lookup_hint(&self) -> LookupHint;
    /// Runs the unit. It may run again if the transaction could not be committed.
    fn run(&mut self, work: &mut RunningTransaction<'_>) -> Result<(), StoreError>;
    /// Completes the ticket with the value after the commit, or with the error.
    fn finish(self: Box<Self>, outcome: Result<(u64, Hash), StoreError>);
}

struct UnitJob<T, F> {
    lookup_hint: LookupHint,
    unit: F,
    value: Option<T>,
    promise: Promise<T>,
}

impl<T, F> WriterJob for UnitJob<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send,
{
    fn lookup_hint(&self) -> LookupHint {
        self.lookup_hint
    }

    fn run(&mut self, work: &mut RunningTransaction<'_>) -> Result<(), StoreError> {
        self.value = Some((self.unit)(work)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(u64, Hash), StoreError>) {
        let Self { value, promise, .. } = *self;
        match (outcome, value) {
            (Ok((size, root)), Some(value)) => promise.fulfil(Ok(Commit { value, size, root })),
            (Ok(_), None) => promise.fulfil(Err(StoreError::Closed)),
            (Err(error), _) => promise.fulfil(Err(error)),
        }
    }
}

pub(crate) fn job<T: Send + 'static>(
    lookup_hint: LookupHint,
    unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Box<dyn WriterJob>, Ticket<T>) {
    let (promise, ticket) = ticket();
    (Box::new(UnitJob { lookup_hint, unit, value: None, promise }), ticket)
}
