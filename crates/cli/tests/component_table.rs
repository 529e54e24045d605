//! Who may import whom inside a crate: for the engine the table of components in `ARCHITECTURE.md` against what its files
//! say, whose arrows point down, and for every crate that its rooms (files and folders beside `lib.rs`) import each other in no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const DOCUMENT: &str = include_str!("../../../ARCHITECTURE.md");

/// Components from the lowest up, with what the table says of them.
fn components(document: &str) -> Vec<String> {
    let section = document.split("\n## ").find(|section| section.starts_with("Components of the engine\n"));
    let lines = section.expect("ARCHITECTURE.md has a section `Components of the engine`").lines();
    let first_cell = |line: &str| line.split('|').nth(1).unwrap_or_default().trim().replace('`', "");
    lines.filter(|line| line.starts_with("| `")).map(first_cell).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.expect("a folder that can be listed").path()) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

/// Names of modules of the crate that a source text names, comments and tests left out.
fn named(source: &str) -> BTreeSet<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    let mut names = BTreeSet::new();
    for line in code {
        for rest in line.split("crate::").skip(1) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            names.insert(rest[..end].to_owned());
        }
    }
    names
}

/// Every component of a tree of files: a folder or a file of its root, with what it names.
fn imports(source: &Path) -> BTreeMap<String, BTreeSet<(String, String)>> {
    let mut imports: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for file in rust_files(source) {
        let inside = file.strip_prefix(source).expect("a file below its root");
        let component = inside.components().next().expect("a name").as_os_str().to_string_lossy().replace(".rs", "");
        let text = fs::read_to_string(&file).expect("source is text");
        let place = inside.display().to_string();
        imports.entry(component).or_default().extend(named(&text).into_iter().map(|name| (place.clone(), name)));
    }
    imports
}

/// Imports that the order of components forbids.
fn upward(order: &[String], imports: &BTreeMap<String, BTreeSet<(String, String)>>) -> Vec<String> {
    let level = |name: &str| order.iter().position(|component| component == name);
    let mut wrong = Vec::new();
    for (component, named) in imports.iter().filter(|(component, _)| *component != "lib") {
        let Some(own) = level(component) else {
            wrong.push(format!("{component} is not in the table"));
            continue;
        };
        let up = named.iter().filter(|(_, name)| level(name).is_some_and(|other| other > own));
        wrong.extend(up.map(|(file, name)| format!("{file} imports {name}, which is above {component}")));
    }
    let gone = order.iter().filter(|component| !imports.contains_key(*component));
    wrong.extend(gone.map(|component| format!("{component} is in the table and no folder or file")));
    wrong
}

#[test]
fn components_import_only_what_is_below_them() {
    let imports = imports(&Path::new(ROOT).join("crates/ssd/src"));
    assert!(imports.values().flatten().count() > 100, "the files of the engine name other modules");
    let found = upward(&components(DOCUMENT), &imports);
    assert!(found.is_empty(), "against the components of ARCHITECTURE.md: {found:#?}");
}

/// Whether a source file has an inherent `impl` of `Engine`.
fn extends_engine(source: &str) -> bool {
    source.lines().any(|line| line.starts_with("impl") && line.contains(" Engine<") && !line.contains(" for "))
}

/// A method is called without a path: one of a file above the engine would be a call upwards that no import shows.
#[test]
fn only_the_engine_has_methods_of_engine() {
    let source = Path::new(ROOT).join("crates/ssd/src");
    let outside = |file: &PathBuf| !file.starts_with(source.join("engine"));
    let text = |file: &PathBuf| fs::read_to_string(file).expect("source is text");
    let (own, others): (Vec<_>, Vec<_>) =
        rust_files(&source).into_iter().filter(|file| extends_engine(&text(file))).partition(|file| !outside(file));
    assert!(own.len() > 10, "files of the engine have its methods: {own:?}");
    assert!(
        others.is_empty(),
        "methods of `Engine` outside of `engine`; take a function over `&mut Engine` instead: {others:#?}"
    );
    assert!(extends_engine("impl<P: FlashPayload> Engine<P> {") && extends_engine("impl Engine<PageBuf> {"));
    assert!(!extends_engine("impl<P: FlashPayload> Clone for Engine<P> {"));
}

#[test]
fn an_arrow_that_points_up_is_caught() {
    let order = ["core", "write", "engine"].map(str::to_owned);
    let of = |names: &[&str]| names.iter().map(|name| ("a.rs".to_owned(), (*name).to_owned())).collect();
    let mut imports = BTreeMap::from([
        ("core".to_owned(), of(&["device"])),
        ("write".to_owned(), of(&["core", "write"])),
        ("engine".to_owned(), of(&["write", "core"])),
    ]);
    assert_eq!(upward(&order, &imports), Vec::<String>::new());
    imports.insert("core".to_owned(), of(&["write"]));
    imports.insert("extra".to_owned(), of(&[]));
    assert_eq!(upward(&order, &imports), ["a.rs imports write, which is above core", "extra is not in the table"]);
}

#[test]
fn comments_and_tests_do_not_count() {
    let source = "use crate::core::Core;\n// crate::engine::x\nfn f() -> crate::write::W {}\n#[cfg(test)]\nuse crate::engine;";
    assert_eq!(named(source), BTreeSet::from(["core".to_owned(), "write".to_owned()]));
}

/// Crates that still have circles of rooms, each with the rooms that are in one. A number here may only fall.
const CIRCLES: [(&str, usize); 2] = [("device", 7), ("ftl", 6)];

/// The paths that a group such as `{a, b::{c, d}}` lists, `prefix` being in front of each.
fn paths(group: &str, prefix: &str, found: &mut Vec<String>) {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&group[start..]);
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        let path = format!("{prefix}{part}");
        match path.split_once('{') {
            Some((stem, rest)) => paths(rest.trim_end().strip_suffix('}').unwrap_or(rest), stem, found),
            None => found.push(path),
        }
    }
}

/// Paths behind `use` in a text, comments and tests left out.
fn used(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> = source.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join(" ");
    let mut found = Vec::new();
    for statement in code.split(';').filter_map(|part| part.rsplit_once("use ").map(|(_, path)| path)) {
        paths(statement.trim(), "", &mut found);
    }
    found
}

/// The name by which a path is known where it is used.
fn name_of(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or_default().rsplit(" as ").next().unwrap_or_default().trim()
}

/// Rooms of a crate, each with those it names.
fn rooms(source: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let lib = fs::read_to_string(source.join("lib.rs")).unwrap_or_default();
    let passed_on: BTreeMap<String, String> = used(&lib)
        .iter()
        .map(|path| {
            (name_of(path).to_owned(), path.trim_start_matches("crate::").split("::").next().unwrap_or_default().to_owned())
        })
        .collect();
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in rust_files(source).iter().filter(|file| !file.ends_with("tests.rs") && !file.ends_with("lib.rs")) {
        let inside = file.strip_prefix(source).expect("a file below its root");
        let room = inside.components().next().expect("a name").as_os_str().to_string_lossy().replace(".rs", "");
        let text = fs::read_to_string(file).expect("source is text");
        let mut names = named(&text);
        let of_crate = |path: &String| path.strip_prefix("crate::")?.split("::").next().map(|name| name_of(name).to_owned());
        names.extend(used(&text).iter().filter_map(of_crate));
        // A name that `lib.rs` passes on belongs to the room it is from.
        let rooms_of = names.iter().map(|name| passed_on.get(name).unwrap_or(name).clone());
        rooms.entry(room).or_default().extend(rooms_of);
    }
    let known: BTreeSet<String> = rooms.keys().cloned().collect();
    rooms.iter_mut().for_each(|(room, named)| named.retain(|name| name != room && known.contains(name)));
    rooms
}

/// Rooms that are in a circle: each reaches itself.
fn in_circles(rooms: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reaches_itself = |start: &String| {
        let (mut left, mut seen) = (vec![start], BTreeSet::new());
        while let Some(room) = left.pop() {
            for next in rooms.get(room).into_iter().flatten() {
                if next == start {
                    return true;
                }
                if seen.insert(next) {
                    left.push(next);
                }
            }
        }
        false
    };
    rooms.keys().filter(|room| reaches_itself(room)).cloned().collect()
}

#[test]
fn rooms_of_a_crate_import_each_other_in_no_circle() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join("crates")).expect("crates") {
        let folder = entry.expect("a folder").path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !folder.join("src/lib.rs").exists() {
            continue;
        }
        let found = in_circles(&rooms(&folder.join("src")));
        let known = CIRCLES.iter().find(|(of, _)| *of == name).map_or(0, |(_, rooms)| *rooms);
        if found.len() != known {
            wrong.push(format!("{name}: {} rooms are in circles, {known} were known: {found:?}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_circle_of_rooms_is_caught() {
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
    let mut rooms = BTreeMap::from([("a".to_owned(), of(&["b"])), ("b".to_owned(), of(&["c"])), ("c".to_owned(), of(&[]))]);
    assert_eq!(in_circles(&rooms), Vec::<String>::new());
    rooms.insert("c".to_owned(), of(&["a"]));
    assert_eq!(in_circles(&rooms), ["a", "b", "c"]);
    let mut found = Vec::new();
    paths("crate::{a::{B, c::{D, E as F}}, g}", "", &mut found);
    assert_eq!(found, ["crate::a::B", "crate::a::c::D", "crate::a::c::E as F", "crate::g"]);
    assert_eq!(found.iter().map(|path| name_of(path)).collect::<Vec<_>>(), ["B", "D", "F", "g"]);
}
