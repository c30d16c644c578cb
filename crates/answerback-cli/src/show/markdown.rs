//! Draws Markdown on the terminal.
//!
//! A link is drawn as its text and its address, never as a hyperlink, which could show one address and open another.
//! HTML and images stay text.

use anstyle::Style;
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::code;
use super::sheet::Sheet;
use super::span::{Line, TextSpan};
use super::style::{DIM, HEADING, LINK, NUMBER, PLAIN, STRONG};
use super::table::{Cell, Table};
use super::width::beginning;

/// The deepest nesting of quotes and lists that is indented.
const DEEPEST: usize = 8;

/// Draws Markdown.
pub(crate) fn markdown(sheet: Sheet, text: &str) -> Vec<Line> {
    let (shown, more) = sheet.beginning(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = MarkdownWriter::new(sheet);
    for event in Parser::new_ext(shown, options) {
        if writer.lines.len() > sheet.lines() {
            break;
        }
        writer.event(event);
    }
    writer.finish_block();
    let mut lines = writer.lines;
    while lines.last().is_some_and(Line::is_empty) {
        lines.pop();
    }
    let hidden = lines.len() > sheet.lines();
    lines.truncate(sheet.lines());
    if hidden {
        lines.push(sheet.dim("… more text").into());
    } else if more > 0 {
        lines.push(sheet.more(more, "character"));
    }
    lines
}

/// The margin before the lines of a quote or a list item.
struct Margin {
    first: Option<TextSpan>,
    rest: TextSpan,
}

#[derive(Default)]
struct MarkdownTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    row: Vec<String>,
}

struct MarkdownWriter {
    sheet: Sheet,
    lines: Vec<Line>,
    inline: Line,
    margins: Vec<Margin>,
    styles: Vec<Style>,
    /// The next number of each open list, or `None` for bullets.
    lists: Vec<Option<u64>>,
    addresses: Vec<String>,
    code: Option<(String, String)>,
    grid: Option<MarkdownTable>,
}

impl MarkdownWriter {
    fn new(sheet: Sheet) -> Self {
        Self {
            sheet,
            lines: Vec::new(),
            inline: Line::default(),
            margins: Vec::new(),
            styles: Vec::new(),
            lists: Vec::new(),
            addresses: Vec::new(),
            code: None,
            grid: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Html(text) => self.text(&text, self.style()),
            Event::InlineHtml(text) => self.text(&text, DIM),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&format!("`{text}`"), NUMBER);
            }
            Event::SoftBreak => self.text(" ", PLAIN),
            Event::HardBreak => self.finish_lines(),
            Event::Rule => {
                self.finish_block();
                let rule = self.sheet.dim("─".repeat(self.available_width().min(40)));
                self.put(rule.into());
                self.gap();
            }
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }, STRONG),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), DIM),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => {
                self.finish_block();
                let style = if level <= HeadingLevel::H2 { HEADING } else { STRONG };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.finish_block();
                let bar = self.sheet.dim("│ ");
                self.margin(Margin { first: None, rest: bar });
            }
            Tag::CodeBlock(kind) => {
                self.finish_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(start) => {
                self.finish_lines();
                self.lists.push(start);
            }
            Tag::Item => {
                self.finish_lines();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number = number.saturating_add(1);
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                let first = self.sheet.span(&mark, NUMBER);
                let rest = self.sheet.plain(" ".repeat(first.width()));
                self.margin(Margin { first: Some(first), rest });
            }
            Tag::Table(_) => {
                self.finish_block();
                self.grid = Some(MarkdownTable::default());
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.styles.push(LINK);
                self.addresses.push(dest_url.into_string());
            }
            Tag::Image { dest_url, .. } => {
                self.text("[image: ", DIM);
                self.addresses.push(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.finish_block(),
            TagEnd::Heading(_) => {
                self.finish_block();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.finish_block();
                self.margins.pop();
            }
            TagEnd::Item => {
                self.finish_lines();
                if let Some(Margin { first: Some(_), .. }) = self.margins.last() {
                    // An item without text still has its mark.
                    self.put(Line::default());
                }
                self.margins.pop();
            }
            TagEnd::List(_) => {
                self.finish_lines();
                self.lists.pop();
                if self.lists.is_empty() {
                    self.gap();
                }
            }
            TagEnd::CodeBlock => {
                if let Some((language, source)) = self.code.take() {
                    let sheet = Sheet { width: self.available_width(), ..self.sheet };
                    for line in code::block(sheet, &source, &language) {
                        self.put(line);
                    }
                    self.gap();
                }
            }
            TagEnd::TableCell => {
                let text = self.take_text();
                if let Some(grid) = &mut self.grid {
                    grid.row.push(text);
                }
            }
            TagEnd::TableHead => {
                if let Some(grid) = &mut self.grid {
                    grid.header = std::mem::take(&mut grid.row);
                }
            }
            TagEnd::TableRow => {
                if let Some(grid) = &mut self.grid {
                    grid.rows.push(std::mem::take(&mut grid.row));
                }
            }
            TagEnd::Table => self.finish_grid(),
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                self.address("");
            }
            TagEnd::Image => self.address("]"),
            _ => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(PLAIN)
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some((_, source)) = &mut self.code {
            source.push_str(text);
            return;
        }
        let mut parts = text.split('\n');
        if let Some(first) = parts.next() {
            self.inline.push(self.sheet.span(first, style));
        }
        for part in parts {
            self.finish_lines();
            self.inline.push(self.sheet.span(part, style));
        }
    }

    /// Appends the address of a link, unless its text is the address.
    fn address(&mut self, before: &str) {
        let Some(address) = self.addresses.pop() else { return };
        let said: String = self.inline.spans().last().map_or("", TextSpan::text).to_owned();
        let text = if said == address || address.is_empty() {
            before.to_owned()
        } else {
            format!("{before} ({})", beginning(&address, 300).0)
        };
        self.text(&text, DIM);
    }

    fn margin(&mut self, margin: Margin) {
        self.margins.push(margin);
    }

    fn available_width(&self) -> usize {
        let used: usize = self.margins.iter().take(DEEPEST).map(|margin| margin.rest.width()).sum();
        self.sheet.prose().width.saturating_sub(used).max(8)
    }

    fn put(&mut self, text: Line) {
        let mut line = Line::default();
        let deepest = self.margins.len();
        for (depth, margin) in self.margins.iter_mut().enumerate() {
            let first = margin.first.take();
            // Very deep nesting shows only its innermost mark.
            if depth < DEEPEST || depth + 1 == deepest {
                line.push(first.unwrap_or_else(|| margin.rest.clone()));
            }
        }
        line.join(text);
        self.lines.push(line);
    }

    /// Ends the line, but not the block.
    fn finish_lines(&mut self) {
        if self.inline.is_empty() {
            self.inline = Line::default();
            return;
        }
        let inline = std::mem::take(&mut self.inline);
        for line in inline.wrapped(self.available_width()) {
            self.put(line);
        }
    }

    /// Ends the block. A blank line follows, except in a list.
    fn finish_block(&mut self) {
        let had_text = !self.inline.is_empty();
        self.finish_lines();
        if had_text && self.lists.is_empty() {
            self.gap();
        }
    }

    fn gap(&mut self) {
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Line::default());
        }
    }

    fn take_text(&mut self) -> String {
        std::mem::take(&mut self.inline).spans().iter().map(TextSpan::text).collect()
    }

    fn finish_grid(&mut self) {
        let Some(grid) = self.grid.take() else { return };
        let rows =
            grid.rows.into_iter().map(|row| row.into_iter().map(Cell::text).collect()).collect();
        let sheet = Sheet { width: self.available_width(), ..self.sheet };
        for line in Table::new(grid.header, rows).draw(sheet) {
            self.put(line);
        }
        self.gap();
    }
}

#[cfg(test)]
mod tests {
    use super::super::sanitise::Charset;
    use super::*;

    fn drawn(text: &str, width: usize) -> String {
        let sheet = Sheet { width, rows: 50, charset: Charset::Unicode };
        let lines = markdown(sheet, text);
        let text = |line: &Line| line.spans().iter().map(TextSpan::text).collect::<String>();
        lines.iter().map(text).map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    #[test]
    fn every_construct() {
        let text = "# Title\n\nSome *soft* and **strong** text with `code`, a \
                    [link](https://example.com/a) and <https://example.com>.\n\n\
                    - one\n- two\n  1. inner\n  2. more\n- [x] done\n\n\
                    > quoted\n> > deeper\n\n```rust\nfn main() {}\n```\n\n\
                    | a | b |\n|---|--:|\n| x | 10 |\n| y | 9 |\n\n---\n\
                    ![pic](https://example.com/p.png)\n\n<script>alert(1)</script>\n";
        insta::assert_snapshot!(drawn(text, 50), @r#"
        Title

        Some soft and strong text with `code`, a link
        (https://example.com/a) and https://example.com.

        • one
        • two
          1. inner
          2. more
        • [x] done

        │ quoted

        │ │ deeper

        1 │ fn main() {}

        a   b
        ─  ──
        x  10
        y   9

        ────────────────────────────────────────

        [image: pic] (https://example.com/p.png)

        <script>alert(1)</script>
        "#);
    }

    #[test]
    fn entities_are_not_a_way_around_the_gate() {
        insta::assert_snapshot!(drawn("a &#27;[31m &#x202e;b &#x9b;", 50), @r"a ␛[31m \u{202e}b \u{9b}");
        insta::assert_snapshot!(drawn("[ok](https://a.example/&#27;]8;;x)", 50), @r"ok (https://a.example/␛]8;;x)");
    }
}
