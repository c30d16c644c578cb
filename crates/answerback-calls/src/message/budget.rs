//! Everything in fewer characters than the limit, whatever it is.
//!
//! The size of the required parts is bounded and subtracted first. The findings then shrink in steps: shorter
//! actual values, shorter expectations and hints, one line each, fewer findings.

use std::fmt::Write;

use answerback_findings::neutral::{cut, push_name};
use answerback_findings::{Aggregate, aggregate, importance};
use answerback_redaction::redact;

use super::action::{GENERIC, call_to_action, is_unknown_tool_call};
use super::entry::{FindingEntry, clean, clean_plain};
use super::finding_cache::FindingCache;
use super::progress::{progress, repetition};
use super::{CallFailure, ErrorFormatter, Formatting, Style, compact, detailed};

/// Limits the characters of each part of a finding, and selects the optional parts of the message.
#[derive(Clone, Copy)]
pub(super) struct FindingLimits {
    style: Style,
    pub(super) place: usize,
    pub(super) text: usize,
    pub(super) expected: usize,
    pub(super) actual: usize,
    pub(super) hint: usize,
    /// Of the call to action.
    action: usize,
    /// Includes progress, a proposed repair and advice.
    extras: bool,
    /// Points out that the call repeats an earlier one.
    repetition: bool,
}

const ROOMY: FindingLimits = FindingLimits {
    style: Style::Detailed,
    place: 128,
    text: 240,
    expected: 320,
    actual: 1000,
    hint: 240,
    action: 320,
    extras: true,
    repetition: true,
};
const COMPACT: FindingLimits = FindingLimits {
    style: Style::Compact,
    text: 200,
    expected: 160,
    actual: 0,
    hint: 120,
    action: 200,
    ..ROOMY
};
const SHORT: FindingLimits =
    FindingLimits { text: 120, expected: 60, hint: 0, extras: false, ..COMPACT };
/// The smallest limits. One such finding fits into the shortest message, even with the longest tool name.
const TIGHT: FindingLimits =
    FindingLimits { place: 64, text: 72, expected: 32, action: 0, repetition: false, ..SHORT };

/// The steps by which the findings give way.
const STEPS: [FindingLimits; 5] = [
    ROOMY,
    FindingLimits { actual: 48, ..ROOMY },
    FindingLimits { actual: 32, expected: 100, text: 160, hint: 120, ..ROOMY },
    COMPACT,
    SHORT,
];
/// The first step of the compact style.
const FIRST_COMPACT: usize = 3;

/// The longest name of a tool, in characters.
const NAME: usize = 128;
/// The longest proposed repair, in characters.
const REPAIR: usize = 600;
/// The longest advice of a formatter, in characters.
const ADVICE: usize = 600;

/// The message: the roomiest form that stays under the limit.
pub(super) fn fit<F: ErrorFormatter + ?Sized>(
    failure: &CallFailure<'_>,
    formatting: &Formatting,
    formatter: &F,
) -> String {
    let limit = formatting.message_length();
    let aggregate = aggregate(failure.findings, formatting.error_limit());
    let known = FindingCache::of(failure, &aggregate);
    let failure = &CallFailure { cache: Some(&known), ..*failure };
    let entries: Vec<FindingEntry<'_>> = aggregate
        .groups
        .iter()
        .map(|group| FindingEntry::of(group, failure, formatting, formatter))
        .collect();
    let entries: Vec<&FindingEntry<'_>> = entries.iter().collect();
    let frame = MessageFrame::new(failure, &aggregate, formatting, formatter);
    let first = if formatting.style == Style::Compact { FIRST_COMPACT } else { 0 };
    for room in &STEPS[first..] {
        let message = frame.write(&entries, aggregate.left_out, room);
        if shorter(&message, limit) {
            return message;
        }
    }
    leave_out(&frame, &entries, &aggregate, &SHORT, limit)
        .or_else(|| leave_out(&frame, &entries, &aggregate, &TIGHT, limit))
        .unwrap_or_else(|| frame.write(&[], aggregate.total, &TIGHT))
}

fn shorter(message: &str, limit: usize) -> bool {
    message.len() < limit || message.chars().count() < limit
}

/// The message with as many findings as there is room for, the most important first; `None` if there
/// is room for none.
fn leave_out(
    frame: &MessageFrame<'_>,
    entries: &[&FindingEntry<'_>],
    aggregate: &Aggregate<'_>,
    room: &FindingLimits,
    limit: usize,
) -> Option<String> {
    let spent = frame.write(&[], aggregate.total, room).chars().count();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| (importance(entries[*index].group.finding), *index));
    let mut left = limit.saturating_sub(spent + 1);
    let mut kept = vec![false; entries.len()];
    for index in order {
        let mut line = String::new();
        compact::push(&mut line, entries[index], room);
        // The line and its end.
        let cost = line.chars().count() + 1;
        if cost > left {
            break;
        }
        left -= cost;
        kept[index] = true;
    }
    let shown: Vec<&FindingEntry<'_>> =
        entries.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(entry, _)| *entry).collect();
    if shown.is_empty() {
        return None;
    }
    let count: usize = shown.iter().map(|entry| entry.group.count()).sum();
    let message = frame.write(&shown, aggregate.total - count, room);
    shorter(&message, limit).then_some(message)
}

/// All of a message that is not a finding.
struct MessageFrame<'m> {
    failure: &'m CallFailure<'m>,
    aggregate: &'m Aggregate<'m>,
    style: Style,
    has_errors: bool,
    repetition: Option<String>,
    progress: Option<String>,
    advice: Option<String>,
    repair: Option<String>,
}

impl<'m> MessageFrame<'m> {
    fn new<F: ErrorFormatter + ?Sized>(
        failure: &'m CallFailure<'m>,
        aggregate: &'m Aggregate<'m>,
        formatting: &Formatting,
        formatter: &F,
    ) -> Self {
        // A patch that is cut is worth nothing.
        let whole = |text: &str| {
            let shown = clean(text, formatting.root.as_deref());
            (!text.is_empty() && shown.chars().count() <= REPAIR && !shown.contains("[redacted: "))
                .then(|| shown.into_owned())
        };
        let advice = formatter.advice(failure);
        Self {
            failure,
            aggregate,
            style: formatting.style,
            has_errors: aggregate.has_errors() || aggregate.groups.is_empty(),
            repetition: repetition(failure),
            progress: progress(failure),
            advice: advice.and_then(|advice| shortened(&advice, formatting)),
            repair: failure.repair.and_then(whole),
        }
    }

    fn write(
        &self,
        entries: &[&FindingEntry<'_>],
        left_out: usize,
        room: &FindingLimits,
    ) -> String {
        let mut message = String::with_capacity(1024);
        self.push_summary(&mut message);
        if let Some(repetition) = self.repetition.as_ref().filter(|_| room.repetition) {
            paragraph(&mut message, repetition);
        }
        message.push_str("\n\n");
        if room.style == Style::Detailed && entries.len() > 1 {
            message.push_str(if self.has_errors { "Errors:\n" } else { "Notes:\n" });
        }
        for (index, entry) in entries.iter().enumerate() {
            match room.style {
                Style::Detailed => {
                    message.push_str(if index > 0 { "\n\n" } else { "" });
                    detailed::push(&mut message, entry, room);
                }
                Style::Compact => {
                    message.push_str(if index > 0 { "\n" } else { "" });
                    compact::push(&mut message, entry, room);
                }
            }
        }
        if left_out > 0 {
            message.push_str(match (entries.is_empty(), room.style) {
                (true, _) => "",
                (_, Style::Detailed) => "\n\n",
                (_, Style::Compact) => "\n",
            });
            let noun = if left_out == 1 { "error" } else { "errors" };
            let _ = write!(message, "…and {left_out} more {noun}");
        }
        if room.extras {
            for text in [&self.progress, &self.repair_line(), &self.advice].into_iter().flatten() {
                paragraph(&mut message, text);
            }
        }
        paragraph(&mut message, &self.action(room));
        message
    }

    fn push_summary(&self, message: &mut String) {
        if self.has_errors {
            message.push_str("Validation failed for tool ");
            push_name(message, &redact(self.failure.tool), NAME);
            let CallFailure { attempt, max_attempts, .. } = self.failure;
            let _ = write!(message, " (attempt {attempt}/{max_attempts}):");
        } else {
            message.push_str("Validation passed with notes for tool ");
            push_name(message, &redact(self.failure.tool), NAME);
            message.push(':');
        }
    }

    fn repair_line(&self) -> Option<String> {
        self.repair
            .as_ref()
            .map(|repair| format!("Proposed repair, if it is what you meant: {repair}"))
    }

    fn action(&self, room: &FindingLimits) -> String {
        if !self.has_errors {
            "The call was valid: no retry is needed.".to_owned()
        } else if self.style == Style::Compact && !is_unknown_tool_call(self.aggregate) {
            GENERIC.to_owned()
        } else {
            call_to_action(self.failure, self.aggregate, room.action)
        }
    }
}

/// The advice of a formatter as it may be shown: cut to its limit, because its beginning already helps.
fn shortened(advice: &str, formatting: &Formatting) -> Option<String> {
    let shown = clean_plain(advice.trim(), formatting.root.as_deref());
    let limit = ADVICE.min(formatting.message_length() / 3);
    (!shown.is_empty()).then(|| cut(&shown, limit).into_owned())
}

fn paragraph(message: &mut String, text: &str) {
    message.push_str("\n\n");
    message.push_str(text);
}
