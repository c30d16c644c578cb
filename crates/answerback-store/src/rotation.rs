//! Rotates the signing key.

use answerback_ledger::leaf::Subject;
use answerback_ledger::{Draft, KeyFile, SigningKey};

use crate::running_transaction::RunningTransaction;
use crate::transaction::{AppendedEntry, Log};
use crate::{Settings, StoreError};

/// Appends the entry that names a new key.
///
/// All of this runs under the lock on the log, and so does moving the new key into the key file
/// after the commit. So `FILE.next` always belongs to the newest rotation, and no other process can
/// use it.
pub(crate) fn rotate(
    work: &mut RunningTransaction<'_>,
    settings: &Settings,
) -> Result<AppendedEntry, StoreError> {
    if work.next_key.is_some() {
        // One checkpoint cannot introduce two new keys.
        return Err(StoreError::unit(
            "somebody else changed the key at this moment; look before you change it again",
        ));
    }
    let file = KeyFile::new(&settings.key);
    let head = work.read(|engine| engine.head())?;
    let head = head.ok_or_else(|| StoreError::Missing("log yet".to_owned()))?;
    // The current key may still be in `FILE.next`, which the new key overwrites.
    let key = file.holding(&head.signer)?;
    let next = SigningKey::new(key.name(), &settings.random()?)?;
    let appended = work.append(&Draft::config(Subject::Key).with_verifier_key(&next.verifier()))?;
    file.begin_rotation(&next)?;
    work.next_key = Some(next);
    Ok(appended)
}
