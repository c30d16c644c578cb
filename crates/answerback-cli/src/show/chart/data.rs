//! Reads a chart's data in the supported shapes.
//!
//! Only these shapes are drawn. Everything else is shown as a tree, because a guess could draw wrong numbers:
//!
//! - `{"labels": […], "datasets": [{"label": …, "data": […]}]}`, the form of the contract;
//! - a list of values;
//! - an object of names with numbers, such as `{"Jan": 3, "Feb": 5}`.
//!
//! A value is a number, null for a gap, or a point `{"x" or "label" or "name", "y" or "value"}`. On a line or scatter
//! chart it may also be a pair `[x, y]`. Either all points of a chart have an x value, or none does.
//!
//! The console's pages read charts by the same rules (`lib/chart.ts`). Tests check both against
//! `conformance/charts/readings.json`.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use crate::show::brief::{brief, list, text};

/// The largest number of series that are drawn, because more cannot be distinguished.
const MAX_SERIES: usize = 6;

/// The largest value on an axis. Differences between larger values could overflow.
const MAX_SIZE: f64 = 1e300;

/// The longest text that is parsed as a number.
const MAX_NUMBER_LENGTH: usize = 40;

/// The kind of chart to draw.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ChartKind {
    Line,
    Bar,
    Pie,
    Scatter,
}

impl ChartKind {
    /// Returns the kind in the content, and whether it is known. Values of an unknown kind are drawn as bars, which
    /// suggest nothing about values in between.
    fn of(content: &Map<String, Value>) -> (Self, bool) {
        let word = content.get("chart_type").and_then(Value::as_str).unwrap_or_default();
        let kind = match word.to_ascii_lowercase().as_str() {
            "line" | "area" => Self::Line,
            "bar" | "column" => Self::Bar,
            "pie" | "doughnut" | "donut" => Self::Pie,
            "scatter" | "bubble" => Self::Scatter,
            _ => return (Self::Bar, false),
        };
        (kind, true)
    }

    /// True if a list of two values is a point. In a bar chart it could also be a range.
    const fn takes_pairs(self) -> bool {
        matches!(self, Self::Line | Self::Scatter)
    }
}

/// The data of a chart.
#[derive(Debug)]
pub(super) struct ChartData {
    pub(super) kind: ChartKind,
    /// False if the chart's type is unknown.
    pub(super) is_kind_known: bool,
    /// A label for each whole x, from 0. Empty if x is numeric.
    pub(super) labels: Vec<String>,
    /// The series. With labels, a line, a bar or a pie has one point per label, in the order of the labels.
    pub(super) series: Vec<ChartSeries>,
    /// The titles of the axes, with their units.
    pub(super) x_title: Option<String>,
    pub(super) y_title: Option<String>,
    /// The number of texts in place of numbers.
    pub(super) unplotted: usize,
    /// The number of series that are not drawn.
    pub(super) left_out: usize,
}

#[derive(Debug)]
pub(super) struct ChartSeries {
    pub(super) name: String,
    /// The points. A gap is `None`.
    pub(super) points: Vec<Option<(f64, f64)>>,
}

impl ChartSeries {
    /// Returns the points without the gaps.
    pub(super) fn present(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.points.iter().flatten().copied()
    }
}

impl ChartData {
    /// Reads a chart's content. Returns `None` if its shape is unknown or there is nothing to draw.
    pub(super) fn read(content: &Map<String, Value>) -> Option<Self> {
        let (kind, is_kind_known) = ChartKind::of(content);
        let data = content.get("data")?;
        let members = data.as_object();
        let ChartSource { labels, sets } = ChartSource::read(data, kind)?;
        let unplotted = sets.iter().flat_map(|set| &set.items).filter(|item| item.y.is_text());
        let unplotted = unplotted.count();
        let (labels, series) = placed(kind, &labels, sets)?;
        let values = || series.iter().flat_map(ChartSeries::present).map(|(_, y)| y);
        values().next()?;
        // A share of a whole cannot be negative.
        if kind == ChartKind::Pie && values().any(|y| y < 0.0) {
            return None;
        }
        Some(Self {
            kind,
            is_kind_known,
            labels,
            left_out: series.len().saturating_sub(MAX_SERIES),
            series,
            x_title: title(content, members, "x"),
            y_title: title(content, members, "y"),
            unplotted,
        })
    }

    /// Returns the series that are drawn.
    pub(super) fn drawn(&self) -> &[ChartSeries] {
        &self.series[..self.series.len().min(MAX_SERIES)]
    }

    /// Returns the label at a whole x.
    pub(super) fn label(&self, index: usize) -> String {
        self.labels.get(index).cloned().unwrap_or_else(|| (index + 1).to_string())
    }
}

/// The labels and values in the document.
struct ChartSource<'d> {
    labels: Vec<Value>,
    sets: Vec<DataSet<'d>>,
}

struct DataSet<'d> {
    name: String,
    items: Vec<DataItem<'d>>,
}

/// One value of a series.
struct DataItem<'d> {
    /// The x value, if there is one: a number or a text.
    x: Option<&'d Value>,
    y: YValue,
}

#[derive(Clone, Copy)]
enum YValue {
    Number(f64),
    /// A text that is not a number.
    Text,
    Gap,
}

impl YValue {
    const fn is_text(self) -> bool {
        matches!(self, Self::Text)
    }

    const fn number(self) -> Option<f64> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// Reads a y value. Returns `None` if it has another shape.
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Gap),
            Value::Number(_) | Value::String(_) => match number(value) {
                Some(number) if number.abs() > MAX_SIZE => None,
                Some(number) => Some(Self::Number(number)),
                None if value.is_number() => None,
                None => Some(Self::Text),
            },
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

impl<'d> ChartSource<'d> {
    fn read(data: &'d Value, kind: ChartKind) -> Option<Self> {
        let members = match data {
            Value::Array(items) => {
                let items =
                    items.iter().map(|item| DataItem::read(item, kind)).collect::<Option<_>>()?;
                return Some(Self {
                    labels: Vec::new(),
                    sets: vec![DataSet { name: String::new(), items }],
                });
            }
            Value::Object(members) => members,
            _ => return None,
        };
        if let Some(sets) = members.get("datasets") {
            let sets = sets.as_array()?.iter().enumerate();
            let sets =
                sets.map(|(index, set)| DataSet::read(index, set, kind)).collect::<Option<_>>()?;
            return Some(Self { labels: list(members, "labels").to_vec(), sets });
        }
        // This is an object of names with numbers. If a member has another shape, the names are not labels.
        let items = members.values().map(|value| {
            let y = YValue::read(value).filter(|y| !y.is_text())?;
            Some(DataItem { x: None, y })
        });
        let items = items.collect::<Option<_>>()?;
        let labels = members.keys().map(|name| Value::from(name.as_str())).collect();
        Some(Self { labels, sets: vec![DataSet { name: String::new(), items }] })
    }
}

impl<'d> DataSet<'d> {
    fn read(index: usize, set: &'d Value, kind: ChartKind) -> Option<Self> {
        let (name, items) = match set {
            Value::Array(items) => (None, items),
            Value::Object(members) => {
                let name = text(members, "label").or_else(|| text(members, "name"));
                let name = name.map(|name| {
                    let name = brief(&(*name).into(), 40);
                    match text(members, "unit") {
                        Some(unit) => format!("{name} ({})", brief(&(*unit).into(), 16)),
                        None => name,
                    }
                });
                (name, members.get("data")?.as_array()?)
            }
            _ => return None,
        };
        let name = name.unwrap_or_else(|| format!("Series {}", index + 1));
        let items = items.iter().map(|item| DataItem::read(item, kind)).collect::<Option<_>>()?;
        Some(Self { name, items })
    }
}

impl<'d> DataItem<'d> {
    fn read(value: &'d Value, kind: ChartKind) -> Option<Self> {
        let (x, y) = match value {
            Value::Object(point) => {
                let x = ["x", "label", "name"].iter().find_map(|name| point.get(*name));
                (x.filter(|x| !x.is_null()), point.get("y").or_else(|| point.get("value"))?)
            }
            Value::Array(pair) if kind.takes_pairs() => match pair.as_slice() {
                [x, y] => (Some(x), y),
                _ => return None,
            },
            other => (None, other),
        };
        if x.is_some_and(|x| !matches!(x, Value::Number(_) | Value::String(_))) {
            return None;
        }
        Some(Self { x, y: YValue::read(y)? })
    }

    /// True for a gap without an x value.
    fn is_bare_gap(&self) -> bool {
        self.x.is_none() && matches!(self.y, YValue::Gap)
    }
}

/// The identity of an x value: a number or a text.
#[derive(Eq, Hash, PartialEq)]
enum PointKey<'d> {
    Number(u64),
    Text(&'d str),
}

impl<'d> PointKey<'d> {
    fn of(value: &'d Value) -> Option<Self> {
        match number(value) {
            // Adding 0.0 makes negative zero equal to zero.
            Some(number) => Some(Self::Number((number + 0.0).to_bits())),
            None => value.as_str().map(Self::Text),
        }
    }
}

/// Assigns every value its place on the x axis.
fn placed(
    kind: ChartKind,
    given: &[Value],
    sets: Vec<DataSet<'_>>,
) -> Option<(Vec<String>, Vec<ChartSeries>)> {
    let mut labels: Vec<String> = given.iter().map(|label| brief(label, 40)).collect();
    let items = || sets.iter().flat_map(|set| &set.items);
    if items().all(|item| item.x.is_none()) {
        let longest = sets.iter().map(|set| set.items.len()).max().unwrap_or_default();
        labels.extend((labels.len()..longest).map(|index| (index + 1).to_string()));
        let series = sets.into_iter().map(|set| {
            let mut points: Vec<_> =
                set.items.iter().enumerate().map(|(index, item)| at(index, item.y)).collect();
            points.resize(labels.len(), None);
            ChartSeries { name: set.name, points }
        });
        let series = series.collect();
        return Some((labels, series));
    }
    if !items().all(|item| item.x.is_some() || item.is_bare_gap()) {
        return None;
    }
    let is_numeric = || items().filter_map(|item| item.x).all(|x| number(x).is_some());
    if given.is_empty() && kind.takes_pairs() && is_numeric() {
        let series = sets.into_iter().map(|set| {
            let points = set.items.iter().map(|item| {
                let Some(x) = item.x else { return Some(None) };
                let x = number(x).filter(|x| x.abs() <= MAX_SIZE)?;
                Some(item.y.number().map(|y| (x, y)))
            });
            Some(ChartSeries { name: set.name, points: points.collect::<Option<_>>()? })
        });
        return Some((Vec::new(), series.collect::<Option<_>>()?));
    }
    let mut places: HashMap<PointKey<'_>, usize> = HashMap::new();
    for (index, label) in given.iter().enumerate() {
        if let Some(key) = PointKey::of(label) {
            places.entry(key).or_insert(index);
        }
    }
    let mut series = Vec::with_capacity(sets.len());
    for set in &sets {
        let mut points = Vec::new();
        let mut seen = HashSet::new();
        for item in &set.items {
            let Some(x) = item.x else { continue };
            let key = PointKey::of(x)?;
            let index = match places.get(&key) {
                Some(index) => *index,
                // An x value that is not among the labels belongs to another axis.
                None if !given.is_empty() => return None,
                None => {
                    labels.push(brief(x, 40));
                    places.insert(key, labels.len() - 1);
                    labels.len() - 1
                }
            };
            // A line or a bar could show only one of two values at the same place.
            if !seen.insert(index) && kind != ChartKind::Scatter {
                return None;
            }
            points.push((index, at(index, item.y)));
        }
        series.push((set.name.clone(), points));
    }
    let series = series.into_iter().map(|(name, found)| {
        if kind == ChartKind::Scatter {
            return ChartSeries {
                name,
                points: found.into_iter().map(|(_, point)| point).collect(),
            };
        }
        let mut points = vec![None; labels.len()];
        for (index, point) in found {
            points[index] = point;
        }
        ChartSeries { name, points }
    });
    let series = series.collect();
    Some((labels, series))
}

/// Returns the point at a whole x.
#[expect(clippy::cast_precision_loss, reason = "2^52 labels do not fit in memory")]
fn at(index: usize, y: YValue) -> Option<(f64, f64)> {
    y.number().map(|y| (index as f64, y))
}

/// Reads a finite number, even if it is written as a text.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        // Words such as "inf" are parsed, too, but are not finite.
        Value::String(text) if text.len() <= MAX_NUMBER_LENGTH => text.trim_ascii().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// Returns the title of an axis, from our own members `x_label`, `y_label` and `unit`, or from the options of Chart.js.
fn title(
    content: &Map<String, Value>,
    data: Option<&Map<String, Value>>,
    axis: &str,
) -> Option<String> {
    let places = [Some(content), data];
    let named = places.iter().flatten().find_map(|place| text(place, &format!("{axis}_label")));
    let unit =
        places.iter().flatten().find_map(|place| text(place, "unit")).filter(|_| axis == "y");
    let option = places.iter().flatten().find_map(|place| {
        place.get("options")?.pointer(&format!("/scales/{axis}/title/text"))?.as_str()
    });
    let short = |text: &str| brief(&text.into(), 40);
    let named = named.as_deref().or(option).map(short);
    match (named, unit.as_deref().map(short)) {
        (Some(name), Some(unit)) => Some(format!("{name} ({unit})")),
        (name, unit) => name.or(unit),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Formats the data in the form of the shared cases.
    fn told(read: &ChartData) -> Value {
        let kind = match read.kind {
            ChartKind::Line => "line",
            ChartKind::Bar => "bar",
            ChartKind::Pie => "pie",
            ChartKind::Scatter => "scatter",
        };
        let series: Vec<Value> =
            read.series.iter().map(|series| json!([series.name, series.points])).collect();
        json!({
            "kind": kind, "is_unknown": !read.is_kind_known, "labels": read.labels, "series": series,
            "x_title": read.x_title, "y_title": read.y_title, "not_numbers": read.unplotted,
        })
    }

    /// Adds the default members that a case omits.
    fn expected(reading: &Value) -> Value {
        let mut whole =
            json!({"is_unknown": false, "x_title": null, "y_title": null, "not_numbers": 0});
        for (name, value) in reading.as_object().unwrap() {
            whole[name] = value.clone();
        }
        // The numbers are compared as floats, as they are drawn.
        for series in whole["series"].as_array_mut().unwrap() {
            for number in series[1]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .filter_map(Value::as_array_mut)
                .flatten()
            {
                *number = number.as_f64().into();
            }
        }
        whole
    }

    #[test]
    fn charts_are_read_as_the_pages_read_them() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/charts/readings.json");
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert!(cases.len() > 40);
        for case in cases {
            let name = &case["name"];
            let read = ChartData::read(case["content"].as_object().unwrap());
            match &case["reading"] {
                Value::Null => assert!(read.is_none(), "{name}: {read:?}"),
                reading => {
                    let read = read.unwrap_or_else(|| panic!("{name} is not understood"));
                    assert_eq!(told(&read), expected(reading), "{name}");
                }
            }
        }
    }

    /// Generates any small JSON value with the names that charts use.
    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..1000_i32).prop_map(Value::from),
            "[a-c]|[0-9]{1,2}".prop_map(Value::from),
        ];
        let name = prop_oneof!["x", "y", "label", "labels", "data", "datasets", "value", "a"];
        scalar.prop_recursive(4, 40, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec((name.clone(), inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    /// Collects all numbers in a value, including those in texts.
    fn numbers(value: &Value, found: &mut Vec<f64>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| numbers(item, found)),
            Value::Object(members) => members.values().for_each(|item| numbers(item, found)),
            scalar => found.extend(number(scalar)),
        }
    }

    proptest! {
        /// Every drawn number occurs in the document, and none is drawn twice.
        #[test]
        fn every_drawn_number_is_one_of_the_document(
            data in value(),
            kind in prop_oneof!["line", "bar", "pie", "scatter", "radar"],
        ) {
            let content = json!({"chart_type": kind, "data": data});
            if let Some(read) = ChartData::read(content.as_object().unwrap()) {
                let mut left = Vec::new();
                numbers(&data, &mut left);
                for (_, y) in read.series.iter().flat_map(ChartSeries::present) {
                    let place = left.iter().position(|one| one.to_bits() == y.to_bits());
                    prop_assert!(place.is_some(), "{y} of {content}");
                    left.swap_remove(place.unwrap());
                }
            }
        }

        /// Two named lists are an unknown shape, whatever their length.
        #[test]
        fn lists_side_by_side_are_never_drawn(x in prop::collection::vec(0..99_i32, 0..5), y in prop::collection::vec(0..99_i32, 0..5)) {
            let content = json!({"chart_type": "line", "data": {"x": x, "y": y}});
            prop_assert!(ChartData::read(content.as_object().unwrap()).is_none());
        }
    }
}
