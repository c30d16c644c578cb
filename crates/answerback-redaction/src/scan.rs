//! Searches a text for secrets, in one pass over its words. Each word is checked together with the text near it.
//!
//! Every look back is limited by a constant. Every look ahead is limited, cached in a [`NextByte`], or followed by a jump
//! behind the searched text. All of them count their steps. If a text still uses up its budget, the rest of it is
//! redacted.

mod assignments;
mod commands;
mod labels;
mod tables;
mod urls;

use super::invisible::Visible;
use super::lookahead::{NextByte, StepBudget};
use super::name::{ends_like_a_label, is_public_name, is_public_parameter};
use super::public::{SHORTEST_UNLABELED, is_file, is_public};
use super::randomness::{begins_randomly, decode_base64, is_hexadecimal, is_random};
use super::token_formats::{kind_of_beginning, kind_of_make};
use super::{SecretKind, SecretSpan};

/// Finds the secrets in a text by their shape and by the text near them, in order and without overlaps. It finds
/// known keys and tokens, JSON Web Tokens, PEM blocks, `Bearer` and `Basic` headers, and passwords in URLs,
/// connection strings and command lines. It also finds values and table columns with the name of a secret, and words
/// that are too random to be words.
///
/// The search is linear in the text. A search that exceeds its budget of steps ends early; the rest of the text is
/// then one secret of the kind [`SecretKind::Unsearched`].
pub fn find(text: &str) -> Vec<SecretSpan> {
    find_with(text, false)
}

/// Works like [`find`] for a text whose random words are known to be public, such as ids.
pub(super) fn find_public(text: &str) -> Vec<SecretSpan> {
    find_with(text, true)
}

fn find_with(text: &str, is_public: bool) -> Vec<SecretSpan> {
    // This fast path covers most names and many values: a single short word.
    if text.len() < SHORTEST && text.bytes().all(is_word) && !text.starts_with('-') {
        return Vec::new();
    }
    let Some(visible) = Visible::of(text) else { return search(text, is_public).0 };
    let mut found = search(visible.text(), is_public).0;
    for secret in &mut found {
        secret.range = visible.original(secret.range.clone());
    }
    found
}

/// Returns the number of steps of a search, for tests and fuzz targets that look for costly texts.
#[doc(hidden)]
pub fn steps_to_search(text: &str) -> usize {
    search(text, false).1
}

/// Works like [`find`] for a text that may end in the middle of a secret, such as a truncated call. The last word
/// counts even if it is only the beginning of a secret.
pub fn find_cut(text: &str) -> Vec<SecretSpan> {
    let mut found = find(text);
    let is_gap = |character: char| character.is_whitespace() || "\"',;()[]{}<>".contains(character);
    let word = text.rsplit(is_gap).next().unwrap_or_default();
    let start = text.len() - word.len();
    if found.last().is_none_or(|secret| secret.range.end <= start)
        && let Some((at, kind)) = beginning(word)
    {
        found.push(SecretSpan { range: start + at..text.len(), kind });
    }
    found
}

/// Returns the start and kind of an incomplete secret.
fn beginning(word: &str) -> Option<(usize, SecretKind)> {
    if let Some((_, authority)) = word.split_once("://")
        && let Some((user, password)) = authority.split_once(':')
        && !user.contains('/')
        && password.bytes().any(|byte| !byte.is_ascii_digit())
    {
        return Some((word.len() - password.len(), SecretKind::Password));
    }
    match kind_of_beginning(word) {
        Some(kind) => Some((0, kind)),
        None => begins_randomly(word).then_some((0, SecretKind::Token)),
    }
}

fn search(text: &str, is_public: bool) -> (Vec<SecretSpan>, usize) {
    let mut scanner = SecretScanner::new(text, is_public);
    scanner.run();
    let SecretScanner { mut found, ahead, steps, .. } = scanner;
    if !ahead.is_empty() {
        found.extend(ahead);
        found.sort_by_key(|secret| secret.range.start);
        found.dedup_by(|next, secret| next.range.start < secret.range.end);
    }
    #[cfg(any(test, feature = "testing"))]
    crate::testing::note_steps(steps.used());
    (found, steps.used())
}

/// The number of bytes before a word that are searched for related text.
const BACK: usize = 48;
/// The number of bytes after a quoted name that are searched for its value.
const AHEAD: usize = 128;
/// The maximum length of a command, a table header or a list of columns, in bytes.
const LONGEST_LINE: usize = 512;
/// The number of bytes of a value that decide if it is a secret.
const LONGEST_VALUE: usize = 256;
/// The maximum length of a webhook address up to its secret, in bytes.
const LONGEST_HOOK: usize = 160;
/// The minimum length of a word that is a secret on its own, in bytes.
const SHORTEST: usize = 14;

/// The labels of digests.
const DIGESTS: [&str; 10] =
    ["sha1", "sha256", "sha384", "sha512", "md5", "sha-1", "sha-256", "sha-384", "sha-512", "h1"];

struct SecretScanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    /// True if random words are known to be public.
    is_public: bool,
    found: Vec<SecretSpan>,
    /// The secrets found further ahead, as in the columns of a table.
    ahead: Vec<SecretSpan>,
    steps: StepBudget,
    /// The end of the text in which random words are public: a part of a URL's path, of an ARN, of a file.
    public_until: usize,
    /// The end of the text whose tables were searched already.
    table_until: usize,
    first_brace: Option<usize>,
    next_gap: NextByte,
    next_query: NextByte,
    next_line: NextByte,
    next_value_end: NextByte,
    next_member_end: NextByte,
    next_header_end: NextByte,
    next_tag: NextByte,
    next_footer: NextByte,
    last_at_sign: Option<(usize, Option<usize>)>,
}

impl<'t> SecretScanner<'t> {
    fn new(text: &'t str, is_public: bool) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            is_public,
            found: Vec::new(),
            ahead: Vec::new(),
            steps: StepBudget::for_text(text.len()),
            public_until: 0,
            table_until: 0,
            first_brace: None,
            next_gap: NextByte::default(),
            next_query: NextByte::default(),
            next_line: NextByte::default(),
            next_value_end: NextByte::default(),
            next_member_end: NextByte::default(),
            next_header_end: NextByte::default(),
            next_tag: NextByte::default(),
            next_footer: NextByte::default(),
            last_at_sign: None,
        }
    }

    fn run(&mut self) {
        while let Some(skipped) =
            self.bytes[self.at..].iter().position(|byte| starts_something(*byte))
        {
            let start = self.at + skipped;
            self.at = start;
            if self.bytes[start] == b'$' {
                self.steps.take(skipped + 1);
                self.password_hash(start);
            } else {
                let end = self.end_of_word(start);
                self.steps.take(skipped + end - start);
                if self.is_plain(start, end) {
                    self.at = end;
                } else {
                    self.word(start, end);
                }
            }
            if self.steps.are_used_up() {
                let start = self.text.ceil_char_boundary(self.at);
                if start < self.bytes.len() {
                    self.mark(start, self.bytes.len(), SecretKind::Unsearched);
                }
                return;
            }
        }
    }

    /// True if a word can neither be a secret nor announce one. For most words, a look at both ends is enough.
    fn is_plain(&self, start: usize, end: usize) -> bool {
        let (first, length) = (self.bytes[start], end - start);
        if length >= SHORTEST || first == b'-' {
            return false;
        }
        match self.bytes.get(end) {
            Some(b':' | b'=' | b'"' | b'\'' | b'\\' | b'>' | b'%') => false,
            Some(b' ') => {
                let may_be_scheme = (5..=6).contains(&length)
                    && matches!(first.to_ascii_lowercase(), b'a' | b'b' | b't');
                let follows = self.bytes.get(end + 1);
                let word = &self.bytes[start..end];
                let may_announce = may_be_scheme
                    || matches!(follows, Some(b' ' | b':' | b'='))
                    || ends_like_a_label(word)
                    || matches!(word, b"by" | b"By" | b"BY" | b"user");
                !may_announce
            }
            Some(_) | None => !ends_like_a_label(&self.bytes[start..end]),
        }
    }

    /// Checks the word `start..end` together with the text near it, and moves on.
    fn word(&mut self, start: usize, end: usize) {
        let word = &self.text[start..end];
        let starts_with_dash = self.bytes[start] == b'-';
        if starts_with_dash && self.armored_block(start)
            || self.bytes.get(end) == Some(&b':') && self.url(start, end)
            || self.header(word, end)
        {
            return;
        }
        if word.len() >= SHORTEST
            && let Some(kind) = kind_of_make(word)
                .or_else(|| self.kind_after_id(start, end))
                .or_else(|| self.kind_of_random(start, end))
        {
            // The whole word is marked, because the text next to a secret may belong to it.
            let end = end + count_of(&self.bytes[end..], |byte| byte == b'=');
            self.mark(start, end, kind);
            return;
        }
        self.at = end;
        if starts_with_dash && self.option(start, end) || self.assignment(start, end) {
            return;
        }
        match self.bytes.get(end) {
            Some(b'%') => self.encoded_url(start, end),
            Some(b':') => self.password_file(start, end),
            Some(b' ' | b'(') => self.windows_password(start, end),
            _ => {}
        }
        if ends_like_a_label(word.as_bytes()) {
            self.label(start, end);
        } else if word.eq_ignore_ascii_case("by") {
            self.identified_by(start, end);
        } else if word == "arn" && self.bytes.get(end) == Some(&b':') {
            self.public_until = self.end_of_run(end);
        }
    }

    /// Records `start..end` as a secret, unless it is empty, and moves behind it.
    fn mark(&mut self, start: usize, end: usize, kind: SecretKind) {
        let start = start.max(self.found.last().map_or(0, |secret| secret.range.end));
        if start < end {
            self.found.push(SecretSpan { range: start..end, kind });
        }
        self.at = self.at.max(end);
    }

    fn end_of_word(&self, start: usize) -> usize {
        start + count_of(&self.bytes[start..], is_word)
    }

    /// Returns the end of the run of characters without spaces and quotes.
    fn end_of_run(&mut self, from: usize) -> usize {
        self.next_gap.after(self.bytes, from, &mut self.steps, is_gap)
    }

    fn end_of_line(&mut self, from: usize) -> usize {
        self.next_line
            .after(self.bytes, from, &mut self.steps, |byte| matches!(byte, b'\n' | b'\r'))
    }

    /// Returns the text before a place, up to the lookback limit.
    fn before(&mut self, place: usize) -> &'t str {
        self.steps.take(BACK);
        &self.text[self.text.ceil_char_boundary(place.saturating_sub(BACK))..place]
    }

    fn kind_of_random(&mut self, start: usize, end: usize) -> Option<SecretKind> {
        let word = &self.text[start..end];
        // Most words are too short to be random.
        if word.len() < SHORTEST_UNLABELED {
            return None;
        }
        if is_file(word) || start < self.public_until {
            self.skip_lines_of_base64(end);
            return None;
        }
        if self.is_public {
            return None;
        }
        let before = self.before(start);
        // The label must end where the digest begins, because random letters can begin like a label, too.
        let begins_with = |name: &str| {
            word.get(..name.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(name))
                && !word.as_bytes().get(name.len()).is_some_and(u8::is_ascii_alphanumeric)
        };
        let ends_with = |name: &str| {
            let labeled = before.strip_suffix([':', '=']);
            labeled
                .and_then(|label| label.get(label.len().checked_sub(name.len())?..))
                .is_some_and(|end| end.eq_ignore_ascii_case(name))
        };
        if DIGESTS.iter().any(|name| begins_with(name) || ends_with(name)) {
            return None;
        }
        // A word cannot begin with a symbol of base64.
        if before.trim_end_matches(['+', '/']).ends_with(";base64,") {
            self.skip_lines_of_base64(end);
            return None;
        }
        // A dot separates the parts of hosts, files and versions. One random part makes the whole word a token.
        self.steps.take(word.len());
        if !word.split('.').any(is_random)
            || is_public(word, self.bytes.get(end).copied(), self.bytes.get(end + 1).copied())
            || has_public_label(before)
        {
            return None;
        }
        Some(SecretKind::Token)
    }

    /// Marks the following lines of base64 as public, because they continue the file that ends here.
    fn skip_lines_of_base64(&mut self, end: usize) {
        let mut at = end;
        loop {
            let breaks = count_of(&self.bytes[at..], |byte| matches!(byte, b'\n' | b'\r'));
            if !(1..=2).contains(&breaks) {
                break;
            }
            let line = count_of(&self.bytes[at + breaks..], |byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
            });
            if line < 20 {
                break;
            }
            self.steps.take(line + breaks);
            at += breaks + line;
            self.public_until = self.public_until.max(at);
        }
    }

    /// Marks a `-----BEGIN … PRIVATE KEY-----` block up to its end, or to the end of the text. Certificates, public
    /// keys and signatures are skipped.
    fn armored_block(&mut self, start: usize) -> bool {
        const BEGIN: &str = "-----BEGIN ";
        const TITLE: usize = 64;
        let Some(header) = self.text[start..].strip_prefix(BEGIN) else { return false };
        let title = count_of(&header.as_bytes()[..header.len().min(TITLE)], |byte| byte != b'-');
        if !header.as_bytes()[title..].starts_with(b"-----") {
            return false;
        }
        let body = start + BEGIN.len() + title;
        let is_private = header[..title].contains("PRIVATE KEY");
        let end = self.end_of_armor(body);
        if is_private {
            self.mark(start, end.unwrap_or(self.bytes.len()), SecretKind::PrivateKey);
        } else {
            self.at = end.unwrap_or(body);
        }
        true
    }

    fn end_of_armor(&mut self, body: usize) -> Option<usize> {
        const END: &[u8] = b"-----END ";
        let bytes = self.bytes;
        // The search goes from dash to dash, because the byte-wise search cannot look for a whole marker.
        let mut from = body;
        loop {
            let dash = self.next_footer.after(bytes, from, &mut self.steps, |byte| byte == b'-');
            let rest = bytes.get(dash..).filter(|rest| !rest.is_empty())?;
            if rest.starts_with(END) {
                let title = count_of(&rest[END.len()..], |byte| byte != b'-' && byte != b'\n');
                let close = count_of(&rest[END.len() + title..], |byte| byte == b'-').min(5);
                self.steps.take(title + close);
                return Some(dash + END.len() + title + close);
            }
            // A line of dashes is skipped. The beginning of another block ends the search.
            let dashes = count_of(rest, |byte| byte == b'-');
            self.steps.take(dashes);
            if rest.starts_with(b"-----BEGIN ") {
                return None;
            }
            from = dash + dashes;
        }
    }

    /// Marks the value after `Bearer`, `Basic` and similar words.
    fn header(&mut self, word: &str, end: usize) -> bool {
        if !(5..=6).contains(&word.len()) {
            return false;
        }
        let Some(scheme) = ["bearer", "basic", "token", "apikey"]
            .into_iter()
            .find(|scheme| word.eq_ignore_ascii_case(scheme))
        else {
            return false;
        };
        let gap = count_of(&self.bytes[end..self.bytes.len().min(end + 3)], |byte| byte == b' ');
        if gap == 0 || gap > 2 {
            return false;
        }
        let start = end + gap;
        let stop =
            start + count_of(&self.bytes[start..], |byte| is_word(byte) || b"=~".contains(&byte));
        self.steps.take(stop - start);
        let value = &self.text[start..stop];
        let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
        let is_secret = match scheme {
            "basic" => {
                value.len() >= 8
                    && decode_base64(value).is_some_and(|decoded| {
                        decoded.contains(&b':')
                            && decoded.iter().all(|byte| matches!(byte, b' '..=b'~'))
                    })
            }
            "bearer" => value.len() >= 8 && (has_digit || value.len() >= 24),
            _ => value.len() >= 16 && has_digit && !is_hexadecimal(value),
        };
        if is_secret {
            let kind = if scheme == "basic" { SecretKind::Password } else { SecretKind::Token };
            self.mark(start, stop, kind);
        }
        is_secret
    }

    /// Marks stored password hashes: `$2b$…`, `$argon2id$…` and similar forms.
    fn password_hash(&mut self, start: usize) {
        const KNOWN: [&str; 11] = [
            "$2a$", "$2b$", "$2y$", "$argon2", "$scrypt$", "$6$", "$5$", "$1$", "$pbkdf2",
            "$apr1$", "$y$",
        ];
        let rest = &self.text[start..];
        self.at = start + 1;
        if KNOWN.iter().any(|prefix| rest.starts_with(prefix)) {
            let length = count_of(rest.as_bytes(), |byte| {
                is_word(byte) || matches!(byte, b'$' | b'=' | b',')
            });
            self.steps.take(length.min(20));
            if length >= 20 {
                self.mark(start, start + length, SecretKind::PasswordHash);
            }
        }
    }
}

/// True if a text ends with a label of public content and a `:` or `=`, and maybe a quote: `"etag": "`.
pub(super) fn has_public_label(before: &str) -> bool {
    let before = before.trim_end_matches(['"', '\'', '\\', '<', ' ', '[', '/', '+']);
    let Some(before) = before.strip_suffix([':', '=']) else { return false };
    let before = before.trim_end_matches(['"', '\'', '\\', ' ']);
    let is_part =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.');
    let name = before.trim_end_matches(is_part).len();
    match before[..name].chars().next_back() {
        Some('?' | '&') => is_public_parameter(&before[name..]),
        _ => is_public_name(&before[name..]),
    }
}

/// True if all texts are single words that are too short to be secrets.
pub(super) fn are_short_words<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    texts.all(|text| text.len() < SHORTEST && text.bytes().all(is_word))
}

/// Returns the end of a quoted text. The closing quote has as many backslashes as the opening one, or fewer, which
/// ends the surrounding text.
fn end_of_quoted(text: &[u8], backslashes: usize, quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        let escapes = count_of(&text[at..], |byte| byte == b'\\');
        let is_quote = *text.get(at + escapes)? == quote;
        // Backslashes inside the text are escaped as often as the quotes.
        let more = escapes.checked_sub(backslashes);
        match more {
            None if is_quote => return Some(at),
            Some(more) if is_quote && more.is_multiple_of(2 * (backslashes + 1)) => {
                return Some(at + more);
            }
            _ => at += escapes + 1,
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn starts_something(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & STARTS != 0
}

fn is_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & IN_WORD != 0
}

fn is_gap(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & GAP != 0
}

const STARTS: u8 = 1;
const IN_WORD: u8 = 2;
const GAP: u8 = 4;

/// The classes of each byte. The search looks up every byte of every text here.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        let is_letter = byte.is_ascii_alphanumeric();
        if is_letter || matches!(byte, b'-' | b'_' | b'$') {
            classes[byte as usize] |= STARTS;
        }
        if is_letter || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'.') {
            classes[byte as usize] |= IN_WORD;
        }
        if byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'`') {
            classes[byte as usize] |= GAP;
        }
        if byte == u8::MAX {
            break classes;
        }
        byte += 1;
    }
};

fn count_of(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is(**byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_word_that_is_passed_over_would_not_have_been_found(
            words in prop::collection::vec(
                "bearer|Basic|token|apikey|--token|-u|-p|password|pin|key|by|arn|thin|sk-|eyJ|[a-zA-Z0-9_./+-]{1,16}",
                1..6,
            ),
            between in "[ :=\"'\\\\,;|%@>\n]{0,3}",
        ) {
            let text = words.join(&between);
            for start in 0..text.len() {
                let mut scanner = SecretScanner::new(&text, false);
                scanner.at = start;
                let end = scanner.end_of_word(start);
                if starts_something(scanner.bytes[start]) && scanner.is_plain(start, end) {
                    scanner.word(start, end);
                    let is_empty = scanner.found.is_empty() && scanner.ahead.is_empty();
                    prop_assert!(is_empty && scanner.at == end, "{text:?} at {start}");
                }
            }
        }
    }

    #[test]
    fn a_bound_within_a_character_is_no_mistake() {
        for length in 0..300 {
            for start in [
                "-----BEGIN ",
                "password is ",
                "name: password\n",
                "-u ",
                "a://",
                "thin:",
                "password,b\n",
            ] {
                let text =
                    format!("{start}{}漢{}", "x".repeat(length % 4), "é漢".repeat(length / 4));
                assert!(
                    find(&text).iter().all(|secret| text.get(secret.range.clone()).is_some()),
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn what_is_beyond_the_budget_is_hidden() {
        let text = "words and a tail of the text";
        let mut scanner = SecretScanner::new(text, false);
        scanner.steps = StepBudget::for_text(0);
        scanner.steps.take(usize::MAX);
        scanner.run();
        let found = [SecretSpan { range: 5..text.len(), kind: SecretKind::Unsearched }];
        assert_eq!(scanner.found, found);
    }
}
