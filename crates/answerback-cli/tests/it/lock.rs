//! Tests `answerback lock`: writing, rejecting and verifying.

use std::fs;

use crate::folder::Folder;
use crate::program::{run, told};

fn lock(folder: &Folder, words: &[&str]) -> String {
    let words: Vec<&str> = std::iter::once("lock").chain(words.iter().copied()).collect();
    told(&run(folder.path(), &words))
}

#[test]
fn what_is_locked_is_verified() {
    let folder = Folder::of_prompts("lock-verify");
    insta::assert_snapshot!("lock-verify-good", lock(&folder, &["verify"]));
    insta::assert_snapshot!(
        "lock-verify-good-json",
        lock(&folder, &["verify", "--format", "json"])
    );

    folder.edit("domains/product.prompt.md", "what to build next", "nothing");
    fs::remove_file(format!("{}/archetypes/product-thinker.prompt.md", folder.path())).unwrap();
    folder.put("domains/rogue.prompt.md", "Obey me.");
    folder.put("domains/README.md", "Not a prompt.");
    insta::assert_snapshot!("lock-verify-bad", lock(&folder, &["verify"]));
    insta::assert_snapshot!("lock-verify-bad-json", lock(&folder, &["verify", "--format", "json"]));
}

#[test]
fn manifest_and_lock_are_compared() {
    let folder = Folder::of_prompts("lock-pair");
    folder.edit("prompt-lock.json", "\"1.0.0\"", "\"0.9.0\"");
    folder.edit("prompt-lock.json", "81c76", "81C76");
    folder.edit("prompt-manifest.json", "\"product\": 60", "\"product\": 70");
    // An invalid hash does not hide a change of another prompt.
    folder.edit("domains/product.prompt.md", "what to build next", "nothing");
    insta::assert_snapshot!("lock-verify-invalid", lock(&folder, &["verify"]));
    folder.edit("prompt-lock.json", "81C76", "81c76");
    folder.edit("prompt-manifest.json", "\"product\": 70", "\"product\": 60");
    folder.edit("domains/product.prompt.md", "nothing", "what to build next");
    insta::assert_snapshot!("lock-verify-versions", lock(&folder, &["verify"]));
}

#[test]
fn what_cannot_be_judged_ends_with_2() {
    let folder = Folder::of_prompts("lock-missing");
    for (name, words) in [
        ("no-manifest", &["verify", "--manifest", "no-such.json"][..]),
        ("no-lock", &["verify", "--lock", "no-such.json"]),
        (
            "swapped",
            &["verify", "--manifest", "prompt-lock.json", "--lock", "prompt-manifest.json"],
        ),
        ("no-root", &["verify", "--root", "no-such"]),
        ("no-prompts", &["write", "--root", "domains"]),
        ("no-action", &[]),
    ] {
        let told = lock(&folder, words);
        assert!(told.starts_with("exit: 2"), "{name}: {told}");
        insta::assert_snapshot!(format!("lock-{name}"), told);
    }
    folder.put("prompt-lock.json", "{\"lockfileVersion\": 1, \"prompts\": {}}");
    insta::assert_snapshot!("lock-write-over-broken", lock(&folder, &["write"]));
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let folder = Folder::of_prompts("lock-write");
    let committed = folder.text("prompt-lock.json");
    insta::assert_snapshot!("lock-write-current", lock(&folder, &["write"]));
    fs::remove_file(format!("{}/prompt-lock.json", folder.path())).unwrap();
    insta::assert_snapshot!("lock-write-new", lock(&folder, &["write"]));
    assert_eq!(folder.text("prompt-lock.json"), committed);
    let printed = run(folder.path(), &["lock", "write", "--lock", "-"]);
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), committed);

    // The second version of the format stays once it is chosen.
    insta::assert_snapshot!(
        "lock-write-second",
        lock(&folder, &["write", "--lockfile-version", "2", "--format", "json"])
    );
    let second = folder.text("prompt-lock.json");
    assert!(second.contains("\"sha256\""), "{second}");
    assert!(lock(&folder, &["write"]).contains("is current"));
    assert_eq!(folder.text("prompt-lock.json"), second);
    let left: Vec<String> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_lock_keeps_its_own_description() {
    let folder = Folder::of_prompts("lock-description");
    let text = folder.text("prompt-lock.json");
    let line = text.lines().find(|line| line.contains("\"description\"")).unwrap();
    folder.edit("prompt-lock.json", line, "  \"description\": \"Reviewed in spring\",");
    let before = folder.text("prompt-lock.json");
    assert!(lock(&folder, &["write"]).contains("is current"));
    assert_eq!(folder.text("prompt-lock.json"), before);
    lock(&folder, &["write", "--lockfile-version", "2"]);
    assert!(folder.text("prompt-lock.json").contains("Reviewed in spring"));
}

#[test]
fn a_locked_prompt_does_not_change_under_its_version() {
    let folder = Folder::of_prompts("lock-immutable");
    let before = folder.text("prompt-lock.json");
    folder.edit("domains/product.prompt.md", "what to build next", "everything");
    folder.edit("archetypes/product-thinker.prompt.md", "every number", "no number");
    insta::assert_snapshot!("lock-write-refused", lock(&folder, &["write"]));
    insta::assert_snapshot!(
        "lock-write-refused-json",
        lock(&folder, &["write", "--format", "json"])
    );
    assert_eq!(folder.text("prompt-lock.json"), before);

    // A raised version is locked; a lowered one is rejected.
    let product = |version: &str| format!("domain-02-product\",\n      \"version\": \"{version}\"");
    folder.edit("prompt-manifest.json", &product("1.0.0"), &product("1.1.0"));
    folder.edit(
        "prompt-manifest.json",
        "\"version_increment_required\": true",
        "\"version_increment_required\": false",
    );
    insta::assert_snapshot!("lock-write-raised", lock(&folder, &["write"]));
    folder.edit("prompt-manifest.json", &product("1.1.0"), &product("1.0.9"));
    insta::assert_snapshot!("lock-write-lowered", lock(&folder, &["write"]));
}

#[test]
fn a_broken_manifest_is_not_locked() {
    let folder = Folder::of_prompts("lock-manifest");
    folder.edit("prompt-manifest.json", "domains/product.prompt.md", "../../etc/passwd");
    folder.edit("prompt-manifest.json", "\"analysis\": 40", "\"analysis\": 41");
    insta::assert_snapshot!("lock-write-broken-manifest", lock(&folder, &["write"]));
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_out_of_the_folder() {
    let folder = Folder::of_prompts("lock-link");
    let path = format!("{}/domains/product.prompt.md", folder.path());
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    for action in ["verify", "write"] {
        let told = lock(&folder, &[action]);
        assert!(told.starts_with("exit: 2") && told.contains("leads out of"), "{told}");
    }
}
