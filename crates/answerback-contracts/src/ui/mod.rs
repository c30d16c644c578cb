//! Defines the UI envelope, in which an agent passes its response to the program that shows it to people.
//!
//! The envelope is only data. [`ResponseBuilder`] and the helpers write it, and [`check()`] checks it.
//! [`PresentationRouter`] selects the best way to show it. [`ArtifactRegistry`] tracks the artifacts of
//! responses. This module renders nothing.

mod artifact;
mod artifact_check;
mod builder;
mod check;
mod content;
mod helpers;
mod markup;
mod registry;
mod router;
mod size;
mod types;

pub use artifact::{Artifact, ArtifactContent, ArtifactType};
pub use builder::ResponseBuilder;
pub use check::{RULES, UiCheckOptions, check, rule, validate_response_envelope};
pub use content::{
    ChartArtifact, CodeBlockArtifact, DocumentArtifact, FileReferenceArtifact, Section,
    TableArtifact, TimelineArtifact, TimelineEvent,
};
pub use helpers::{
    clarification_response, error_response, minimal_response, mission_proposal_response,
    text_response,
};
pub use registry::{
    ArtifactId, ArtifactRegistry, ArtifactStatus, ArtifactVersion, Provenance, RegisteredArtifact,
    RegistryError,
};
pub use router::{
    Obstacle, PassedOver, Presentation, PresentationRoute, PresentationRouter, Reason,
};
pub use types::{MissionReference, ResponseEnvelope, ResponseType, SignalReference, UiHints};
