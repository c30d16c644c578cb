//! Recognizes keys and tokens of known vendors by their prefix and the text after it.

use super::SecretKind;
use super::randomness::is_random;

/// The required text after a prefix, in addition to a minimum length.
#[derive(Clone, Copy)]
enum TokenBody {
    /// Any text if the prefix is at the start of a word or after a separator. Elsewhere it needs a digit or a capital
    /// letter.
    Any,
    /// Text with a digit, with the prefix at the start of a word or after a separator.
    Digit,
    /// Text with a digit or a capital letter, with the prefix at the start of a word or after a separator.
    Mixed,
    /// Hexadecimal digits over the minimum length, with the prefix at the start of a word or after a separator.
    Hex,
    /// Capital letters and digits over the minimum length.
    Capitals,
    /// The parts of a JSON Web Token.
    WebToken,
    /// The rest of an `sk-` key, whose prefix is also the end of words such as `risk-`.
    SkKey,
    /// Random text, with the prefix at the start of a word or after a separator.
    Random,
}

/// The prefixes of known keys and tokens, each with the minimum number of characters after it and their kind. If
/// several match, the first one in this list decides the kind.
const MAKES: &[(&str, usize, TokenBody, SecretKind)] = &[
    ("eyJ", 17, TokenBody::WebToken, SecretKind::Token),
    ("sk-", 16, TokenBody::SkKey, SecretKind::ApiKey),
    ("sk_live_", 10, TokenBody::Any, SecretKind::ApiKey),
    ("sk_test_", 10, TokenBody::Any, SecretKind::ApiKey),
    ("rk_live_", 10, TokenBody::Any, SecretKind::ApiKey),
    ("rk_test_", 10, TokenBody::Any, SecretKind::ApiKey),
    ("whsec_", 16, TokenBody::Any, SecretKind::Secret),
    ("ghp_", 16, TokenBody::Any, SecretKind::Token),
    ("gho_", 16, TokenBody::Any, SecretKind::Token),
    ("ghu_", 16, TokenBody::Any, SecretKind::Token),
    ("ghs_", 16, TokenBody::Any, SecretKind::Token),
    ("ghr_", 16, TokenBody::Any, SecretKind::Token),
    ("github_pat_", 16, TokenBody::Any, SecretKind::Token),
    ("glpat-", 16, TokenBody::Any, SecretKind::Token),
    ("glptt-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glrt-", 16, TokenBody::Mixed, SecretKind::Token),
    ("gldt-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glcbt-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glagent-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glsoat-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glft-", 16, TokenBody::Mixed, SecretKind::Token),
    ("glimt-", 16, TokenBody::Mixed, SecretKind::Token),
    ("GR1348941", 16, TokenBody::Any, SecretKind::Token),
    ("ATBB", 28, TokenBody::Mixed, SecretKind::Password),
    ("ATATT", 30, TokenBody::Mixed, SecretKind::Token),
    ("ATCTT", 30, TokenBody::Mixed, SecretKind::Token),
    ("xoxa-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxb-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxc-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxd-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxe-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxe.", 20, TokenBody::Mixed, SecretKind::Token),
    ("xoxo-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxp-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxr-", 10, TokenBody::Any, SecretKind::Token),
    ("xoxs-", 10, TokenBody::Any, SecretKind::Token),
    ("xapp-", 10, TokenBody::Any, SecretKind::Token),
    ("AKIA", 16, TokenBody::Capitals, SecretKind::ApiKey),
    ("ASIA", 16, TokenBody::Capitals, SecretKind::ApiKey),
    ("ABSK", 60, TokenBody::Mixed, SecretKind::ApiKey),
    ("amzn.mws.", 30, TokenBody::Mixed, SecretKind::Token),
    ("AIza", 30, TokenBody::Any, SecretKind::ApiKey),
    ("ya29.", 16, TokenBody::Any, SecretKind::Token),
    ("1//0", 40, TokenBody::Mixed, SecretKind::Token),
    ("GOCSPX-", 20, TokenBody::Mixed, SecretKind::Secret),
    ("npm_", 30, TokenBody::Mixed, SecretKind::Token),
    ("pypi-", 30, TokenBody::Any, SecretKind::Token),
    ("rubygems_", 32, TokenBody::Hex, SecretKind::ApiKey),
    ("cio", 32, TokenBody::Random, SecretKind::Token),
    ("oy2", 40, TokenBody::Random, SecretKind::ApiKey),
    ("hf_", 30, TokenBody::Mixed, SecretKind::Token),
    ("gsk_", 30, TokenBody::Mixed, SecretKind::ApiKey),
    ("pplx-", 32, TokenBody::Mixed, SecretKind::ApiKey),
    ("xai-", 40, TokenBody::Mixed, SecretKind::ApiKey),
    ("r8_", 30, TokenBody::Mixed, SecretKind::Token),
    ("pcsk_", 30, TokenBody::Mixed, SecretKind::ApiKey),
    ("tvly-", 20, TokenBody::Mixed, SecretKind::ApiKey),
    ("lsv2_pt_", 32, TokenBody::Hex, SecretKind::ApiKey),
    ("lsv2_sk_", 32, TokenBody::Hex, SecretKind::ApiKey),
    ("SG.", 30, TokenBody::Random, SecretKind::ApiKey),
    ("key-", 32, TokenBody::Hex, SecretKind::ApiKey),
    ("xkeysib-", 40, TokenBody::Hex, SecretKind::ApiKey),
    ("mlsn.", 40, TokenBody::Hex, SecretKind::ApiKey),
    ("dapi", 32, TokenBody::Hex, SecretKind::Token),
    ("sbp_", 32, TokenBody::Hex, SecretKind::Token),
    ("sb_secret_", 16, TokenBody::Any, SecretKind::ApiKey),
    ("PMAK-", 40, TokenBody::Mixed, SecretKind::ApiKey),
    ("sntrys_", 20, TokenBody::Mixed, SecretKind::Token),
    ("sntryu_", 32, TokenBody::Hex, SecretKind::Token),
    ("dop_v1_", 30, TokenBody::Any, SecretKind::Token),
    ("doo_v1_", 30, TokenBody::Any, SecretKind::Token),
    ("dor_v1_", 30, TokenBody::Any, SecretKind::Token),
    ("shpat_", 30, TokenBody::Any, SecretKind::Token),
    ("shpca_", 30, TokenBody::Any, SecretKind::Token),
    ("shppa_", 30, TokenBody::Any, SecretKind::Token),
    ("shpss_", 30, TokenBody::Any, SecretKind::Secret),
    ("HRKU-", 30, TokenBody::Mixed, SecretKind::ApiKey),
    ("figd_", 20, TokenBody::Any, SecretKind::Token),
    ("ntn_", 30, TokenBody::Mixed, SecretKind::Token),
    ("secret_", 40, TokenBody::Random, SecretKind::Token),
    ("lin_api_", 30, TokenBody::Mixed, SecretKind::ApiKey),
    ("lin_oauth_", 30, TokenBody::Mixed, SecretKind::Token),
    ("dp.st.", 30, TokenBody::Mixed, SecretKind::Token),
    ("dp.pt.", 30, TokenBody::Mixed, SecretKind::Token),
    ("dp.ct.", 30, TokenBody::Mixed, SecretKind::Token),
    ("dp.sa.", 30, TokenBody::Mixed, SecretKind::Token),
    ("hvs.", 20, TokenBody::Mixed, SecretKind::Token),
    ("hvb.", 20, TokenBody::Mixed, SecretKind::Token),
    ("hvr.", 20, TokenBody::Mixed, SecretKind::Token),
    (".atlasv1.", 30, TokenBody::Any, SecretKind::Token),
    ("NRAK-", 20, TokenBody::Capitals, SecretKind::ApiKey),
    ("glsa_", 30, TokenBody::Mixed, SecretKind::Token),
    ("glc_", 30, TokenBody::Mixed, SecretKind::Token),
    ("dckr_pat_", 20, TokenBody::Any, SecretKind::Token),
    ("dckr_oat_", 20, TokenBody::Any, SecretKind::Token),
    ("CFPAT-", 30, TokenBody::Mixed, SecretKind::Token),
    ("sl.", 60, TokenBody::Mixed, SecretKind::Token),
    ("EAA", 50, TokenBody::Mixed, SecretKind::Token),
    ("EZAK", 40, TokenBody::Mixed, SecretKind::ApiKey),
    ("EZTK", 40, TokenBody::Mixed, SecretKind::ApiKey),
    ("pscale_tkn_", 30, TokenBody::Mixed, SecretKind::Token),
    ("pscale_pw_", 30, TokenBody::Mixed, SecretKind::Password),
    ("fo1_", 30, TokenBody::Mixed, SecretKind::Token),
    ("nfp_", 30, TokenBody::Mixed, SecretKind::Token),
    ("tfp_", 30, TokenBody::Mixed, SecretKind::Token),
    ("bkua_", 30, TokenBody::Mixed, SecretKind::Token),
    ("CCIPAT_", 30, TokenBody::Mixed, SecretKind::Token),
    ("sqp_", 32, TokenBody::Hex, SecretKind::Token),
    ("squ_", 32, TokenBody::Hex, SecretKind::Token),
    ("sqa_", 32, TokenBody::Hex, SecretKind::Token),
    ("ops_eyJ", 40, TokenBody::Mixed, SecretKind::Token),
    ("tskey-", 20, TokenBody::Mixed, SecretKind::ApiKey),
    ("phx_", 30, TokenBody::Mixed, SecretKind::ApiKey),
    ("nvapi-", 40, TokenBody::Mixed, SecretKind::ApiKey),
    ("dt0c01.", 30, TokenBody::Mixed, SecretKind::Token),
    ("v1.0-", 120, TokenBody::Mixed, SecretKind::ApiKey),
    ("nsec1", 50, TokenBody::Digit, SecretKind::PrivateKey),
    ("AGE-SECRET-KEY-1", 30, TokenBody::Any, SecretKind::PrivateKey),
];

/// The maximum number of prefixes in one word after which the randomness is computed.
const MOST_WEIGHED: usize = 4;

/// Returns the kind of the known key or token that starts in this word.
///
/// Each prefix costs the same for a word of any length, so that a word made of prefixes is searched in linear time.
pub(super) fn kind_of_make(word: &str) -> Option<SecretKind> {
    let bytes = word.as_bytes();
    if is_mailchimp_key(word) || is_airtable_token(word) {
        return Some(SecretKind::ApiKey);
    }
    let last = |is: fn(&u8) -> bool| bytes.iter().rposition(is);
    let mut last_of_word: Option<(Option<usize>, Option<usize>)> = None;
    let (mut first, mut weighed): (Option<usize>, usize) = (None, 0);
    for (at, pair) in bytes.windows(2).enumerate() {
        let mut begun = BEGINNINGS[0][usize::from(pair[0])] & BEGINNINGS[1][usize::from(pair[1])];
        while begun != 0 {
            let make = begun.trailing_zeros() as usize;
            begun &= begun - 1;
            let (prefix, follow, body, _) = MAKES[make];
            let start = at + prefix.len();
            if first.is_some_and(|first| make >= first)
                || bytes.len() < start + follow
                || !word[at..].starts_with(prefix)
            {
                continue;
            }
            let (digit, capital) = *last_of_word
                .get_or_insert_with(|| (last(u8::is_ascii_digit), last(u8::is_ascii_uppercase)));
            let rest = Rest {
                text: &word[start..],
                at_edge: at == 0 || !bytes[at - 1].is_ascii_alphanumeric(),
                has_digit: digit.is_some_and(|digit| digit >= start),
                has_capital: capital.is_some_and(|capital| capital >= start),
            };
            let fits = if rest.needs_weighing(body) {
                weighed += 1;
                // No ordinary word has so many of these prefixes.
                weighed > MOST_WEIGHED || rest.is_weighed(body)
            } else {
                rest.fits(body, follow)
            };
            if fits {
                first = Some(make);
            }
        }
    }
    first.map(|make| MAKES[make].3)
}

/// Returns the kind of the key whose beginning this word may be, if the rest was truncated.
pub(super) fn kind_of_beginning(word: &str) -> Option<SecretKind> {
    let begins = |(prefix, _, body, _): &&(&str, usize, TokenBody, SecretKind)| {
        word.strip_prefix(prefix).is_some_and(|rest| match body {
            TokenBody::Hex => !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit()),
            // Ordinary words can begin with so few letters, too.
            _ if prefix.bytes().all(|byte| byte.is_ascii_alphanumeric()) && prefix.len() < 4 => {
                matches!(body, TokenBody::WebToken) && !rest.is_empty()
            }
            _ => !rest.is_empty(),
        })
    };
    MAKES.iter().find(begins).map(|make| make.3)
}

/// The text after a prefix.
struct Rest<'w> {
    text: &'w str,
    at_edge: bool,
    has_digit: bool,
    has_capital: bool,
}

impl Rest<'_> {
    fn needs_weighing(&self, body: TokenBody) -> bool {
        match body {
            TokenBody::SkKey => !(self.has_digit && self.has_capital),
            TokenBody::Random => self.at_edge,
            _ => false,
        }
    }

    fn is_weighed(&self, body: TokenBody) -> bool {
        /// The maximum length of the text that is searched for a long part.
        const LONGEST: usize = 256;
        let long_part = |part: &str| {
            part.len() >= 16
                && part.bytes().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
        };
        let text = &self.text[..self.text.len().min(LONGEST)];
        match body {
            // A word may end in the letters of the prefix: `risk-assessment-2024`.
            TokenBody::SkKey => {
                (self.has_digit || self.has_capital)
                    && (self.at_edge && text.split('-').any(long_part) || is_random(self.text))
            }
            _ => is_random(self.text),
        }
    }

    fn fits(&self, body: TokenBody, follow: usize) -> bool {
        let is_mixed = self.has_digit || self.has_capital;
        let begins_with = |is: fn(&u8) -> bool| {
            self.text.as_bytes()[..follow.min(self.text.len())].iter().all(is)
        };
        match body {
            TokenBody::Any => self.at_edge || is_mixed,
            TokenBody::Digit => self.at_edge && self.has_digit,
            TokenBody::Mixed => self.at_edge && is_mixed,
            TokenBody::Hex => self.at_edge && begins_with(u8::is_ascii_hexdigit),
            TokenBody::Capitals => {
                begins_with(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
            }
            TokenBody::WebToken => self.text.len() >= 40 || self.text.contains('.'),
            TokenBody::SkKey => true,
            TokenBody::Random => false,
        }
    }
}

/// True for a key with its data center: `0123456789abcdef0123456789abcdef-us12`.
fn is_mailchimp_key(word: &str) -> bool {
    word.len() <= 40
        && word.split_once("-us").is_some_and(|(key, center)| {
            key.len() == 32
                && key.bytes().all(|byte| byte.is_ascii_hexdigit())
                && (1..=2).contains(&center.len())
                && center.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// True for `pat`, an id of 14 characters, and a secret of 64 hexadecimal digits.
fn is_airtable_token(word: &str) -> bool {
    word.len() == 82
        && word.starts_with("pat")
        && word[17..]
            .strip_prefix('.')
            .is_some_and(|secret| secret.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The known keys with a given byte as the first and second byte of their prefix, one bit for each. At most places in
/// a word, two lookups show that no known key begins there.
const BEGINNINGS: [[u128; 256]; 2] = {
    assert!(MAKES.len() <= 128);
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

/// Iterates over the prefixes, for tests that build hostile inputs.
#[cfg(any(test, feature = "testing"))]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    MAKES.iter().map(|make| make.0)
}
