//! The numbers of a chart, read from `{labels, datasets: [{label, data}]}` and its looser relatives.

use serde_json::{Map, Value};

use crate::show::brief::{brief, list, text};

/// More series cannot be told apart.
const MOST_SERIES: usize = 6;

/// Values beyond this cannot be subtracted from each other.
const LARGEST: f64 = f64::MAX / 4.0;

/// What a chart shows.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// A name for each whole x, from 0; empty when x is a number of its own.
    pub(super) labels: Vec<String>,
    pub(super) series: Vec<Series>,
    /// What the axes measure, with the unit.
    pub(super) x_title: Option<String>,
    pub(super) y_title: Option<String>,
    /// Values that are no numbers.
    pub(super) unplotted: usize,
    /// Series that are not shown.
    pub(super) left_out: usize,
}

#[derive(Debug)]
pub(super) struct Series {
    pub(super) name: String,
    /// In the order of the document; a gap where there is no number.
    pub(super) points: Vec<Option<(f64, f64)>>,
}

impl Series {
    /// The points that are there.
    pub(super) fn present(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.points.iter().flatten().copied()
    }
}

impl Data {
    pub(super) fn read(content: &Map<String, Value>) -> Option<Self> {
        let data = content.get("data")?;
        let mut read = Self::default();
        let members = data.as_object();
        if let Some(members) = members {
            read.labels = list(members, "labels").iter().map(|label| brief(label, 40)).collect();
        }
        match members.and_then(|members| members.get("datasets")) {
            Some(Value::Array(sets)) => {
                for set in sets.iter().take(MOST_SERIES) {
                    read.dataset(set);
                }
                read.left_out = sets.len().saturating_sub(MOST_SERIES);
            }
            // A list of points, or names with numbers.
            _ => match data {
                Value::Array(points) => read.series("", points.iter()),
                Value::Object(members) if read.labels.is_empty() => {
                    read.labels =
                        members.keys().map(|name| brief(&name.as_str().into(), 40)).collect();
                    read.series("", members.values());
                }
                _ => {}
            },
        }
        read.x_title = title(content, members, "x");
        read.y_title = title(content, members, "y");
        read.series.iter().any(|series| series.present().next().is_some()).then_some(read)
    }

    fn dataset(&mut self, set: &Value) {
        let number = self.series.len() + 1;
        match set {
            Value::Array(points) => self.series(&format!("series {number}"), points.iter()),
            Value::Object(members) => {
                let name = text(members, "label").or_else(|| text(members, "name"));
                let mut name = name
                    .map_or_else(|| format!("series {number}"), |name| brief(&(*name).into(), 40));
                if let Some(unit) = text(members, "unit") {
                    name = format!("{name} ({})", brief(&(*unit).into(), 16));
                }
                self.series(&name, list(members, "data").iter());
            }
            _ => self.unplotted += 1,
        }
    }

    fn series<'d>(&mut self, name: &str, values: impl Iterator<Item = &'d Value>) {
        let mut points = Vec::new();
        for (index, value) in values.enumerate() {
            // A chart of counted things has few of them, so the index is exact.
            #[expect(clippy::cast_precision_loss, reason = "2^52 points do not fit in memory")]
            let position = index as f64;
            let (x, y) = match value {
                Value::Object(point) => {
                    let label = ["x", "label", "name"].iter().find_map(|name| point.get(*name));
                    let y = point.get("y").or_else(|| point.get("value"));
                    (label, y)
                }
                Value::Array(pair) => (pair.first(), pair.get(1)),
                other => (None, Some(other)),
            };
            let x = match x.map(|x| (x, number(x))) {
                Some((_, Some(x))) => x,
                Some((label, None)) => {
                    if self.labels.len() == index {
                        self.labels.push(brief(label, 40));
                    }
                    position
                }
                None => position,
            };
            let point = y.and_then(number).map(|y| (x, y));
            // A gap in the data is written as null; anything else that is no number is odd.
            if point.is_none() && !y.is_some_and(Value::is_null) {
                self.unplotted += 1;
            }
            points.push(point);
        }
        self.series.push(Series { name: name.to_owned(), points });
    }

    /// The label at a whole x.
    pub(super) fn label(&self, index: usize) -> String {
        self.labels.get(index).cloned().unwrap_or_else(|| (index + 1).to_string())
    }
}

fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.len() <= 40 => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite()).map(|number| number.clamp(-LARGEST, LARGEST))
}

/// What an axis measures: our own `unit`, `x_label` and `y_label`, or the options of Chart.js.
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
