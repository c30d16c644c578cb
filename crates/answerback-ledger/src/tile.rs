//! Tiles of the tree, each with 256 hashes of one level, and their paths in C2SP tlog-tiles.

use std::fmt;
use std::str::FromStr;

use crate::Hash;
use crate::hash::hashes_of;

/// The number of hashes in a full tile.
pub const WIDTH: u64 = 256;

/// The number of tree levels that one tile spans.
pub const HEIGHT: u32 = 8;

/// A full tile: 256 hashes of one tile level.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tile {
    level: u8,
    index: u64,
    hashes: Vec<Hash>,
}

impl Tile {
    /// Creates a tile, or returns `None` if there are not exactly 256 hashes.
    pub fn new(level: u8, index: u64, hashes: Vec<Hash>) -> Option<Self> {
        (hashes.len() as u64 == WIDTH).then_some(Self { level, index, hashes })
    }

    /// Parses the content of a tile, or returns `None` if it does not have the length of a full
    /// tile.
    pub fn from_bytes(level: u8, index: u64, bytes: &[u8]) -> Option<Self> {
        Self::new(level, index, hashes_of(bytes)?)
    }

    /// Returns the tile level. Level 0 contains the hashes of leaves; each higher level contains
    /// the roots of the tiles below.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Returns the index of the tile within its level, from the left.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Returns the hashes, from the left.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Returns the tile's content: its hashes in order, concatenated.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
    }

    /// Returns the root of the tile, which is one hash in a tile of the next level.
    pub fn root(&self) -> Hash {
        subtree_root(&self.hashes)
    }
}

/// Computes the root over hashes whose number is a power of two.
pub(crate) fn subtree_root(hashes: &[Hash]) -> Hash {
    match hashes {
        [] => Hash::of_nothing(),
        [hash] => *hash,
        _ => {
            let (left, right) = hashes.split_at(hashes.len() / 2);
            Hash::of_node(&subtree_root(left), &subtree_root(right))
        }
    }
}

/// The path of a tile or of an entry bundle in a C2SP tlog-tiles directory.
///
/// ```
/// use answerback_ledger::tile::TilePath;
///
/// let path = TilePath::hashes(1, 1_234_067, 112);
/// assert_eq!(path.to_string(), "tile/1/x001/x234/067.p/112");
/// assert_eq!("tile/entries/000".parse(), Ok(TilePath::entries(0, 256)));
/// ```
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct TilePath {
    level: Option<u8>,
    index: u64,
    width: u16,
}

impl TilePath {
    /// Returns the path of a tile with this many hashes (1 to 256).
    pub const fn hashes(level: u8, index: u64, width: u16) -> Self {
        Self { level: Some(level), index, width }
    }

    /// Returns the path of a bundle of this many entries (1 to 256).
    pub const fn entries(index: u64, width: u16) -> Self {
        Self { level: None, index, width }
    }

    /// Returns the tile level, or `None` for an entry bundle.
    pub const fn level(&self) -> Option<u8> {
        self.level
    }

    /// Returns the index of the tile within its level, from the left.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// Returns the number of hashes or entries in the tile.
    pub const fn width(&self) -> u16 {
        self.width
    }
}

impl fmt::Display for TilePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(formatter, "tile/{level}/")?,
            None => formatter.write_str("tile/entries/")?,
        }
        let mut groups = vec![format!("{:03}", self.index % 1000)];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(format!("x{:03}", rest % 1000));
            rest /= 1000;
        }
        groups.reverse();
        formatter.write_str(&groups.join("/"))?;
        if u64::from(self.width) < WIDTH { write!(formatter, ".p/{}", self.width) } else { Ok(()) }
    }
}

impl FromStr for TilePath {
    type Err = TilePathError;

    fn from_str(text: &str) -> Result<Self, TilePathError> {
        let read = || {
            let (level, place) = text.strip_prefix("tile/")?.split_once('/')?;
            let level = if level == "entries" { None } else { Some(level.parse().ok()?) };
            let (place, width) = match place.split_once(".p/") {
                Some((place, width)) => (place, width.parse().ok()?),
                None => (place, 256),
            };
            let mut index = 0_u64;
            for group in place.split('/') {
                let number: u64 = group.strip_prefix('x').unwrap_or(group).parse().ok()?;
                index = index.checked_mul(1000)?.checked_add(number)?;
            }
            Some(Self { level, index, width })
        };
        // Each path has one spelling. Reject any text that `Display` would not produce.
        read()
            .filter(|path| path.width >= 1 && path.to_string() == text)
            .ok_or_else(|| TilePathError(text.chars().take(128).collect()))
    }
}

/// The error for a text that is not the path of a tile.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("not the path of a tile such as tile/0/x001/234: {0:?}")]
pub struct TilePathError(String);

/// Writes an entry bundle in the format of tlog-tiles: each leaf follows its length in two bytes.
///
/// # Errors
///
/// Returns an error if a leaf is longer than 65,535 bytes, the maximum for two bytes.
pub fn bundle<'a>(leaves: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, BundleError> {
    let mut bytes = Vec::new();
    for leaf in leaves {
        let length = u16::try_from(leaf.len()).map_err(|_| BundleError(leaf.len()))?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(leaf);
    }
    Ok(bytes)
}

/// The error for a leaf that is too long for a bundle.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a bundle holds leaves of at most 65535 bytes, not {0}")]
pub struct BundleError(usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_there_and_back() {
        let table = [
            (TilePath::hashes(0, 0, 256), "tile/0/000"),
            (TilePath::hashes(0, 999, 256), "tile/0/999"),
            (TilePath::hashes(0, 1000, 1), "tile/0/x001/000.p/1"),
            (TilePath::hashes(2, 1_000_000, 256), "tile/2/x001/x000/000"),
            (TilePath::entries(273, 17), "tile/entries/273.p/17"),
        ];
        for (path, text) in table {
            assert_eq!(path.to_string(), text);
            assert_eq!(text.parse(), Ok(path));
        }
        for text in [
            "",
            "tile/0/0",
            "tile/0/x000/000",
            "tile/00/000",
            "tile/0/000.p/256",
            "tile/0/000.p/0",
            "tile/0/+01",
        ] {
            assert!(text.parse::<TilePath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_bundle_prefixes_lengths() {
        assert_eq!(bundle([b"ab".as_slice(), b""]).unwrap(), [0, 2, b'a', b'b', 0, 0]);
        assert!(bundle([vec![0; 65_536].as_slice()]).is_err());
    }
}
