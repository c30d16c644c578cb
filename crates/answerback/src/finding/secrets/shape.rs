use super::name::kind_of_name;
use super::randomness::{begins_randomly, decode_base64, is_hexadecimal, is_random};
use super::{Secret, SecretKind};

/// The secrets in a text, in order and apart, told by their shape: keys and tokens of known makes,
/// JWTs, PEM blocks, passwords in URLs and connection strings, `Bearer` and `Basic` headers,
/// assignments to telling names, and words that are too random to be words.
pub fn find(text: &str) -> Vec<Secret> {
    let mut search = Search { text, bytes: text.as_bytes(), at: 0, found: Vec::new() };
    search.run();
    search.found
}

/// [`find`] in a text that may end in the middle of a secret, as a call that was cut off does: what only
/// begins like one counts, if it is the last word.
pub(crate) fn find_cut(text: &str) -> Vec<Secret> {
    let mut found = find(text);
    let is_gap = |character: char| character.is_whitespace() || "\"',;()[]{}<>".contains(character);
    let word = text.rsplit(is_gap).next().unwrap_or_default();
    let start = text.len() - word.len();
    if found.last().is_none_or(|secret| secret.range.end <= start)
        && let Some((at, kind)) = beginning(word)
    {
        found.push(Secret { range: start + at..text.len(), kind });
    }
    found
}

/// Where a secret begins that is not all there.
fn beginning(word: &str) -> Option<(usize, SecretKind)> {
    if let Some((_, authority)) = word.split_once("://")
        && let Some((user, password)) = authority.split_once(':')
        && !user.contains('/')
        && password.bytes().any(|byte| !byte.is_ascii_digit())
    {
        return Some((word.len() - password.len(), SecretKind::Password));
    }
    let make = MAKES
        .iter()
        .find(|(prefix, ..)| word.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    match make {
        Some((.., kind)) => Some((0, *kind)),
        None => begins_randomly(word).then_some((0, SecretKind::Token)),
    }
}

/// How the keys and tokens of known makes begin, and how many characters follow at least.
const MAKES: &[(&str, usize, SecretKind)] = &[
    ("eyJ", 17, SecretKind::Token),
    ("sk-", 16, SecretKind::ApiKey),
    ("sk_live_", 10, SecretKind::ApiKey),
    ("sk_test_", 10, SecretKind::ApiKey),
    ("rk_live_", 10, SecretKind::ApiKey),
    ("rk_test_", 10, SecretKind::ApiKey),
    ("whsec_", 16, SecretKind::Secret),
    ("ghp_", 16, SecretKind::Token),
    ("gho_", 16, SecretKind::Token),
    ("ghu_", 16, SecretKind::Token),
    ("ghs_", 16, SecretKind::Token),
    ("ghr_", 16, SecretKind::Token),
    ("github_pat_", 16, SecretKind::Token),
    ("glpat-", 16, SecretKind::Token),
    ("xoxa-", 10, SecretKind::Token),
    ("xoxb-", 10, SecretKind::Token),
    ("xoxc-", 10, SecretKind::Token),
    ("xoxd-", 10, SecretKind::Token),
    ("xoxe-", 10, SecretKind::Token),
    ("xoxo-", 10, SecretKind::Token),
    ("xoxp-", 10, SecretKind::Token),
    ("xoxr-", 10, SecretKind::Token),
    ("xoxs-", 10, SecretKind::Token),
    ("xapp-", 10, SecretKind::Token),
    ("AKIA", 16, SecretKind::ApiKey),
    ("ASIA", 16, SecretKind::ApiKey),
    ("AIza", 30, SecretKind::ApiKey),
    ("ya29.", 16, SecretKind::Token),
    ("npm_", 30, SecretKind::Token),
    ("pypi-", 30, SecretKind::Token),
    ("hf_", 30, SecretKind::Token),
    ("gsk_", 30, SecretKind::ApiKey),
    ("SG.", 30, SecretKind::ApiKey),
    ("dop_v1_", 30, SecretKind::Token),
    ("shpat_", 30, SecretKind::Token),
    ("shpss_", 30, SecretKind::Secret),
    ("figd_", 20, SecretKind::Token),
    ("ntn_", 30, SecretKind::Token),
    ("dckr_pat_", 20, SecretKind::Token),
    ("AGE-SECRET-KEY-1", 30, SecretKind::PrivateKey),
];

/// Random ids of things that are not secrets.
const ID_MAKES: &[&str] = &[
    "call_",
    "toolu_",
    "chatcmpl-",
    "msg_",
    "resp_",
    "run_",
    "thread_",
    "asst_",
    "file-",
    "req_",
    "price_",
    "prod_",
    "cus_",
    "evt_",
    "pi_",
    "sub_",
    "tooluse_",
    "item_",
    "batch_",
    "fc_",
    "rs_",
];

/// What digests are labelled with.
const DIGESTS: [&str; 5] = ["sha1", "sha256", "sha384", "sha512", "md5"];

/// Values that stand for a type or for nothing, and so are no secret even after a telling name.
const STAND_INS: &[&str] = &[
    "string",
    "str",
    "text",
    "none",
    "null",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "bool",
    "boolean",
    "integer",
    "int",
    "number",
    "object",
    "bytes",
    "any",
    "self",
    "hidden",
    "masked",
    "redacted",
    "input",
    "password",
    "secret",
    "token",
    "username",
    "email",
    "example",
    "placeholder",
    "changed",
    "missing",
    "empty",
];

struct Search<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    found: Vec<Secret>,
}

impl Search<'_> {
    fn run(&mut self) {
        while let Some(skipped) =
            self.bytes[self.at..].iter().position(|byte| starts_something(*byte))
        {
            let start = self.at + skipped;
            self.at = start;
            if self.bytes[start] == b'$' {
                self.password_hash(start);
            } else {
                let end = self.end_of_word(start);
                if self.is_plain(start, end) {
                    self.at = end;
                } else {
                    self.word(start, end);
                }
            }
        }
    }

    /// Whether a word can neither be a secret nor announce one, which a glance at its ends tells of most.
    fn is_plain(&self, start: usize, end: usize) -> bool {
        let (first, length) = (self.bytes[start], end - start);
        if length >= SHORTEST || first == b'-' {
            return false;
        }
        match self.bytes.get(end) {
            Some(b':' | b'=' | b'"' | b'\'' | b'\\') => false,
            Some(b' ') => {
                let may_be_scheme = (5..=6).contains(&length)
                    && matches!(first.to_ascii_lowercase(), b'a' | b'b' | b't');
                let follows = self.bytes.get(end + 1);
                !may_be_scheme && !matches!(follows, Some(b' ' | b':' | b'='))
            }
            Some(_) | None => true,
        }
    }

    /// Judges the word `start..end` together with what follows it, and moves on.
    fn word(&mut self, start: usize, end: usize) {
        let word = &self.text[start..end];
        if self.armoured_block(start) || self.url_password(start, end) || self.header(word, end) {
            return;
        }
        if let Some(kind) = kind_of_make(word).or_else(|| self.kind_of_random(word, start)) {
            // The whole word goes: nothing next to a secret is worth a guess where it ends.
            let end = end + self.bytes[end..].iter().take_while(|byte| **byte == b'=').count();
            self.mark(start, end, kind);
            return;
        }
        self.at = end;
        self.assignment(word, end);
    }

    fn mark(&mut self, start: usize, end: usize, kind: SecretKind) {
        self.found.push(Secret { range: start..end, kind });
        self.at = end;
    }

    fn end_of_word(&self, start: usize) -> usize {
        start + self.bytes[start..].iter().take_while(|byte| is_word(**byte)).count()
    }

    fn kind_of_random(&self, word: &str, start: usize) -> Option<SecretKind> {
        // A word too short to be random is by far the usual case.
        if word.len() < 20 || ID_MAKES.iter().any(|make| word.starts_with(make)) {
            return None;
        }
        let before = &self.text[..start];
        // The name ends where the digest begins: random letters may begin like one, too.
        let is_digest = DIGESTS
            .iter()
            .filter_map(|name| word.strip_prefix(name))
            .any(|rest| rest.bytes().next().is_none_or(|byte| !byte.is_ascii_alphanumeric()));
        let follows_digest = before
            .strip_suffix([':', '='])
            .is_some_and(|name| DIGESTS.iter().any(|digest| name.ends_with(digest)));
        if is_digest || follows_digest || before.ends_with(";base64,") {
            return None;
        }
        // A dot parts hosts, files and versions; a random part makes the whole word a token.
        word.split('.').any(is_random).then_some(SecretKind::Token)
    }

    /// `-----BEGIN … PRIVATE KEY-----` up to its end, or to the end of the text. Certificates and
    /// public keys are passed over.
    fn armoured_block(&mut self, start: usize) -> bool {
        if self.bytes[start] != b'-' {
            return false;
        }
        let Some(header) = self.text[start..].strip_prefix("-----BEGIN ") else { return false };
        let Some(title_length) = header.find("-----") else { return false };
        let title = &header[..title_length];
        let body = start + "-----BEGIN ".len() + title_length;
        let end = self.text[body..].find("-----END ").map(|at| {
            let footer = body + at + "-----END ".len();
            self.text[footer..]
                .find("-----")
                .map_or(self.text.len(), |at| footer + at + "-----".len())
        });
        if title.contains("PRIVATE KEY") {
            self.mark(start, end.unwrap_or(self.text.len()), SecretKind::PrivateKey);
        } else {
            self.at = end.unwrap_or(body);
        }
        true
    }

    /// The password in `scheme://user:password@host`, or a user that is a token.
    fn url_password(&mut self, start: usize, end: usize) -> bool {
        if self.bytes.get(end) != Some(&b':')
            || !self.text[end..].starts_with("://")
            || !self.bytes[start].is_ascii_alphabetic()
        {
            return false;
        }
        let authority = end + "://".len();
        let rest = &self.text[authority..];
        let rest = &rest[..rest
            .find(|character: char| character.is_whitespace() || "\"'<>`".contains(character))
            .unwrap_or(rest.len())];
        self.at = authority;
        let host_or_user = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let user_end = rest.find(':').filter(|colon| *colon < host_or_user);
        let Some(colon) = user_end else { return true };
        // A password may hold `/`, `?` and `@` unescaped, but behind a port comes no password.
        let after = &rest[colon + 1..];
        let port = after.bytes().take_while(u8::is_ascii_digit).count();
        let is_port = port > 0
            && matches!(after.as_bytes().get(port), None | Some(b'/' | b'?' | b'#' | b',' | b')'));
        let Some(at_sign) = after.rfind('@').filter(|_| !is_port) else { return true };
        if at_sign > 0 {
            let password = authority + colon + 1;
            self.mark(password, password + at_sign, SecretKind::Password);
        }
        true
    }

    /// What follows `Bearer`, `Basic` and the like.
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
        let gap = self.bytes[end..].iter().take_while(|byte| **byte == b' ').count();
        if gap == 0 || gap > 2 {
            return false;
        }
        let start = end + gap;
        let stop = start
            + self.bytes[start..]
                .iter()
                .take_while(|byte| is_word(**byte) || b"=~".contains(byte))
                .count();
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
            self.mark(
                start,
                stop,
                if scheme == "basic" { SecretKind::Password } else { SecretKind::Token },
            );
        }
        is_secret
    }

    /// The value in `password=…`, `"api_key": "…"`, `--token …` and their kin.
    fn assignment(&mut self, word: &str, end: usize) {
        // Behind most words stands a space and another word.
        if word.len() < 3 || end == self.bytes.len() {
            return;
        }
        let rest = &self.bytes[end..];
        let quotes = count_of(rest, |byte| matches!(byte, b'"' | b'\'' | b'\\')).min(4);
        let spaces = count_of(&rest[quotes..], |byte| byte == b' ').min(4);
        let sign = rest.get(quotes + spaces).copied().filter(|byte| matches!(byte, b':' | b'='));
        let is_option = sign.is_none() && word.starts_with("--") && quotes == 0 && spaces > 0;
        if sign.is_none() && !is_option {
            return;
        }
        let name = &word[word.rfind(['/', '.']).map_or(0, |at| at + 1)..];
        let Some(kind) = kind_of_name(name) else { return };
        let mut value = end + quotes + spaces + usize::from(sign.is_some());
        let space_after = count_of(&self.bytes[value..], |byte| byte == b' ').min(4);
        value += space_after;
        let is_member = sign == Some(b':') && self.is_in_member_position(end - word.len());
        let may_hold = is_member || sign == Some(b':') && quotes > 0;
        if may_hold && let Some(stop) = self.end_of_collection(value) {
            self.mark(value, stop, kind);
            return;
        }
        let backslashes = count_of(&self.bytes[value..], |byte| byte == b'\\');
        value += backslashes;
        let quote = self.bytes.get(value).copied().filter(|byte| matches!(byte, b'"' | b'\''));
        value += usize::from(quote.is_some());
        let tail = &self.text[value..];
        let length = match quote {
            Some(quote) => end_of_quoted(tail.as_bytes(), backslashes, quote),
            None if is_member => tail.find([',', '}', ']', '"', '\'', '\n', '\r']),
            None if kind == SecretKind::Authorization || kind == SecretKind::Cookie => {
                tail.find(['\n', '\r', '"', '\'', '\\'])
            }
            None => tail.find(|character: char| {
                character.is_whitespace() || ",;&)}]\"'`<>\\|".contains(character)
            }),
        }
        .unwrap_or(tail.len());
        let content = tail[..length].trim_end();
        let tight = sign == Some(b'=') && spaces == 0 && space_after == 0;
        let bare = match content.split_once(' ') {
            Some((scheme, rest))
                if kind == SecretKind::Authorization
                    && !rest.contains(' ')
                    && scheme.len() <= 8 =>
            {
                rest
            }
            _ => content,
        };
        let stands_in = content.is_empty()
            || STAND_INS.iter().any(|word| bare.eq_ignore_ascii_case(word))
            || bare.starts_with(['$', '{', '<', '%', '[', '*', '('])
            || content
                .bytes()
                .all(|byte| byte == b'*' || byte == b'x' || byte == b'.' || byte == b'?');
        let is_code =
            quote.is_none() && (content.contains(['(', '[', '{']) || is_call_or_member(content));
        let plain_prose = quote.is_none()
            && !tight
            && !is_option
            && !is_member
            && !reads_like_a_password(content);
        if !(stands_in || is_code || plain_prose) {
            self.mark(value, value + content.len(), kind);
        }
    }

    /// Whether a name stands where an object has one: behind `{`, or behind a comma and a `{` before it. So
    /// it does in JSON that is broken, or inside another text, where nothing else says what its value is.
    fn is_in_member_position(&self, name: usize) -> bool {
        let before = self.text[..name].trim_end_matches(['"', '\'', '\\']).trim_end();
        before.ends_with('{') || before.ends_with(',') && before.contains('{')
    }

    /// Where the list or object that begins here ends: with its last bracket, or with the text. An empty one
    /// holds no secret.
    fn end_of_collection(&self, start: usize) -> Option<usize> {
        let (mut at, mut depth, mut is_empty) = (start, 0_usize, true);
        if !matches!(self.bytes.get(start), Some(b'[' | b'{')) {
            return None;
        }
        while let Some(byte) = self.bytes.get(at) {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                byte => is_empty &= byte.is_ascii_whitespace(),
            }
            let backslashes = count_of(&self.bytes[at..], |byte| byte == b'\\');
            at += backslashes;
            match self.bytes.get(at) {
                Some(quote @ (b'"' | b'\'')) => {
                    let inner = &self.bytes[at + 1..];
                    let length = end_of_quoted(inner, backslashes, *quote);
                    at += length.map_or(inner.len(), |length| length + backslashes + 1) + 1;
                }
                _ => at += usize::from(backslashes == 0),
            }
            if depth == 0 {
                break;
            }
        }
        (!is_empty).then_some(at.min(self.bytes.len()))
    }

    /// `$2b$…`, `$argon2id$…` and the other forms in which hashed passwords are kept.
    fn password_hash(&mut self, start: usize) {
        let rest = &self.text[start..];
        let known = ["$2a$", "$2b$", "$2y$", "$argon2", "$scrypt$", "$6$", "$5$", "$1$", "$pbkdf2"];
        let length =
            count_of(rest.as_bytes(), |byte| is_word(byte) || matches!(byte, b'$' | b'=' | b','));
        if length >= 20 && known.iter().any(|prefix| rest.starts_with(prefix)) {
            self.mark(start, start + length, SecretKind::PasswordHash);
        } else {
            self.at = start + 1;
        }
    }
}

/// The shortest word that can be a secret by itself, in bytes.
const SHORTEST: usize = 14;

/// Whether all of these are single words too short to be secrets.
pub(super) fn are_short_words<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    texts.all(|text| text.len() < SHORTEST && text.bytes().all(is_word))
}

/// The make of a key that begins in this word: at its start, behind a separator, or anywhere when the
/// beginning is one that no word has.
fn kind_of_make(word: &str) -> Option<SecretKind> {
    // Shorter than the shortest: most words end here.
    if word.len() < SHORTEST {
        return None;
    }
    let bytes = word.as_bytes();
    let mut first: Option<usize> = None;
    for (at, pair) in bytes.windows(2).enumerate() {
        let mut begun = BEGINNINGS[0][usize::from(pair[0])] & BEGINNINGS[1][usize::from(pair[1])];
        while begun != 0 {
            let make = begun.trailing_zeros() as usize;
            begun &= begun - 1;
            let (prefix, follow, _) = MAKES[make];
            // Of several makes the first in the list is told.
            if first.is_none_or(|first| make < first)
                && let Some(body) = word[at..].strip_prefix(prefix)
                && count_of(body.as_bytes(), is_word) >= follow
                && is_body(prefix, body, at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
            {
                first = Some(make);
            }
        }
    }
    first.map(|make| MAKES[make].2)
}

/// The makes that have a byte in the first and in the second place of their beginning, one bit a make:
/// at most places of a word no make begins, which two look-ups tell.
const BEGINNINGS: [[u64; 256]; 2] = {
    assert!(MAKES.len() <= 64);
    let mut makes = [[0; 256]; 2];
    let mut make = 0;
    while make < MAKES.len() {
        let prefix = MAKES[make].0.as_bytes();
        makes[0][prefix[0] as usize] |= 1 << make;
        makes[1][prefix[1] as usize] |= 1 << make;
        make += 1;
    }
    makes
};

/// Whether what follows a prefix is what that make of key has.
fn is_body(prefix: &str, body: &str, at_edge: bool) -> bool {
    let has_digit = || body.bytes().any(|byte| byte.is_ascii_digit());
    let has_capital = || body.bytes().any(|byte| byte.is_ascii_uppercase());
    match prefix {
        "AKIA" | "ASIA" => {
            count_of(body.as_bytes(), |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
                >= 16
        }
        "eyJ" => body.contains('.') || body.len() >= 40,
        // `risk-assessment-2024`: a word may end in these letters.
        "sk-" => {
            let long_part = |part: &str| {
                part.len() >= 16
                    && part.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
            };
            has_digit() && has_capital()
                || at_edge && body.split('-').any(long_part)
                || is_random(body)
        }
        "hf_" | "npm_" | "gsk_" | "ntn_" => at_edge && (has_capital() || has_digit()),
        "SG." => at_edge && is_random(body),
        _ => at_edge || has_digit() || has_capital(),
    }
}

/// Where a quoted text ends: before the quote that has as many backslashes as the one that opened it, or
/// fewer, which ends the text around it.
fn end_of_quoted(text: &[u8], backslashes: usize, quote: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        let escapes = count_of(&text[at..], |byte| byte == b'\\');
        let is_quote = *text.get(at + escapes)? == quote;
        // Backslashes of the text itself are escaped as often as the quotes are.
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

/// `os.environ`, `config.token`, `getpass`: a name that code reads a secret from.
fn is_call_or_member(content: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|character: char| character.is_ascii_alphabetic() || character == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    content.contains('.') && content.split('.').all(is_name)
}

/// After `password: ` in prose: a value has a digit or a sign in it, a word of the sentence has not.
fn reads_like_a_password(content: &str) -> bool {
    content.chars().count() >= 6
        && content
            .chars()
            .any(|character| character.is_ascii_digit() || "!@#$%^&*_+=".contains(character))
}

fn starts_something(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & STARTS != 0
}

fn is_word(byte: u8) -> bool {
    CLASSES[usize::from(byte)] & IN_WORD != 0
}

const STARTS: u8 = 1;
const IN_WORD: u8 = 2;

/// What each byte can be: every byte of every text is looked up here.
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
        fn a_plain_word_is_judged_like_any_other(
            words in prop::collection::vec("bearer|Basic|token|apikey|--token|password|pin|sk-|eyJ|[a-zA-Z0-9_./+-]{1,16}", 1..6),
            between in "[ :=\"'\\\\,;\n]{0,3}",
        ) {
            let text = words.join(&between);
            for start in 0..text.len() {
                let mut search =
                    Search { text: &text, bytes: text.as_bytes(), at: start, found: Vec::new() };
                let end = search.end_of_word(start);
                if starts_something(search.bytes[start]) && search.is_plain(start, end) {
                    search.word(start, end);
                    prop_assert!(search.found.is_empty() && search.at == end, "{text:?} at {start}");
                }
            }
        }
    }
}
