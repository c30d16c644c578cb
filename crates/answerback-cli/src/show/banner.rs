//! Draws the banner of a document: its summary and status, next to a colored bar.

use anstyle::Style;

use super::sheet::Sheet;
use super::span::Line;
use super::style::{DIM, STRONG, Tone};
use super::width::beginning;

/// The longest summary in the banner, in characters.
const MAX_COUNT: usize = 2_000;

#[derive(Debug)]
pub(crate) struct Banner {
    summary: String,
    words: Vec<String>,
    about: Vec<String>,
}

impl Banner {
    pub(crate) fn new(summary: impl AsRef<str>) -> Self {
        let (shown, more) = beginning(summary.as_ref(), MAX_COUNT);
        let end = if more > 0 { "…" } else { "" };
        Self { summary: format!("{shown}{end}"), words: Vec::new(), about: Vec::new() }
    }

    /// Adds a status word. The first one sets the bar's color.
    pub(crate) fn word(mut self, word: impl AsRef<str>) -> Self {
        self.words.push(beginning(word.as_ref(), 40).0.to_owned());
        self
    }

    /// Adds a word for information only.
    pub(crate) fn about(mut self, about: impl AsRef<str>) -> Self {
        self.about.push(beginning(about.as_ref(), 120).0.to_owned());
        self
    }

    pub(crate) fn draw(&self, sheet: Sheet) -> Vec<Line> {
        let tone = self.words.first().map_or(Tone::Neutral, |word| Tone::of(word));
        let inner = sheet.prose().narrower(2);
        let mut body = inner.paragraph(self.summary.trim_end(), STRONG);
        let mut line = Line::default();
        let mut add = |text: String, style: Style| {
            if !line.is_empty() {
                line.push(sheet.span(" · ", DIM));
            }
            line.push(sheet.span(text, style));
        };
        for word in &self.words {
            let tone = Tone::of(word);
            let sign =
                if tone == Tone::Neutral { String::new() } else { format!("{} ", tone.sign()) };
            add(format!("{sign}{word}"), tone.style());
        }
        for about in &self.about {
            add(about.clone(), DIM);
        }
        body.extend(line.wrapped(inner.width));
        let bar = sheet.span("┃ ", tone.style());
        body.into_iter()
            .map(|text| {
                let mut line = Line::from(bar.clone());
                line.join(text);
                line
            })
            .collect()
    }
}
