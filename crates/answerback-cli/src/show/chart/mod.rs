//! Charts: lines and points on a grid of braille dots, bars and shares as bars.

mod bars;
mod data;
mod plot;
mod scale;

use serde_json::{Map, Value};

use self::data::Data;
use super::brief::brief;
use super::sheet::Sheet;
use super::span::Line;
use crate::counted::counted_in_groups;

/// Draws the content of a chart artifact, or nothing when there is nothing to plot.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let data = Data::read(content)?;
    let sheet = sheet.prose();
    let mut lines = match content.get("chart_type").and_then(Value::as_str) {
        Some("bar") => bars::bars(sheet, &data),
        Some("pie") => bars::shares(sheet, &data),
        Some("scatter") => plot::scatter(sheet, &data),
        Some("line") => plot::line(sheet, &data),
        other => {
            let named =
                other.map_or_else(String::new, |name| format!(" {:?}", brief(&name.into(), 40)));
            let mut lines = plot::line(sheet, &data);
            lines.extend(sheet.note(format!("unknown chart type{named}, drawn as a line")));
            lines
        }
    };
    if data.left_out > 0 {
        lines.push(sheet.dim(format!("… {} more series", data.left_out)).into());
    }
    if data.unplotted > 0 {
        let what =
            if data.unplotted == 1 { "value is not a number" } else { "values are not numbers" };
        lines.extend(sheet.note(format!("{} {what}", data.unplotted)));
    }
    Some(lines)
}

/// `line · 2 series · 12 points`, for the artifact's heading.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let kind = content.get("chart_type").map_or_else(String::new, |kind| brief(kind, 20));
    let Some(data) = Data::read(content) else { return kind };
    let points = data.series.iter().map(|series| series.present().count()).sum();
    let mut size = counted_in_groups(points, "point");
    if data.series.len() > 1 {
        size = format!("{} series · {size}", data.series.len() + data.left_out);
    }
    if kind.is_empty() { size } else { format!("{kind} · {size}") }
}
