//! What people write, and programs for them, is not taken for a secret: our own documents, schemas and files, and the names
//! of the crates that we use.

use std::fs;
use std::path::{Path, PathBuf};

use answerback::finding::secrets::{SecretKind, SecretSpan, find};

/// The files below a folder, but for what is built or fetched.
fn below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let is_own =
                !name.starts_with('.') && !["target", "node_modules", "dist"].contains(&&*name);
            if is_own {
                below(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}

#[test]
fn no_word_of_our_own_documents_and_names_is_taken_for_a_token() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    below(&root, &mut files);
    let mut lines: Vec<String> = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let is_document =
            file.extension().is_some_and(|end| end == "md") || name.starts_with("schemas/");
        if is_document {
            lines.extend(fs::read_to_string(file).unwrap().lines().map(str::to_owned));
        }
        lines.push(name);
    }
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    lines.extend(lock.lines().filter(|line| !line.starts_with("checksum")).map(str::to_owned));
    assert!(lines.len() > 10_000, "{}", lines.len());
    // What stands behind a telling name may well be none, and is hidden all the same.
    let is_random = |secret: &SecretSpan| secret.kind == SecretKind::Token;
    let taken: Vec<(&String, &str)> = lines
        .iter()
        .flat_map(|line| {
            let random = find(line).into_iter().filter(is_random);
            random.map(move |secret| (line, &line[secret.range]))
        })
        .collect();
    assert!(taken.is_empty(), "{taken:#?}");
}
