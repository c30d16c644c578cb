//! Has the program's functions linked in the order of `order.ld`, so that those which a server at rest has run lie side by side and
//! the rest of the program stays on the disk.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Words of somebody who chose a linker, of which not all read scripts.
const CHOICES: [&str; 3] = ["linker", "link-arg", "link-self-contained"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=order.ld");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|it| it == value);
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen = env::var_os("RUSTC_LINKER").is_some()
        || CHOICES.iter().any(|choice| flags.contains(choice));
    if is("PROFILE", "release") && is("CARGO_CFG_TARGET_OS", "linux") && !is_chosen {
        let folder = env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
        let mut argument = OsString::from("-T");
        argument.push(folder.join("order.ld"));
        println!("cargo:rustc-link-arg-bins={}", argument.display());
    }
}
