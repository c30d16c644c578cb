//! The steps of answering a failing call, each measured over all calls.

#![expect(clippy::unnecessary_wraps, reason = "steps have one form, and some take every call")]

use answerback::call::{Schema, check};
use answerback::checker::{CallRequest, CheckedCall, check_call};
use answerback::finding::{Severity, ValidationError, aggregate, preview};
use answerback::json::Limits;
use answerback::message::{
    CallFailure, ErrorFormatter, Formatting, Repair, StandardFormatter, Style, repair,
};
use answerback::retry::AttemptOutcome;
use answerback::{RetryTracker, Timestamp};
use anyhow::{Context, ensure};
use jsonschema::Validator;
use serde_json::Value;

use crate::Row;
use crate::cases::{Workload, value};
use crate::clock::{BATCH, Figures, ROUNDS, microseconds};

/// The time of every call.
fn moment() -> Timestamp {
    Timestamp::from_unix_millis(1_800_000_000_000)
}

const RANDOM: [u8; 10] = [7; 10];
/// The most findings that a recorded call had.
const MOST_FINDINGS: usize = 148;

/// A call with what the steps before the measured one made of it.
struct Case<'w> {
    workload: &'w Workload,
    line: &'w CallRequest,
    arguments: Option<&'w Value>,
    validator: Option<&'w Validator>,
    judged: CheckedCall<'w>,
    valid: CheckedCall<'w>,
    outcome: AttemptOutcome,
    compact: Formatting,
}

/// A step: its name, what it is in words, and the microseconds it takes for a call that goes through it.
struct Step {
    name: &'static str,
    what: &'static str,
    measure: fn(&Case<'_>) -> Option<f64>,
}

const STEPS: [Step; 13] = [
    Step { name: "validator", what: "the validator with its own text", measure: validator },
    Step { name: "check", what: "check", measure: checked },
    Step { name: "repair", what: "repair", measure: repaired },
    Step { name: "format_detailed", what: "format with hints", measure: detailed },
    Step { name: "format_compact", what: "format with hints, compact", measure: compact },
    Step { name: "preview", what: "preview of the arguments", measure: previewed },
    Step { name: "aggregate", what: "aggregate", measure: aggregated },
    Step { name: "answer", what: "check, repair, message with hints", measure: answered },
    Step { name: "answer_counted", what: "the same, with attempts counted", measure: counted },
    Step { name: "tracker_first", what: "tracker: first failure", measure: first_failure },
    Step { name: "tracker_second", what: "tracker: second failure", measure: second_failure },
    Step { name: "tracker_blocked", what: "tracker: third failure, escalated", measure: escalated },
    Step { name: "tracker_success", what: "tracker: success after a failure", measure: success },
];

/// Measures every step. The steps take turns, so that whatever disturbs the machine disturbs all alike.
pub(crate) fn measure(
    workload: &Workload,
    print: &mut impl FnMut(Row) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let cases = (0..workload.calls.len()).map(|index| Case::new(workload, index));
    let cases = cases.collect::<anyhow::Result<Vec<_>>>()?;
    let mut best = vec![[f64::INFINITY; STEPS.len()]; cases.len()];
    for _ in 0..ROUNDS {
        for (case, best) in cases.iter().zip(&mut best) {
            for (step, best) in STEPS.iter().zip(best) {
                *best = (step.measure)(case).map_or(*best, |time| time.min(*best));
            }
        }
    }
    for (index, step) in STEPS.iter().enumerate() {
        let times = best.iter().map(|best| best[index]).filter(|time| time.is_finite()).collect();
        let figures = Figures::of(times).with_context(|| format!("no call for {}", step.name))?;
        print(Row { name: step.name.to_owned(), what: step.what.to_owned(), figures })?;
    }
    let many = many_findings()?;
    let failure = CallFailure::new("place_order", &many);
    let formatting = Formatting::default();
    let best = |work: &dyn Fn() -> usize| {
        (0..ROUNDS).map(|_| microseconds(|| (), |()| work())).fold(f64::INFINITY, f64::min)
    };
    for (name, what, time) in [
        ("aggregate_148", "aggregate 148 findings", best(&|| aggregate(&many, 10).groups.len())),
        (
            "format_148",
            "format 148 findings",
            best(&|| StandardFormatter.format(&failure, &formatting).len()),
        ),
    ] {
        let figures = Figures::of(vec![time]).context("one time")?;
        print(Row { name: name.to_owned(), what: what.to_owned(), figures })?;
    }
    Ok(())
}

impl<'w> Case<'w> {
    fn new(workload: &'w Workload, index: usize) -> anyhow::Result<Self> {
        let line = &workload.calls[index];
        let judge = |line: &CallRequest| {
            check_call(&workload.catalogue, line.clone(), &workload.config, Limits::default())
        };
        let judged = judge(line);
        ensure!(!judged.is_valid(), "{:?} is valid", line.id);
        let mut valid = judged.clone();
        valid.findings.clear();
        let outcome = judged.track(&tracker(), moment(), RANDOM);
        ensure!(
            matches!(outcome, AttemptOutcome::Retry(_)),
            "{:?} is not a first failure",
            line.id
        );
        Ok(Self {
            workload,
            line,
            arguments: value(line),
            validator: workload.validators[index].as_ref(),
            judged,
            valid,
            outcome,
            compact: Formatting::default().with_style(Style::Compact),
        })
    }

    fn failure(&self) -> CallFailure<'_> {
        let mut failure = CallFailure::new(&self.judged.tool, &self.judged.findings);
        failure.schema = self.workload.schema(self.line).map(Schema::source);
        failure.repair = self.judged.repair.as_ref().map(Repair::words);
        failure
    }

    /// A tracker in which the call has failed this often, each time in a turn of its own.
    fn failed(&self, times: usize) -> RetryTracker {
        let tracker = tracker();
        for _ in 0..times {
            self.judged.track(&tracker, moment(), RANDOM);
        }
        tracker
    }
}

fn tracker() -> RetryTracker {
    RetryTracker::new(3).with_max_keys(1)
}

fn validator(case: &Case<'_>) -> Option<f64> {
    let (validator, arguments) = (case.validator?, case.arguments?);
    let texts = |()| -> usize {
        validator.iter_errors(arguments).map(|error| error.to_string().len()).sum()
    };
    Some(microseconds(|| (), texts))
}

fn checked(case: &Case<'_>) -> Option<f64> {
    let (schema, arguments) = (case.judged.schema()?, case.arguments?);
    Some(microseconds(|| (), |()| check(schema, arguments, ())))
}

fn repaired(case: &Case<'_>) -> Option<f64> {
    let (schema, arguments) = (case.judged.schema()?, case.arguments?);
    let findings = check(schema, arguments, ()).ok()?;
    Some(microseconds(|| (), |()| repair(schema, arguments, &findings, ())))
}

fn detailed(case: &Case<'_>) -> Option<f64> {
    let (failure, formatting) = (case.failure(), Formatting::default());
    Some(microseconds(|| (), |()| StandardFormatter.format(&failure, &formatting)))
}

fn compact(case: &Case<'_>) -> Option<f64> {
    let failure = case.failure();
    Some(microseconds(|| (), |()| StandardFormatter.format(&failure, &case.compact)))
}

fn previewed(case: &Case<'_>) -> Option<f64> {
    let arguments = case.arguments?;
    Some(microseconds(|| (), |()| preview(arguments)))
}

fn aggregated(case: &Case<'_>) -> Option<f64> {
    Some(microseconds(|| (), |()| aggregate(&case.judged.findings, 10)))
}

fn answered(case: &Case<'_>) -> Option<f64> {
    let Workload { catalogue, config, .. } = case.workload;
    let make = || (case.line.clone(), case.outcome.clone());
    let work =
        |(line, outcome)| check_call(catalogue, line, config, Limits::default()).reply(outcome);
    Some(microseconds(make, work))
}

fn counted(case: &Case<'_>) -> Option<f64> {
    let Workload { catalogue, config, .. } = case.workload;
    let trackers: Vec<_> = std::iter::repeat_with(tracker).take(BATCH).collect();
    let mut fresh = trackers.iter().cycle();
    let make = || (case.line.clone(), fresh.next());
    let work = |(line, tracker): (CallRequest, Option<&RetryTracker>)| {
        let judged = check_call(catalogue, line, config, Limits::default());
        tracker.map(|tracker| answerback::checker::reply_to(judged, tracker, moment(), RANDOM))
    };
    Some(microseconds(make, work))
}

/// One more failing call after this many. Freeing the tracker is not part of it.
fn failure_after(case: &Case<'_>, times: usize) -> Option<f64> {
    let mut trackers = Vec::new();
    let make = || case.failed(times);
    let work = |tracker: RetryTracker| {
        let outcome = case.judged.track(&tracker, moment(), RANDOM);
        trackers.push(tracker);
        outcome
    };
    Some(microseconds(make, work))
}

fn first_failure(case: &Case<'_>) -> Option<f64> {
    failure_after(case, 0)
}

fn second_failure(case: &Case<'_>) -> Option<f64> {
    failure_after(case, 1)
}

fn escalated(case: &Case<'_>) -> Option<f64> {
    failure_after(case, 2)
}

fn success(case: &Case<'_>) -> Option<f64> {
    let mut trackers = Vec::new();
    let make = || case.failed(1);
    let work = |tracker: RetryTracker| {
        let outcome = case.valid.track(&tracker, moment(), RANDOM);
        trackers.push(tracker);
        outcome
    };
    Some(microseconds(make, work))
}

/// As many findings as a recorded call had at most, in the rows of a table.
fn many_findings() -> anyhow::Result<Vec<ValidationError>> {
    let finding = |index: usize| {
        let path = format!("/rows/{index}/cells/{}", index % 7);
        Ok(ValidationError::new("VAL-002", Severity::Error)
            .with_path(path.as_str().try_into()?)
            .with_message("Type mismatch: expected integer, got string")
            .with_schema_path("/type".try_into()?))
    };
    (0..MOST_FINDINGS).map(finding).collect()
}
