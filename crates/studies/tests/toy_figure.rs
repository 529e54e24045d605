//! A toy figure, said once, is in every output.

use common::parts::{Directory, SWEEP};
use common::{Columns, Values};
use experiment::Experiment;
use flashkeep_studies::sweep::{Grid, Sweeper, sweep};
use lab::figure::{Figure, Group, Kind, Section, figure};
use lab::{Bench, Comparison, compare};
use report::{to_table, write_report};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const TOYS: &[Figure] = &[figure("toy_pages", "pages", "pages of a toy", |run| json!(run.host.write_pages + 1_000_000))
    .terminal(Section::Checks, "pages of the toy")
    .report(Group::Data, Kind::Fact, "pages of the toy", "pages")];

const SETTINGS: &str = "[trace]\nsource = \"uniform\"\n[generate]\nrequests = 200\nrange = \"8MiB\"\nread_fraction = 0.5\n";

fn comparison(seeds: u32) -> Comparison {
    let text = format!("schemes = [\"none\", \"raid5\"]\nseeds = {seeds}\n{SETTINGS}");
    let experiment = Experiment::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}"));
    compare(&experiment, &Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} }).unwrap_or_else(|e| panic!("{e}"))
}

/// An empty directory of one test.
fn scratch(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    directory
}

/// A number of a column of rows.
fn in_column(columns: &Columns, row: usize) -> Option<i64> {
    let column = columns.columns().iter().find(|column| column.name == "toy_pages").expect("a column");
    let Values::Whole(values) = &column.values else { panic!("a column of whole numbers") };
    values[row]
}

/// Catches an output that lists figures by itself: the toy would be missing there.
#[test]
fn a_toy_figure_is_in_every_output() {
    assert!(lab::figure::add(TOYS).is_ok(), "nothing was added before");
    let comparison = comparison(2);
    let alone = &comparison.repetitions()[0];
    let first = alone.outcomes[1].result.host.write_pages + 1_000_000;
    let json = comparison.to_json();
    assert_eq!(json["schemes"][1]["toy_pages"], first);
    let rows = comparison.rows();
    assert_eq!(rows[1]["toy_pages"], first);
    assert_eq!(in_column(&Columns::of(&rows), 1), Some(first as i64), "Parquet, and frames of Python");
    let intervals = json["seeds"]["intervals"].as_array().expect("a list");
    assert!(intervals.iter().any(|one| one["column"] == "toy_pages"), "means over seeds");
    let line = to_table(alone).lines().find(|line| line.starts_with("pages of the toy")).map(str::to_owned);
    assert!(line.is_some_and(|line| line.contains(&common::table::grouped(first))), "the terminal");
    let directory = scratch("toy-report");
    write_report(alone, &directory).unwrap_or_else(|e| panic!("{e}"));
    let page = fs::read_to_string(directory.join("index.html")).expect("the report");
    assert!(page.contains("data-metric=\"pages of the toy\"") && page.contains(&format!("data-value=\"{first}\"")));
    assert!(lab::figure::page().ends_with("| `toy_pages` | pages | pages of a toy |\n"), "the page on results");
    a_sweep_has_it(first);
}

/// A sweep over seeds 1 and 2, whose first run of `raid5` has `first` pages.
fn a_sweep_has_it(first: u64) {
    let text = format!("schemes = [\"raid5\"]\n{SETTINGS}[[sweep.axes]]\nkey = \"seed\"\nvalues = [1, 2]\n");
    let grid = Grid::parse("grid.toml", &text, Path::new("")).unwrap_or_else(|e| panic!("{e}"));
    let directory = scratch("toy-sweep");
    let results = Directory::open(&directory, &SWEEP).unwrap_or_else(|e| panic!("{e}"));
    sweep(&grid, &results, &Sweeper { threads: 1, progress: &|_, _| {} }).unwrap_or_else(|e| panic!("{e}"));
    let csv = fs::read_to_string(directory.join("results.csv")).expect("merged");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().expect("titles").iter().position(|title| *title == "toy_pages").expect("a column of the CSV");
    assert_eq!(lines.next().expect("a run")[at], first.to_string());
    let parquet = fs::read(directory.join("results.parquet")).expect("merged");
    assert!(parquet.windows(9).any(|bytes| bytes == b"toy_pages"), "a column of the file");
}
