//! Builds the most common responses of agents, each in one call.

use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::types::{MissionReference, ResponseEnvelope, ResponseType, UiHints};
use super::{Artifact, ArtifactContent, ResponseBuilder};
use crate::Invalid;

/// Builds a response of a type that has only a summary.
///
/// # Errors
///
/// Returns [`Invalid`] if the summary is blank.
pub fn minimal_response(
    summary: impl Into<String>,
    response_type: ResponseType,
    now: Timestamp,
) -> Result<ResponseEnvelope, Invalid> {
    ResponseBuilder::new().response_type(response_type).summary(summary).build(now)
}

/// Builds a text message, with or without hints.
///
/// # Errors
///
/// Returns [`Invalid`] if the text is blank.
pub fn text_response(
    text: impl Into<String>,
    ui_hints: impl Into<Option<UiHints>>,
    now: Timestamp,
) -> Result<ResponseEnvelope, Invalid> {
    ResponseBuilder::new().summary(text).hints(ui_hints).build(now)
}

/// Builds a question to the person, with its context and optional answers to choose from.
///
/// # Errors
///
/// Returns [`Invalid`] if the question is blank.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::ui::clarification_response;
///
/// let now = Timestamp::from_unix_millis(0);
/// let asked = clarification_response("How many?", ["10", "All"], Default::default(), now)?;
/// assert_eq!(asked.metadata["clarification"]["options"][1], "All");
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
pub fn clarification_response(
    question: impl Into<String>,
    options: impl IntoIterator<Item: Into<String>>,
    context: Map<String, Value>,
    now: Timestamp,
) -> Result<ResponseEnvelope, Invalid> {
    let question = question.into();
    let options: Vec<Value> = options.into_iter().map(|option| option.into().into()).collect();
    let mut clarification = Map::new();
    clarification.insert("question".to_owned(), question.as_str().into());
    clarification.insert("options".to_owned(), options.into());
    clarification.insert("context".to_owned(), context.into());
    let hints = UiHints::default()
        .with_priority("urgent")
        .with_color_scheme("info")
        .with_icon("question")
        .with_actions(["Respond", "Cancel"]);
    ResponseBuilder::new()
        .response_type(ResponseType::ClarificationRequest)
        .summary(question)
        .hints(hints)
        .metadata("clarification", clarification)
        .build(now)
}

/// Builds the proposal of a mission that waits for a person's approval.
///
/// # Errors
///
/// Returns [`Invalid`] if the summary or the mission's id is blank.
pub fn mission_proposal_response(
    mission: MissionReference,
    summary: impl Into<String>,
    now: Timestamp,
) -> Result<ResponseEnvelope, Invalid> {
    let draft = ArtifactContent::MissionDraft(Value::from(&mission));
    let hints = UiHints::default()
        .with_priority("normal")
        .with_color_scheme("info")
        .with_icon("clipboard")
        .with_actions(["Review", "Approve", "Modify", "Reject"]);
    ResponseBuilder::new()
        .response_type(ResponseType::ArtifactBundle)
        .summary(summary)
        .add_artifact(
            Artifact::new("Mission Proposal", draft).with_metadata("awaiting_approval", true),
        )
        .add_mission(mission)
        .hints(hints)
        .build(now)
}

/// Builds an error message for a person. It is not checked and never fails, so that every error can be
/// reported.
pub fn error_response(
    error_message: impl Into<String>,
    error_details: Map<String, Value>,
    now: Timestamp,
) -> ResponseEnvelope {
    let error_message = error_message.into();
    let summary = format!("❌ Error: {error_message}");
    let mut envelope = ResponseEnvelope::new(ResponseType::Text, summary, now);
    envelope.metadata.insert("error".to_owned(), true.into());
    envelope.metadata.insert("error_message".to_owned(), error_message.into());
    envelope.metadata.insert("error_details".to_owned(), error_details.into());
    envelope.ui_hints = Some(
        UiHints::default()
            .with_priority("urgent")
            .with_color_scheme("error")
            .with_icon("alert")
            .with_actions(["Retry", "Cancel"]),
    );
    envelope
}

#[cfg(test)]
mod tests {
    use answerback_findings::Profile;

    use super::*;
    use crate::ui::check;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(1_770_494_820_000)
    }

    /// Returns the members that a helper sets, one on each line.
    fn told(envelope: &ResponseEnvelope) -> String {
        assert_eq!(check(&envelope.to_document(), Profile::Strict), []);
        let document = envelope.to_document();
        let names =
            ["response_type", "summary", "artifacts", "missions_spawned", "ui_hints", "metadata"];
        names.map(|name| format!("{name}: {}", document[name])).join("\n")
    }

    #[test]
    fn texts() {
        let hints = UiHints::default().with_color_scheme("success");
        insta::assert_snapshot!(told(&text_response("Done", hints, now()).unwrap()), @r#"
        response_type: "text"
        summary: "Done"
        artifacts: []
        missions_spawned: []
        ui_hints: {"layout":null,"priority":null,"suggested_actions":[],"color_scheme":"success","icon":null,"expandable":true}
        metadata: {}
        "#);
        assert_eq!(text_response("Done", None, now()).unwrap().ui_hints, None);
        assert!(text_response(" ", None, now()).is_err());
        for response_type in ResponseType::ALL {
            let envelope = minimal_response("Done", response_type, now()).unwrap();
            assert_eq!(envelope.to_document()["response_type"], response_type.as_str());
        }
    }

    #[test]
    fn a_clarification() {
        let context = Map::from_iter([("source".to_owned(), "chat".into())]);
        let asked = clarification_response("How many?", ["10", "All"], context, now()).unwrap();
        insta::assert_snapshot!(told(&asked), @r#"
        response_type: "clarification_request"
        summary: "How many?"
        artifacts: []
        missions_spawned: []
        ui_hints: {"layout":null,"priority":"urgent","suggested_actions":["Respond","Cancel"],"color_scheme":"info","icon":"question","expandable":true}
        metadata: {"clarification":{"question":"How many?","options":["10","All"],"context":{"source":"chat"}}}
        "#);
        assert!(clarification_response("", ["10"], Map::new(), now()).is_err());
    }

    #[test]
    fn a_mission_proposal() {
        let mission = MissionReference::new("m-1", "proposed", "extract", "Find 50 quotes");
        let proposed = mission_proposal_response(mission, "I will find them.", now()).unwrap();
        insta::assert_snapshot!(told(&proposed), @r#"
        response_type: "artifact_bundle"
        summary: "I will find them."
        artifacts: [{"artifact_type":"mission_draft","title":"Mission Proposal","content":{"mission_id":"m-1","status":"proposed","objective_type":"extract","objective_description":"Find 50 quotes"},"metadata":{"awaiting_approval":true}}]
        missions_spawned: [{"mission_id":"m-1","status":"proposed","objective_type":"extract","objective_description":"Find 50 quotes"}]
        ui_hints: {"layout":null,"priority":"normal","suggested_actions":["Review","Approve","Modify","Reject"],"color_scheme":"info","icon":"clipboard","expandable":true}
        metadata: {}
        "#);
        let nameless = MissionReference::new("", "proposed", "extract", "x");
        assert!(mission_proposal_response(nameless, "x", now()).is_err());
    }

    #[test]
    fn an_error() {
        let details = Map::from_iter([("reason".to_owned(), "timeout".into())]);
        insta::assert_snapshot!(told(&error_response("Navigation failed", details, now())), @r#"
        response_type: "text"
        summary: "❌ Error: Navigation failed"
        artifacts: []
        missions_spawned: []
        ui_hints: {"layout":null,"priority":"urgent","suggested_actions":["Retry","Cancel"],"color_scheme":"error","icon":"alert","expandable":true}
        metadata: {"error":true,"error_message":"Navigation failed","error_details":{"reason":"timeout"}}
        "#);
        told(&error_response("", Map::new(), now()));
    }
}
