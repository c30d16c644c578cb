//! A terminal as a picture: the text a program prints with colours, as SVG for the README.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

/// Pixels of a character cell, and of the frame around the text.
const CELL_WIDTH: f64 = 8.4;
const LINE_HEIGHT: f64 = 18.0;
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 36.0;
const FONT_SIZE: f64 = 14.0;

const BACKGROUND: &str = "#12161f";
const FOREGROUND: &str = "#d5dae3";

/// The colours of SGR 30 to 37 and 90 to 97.
const PALETTE: [&str; 16] = [
    "#3b4252", "#f07178", "#a6d189", "#e5c07b", "#7aa2f7", "#c792ea", "#66d9e8", "#d5dae3",
    "#6b7486", "#ff8b92", "#b8e29b", "#f4d58d", "#94b8ff", "#d9abf5", "#8be9f5", "#ffffff",
];

/// Draws what a program printed, with its SGR colours, in the frame of a terminal window.
///
/// Every run of equal style is placed by its own column and stretched to its columns, so that the
/// picture is aligned whatever font the reader has. Sequences other than SGR are left out.
pub(crate) fn svg(ansi: &str, title: &str) -> String {
    let lines: Vec<Vec<Run>> = runs(ansi);
    let columns = lines
        .iter()
        .filter_map(|line| line.last().map(|run| run.column + run.columns))
        .max()
        .unwrap_or_default()
        .max(20);
    let width = pixels(columns) * CELL_WIDTH + 2.0 * MARGIN;
    let height = pixels(lines.len()) * LINE_HEIGHT + TITLE_BAR + 1.5 * MARGIN;
    let mut picture = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        picture,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{label}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"{BACKGROUND}\"/>\n\
         <g fill=\"#6b7486\"><circle cx=\"22\" cy=\"19\" r=\"6\"/><circle cx=\"42\" cy=\"19\" r=\"6\"/>\
         <circle cx=\"62\" cy=\"19\" r=\"6\"/></g>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"{FONT_SIZE}\" fill=\"{FOREGROUND}\" xml:space=\"preserve\">\n\
         <text x=\"{middle:.0}\" y=\"24\" text-anchor=\"middle\" fill=\"#6b7486\">{label}</text>\n",
        label = escaped(title),
        middle = width / 2.0,
    );
    for (row, line) in lines.iter().enumerate() {
        let y = TITLE_BAR + MARGIN / 2.0 + pixels(row + 1) * LINE_HEIGHT - 5.0;
        let visible: Vec<&Run> = line.iter().filter(|run| !run.text.trim().is_empty()).collect();
        if visible.is_empty() {
            continue;
        }
        let _ = write!(picture, "<text y=\"{y:.1}\">");
        for run in visible {
            let _ = write!(
                picture,
                "<tspan x=\"{:.1}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</tspan>",
                MARGIN + pixels(run.column) * CELL_WIDTH,
                pixels(run.columns) * CELL_WIDTH,
                run.style.attributes(),
                escaped(&run.text),
            );
        }
        picture.push_str("</text>\n");
    }
    picture.push_str("</g>\n</svg>\n");
    picture
}

/// Text of one style on one line.
#[derive(Debug, Eq, PartialEq)]
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Style {
    colour: Option<usize>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
}

impl Style {
    /// Applies the parameters of one SGR sequence.
    fn apply(&mut self, parameters: &str) {
        for parameter in parameters.split(';') {
            match parameter.parse::<usize>().unwrap_or(0) {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                9 => self.strike = true,
                22 => (self.bold, self.dim) = (false, false),
                colour @ 30..=37 => self.colour = Some(colour - 30),
                39 => self.colour = None,
                colour @ 90..=97 => self.colour = Some(colour - 90 + 8),
                _ => {}
            }
        }
    }

    fn attributes(self) -> String {
        let mut attributes = String::new();
        if let Some(colour) = self.colour {
            let _ = write!(attributes, " fill=\"{}\"", PALETTE[colour]);
        }
        for (is_set, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.dim, " opacity=\"0.55\""),
            (self.italic, " font-style=\"italic\""),
            (self.underline, " text-decoration=\"underline\""),
            (self.strike, " text-decoration=\"line-through\""),
        ] {
            if is_set {
                attributes.push_str(attribute);
            }
        }
        attributes
    }
}

/// The lines of a text as runs. A run ends where the style changes or where a character is not one
/// column wide: fonts disagree about those, and a run of its own puts the next one right again.
fn runs(ansi: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    ansi.lines()
        .map(|line| {
            let mut runs: Vec<Run> = Vec::new();
            let mut column = 0;
            let mut rest = line;
            while let Some(character) = rest.chars().next() {
                if let Some(after) = rest.strip_prefix("\u{1b}[") {
                    let end = after.find(|c: char| !matches!(c, '0'..='9' | ';')).unwrap_or(after.len());
                    if after[end..].starts_with('m') {
                        style.apply(&after[..end]);
                    }
                    rest = after[end..].get(1..).unwrap_or_default();
                    continue;
                }
                rest = &rest[character.len_utf8()..];
                let Some(columns) = character.width() else { continue };
                match runs.last_mut() {
                    Some(last) if columns == 0 => last.text.push(character),
                    Some(last)
                        if last.style == style
                            && columns == 1
                            && last.columns == last.text.chars().count() =>
                    {
                        last.text.push(character);
                        last.columns += 1;
                    }
                    _ => runs.push(Run { column, columns, text: character.to_string(), style }),
                }
                column += columns;
            }
            runs
        })
        .collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A count as a length. Pictures of terminals are small, so nothing is lost.
fn pixels(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(column: usize, columns: usize, text: &str, style: Style) -> Run {
        Run { column, columns, text: text.to_owned(), style }
    }

    #[test]
    fn styles_and_columns() {
        let plain = Style::default();
        let green = Style { colour: Some(2), bold: true, ..plain };
        let lines = runs("a \u{1b}[1m\u{1b}[32mok\u{1b}[0m 日本x\n\u{1b}[2Jb");
        assert_eq!(
            lines,
            [
                vec![
                    run(0, 2, "a ", plain),
                    run(2, 2, "ok", green),
                    run(4, 1, " ", plain),
                    run(5, 2, "日", plain),
                    run(7, 2, "本", plain),
                    run(9, 1, "x", plain),
                ],
                vec![run(0, 1, "b", plain)],
            ]
        );
    }

    #[test]
    fn the_picture_is_well_formed_and_says_what_it_shows() {
        let picture = svg("<b> & \u{1b}[36m\"x\"\u{1b}[0m\u{7}", "answerback show");
        assert!(picture.contains("&lt;b&gt; &amp; "), "{picture}");
        assert!(picture.contains("fill=\"#66d9e8\">&quot;x&quot;</tspan>"), "{picture}");
        assert!(picture.contains("aria-label=\"answerback show\""));
        assert!(!picture.contains(['\u{1b}', '\u{7}']));
        assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());
    }
}
