use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;

use answerback_json::time::Timestamp;
use answerback_json::{UuidError, UuidV7};
use serde::{Deserialize, Serialize};

use super::{Artifact, ArtifactType};

/// Identifies an artifact across all its versions. The id is a version 7 UUID, so ids sort by time.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::ui::ArtifactId;
///
/// let id = ArtifactId::new(Timestamp::from_unix_millis(1_770_494_820_000), [7; 10]);
/// assert_eq!(id.as_str(), "019c39b6-fea0-7707-8707-070707070707");
/// ```
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactId(UuidV7);

impl ArtifactId {
    /// Creates an id from the current time and random bytes.
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        Self(UuidV7::from_time(now, random))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl TryFrom<String> for ArtifactId {
    type Error = UuidError;

    fn try_from(mut text: String) -> Result<Self, Self::Error> {
        // The same id in two letter cases would otherwise be two artifacts.
        text.make_ascii_lowercase();
        UuidV7::try_from(text).map(Self)
    }
}

impl TryFrom<&str> for ArtifactId {
    type Error = UuidError;

    fn try_from(text: &str) -> Result<Self, Self::Error> {
        Self::try_from(text.to_owned())
    }
}

impl From<ArtifactId> for String {
    fn from(id: ArtifactId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// Identifies one version of an artifact.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub struct ArtifactVersion {
    /// The id of the artifact.
    pub id: ArtifactId,
    /// The version number, starting at 1.
    pub version: NonZeroU32,
}

impl fmt::Display for ArtifactVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} version {}", self.id, self.version)
    }
}

/// The status of a version of an artifact.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "the contract defines exactly these four")]
pub enum ArtifactStatus {
    /// The version may still change.
    Draft,
    /// The version can be relied on.
    Final,
    /// The version should not be used any more and has no replacement. This cannot be undone.
    Deprecated,
    /// A newer version replaces this one. This cannot be undone.
    Superseded,
}

impl ArtifactStatus {
    /// Returns the status as a lowercase word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Final => "final",
            Self::Deprecated => "deprecated",
            Self::Superseded => "superseded",
        }
    }

    /// True if the status can still change.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Draft | Self::Final)
    }
}

impl fmt::Display for ArtifactStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The origin of a version of an artifact.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Provenance {
    /// The agent or tool that made the version.
    pub source: String,
    /// The time at which the version was made.
    pub created: Timestamp,
    /// The id of the response that contained the version.
    pub response_id: Option<String>,
    /// The artifact versions from which this one was made.
    pub derived_from: Vec<ArtifactVersion>,
}

impl Provenance {
    /// Creates a provenance without a response and without parents.
    pub fn new(source: impl Into<String>, created: Timestamp) -> Self {
        Self { source: source.into(), created, response_id: None, derived_from: Vec::new() }
    }

    /// Sets the id of the response that contained the version.
    #[must_use]
    pub fn with_response(mut self, response_id: impl Into<String>) -> Self {
        self.response_id = Some(response_id.into());
        self
    }

    /// Adds an artifact version from which this one was made.
    #[must_use]
    pub fn with_parent(mut self, parent: ArtifactVersion) -> Self {
        self.derived_from.push(parent);
        self
    }
}

/// A version of an artifact in the registry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RegisteredArtifact {
    /// The id of the artifact and the version number.
    pub key: ArtifactVersion,
    /// The status of the version.
    pub status: ArtifactStatus,
    /// The origin of the version.
    pub provenance: Provenance,
    /// The artifact itself.
    pub artifact: Artifact,
}

/// Tracks artifacts with their versions, statuses and origins.
///
/// The registry is a value in memory, and the caller stores it if needed. The versions of an artifact count
/// from 1 without a gap. All versions but the latest are superseded. The parents of a version are registered
/// before it.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::ui::*;
///
/// let now = Timestamp::from_unix_millis(1_770_494_820_000);
/// let id = ArtifactId::new(now, [7; 10]);
/// let script = |code: &str| Artifact::new("Script", CodeBlockArtifact::new(code, "python"));
///
/// let mut registry = ArtifactRegistry::default();
/// registry.register(id.clone(), script("print(1)"), Provenance::new("coder", now))?;
/// registry.supersede(&id, script("print(2)"), Provenance::new("coder", now))?;
/// registry.finalise(&id)?;
///
/// let latest = registry.latest(&id).unwrap();
/// assert_eq!((latest.key.version.get(), latest.status), (2, ArtifactStatus::Final));
/// assert_eq!(registry.history(&id)[0].status, ArtifactStatus::Superseded);
/// # Ok::<(), RegistryError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArtifactRegistry {
    /// The versions of each artifact, oldest first. A list is never empty.
    lines: BTreeMap<ArtifactId, Vec<RegisteredArtifact>>,
}

impl ArtifactRegistry {
    /// Adds a new artifact as a draft, in version 1.
    ///
    /// # Errors
    ///
    /// Returns an error if the id is taken, or if a parent of the artifact is not registered.
    pub fn register(
        &mut self,
        id: ArtifactId,
        artifact: Artifact,
        provenance: Provenance,
    ) -> Result<&RegisteredArtifact, RegistryError> {
        self.know_parents(&provenance)?;
        if self.lines.contains_key(&id) {
            return Err(RegistryError::Taken(id));
        }
        let key = ArtifactVersion { id: id.clone(), version: NonZeroU32::MIN };
        let status = ArtifactStatus::Draft;
        let line = self.lines.entry(id).or_default();
        Ok(append(line, RegisteredArtifact { key, status, provenance, artifact }))
    }

    /// Adds a new version that replaces the latest one. It takes over the status of the latest version: draft
    /// or final.
    ///
    /// # Errors
    ///
    /// Returns an error if the artifact is unknown, is deprecated, or has run out of version numbers. The
    /// same applies if a parent of the new version is not registered.
    pub fn supersede(
        &mut self,
        id: &ArtifactId,
        artifact: Artifact,
        provenance: Provenance,
    ) -> Result<&RegisteredArtifact, RegistryError> {
        self.know_parents(&provenance)?;
        let line = self.lines.get_mut(id).ok_or_else(|| RegistryError::Unknown(id.clone()))?;
        let latest = open_latest(id, line)?;
        let version = latest.key.version.checked_add(1);
        let version = version.ok_or_else(|| RegistryError::Exhausted(id.clone()))?;
        let status = std::mem::replace(&mut latest.status, ArtifactStatus::Superseded);
        let key = ArtifactVersion { id: id.clone(), version };
        Ok(append(line, RegisteredArtifact { key, status, provenance, artifact }))
    }

    /// Makes the latest version final. A second call changes nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if the artifact is unknown or deprecated.
    pub fn finalise(&mut self, id: &ArtifactId) -> Result<&RegisteredArtifact, RegistryError> {
        self.settle(id, ArtifactStatus::Final)
    }

    /// Deprecates the artifact, which cannot be undone.
    ///
    /// # Errors
    ///
    /// Returns an error if the artifact is unknown or already deprecated.
    pub fn deprecate(&mut self, id: &ArtifactId) -> Result<&RegisteredArtifact, RegistryError> {
        self.settle(id, ArtifactStatus::Deprecated)
    }

    /// Returns the latest version of an artifact, whatever its status.
    pub fn latest(&self, id: &ArtifactId) -> Option<&RegisteredArtifact> {
        self.lines.get(id)?.last()
    }

    /// Returns one version of an artifact.
    pub fn version(&self, key: &ArtifactVersion) -> Option<&RegisteredArtifact> {
        let position = usize::try_from(key.version.get()).ok()?.checked_sub(1)?;
        self.lines.get(&key.id)?.get(position)
    }

    /// Returns all versions of an artifact, oldest first. The list is empty if the artifact is unknown.
    pub fn history(&self, id: &ArtifactId) -> &[RegisteredArtifact] {
        self.lines.get(id).map_or(&[], Vec::as_slice)
    }

    /// Iterates over the latest version of every artifact. The order is by id and therefore by age.
    pub fn iter(&self) -> impl Iterator<Item = &RegisteredArtifact> {
        self.lines.values().filter_map(|line| line.last())
    }

    /// Returns the newest artifact of a type that is a draft or final, in its latest version.
    pub fn find_latest(&self, artifact_type: ArtifactType) -> Option<&RegisteredArtifact> {
        let mut usable = self.lines.values().rev().filter_map(|line| line.last());
        usable
            .find(|entry| entry.status.is_open() && entry.artifact.artifact_type() == artifact_type)
    }

    fn settle(
        &mut self,
        id: &ArtifactId,
        status: ArtifactStatus,
    ) -> Result<&RegisteredArtifact, RegistryError> {
        let line = self.lines.get_mut(id).ok_or_else(|| RegistryError::Unknown(id.clone()))?;
        let latest = open_latest(id, line)?;
        latest.status = status;
        Ok(latest)
    }

    fn know_parents(&self, provenance: &Provenance) -> Result<(), RegistryError> {
        match provenance.derived_from.iter().find(|parent| self.version(parent).is_none()) {
            Some(parent) => Err(RegistryError::UnknownParent(parent.clone())),
            None => Ok(()),
        }
    }
}

/// Returns the latest version of an artifact if its status can still change.
fn open_latest<'r>(
    id: &ArtifactId,
    line: &'r mut [RegisteredArtifact],
) -> Result<&'r mut RegisteredArtifact, RegistryError> {
    let latest = line.last_mut().ok_or_else(|| RegistryError::Unknown(id.clone()))?;
    if latest.status.is_open() {
        Ok(latest)
    } else {
        Err(RegistryError::Closed { key: latest.key.clone(), status: latest.status })
    }
}

/// The reason why the registry rejected a change. The registry is then unchanged.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The id is already registered.
    #[error("artifact {0} is registered already; supersede it")]
    Taken(ArtifactId),
    /// The artifact is not registered.
    #[error("artifact {0} is not registered")]
    Unknown(ArtifactId),
    /// The status of this version cannot change any more.
    #[error("artifact {key} is {status}; register a new one")]
    Closed {
        /// The version.
        key: ArtifactVersion,
        /// The status of the version.
        status: ArtifactStatus,
    },
    /// The provenance names a version that is not registered.
    #[error("the provenance names artifact {0}, which is not registered")]
    UnknownParent(ArtifactVersion),
    /// The artifact has no version numbers left.
    #[error("artifact {0} has no version numbers left; register a new one")]
    Exhausted(ArtifactId),
}

/// Adds a version to the end of its line and returns it.
fn append(
    line: &mut Vec<RegisteredArtifact>,
    version: RegisteredArtifact,
) -> &mut RegisteredArtifact {
    line.push(version);
    let last = line.len() - 1;
    &mut line[last]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{ArtifactContent, CodeBlockArtifact};
    use super::*;

    fn id(number: u8) -> ArtifactId {
        ArtifactId::new(Timestamp::from_unix_millis(i64::from(number)), [number; 10])
    }

    fn code() -> Artifact {
        Artifact::new("Code", CodeBlockArtifact::new("x", "text"))
    }

    fn made() -> Provenance {
        Provenance::new("coder", Timestamp::from_unix_millis(0))
    }

    #[test]
    fn ids_are_uuids_of_version_7() {
        let text = "019C39B6-fea0-7707-8707-070707070707";
        assert_eq!(ArtifactId::try_from(text).unwrap().as_str(), text.to_lowercase());
        assert!(ArtifactId::try_from("07070707-0707-4707-8707-070707070707").is_err());
        assert!(id(1) < id(2));
        let read: ArtifactId = serde_json::from_str(&format!("{text:?}")).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), text.to_lowercase());
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_changes_nothing() {
        let mut registry = ArtifactRegistry::default();
        registry.register(id(1), code(), made()).unwrap();
        registry.register(id(2), code(), made()).unwrap();
        registry.deprecate(&id(2)).unwrap();
        let before = registry.clone();
        let far = ArtifactVersion { id: id(1), version: NonZeroU32::MAX };
        let refusals = [
            registry.register(id(1), code(), made()).unwrap_err(),
            registry.supersede(&id(3), code(), made()).unwrap_err(),
            registry.finalise(&id(3)).unwrap_err(),
            registry.supersede(&id(2), code(), made()).unwrap_err(),
            registry.finalise(&id(2)).unwrap_err(),
            registry.deprecate(&id(2)).unwrap_err(),
            registry.supersede(&id(1), code(), made().with_parent(far)).unwrap_err(),
        ];
        assert_eq!(registry, before);
        insta::assert_snapshot!(refusals.map(|error| error.to_string()).join("\n"), @r#"
        artifact 00000000-0001-7101-8101-010101010101 is registered already; supersede it
        artifact 00000000-0003-7303-8303-030303030303 is not registered
        artifact 00000000-0003-7303-8303-030303030303 is not registered
        artifact 00000000-0002-7202-8202-020202020202 version 1 is deprecated; register a new one
        artifact 00000000-0002-7202-8202-020202020202 version 1 is deprecated; register a new one
        artifact 00000000-0002-7202-8202-020202020202 version 1 is deprecated; register a new one
        the provenance names artifact 00000000-0001-7101-8101-010101010101 version 4294967295, which is not registered
        "#);
    }

    #[test]
    fn the_youngest_that_can_be_used_is_found() {
        let mut registry = ArtifactRegistry::default();
        for number in 1..=3 {
            registry.register(id(number), code(), made()).unwrap();
        }
        let parent = registry.latest(&id(1)).unwrap().key.clone();
        let data = Artifact::new("Data", ArtifactContent::JsonData(1.into()));
        let provenance = made().with_parent(parent).with_response("r-1");
        registry.register(id(4), data, provenance).unwrap();
        registry.deprecate(&id(3)).unwrap();
        let found = registry.find_latest(ArtifactType::CodeBlock).unwrap();
        assert_eq!(found.key.id, id(2));
        assert!(registry.find_latest(ArtifactType::Table).is_none());
        assert_eq!(registry.iter().count(), 4);
        assert!(registry.history(&id(9)).is_empty());
    }

    proptest! {
        #[test]
        fn the_invariants_hold_whatever_is_done(
            steps in proptest::collection::vec((0_u8..4, 0_u8..3, proptest::option::of(0_u8..3)), 0..60),
        ) {
            let mut registry = ArtifactRegistry::default();
            for (step, number, parent) in steps {
                let mut provenance = made();
                if let Some(parent) = parent.and_then(|parent| registry.latest(&id(parent))) {
                    provenance = provenance.with_parent(parent.key.clone());
                }
                // The registry rejects some of these changes, which is part of the test.
                let _ = match step {
                    0 => registry.register(id(number), code(), provenance).is_ok(),
                    1 => registry.supersede(&id(number), code(), provenance).is_ok(),
                    2 => registry.finalise(&id(number)).is_ok(),
                    _ => registry.deprecate(&id(number)).is_ok(),
                };
            }
            for latest in registry.iter() {
                let history = registry.history(&latest.key.id);
                prop_assert_eq!(history.last(), Some(latest));
                prop_assert!(latest.status != ArtifactStatus::Superseded);
                for (version, entry) in (1..).zip(history) {
                    prop_assert_eq!(entry.key.version.get(), version);
                    prop_assert_eq!(registry.version(&entry.key), Some(entry));
                    let is_last = entry == latest;
                    prop_assert!(is_last || entry.status == ArtifactStatus::Superseded);
                    for parent in &entry.provenance.derived_from {
                        prop_assert!(registry.version(parent).is_some());
                    }
                }
            }
        }
    }
}
