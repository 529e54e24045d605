//! A toy figure is in every output, and every figure of results is one of the table.

use super::Kind::Fact;
use super::*;
use crate::{Bench, Comparison, compare};
use experiment::Experiment;
use serde_json::json;

pub(super) const TOYS: &[Figure] = &[figure("toy_pages", "pages", "pages of a toy", |r| json!(r.host.write_pages + 1_000_000))
    .terminal(Section::Checks, "pages of the toy")
    .report(Group::Data, Fact, "pages of the toy", "pages")];

fn comparison(seeds: u32) -> Comparison {
    let text = format!(
        "schemes = [\"none\", \"raid5\"]\nseeds = {seeds}\n[trace]\nsource = \"uniform\"\n[generate]\nrequests = 200\n\
         range = \"8MiB\"\nread_fraction = 0.5\n"
    );
    let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    compare(&experiment, &Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} }).unwrap_or_else(|e| panic!("{e}"))
}

/// Catches an output that lists figures by itself: the toy would be missing there.
#[test]
fn a_toy_figure_is_in_every_output() {
    let comparison = comparison(2);
    let first = comparison.repetitions()[0].outcomes[1].result.host.write_pages + 1_000_000;
    let json = comparison.to_json();
    assert_eq!(json["schemes"][1]["toy_pages"], first);
    let rows = comparison.rows();
    assert_eq!(rows[1]["toy_pages"], first);
    let columns = common::Columns::of(&rows);
    let column = columns.columns().iter().find(|column| column.name == "toy_pages").expect("a column");
    assert!(matches!(&column.values, common::Values::Whole(values) if values[1] == Some(first as i64)));
    let intervals = json["seeds"]["intervals"].as_array().expect("a list");
    assert!(intervals.iter().any(|one| one["column"] == "toy_pages"), "means over seeds");
    let shown = common::table::grouped(comparison.repetitions()[0].outcomes[1].result.host.write_pages + 1_000_000);
    let alone = &comparison.repetitions()[0];
    let line = alone.to_table().lines().find(|line| line.starts_with("pages of the toy")).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains(&shown)), "the terminal");
    let directory = std::env::temp_dir().join(format!("flashkeep-toy-{}", std::process::id()));
    crate::write_report(alone, &directory).unwrap_or_else(|e| panic!("{e}"));
    let page = std::fs::read_to_string(directory.join("index.html")).expect("the report");
    std::fs::remove_dir_all(&directory).expect("it is there");
    assert!(page.contains("data-metric=\"pages of the toy\"") && page.contains(&format!("data-value=\"{first}\"")));
    assert!(page_of_figures().ends_with("| `toy_pages` | pages | pages of a toy |\n"), "the page on results");
}

fn page_of_figures() -> String {
    page()
}

#[test]
fn the_page_on_results_has_the_table_of_figures() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spec/results.md");
    let text = std::fs::read_to_string(path).expect("the page exists");
    let toy = format!("| `{}` | {} | {} |\n", TOYS[0].key, TOYS[0].unit, TOYS[0].meaning);
    let table = page().replace(&toy, "");
    let (before, rest) = text.split_once("## Scheme\n\n").expect("it has the section");
    let (kept, after) = rest.split_once("\n\n").expect("more follows");
    if std::env::var("FLASHKEEP_BLESS").is_ok() {
        std::fs::write(path, format!("{before}## Scheme\n\n{table}\n{after}")).expect("it can be written");
        return;
    }
    assert!(format!("{kept}\n") == table, "docs/spec/results.md is not of the figures: FLASHKEEP_BLESS=1 writes its table again");
}

#[test]
fn keys_are_there_once_and_have_a_unit_and_a_meaning() {
    let mut keys: Vec<&str> = all().map(|figure| figure.key).collect();
    keys.sort_unstable();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
    let mute: Vec<&str> =
        all().filter(|one| one.is_key(false) && (one.unit.is_empty() || one.meaning.is_empty())).map(|one| one.key).collect();
    assert!(mute.is_empty(), "{mute:?}");
}
