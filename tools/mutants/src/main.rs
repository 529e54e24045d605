//! Breaks Flashkeep in small ways, one at a time, and counts which of them its tests and torture notice.
//! [The document of torture](../../../docs/torture.md) has the figures.

mod build;
mod copy;
mod draw;
mod judging;
mod points;
mod schema;
mod sources;
mod suites;
mod table;

use judging::Turn;
use points::Point;
use schema::Segment;
use sources::Source;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use suites::{Judge, Kind};

const HELP: &str = "mutants [--count 300] [--seed 1] [--workers 2] [--again] [--figures]
  --again puts those that no one noticed to the unit tests as they are now, and to scenarios of torture that once broke a rule
  --figures asks the golden figures and those of theory as well, at the end";

struct Options {
    count: usize,
    seed: u64,
    workers: usize,
    again: bool,
    figures: bool,
}

fn options() -> Option<Options> {
    let mut options = Options { count: 300, seed: 1, workers: 2, again: false, figures: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--count" => options.count = words.next()?.parse().ok()?,
            "--seed" => options.seed = words.next()?.parse().ok()?,
            "--workers" => options.workers = words.next()?.parse().ok()?,
            "--again" => options.again = true,
            "--figures" => options.figures = true,
            _ => return None,
        }
    }
    Some(options)
}

/// Where things lie.
struct Places {
    root: PathBuf,
    copy: PathBuf,
    /// Another copy, to find out what is no Rust: writing to the first would have it built again.
    tried: PathBuf,
    build: PathBuf,
    notes: PathBuf,
}

impl Places {
    fn new(options: &Options) -> Self {
        let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().expect("the workspace");
        let target = std::env::var("CARGO_TARGET_DIR").map_or_else(|_| root.join("target"), PathBuf::from).join("mutants");
        let notes = target.join(format!("seed-{}-count-{}", options.seed, options.count));
        Self { root, copy: target.join("src"), tried: target.join("tried"), build: target.join("build"), notes }
    }
}

fn main() {
    let Some(options) = options() else {
        eprintln!("{HELP}");
        std::process::exit(2);
    };
    let places = Places::new(&options);
    let sources = sources::all(&places.root);
    let points: Vec<Point> = sources.iter().enumerate().flat_map(|(file, source)| points::find(file, &source.text)).collect();
    println!("{} files, {} points; drawing {} by seed {}", sources.len(), points.len(), options.count, options.seed);
    let drawn = drawn(&options, &places, &sources, &points);
    start_notes(&places, &sources, &drawn);
    println!("building the judges");
    let judges = judges(&options, &places);
    println!("{} judges run with nothing broken, but for those that did before", judges.len());
    let reaches = judging::survey(&judges, options.workers, &places.notes.join("survey"));
    let table = table::Table::open(&places.notes.join("table.csv"));
    for turn in [Turn::Quick, Turn::Slow] {
        let done = table.rows();
        let is_done = |number: &usize| done.get(number).is_some_and(|row| row.noticed() || !options.again);
        let left: Vec<usize> = (1..=drawn.len()).filter(|number| !is_done(number)).collect();
        println!("{} mutants are left", left.len());
        judging::side_by_side(options.workers, left.len(), |index| {
            let (number, point) = (left[index], drawn[left[index] - 1]);
            let source = &sources[point.file];
            let verdict = judging::judge(number, source.krate, &reaches, turn);
            if verdict.noticed.is_some() || turn == Turn::Slow && !options.again {
                let line = table::line(number, point, source, &verdict);
                println!("{line}");
                table.add(&line);
            }
        });
    }
    tell(&table.finish(), &places);
}

/// Builds who is asked: with `--again` unit tests, and the scenarios of torture that once broke a rule.
fn judges(options: &Options, places: &Places) -> Vec<Judge> {
    let mut packages = vec!["flashkeep-coding", "flashkeep-protect", "flashkeep-ftl", "flashkeep-ssd"];
    if !options.again {
        packages.push("flashkeep-ssd-tests");
    }
    let mut programs = build::tests(&places.copy, &places.build, &packages);
    programs.extend(build::test_of(&places.copy, &places.build, "flashkeep-torture", "torture"));
    // Where a kill strikes is the machine's: that test may fail on a busy one with nothing broken.
    let repeatable = programs.iter().filter(|program| program.name != "image_kill");
    let mut judges: Vec<Judge> = repeatable.flat_map(suites::tests_of).collect();
    if !options.again {
        judges.extend(suites::torture(&build::product(&places.copy, &places.build)));
    }
    judges.retain(|judge| options.figures || judge.kind != Kind::Figures);
    judges
}

/// The sums, and who survived.
fn tell(rows: &BTreeMap<usize, table::Row>, places: &Places) {
    let mut sums = BTreeMap::<&str, usize>::new();
    for row in rows.values() {
        *sums.entry(&row.verdict).or_default() += 1;
    }
    println!("\nnot noticed by tests and torture:");
    rows.values().filter(|row| !row.noticed()).for_each(|row| println!("  {}", row.line));
    println!("\n{} mutants", rows.len());
    sums.iter().for_each(|(verdict, count)| println!("  {verdict}: {count}"));
    println!("table: {}", places.notes.join("table.csv").display());
}

/// Draws the first points of the seed's order that the compiler takes, and leaves the copy broken with them.
fn drawn<'a>(options: &Options, places: &Places, sources: &[Source], points: &'a [Point]) -> Vec<&'a Point> {
    let (order, mut refused) = (draw::order(points.len(), options.seed), BTreeSet::new());
    loop {
        let drawn: Vec<usize> = order.iter().copied().filter(|p| !refused.contains(p)).take(options.count).collect();
        let (broken, segments) = break_files(sources, points, &drawn);
        copy::refresh(&places.root, &places.tried, &broken);
        let refusals = build::check(&places.tried, &places.build);
        if refusals.is_empty() {
            copy::refresh(&places.root, &places.copy, &broken);
            return drawn.iter().map(|p| &points[*p]).collect();
        }
        let before = refused.len();
        for refusal in &refusals {
            refused.extend(whose(refusal, &segments).iter().map(|number| drawn[number - 1]));
        }
        println!("{} points are no Rust", refused.len());
        assert!(refused.len() > before, "the copy does not build:\n{}", refusals[0].words);
    }
}

/// The files that change, and where the mutants are in each.
fn break_files(
    sources: &[Source],
    points: &[Point],
    drawn: &[usize],
) -> (BTreeMap<String, String>, BTreeMap<String, Vec<Segment>>) {
    let (mut broken, mut segments) = (BTreeMap::new(), BTreeMap::new());
    for (file, source) in sources.iter().enumerate() {
        let numbered = drawn.iter().enumerate().map(|(index, point)| (index + 1, &points[*point]));
        let here: Vec<(usize, &Point)> = numbered.filter(|(_, point)| point.file == file).collect();
        if !here.is_empty() {
            let (text, found) = schema::write(&source.text, &here);
            broken.insert(source.path.clone(), text);
            segments.insert(source.path.clone(), found);
        }
    }
    (broken, segments)
}

/// The mutants in whose text the compiler found an error: the innermost around the first place that has one.
fn whose(refusal: &build::Refusal, segments: &BTreeMap<String, Vec<Segment>>) -> Vec<usize> {
    let innermost = |(file, byte): &(String, usize)| {
        let around = segments.get(file)?.iter().filter(|segment| segment.range.contains(byte));
        around.min_by_key(|segment| segment.range.len()).map(|segment| segment.mutants.clone())
    };
    refusal.places.iter().find_map(innermost).unwrap_or_default()
}

/// Notes what was drawn. What is noted of another draw, or of other sources, is forgotten.
fn start_notes(places: &Places, sources: &[Source], drawn: &[&Point]) {
    let row = |(index, point): (usize, &&Point)| {
        format!("{} {}:{}:{} {}\n", index + 1, sources[point.file].path, point.line, point.column, point.what)
    };
    let (list, path) = (drawn.iter().enumerate().map(row).collect::<String>(), places.notes.join("drawn.txt"));
    if copy::text_if_there(&path) == list {
        return;
    }
    let _ = fs::remove_dir_all(&places.notes);
    fs::create_dir_all(&places.notes).expect("a folder for notes");
    fs::write(path, list).expect("room for the list");
}
