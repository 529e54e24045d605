//! Packages: crates that can be packaged, with all that their manifests need.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Crates that are not published; each says why in its manifest.
const INTERNAL: [&str; 3] = ["flashkeep-py", "flashkeep-ssd-tests", "flashkeep-theory"];

/// Our crates as `cargo metadata` has them.
fn crates() -> Vec<Value> {
    metadata(&["--no-deps"])
}

fn metadata(options: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO")).args(["metadata", "--format-version", "1"]).args(options).current_dir(ROOT).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array_mut().expect("a list of packages");
    std::mem::take(packages)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn is_published(package: &Value) -> bool {
    package["publish"].is_null()
}

fn directory(package: &Value) -> PathBuf {
    Path::new(text(package, "manifest_path")).parent().expect("a manifest is in a directory").to_owned()
}

#[test]
fn every_published_crate_says_what_it_is_and_has_its_licences() {
    let all = crates();
    let mut internal: Vec<&str> = all.iter().filter(|one| !is_published(one)).map(|one| text(one, "name")).collect();
    internal.sort_unstable();
    assert_eq!(internal, INTERNAL);
    let mut descriptions: Vec<&str> = Vec::new();
    for package in all.iter().filter(|one| is_published(one)) {
        let name = text(package, "name");
        assert_eq!(text(package, "license"), "MIT OR Apache-2.0", "{name}");
        assert!(!text(package, "readme").is_empty() && !text(package, "rust_version").is_empty(), "{name}");
        assert!((1..=5).contains(&list(package, "keywords").len()) && !list(package, "categories").is_empty(), "{name}");
        descriptions.push(text(package, "description"));
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let here = std::fs::read(directory(package).join(licence)).unwrap_or_default();
            assert_eq!(here, std::fs::read(Path::new(ROOT).join(licence)).expect("it is there"), "{name}/{licence}");
        }
    }
    assert!(descriptions.iter().all(|one| one.len() > 30), "{descriptions:?}");
    let count = descriptions.len();
    descriptions.sort_unstable();
    descriptions.dedup();
    assert_eq!(descriptions.len(), count, "each has a description of its own");
}

/// True if each part of an SPDX expression that `AND` joins has an allowed licence among its alternatives. Alternatives beside an `AND` without
/// brackets would need them; no crate has such an expression.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let plain = expression.replace(['(', ')'], "").replace('/', " OR ");
    let has_one = |part: &str| part.split(" OR ").any(|one| allowed.contains(&one.trim()));
    plain.split(" AND ").all(has_one)
}

/// Settings of `cargo deny`, where that is installed. Catches a dependency whose licence cannot be passed on.
#[test]
fn every_dependency_has_a_licence_of_the_list() {
    let list = std::fs::read_to_string(Path::new(ROOT).join("deny.toml")).expect("deny.toml at the root");
    let from = list.find("allow = [").expect("a list of licences");
    let allowed: Vec<&str> = list[from..].split(']').next().expect("its end").split('"').skip(1).step_by(2).collect();
    assert!(allowed.contains(&"MIT") && !is_allowed("GPL-3.0", &allowed) && !is_allowed("MIT AND GPL-3.0", &allowed));
    let all = metadata(&["--locked", "--offline"]);
    assert!(all.len() > 100, "{} crates", all.len());
    for package in &all {
        let licence = text(package, "license");
        assert!(is_allowed(licence, &allowed), "{}: {licence} is not in deny.toml", text(package, "name"));
    }
}

#[test]
fn published_crates_need_published_ones_of_their_version() {
    let all = crates();
    for package in all.iter().filter(|one| is_published(one)) {
        // Where it has no version, cargo leaves a dependency of tests out of the package.
        let ours = list(package, "dependencies").iter().filter(|one| !one["path"].is_null() && text(one, "kind") != "dev");
        for needed in ours {
            let (name, needed_name) = (text(package, "name"), text(needed, "name"));
            let other = all.iter().find(|one| text(one, "name") == needed_name).expect("it is one of ours");
            assert!(is_published(other), "{name} needs {needed_name}, which is not published");
            assert_eq!(text(needed, "req"), format!("={}", text(other, "version")), "{needed_name} in {name}");
        }
    }
}

/// A path with its `..` taken away, without asking the file system: links count as what they are called.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
        plain
    })
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Files that a source includes by name, where it is no test.
fn included(source: &str) -> Vec<String> {
    let shipped = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let calls = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
    let found = calls.iter().flat_map(|call| shipped.match_indices(call).map(|(at, _)| at + call.len()));
    found.filter_map(|at| shipped[at..].split('"').next()).map(str::to_owned).collect()
}

#[test]
fn no_published_crate_reaches_into_another() {
    let mut count = 0;
    for package in crates().iter().filter(|one| is_published(one)) {
        let directory = plain(&directory(package));
        let mut files = Vec::new();
        sources(&directory.join("src"), &mut files);
        for file in files {
            let source = std::fs::read_to_string(&file).expect("text");
            for name in included(&source) {
                let path = plain(&file.parent().expect("a folder").join(&name));
                assert!(path.starts_with(&directory), "{}: {name} is not in the package", file.display());
                assert!(path.exists(), "{}: {name}", file.display());
                count += 1;
            }
        }
    }
    assert!(count > 10, "{count} files are included");
    assert_eq!(
        included("const A: &str = include_str!(\"../../b.rs\");\n#[cfg(test)]\nmod tests { include!(\"c\") }"),
        ["../../b.rs"]
    );
}
