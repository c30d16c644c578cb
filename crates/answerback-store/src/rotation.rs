//! Changing the key that signs.

use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, KeyFile, SigningKey};

use crate::transaction::{Appended, Log};
use crate::work::RunningTransaction;
use crate::{Settings, StoreError};

/// Appends the entry that names a new key.
///
/// All of it happens under the lock on the log, as does putting the new key into its place after the commit: so the
/// file beside the key is always that of the newest rotation, and no other process can take it for its own.
pub(crate) fn rotate(
    work: &mut RunningTransaction<'_>,
    settings: &Settings,
) -> Result<Appended, StoreError> {
    if work.next_key.is_some() {
        // One checkpoint cannot vouch for two changes.
        return Err(StoreError::unit(
            "somebody else changed the key at this moment; look before you change it again",
        ));
    }
    let file = KeyFile::new(&settings.key);
    let head = work.read(|engine| engine.head())?;
    let head = head.ok_or_else(|| StoreError::Missing("log yet".to_owned()))?;
    // The key in force may still lie where the next one goes.
    let key = file.holding(&head.signer)?;
    let next = SigningKey::new(key.name(), &settings.random()?)?;
    let appended = work.append(&Draft::config(Subject::Key).with_verifier_key(&next.verifier()))?;
    file.begin_rotation(&next)?;
    work.next_key = Some(next);
    Ok(appended)
}
