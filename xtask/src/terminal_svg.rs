//! Draws the colored output of a program as an SVG picture of a terminal.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

/// The width of a character cell in pixels.
const CELL_WIDTH: f64 = 8.4;
/// The height of a line in pixels.
const LINE_HEIGHT: f64 = 18.0;
/// The margin around the text in pixels.
const MARGIN: f64 = 18.0;
const TITLE_BAR: f64 = 36.0;
const FONT_SIZE: f64 = 14.0;

const BACKGROUND: &str = "#12161f";
const FOREGROUND: &str = "#d5dae3";

/// The colors of SGR 30 to 37 and 90 to 97.
const PALETTE: [&str; 16] = [
    "#3b4252", "#f07178", "#a6d189", "#e5c07b", "#7aa2f7", "#c792ea", "#66d9e8", "#d5dae3",
    "#6b7486", "#ff8b92", "#b8e29b", "#f4d58d", "#94b8ff", "#d9abf5", "#8be9f5", "#ffffff",
];

/// Draws output with SGR colors in the frame of a terminal window.
///
/// Each run of equal style has its own position and width. So the picture is aligned with every font. Sequences other
/// than SGR are omitted.
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
        let top = TITLE_BAR + MARGIN / 2.0 + pixels(row) * LINE_HEIGHT;
        let (shapes, words): (Vec<&Run>, Vec<&Run>) = line.iter().partition(|run| run.is_shape);
        for run in shapes {
            let _ = writeln!(picture, "<g{}>{}</g>", run.style.attributes(), draw_shapes(run, top));
        }
        let mut words = words.into_iter().filter(|run| !run.text.trim().is_empty()).peekable();
        if words.peek().is_none() {
            continue;
        }
        let _ = write!(picture, "<text y=\"{:.1}\">", top + LINE_HEIGHT - 5.0);
        for run in words {
            // Spaces at the ends are not drawn, because the position contains them.
            let before = run.text.len() - run.text.trim_start().len();
            let after = run.text.len() - run.text.trim_end().len();
            let _ = write!(
                picture,
                "<tspan x=\"{:.1}\" textLength=\"{:.1}\" lengthAdjust=\"spacingAndGlyphs\"{}>{}</tspan>",
                MARGIN + pixels(run.column + before) * CELL_WIDTH,
                pixels(run.columns - before - after) * CELL_WIDTH,
                run.style.attributes(),
                escaped(run.text.trim()),
            );
        }
        picture.push_str("</text>\n");
    }
    picture.push_str("</g>\n</svg>\n");
    picture
}

/// Returns true if a character is drawn as a shape. Few fonts have braille dots, and few have blocks and bars without
/// gaps.
fn is_shape(character: char) -> bool {
    matches!(character, '\u{2801}'..='\u{28ff}' | '\u{2588}'..='\u{258f}' | '│' | '┃')
}

/// Draws braille as dots, and blocks and bars as rectangles.
fn draw_shapes(run: &Run, top: f64) -> String {
    let mut shapes = String::new();
    let rectangle = |shapes: &mut String, left: f64, top: f64, width: f64, height: f64| {
        let _ = write!(
            shapes,
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    };
    let mut column = run.column;
    // Adjacent blocks are one shape, because two shapes would have a visible gap.
    for group in run
        .text
        .chars()
        .collect::<Vec<_>>()
        .chunk_by(|one, next| *one == FULL_BLOCK && *next == FULL_BLOCK)
    {
        let left = MARGIN + pixels(column) * CELL_WIDTH;
        column += group.len();
        let code = u32::from(group[0]);
        match group[0] {
            '│' => rectangle(&mut shapes, left + CELL_WIDTH / 2.0 - 0.5, top, 1.0, LINE_HEIGHT),
            '┃' => rectangle(&mut shapes, left + CELL_WIDTH / 2.0 - 1.0, top, 2.5, LINE_HEIGHT),
            // U+2588 is the full block, and U+258F is one eighth.
            '\u{2588}'..='\u{258f}' => {
                let eighths = f64::from(0x2590 - code) / 8.0;
                let width = CELL_WIDTH * eighths * pixels(group.len());
                rectangle(&mut shapes, left, top + 3.0, width, LINE_HEIGHT - 6.0);
            }
            _ => {
                for (bit, (across, down)) in BRAILLE.into_iter().enumerate() {
                    if code & (1 << bit) != 0 {
                        let x = left + CELL_WIDTH * (0.25 + 0.5 * across);
                        let y = top + LINE_HEIGHT * (0.125 + 0.25 * down);
                        let _ = write!(shapes, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.3\"/>");
                    }
                }
            }
        }
    }
    shapes
}

const FULL_BLOCK: char = '█';

/// The positions of the dots for the eight bits of a braille character.
const BRAILLE: [(f64, f64); 8] = [
    (0.0, 0.0),
    (0.0, 1.0),
    (0.0, 2.0),
    (1.0, 0.0),
    (1.0, 1.0),
    (1.0, 2.0),
    (0.0, 3.0),
    (1.0, 3.0),
];

/// Holds text of one style on one line.
#[derive(Debug, Eq, PartialEq)]
struct Run {
    column: usize,
    columns: usize,
    text: String,
    style: Style,
    is_shape: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "SGR has this many switches")]
struct Style {
    color: Option<usize>,
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
                color @ 30..=37 => self.color = Some(color - 30),
                39 => self.color = None,
                color @ 90..=97 => self.color = Some(color - 90 + 8),
                _ => {}
            }
        }
    }

    fn attributes(self) -> String {
        let mut attributes = String::new();
        if let Some(color) = self.color {
            let _ = write!(attributes, " fill=\"{}\"", PALETTE[color]);
        }
        for (is_set, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.dim, " fill-opacity=\"0.55\""),
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

/// Splits the lines of a text into runs. A run ends where the style changes, at two spaces, and at a character that is
/// not one column wide. Fonts disagree about such widths, so the next run is positioned again.
fn runs(ansi: &str) -> Vec<Vec<Run>> {
    let mut style = Style::default();
    ansi.lines()
        .map(|line| {
            let mut runs: Vec<Run> = Vec::new();
            let mut column = 0;
            let mut rest = line;
            while let Some(character) = rest.chars().next() {
                if let Some(after) = rest.strip_prefix("\u{1b}[") {
                    let end =
                        after.find(|c: char| !matches!(c, '0'..='9' | ';')).unwrap_or(after.len());
                    if after[end..].starts_with('m') {
                        style.apply(&after[..end]);
                    }
                    rest = after[end..].get(1..).unwrap_or_default();
                    continue;
                }
                rest = &rest[character.len_utf8()..];
                let Some(columns) = character.width() else { continue };
                let is_shape = is_shape(character);
                match runs.last_mut() {
                    Some(last) if columns == 0 => last.text.push(character),
                    Some(last)
                        if (last.style, last.is_shape) == (style, is_shape)
                            && columns == 1
                            && last.columns == last.text.chars().count()
                            && !(character == ' ' && last.text.ends_with(' ')) =>
                    {
                        last.text.push(character);
                        last.columns += 1;
                    }
                    _ => {
                        let text = character.to_string();
                        runs.push(Run { column, columns, text, style, is_shape });
                    }
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

/// Converts a count to a length. The counts are small, so the conversion is exact.
fn pixels(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(column: usize, columns: usize, text: &str, style: Style) -> Run {
        Run { column, columns, text: text.to_owned(), style, is_shape: false }
    }

    #[test]
    fn styles_and_columns() {
        let plain = Style::default();
        let green = Style { color: Some(2), bold: true, ..plain };
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
        assert!(picture.contains(">&lt;b&gt; &amp;</tspan>"), "{picture}");
        assert!(picture.contains("fill=\"#66d9e8\">&quot;x&quot;</tspan>"), "{picture}");
        assert!(picture.contains("aria-label=\"answerback show\""));
        assert!(!picture.contains(['\u{1b}', '\u{7}']));
        assert!(
            svg("⠁⣿█▌", "").matches("<circle").count() == 3 + 1 + 8,
            "dots, beside the buttons"
        );
        assert_eq!(picture.matches("<text").count(), picture.matches("</text>").count());
    }
}
