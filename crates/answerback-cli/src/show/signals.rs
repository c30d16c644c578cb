//! Draws signals, grouped by their layer.

use serde_json::Value;

use super::brief::brief;
use super::moment::Moment;
use super::sheet::{Sheet, indented};
use super::span::Line;
use super::style::KEY;
use crate::plural::count_noun_grouped;

/// The layers, from a single interaction to the whole.
const LAYERS: [&str; 4] = ["selector", "intent", "mission", "aggregate"];

/// Draws signals under their layers. Equal neighbors are combined on one line.
pub(crate) fn signals(sheet: Sheet, signals: &[Value]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut room = sheet.rows;
    for (layer, members) in layers(signals) {
        let mut title = Line::from(sheet.span(&layer, KEY));
        title.push(sheet.dim(format!("  {}", members.len())));
        lines.push(title);
        let folded = folded(&members);
        let shown = folded.len().min(room);
        room -= shown;
        for (signal, times) in &folded[..shown] {
            lines.extend(indented(draw(sheet.narrower(2), signal, *times), 2));
        }
        if folded.len() > shown {
            let hidden = folded[shown..].iter().map(|(_, times)| times).sum();
            lines.extend(indented(vec![sheet.more(hidden, "signal")], 2));
        }
    }
    lines
}

/// Describes the signals: `3 signals · selector 1 · mission 2`.
pub(crate) fn size(signals: &[Value]) -> String {
    let mut parts = vec![count_noun_grouped(signals.len(), "signal")];
    let layers = layers(signals);
    parts.extend(layers.iter().take(6).map(|(name, members)| format!("{name} {}", members.len())));
    parts.join(" · ")
}

/// Groups the signals by layer, the known layers first.
fn layers(signals: &[Value]) -> Vec<(String, Vec<&Value>)> {
    let mut found: Vec<(String, Vec<&Value>)> =
        LAYERS.iter().map(|layer| ((*layer).to_owned(), Vec::new())).collect();
    let mut others = Vec::new();
    for signal in signals {
        let layer = member(signal, "signal_layer", 40).unwrap_or_else(|| "no layer".to_owned());
        match found.iter().position(|(name, _)| *name == layer) {
            Some(at) => found[at].1.push(signal),
            // The number of layers is limited, because a new layer for every signal would make this slow.
            None if found.len() < 20 => found.push((layer, vec![signal])),
            None => others.push(signal),
        }
    }
    found.push(("other layers".to_owned(), others));
    found.retain(|(_, members)| !members.is_empty());
    found
}

/// Combines equal neighbors into one signal with a count.
fn folded<'d>(signals: &[&'d Value]) -> Vec<(&'d Value, usize)> {
    let said = |signal: &Value| {
        ["signal_type", "signal_source", "summary"].map(|name| member(signal, name, 200))
    };
    let mut found: Vec<(&Value, usize)> = Vec::new();
    for &signal in signals {
        match found.last_mut() {
            Some((last, times)) if signal.is_object() && said(last) == said(signal) => *times += 1,
            _ => found.push((signal, 1)),
        }
    }
    found
}

fn draw(sheet: Sheet, signal: &Value, times: usize) -> Vec<Line> {
    if !signal.is_object() {
        return vec![sheet.plain(brief(signal, 100)).into()];
    }
    let when = member(signal, "timestamp", 40);
    let clock = when.map_or_else(String::new, |when| {
        Moment::parse(&when).map_or(when, |moment| moment.seconds().to_owned())
    });
    let mark = sheet.dim(format!("{clock:<8}  "));
    let mut text = Line::from(sheet.strong(
        member(signal, "signal_type", 60).unwrap_or_else(|| "(no signal_type)".to_owned()),
    ));
    if let Some(source) = member(signal, "signal_source", 60) {
        text.push(sheet.dim(format!(" from {source}")));
    }
    if times > 1 {
        text.push(sheet.plain(format!(" ×{times}")));
    }
    if let Some(summary) = member(signal, "summary", 400) {
        text.push(sheet.plain(format!("  {summary}")));
    }
    sheet.hanging(mark, text)
}

fn member(signal: &Value, name: &str, most: usize) -> Option<String> {
    signal.get(name).filter(|value| !value.is_null()).map(|value| brief(value, most))
}
