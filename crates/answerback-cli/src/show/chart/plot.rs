//! Draws lines and points over two axes.
//!
//! A cell of the terminal has two by four braille dots; in ASCII it has one. The points of every series have their own
//! sign, so that color is never the only difference.

use super::data::{ChartData, ChartSeries};
use super::scale::{Scale, Zero};
use crate::show::sanitise::Charset;
use crate::show::sheet::Sheet;
use crate::show::span::Line;
use crate::show::style::{DIM, series};

const SIGNS: [&str; 6] = ["●", "■", "▲", "◆", "✚", "▼"];
const ASCII_SIGNS: [&str; 6] = ["*", "o", "+", "x", "#", "@"];

/// Draws points that are joined by lines.
pub(super) fn line(sheet: Sheet, data: &ChartData) -> Vec<Line> {
    draw(sheet, data, true)
}

/// Draws points alone.
pub(super) fn scatter(sheet: Sheet, data: &ChartData) -> Vec<Line> {
    draw(sheet, data, false)
}

fn draw(sheet: Sheet, data: &ChartData, is_joined: bool) -> Vec<Line> {
    let points = || data.drawn().iter().flat_map(ChartSeries::present);
    let y =
        Scale::over(points().map(|(_, y)| y), 5, if is_joined { Zero::IfNear } else { Zero::Free });
    // The height is chosen so that there are equally many rows between two marks.
    let spaces = y.ticks.len().saturating_sub(1).max(1);
    let height = ((if sheet.width < 50 { 8 } else { 12 }) / spaces).max(1) * spaces + 1;
    let labels: Vec<String> = y.ticks.iter().map(|tick| y.label(*tick)).collect();
    let margin = labels.iter().map(String::len).max().unwrap_or_default();
    let room = sheet.width.saturating_sub(margin + 2).max(8);
    let x = Scale::tight(points().map(|(x, _)| x), (room / 10).clamp(2, 9));
    let mut grid = PlotGrid::new(sheet.charset, room, height);
    for (index, series) in data.drawn().iter().enumerate() {
        grid.series(index, series, &x, &y, is_joined);
    }
    let mut lines = Vec::new();
    if let Some(title) = &data.y_title {
        lines.push(sheet.dim(title).into());
    }
    let rows_of_ticks: Vec<usize> =
        y.ticks.iter().map(|tick| height - 1 - y.place(*tick, height)).collect();
    for row in 0..height {
        let tick = rows_of_ticks.iter().position(|&at| at == row);
        let label = tick.map_or("", |tick| &labels[tick]);
        let stem = if tick.is_some() { "┤" } else { "│" };
        let mut line = Line::from(sheet.dim(format!("{label:>margin$} {stem}")));
        line.join(grid.row(sheet, row));
        lines.push(line);
    }
    lines.extend(x_axis(sheet, data, &x, margin, room));
    if data.drawn().len() > 1 || data.drawn().iter().any(|series| !series.name.is_empty()) {
        lines.push(legend(sheet, data, margin));
    }
    lines
}

/// The cells between the axes.
struct PlotGrid {
    charset: Charset,
    width: usize,
    /// The dots of each cell, and the series that drew there last.
    dots: Vec<Vec<(u8, usize)>>,
    /// The series that has a point in each cell.
    points: Vec<Vec<Option<usize>>>,
}

impl PlotGrid {
    fn new(charset: Charset, width: usize, height: usize) -> Self {
        Self {
            charset,
            width,
            dots: vec![vec![(0, 0); width]; height],
            points: vec![vec![None; width]; height],
        }
    }

    /// Returns the dots of a cell, across and down.
    fn resolution(&self) -> (usize, usize) {
        if self.charset == Charset::Ascii { (1, 1) } else { (2, 4) }
    }

    fn series(
        &mut self,
        index: usize,
        series: &ChartSeries,
        x: &Scale,
        y: &Scale,
        is_joined: bool,
    ) {
        let (across, down) = self.resolution();
        let height = self.dots.len() * down;
        let at = |(px, py): (f64, f64)| {
            (x.place(px, self.width * across), height - 1 - y.place(py, height))
        };
        let all: Vec<Option<(usize, usize)>> =
            series.points.iter().map(|point| point.map(at)).collect();
        if is_joined {
            for pair in all.windows(2) {
                if let [Some(from), Some(to)] = pair {
                    self.segment(index, *from, *to);
                }
            }
        }
        let places: Vec<(usize, usize)> = all.into_iter().flatten().collect();
        // Signs are drawn only if they do not hide the line.
        let has_room = !is_joined || places.len() <= self.width / 3;
        for &(column, row) in &places {
            if has_room || places.len() == 1 {
                self.points[row / down][column / across] = Some(index);
            } else {
                self.dot(index, column, row);
            }
        }
        if let (false, Some(&(column, row))) = (has_room, places.last()) {
            self.points[row / down][column / across] = Some(index);
        }
    }

    /// Draws a straight line of dots.
    fn segment(&mut self, index: usize, from: (usize, usize), to: (usize, usize)) {
        let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
        let between = |start: usize, end: usize, step: usize| {
            (start * (steps - step) + end * step + steps / 2) / steps
        };
        for step in 0..=steps {
            self.dot(index, between(from.0, to.0, step), between(from.1, to.1, step));
        }
    }

    fn dot(&mut self, index: usize, column: usize, row: usize) {
        /// The bits of a braille cell, by row and column.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let (across, down) = self.resolution();
        let cell = &mut self.dots[row / down][column / across];
        *cell = (cell.0 | BITS[row % down][column % across], index);
    }

    fn row(&self, sheet: Sheet, row: usize) -> Line {
        let mut line = Line::default();
        let mut text = String::new();
        let mut owner = 0;
        for (&(bits, drawn_by), &point) in self.dots[row].iter().zip(&self.points[row]) {
            let (sign, by) = match point {
                Some(index) => (sign(self.charset, index).to_owned(), index),
                None if bits == 0 => (" ".to_owned(), owner),
                None if self.charset == Charset::Ascii => (".".to_owned(), drawn_by),
                None => {
                    let braille = char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ');
                    (braille.to_string(), drawn_by)
                }
            };
            if by != owner {
                line.push(sheet.span(std::mem::take(&mut text), series(owner)));
                owner = by;
            }
            text.push_str(&sign);
        }
        line.push(sheet.span(text.trim_end(), series(owner)));
        line
    }
}

fn sign(charset: Charset, index: usize) -> &'static str {
    let signs = if charset == Charset::Ascii { ASCII_SIGNS } else { SIGNS };
    signs[index % signs.len()]
}

/// Draws the x axis, with the labels of the data or round numbers.
fn x_axis(sheet: Sheet, data: &ChartData, x: &Scale, margin: usize, room: usize) -> Vec<Line> {
    let marks: Vec<(usize, String)> = if data.labels.is_empty() {
        x.ticks.iter().map(|&tick| (x.place(tick, room), x.label(tick))).collect()
    } else {
        #[expect(clippy::cast_precision_loss, reason = "2^52 labels do not fit in memory")]
        data.labels
            .iter()
            .enumerate()
            .filter(|&(index, _)| (x.low..=x.high).contains(&(index as f64)))
            .map(|(index, label)| (x.place(index as f64, room), label.clone()))
            .collect()
    };
    let mut rule: Vec<&str> = vec!["─"; room];
    let mut labels = Line::default();
    // The widest label determines how many fit, so that they are evenly spaced.
    let widest = marks.iter().map(|(_, label)| sheet.plain(label).width()).max().unwrap_or(1);
    let widest = widest.min(room / 2).max(1);
    let every = (marks.len() * (widest + 2)).div_ceil(room + widest).max(1);
    for (at, label) in marks.into_iter().step_by(every) {
        let label = Line::from(sheet.span(label, DIM)).shortened(widest, sheet.charset);
        let start = at.saturating_sub(label.width() / 2).min(room - label.width());
        if labels.width() == 0 || start > labels.width() {
            rule[at] = "┬";
            labels = labels.padded(start);
            labels.join(label);
        }
    }
    let mut axis = Line::default().padded(margin + 1);
    axis.push(sheet.dim(format!("└{}", rule.concat())));
    let mut below = Line::default().padded(margin + 2);
    below.join(labels);
    let mut lines = vec![axis, below];
    if let Some(title) = &data.x_title {
        let mut line = Line::default().padded(margin + 2 + room.saturating_sub(title.len()) / 2);
        line.push(sheet.dim(title));
        lines.push(line);
    }
    lines
}

fn legend(sheet: Sheet, data: &ChartData, margin: usize) -> Line {
    let mut line = Line::default().padded(margin + 2);
    for (index, one) in data.drawn().iter().enumerate() {
        if index > 0 {
            line.push(sheet.plain("   "));
        }
        line.push(sheet.span(sign(sheet.charset, index), series(index)));
        line.push(sheet.plain(format!(" {}", one.name)));
    }
    line.shortened(sheet.width, sheet.charset)
}
