//! docs/drives.md has every value of every preset with its source, as the files of the presets have them. `FLASHKEEP_BLESS=1` writes the page.

use std::fmt::Write as _;
use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A value of a preset: its dotted name, the value, and the comment behind it.
struct Value {
    key: String,
    value: String,
    source: String,
}

/// The values of a file in its order. Kinds of pages have their number in the name.
fn values(text: &str) -> Vec<Value> {
    let (mut section, mut kinds, mut found) = (String::new(), 0, Vec::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[[").and_then(|rest| rest.split_once("]]")) {
            section = format!("{}.{kinds}.", name.0);
            kinds += 1;
        } else if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = format!("{}.", name.0);
        } else if let Some((key, rest)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            let (value, source) = rest.split_once(" # ").unwrap_or((rest, ""));
            found.push(Value { key: format!("{section}{key}"), value: value.to_owned(), source: source.to_owned() });
        }
    }
    found
}

/// True if the comment names no source that a reader can look up.
fn is_assumed(source: &str) -> bool {
    source.contains("not verified") || source.contains("from memory")
}

/// Text of a cell: bars would end it.
fn cell(text: &str) -> String {
    text.trim_matches('"').replace('|', "\\|")
}

/// The row of a preset in the table of all.
fn row(name: &str, values: &[Value]) -> String {
    let of = |key: &str| values.iter().find(|value| value.key == key).map_or("1", |value| value.value.trim_matches('"'));
    let number = |key: &str| of(key).replace('_', "").parse::<u64>().unwrap_or_else(|_| panic!("{name}: {key}"));
    // Times of all kinds of pages, once if they are equal.
    let times = |what: &str| {
        let of_kind = |value: &&Value| value.key.starts_with("timing.page.") && value.key.ends_with(what);
        let mut all: Vec<&str> = values.iter().filter(of_kind).map(|value| value.value.trim_matches('"')).collect();
        all.dedup();
        all.join(", ")
    };
    let dies = number("geometry.channels") * number("geometry.dies_per_channel");
    let assumed = values.iter().filter(|value| is_assumed(&value.source)).count();
    format!(
        "| [`{name}`](#{name}) | {dies}, {} | {} x {} | {} | {} | {} | {} | {} | {assumed} |\n",
        number("geometry.channels"),
        number("geometry.pages_per_block"),
        of("geometry.page_size"),
        times(".read"),
        times(".program"),
        of("timing.erase"),
        of("timing.transfer").trim_matches(['{', '}', ' ', '"']).replace('"', ""),
        of("endurance"),
    )
}

const HEAD: &str = "# Drive presets

Every value of every preset, with its source. A value that is *from memory* or *not verified* is an assumption: check it against your part before you rely on a result that depends on it. Blocks of most
presets are smaller than those of the part, so that a small drive has as many blocks as a large one, and their erase time is scaled down with them; the source says so.
[Validation](validation.md) compares seven presets with measurements of real drives. `--drive NAME` takes a preset, `--set drive.KEY=VALUE` changes a value, and
[Drives](experiments.md#drives) describes files of your own.

In the table, a block is counted in pages of the map (logical pages where several are programmed in one shot); read and program times of several values are those of the kinds of pages.

| preset | dies, channels | block | read (tR) | program (tPROG) | erase (tBERS) | bus | rated P/E cycles | assumed values |
|---|---|---|---|---|---|---|---|---|
";

fn page() -> String {
    let drives = studies::list("drives").expect("there is such a list");
    let files = (drives.entries)().into_iter().map(|entry| {
        let file = Path::new(ROOT).join("crates/experiment/drives").join(format!("{}.toml", entry.name));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        (entry.name, values(&text))
    });
    let files: Vec<(String, Vec<Value>)> = files.collect();
    let mut page = HEAD.to_owned();
    page.extend(files.iter().map(|(name, values)| row(name, values)));
    for (name, values) in &files {
        let of = |key: &str| values.iter().find(|value| value.key == key).map(|value| cell(&value.value)).unwrap_or_default();
        write!(page, "\n## {name}\n\n{}. Source: {}.\n\n| value | is | source |\n|---|---|---|\n", of("summary"), of("source"))
            .expect("text");
        for value in values.iter().filter(|value| !["summary", "source"].contains(&value.key.as_str())) {
            writeln!(page, "| `{}` | `{}` | {} |", value.key, cell(&value.value), cell(&value.source)).expect("text");
        }
    }
    page
}

#[test]
fn the_page_of_drives_has_every_value_with_its_source() {
    let (made, file) = (page(), Path::new(ROOT).join("docs/drives.md"));
    assert!(made.matches("\n## ").count() > 15 && made.contains("| `timing.erase` |"));
    if std::env::var("FLASHKEEP_BLESS").is_ok() {
        std::fs::write(&file, &made).expect("written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(made == kept, "docs/drives.md differs from the presets; if that is meant: FLASHKEEP_BLESS=1");
}

/// Catches a preset with a value whose comment was left out.
#[test]
fn every_value_of_a_preset_has_a_source() {
    let files = std::fs::read_dir(Path::new(ROOT).join("crates/experiment/drives")).expect("presets");
    for file in files.map(|entry| entry.expect("an entry").path()) {
        for value in values(&std::fs::read_to_string(&file).expect("text")) {
            assert!(!value.source.is_empty() || value.key == "source", "{}: {} has no source", file.display(), value.key);
        }
    }
}
