//! The terminal that standard output may be.

use std::io::IsTerminal as _;

use crate::show::wrapped;

/// How many columns it has; nothing, where standard output is a file or a pipe.
pub(crate) fn columns() -> Option<usize> {
    let output = std::io::stdout();
    let size = output.is_terminal().then(|| terminal_size::terminal_size_of(&output)).flatten();
    size.map(|(terminal_size::Width(columns), _)| usize::from(columns.max(20)))
}

/// A line with its line end, in as many lines as the terminal needs for it; those below the first begin `indent` columns
/// in. What goes to a file or a pipe stays one line, so that it can be searched.
pub(crate) fn fitted(line: &str, indent: usize) -> String {
    match columns() {
        Some(columns) => within(columns, line, indent),
        None => format!("{line}\n"),
    }
}

fn within(columns: usize, line: &str, indent: usize) -> String {
    // Where the beginning takes most of the width, what follows would be a column of syllables.
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
