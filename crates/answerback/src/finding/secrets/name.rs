use super::SecretKind;

/// What a member of this name holds, when its name says that it is a secret.
///
/// Names are read word by word, whatever their case and separators: `apiKey`, `API-KEY` and `api_key`
/// are one. `max_tokens`, `token_type`, `password_policy` and `page_token` are not secrets, nor are
/// members named hash, digest, signature or receipt.
///
/// ```
/// use answerback::finding::secrets::{SecretKind, kind_of_name};
///
/// assert_eq!(kind_of_name("clientSecret"), Some(SecretKind::Secret));
/// assert_eq!(kind_of_name("max_tokens"), None);
/// ```
pub fn kind_of_name(name: &str) -> Option<SecretKind> {
    // Longer names, and names with as many spaces, are sentences.
    const LONGEST: usize = 128;
    const SPACES: usize = 2;
    if name.len() > LONGEST
        || !may_tell(name)
        || name.bytes().filter(|byte| *byte == b' ').count() > SPACES
    {
        return None;
    }
    let mut words: [Word; 12] = [Word::default(); 12];
    let mut count = 0;
    for word in Words(name) {
        if count == words.len() {
            words.rotate_left(1);
            count -= 1;
        }
        words[count] = word;
        count += 1;
    }
    let words = &words[..count];
    let last = words.last()?;
    let kind = words.iter().enumerate().find_map(|(index, word)| {
        let before = index.checked_sub(1).map_or("", |before| words[before].as_str());
        kind_of_word(word.as_str(), before, index + 1 == words.len())
    });
    // What follows the noun turns the secret into something about it.
    kind.filter(|_| !ABOUT.contains(&last.as_str()))
}

/// Last words that make a name speak *about* a secret.
const ABOUT: &[&str] = &[
    "hash",
    "digest",
    "signature",
    "receipt",
    "checksum",
    "fingerprint",
    "id",
    "ids",
    "type",
    "kind",
    "name",
    "count",
    "limit",
    "length",
    "size",
    "budget",
    "usage",
    "policy",
    "hint",
    "url",
    "uri",
    "endpoint",
    "path",
    "file",
    "field",
    "format",
    "expires",
    "expiry",
    "expiration",
    "ttl",
    "at",
    "age",
    "date",
    "index",
    "address",
    "required",
    "enabled",
    "strength",
    "level",
    "manager",
    "provider",
    "version",
    "symbol",
    "contract",
    "price",
    "consent",
    "policies",
    "settings",
    "option",
    "options",
    "mode",
    "status",
    "scope",
    "scopes",
    "in",
    "supply",
];

/// What tokens are of, when a name is written without a seam.
const GLUED_TOKENS: &[&str] =
    &["access", "api", "auth", "bearer", "id", "refresh", "session", "user"];

/// The last three letters of every word that [`kind_of_word`] knows.
const ENDINGS: &[&str] = &[
    "ase", "ode", "pwd", "swd", "ord", "ass", "ets", "ret", "ial", "als", "eds", "ion", "rer",
    "key", "ken", "jwt", "pat", "kie", "ies", "pin", "otp", "cvv", "cvc", "mfa",
];

/// The endings that have a letter in their first, second and third place, one bit an ending.
const ENDING_LETTERS: [[u32; 256]; 3] = {
    assert!(ENDINGS.len() <= 32);
    let mut letters = [[0; 256]; 3];
    let mut ending = 0;
    while ending < ENDINGS.len() {
        let mut place = 0;
        while place < 3 {
            let letter = ENDINGS[ending].as_bytes()[place];
            letters[place][letter as usize] |= 1 << ending;
            letters[place][letter.to_ascii_uppercase() as usize] |= 1 << ending;
            place += 1;
        }
        ending += 1;
    }
    letters
};

/// Whether a name has the end of a telling word anywhere. Most have not, and need not be read word by word.
fn may_tell(name: &str) -> bool {
    name.as_bytes().windows(3).any(|three| {
        let [first, second, third] = &ENDING_LETTERS;
        first[usize::from(three[0])] & second[usize::from(three[1])] & third[usize::from(three[2])]
            != 0
    })
}

/// What one word of a name says; `before` is the word in front of it.
fn kind_of_word(word: &str, before: &str, is_last: bool) -> Option<SecretKind> {
    Some(match word {
        "passphrase" | "passcode" | "pwd" | "pswd" => SecretKind::Password,
        glued if glued.ends_with("password") || glued.ends_with("passwd") => SecretKind::Password,
        "pass"
            if is_last
                && !matches!(
                    before,
                    "boarding" | "bus" | "ski" | "day" | "season" | "did" | "first"
                ) =>
        {
            SecretKind::Password
        }
        "secrets" => SecretKind::Secret,
        glued if glued.ends_with("secret") => SecretKind::Secret,
        "credential" | "credentials" | "creds" => SecretKind::Credentials,
        "authorization" if is_last => SecretKind::Authorization,
        "bearer" if is_last => SecretKind::Token,
        "accesskey" => SecretKind::ApiKey,
        glued if glued.ends_with("apikey") => SecretKind::ApiKey,
        "privatekey" | "secretkey" | "signingkey" | "encryptionkey" => SecretKind::PrivateKey,
        "key"
            if matches!(
                before,
                "api" | "access" | "auth" | "app" | "account" | "subscription" | "service"
            ) =>
        {
            SecretKind::ApiKey
        }
        "key"
            if matches!(
                before,
                "private" | "secret" | "signing" | "encryption" | "ssh" | "master" | "session"
            ) =>
        {
            SecretKind::PrivateKey
        }
        "token"
            if is_last
                && !matches!(
                    before,
                    "page"
                        | "next"
                        | "continuation"
                        | "previous"
                        | "prev"
                        | "cursor"
                        | "sync"
                        | "stop"
                        | "eos"
                        | "bos"
                        | "pad"
                        | "unk"
                        | "mask"
                        | "start"
                        | "end"
                        | "per"
                        | "max"
                        | "min"
                        | "progress"
                ) =>
        {
            SecretKind::Token
        }
        "jwt" | "pat" if is_last => SecretKind::Token,
        glued
            if is_last
                && GLUED_TOKENS.iter().any(|owner| glued.strip_suffix("token") == Some(owner)) =>
        {
            SecretKind::Token
        }
        "cookie" | "cookies" if is_last => SecretKind::Cookie,
        "pin" | "otp" | "cvv" | "cvc" | "totp" | "mfa" if is_last => SecretKind::Pin,
        "code" if matches!(before, "pin" | "otp" | "totp" | "mfa" | "cvv" | "cvc") => {
            SecretKind::Pin
        }
        _ => return None,
    })
}

/// A lower-case word of a name; what is longer than any word we know is cut.
#[derive(Clone, Copy, Default)]
struct Word {
    bytes: [u8; 16],
    length: usize,
}

impl Word {
    fn push(&mut self, byte: u8) {
        if self.length < self.bytes.len() {
            self.bytes[self.length] = byte.to_ascii_lowercase();
            self.length += 1;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

/// The words of a name: runs of ASCII letters, a capital after a small letter starting a new one.
struct Words<'n>(&'n str);

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let bytes = self.0.as_bytes();
        let start = bytes.iter().position(u8::is_ascii_alphabetic)?;
        let mut word = Word::default();
        let mut at = start;
        while at < bytes.len() && bytes[at].is_ascii_alphabetic() {
            let after_small = at > start && bytes[at - 1].is_ascii_lowercase();
            // `APIKey`: the last capital of a run belongs to the word that follows.
            let before_small = at > start && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            if bytes[at].is_ascii_uppercase() && (after_small || before_small) {
                break;
            }
            word.push(bytes[at]);
            at += 1;
        }
        self.0 = &self.0[at..];
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word that tells something has an ending that is looked for. The words are those of the rules.
    #[test]
    fn no_telling_word_is_passed_over() {
        let source = include_str!("name.rs");
        let start = source.find("fn kind_of_word").unwrap();
        let rules = &source[start..start + source[start..].find("\n}\n").unwrap()];
        let mut telling = 0;
        for word in rules.split('"').skip(1).step_by(2) {
            let told = [("", true), ("api", true), ("private", true), ("pin", true)];
            if told.iter().any(|(before, last)| kind_of_word(word, before, *last).is_some()) {
                assert!(may_tell(word), "{word}");
                telling += 1;
            }
        }
        assert!(telling > 20, "{telling}");
    }

    #[test]
    fn telling_names_are_secrets() {
        for name in [
            "password",
            "Password",
            "db_password",
            "userPassword",
            "PGPASSWORD",
            "passphrase",
            "pwd",
            "pass",
            "secret",
            "client_secret",
            "clientSecret",
            "AWS_SECRET_ACCESS_KEY",
            "apiKey",
            "api-key",
            "APIKey",
            "apikey",
            "x-api-key",
            "access_key",
            "private_key",
            "privateKey",
            "token",
            "accessToken",
            "refresh_token",
            "GITHUB_TOKEN",
            "authorization",
            "Authorization",
            "proxy-authorization",
            "credentials",
            "Cookie",
            "set-cookie",
            "pin",
            "otp",
            "pin_code",
            "cvv",
            "session_token",
            "jwt",
        ] {
            assert!(kind_of_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn other_names_are_not() {
        for name in [
            "hash",
            "digest",
            "signature",
            "receipt",
            "max_tokens",
            "tokens",
            "token_count",
            "token_type",
            "page_token",
            "nextPageToken",
            "next_token",
            "password_policy",
            "key",
            "keyboard",
            "primary_key",
            "path",
            "passenger",
            "passengers",
            "compass",
            "secretary",
            "tokenizer",
            "author",
            "authors",
            "cookie_consent",
            "pinned",
            "spin",
            "shipping",
            "cookies_enabled",
            "sort_key",
            "partition_key",
            "secret_name",
            "key_id",
            "",
            "名前",
            "stop_token",
            "boarding_pass",
            "Missing value for Password",
            "secret_id",
            "keyword",
            "monkey",
            "author_key",
        ] {
            assert_eq!(kind_of_name(name), None, "{name}");
        }
    }
}
