use answerback_ledger::Hash;

use crate::StoreError;
use crate::engine::Foreseen;
use crate::ticket::{Committed, Promise, Ticket, ticket};
use crate::work::RunningTransaction;

/// A unit of work in the writer's queue.
pub(crate) trait WriterJob: Send {
    fn foreseen(&self) -> Foreseen;
    /// Runs the unit. It may run again if the transaction could not be committed.
    fn run(&mut self, work: &mut RunningTransaction<'_>) -> Result<(), StoreError>;
    /// Completes the ticket with the value after the commit, or with the error.
    fn finish(self: Box<Self>, outcome: Result<(u64, Hash), StoreError>);
}

struct UnitJob<T, F> {
    foreseen: Foreseen,
    unit: F,
    value: Option<T>,
    promise: Promise<T>,
}

impl<T, F> WriterJob for UnitJob<T, F>
where
    T: Send + 'static,
    F: FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send,
{
    fn foreseen(&self) -> Foreseen {
        self.foreseen
    }

    fn run(&mut self, work: &mut RunningTransaction<'_>) -> Result<(), StoreError> {
        self.value = Some((self.unit)(work)?);
        Ok(())
    }

    fn finish(self: Box<Self>, outcome: Result<(u64, Hash), StoreError>) {
        let Self { value, promise, .. } = *self;
        match (outcome, value) {
            (Ok((size, root)), Some(value)) => promise.fulfil(Ok(Committed { value, size, root })),
            (Ok(_), None) => promise.fulfil(Err(StoreError::Closed)),
            (Err(error), _) => promise.fulfil(Err(error)),
        }
    }
}

pub(crate) fn job<T: Send + 'static>(
    foreseen: Foreseen,
    unit: impl FnMut(&mut RunningTransaction<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Box<dyn WriterJob>, Ticket<T>) {
    let (promise, ticket) = ticket();
    (Box::new(UnitJob { foreseen, unit, value: None, promise }), ticket)
}
