//! Words that look random and are no secrets: ids, addresses, digests, public keys, pictures.

use super::randomness::LENGTHS;

/// The shortest random word that is taken for a secret although nothing near it says so, in bytes. Shorter ones are ids far
/// more often, such as nanoids (21), ULIDs (26) and KSUIDs (27).
pub(super) const SHORTEST_UNLABELED: usize = 30;

/// How the ids of things begin that are not secrets.
const ID_PREFIXES: &[&str] = &[
    "call_",
    "toolu_",
    "tooluse_",
    "chatcmpl-",
    "msg_",
    "resp_",
    "run_",
    "thread_",
    "asst_",
    "file-",
    "req_",
    "item_",
    "batch_",
    "fc_",
    "rs_",
    "price_",
    "prod_",
    "cus_",
    "evt_",
    "pi_",
    "sub_",
    "ch_",
    "in_",
    "ii_",
    "il_",
    "si_",
    "sc_",
    "py_",
    "re_",
    "po_",
    "tr_",
    "pm_",
    "cs_",
    "txn_",
    "acct_",
    "seti_",
    "card_",
    "ba_",
    "src_",
    "dp_",
    "fee_",
    "link_",
    "plink_",
    "promo_",
    "qt_",
    "tax_",
    "txi_",
    "txr_",
    "we_",
    "pk_live_",
    "pk_test_",
    "usr_",
    "user_",
    "org_",
    "team_",
    "proj_",
    "sess_",
    "vs_",
    "step_",
    "wf_",
    "srvtoolu_",
];

/// What the public keys of SSH begin with in base64: the length and the name of the algorithm.
const SSH_KEYS: &[&str] =
    &["AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLXNz", "AAAAInNrLWVj"];

/// What files of common formats begin with in base64.
const FILES: &[&str] = &[
    "iVBORw0KGgo",
    "/9j/",
    "9j/4",
    "R0lGOD",
    "UklGR",
    "JVBERi0",
    "UEsDB",
    "H4sIA",
    "d09GM",
    "d09GR",
    "PHN2Zy",
    "PD94bW",
    "PCFET0",
    "T2dnUw",
    "SUQz",
    "AAAAIGZ0eX",
    "AAAAHGZ0eX",
    "AAAAGGZ0eX",
    "AAABAA",
    "0M8R4KGx",
    "Qk0",
    "GkXfo",
    "AGFzbQ",
];

/// How addresses in bech32 begin, of wallets and of public keys.
const BECH32: &[&str] = &[
    "bc1", "tb1", "ltc1", "addr1", "stake1", "cosmos1", "osmo1", "age1", "npub1", "note1", "lnbc",
    "erd1", "inj1", "terra1", "bnb1",
];

/// What names of files end with, after the last dot.
const FILE_TYPES: &[&str] = &[
    "js", "mjs", "cjs", "ts", "css", "map", "json", "html", "png", "jpg", "jpeg", "gif", "svg",
    "webp", "ico", "avif", "woff", "woff2", "ttf", "pdf", "zip", "gz", "xz", "zst", "mp4", "webm",
    "mp3", "wasm", "txt", "log", "csv", "xml", "so", "rlib", "rmeta", "parquet", "whl", "tgz",
    "deb", "rpm", "tmp", "lock", "md",
];

/// Whether a word that looks random is known for something else. `follows` is the byte after it.
pub(super) fn is_public(word: &str, follows: Option<u8>, after_that: Option<u8>) -> bool {
    let begins_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| word.starts_with(prefix));
    begins_with(ID_PREFIXES) && !word.contains("_secret_")
        || begins_with(SSH_KEYS)
        || is_file(word)
        || is_wallet_address(word)
        || is_sha256_in_base64(word, follows, after_that)
        || word.rsplit_once('.').is_some_and(|(_, end)| FILE_TYPES.contains(&end))
        || is_path(word)
        // The sender's part of a mail address or of a message's id.
        || follows == Some(b'@') && after_that.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// Whether a word in base64 begins like a file of a common format.
pub(super) fn is_file(word: &str) -> bool {
    word.len() >= 20 && FILES.iter().any(|magic| word.starts_with(magic))
}

fn is_wallet_address(word: &str) -> bool {
    let bytes = word.as_bytes();
    let is_base58 = || {
        bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() && !matches!(byte, b'0' | b'O' | b'I' | b'l'))
    };
    // Bitcoin, Litecoin, Dogecoin, Tron and XRP write a version and a checksum in base58.
    let is_checked = matches!(bytes.len(), 33 | 34)
        && matches!(bytes[0], b'1' | b'3' | b'T' | b'r')
        && is_base58();
    let is_bech32 = || {
        let has_digit = bytes.iter().any(u8::is_ascii_digit);
        let is_in_alphabet = |byte: &u8| {
            byte.is_ascii_digit()
                || byte.is_ascii_lowercase() && !matches!(byte, b'b' | b'i' | b'o')
        };
        BECH32.iter().any(|prefix| {
            word.strip_prefix(prefix).is_some_and(|rest| {
                rest.len() >= 20 && rest.bytes().all(|byte| is_in_alphabet(&byte))
            })
        }) && has_digit
    };
    is_checked || is_bech32()
}

/// The 32 bytes of a digest in base64 are 43 characters and one `=`. A key of as many bytes looks the same, and has a
/// label.
fn is_sha256_in_base64(word: &str, follows: Option<u8>, after_that: Option<u8>) -> bool {
    word.len() == 43
        && follows == Some(b'=')
        && !after_that.is_some_and(|byte| byte == b'=' || byte.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Whether a word is a path: at least two of its parts are ordinary words.
fn is_path(word: &str) -> bool {
    let is_word =
        |part: &&str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    word.len() <= *LENGTHS.end() && word.split('/').filter(is_word).count() >= 2
}
