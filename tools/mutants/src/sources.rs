//! Which files are judged: modules of the product, not of its tests, as the `mod` lines of each crate say.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Item};

/// Crates whose mutants are drawn, and below which parts of their `src`. Nothing named: all of it.
pub const SCOPE: &[(&str, &[&str])] =
    &[("coding", &[]), ("protect", &[]), ("ftl", &[]), ("ssd", &["write", "read", "care", "power"])];

/// A file of the product.
pub struct Source {
    /// From the root of the workspace.
    pub path: String,
    pub krate: &'static str,
    pub text: String,
}

/// All files in scope, in order of path.
pub fn all(root: &Path) -> Vec<Source> {
    let mut sources = Vec::new();
    for (krate, parts) in SCOPE {
        let src = root.join("crates").join(krate).join("src");
        let mut files = BTreeSet::new();
        follow(&src.join("lib.rs"), &src, &mut files);
        for file in files {
            let inside = file.strip_prefix(&src).expect("below src");
            if parts.is_empty() || parts.iter().any(|part| inside.starts_with(part)) {
                let path = file.strip_prefix(root).expect("below the root").display().to_string();
                sources.push(Source { path, krate, text: read(&file) });
            }
        }
    }
    sources
}

/// The text of a file that must be there.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Adds `file` and the modules that it declares, which lie in `folder`.
fn follow(file: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) {
    let parsed = syn::parse_file(&read(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    files.insert(file.to_owned());
    for item in &parsed.items {
        let Item::Mod(module) = item else { continue };
        if module.content.is_some() || left_out(&module.attrs) {
            continue;
        }
        let (name, own) = (module.ident.to_string(), folder.join(module.ident.to_string()));
        let beside = folder.join(format!("{name}.rs"));
        follow(&if beside.exists() { beside } else { own.join("mod.rs") }, &own, files);
    }
}

/// Whether this is for tests, or for another kind of processor.
pub fn left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return attribute.path().is_ident("test") };
        let said = list.tokens.to_string();
        let elsewhere = said.contains("target_arch") && (said.contains("not") || !said.contains(std::env::consts::ARCH));
        attribute.path().is_ident("cfg") && (said.split_whitespace().any(|word| word == "test") || elsewhere)
    })
}
