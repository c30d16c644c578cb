//! Draws charts: lines and points on a grid of braille dots, and bars and shares as bars.

mod bars;
mod data;
mod plot;
mod scale;

use serde_json::{Map, Value};

use self::data::{ChartData, ChartKind};
use super::brief::brief;
use super::sheet::Sheet;
use super::span::Line;
use crate::plural::count_noun_grouped;

/// Draws the content of a chart artifact. Returns `None` if the shape of its data is unknown or it has no number.
pub(crate) fn artifact(sheet: Sheet, content: &Map<String, Value>) -> Option<Vec<Line>> {
    let data = ChartData::read(content)?;
    let sheet = sheet.prose();
    let mut lines = match data.kind {
        ChartKind::Bar => bars::bars(sheet, &data),
        ChartKind::Pie => bars::shares(sheet, &data),
        ChartKind::Scatter => plot::scatter(sheet, &data),
        ChartKind::Line => plot::line(sheet, &data),
    };
    if !data.is_kind_known {
        let named = content.get("chart_type").filter(|word| !word.is_null());
        let named = named.map_or_else(String::new, |word| format!(" {:?}", brief(word, 40)));
        lines.extend(sheet.note(format!("unknown chart type{named}, drawn as bars")));
    }
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

/// Describes the chart for the artifact's heading: `line · 2 series · 12 points`.
pub(crate) fn size(content: &Map<String, Value>) -> String {
    let kind = content.get("chart_type").map_or_else(String::new, |kind| brief(kind, 20));
    let Some(data) = ChartData::read(content) else { return kind };
    let points = data.series.iter().map(|series| series.present().count()).sum();
    let mut size = count_noun_grouped(points, "point");
    if data.series.len() > 1 {
        size = format!("{} series · {size}", data.series.len());
    }
    if kind.is_empty() { size } else { format!("{kind} · {size}") }
}
