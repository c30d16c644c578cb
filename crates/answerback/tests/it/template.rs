//! Texts with random parts, written as templates.

use crate::dice::Dice;

/// A text with random parts: `«b62*24»` is one that is secret, `‹hex*32›` one that is not. The class of characters comes
/// first, then how many there are.
#[derive(Clone, Copy)]
pub(crate) struct Template<'t>(pub(crate) &'t str);

/// A template whose random parts are filled in.
pub(crate) struct Sample {
    pub(crate) text: String,
    /// The parts that nobody may see.
    pub(crate) secrets: Vec<String>,
}

impl Template<'_> {
    pub(crate) fn fill(self, dice: &mut Dice) -> Sample {
        let (mut text, mut secrets) = (String::new(), Vec::new());
        let mut rest = self.0;
        while let Some(open) = rest.find(['«', '‹']) {
            let is_secret = rest[open..].starts_with('«');
            let (open_length, close) = if is_secret { (2, '»') } else { (3, '›') };
            let end = rest[open..].find(close).unwrap() + open;
            let (class, count) = rest[open + open_length..end].split_once('*').unwrap();
            let part = random(class, count.parse().unwrap(), dice);
            text.push_str(&rest[..open]);
            text.push_str(&part);
            if is_secret {
                secrets.push(part);
            }
            rest = &rest[end + close.len_utf8()..];
        }
        text.push_str(rest);
        Sample { text, secrets }
    }
}

impl Sample {
    /// Whether a text has eight characters of a secret in a row, or all of a shorter one.
    pub(crate) fn is_seen_in(&self, text: &str) -> bool {
        const PIECE: usize = 8;
        self.secrets.iter().any(|secret| {
            let piece = secret.len().min(PIECE);
            (0..=secret.len() - piece).any(|at| text.contains(&secret[at..at + piece]))
        })
    }
}

/// Random characters of a class.
fn random(class: &str, count: usize, dice: &mut Dice) -> String {
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
    const DIGITS: &str = "0123456789";
    let alphabet = match class {
        "b62" => format!("{UPPER}{LOWER}{DIGITS}"),
        "b64" => format!("{UPPER}{LOWER}{DIGITS}+/"),
        "b64u" => format!("{UPPER}{LOWER}{DIGITS}-_"),
        "b58" => "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".to_owned(),
        "b32" => format!("{UPPER}234567"),
        "crockford" => "0123456789ABCDEFGHJKMNPQRSTVWXYZ".to_owned(),
        "bech32" => "023456789acdefghjklmnpqrstuvwxyz".to_owned(),
        "hex" => "0123456789abcdef".to_owned(),
        "HEX" => "0123456789ABCDEF".to_owned(),
        "up" => format!("{UPPER}{DIGITS}"),
        "lo" => format!("{LOWER}{DIGITS}"),
        "az" => LOWER.to_owned(),
        "dig" => DIGITS.to_owned(),
        "pw" => return password("!#%*+-_.", count, dice),
        // A password for a URL.
        "pwu" => return password("-_.", count, dice),
        "word" => {
            let words: Vec<&str> = (0..count).map(|_| dice.one_of(WORDS)).collect();
            return words.join("-");
        }
        "words" => {
            let words: Vec<&str> = (0..count).map(|_| dice.one_of(WORDS)).collect();
            return words.join(" ");
        }
        other => panic!("no class of characters is called {other}"),
    };
    dice.text(&alphabet, count)
}

/// A password as people and managers of passwords make them: letters, at least one digit and one sign.
fn password(signs: &str, count: usize, dice: &mut Dice) -> String {
    let letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut password = dice.text(letters, count - 3);
    password.push_str(&dice.text(signs, 1));
    password.push_str(&dice.text("23456789", 2));
    password
}

const WORDS: &[&str] = &[
    "order", "invoice", "customer", "report", "summary", "garden", "window", "market", "river",
    "update", "release", "server", "gateway", "payment", "profile", "monitor", "archive",
    "meeting", "project", "weather", "station", "library", "picture", "message", "account",
    "schedule", "network", "storage", "feature", "service",
];
