//! Draws bar charts, and pie charts as sorted shares. Horizontal bars leave room for their names.

use super::data::ChartData;
use super::scale::{Scale, Zero, exact};
use crate::show::sheet::Sheet;
use crate::show::span::Line;
use crate::show::style::{DIM, series};
use crate::show::width::shortened;

/// The characters that distinguish the series of grouped bars.
const FILLS: [&str; 6] = ["█", "▓", "▒", "░", "▚", "▞"];

/// The characters for eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

struct Bar {
    name: String,
    value: f64,
    text: String,
    series: usize,
}

/// Draws one bar per label and series, above an axis.
pub(super) fn bars(sheet: Sheet, data: &ChartData) -> Vec<Line> {
    let count = data.labels.len();
    let is_single = data.drawn().len() == 1;
    let mut bars = Vec::new();
    for index in 0..count.min(sheet.rows) {
        let mut is_configured = false;
        for (number, series) in data.drawn().iter().enumerate() {
            let Some(&Some((_, value))) = series.points.get(index) else { continue };
            // Only the first bar of a group has a label.
            let name = if is_configured { String::new() } else { data.label(index) };
            is_configured = true;
            bars.push(Bar { name, value, text: exact(value), series: number });
        }
    }
    let mut lines = Vec::new();
    if let Some(title) = &data.y_title {
        lines.push(sheet.dim(title).into());
    }
    lines.extend(draw(sheet, &bars, if is_single { Look::Single } else { Look::Grouped }));
    if count > sheet.rows {
        lines.push(sheet.more(count - sheet.rows, "bar"));
    }
    if !is_single {
        lines.push(legend(sheet, data));
    }
    lines
}

/// Draws the parts of a whole with their shares, the largest first.
pub(super) fn shares(sheet: Sheet, data: &ChartData) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, series) in data.drawn().iter().enumerate() {
        if data.drawn().len() > 1 {
            lines.push(sheet.strong(&series.name).into());
        }
        let total: f64 = series.present().map(|(_, value)| value).sum();
        let mut bars: Vec<Bar> = series
            .points
            .iter()
            .enumerate()
            .filter_map(|(index, point)| {
                let (_, value) = (*point)?;
                let share = if total > 0.0 { value / total * 100.0 } else { 0.0 };
                let text = format!("{share:>5.1} %  {}", exact(value));
                Some(Bar { name: data.label(index), value, text, series: number })
            })
            .collect();
        bars.sort_by(|one, other| other.value.total_cmp(&one.value));
        let hidden = bars.len().saturating_sub(sheet.rows);
        bars.truncate(sheet.rows);
        lines.extend(draw(sheet, &bars, Look::Shares));
        if hidden > 0 {
            lines.push(sheet.more(hidden, "part"));
        }
    }
    lines
}

/// The arrangement of the bars.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Look {
    Single,
    /// One bar per series in each group, distinguished by their fill characters.
    Grouped,
    /// Parts of a whole. They show their numbers, so they need no axis.
    Shares,
}

fn draw(sheet: Sheet, bars: &[Bar], look: Look) -> Vec<Line> {
    let is_grouped = look == Look::Grouped;
    let widest = |text: &dyn Fn(&Bar) -> &str| {
        bars.iter().map(|bar| sheet.plain(text(bar)).width()).max().unwrap_or_default()
    };
    let names = widest(&|bar| &bar.name).min((sheet.width / 3).max(4));
    let values = widest(&|bar| &bar.text).min(sheet.width / 2);
    let room = sheet.width.saturating_sub(names + values + 3).max(4);
    let scale = Scale::over(bars.iter().map(|bar| bar.value), (room / 12).clamp(2, 6), Zero::Shown);
    let highest = match look {
        Look::Shares => bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max),
        Look::Single | Look::Grouped => scale.high,
    };
    let zero = scale.place(0.0, room);
    let mut lines: Vec<Line> = bars
        .iter()
        .map(|bar| {
            let name = shortened(&bar.name, names);
            let mut line = Line::from(sheet.plain(name)).padded(names);
            line.push(sheet.dim(" │"));
            let style = series(bar.series);
            let (before, text) = if bar.value < 0.0 {
                let start = scale.place(bar.value, room);
                (start, fill(bar.series, is_grouped).repeat(zero.saturating_sub(start).max(1)))
            } else {
                (zero, body(bar.value / highest, bar.series, room - zero, is_grouped))
            };
            line.push(sheet.plain(" ".repeat(before)));
            line.push(sheet.span(text, style));
            line.push(sheet.plain(format!(" {}", bar.text)));
            line
        })
        .collect();
    if look != Look::Shares {
        lines.extend(axis(sheet, &scale, names, room));
    }
    lines
}

/// Draws a bar to the right, exact to an eighth of a column if it is a solid one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the value is between zero and the width of a terminal"
)]
fn body(share: f64, series: usize, room: usize, is_grouped: bool) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (room * 8) as f64).round() as usize;
    let sign = fill(series, is_grouped);
    if sign == "█" {
        format!("{}{}", sign.repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        sign.repeat((eighths + 4) / 8)
    }
}

fn fill(index: usize, is_grouped: bool) -> &'static str {
    if is_grouped { FILLS[index % FILLS.len()] } else { "█" }
}

/// Draws the axis below the bars.
fn axis(sheet: Sheet, scale: &Scale, names: usize, room: usize) -> Vec<Line> {
    let mut rule: Vec<&str> = vec!["─"; room];
    let mut labels = String::new();
    for &tick in &scale.ticks {
        let at = scale.place(tick, room);
        let label = scale.label(tick);
        let start = at.saturating_sub(label.len() / 2).min(room.saturating_sub(label.len()));
        if labels.is_empty() || start > labels.len() {
            rule[at] = "┴";
            labels.extend(std::iter::repeat_n(' ', start - labels.len()));
            labels.push_str(&label);
        }
    }
    let mut line = Line::default().padded(names + 1);
    line.push(sheet.dim(format!("└{}", rule.concat())));
    let mut below = Line::default().padded(names + 2);
    below.push(sheet.dim(labels));
    vec![line, below]
}

fn legend(sheet: Sheet, data: &ChartData) -> Line {
    let mut line = Line::default();
    for (index, one) in data.drawn().iter().enumerate() {
        if index > 0 {
            line.push(sheet.plain("   "));
        }
        line.push(sheet.span(fill(index, true).repeat(2), series(index)));
        line.push(sheet.span(format!(" {}", one.name), DIM));
    }
    line.shortened(sheet.width, sheet.charset)
}
