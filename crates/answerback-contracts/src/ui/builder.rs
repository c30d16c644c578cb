use answerback_json::time::Timestamp;
use serde_json::{Map, Value};

use super::content::{
    ChartArtifact, CodeBlockArtifact, DocumentArtifact, FileReferenceArtifact, Section,
    TableArtifact, TimelineArtifact, TimelineEvent,
};
use super::types::{MissionReference, ResponseEnvelope, ResponseType, SignalReference, UiHints};
use super::{Artifact, ArtifactContent, UiCheckOptions, check};
use crate::Invalid;

/// Builds a UI envelope step by step. The result passes the strict check, and counts are computed.
///
/// ```
/// use answerback_json::Timestamp;
/// use answerback_contracts::ui::{ResponseBuilder, ResponseType, UiHints};
///
/// let now = Timestamp::from_unix_millis(1_770_494_820_000);
/// let answer = ResponseBuilder::new()
///     .response_type(ResponseType::ArtifactBundle)
///     .summary("Found one quote.")
///     .add_table("Quotes", ["Quote", "Author"], [["To be or not to be", "Shakespeare"]])
///     .live_stream("stream-123")
///     .hints(UiHints::default().with_priority("normal").with_actions(["Done", "Export"]))
///     .metadata("mission_duration_ms", 2500)
///     .build(now)?;
/// let document = answer.to_document();
/// assert_eq!(document["artifacts"][0]["content"]["row_count"], 1);
/// assert_eq!(document["timestamp"], "2026-02-07T20:07:00.000000+00:00");
/// # Ok::<(), answerback_contracts::Invalid>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ResponseBuilder {
    response_type: ResponseType,
    summary: String,
    artifacts: Vec<Artifact>,
    missions: Vec<MissionReference>,
    signals: Vec<SignalReference>,
    live_stream_id: Option<String>,
    hints: Option<UiHints>,
    metadata: Map<String, Value>,
    options: UiCheckOptions,
}

impl ResponseBuilder {
    /// Starts an envelope of type `text`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the type of the response.
    #[doc(alias = "type")]
    pub fn response_type(mut self, response_type: ResponseType) -> Self {
        self.response_type = response_type;
        self
    }

    /// Sets the response in words.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Adds an artifact of any kind.
    pub fn add_artifact(mut self, artifact: Artifact) -> Self {
        self.artifacts.push(artifact);
        self
    }

    /// Adds a table.
    pub fn add_table(
        self,
        title: impl Into<String>,
        columns: impl IntoIterator<Item: Into<String>>,
        rows: impl IntoIterator<Item: IntoIterator<Item: Into<Value>>>,
    ) -> Self {
        self.add_artifact(Artifact::new(title, TableArtifact::new(columns, rows)))
    }

    /// Adds a chart. [`ChartArtifact::over`] starts one from its labels.
    pub fn add_chart(self, title: impl Into<String>, chart: ChartArtifact) -> Self {
        self.add_artifact(Artifact::new(title, chart))
    }

    /// Adds a document in a format such as `markdown`.
    pub fn add_document(
        self,
        title: impl Into<String>,
        format: impl Into<String>,
        sections: impl IntoIterator<Item = Section>,
    ) -> Self {
        self.add_artifact(Artifact::new(title, DocumentArtifact::new(format, sections)))
    }

    /// Adds source code.
    pub fn add_code_block(
        self,
        title: impl Into<String>,
        code: impl Into<String>,
        language: impl Into<String>,
    ) -> Self {
        self.add_artifact(Artifact::new(title, CodeBlockArtifact::new(code, language)))
    }

    /// Adds a timeline.
    pub fn add_timeline(
        self,
        title: impl Into<String>,
        events: impl IntoIterator<Item = TimelineEvent>,
    ) -> Self {
        self.add_artifact(Artifact::new(title, TimelineArtifact::new(events)))
    }

    /// Adds a reference to a file, for output that is too large for the envelope.
    pub fn add_file_reference(self, title: impl Into<String>, file: FileReferenceArtifact) -> Self {
        self.add_artifact(Artifact::new(title, file))
    }

    /// Adds any JSON value.
    pub fn add_json(self, title: impl Into<String>, data: impl Into<Value>) -> Self {
        self.add_artifact(Artifact::new(title, ArtifactContent::JsonData(data.into())))
    }

    /// Adds the draft of a mission, such as a `&MissionReference`.
    pub fn add_mission_draft(self, title: impl Into<String>, draft: impl Into<Value>) -> Self {
        self.add_artifact(Artifact::new(title, ArtifactContent::MissionDraft(draft.into())))
    }

    /// Adds several signals in any form.
    pub fn add_signal_batch(self, title: impl Into<String>, batch: impl Into<Value>) -> Self {
        self.add_artifact(Artifact::new(title, ArtifactContent::SignalBatch(batch.into())))
    }

    /// Adds a mission that was proposed or created.
    pub fn add_mission(mut self, mission: MissionReference) -> Self {
        self.missions.push(mission);
        self
    }

    /// Adds a signal that was emitted.
    pub fn add_signal(mut self, signal: SignalReference) -> Self {
        self.signals.push(signal);
        self
    }

    /// Sets the id of the stream on which the work can be watched.
    pub fn live_stream(mut self, live_stream_id: impl Into<String>) -> Self {
        self.live_stream_id = Some(live_stream_id.into());
        self
    }

    /// Suggests how to show the response.
    pub fn hints(mut self, hints: impl Into<Option<UiHints>>) -> Self {
        self.hints = hints.into();
        self
    }

    /// Adds a member to the metadata.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Sets the options with which [`build`](Self::build) checks the envelope, such as another
    /// budget.
    pub fn with_check_options(mut self, options: impl Into<UiCheckOptions>) -> Self {
        self.options = options.into();
        self
    }

    /// Finishes the envelope, dated `now`.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`] with every finding if the envelope does not pass the check, or is nested too deep.
    pub fn build(self, now: Timestamp) -> Result<ResponseEnvelope, Invalid> {
        let mut envelope = ResponseEnvelope::new(self.response_type, self.summary, now);
        envelope.artifacts = self.artifacts;
        envelope.missions_spawned = self.missions;
        envelope.signals_emitted = self.signals;
        envelope.live_stream_id = self.live_stream_id;
        envelope.ui_hints = self.hints;
        envelope.metadata = self.metadata;
        let document = envelope.to_document();
        Invalid::unless_emittable(&document, check(&document, self.options))?;
        Ok(envelope)
    }
}

#[cfg(test)]
mod tests {
    use answerback_findings::Profile;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn now() -> Timestamp {
        Timestamp::from_unix_micros(1_770_494_820_123_456)
    }

    #[test]
    fn keys_stand_in_the_documents_order_and_none_is_left_out() {
        let least = ResponseBuilder::new().summary("Done").build(now()).unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&least).unwrap(), @r#"
        {
          "response_type": "text",
          "summary": "Done",
          "artifacts": [],
          "missions_spawned": [],
          "signals_emitted": [],
          "live_stream_id": null,
          "ui_hints": null,
          "timestamp": "2026-02-07T20:07:00.123456+00:00",
          "metadata": {}
        }
        "#);
        let mission = MissionReference::new("m-1", "proposed", "extract", "Find quotes");
        let signal = SignalReference::new("mission_proposed", "mission", "chat", now());
        let full = ResponseBuilder::new()
            .response_type(ResponseType::ArtifactBundle)
            .summary("All of it.")
            .add_table("Table", ["a", "b"], [[json!(1), json!("x")]])
            .add_chart("Chart", ChartArtifact::over("bar", ["Jan"]).with_dataset("Sales", [3]))
            .add_document("Document", "markdown", [Section::new("Head", "Text")])
            .add_code_block("Code", "a\nb", "text")
            .add_timeline("Timeline", [TimelineEvent::new(now(), "Start").with_status("success")])
            .add_file_reference("File", FileReferenceArtifact::new("a.csv", "csv").with_size(9))
            .add_json("Data", json!([1, null]))
            .add_mission_draft("Draft", &mission)
            .add_signal_batch("Signals", vec![Value::from(&signal)])
            .add_mission(mission)
            .add_signal(signal.with_summary("Proposed"))
            .live_stream("stream-1")
            .hints(UiHints::default().with_layout("split").with_icon("clipboard"))
            .metadata("confidence", 0.5)
            .build(now())
            .unwrap();
        let lines: Vec<String> = full
            .to_document()
            .as_object()
            .unwrap()
            .iter()
            .map(|(k, v)| format!("{k}: {v}"))
            .collect();
        insta::assert_snapshot!(lines.join("\n").replace("},{\"artifact", "},\n{\"artifact"), @r#"
        response_type: "artifact_bundle"
        summary: "All of it."
        artifacts: [{"artifact_type":"table","title":"Table","content":{"columns":["a","b"],"rows":[[1,"x"]],"row_count":1,"column_count":2},"metadata":{}},
        {"artifact_type":"chart","title":"Chart","content":{"chart_type":"bar","data":{"labels":["Jan"],"datasets":[{"label":"Sales","data":[3]}]}},"metadata":{}},
        {"artifact_type":"document","title":"Document","content":{"format":"markdown","sections":[{"heading":"Head","content":"Text"}],"section_count":1},"metadata":{}},
        {"artifact_type":"code_block","title":"Code","content":{"code":"a\nb","language":"text","line_count":2},"metadata":{}},
        {"artifact_type":"timeline","title":"Timeline","content":{"events":[{"timestamp":"2026-02-07T20:07:00.123456+00:00","event":"Start","status":"success"}],"event_count":1,"start_time":"2026-02-07T20:07:00.123456+00:00","end_time":"2026-02-07T20:07:00.123456+00:00"},"metadata":{}},
        {"artifact_type":"file_reference","title":"File","content":{"file_path":"a.csv","file_type":"csv","size_bytes":9},"metadata":{}},
        {"artifact_type":"json_data","title":"Data","content":[1,null],"metadata":{}},
        {"artifact_type":"mission_draft","title":"Draft","content":{"mission_id":"m-1","status":"proposed","objective_type":"extract","objective_description":"Find quotes"},"metadata":{}},
        {"artifact_type":"signal_batch","title":"Signals","content":[{"signal_type":"mission_proposed","signal_layer":"mission","signal_source":"chat","timestamp":"2026-02-07T20:07:00.123456+00:00","summary":null}],"metadata":{}}]
        missions_spawned: [{"mission_id":"m-1","status":"proposed","objective_type":"extract","objective_description":"Find quotes"}]
        signals_emitted: [{"signal_type":"mission_proposed","signal_layer":"mission","signal_source":"chat","timestamp":"2026-02-07T20:07:00.123456+00:00","summary":"Proposed"}]
        live_stream_id: "stream-1"
        ui_hints: {"layout":"split","priority":null,"suggested_actions":[],"color_scheme":null,"icon":"clipboard","expandable":true}
        timestamp: "2026-02-07T20:07:00.123456+00:00"
        metadata: {"confidence":0.5}
        "#);
    }

    #[test]
    fn a_bad_answer_is_refused_with_every_reason() {
        let refused = ResponseBuilder::new()
            .add_table("T", ["a", "b"], [["only one"]])
            .add_mission(MissionReference::new("", "proposed", "extract", "x"))
            .live_stream(" ")
            .build(now())
            .unwrap_err();
        let places: Vec<&str> =
            refused.findings.iter().map(|finding| finding.field_path.as_str()).collect();
        assert_eq!(
            places,
            [
                "/summary",
                "/artifacts/0/content/rows/0",
                "/missions_spawned/0/mission_id",
                "/live_stream_id"
            ]
        );
    }

    #[test]
    fn a_wider_budget_is_the_projects_choice() {
        let large = ResponseBuilder::new().summary("Long").add_json("Data", "x".repeat(70_000));
        let document = large.clone().build(now()).unwrap().to_document();
        assert_eq!(check(&document, Profile::Strict).len(), 1);
        let wide = UiCheckOptions::default().with_content_budget(80_000);
        assert!(large.with_check_options(wide.clone()).build(now()).is_ok());
        assert_eq!(check(&document, wide), []);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((".{0,6}", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn time() -> impl Strategy<Value = Timestamp> {
        // These are the years 0 to 9999, which four digits can write.
        (-62_167_219_200_000_000..253_402_207_200_000_000_i64).prop_map(Timestamp::from_unix_micros)
    }

    fn content() -> impl Strategy<Value = ArtifactContent> {
        let table = (1_usize..4, 0_usize..4).prop_flat_map(|(columns, rows)| {
            let names = proptest::collection::vec(".{0,8}", columns);
            let row = proptest::collection::vec(value(), columns);
            (names, proptest::collection::vec(row, rows))
        });
        let member = (".{0,6}", value());
        prop_oneof![
            table.prop_map(|(columns, rows)| TableArtifact::new(columns, rows).into()),
            (".{0,8}", proptest::collection::vec(member, 0..3)).prop_map(|(kind, data)| {
                ChartArtifact::new(kind, data.into_iter().collect()).into()
            }),
            proptest::collection::vec((".{0,8}", ".{0,20}"), 0..3).prop_map(|sections| {
                let sections = sections.into_iter().map(|(head, text)| Section::new(head, text));
                DocumentArtifact::markdown(sections).into()
            }),
            ("[a\n\r]{0,9}", ".{0,4}")
                .prop_map(|(code, language)| CodeBlockArtifact::new(code, language).into()),
            proptest::collection::vec((time(), ".{0,8}"), 0..3).prop_map(|events| {
                let events = events.into_iter().map(|(time, what)| TimelineEvent::new(time, what));
                TimelineArtifact::new(events).into()
            }),
            ("x.{0,8}", proptest::option::of(any::<u64>())).prop_map(|(path, size)| {
                let mut file = FileReferenceArtifact::new(path, "csv");
                file.size_bytes = size;
                file.into()
            }),
            value().prop_map(ArtifactContent::JsonData),
            value().prop_map(ArtifactContent::MissionDraft),
            value().prop_map(ArtifactContent::SignalBatch),
        ]
    }

    fn hints() -> impl Strategy<Value = UiHints> {
        let word = || proptest::option::of(".{0,8}");
        let actions = proptest::collection::vec(".{0,8}", 0..3);
        (word(), word(), actions, any::<bool>()).prop_map(|(layout, icon, actions, expandable)| {
            let mut hints = UiHints::default().with_actions(actions).with_expandable(expandable);
            (hints.layout, hints.icon) = (layout, icon);
            hints
        })
    }

    proptest! {
        #[test]
        fn what_is_built_passes_and_comes_back(
            kind in proptest::sample::select(ResponseType::ALL.to_vec()),
            summary in "x.{0,20}",
            artifacts in proptest::collection::vec((".{0,8}", content(), value()), 0..4),
            missions in proptest::collection::vec(("x.{0,8}", ".{0,8}"), 0..3),
            signals in proptest::collection::vec(("x.{0,8}", time()), 0..3),
            stream in proptest::option::of("x.{0,8}"),
            hints in proptest::option::of(hints()),
            now in time(),
        ) {
            let mut builder =
                ResponseBuilder::new().response_type(kind).summary(summary).hints(hints);
            for (title, content, note) in artifacts {
                let artifact = Artifact::new(title, content).with_metadata("note", note);
                builder = builder.add_artifact(artifact);
            }
            for (id, goal) in missions {
                builder = builder.add_mission(MissionReference::new(id, "proposed", "x", goal));
            }
            for (kind, time) in signals {
                builder = builder.add_signal(SignalReference::new(kind, "layer", "here", time));
            }
            if let Some(stream) = stream {
                builder = builder.live_stream(stream);
            }
            // build() runs the strict check.
            let envelope = builder.build(now).unwrap();
            let document = envelope.to_document();
            prop_assert_eq!(ResponseEnvelope::from_document(&document).unwrap(), envelope);
        }
    }
}
