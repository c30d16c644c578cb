//! Email addresses, hosts, IP addresses and URIs as common parsers accept them.

use std::net::Ipv6Addr;

/// The schemes whose URLs contain a host.
const WEB: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];

/// True for an email address that Python's `email.utils` or a mail library accepts, with or without a display name,
/// in any script.
pub(super) fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((_, address)) => address,
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_plain = |character: char| {
        !character.is_whitespace()
            && !character.is_control()
            && !"()<>[]:;@\\,\"".contains(character)
    };
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let has_local = is_quoted || !local.is_empty() && local.chars().all(is_plain);
    let literal = domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']'));
    has_local && literal.map_or_else(|| is_host(domain), |address| !address.is_empty())
}

/// True for a host that `URL` accepts: any text without characters that end a host or are forbidden in it.
pub(super) fn is_host(text: &str) -> bool {
    let is_forbidden = |character: char| {
        character.is_control() || character.is_whitespace() || "#/:<>?@[\\]^|%".contains(character)
    };
    if text.is_empty() || text.contains(is_forbidden) {
        return false;
    }
    let labels = text.strip_suffix('.').unwrap_or(text);
    let last = labels.rsplit('.').next().unwrap_or_default();
    // A host whose last label is a number must be an IPv4 address.
    let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    !is_number || is_ipv4(labels)
}

/// True for an IPv4 address that `inet_aton` and `URL` accept: one to four numbers, including octal and hexadecimal.
pub(super) fn is_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.splitn(5, '.').collect();
    let number = |part: &&str| {
        let hexadecimal = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
        match (hexadecimal, part.strip_prefix('0')) {
            (Some(digits), _) => u32::from_str_radix(digits, 16).ok(),
            (None, Some(digits)) if !digits.is_empty() => {
                // Some parsers read 010 as 8, others as 10. A number such as 08 is not octal, so it is read as
                // decimal.
                u32::from_str_radix(digits, 8).or_else(|_| digits.parse()).ok()
            }
            _ => part.parse().ok().filter(|_| !part.starts_with('+')),
        }
    };
    let numbers: Option<Vec<u32>> = parts.iter().map(number).collect();
    let Some([leading @ .., last]) = numbers.as_deref() else { return false };
    let most_of_last = u32::MAX.checked_shr(u32::try_from(8 * leading.len()).unwrap_or(u32::MAX));
    leading.iter().all(|number| *number < 256) && most_of_last.is_some_and(|most| *last <= most)
}

/// True for an IPv6 address, also in brackets or with the name of an interface.
pub(super) fn is_ipv6(text: &str) -> bool {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = match bare.split_once('%') {
        Some((address, zone)) if !zone.is_empty() => address,
        _ => bare,
    };
    address.parse::<Ipv6Addr>().is_ok()
}

/// True for a URL that `URL` accepts without a base.
pub(super) fn is_uri(text: &str) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = scheme(text) else { return false };
    let scheme = scheme.to_ascii_lowercase();
    if WEB.contains(&scheme.as_str()) {
        let rest = rest.trim_start_matches(['/', '\\']);
        return is_authority(rest, &['/', '\\', '?', '#'], scheme == "file");
    }
    match rest.strip_prefix("//") {
        Some(rest) => is_authority(rest, &['/', '?', '#'], true),
        None => true,
    }
}

/// True for a URL that `URL` accepts with a base: every text without an invalid host or port.
pub(super) fn is_uri_reference(text: &str) -> bool {
    let text = text.trim();
    match (scheme(text), text.strip_prefix("//")) {
        (Some(_), _) => is_uri(text),
        (None, Some(rest)) => is_authority(rest, &['/', '\\', '?', '#'], false),
        (None, None) => true,
    }
}

/// Describes why a text is not a valid URI: a missing scheme, or the first character that must be percent-encoded.
pub(super) fn difference(format: &str, text: &str) -> Option<String> {
    let is_international = format.starts_with("iri");
    if !format.ends_with("reference") && scheme(text).is_none() {
        return Some("it has no scheme such as https:".to_owned());
    }
    let mut characters = text.char_indices();
    let (at, character) = characters.find(|(at, character)| match *character {
        '%' => {
            let digits = text.as_bytes().get(at + 1..at + 3);
            !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        }
        character if character.is_ascii() => {
            character.is_ascii_control() || " \"<>\\^`{|}".contains(character)
        }
        _ => !is_international,
    })?;
    let authority = text.find("//").map_or(0..0, |start| {
        let end = text[start + 2..].find(['/', '?', '#']);
        start..end.map_or(text.len(), |end| start + 2 + end)
    });
    if authority.contains(&at) {
        return None;
    }
    let escape: String =
        character.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}")).collect();
    let shown = match character {
        ' ' => "a space".to_owned(),
        character if character.is_control() => "a control character".to_owned(),
        character => format!("'{character}'"),
    };
    Some(format!("{shown} has to be percent-encoded as {escape}"))
}

/// Splits a text into its scheme and the rest after the colon.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_part = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
    let starts = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    (starts && scheme.chars().all(is_part)).then_some((scheme, rest))
}

/// True if a text starts with a valid host and port.
fn is_authority(text: &str, ends: &[char], may_be_empty: bool) -> bool {
    let authority = text.split(ends).next().unwrap_or_default();
    let address = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let (host, port) = match address.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((literal, rest)) if is_ipv6(literal) => {
            return rest.strip_prefix(':').map_or(rest.is_empty(), is_port);
        }
        Some(_) => return false,
        None => address.rsplit_once(':').map_or((address, None), |(host, port)| (host, Some(port))),
    };
    let has_host = if host.is_empty() { may_be_empty && port.is_none() } else { is_url_host(host) };
    has_host && port.is_none_or(is_port)
}

/// True for a host in a URL, where characters may be percent-encoded.
fn is_url_host(host: &str) -> bool {
    if !host.contains('%') {
        return is_host(host);
    }
    host.chars().all(|character| !character.is_whitespace() && !"#/:<>?@[\\]^|".contains(character))
}

fn is_port(port: &str) -> bool {
    port.is_empty() || port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok()
}
