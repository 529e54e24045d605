use super::*;
use std::path::PathBuf;

const EXPERIMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");

/// A figure of 400 requests on a drive of 8 MiB: x stretches the gap between requests.
const TINY: &str = r#"payload = "tag"
schemes = ["none"]
[drive.geometry]
channels = 2
dies_per_channel = 1
[capacity]
size = "8MiB"
[trace]
source = "uniform"
arrival = "recorded"
[generate]
requests = 400
range = "8MiB"
read_fraction = 0.5
arrivals = { every = "4ms" }
[figure]
title = "Tiny"
source = "none"
x = { name = "gap, ms", key = "gap_ms" }
clock = { arm = "none", x = 4 }
[[figure.traces]]
name = "as it is"
[[figure.traces]]
name = "dies 20 % busy"
busy = 0.2
[[figure.traces]]
name = "gone"
file = "no such file.xz"
[[figure.points]]
x = 4
[[figure.points]]
x = 8
set = { generate.arrivals = { every = "8ms" } }
[[figure.points]]
x = 16
set = { generate.arrivals = { every = "16ms" } }
[[figure.arms]]
name = "none"
[[figure.arms]]
name = "mirror of none"
[[figure.plots]]
title = "Ratio"
y = "ratio"
value = "read_response_us_mean"
arms = ["mirror of none"]
over = "none"
published = [{ x = 8, y = 0.5, what = "half" }]
[[figure.plots]]
title = "Busy"
y = "share"
value = "offered_load"
arms = ["none", "mirror of none"]
"#;

/// A folder of experiments with one paper of one figure, made for one test.
fn folder(test: &str, text: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("flashkeep-figures-{}-{test}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(root.join("paper")).expect("the folder for temporary files can be written");
    std::fs::write(root.join("paper/tiny.toml"), text).expect("written");
    root
}

fn loaded(root: &Path) -> Result<Paper, Problem> {
    load(root, "paper", None, &root.join("no traces"))
}

fn ran(root: &Path, threads: usize, points: Option<usize>) -> FigureResult {
    let paper = loaded(root).unwrap_or_else(|e| panic!("{e}"));
    let result = run(paper, &Run { threads, points, progress: &|_, _| {} }).unwrap_or_else(|e| panic!("{e}"));
    result.figures.into_iter().next().expect("one figure")
}

/// Cells of a column, below its name.
fn column(figure: &FigureResult, name: &str) -> Vec<String> {
    let rows = figure.csv_rows();
    let at = rows[0].iter().position(|head| head == name).unwrap_or_else(|| panic!("no column {name}"));
    rows[1..].iter().map(|row| row[at].clone()).collect()
}

#[test]
fn arms_of_equal_settings_are_equal_and_an_absent_trace_is_said_to_be() {
    let root = folder("equal", TINY);
    let figure = ran(&root, 2, None);
    assert_eq!(figure.csv_rows().len(), 1 + 2 * 3 * 2, "two traces, three points, two arms");
    let ratios = figure.curves(&figure.plots()[0]);
    assert!(ratios.iter().all(|curve| curve.points == [(4.0, 1.0), (8.0, 1.0), (16.0, 1.0)]), "the same settings");
    assert_eq!(ratios.iter().map(|curve| curve.name.as_str()).collect::<Vec<_>>(), ["as it is", "dies 20 % busy"]);
    let skipped = figure.skipped();
    assert!(skipped.len() == 1 && skipped[0].contains("`gone`") && skipped[0].contains("no such file.xz"), "{skipped:?}");
}

#[test]
fn a_busy_trace_has_one_factor_and_the_load_that_was_asked_for() {
    let figure = ran(&folder("busy", TINY), 2, None);
    let factors = column(&figure, "clock_factor");
    assert!(factors[..6].iter().all(|factor| factor == "1"), "recorded: {factors:?}");
    assert!(factors[6..].iter().all(|factor| *factor == factors[6] && factor != "1"), "one clock: {factors:?}");
    let loads: Vec<f64> = column(&figure, "offered_load").iter().map(|load| load.parse().expect("a number")).collect();
    // Four digits of the factor; the work is the same whenever it is asked for, but for collection.
    assert!((loads[6] / 0.2 - 1.0).abs() < 0.02, "20 %: {loads:?}");
    // Requests at half the rate: half the load.
    assert!((loads[6] / loads[8] - 2.0).abs() < 0.05, "half: {loads:?}");
}

#[test]
fn threads_change_no_byte_and_some_points_are_rows_of_all() {
    let root = folder("threads", TINY);
    let [one, four] = [1, 4].map(|threads| ran(&root, threads, None).to_csv());
    assert_eq!(one, four);
    std::fs::write(root.join("paper/tiny.csv"), &one).expect("written");
    for (most, rows) in [(1, 4), (2, 8), (3, 12), (9, 12)] {
        assert_eq!(ran(&root, 2, Some(most)).golden, Golden::Agrees(rows), "{most} points");
    }
    let altered = one.replacen(",400", ",401", 1).replacen("none,1,", "none,2,", 1);
    std::fs::write(root.join("paper/tiny.csv"), altered).expect("written");
    assert!(matches!(ran(&root, 2, None).golden, Golden::Differs(1, 12, _)), "a row that is no more");
}

#[test]
fn the_page_has_the_numbers_the_published_value_and_what_is_missing() {
    let root = folder("page", TINY);
    let paper = run(loaded(&root).unwrap(), &Run { threads: 2, points: None, progress: &|_, _| {} }).unwrap();
    let index = paper.write(&root.join("out"), "flashkeep figures paper").unwrap();
    let html = std::fs::read_to_string(index).expect("written");
    assert!(html.contains("`gone` is left out") && html.contains(">1.000<"), "a table and a caution");
    let island = html.split_once("id=\"data\">").expect("island").1;
    let data: serde_json::Value = serde_json::from_str(island.split_once("</script>").expect("island ends").0).expect("JSON");
    assert_eq!(data["plots"].as_array().map(Vec::len), Some(2));
    let series = data["plots"][0]["series"].as_array().expect("a list");
    assert_eq!(
        series.last().map(|paper| (&paper["name"], &paper["points"])),
        Some((&"paper".into(), &serde_json::json!([[8.0, 0.5]])))
    );
    assert_eq!(data["plots"][1]["series"].as_array().map(Vec::len), Some(4), "two traces, two arms, nothing published");
    assert_eq!(std::fs::read_to_string(root.join("out/paper/tiny.csv")).expect("written"), paper.figures[0].to_csv());
}

/// The complaint about the file with `from` replaced by `to`.
fn complaint(test: &str, from: &str, to: &str) -> String {
    assert!(TINY.contains(from), "{from}");
    let root = folder(test, &TINY.replacen(from, to, 1));
    loaded(&root).map(|_| ()).expect_err("a complaint").to_string()
}

#[test]
fn complaints_have_a_place_a_field_and_what_is_known() {
    let cases = [
        ("key", "title = \"Tiny\"", "titel = \"Tiny\"", "figure.titel: unknown key `titel`"),
        ("list", "value = \"offered_load\"", "value = \"offered_laod\"", "did you mean `offered_load`"),
        ("arm", "over = \"none\"", "over = \"nine\"", "figure.plots.0.over: unknown arm `nine`"),
        ("clock", "x = 4 }", "x = 5 }", "figure.clock.x: unknown point `5`"),
        ("share", "busy = 0.2", "busy = 2", "figure.traces.1.busy: found 2, wanted a share"),
        ("point", "every = \"8ms\"", "evry = \"8ms\"", "unknown name `evry`"),
        (
            "set",
            "set = { generate.arrivals = { every = \"16ms\" } }",
            "set = 3",
            "figure.points.2.set: found a whole number, wanted a table",
        ),
        ("twice", "x = 16", "x = 8", "figure.points.2.x: point 8 is there twice"),
        (
            "schemes",
            "name = \"mirror of none\"",
            "name = \"mirror of none\"\nset = { schemes = [\"none\", \"raid5\"] }",
            "found 2 schemes, an arm runs one",
        ),
    ];
    for (test, from, to, wanted) in cases {
        let said = complaint(test, from, to);
        assert!(said.contains(wanted) && said.contains("tiny.toml:"), "{test}: {said}");
    }
    let root = folder("names", TINY);
    let unknown = load(&root, "papr", None, &root).map(|_| ()).expect_err("no such paper");
    assert_eq!(unknown.meant.as_deref(), Some("paper"));
    let unknown = load(&root, "paper", Some("tinny"), &root).map(|_| ()).expect_err("no such figure");
    assert_eq!(unknown.meant.as_deref(), Some("tiny"));
}

#[test]
fn every_figure_of_every_paper_is_valid_and_has_its_golden_rows() {
    let traces =
        std::env::var_os("FLASHKEEP_TRACES").map_or_else(|| Path::new(EXPERIMENTS).join("../../shared/traces"), PathBuf::from);
    for name in papers(Path::new(EXPERIMENTS)).unwrap() {
        let paper = load(Path::new(EXPERIMENTS), &name, None, &traces).unwrap_or_else(|e| panic!("{e}"));
        assert!(Path::new(EXPERIMENTS).join(&name).join("README.md").exists(), "{name} has a README");
        for figure in &paper.figures {
            let golden = std::fs::read_to_string(figure.path.with_extension("csv")).expect("every figure has a golden CSV");
            let spec = &figure.spec;
            let rows = spec.traces.len() * spec.points.len() * spec.arms.len();
            assert_eq!(golden.lines().count(), 1 + rows, "{name}/{}: a row for each trace, point and arm", figure.name);
        }
    }
}

#[test]
fn both_sides_of_every_ratio_have_the_same_pages_for_the_host() {
    // Else addresses that exceed the drive are folded into different places of the two.
    let experiments = Path::new(EXPERIMENTS);
    for name in papers(experiments).unwrap() {
        for figure in load(experiments, &name, None, experiments).unwrap_or_else(|e| panic!("{e}")).figures {
            let text = std::fs::read_to_string(&figure.path).expect("read before");
            let document = crate::document::Document::parse(&figure.name, &text).expect("read before");
            for point in 0..figure.spec.points.len() {
                let pages = |arm: &String| {
                    let experiment =
                        spec::job(&document, None, [0, point, figure.spec.arm(arm)]).unwrap_or_else(|e| panic!("{e}"));
                    crate::plan(&experiment, 1).unwrap_or_else(|e| panic!("{e}")).user_slots
                };
                for (plot, over) in figure.spec.plots.iter().filter_map(|plot| Some((plot, plot.over.as_ref()?))) {
                    assert!(plot.arms.iter().all(|arm| pages(arm) == pages(over)), "{}, point {point}", figure.name);
                }
            }
        }
    }
}

#[test]
fn the_small_figure_of_code_zones_gives_its_golden_rows() {
    let experiments = Path::new(EXPERIMENTS);
    let paper = load(experiments, "code-zones", Some("small"), experiments).unwrap_or_else(|e| panic!("{e}"));
    let paper = run(paper, &Run { threads: 2, points: None, progress: &|_, _| {} }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(paper.figures[0].golden, Golden::Agrees(6), "after a meant change: flashkeep figures code-zones --only small");
}
