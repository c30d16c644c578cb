//! Draws events in time.

use std::borrow::Cow;

use answerback::Timestamp;
use serde_json::{Map, Value};

use super::brief::{brief, list, rest, text};
use super::moment::{Moment, span};
use super::sheet::Sheet;
use super::span::Line;
use super::style::Tone;
use super::width::{beginning, shortened};
use crate::plural::count_noun_grouped;

/// The smallest width with a column for the time since the first event.
const ROOMY: usize = 96;

/// The smallest width of an event's text.
const NARROWEST: usize = 18;

/// Draws the events of a timeline artifact in the order of the document.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let events = content.get("events").and_then(Value::as_array)?;
    let sheet = sheet.prose();
    let shown = &events[..events.len().min(sheet.rows)];
    let rows: Vec<TimelineRow> = rows(shown);
    let columns = TimelineColumns::of(sheet, &rows);
    let mut lines = Vec::new();
    let mut day = None;
    for (index, row) in rows.iter().enumerate() {
        if let Some(moment) = &row.moment
            && day.as_ref() != Some(&moment.day)
        {
            lines.push(sheet.dim(format!("{} UTC", moment.day)).into());
            day = Some(moment.day.clone());
        }
        let is_last = index + 1 == events.len();
        lines.extend(columns.draw(row, is_last));
    }
    if events.is_empty() {
        lines.push(sheet.dim("no events").into());
    }
    if events.len() > shown.len() {
        lines.push(sheet.more(events.len() - shown.len(), "event"));
    }
    if rows.iter().any(|row| row.step.is_some_and(|step| step < 0)) {
        lines.extend(sheet.note("the events are not in the order of their times"));
    }
    let unread = rows.iter().filter(|row| row.moment.is_none()).count();
    if unread > 0 {
        lines.extend(
            sheet.note(format!("{} without a readable time", count_noun_grouped(unread, "event"))),
        );
    }
    Some(lines)
}

/// Describes the timeline for the artifact's heading: `3 events · 45 s`.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let events = list(content, "events");
    let stamps = events.iter().filter_map(|event| event.get("timestamp")?.as_str());
    let times = stamps.filter_map(|stamp| Timestamp::parse(stamp).ok());
    let range = times.fold(None, |range, (time, _)| match range {
        None => Some((time, time)),
        Some((first, last)) => Some((time.min(first), time.max(last))),
    });
    let mut size = count_noun_grouped(events.len(), "event");
    if let Some((first, last)) = range.filter(|_| events.len() > 1) {
        size = format!("{size} · {}", span(last.nanos_since(first)));
    }
    size
}

/// One parsed event.
struct TimelineRow<'d> {
    moment: Option<Moment>,
    written: String,
    /// Nanoseconds since the previous event.
    step: Option<i128>,
    /// Nanoseconds since the first event.
    since: Option<i128>,
    event: String,
    status: Option<Cow<'d, str>>,
    others: Vec<String>,
}

fn moment_of(event: &Value) -> Option<Moment> {
    event.get("timestamp").and_then(Value::as_str).and_then(Moment::parse)
}

fn rows(events: &[Value]) -> Vec<TimelineRow<'_>> {
    let mut first = None;
    let mut before = None;
    events
        .iter()
        .map(|event| {
            let moment = moment_of(event);
            let time = moment.as_ref().map(|moment| moment.time);
            let (step, since) = match time {
                Some(time) => (
                    before.map(|earlier| time.nanos_since(earlier)),
                    first.map(|earlier| time.nanos_since(earlier)),
                ),
                None => (None, None),
            };
            first = first.or(time);
            before = time.or(before);
            let Some(members) = event.as_object() else {
                let event = brief(event, 200);
                let written = String::new();
                return TimelineRow {
                    moment,
                    written,
                    step,
                    since,
                    event,
                    status: None,
                    others: vec![],
                };
            };
            let written = match &moment {
                Some(moment) => moment.clock.clone(),
                None => members.get("timestamp").map_or_else(String::new, |value| brief(value, 12)),
            };
            let named = ["event", "title", "name", "description"]
                .into_iter()
                .find(|name| text(members, name).is_some())
                .unwrap_or("event");
            let event = members.get(named).map_or_else(|| "(no event)".into(), |v| brief(v, 400));
            let others = rest(members, &["timestamp", named, "status"])
                .iter()
                .take(6)
                .map(|(name, value)| other(name, value))
                .collect();
            TimelineRow {
                moment,
                written,
                step,
                since,
                event,
                status: text(members, "status"),
                others,
            }
        })
        .collect()
}

/// Formats a further member of an event.
fn other(name: &str, value: &Value) -> String {
    match (name, value.as_u64()) {
        ("duration_ms", Some(millis)) => format!("took {}", span(i128::from(millis) * 1_000_000)),
        _ => format!("{}: {}", beginning(name, 40).0, brief(value, 120)),
    }
}

/// The widths of an event's parts.
struct TimelineColumns {
    sheet: Sheet,
    clock: usize,
    since: usize,
    step: usize,
    status: usize,
    /// True if the text goes below the time, because there is no room next to it.
    is_stacked: bool,
}

impl TimelineColumns {
    fn of(sheet: Sheet, rows: &[TimelineRow<'_>]) -> Self {
        let widest = |text: &dyn Fn(&TimelineRow<'_>) -> String| {
            rows.iter().map(|row| sheet.plain(text(row)).width()).max().unwrap_or_default()
        };
        let with_gap = |width: usize| if width == 0 { 0 } else { width + 2 };
        let clock = with_gap(widest(&|row| row.written.clone()).min(15));
        let since = if sheet.width < ROOMY { 0 } else { with_gap(widest(&since)) };
        let step = with_gap(widest(&step));
        let statuses = rows.iter().filter_map(|row| row.status.as_deref());
        let status = statuses.map(|word| sheet.signed(word).width()).max().unwrap_or_default();
        let status = with_gap(status);
        let is_stacked = sheet.width < clock + since + step + status + NARROWEST;
        Self { sheet, clock, since, step, status, is_stacked }
    }

    fn draw(&self, row: &TimelineRow<'_>, is_last: bool) -> Vec<Line> {
        let sheet = self.sheet;
        let tone = row.status.as_deref().map_or(Tone::Neutral, Tone::of);
        if self.is_stacked {
            return self.stacked(row, tone, is_last);
        }
        let right = |text: &str, width: usize| {
            let span = sheet.dim(text);
            let mut line = Line::default().padded(width.saturating_sub(span.width() + 2));
            line.push(span);
            line.padded(width)
        };
        let mut head = Line::from(sheet.plain(shortened(&row.written, 15))).padded(self.clock);
        if self.since > 0 {
            head.join(right(&since(row), self.since));
        }
        if self.step > 0 {
            head.join(right(&step(row), self.step));
        }
        let stem = head.width();
        head.push(sheet.span("● ", tone.style()));
        let below = |text: Line| {
            let mut line = Line::default().padded(stem);
            line.push(sheet.dim(if is_last { "  " } else { "│ " }));
            line.join(text);
            line
        };
        let room = sheet.width.saturating_sub(head.width() + self.status).max(8);
        let mut event = Line::from(sheet.plain(&row.event)).wrapped(room).into_iter();
        head.join(event.next().unwrap_or_default());
        if let Some(word) = &row.status {
            head = head.padded(sheet.width.saturating_sub(self.status) + 2);
            head.push(sheet.signed(word));
        }
        let mut lines = vec![head];
        lines.extend(event.map(below));
        for other in &row.others {
            let text = Line::from(sheet.dim(other));
            lines.extend(text.wrapped(room + self.status).into_iter().take(3).map(below));
        }
        lines
    }
}

impl TimelineColumns {
    fn stacked(&self, row: &TimelineRow<'_>, tone: Tone, is_last: bool) -> Vec<Line> {
        let sheet = self.sheet;
        let mut head = Line::from([sheet.span("● ", tone.style()), sheet.plain(&row.written)]);
        head.push(sheet.dim(format!(" {}", step(row))));
        let mut lines = head.wrapped(sheet.width);
        let mut text = vec![Line::from(sheet.plain(&row.event))];
        text.extend(row.others.iter().map(|other| Line::from(sheet.dim(other))));
        text.extend(row.status.as_deref().map(|word| Line::from(sheet.signed(word))));
        for line in text.iter().flat_map(|line| line.wrapped(sheet.narrower(2).width)) {
            let mut whole = Line::from(sheet.dim(if is_last { "  " } else { "│ " }));
            whole.join(line);
            lines.push(whole);
        }
        lines
    }
}

fn since(row: &TimelineRow<'_>) -> String {
    row.since.map_or_else(String::new, span)
}

fn step(row: &TimelineRow<'_>) -> String {
    match row.step {
        Some(step) if step >= 0 => format!("+{}", span(step)),
        Some(step) => span(step),
        None => String::new(),
    }
}
