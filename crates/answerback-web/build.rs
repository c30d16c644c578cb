//! Puts the built web application into the program. It never builds it: whoever builds the program needs no Node.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=dist");
    let mut table = String::from("pub(super) static ASSETS: &[(&str, &[u8])] = &[\n");
    if env::var_os("CARGO_FEATURE_WEB").is_some() {
        let folder =
            PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("dist");
        if !folder.join("index.html").is_file() {
            // An empty folder would make a program whose pages are blank.
            return Err(io::Error::other(
                "crates/answerback-web/dist has no index.html; run scripts/web, or build without the feature web",
            ));
        }
        let mut files = Vec::new();
        walk(&folder, &mut files)?;
        files.sort();
        for file in files {
            let name = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy();
            let name = format!("/{}", name.replace('\\', "/"));
            // Not the path itself: two checkouts that share a target directory share what is written here.
            let path = format!("/dist{name}");
            let place = format!("concat!(env!(\"CARGO_MANIFEST_DIR\"), {path:?})");
            let _ = writeln!(table, "    ({name:?}, include_bytes!({place})),");
        }
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("assets.rs"), table)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')) {
            files.push(path);
        }
    }
    Ok(())
}
