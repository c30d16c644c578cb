//! Has the program's functions linked in the order of `order.ld`, so that those which a server at rest has run lie side by side and
//! the rest of the program stays on the disk.

use std::env;

/// Words of somebody who chose a linker, of which not all read scripts.
const CHOICES: [&str; 3] = ["linker", "link-arg", "link-self-contained"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=order.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen = env::var_os("RUSTC_LINKER").is_some()
        || CHOICES.iter().any(|choice| flags.contains(choice));
    let is_ordered = is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && !is_chosen;
    // Cargo could not be told of a path that is no text.
    if let (true, Ok(folder)) = (is_ordered, env::var("CARGO_MANIFEST_DIR")) {
        println!("cargo:rustc-link-arg-bins=-T{folder}/order.ld");
    }
}
