//! Checks a C2SP tlog-tiles directory with Cloudflare's `tlog_tiles` and `signed_note`: ports of what Go's checksum
//! database and Sunlight use, with none of our code. Usage: fsck-tiles DIRECTORY [VKEY]
//!
//! The checkpoint must be signed, every hash tile must belong to the tree, every stored entry must match its leaf in the
//! tree, and every older checkpoint must be consistent with the tree.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use signed_note::{Note, StandardVerifier, VerifierList};
use tlog_tiles::{
    Checkpoint, HashReader, Tile, TileHashReader, TileReader, check_tree, prove_tree, record_hash,
    stored_hash_index,
};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The height of C2SP's tiles: 256 hashes wide.
const HEIGHT: u8 = 8;

struct Directory(PathBuf);

impl Directory {
    fn file(&self, name: &str) -> Outcome<Vec<u8>> {
        fs::read(self.0.join(name)).map_err(|error| format!("{name}: {error}").into())
    }
}

/// Returns the path of a tile in C2SP. The crate's own path contains the height as well.
fn path(tile: &Tile) -> String {
    tile.path().replacen("tile/8/", "tile/", 1).replacen("tile/data/", "tile/entries/", 1)
}

impl TileReader for Directory {
    fn height(&self) -> u8 {
        HEIGHT
    }

    fn read_tiles(&self, tiles: &[Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        let read = |tile| {
            self.file(&path(tile))
                .map_err(|error| tlog_tiles::Error::InvalidInput(error.to_string()))
        };
        tiles.iter().map(read).collect()
    }

    fn save_tiles(&self, _: &[Tile], _: &[Vec<u8>]) {}
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = Directory(arguments.next().ok_or("usage: fsck-tiles DIRECTORY [VKEY]")?.into());
    let vkey = match arguments.next() {
        Some(vkey) => vkey,
        None => String::from_utf8(directory.file("vkey")?)?.trim().to_owned(),
    };
    let verifier = StandardVerifier::new(&vkey).map_err(|error| format!("vkey: {error:?}"))?;
    let verifiers = VerifierList::new(vec![Box::new(verifier)]);
    let read = |bytes: &[u8]| -> Outcome<Checkpoint> {
        let note = Note::from_bytes(bytes).map_err(|error| format!("not a note: {error:?}"))?;
        let (signed, _) =
            note.verify(&verifiers).map_err(|error| format!("unsigned: {error:?}"))?;
        if signed.is_empty() {
            return Err("a checkpoint is not signed by the key".into());
        }
        Ok(Checkpoint::from_bytes(note.text()).map_err(|error| error.to_string())?)
    };
    let newest = read(&directory.file("checkpoint")?)?;
    let (size, root) = (newest.size(), *newest.hash());
    let tree = TileHashReader::new(size, root, &directory);
    let tiles = Tile::new_tiles(HEIGHT, 0, size);
    for tile in &tiles {
        // Reading through the tree verifies the data against the root. A full tile must also match the hash above it.
        let data = directory.file(&path(tile))?;
        let mut is_good = tile.read_data(&tree)? == data;
        if tile.width() == 1 << HEIGHT {
            let above = stored_hash_index(HEIGHT * (tile.level() + 1), tile.level_index());
            is_good &= tree.read_hashes(&[above])? == [Tile::subtree_hash(&data)];
        }
        if !is_good {
            return Err(format!("{} is not the tree's", path(tile)).into());
        }
    }
    let (mut entries, mut absent) = (0, 0);
    for mut tile in tiles.into_iter().filter(|tile| tile.level() == 0) {
        tile.set_is_data();
        let Ok(bundle) = directory.file(&path(&tile)) else {
            absent += 1;
            continue;
        };
        let first = tile.level_index() << HEIGHT;
        let indexes: Vec<u64> =
            (first..first + u64::from(tile.width())).map(|n| stored_hash_index(0, n)).collect();
        let mut rest = bundle.as_slice();
        for (place, hash) in (first..).zip(tree.read_hashes(&indexes)?) {
            let (length, after) = rest.split_first_chunk::<2>().ok_or("a bundle is too short")?;
            let length = usize::from(u16::from_be_bytes(*length));
            let (leaf, after) = after.split_at_checked(length).ok_or("a bundle is too short")?;
            if record_hash(leaf) != hash {
                return Err(format!("entry {place} is not the tree's").into());
            }
            (rest, entries) = (after, entries + 1);
        }
        if !rest.is_empty() {
            return Err(format!("{} is too long", path(&tile)).into());
        }
    }
    let mut older = 0;
    for line in String::from_utf8(directory.file("checkpoints.jsonl")?)?.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let note = line["checkpoint"].as_str().ok_or("a line without a checkpoint")?;
        let old = read(note.as_bytes())?;
        if old.size() < size {
            let proof = prove_tree(size, old.size(), &tree)?;
            check_tree(&proof, size, root, old.size(), *old.hash())?;
            older += 1;
        }
    }
    println!(
        "{}: {size} entries hold, {entries} of them read and {absent} bundles absent; it goes on from {older} older \
         checkpoints",
        newest.origin()
    );
    Ok(())
}
