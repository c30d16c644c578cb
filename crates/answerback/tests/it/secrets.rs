//! Secrets of every kind that we know, at random, and what must never be said of them.

use memchr::memmem;

use crate::dice::Dice;

const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORDS: [&str; 16] = [
    "cobalt", "horse", "battery", "staple", "velvet", "harbour", "lantern", "thimble", "orchard",
    "granite", "walnut", "meadow", "copper", "saffron", "pebble", "cinder",
];

/// Names that say that what stands below them is secret.
pub(crate) const TELLING_NAMES: [&str; 12] = [
    "password",
    "userPassword",
    "db_password",
    "passphrase",
    "api_key",
    "apiKey",
    "X-Api-Key",
    "client_secret",
    "accessToken",
    "private_key",
    "credentials",
    "Authorization",
];

/// By what a secret can be told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Told {
    /// By its shape, wherever it stands.
    ByShape,
    /// By the name it stands below, or by what the schema says of its place: it is made of words.
    ByPlace,
}

/// A secret to plant.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    /// What is written into the call.
    pub(crate) text: String,
    /// The part of it that nobody may see.
    pub(crate) secret: String,
    pub(crate) told: Told,
}

impl Planted {
    /// A secret that its shape gives away.
    pub(crate) fn by_shape(dice: &mut Dice) -> Self {
        let whole = |text: String| Self { secret: text.clone(), text, told: Told::ByShape };
        match dice.below(9) {
            0 => {
                let parts = [dice.text(BASE62, 30), dice.text(BASE62, 60), dice.text(BASE62, 43)];
                whole(format!("eyJ{}.eyJ{}.{}", parts[0], parts[1], parts[2]))
            }
            1 => {
                let make = *dice.one_of(&["sk-", "sk-proj-", "sk-ant-api03-", "sk_live_"]);
                let length = 24 + dice.below(25);
                whole(format!("{make}{}", dice.text(BASE62, length)))
            }
            2 => whole(format!("{}{}", dice.one_of(&["AKIA", "ASIA"]), dice.text(BASE32, 16))),
            3 => {
                let lines: Vec<String> =
                    (0..1 + dice.below(4)).map(|_| dice.text(BASE64, 64)).collect();
                let kind = *dice.one_of(&["", "RSA ", "EC ", "OPENSSH "]);
                let secret = lines.join("\n");
                let text = format!(
                    "-----BEGIN {kind}PRIVATE KEY-----\n{secret}\n-----END {kind}PRIVATE KEY-----"
                );
                Self { text, secret, told: Told::ByShape }
            }
            4 => {
                let scheme = *dice.one_of(&["postgres", "mysql", "redis", "amqp", "mongodb+srv"]);
                let secret = Self::words(dice).replace(' ', "-");
                let text = format!("{scheme}://app:{secret}@db.example.com:5432/orders");
                Self { text, secret, told: Told::ByShape }
            }
            5 => {
                let secret = format!("{}!{}", Self::words(dice).replace(' ', ""), dice.below(100));
                let text = format!("Server=db;User Id=sa;Password={secret};Encrypt=true");
                Self { text, secret, told: Told::ByShape }
            }
            6 => {
                let make = *dice.one_of(&["ghp_", "gho_", "glpat-", "xoxb-1234567890-", "npm_"]);
                whole(format!("{make}{}", dice.text(BASE62, 36)))
            }
            7 => {
                let length = 32 + dice.below(33);
                whole(dice.text(BASE62, length))
            }
            _ => {
                let secret = dice.text(BASE62, 40);
                Self { text: format!("Bearer {secret}"), secret, told: Told::ByShape }
            }
        }
    }

    /// A secret that only its place gives away.
    pub(crate) fn by_place(dice: &mut Dice) -> Self {
        let text = Self::words(dice);
        Self { secret: text.clone(), text, told: Told::ByPlace }
    }

    fn words(dice: &mut Dice) -> String {
        let words: Vec<&str> = (0..4).map(|_| *dice.one_of(&WORDS)).collect();
        words.join(" ")
    }

    /// The first piece of twelve characters of the secret that stands in a text.
    pub(crate) fn piece_in<'s>(&'s self, text: &str) -> Option<&'s str> {
        const PIECE: usize = 12;
        // Whatever holds twelve characters in a row holds one of the sixes that the secret is cut into.
        const BLOCK: usize = 6;
        self.secret.lines().find_map(|line| {
            let blocks = line.as_bytes().chunks_exact(BLOCK);
            if !blocks.into_iter().any(|block| memmem::find(text.as_bytes(), block).is_some()) {
                return None;
            }
            let starts = 0..=line.len().checked_sub(PIECE)?;
            starts.map(|start| &line[start..start + PIECE]).find(|piece| text.contains(piece))
        })
    }
}

#[test]
fn a_piece_is_found_wherever_it_stands() {
    let mut dice = Dice::new(7);
    for _ in 0..200 {
        let planted = Planted::by_shape(&mut dice);
        let line = planted.secret.lines().next().unwrap();
        let start = dice.below(line.len() - 11);
        let piece = &line[start..start + 12];
        assert!(planted.piece_in(&format!("before {piece} after")).is_some(), "{piece}");
        assert!(planted.piece_in(&format!("before {} after", &piece[..11])).is_none(), "{piece}");
    }
}
