//! Recognizes words that look random but are not secrets: ids, addresses, digests, public keys, images.

use super::randomness::LENGTHS;

/// The minimum length of a random word that counts as a secret without any label, in bytes. Shorter words are far
/// more often ids, such as nanoids (21), ULIDs (26) and KSUIDs (27).
pub(super) const SHORTEST_UNLABELED: usize = 30;

/// Prefixes of ids that are not secret.
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

/// Base64 prefixes of public SSH keys: the length and the name of the algorithm.
const SSH_KEYS: &[&str] =
    &["AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNh", "AAAAGnNrLXNz", "AAAAInNrLWVj"];

/// Base64 prefixes of files in common formats.
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

/// Prefixes of bech32 addresses: wallets and public keys.
const BECH32: &[&str] = &[
    "bc1", "tb1", "ltc1", "addr1", "stake1", "cosmos1", "osmo1", "age1", "npub1", "note1", "lnbc",
    "erd1", "inj1", "terra1", "bnb1",
];

/// Extensions of file names.
const FILE_TYPES: &[&str] = &[
    "js", "mjs", "cjs", "ts", "css", "map", "json", "html", "png", "jpg", "jpeg", "gif", "svg",
    "webp", "ico", "avif", "woff", "woff2", "ttf", "pdf", "zip", "gz", "xz", "zst", "mp4", "webm",
    "mp3", "wasm", "txt", "log", "csv", "xml", "so", "rlib", "rmeta", "parquet", "whl", "tgz",
    "deb", "rpm", "tmp", "lock", "md",
];

/// True if a word that looks random is known to be something else. `follows` is the byte after the word, and
/// `after_that` the next one.
pub(super) fn is_public(word: &str, follows: Option<u8>, after_that: Option<u8>) -> bool {
    let begins_with = |prefixes: &[&str]| prefixes.iter().any(|prefix| word.starts_with(prefix));
    begins_with(ID_PREFIXES) && !word.contains("_secret_")
        || begins_with(SSH_KEYS)
        || is_file(word)
        || is_wallet_address(word)
        || is_sha256_in_base64(word, follows, after_that)
        || word.rsplit_once('.').is_some_and(|(_, end)| FILE_TYPES.contains(&end))
        || is_path(word)
        // The word is the local part of an email address or of a message id.
        || follows == Some(b'@') && after_that.is_some_and(|byte| byte.is_ascii_alphanumeric())
}

/// True if a word in base64 begins like a file of a common format.
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
    // Addresses of Bitcoin, Litecoin, Dogecoin, Tron and XRP are a version, a hash and a checksum in base58.
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

/// True for a digest of 32 bytes in base64: 43 characters and one `=`. A key of 32 bytes looks the same, but usually
/// has a label.
fn is_sha256_in_base64(word: &str, follows: Option<u8>, after_that: Option<u8>) -> bool {
    word.len() == 43
        && follows == Some(b'=')
        && !after_that.is_some_and(|byte| byte == b'=' || byte.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// True if a word is a path: at least two of its parts are ordinary words.
fn is_path(word: &str) -> bool {
    let is_word =
        |part: &&str| part.len() >= 3 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    word.len() <= *LENGTHS.end() && word.split('/').filter(is_word).count() >= 2
}
