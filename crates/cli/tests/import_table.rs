//! Who may import whom: the import table of `ARCHITECTURE.md` against what cargo says.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const DOCUMENT: &str = include_str!("../../../ARCHITECTURE.md");

/// Crates by name (without `flashkeep-`), each with those it may import.
type Table = BTreeMap<String, Vec<String>>;

/// One of our crates depends on another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edge {
    from: String,
    to: String,
    /// Only its tests do.
    dev: bool,
}

/// The table below the heading `Import table`: a crate, then what it may import.
fn table(document: &str) -> Table {
    let section = document.split("\n## ").find(|section| section.starts_with("Import table\n"));
    let lines = section.expect("ARCHITECTURE.md has a section `Import table`").lines();
    let cell = |text: &str| text.trim().replace('`', "");
    let rows = lines.filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let imports = cell(cells[2]).split(',').map(|name| name.trim().to_owned()).filter(|name| name != "nothing").collect();
        (cell(cells[1]), imports)
    });
    rows.collect()
}

/// The room of a package of ours; `None` for anyone else's.
fn room(package: &str) -> Option<String> {
    if package == "flashkeep" { Some(package.into()) } else { package.strip_prefix("flashkeep-").map(str::to_owned) }
}

/// Our crates, and the edges among them, from the document `cargo metadata` prints.
fn edges(metadata: &Value) -> (Vec<String>, Vec<Edge>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (mut crates, mut edges) = (Vec::new(), Vec::new());
    for package in list(&metadata["packages"]) {
        let from = room(&text(&package["name"])).expect("every package of the workspace is called flashkeep-..");
        for dependency in list(&package["dependencies"]) {
            let Some(to) = room(&text(&dependency["name"])) else { continue };
            edges.push(Edge { from: from.clone(), to, dev: dependency["kind"] == "dev" });
        }
        crates.push(from);
    }
    (crates, edges)
}

/// Edges that the table forbids. Tests may use the vocabulary, whatever their crate.
fn forbidden(table: &Table, crates: &[String], edges: &[Edge]) -> Vec<String> {
    let unlisted = crates.iter().filter(|name| !table.contains_key(*name)).map(|name| format!("{name} is not in the table"));
    let gone = table.keys().filter(|name| !crates.contains(name)).map(|name| format!("{name} is in the table and no crate"));
    let allowed = |edge: &Edge| {
        let listed = table.get(&edge.from).is_some_and(|imports| imports.contains(&edge.to));
        listed || (edge.dev && edge.to == "vocab")
    };
    let wrong = edges.iter().filter(|edge| !allowed(edge)).map(|edge| {
        let where_ = if edge.dev { " in its tests" } else { "" };
        format!("{} imports {}{where_}", edge.from, edge.to)
    });
    unlisted.chain(gone).chain(wrong).collect()
}

fn metadata() -> Value {
    metadata_with(&["--no-deps"])
}

fn metadata_with(options: &[&str]) -> Value {
    let output = Command::new(env!("CARGO")).args(["metadata", "--format-version", "1"]).args(options).current_dir(ROOT).output();
    let output = output.expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let (crates, edges) = edges(&metadata());
    assert!(edges.len() > 10, "cargo metadata names only {} edges among our crates", edges.len());
    let found = forbidden(&table(DOCUMENT), &crates, &edges);
    assert!(found.is_empty(), "against the import table of ARCHITECTURE.md: {found:#?}");
}

#[test]
fn nothing_in_the_table_goes_round_in_circles() {
    let mut left = table(DOCUMENT);
    while !left.is_empty() {
        let built: Vec<String> =
            left.iter().filter(|(_, needs)| !needs.iter().any(|n| left.contains_key(n))).map(|(n, _)| n.clone()).collect();
        assert!(!built.is_empty(), "these import each other in a circle: {:?}", left.keys());
        left.retain(|name, _| !built.contains(name));
    }
}

#[test]
fn a_forbidden_import_is_caught() {
    let mut metadata = metadata();
    let packages = metadata["packages"].as_array_mut().expect("a list of packages");
    let nand = packages.iter_mut().find(|package| package["name"] == "flashkeep-nand").expect("nand is a crate");
    let dependencies = nand["dependencies"].as_array_mut().expect("a list of dependencies");
    dependencies.push(serde_json::json!({ "name": "flashkeep-ftl", "kind": null }));
    dependencies.push(serde_json::json!({ "name": "flashkeep-coding", "kind": "dev" }));
    dependencies.push(serde_json::json!({ "name": "flashkeep-vocab", "kind": "dev" }));
    let (crates, edges) = edges(&metadata);
    let found = forbidden(&table(DOCUMENT), &crates, &edges);
    assert!(found.contains(&"nand imports ftl".to_owned()), "{found:?}");
    assert!(found.contains(&"nand imports coding in its tests".to_owned()), "{found:?}");
    assert!(!found.iter().any(|line| line.contains("vocab")), "{found:?}");
}

#[test]
fn a_crate_without_a_row_and_a_row_without_a_crate_are_caught() {
    let table = table(
        "# A\n\n## Import table\n\n| crate | may import |\n|---|---|\n| `a` | nothing |\n| `b` | `a`, `c` |\n\n## B\n| `x` | `a` |\n",
    );
    assert_eq!(table, BTreeMap::from([("a".into(), vec![]), ("b".into(), vec!["a".into(), "c".into()])]));
    let found = forbidden(&table, &["a".into(), "d".into()], &[]);
    assert_eq!(found, ["d is not in the table", "b is in the table and no crate"]);
}

/// Names of all packages that are in a program with one of ours, from what cargo resolved: those of tests and build scripts are left out.
fn linked(metadata: &Value, package: &str) -> BTreeSet<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|one| (text(&one["id"]), text(&one["name"]))).collect();
    let is_linked = |dependency: &Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    let needs: BTreeMap<String, Vec<String>> = list(&metadata["resolve"]["nodes"])
        .iter()
        .map(|node| {
            (text(&node["id"]), list(&node["deps"]).iter().filter(|one| is_linked(one)).map(|one| text(&one["pkg"])).collect())
        })
        .collect();
    let mut left: Vec<&String> = names.iter().filter(|(_, name)| *name == package).map(|(id, _)| id).collect();
    let mut found = BTreeSet::new();
    while let Some(id) = left.pop() {
        if found.insert(names[id].clone()) {
            left.extend(&needs[id]);
        }
    }
    found
}

/// Catches a served drive, a plugin or a campaign that is built with formats of results or statistics, which it has no use for.
#[test]
fn what_serves_and_tortures_links_neither_formats_of_results_nor_statistics() {
    const HEAVY: [&str; 3] = ["csv", "parquet", "statrs"];
    let metadata = metadata_with(&["--locked"]);
    let heavy = |package: &str| {
        let linked = linked(&metadata, package);
        HEAVY.into_iter().filter(|name| linked.contains(*name)).collect::<Vec<_>>()
    };
    assert_eq!(heavy("flashkeep-studies"), HEAVY, "studies have them");
    for package in ["flashkeep-serve", "flashkeep-nbd", "flashkeep-torture"] {
        assert!(linked(&metadata, package).contains("flashkeep-ssd"), "{package} has the engine");
        assert_eq!(heavy(package), Vec::<&str>::new(), "{package}");
    }
}
