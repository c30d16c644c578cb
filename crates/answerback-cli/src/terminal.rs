//! Formats output for the width of the terminal.

use std::io::IsTerminal as _;

use crate::show::wrapped;

/// Returns the terminal's width. Returns `None` if standard output is a file or a pipe.
pub(crate) fn columns() -> Option<usize> {
    let output = std::io::stdout();
    let size = output.is_terminal().then(|| terminal_size::terminal_size_of(&output)).flatten();
    size.map(|(terminal_size::Width(columns), _)| usize::from(columns.max(20)))
}

/// Wraps a line to the terminal's width and ends it. Lines below the first are indented. For a file or a pipe it stays
/// one line, so that it can be searched.
pub(crate) fn fitted(line: &str, indent: usize) -> String {
    match columns() {
        Some(columns) => within(columns, line, indent),
        None => format!("{line}\n"),
    }
}

fn within(columns: usize, line: &str, indent: usize) -> String {
    // If the indentation takes most of the width, a smaller one leaves room for words.
    let indent = if indent * 2 > columns { 4 } else { indent };
    let mut lines = wrapped(line, columns, columns - indent).into_iter();
    let mut text = lines.next().unwrap_or_default();
    for line in lines {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', indent));
        text.push_str(&line);
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_broken_below_where_its_text_begins() {
        let line = "Why       a name that nobody knows";
        assert_eq!(within(80, line, 10), format!("{line}\n"));
        insta::assert_snapshot!(within(24, line, 10), @r"
        Why       a name that
                  nobody knows
        ");
        insta::assert_snapshot!(within(20, line, 12), @r"
        Why       a name
            that nobody
            knows
        ");
    }
}
