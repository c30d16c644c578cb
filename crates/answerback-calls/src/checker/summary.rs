use std::collections::BTreeMap;

use answerback_parse::Confidence;
use serde::Serialize;

use super::CheckedCall;
use crate::retry::{AttemptOutcome, FailureTally};

/// The most models that are counted by name.
const MOST_MODELS: usize = 1000;
/// The name under which all further models are counted.
const OTHER: &str = "(other)";

/// Summarizes a log of calls: the failure rates by tool, model, place and code, and the outcomes of the
/// failing calls.
///
/// [`CallSummary::add`] counts each call. [`CallSummary::finish`] adds the counts of the tracker's tally.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CallSummary {
    /// The number of calls.
    pub calls: u64,
    /// The number of calls with an error.
    pub failed: u64,
    /// The share of failed calls, from 0 to 1.
    pub failure_rate: f64,
    /// The number of calls whose tool has no usable schema.
    pub unchecked: u64,
    /// The outcomes of the failing calls.
    pub attempts: AttemptSummary,
    /// The counts of proposed repairs.
    pub repairs: Repairs,
    /// The counts by tool, most failures first.
    pub tools: Vec<Share>,
    /// The counts by model, if the log names it, most failures first.
    pub models: Vec<Share>,
    /// The counts by error code, most frequent first.
    pub codes: Vec<CodeCount>,
    /// The counts by tool, place and error code, most frequent first.
    pub places: Vec<PlaceCount>,
    /// The places in schemas that look wrong.
    pub suspects: Vec<SuspectPlace>,
    #[serde(skip)]
    by_model: BTreeMap<String, (u64, u64)>,
    #[serde(skip)]
    by_code: BTreeMap<String, u64>,
}

/// Counts the outcomes of failing calls.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AttemptSummary {
    /// The number of calls that failed as the first attempt, the second, and so on.
    pub failed: Vec<u64>,
    /// The number of valid calls that followed failed attempts.
    pub corrected: u64,
    /// The number of escalations.
    pub escalations: u64,
    /// The number of calls that were rejected while their key was blocked or stopped.
    pub turned_away: u64,
}

/// Counts the calls and escalations that have a repair.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Repairs {
    /// The number of calls with a safe repair.
    pub safe: u64,
    /// The number of calls with a repair that is a guess.
    pub guess: u64,
    /// The number of escalations whose last call had a repair.
    pub escalations: u64,
}

/// Counts the calls of one tool or one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Share {
    /// The name of the tool or model.
    pub name: String,
    /// The number of calls.
    pub calls: u64,
    /// The number of calls with an error.
    pub failed: u64,
    /// The share of failed calls, from 0 to 1.
    pub failure_rate: f64,
}

/// Counts the calls that failed with one error code.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CodeCount {
    /// The error code.
    pub code: String,
    /// The number of failing calls with this code.
    pub failed: u64,
}

/// Counts the calls that failed with one error code at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PlaceCount {
    /// The name of the tool.
    pub tool: String,
    /// The place, with `*` for array indices and `?` for a field name that the model invented.
    pub path: String,
    /// The error code.
    pub code: String,
    /// The number of failing calls with this code at this place.
    pub failed: u64,
    /// The share of failing calls with this code at this place among all calls of the tool, from 0 to 1.
    pub failure_rate: f64,
}

/// A place in a schema that looks wrong, because at least half of the tool's failing calls fail there.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SuspectPlace {
    /// The name of the tool.
    pub tool: String,
    /// The place, with `*` for array indices.
    pub path: String,
    /// The error code.
    pub code: String,
    /// The number of failing calls with this error at this place.
    pub failed_here: u64,
    /// The number of failing calls of the tool.
    pub failed: u64,
}

impl CallSummary {
    /// Counts a call and its outcome.
    pub fn add(&mut self, checked: &CheckedCall<'_>, outcome: &AttemptOutcome) {
        let failed = !checked.is_valid();
        self.calls += 1;
        self.failed += u64::from(failed);
        self.unchecked += u64::from(checked.unchecked.is_some());
        if let Some(model) = &checked.model {
            let is_known = self.by_model.len() < MOST_MODELS || self.by_model.contains_key(model);
            let name = if is_known { model.as_str() } else { OTHER };
            let (calls, failures) = match self.by_model.get_mut(name) {
                Some(counts) => counts,
                None => self.by_model.entry(name.to_owned()).or_default(),
            };
            *calls += 1;
            *failures += u64::from(failed);
        }
        self.attempts.add(outcome, failed);
        if let Some(repair) = &checked.repair {
            match repair.confidence {
                Confidence::Safe => self.repairs.safe += 1,
                Confidence::Guess => self.repairs.guess += 1,
            }
            let is_escalated =
                matches!(outcome, AttemptOutcome::Blocked(blocked) if blocked.is_new);
            self.repairs.escalations += u64::from(is_escalated);
        }
        if failed {
            let mut codes: Vec<&str> = checked
                .findings
                .iter()
                .filter(|finding| finding.is_error())
                .map(|finding| finding.error_code.as_ref())
                .collect();
            codes.sort_unstable();
            codes.dedup();
            for code in codes {
                // This library defines the codes, so their number is bounded.
                *self.by_code.entry(code.to_owned()).or_default() += 1;
            }
        }
    }

    /// Completes the summary with the tracker's counts by tool and place.
    #[must_use]
    pub fn finish(mut self, tally: &FailureTally) -> Self {
        self.failure_rate = rate(self.failed, self.calls);
        for (tool, counts) in tally.tools() {
            self.tools.push(Share::new(tool, counts.calls, counts.failed));
            self.places.extend(counts.places.iter().map(|((code, path), failed)| PlaceCount {
                tool: tool.to_owned(),
                path: path.clone(),
                code: code.clone(),
                failed: *failed,
                failure_rate: rate(*failed, counts.calls),
            }));
        }
        let models = std::mem::take(&mut self.by_model);
        self.models = models
            .iter()
            .map(|(name, (calls, failed))| Share::new(name, *calls, *failed))
            .collect();
        let codes = std::mem::take(&mut self.by_code);
        self.codes = codes.into_iter().map(|(code, failed)| CodeCount { code, failed }).collect();
        // The sorts are stable, so equal entries stay in the order of their names.
        self.tools.sort_by_key(|share| std::cmp::Reverse(share.failed));
        self.models.sort_by_key(|share| std::cmp::Reverse(share.failed));
        self.codes.sort_by_key(|counted| std::cmp::Reverse(counted.failed));
        self.places.sort_by_key(|place| std::cmp::Reverse(place.failed));
        self.suspects = tally
            .suspects()
            .into_iter()
            .map(|suspect| SuspectPlace {
                tool: suspect.tool,
                path: suspect.path,
                code: suspect.code,
                failed_here: suspect.failed_here,
                failed: suspect.failed,
            })
            .collect();
        self
    }
}

impl AttemptSummary {
    fn add(&mut self, outcome: &AttemptOutcome, failed: bool) {
        let attempt = match outcome {
            AttemptOutcome::Retry(retry) => retry.attempt,
            AttemptOutcome::Blocked(blocked) if blocked.is_new => {
                self.escalations += 1;
                blocked.attempt
            }
            AttemptOutcome::Proceed(proceed) => {
                self.corrected += u64::from(!failed && proceed.failed_attempts > 0);
                return;
            }
            AttemptOutcome::Blocked(_) | AttemptOutcome::Stopped { .. } => {
                self.turned_away += 1;
                return;
            }
            AttemptOutcome::Applied | AttemptOutcome::Ignored => return,
        };
        let index = usize::from(attempt.saturating_sub(1));
        if self.failed.len() <= index {
            self.failed.resize(index + 1, 0);
        }
        self.failed[index] += 1;
    }
}

impl Share {
    fn new(name: &str, calls: u64, failed: u64) -> Self {
        Self { name: name.to_owned(), calls, failed, failure_rate: rate(failed, calls) }
    }
}

/// Returns a share rounded to four decimals.
#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 / whole as f64 * 10_000.0).round() / 10_000.0 }
}

#[cfg(test)]
mod tests {
    use answerback_json::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::checker::{CallRequest, ToolCatalog, check_call};
    use crate::config::ValidationConfig;
    use crate::retry::RetryTracker;

    #[test]
    fn counts_by_tool_model_place_and_code() {
        let schema = json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let catalog = ToolCatalog::read(&json!([{"name": "t", "inputSchema": schema}])).unwrap();
        let config = ValidationConfig::default();
        let (tracker, now) = (RetryTracker::new(&config), Timestamp::from_unix_millis(0));
        let mut summary = CallSummary::default();
        for index in 0..24 {
            let arguments = if index % 2 == 0 { json!({"n": "x"}) } else { json!({"n": 1}) };
            // Three conversations: one corrects each mistake, one is never valid, one is always valid.
            let (conversation, arguments) = match index % 3 {
                0 => ("a", arguments),
                1 => ("b", json!({})),
                _ => ("c", json!({"n": 1})),
            };
            let mut line = CallRequest::new("t", arguments).with_conversation(conversation);
            line.model = Some(format!("model {conversation}"));
            let checked = check_call(&catalog, line, &config, answerback_json::Limits::default());
            summary.add(&checked, &checked.track(&tracker, now, [0; 10]));
        }
        let summary = summary.finish(&tracker.tally());
        insta::assert_snapshot!(serde_json::to_string_pretty(&summary).unwrap(), @r#"
        {
          "calls": 24,
          "failed": 12,
          "failure_rate": 0.5,
          "unchecked": 0,
          "attempts": {
            "failed": [
              5,
              1,
              1
            ],
            "corrected": 4,
            "escalations": 1,
            "turned_away": 5
          },
          "repairs": {
            "safe": 0,
            "guess": 0,
            "escalations": 0
          },
          "tools": [
            {
              "name": "t",
              "calls": 24,
              "failed": 12,
              "failure_rate": 0.5
            }
          ],
          "models": [
            {
              "name": "model b",
              "calls": 8,
              "failed": 8,
              "failure_rate": 1.0
            },
            {
              "name": "model a",
              "calls": 8,
              "failed": 4,
              "failure_rate": 0.5
            },
            {
              "name": "model c",
              "calls": 8,
              "failed": 0,
              "failure_rate": 0.0
            }
          ],
          "codes": [
            {
              "code": "VAL-001",
              "failed": 8
            },
            {
              "code": "VAL-002",
              "failed": 4
            }
          ],
          "places": [
            {
              "tool": "t",
              "path": "/n",
              "code": "VAL-001",
              "failed": 8,
              "failure_rate": 0.3333
            },
            {
              "tool": "t",
              "path": "/n",
              "code": "VAL-002",
              "failed": 4,
              "failure_rate": 0.1667
            }
          ],
          "suspects": [
            {
              "tool": "t",
              "path": "/n",
              "code": "VAL-001",
              "failed_here": 8,
              "failed": 12
            }
          ]
        }
        "#);
    }
}
