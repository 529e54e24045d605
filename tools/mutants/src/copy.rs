//! The copy of the workspace that is broken. The product itself is never written to.

use crate::sources::{SCOPE, read};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files that the build needs beside `crates`.
const ROOT_FILES: &[&str] = &["Cargo.toml", "Cargo.lock", "clippy.toml", "README.md"];
const FOLDERS: &[&str] = &["crates", "docs", "experiments"];

/// Brings the copy up to date, with `broken` files in place of the product's own.
/// Files that stay the same are not touched, so that nothing is built in vain.
pub fn refresh(root: &Path, copy: &Path, broken: &BTreeMap<String, String>) {
    let mut kept = BTreeSet::new();
    let mut paths: Vec<PathBuf> = ROOT_FILES.iter().map(|name| root.join(name)).collect();
    FOLDERS.iter().for_each(|name| walk(&root.join(name), &mut paths));
    for path in paths {
        let name = path.strip_prefix(root).expect("below the root").display().to_string();
        let bytes = match broken.get(&name) {
            Some(text) => text.clone().into_bytes(),
            None => with_switch(&name, fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))),
        };
        put(&copy.join(&name), &bytes, name == "Cargo.lock");
        kept.insert(copy.join(name));
    }
    for (name, text) in [("Cargo.toml", MANIFEST), ("src/lib.rs", include_str!("switch.rs"))] {
        let path = copy.join("crates/mutant").join(name);
        put(&path, text.as_bytes(), false);
        kept.insert(path);
    }
    let mut there = Vec::new();
    FOLDERS.iter().for_each(|name| walk(&copy.join(name), &mut there));
    for path in there.iter().filter(|path| !kept.contains(*path)) {
        fs::remove_file(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

const MANIFEST: &str = "[package]\nname = \"flashkeep-mutant\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

/// Crates in scope may ask the switch.
fn with_switch(name: &str, bytes: Vec<u8>) -> Vec<u8> {
    if !SCOPE.iter().any(|(krate, _)| name == format!("crates/{krate}/Cargo.toml")) {
        return bytes;
    }
    let text = String::from_utf8(bytes).expect("a manifest is text");
    text.replacen("[dependencies]\n", "[dependencies]\nflashkeep-mutant = { path = \"../mutant\" }\n", 1).into_bytes()
}

/// Writes a file that differs; one that cargo keeps for itself only if it is missing.
fn put(path: &Path, bytes: &[u8], if_missing: bool) {
    if fs::read(path).is_ok_and(|old| if_missing || old == bytes) {
        return;
    }
    fs::create_dir_all(path.parent().expect("files lie in folders")).expect("a folder of the copy");
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

/// The text of a file of the copy's reports, empty if it is not there.
pub fn text_if_there(path: &Path) -> String {
    if path.exists() { read(path) } else { String::new() }
}
