use std::collections::BTreeMap;

use answerback_findings::ValidationError;

use super::history::redacted_place;
use super::redactor::bounded;
use super::{Redactor, TrackedCall};

/// The most tools that are labels by name.
const MOST_TOOLS: usize = 1000;
/// The most places of one tool that are labels by name.
const MOST_PLACES: usize = 200;
/// The name under which everything beyond these bounds is labels. Models invent names, so their number is
/// unlimited.
const OTHER: &str = "(other)";
/// The label of all unknown tools in metrics.
const UNKNOWN: &str = "(unknown)";
/// The number of failing calls from which a tool's places can be suspects.
const ENOUGH_FAILURES: u64 = 10;

/// A kind of error at one place of a tool's arguments: the code and the place.
pub type FailurePlace = (String, String);

/// Counts failures by tool, place and code, and finds the schemas that look wrong.
///
/// When one kind of error at one place makes up half of a tool's failing calls, the schema is a
/// likelier culprit than the models.
#[derive(Clone, Debug, Default)]
pub struct FailureTally {
    tools: BTreeMap<String, ToolTally>,
}

/// The counts of one tool.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ToolTally {
    /// All calls.
    pub calls: u64,
    /// The calls with an error.
    pub failed: u64,
    /// The failing calls with this kind of error at this place.
    pub places: BTreeMap<FailurePlace, u64>,
}

/// A place of a tool's schema that looks wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Suspect {
    /// The tool.
    pub tool: String,
    /// The code of the error.
    pub code: String,
    /// The place, with `*` for array indices.
    pub path: String,
    /// The failing calls with this error.
    pub failed_here: u64,
    /// All failing calls of the tool.
    pub failed: u64,
}

/// The names under which one call was labels, with bounded cardinality.
#[cfg_attr(
    not(any(feature = "metrics", test)),
    expect(dead_code, reason = "only counters need the names")
)]
pub(super) struct CallLabels {
    /// The tool's label in metrics.
    pub(super) label: String,
    pub(super) places: Vec<FailurePlace>,
    /// Places that became suspect with this call.
    pub(super) suspects: Vec<FailurePlace>,
}

impl FailureTally {
    /// Counts a checked call.
    pub fn record(&mut self, call: &TrackedCall<'_>, redactor: &dyn Redactor) {
        self.count(call, redactor);
    }

    pub(super) fn count(&mut self, call: &TrackedCall<'_>, redactor: &dyn Redactor) -> CallLabels {
        let mut tool = bounded(redactor.text(call.tool), 128);
        if self.tools.len() >= MOST_TOOLS && !self.tools.contains_key(&tool) {
            OTHER.clone_into(&mut tool);
        }
        let tally = self.tools.entry(tool.clone()).or_default();
        tally.calls += 1;
        // A person who reads a summary wants the name; a metric must not grow with what models make up.
        let label = if call.unknown_tool { UNKNOWN.to_owned() } else { tool };
        let mut labels = CallLabels { label, places: Vec::new(), suspects: Vec::new() };
        if !call.is_failing() {
            return labels;
        }
        tally.failed += 1;
        let mut places: Vec<FailurePlace> = call
            .findings
            .iter()
            .filter(|finding| finding.is_error())
            .map(|finding| place(finding, redactor))
            .collect();
        places.sort_unstable();
        places.dedup();
        for place in places {
            let known = tally.places.len() < MOST_PLACES || tally.places.contains_key(&place);
            let place = if known { place } else { (place.0, OTHER.to_owned()) };
            let was_suspect = tally.is_suspect(&place, 1);
            match tally.places.get_mut(&place) {
                Some(count) => *count += 1,
                None => drop(tally.places.insert(place.clone(), 1)),
            }
            if !was_suspect && tally.is_suspect(&place, 0) {
                labels.suspects.push(place.clone());
            }
            labels.places.push(place);
        }
        labels
    }

    /// The counts, by tool.
    pub fn tools(&self) -> impl Iterator<Item = (&str, &ToolTally)> {
        self.tools.iter().map(|(tool, tally)| (tool.as_str(), tally))
    }

    /// The places that look wrong, the most frequent first.
    pub fn suspects(&self) -> Vec<Suspect> {
        let mut suspects: Vec<_> = self
            .tools
            .iter()
            .flat_map(|(tool, tally)| {
                let suspect = |place: &&FailurePlace| tally.is_suspect(place, 0);
                tally.places.keys().filter(suspect).map(move |place| Suspect {
                    tool: tool.clone(),
                    code: place.0.clone(),
                    path: place.1.clone(),
                    failed_here: tally.places[place],
                    failed: tally.failed,
                })
            })
            .collect();
        suspects.sort_by_key(|suspect| std::cmp::Reverse(suspect.failed_here));
        suspects
    }
}

impl ToolTally {
    /// Returns true if a place has half of the tool's failures, `fewer` failing calls ago.
    fn is_suspect(&self, place: &FailurePlace, fewer: u64) -> bool {
        // Broken JSON, an invented tool and what found no room say nothing about one schema's place.
        let speaks = place.0 != "VAL-004" && !place.1.is_empty() && place.1 != OTHER;
        let here = self.places.get(place).copied().unwrap_or(0);
        let failed = self.failed.saturating_sub(fewer);
        speaks && failed >= ENOUGH_FAILURES && here * 2 >= failed
    }
}

/// The place of a finding as a label. An unknown field's name is the model's own, so it is left out.
fn place(finding: &ValidationError, redactor: &dyn Redactor) -> FailurePlace {
    let code = bounded(finding.error_code.as_ref(), 16);
    let path = if code == "VAL-005" {
        let parent = finding.field_path.split_last().map(|(parent, _)| parent).unwrap_or_default();
        redacted_place(&parent, redactor) + "/?"
    } else {
        redacted_place(&finding.field_path, redactor)
    };
    (code, path)
}

#[cfg(test)]
mod tests {
    use answerback_findings::Severity;
    use serde_json::json;

    use super::super::HideSecrets;
    use super::*;

    fn finding(code: &'static str, path: &str) -> ValidationError {
        ValidationError::new(code, Severity::Error).with_path(path.try_into().unwrap())
    }

    #[test]
    fn what_a_model_made_up_is_no_label() {
        let (findings, arguments) = ([finding("VAL-008", "")], json!({}));
        let mut tally = FailureTally::default();
        for tool in ["made", "up"] {
            let call =
                TrackedCall::new(tool, "1", &arguments, &findings, [0; 10]).with_unknown_tool(true);
            assert_eq!(tally.count(&call, &HideSecrets).label, "(unknown)");
        }
        let labels: Vec<_> = tally.tools().map(|(tool, tally)| (tool, tally.calls)).collect();
        assert_eq!(labels, [("made", 1), ("up", 1)]);
    }

    #[test]
    fn a_place_that_always_fails_is_suspect() {
        let mut tally = FailureTally::default();
        let arguments = json!({});
        let mut new = 0;
        for round in 0..20 {
            let findings = [
                finding("VAL-002", &format!("/elements/{round}")),
                finding("VAL-005", &format!("/made_up_{round}")),
            ];
            let findings = if round % 4 == 0 { &findings[1..] } else { &findings[..] };
            let call = TrackedCall::new("sort_list", "1", &arguments, findings, [0; 10]);
            new += tally.count(&call, &HideSecrets).suspects.len();
            tally.record(&TrackedCall::new("fine", "1", &arguments, &[], [0; 10]), &HideSecrets);
        }
        let suspects = tally.suspects();
        assert_eq!(
            suspects
                .iter()
                .map(|one| (one.code.as_str(), one.path.as_str(), one.failed_here))
                .collect::<Vec<_>>(),
            [("VAL-005", "/?", 20), ("VAL-002", "/elements/*", 15)]
        );
        assert_eq!(new, 2);
        let counts: Vec<_> =
            tally.tools().map(|(tool, one)| (tool, one.calls, one.failed)).collect();
        assert_eq!(counts, [("fine", 20, 0), ("sort_list", 20, 20)]);
    }

    #[test]
    fn names_from_models_are_bounded() {
        let mut tally = FailureTally::default();
        let arguments = json!({});
        for index in 0..MOST_TOOLS + 50 {
            let findings = [finding("VAL-008", "")];
            let tool = format!("tool-{index}");
            tally.record(
                &TrackedCall::new(&tool, "1", &arguments, &findings, [0; 10]),
                &HideSecrets,
            );
            let findings = [finding("VAL-001", &format!("/field-{index}"))];
            tally.record(
                &TrackedCall::new("one", "1", &arguments, &findings, [0; 10]),
                &HideSecrets,
            );
        }
        assert_eq!(tally.tools().count(), MOST_TOOLS + 1);
        let (_, one) = tally.tools().find(|(tool, _)| *tool == "one").unwrap();
        assert_eq!(one.places.len(), MOST_PLACES + 1);
        assert_eq!(one.failed, 1050);
    }
}
