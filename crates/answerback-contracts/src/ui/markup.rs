use std::ops::Range;

/// Finds user interface code in a text: an HTML tag, an event handler, or a link that runs a script. Returns
/// the part of the text that matched.
///
/// This is a warning, not a defense: renderers must treat every text as plain text. It therefore knows only
/// the important elements and handlers, and ignores `Vec<String>`, `a < b` and `<your name>`.
pub(super) fn find(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let range = bytes.chunks(CHUNK).enumerate().find_map(|(number, chunk)| {
        // Nearly every chunk has no mark. A loop without an exit checks many bytes at a time.
        if !chunk.iter().fold(false, |found, byte| found | is_mark(*byte)) {
            return None;
        }
        let marks = chunk.iter().enumerate().filter(|(_, byte)| is_mark(**byte));
        let mut places = marks.map(|(at, byte)| (number * CHUNK + at, *byte));
        places.find_map(|(at, mark)| match mark {
            b'<' => tag(bytes, at),
            b'=' => handler(bytes, at),
            _ => script_link(bytes, at),
        })
    })?;
    text.get(range)
}

const CHUNK: usize = 64;

/// True if the byte may belong to a tag, an event handler or a script link.
fn is_mark(byte: u8) -> bool {
    matches!(byte, b'<' | b'=' | b':')
}

/// Returns the range of a tag that starts at `at`, up to the end of its name.
fn tag(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let after = &bytes[at + 1..];
    if after.starts_with(b"!--") || starts_with(after, "!doctype") {
        return Some(at..at + 4);
    }
    let slash = usize::from(after.first() == Some(&b'/'));
    let name = &after[slash..];
    let length = name.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    // A name at the end of the text is a truncated tag, which is just as bad.
    let ends = matches!(name.get(length), None | Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r'));
    let known =
        ELEMENTS.iter().any(|element| name[..length].eq_ignore_ascii_case(element.as_bytes()));
    (ends && known).then_some(at..at + 1 + slash + length)
}

/// Returns the range of an event handler whose `=` is at `at`.
fn handler(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let before = bytes[..at].trim_ascii_end();
    let length = before.iter().rev().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let start = before.len() - length;
    let name = before[start..].get(2..).filter(|_| starts_with(&before[start..], "on"))?;
    // An attribute follows a space, a quote or a slash. After anything else, the name is part of another
    // word.
    let stands_apart = start == 0
        || matches!(bytes[start - 1], b'"' | b'\'' | b'/' | b' ' | b'\t' | b'\n' | b'\r');
    let known = EVENTS.iter().any(|event| starts_with(name, event));
    (stands_apart && known).then_some(start..at + 1)
}

/// Returns the range of the scheme of a link that runs a script. Its `:` is at `at`.
fn script_link(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = &bytes[at + 1..];
    // "JavaScript: 40 %" is a sentence. A link has no space after its scheme.
    rest.first().filter(|byte| !byte.is_ascii_whitespace())?;
    let scheme = |name: &str| {
        let start = at.checked_sub(name.len())?;
        let apart = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
        (apart && bytes[start..at].eq_ignore_ascii_case(name.as_bytes())).then_some(start..at + 1)
    };
    let is_page = starts_with(rest, "text/html") || starts_with(rest, "image/svg");
    scheme("javascript")
        .or_else(|| scheme("vbscript"))
        .or_else(|| scheme("data").filter(|_| is_page))
}

fn starts_with(bytes: &[u8], prefix: &str) -> bool {
    bytes.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// The HTML elements that do not belong in a text. The active ones come first.
const ELEMENTS: &[&str] = &[
    "script",
    "iframe",
    "object",
    "embed",
    "style",
    "link",
    "meta",
    "base",
    "form",
    "input",
    "button",
    "textarea",
    "select",
    "option",
    "img",
    "svg",
    "math",
    "video",
    "audio",
    "source",
    "canvas",
    "template",
    "html",
    "head",
    "body",
    "title",
    "frame",
    "frameset",
    "applet",
    "marquee",
    "a",
    "b",
    "i",
    "u",
    "p",
    "br",
    "hr",
    "em",
    "strong",
    "small",
    "sub",
    "sup",
    "div",
    "span",
    "font",
    "center",
    "section",
    "article",
    "header",
    "footer",
    "nav",
    "main",
    "table",
    "thead",
    "tbody",
    "tr",
    "td",
    "th",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "pre",
    "code",
    "blockquote",
    "label",
    "details",
    "summary",
    "dialog",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
];

/// The names of event handlers without `on`. A longer name that starts with one of these matches too.
const EVENTS: &[&str] = &[
    "abort",
    "animation",
    "auxclick",
    "before",
    "blur",
    "canplay",
    "change",
    "click",
    "contextmenu",
    "copy",
    "cut",
    "dblclick",
    "drag",
    "drop",
    "error",
    "focus",
    "hashchange",
    "input",
    "invalid",
    "key",
    "load",
    "message",
    "mouse",
    "paste",
    "play",
    "pointer",
    "popstate",
    "reset",
    "resize",
    "scroll",
    "submit",
    "toggle",
    "touch",
    "transition",
    "unload",
    "wheel",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found() {
        for (text, part) in [
            ("<script>alert(1)</script>", "<script"),
            ("a <SCRIPT src=x>", "<SCRIPT"),
            ("x</div>", "</div"),
            ("cut off <iframe", "<iframe"),
            ("<img/src=x>", "<img"),
            ("line<br\n/>", "<br"),
            ("<!-- hidden -->", "<!--"),
            ("<!DOCTYPE html>", "<!DO"),
            ("\" onmouseover=\"alert(1)", "onmouseover="),
            ("x onerror = alert(1)", "onerror ="),
            ("[go](javascript:alert(1))", "javascript:"),
            ("JaVaScRiPt:alert(1)", "JaVaScRiPt:"),
            ("vbscript:msgbox", "vbscript:"),
            ("data:text/html;base64,x", "data:"),
        ] {
            assert_eq!(find(text), Some(part), "{text}");
        }
    }

    #[test]
    fn words_are_left_alone() {
        for text in [
            "",
            "plain",
            "a < b and b > c",
            "Vec<String> holds 3",
            "Hello <your name>",
            "<ada@example.org>",
            "online = true",
            "turn on = 1",
            "session = 2",
            "buttonclick=3",
            "JavaScript: 40 %",
            "metadata: text/html",
            "data: text/html",
            "12:30",
            "1 <2",
            "<",
            "é<é",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
    }
}
