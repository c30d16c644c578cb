/// True if a character is invisible or changes the text around it: controls, line ends, marks of writing direction,
/// joiners, fillers, selectors and tags.
///
/// ```
/// assert!(answerback_redaction::is_control_or_format('\u{1b}') && answerback_redaction::is_control_or_format('\u{202e}'));
/// assert!(!answerback_redaction::is_control_or_format('é'));
/// ```
pub const fn is_control_or_format(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    matches!(character,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1345f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// True if nothing in a text is visible: it is empty, or has only white space, characters for which [`is_control_or_format`] is true,
/// and blank symbols with a width.
///
/// ```
/// assert!(answerback_redaction::is_blank(" \u{200b}\u{2800}") && !answerback_redaction::is_blank("\u{200b}a"));
/// ```
pub fn is_blank(text: &str) -> bool {
    /// BRAILLE PATTERN BLANK and MUSICAL SYMBOL NULL NOTEHEAD are symbols by their Unicode category, but blank.
    const EMPTY_SYMBOLS: [char; 2] = ['\u{2800}', '\u{1d159}'];
    let is_seen = |character: char| {
        !character.is_whitespace()
            && !is_control_or_format(character)
            && !EMPTY_SYMBOLS.contains(&character)
    };
    !text.chars().any(is_seen)
}

#[cfg(test)]
mod tests {
    use unicode_general_category::{GeneralCategory, get_general_category};

    use super::*;

    #[test]
    fn every_control_format_and_separator_acts() {
        use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
        let of_their_nature = |character: &char| {
            let category = get_general_category(*character);
            matches!(category, Control | Format | LineSeparator | ParagraphSeparator)
        };
        for character in ('\0'..=char::MAX).filter(of_their_nature) {
            assert!(is_control_or_format(character), "{}", character.escape_unicode());
        }
    }

    #[test]
    fn a_text_is_blank_when_nothing_in_it_is_seen() {
        for text in
            ["", " ", "\u{200b}", "\u{feff}\u{2060}", "\u{3164}", "\u{2800}", "\u{ad}\n\u{e0020}"]
        {
            assert!(is_blank(text), "{}", text.escape_unicode());
        }
        for text in ["a", "\u{200b}a", ".", "👩\u{200d}💻", "\u{301}"] {
            assert!(!is_blank(text), "{}", text.escape_unicode());
        }
    }

    #[test]
    fn letters_marks_and_pictures_are_seen() {
        for character in "aé漢ع\u{301}\u{93f}🙂 €﹤".chars() {
            assert!(!is_control_or_format(character), "{}", character.escape_unicode());
        }
    }
}
