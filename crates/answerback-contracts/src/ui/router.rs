use std::fmt;

use super::types::{ResponseEnvelope, ResponseType};
use super::{Artifact, ArtifactContent, ArtifactType};

/// A way to show a response.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Presentation {
    /// A line in the conversation, which every client can show.
    ChatText,
    /// A box with the summary, the artifacts one under the other and the suggested actions.
    Card,
    /// A card that a person has to answer.
    DecisionCard,
    /// A table.
    Table,
    /// A chart.
    Chart,
    /// A timeline.
    Timeline,
    /// A live view of work in progress.
    LiveStream,
}

impl fmt::Display for Presentation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ChatText => "chat text",
            Self::Card => "card",
            Self::DecisionCard => "decision card",
            Self::Table => "table",
            Self::Chart => "chart",
            Self::Timeline => "timeline",
            Self::LiveStream => "live stream",
        })
    }
}

/// The best way to show a response, with the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PresentationRoute {
    /// The selected way to show the response.
    pub presentation: Presentation,
    /// The position of the artifact that is shown this way. `None` if the whole response is shown.
    pub artifact: Option<usize>,
    /// The reason for this way.
    pub reason: Reason,
    /// The next best way that was possible, in case this one fails.
    pub fallback: Presentation,
    /// The better ways that were not possible, best first.
    pub passed_over: Vec<PassedOver>,
}

impl fmt::Display for PresentationRoute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.presentation, self.reason)?;
        for PassedOver { presentation, obstacle } in &self.passed_over {
            write!(formatter, "; no {presentation}: {obstacle}")?;
        }
        Ok(())
    }
}

/// The reason why a way to show a response was selected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The response has a stream to watch.
    IsLive,
    /// The agent asks a question.
    AsksQuestion,
    /// A mission waits for approval.
    AwaitsApproval,
    /// The response type calls for this kind of artifact.
    TypeCallsFor(ResponseType),
    /// The response has only this artifact, and the way suits it.
    OnlyArtifact(ArtifactType),
    /// The response has artifacts, and a card can show them all.
    HasArtifacts,
    /// The hints ask for attention or room.
    HintsAsk,
    /// The summary is too long for a line.
    LongSummary,
    /// The summary can always be shown.
    OnlySummary,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsLive => formatter.write_str("there is a stream to watch"),
            Self::AsksQuestion => formatter.write_str("the agent asks a question"),
            Self::AwaitsApproval => formatter.write_str("a mission waits for approval"),
            Self::TypeCallsFor(kind) => write!(formatter, "the response type is {kind}"),
            Self::OnlyArtifact(kind) => write!(formatter, "the only artifact is a {kind}"),
            Self::HasArtifacts => formatter.write_str("a card can show every artifact"),
            Self::HintsAsk => formatter.write_str("the hints ask for attention or room"),
            Self::LongSummary => formatter.write_str("the summary is long"),
            Self::OnlySummary => formatter.write_str("the summary can always be shown"),
        }
    }
}

/// A better way to show a response that was not possible, with the obstacle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PassedOver {
    /// The better way.
    pub presentation: Presentation,
    /// The obstacle that prevented it.
    pub obstacle: Obstacle,
}

/// An obstacle to showing a response in a certain way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Obstacle {
    /// The client does not support this way.
    NotSupported,
    /// The response names no stream.
    NoStream,
    /// The response has no artifact of this kind.
    NoArtifact,
    /// The artifact is too large.
    TooLarge {
        /// The unit that is counted, such as `rows`.
        unit: &'static str,
        /// The number of units in the artifact.
        size: usize,
        /// The largest number of units allowed.
        limit: usize,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported => formatter.write_str("it cannot be shown here"),
            Self::NoStream => formatter.write_str("live_stream_id is not set"),
            Self::NoArtifact => formatter.write_str("there is no such artifact"),
            Self::TooLarge { unit, size, limit } => {
                write!(formatter, "{size} {unit} are more than {limit}")
            }
        }
    }
}

/// Selects the way to show a response from its type, artifacts, hints and size.
///
/// Chat text is always possible, so there is always a route.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::ui::{Presentation, PresentationRouter, ResponseBuilder};
///
/// let rows = (0..500).map(|number| [number]);
/// let answer = ResponseBuilder::new()
///     .summary("500 numbers")
///     .add_table("Numbers", ["n"], rows)
///     .build(Timestamp::from_unix_millis(0))?;
/// let route = PresentationRouter::default().route(&answer);
/// assert_eq!(route.presentation, Presentation::Card);
/// assert_eq!(
///     route.to_string(),
///     "card: a card can show every artifact; no table: 500 rows are more than 200"
/// );
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct PresentationRouter {
    unsupported: Vec<Presentation>,
    max_rows: usize,
    max_columns: usize,
    max_points: usize,
    max_events: usize,
    max_characters: usize,
}

impl PresentationRouter {
    /// Excludes a way that the client does not support. Chat text cannot be excluded.
    pub fn without(mut self, presentation: Presentation) -> Self {
        if presentation != Presentation::ChatText {
            self.unsupported.push(presentation);
        }
        self
    }

    /// Sets the largest number of rows and columns of a table.
    pub fn with_max_table(mut self, rows: usize, columns: usize) -> Self {
        (self.max_rows, self.max_columns) = (rows, columns);
        self
    }

    /// Sets the largest number of values in a chart.
    pub fn with_max_points(mut self, points: usize) -> Self {
        self.max_points = points;
        self
    }

    /// Sets the largest number of events in a timeline.
    pub fn with_max_events(mut self, events: usize) -> Self {
        self.max_events = events;
        self
    }

    /// Sets the largest number of characters of a line in the conversation.
    pub fn with_max_characters(mut self, characters: usize) -> Self {
        self.max_characters = characters;
        self
    }

    /// Selects the way to show a response.
    pub fn route(&self, envelope: &ResponseEnvelope) -> PresentationRoute {
        let mut passed_over = Vec::new();
        let mut chosen: Option<Wish> = None;
        let mut fallback = Presentation::ChatText;
        for wish in self.wishes(envelope) {
            let presentation = wish.presentation;
            match (&chosen, self.obstacle(envelope, &wish)) {
                (None, Some(obstacle)) => {
                    let over = PassedOver { presentation, obstacle };
                    // The response type and the only artifact often suggest the same way.
                    if !passed_over.contains(&over) {
                        passed_over.push(over);
                    }
                }
                (None, None) => chosen = Some(wish),
                (Some(chosen), None) if chosen.presentation != presentation => {
                    fallback = presentation;
                    break;
                }
                (Some(_), _) => {}
            }
        }
        let chosen =
            chosen.unwrap_or_else(|| Wish::whole(Presentation::ChatText, Reason::OnlySummary));
        PresentationRoute {
            presentation: chosen.presentation,
            artifact: chosen.artifact,
            reason: chosen.reason,
            fallback,
            passed_over,
        }
    }

    /// Returns the ways to show a response, best first. Some of them may not be possible.
    fn wishes(&self, envelope: &ResponseEnvelope) -> Vec<Wish> {
        let artifacts = &envelope.artifacts;
        let first = |kind| artifacts.iter().position(|artifact| artifact.artifact_type() == kind);
        let mut wishes = Vec::new();
        // A stream next to artifacts is their history. Without artifacts, or in a live execution, it is the
        // response.
        let streams = envelope.live_stream_id.is_some() && artifacts.is_empty();
        if envelope.response_type == ResponseType::LiveExecution || streams {
            wishes.push(Wish::whole(Presentation::LiveStream, Reason::IsLive));
        }
        if envelope.response_type == ResponseType::ClarificationRequest {
            wishes.push(Wish::whole(Presentation::DecisionCard, Reason::AsksQuestion));
        }
        if let Some(wish) = approval(envelope) {
            wishes.push(wish);
        }
        let called_for: &[(Presentation, ArtifactType)] = match envelope.response_type {
            ResponseType::Table => &[(Presentation::Table, ArtifactType::Table)],
            ResponseType::Forecast => &[
                (Presentation::Chart, ArtifactType::Chart),
                (Presentation::Table, ArtifactType::Table),
            ],
            ResponseType::Report => &[(Presentation::Card, ArtifactType::Document)],
            _ => &[],
        };
        for &(presentation, kind) in called_for {
            let reason = Reason::TypeCallsFor(envelope.response_type);
            wishes.push(Wish { presentation, artifact: first(kind), needs_artifact: true, reason });
        }
        if let [only] = artifacts.as_slice() {
            let kind = only.artifact_type();
            let reason = Reason::OnlyArtifact(kind);
            let wish = Wish {
                presentation: natural(kind),
                artifact: Some(0),
                needs_artifact: true,
                reason,
            };
            wishes.push(wish);
        }
        if !artifacts.is_empty() {
            wishes.push(Wish::whole(Presentation::Card, Reason::HasArtifacts));
        }
        if hints_ask_for_a_card(envelope) {
            wishes.push(Wish::whole(Presentation::Card, Reason::HintsAsk));
        }
        if envelope.summary.chars().nth(self.max_characters).is_some() {
            wishes.push(Wish::whole(Presentation::Card, Reason::LongSummary));
        }
        wishes.push(Wish::whole(Presentation::ChatText, Reason::OnlySummary));
        wishes
    }

    fn obstacle(&self, envelope: &ResponseEnvelope, wish: &Wish) -> Option<Obstacle> {
        if self.unsupported.contains(&wish.presentation) {
            return Some(Obstacle::NotSupported);
        }
        if wish.presentation == Presentation::LiveStream && envelope.live_stream_id.is_none() {
            return Some(Obstacle::NoStream);
        }
        let artifact = wish.artifact.and_then(|at| envelope.artifacts.get(at));
        match (artifact, wish.needs_artifact) {
            (None, true) => Some(Obstacle::NoArtifact),
            // A full screen can scroll, so nothing is too large for it.
            (Some(_), _) if layout(envelope) == Some("fullscreen") => None,
            (Some(artifact), _) => self.too_large(artifact),
            (None, false) => None,
        }
    }

    fn too_large(&self, artifact: &Artifact) -> Option<Obstacle> {
        let over =
            |unit, size, limit| (size > limit).then_some(Obstacle::TooLarge { unit, size, limit });
        match &artifact.content {
            ArtifactContent::Table(table) => over("rows", table.row_count(), self.max_rows)
                .or_else(|| over("columns", table.column_count(), self.max_columns)),
            ArtifactContent::Chart(chart) => over("values", chart.point_count(), self.max_points),
            ArtifactContent::Timeline(line) => over("events", line.event_count(), self.max_events),
            _ => None,
        }
    }
}

impl Default for PresentationRouter {
    /// Supports every way, with limits on how much a person reads without paging.
    fn default() -> Self {
        Self {
            unsupported: Vec::new(),
            max_rows: 200,
            max_columns: 20,
            max_points: 2_000,
            max_events: 200,
            max_characters: 600,
        }
    }
}

/// A suitable way to show a response, which may not be possible.
struct Wish {
    presentation: Presentation,
    artifact: Option<usize>,
    /// True if the way makes no sense without the artifact.
    needs_artifact: bool,
    reason: Reason,
}

impl Wish {
    fn whole(presentation: Presentation, reason: Reason) -> Self {
        Self { presentation, artifact: None, needs_artifact: false, reason }
    }
}

/// Returns the decision card of a mission that waits for approval.
fn approval(envelope: &ResponseEnvelope) -> Option<Wish> {
    let draft = envelope.artifacts.iter().position(|artifact| {
        artifact.artifact_type() == ArtifactType::MissionDraft
            && artifact.metadata.get("awaiting_approval") == Some(&true.into())
    });
    let proposed = envelope.missions_spawned.iter().any(|mission| mission.status == "proposed");
    (draft.is_some() || proposed).then_some(Wish {
        presentation: Presentation::DecisionCard,
        artifact: draft,
        needs_artifact: false,
        reason: Reason::AwaitsApproval,
    })
}

/// Returns the best way to show a single artifact of this type.
const fn natural(kind: ArtifactType) -> Presentation {
    match kind {
        ArtifactType::Table => Presentation::Table,
        ArtifactType::Chart => Presentation::Chart,
        ArtifactType::Timeline => Presentation::Timeline,
        ArtifactType::Document
        | ArtifactType::CodeBlock
        | ArtifactType::FileReference
        | ArtifactType::JsonData
        | ArtifactType::MissionDraft
        | ArtifactType::SignalBatch => Presentation::Card,
    }
}

fn layout(envelope: &ResponseEnvelope) -> Option<&str> {
    envelope.ui_hints.as_ref()?.layout.as_deref()
}

/// True if the hints ask for attention, actions or room. A line in the conversation has none of these.
fn hints_ask_for_a_card(envelope: &ResponseEnvelope) -> bool {
    envelope.ui_hints.as_ref().is_some_and(|hints| {
        hints.priority.as_deref() == Some("urgent")
            || !hints.suggested_actions.is_empty()
            || matches!(hints.layout.as_deref(), Some("fullscreen" | "split" | "modal"))
    })
}

#[cfg(test)]
mod tests {
    use answerback_json::time::Timestamp;
    use serde_json::Map;

    use super::super::{
        ChartArtifact, MissionReference, ResponseBuilder, Section, TimelineEvent, UiHints,
        clarification_response, error_response, mission_proposal_response,
    };
    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_millis(0)
    }

    fn answer(kind: ResponseType) -> ResponseBuilder {
        ResponseBuilder::new().response_type(kind).summary("Done")
    }

    fn with_table(builder: ResponseBuilder, rows: usize) -> ResponseBuilder {
        builder.add_table("T", ["n"], (0..rows).map(|row| [row]))
    }

    fn with_chart(builder: ResponseBuilder) -> ResponseBuilder {
        builder.add_chart("C", ChartArtifact::over("bar", ["a"]).with_dataset("s", [1]))
    }

    #[test]
    fn each_answer_has_its_way() {
        let router = PresentationRouter::default();
        let full = UiHints::default().with_layout("fullscreen");
        let table = [
            answer(ResponseType::Text),
            answer(ResponseType::Text).summary("x".repeat(601)),
            answer(ResponseType::Text).hints(UiHints::default().with_actions(["Go"])),
            answer(ResponseType::LiveExecution).live_stream("s"),
            answer(ResponseType::LiveExecution),
            answer(ResponseType::Text).live_stream("s"),
            with_table(answer(ResponseType::ArtifactBundle), 1).live_stream("s"),
            with_table(answer(ResponseType::Table), 200),
            with_table(answer(ResponseType::Table), 201),
            with_table(answer(ResponseType::Table), 201).hints(full),
            with_chart(with_table(answer(ResponseType::Table), 1)),
            answer(ResponseType::Table),
            with_chart(answer(ResponseType::Forecast)),
            with_table(answer(ResponseType::Forecast), 1),
            answer(ResponseType::Report).add_document("D", "markdown", [Section::new("H", "T")]),
            answer(ResponseType::Text).add_timeline("L", [TimelineEvent::new(now(), "Go")]),
            answer(ResponseType::ArtifactBundle).add_code_block("C", "x", "text"),
            with_chart(with_table(answer(ResponseType::ArtifactBundle), 1)),
        ];
        let told = table.map(|builder| {
            let route = router.route(&builder.build(now()).unwrap());
            format!("{route} [{:?}, else {}]", route.artifact, route.fallback)
        });
        insta::assert_snapshot!(told.join("\n"), @r#"
        chat text: the summary can always be shown [None, else chat text]
        card: the summary is long [None, else chat text]
        card: the hints ask for attention or room [None, else chat text]
        live stream: there is a stream to watch [None, else chat text]
        chat text: the summary can always be shown; no live stream: live_stream_id is not set [None, else chat text]
        live stream: there is a stream to watch [None, else chat text]
        table: the only artifact is a table [Some(0), else card]
        table: the response type is table [Some(0), else card]
        card: a card can show every artifact; no table: 201 rows are more than 200 [None, else chat text]
        table: the response type is table [Some(0), else card]
        table: the response type is table [Some(0), else card]
        chat text: the summary can always be shown; no table: there is no such artifact [None, else chat text]
        chart: the response type is forecast [Some(0), else card]
        table: the response type is forecast; no chart: there is no such artifact [Some(0), else card]
        card: the response type is report [Some(0), else chat text]
        timeline: the only artifact is a timeline [Some(0), else card]
        card: the only artifact is a code_block [Some(0), else chat text]
        card: a card can show every artifact [None, else chat text]
        "#);
    }

    #[test]
    fn people_are_asked_on_a_decision_card() {
        let router = PresentationRouter::default();
        let question = clarification_response("Which?", ["a"], Map::new(), now()).unwrap();
        assert_eq!(router.route(&question).reason, Reason::AsksQuestion);
        let mission = MissionReference::new("m", "proposed", "extract", "x");
        let proposal = mission_proposal_response(mission, "Shall I?", now()).unwrap();
        let route = router.route(&proposal);
        assert_eq!(route.presentation, Presentation::DecisionCard);
        assert_eq!((route.artifact, route.fallback), (Some(0), Presentation::Card));
        let plain = router.without(Presentation::DecisionCard).without(Presentation::Card);
        let route = plain.route(&proposal);
        assert_eq!(route.presentation, Presentation::ChatText);
        assert_eq!(route.fallback, Presentation::ChatText);
        assert!(route.passed_over.iter().all(|way| way.obstacle == Obstacle::NotSupported));
        let error = error_response("Broken", Map::new(), now());
        assert_eq!(plain.route(&error).presentation, Presentation::ChatText);
    }

    #[test]
    fn chat_text_cannot_be_ruled_out() {
        let router = PresentationRouter::default().without(Presentation::ChatText);
        assert_eq!(router, PresentationRouter::default());
    }
}
