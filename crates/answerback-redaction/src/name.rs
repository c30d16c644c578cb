use super::SecretKind;

/// The information that a name gives about its value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Hint {
    /// The value is a secret.
    Secret(SecretKind),
    /// The value is a secret if it looks like a key.
    Weak(SecretKind),
    /// The name gives no information.
    None,
}

/// The information that a name gives about its value.
pub(super) fn hint_of_name(name: &str) -> Hint {
    match kind_of_name(name) {
        Some(kind) => Hint::Secret(kind),
        None => kind_of_weak_name(name).map_or(Hint::None, Hint::Weak),
    }
}

/// Returns the kind of secret for vague names, which also have many other uses.
pub(super) fn kind_of_weak_name(name: &str) -> Option<SecretKind> {
    let mut lower = [0; 10];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    Some(match &*lower {
        b"key" => SecretKind::ApiKey,
        b"auth" | b"_auth" | b"credential" => SecretKind::Credentials,
        b"sig" | b"code" | b"hmac" => SecretKind::Secret,
        b"sid" | b"session" | b"sessionid" | b"session_id" | b"phpsessid" | b"jsessionid" => {
            SecretKind::Cookie
        }
        b"seed" => SecretKind::PrivateKey,
        _ => return None,
    })
}

/// The last words of names whose values are public, even if they look random.
const PUBLIC_WORDS: &[&str] = &[
    "id",
    "ids",
    "uid",
    "uuid",
    "guid",
    "ulid",
    "nanoid",
    "ksuid",
    "cuid",
    "oid",
    "kid",
    "hash",
    "hashes",
    "digest",
    "checksum",
    "sha",
    "etag",
    "integrity",
    "fingerprint",
    "signature",
    "receipt",
    "cursor",
    "address",
    "addr",
    "wallet",
    "mint",
    "owner",
    "pubkey",
    "publickey",
    "thumbprint",
    "thumbnail",
    "image",
    "avatar",
    "picture",
    "photo",
    "icon",
    "commit",
    "revision",
    "traceparent",
    "slug",
    "gclid",
    "fbclid",
    "msclkid",
    "dclid",
    "igshid",
    "arn",
    "modulus",
    "certificate",
    "cert",
    "crc",
    "multihash",
    "cid",
    "txid",
    "blockhash",
    "permalink",
];

/// Names of URL query parameters whose values are public.
const PUBLIC_PARAMETERS: &[&str] =
    &["v", "list", "t", "ei", "ved", "ref", "si", "cursor", "page", "next", "after", "before"];

/// Words before `key` that make it the name of something public.
const PUBLIC_KEYS: &[&str] = &[
    "public",
    "pub",
    "publishable",
    "file",
    "object",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "idempotency",
    "issue",
    "project",
    "row",
    "document",
    "node",
    "component",
    "style",
    "verify",
    "verification",
    "host",
];

/// True if a name announces an id, a digest, an address or a public key.
pub(super) fn is_public_name(name: &str) -> bool {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return false;
    }
    let (mut last, mut before, mut count) = (NameWord::default(), NameWord::default(), 0);
    for word in SplitName(name) {
        before = last;
        last = word;
        count += 1;
    }
    let last = last.as_str();
    count > 0
        && (PUBLIC_WORDS.contains(&last)
            || name.starts_with("x5")
            || name.len() >= 3 && name.is_char_boundary(name.len() - 3) && name[name.len() - 3..].eq_ignore_ascii_case("md5")
            || last == "key" && PUBLIC_KEYS.contains(&before.as_str())
            // A name such as `next_page_token` marks a position in a list.
            || last == "token" && count > 1)
}

/// True if the value of a URL query parameter with this name is public.
pub(super) fn is_public_parameter(name: &str) -> bool {
    PUBLIC_PARAMETERS.contains(&name) || is_public_name(name)
}

/// True if a word can end the name of a secret that includes the words before it: `API key`.
pub(super) fn ends_a_phrase(name: &str) -> bool {
    name.len() == 3 && name.eq_ignore_ascii_case("key")
}

/// True if a word ends like the name of a secret, so that a secret may follow.
pub(super) fn ends_like_a_label(word: &[u8]) -> bool {
    let [.., first, second, third] = word else { return false };
    let [one, two, three] = &ENDING_LETTERS;
    one[usize::from(*first)] & two[usize::from(*second)] & three[usize::from(*third)] != 0
        && ends_like_a_word(word)
}

/// True if the fourth letter from the end also matches. Many ordinary words share three letters with the name of a
/// secret; few share four.
fn ends_like_a_word(word: &[u8]) -> bool {
    const FOURTH: &[(&[u8; 3], &[u8])] = &[
        (b"ion", b"t"),
        (b"ode", b"c"),
        (b"ase", b"r"),
        (b"ord", b"w"),
        (b"ret", b"c"),
        (b"ets", b"r"),
        (b"ial", b"t"),
        (b"als", b"i"),
        (b"ass", b"p_-"),
        (b"ies", b"k"),
    ];
    let (before, end) = word.split_at(word.len() - 3);
    let fourth = before.last().map(u8::to_ascii_lowercase);
    let rule = FOURTH.iter().find(|(letters, _)| end.eq_ignore_ascii_case(&letters[..]));
    match rule {
        Some((b"ion", _)) => {
            word.len() >= 13 && word[word.len() - 13..].eq_ignore_ascii_case(b"authorization")
        }
        Some((_, letters)) => fourth.is_some_and(|fourth| letters.contains(&fourth)),
        None => true,
    }
}

/// Returns the kind of secret that a member holds by its name, if the name announces one.
///
/// Names are read word by word, ignoring case and separators: `apiKey`, `API-KEY` and `api_key` are equal.
/// `max_tokens`, `token_type`, `password_policy` and `page_token` are not secrets, nor are members named hash,
/// digest, signature or receipt.
///
/// ```
/// use answerback_redaction::{SecretKind, kind_of_name};
///
/// assert_eq!(kind_of_name("clientSecret"), Some(SecretKind::Secret));
/// assert_eq!(kind_of_name("max_tokens"), None);
/// ```
pub fn kind_of_name(name: &str) -> Option<SecretKind> {
    // Longer names, and names with more spaces, are sentences.
    const LONGEST: usize = 128;
    const SPACES: usize = 2;
    if name.len() > LONGEST
        || !may_tell(name)
        || name.bytes().filter(|byte| *byte == b' ').count() > SPACES
    {
        return None;
    }
    let mut words: [NameWord; 12] = [NameWord::default(); 12];
    let mut count = 0;
    for word in SplitName(name) {
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
    // The last word may turn the name into one *about* a secret, and public values are not secret.
    let is_public = || words.iter().any(|word| matches!(word.as_str(), "public" | "publishable"));
    kind.filter(|_| !ABOUT.contains(&last.as_str()) && !is_public())
}

/// The last words of names that are *about* a secret.
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

/// Words before `token` in names without a separator.
const GLUED_TOKENS: &[&str] =
    &["access", "api", "auth", "bearer", "csrf", "id", "refresh", "session", "user", "xsrf"];

/// The last three letters of every word that [`kind_of_word`] recognizes.
const ENDINGS: &[&str] = &[
    "ase", "ode", "pwd", "swd", "ord", "ass", "ets", "ret", "ial", "als", "eds", "ion", "rer",
    "key", "ken", "jwt", "psk", "pat", "kie", "ies", "pin", "otp", "cvv", "cvc", "mfa",
];

/// The endings with a given letter in their first, second and third place, one bit for each ending.
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

/// True if a name contains the ending of a word for a secret. Most names do not, and need not be split into words.
fn may_tell(name: &str) -> bool {
    name.as_bytes().windows(3).any(|three| {
        let [first, second, third] = &ENDING_LETTERS;
        first[usize::from(three[0])] & second[usize::from(three[1])] & third[usize::from(three[2])]
            != 0
    })
}

/// Returns the kind of secret that one word of a name announces. `before` is the previous word.
fn kind_of_word(word: &str, before: &str, is_last: bool) -> Option<SecretKind> {
    Some(match word {
        "passphrase" | "passcode" | "pwd" | "pswd" | "psk" => SecretKind::Password,
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
                "api"
                    | "access"
                    | "auth"
                    | "app"
                    | "account"
                    | "subscription"
                    | "service"
                    | "routing"
                    | "integration"
                    | "license"
                    | "application"
                    | "admin"
                    | "write"
                    | "role"
                    | "webhook"
                    | "deploy"
                    | "server"
                    | "storage"
                    | "client"
            ) =>
        {
            SecretKind::ApiKey
        }
        "key"
            if matches!(
                before,
                "private"
                    | "secret"
                    | "signing"
                    | "encryption"
                    | "decryption"
                    | "ssh"
                    | "master"
                    | "session"
                    | "hmac"
                    | "unseal"
                    | "recovery"
                    | "shared"
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

/// A lowercase word of a name. A word longer than all known words is truncated.
#[derive(Clone, Copy, Default)]
struct NameWord {
    bytes: [u8; 16],
    length: usize,
}

impl NameWord {
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

/// Splits a name into words: runs of ASCII letters, where a capital after a lowercase letter starts a new word.
struct SplitName<'n>(&'n str);

impl Iterator for SplitName<'_> {
    type Item = NameWord;

    fn next(&mut self) -> Option<NameWord> {
        let bytes = self.0.as_bytes();
        let start = bytes.iter().position(u8::is_ascii_alphabetic)?;
        let mut word = NameWord::default();
        let mut at = start;
        while at < bytes.len() && bytes[at].is_ascii_alphabetic() {
            let after_small = at > start && bytes[at - 1].is_ascii_lowercase();
            // In `APIKey`, the last capital of a run belongs to the next word.
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

    /// Checks that every word recognized by the rules also has one of the known endings. The words are those in the
    /// source of the rules.
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
