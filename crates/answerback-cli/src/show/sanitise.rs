//! Sanitizes all text between a document and the terminal.
//!
//! Every drawn text becomes a [`super::span::TextSpan`], which is only created through this module. The result is
//! printable: no control characters, no bidirectional overrides, and nothing that hides other characters.

use std::borrow::Cow;
use std::fmt::Write as _;

use answerback::finding::is_control_or_format;
use unicode_width::UnicodeWidthChar;

/// The characters that the terminal can print.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Charset {
    /// UTF-8.
    #[default]
    Unicode,
    /// ASCII only. On an 8-bit terminal the second byte of a UTF-8 character can be a C1 control, so all other
    /// characters are escaped.
    Ascii,
}

/// The largest number of combining marks on one letter; further ones are escaped. Some scripts need three.
const MOST_MARKS: usize = 4;

/// Makes every character visible that could control the terminal: control characters become their symbols (`␛`), others
/// become escapes such as `\u{202e}`. A line break counts as a control character, so callers must split lines first.
pub(crate) fn sanitise(text: &str, charset: Charset) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    let mut base = None;
    let mut marks = 0;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        if matches!(character, ' '..='~') {
            shown.push(character);
        } else if character == '\t' {
            shown.push_str("    ");
        } else if charset == Charset::Ascii {
            push_ascii(&mut shown, character);
        } else if character.is_control() {
            push_control(&mut shown, character);
        } else if joins(base, character, next) {
            shown.push(character);
            continue;
        } else if is_control_or_format(character)
            || (is_mark(character) && (base.is_none() || marks == MOST_MARKS))
        {
            push_escape(&mut shown, character);
        } else if is_mark(character) {
            marks += 1;
            shown.push(character);
            continue;
        } else {
            shown.push(character);
        }
        marks = 0;
        base = Some(character);
    }
    Cow::Owned(shown)
}

/// True for the two invisible characters that join ordinary emoji, in a valid position: `❤️`, `👩‍💻`.
fn joins(base: Option<char>, character: char, next: Option<char>) -> bool {
    let is_picture = |neighbour: Option<char>| {
        neighbour.is_some_and(
            |neighbour| matches!(neighbour, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}'),
        )
    };
    match character {
        '\u{fe0f}' => is_picture(base) && next != Some('\u{fe0f}'),
        '\u{200d}' => is_picture(base) && is_picture(next),
        _ => false,
    }
}

fn is_mark(character: char) -> bool {
    character.width() == Some(0)
}

fn push_escape(shown: &mut String, character: char) {
    // Writing to a string cannot fail.
    let _ = write!(shown, "{}", character.escape_unicode());
}

fn push_control(shown: &mut String, character: char) {
    match character {
        '\0'..='\u{1f}' => {
            shown.push(char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{2426}'));
        }
        '\u{7f}' => shown.push('\u{2421}'),
        _ => push_escape(shown, character),
    }
}

/// Replaces our own drawing characters with similar ASCII characters, and escapes all others.
fn push_ascii(shown: &mut String, character: char) {
    let likeness = match character {
        '─' | '━' | '╌' | '–' | '—' | '−' | '·' => "-",
        '│' | '┃' | '▏' | '▎' | '▍' | '▌' | '▋' | '▊' | '▉' => "|",
        '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' | '╭' | '╮' | '╰' | '╯' | '╵' => {
            "+"
        }
        '█' => "#",
        '▓' => "=",
        '▒' => ":",
        '░' => ".",
        '▚' => "%",
        '▞' => "/",
        '•' | '●' => "*",
        'µ' => "u",
        '✔' => "v",
        '✘' | '×' => "x",
        '⚠' => "!",
        'ℹ' => "i",
        '→' => "->",
        '…' => "...",
        '“' | '”' => "\"",
        '‘' | '’' => "'",
        _ => return push_escape(shown, character),
    };
    shown.push_str(likeness);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_made_visible() {
        let table = [
            ("plain text", "plain text"),
            ("grüße, 日本語", "grüße, 日本語"),
            ("\u{1b}[31mred", "␛[31mred"),
            ("a\nb\r\0\u{7f}", "a␊b␍␀␡"),
            ("a\tb", "a    b"),
            ("\u{9b}31m", r"\u{9b}31m"),
            ("\u{1b}]8;;https://example.com\u{7}x", "␛]8;;https://example.com␇x"),
            ("user\u{202e}nimda", r"user\u{202e}nimda"),
            ("pay\u{200b}pal\u{2066}\u{feff}", r"pay\u{200b}pal\u{2066}\u{feff}"),
            ("tag\u{e0041}", r"tag\u{e0041}"),
            ("\u{3164}", r"\u{3164}"),
            ("cafe\u{301}", "cafe\u{301}"),
            ("\u{301}alone", r"\u{301}alone"),
            ("z\u{300}\u{301}\u{302}\u{303}\u{304}", "z\u{300}\u{301}\u{302}\u{303}\\u{304}"),
            ("❤\u{fe0f} 👩\u{200d}💻", "❤\u{fe0f} 👩\u{200d}💻"),
            ("a\u{200d}b a\u{fe0f}", r"a\u{200d}b a\u{fe0f}"),
        ];
        for (text, shown) in table {
            assert_eq!(sanitise(text, Charset::Unicode), shown);
        }
    }

    #[test]
    fn ascii_leaves_nothing_else() {
        assert_eq!(sanitise("├─ ok… é\u{1b}", Charset::Ascii), r"+- ok... \u{e9}\u{1b}");
        let all: String = (0..=0x0001_ffff).filter_map(char::from_u32).collect();
        assert!(sanitise(&all, Charset::Ascii).bytes().all(|byte| (b' '..=b'~').contains(&byte)));
    }

    #[test]
    fn no_character_acts_alone() {
        for character in (0..=0x0010_ffff).filter_map(char::from_u32) {
            let text = character.to_string();
            let shown = sanitise(&text, Charset::Unicode);
            assert!(!shown.chars().any(is_control_or_format), "{character:?}");
            assert_eq!(sanitise(&shown, Charset::Unicode), shown, "twice is once: {character:?}");
        }
    }
}
