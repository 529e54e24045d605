use super::*;
use std::path::PathBuf;

const EXPERIMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");

/// A figure of 400 requests on a drive of 8 MiB: x stretches the gap between requests.
const TINY: &str = r#"payload = "tag"
warmup = "none"
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
value = "read_latency_us_mean"
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
    let ratios = &figure.drawings[0].curves;
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
    // Four digits of the factor; the work is the same whenever it is asked for, but for GC.
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
fn golden_rows_that_never_end_are_refused() {
    let root = folder("endless", TINY);
    std::os::unix::fs::symlink("/dev/zero", root.join("paper/tiny.csv")).expect("made");
    let ran = run(loaded(&root).unwrap(), &Run { threads: 2, points: Some(1), progress: &|_, _| {} });
    for result in [ran, kept(loaded(&root).unwrap())] {
        let problem = result.expect_err("a device").to_string();
        assert!(problem.contains("tiny.csv cannot be read: found a pipe, a socket or a device"), "{problem}");
    }
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
            let seeds: std::collections::BTreeSet<u64> = figure.jobs.iter().map(|job| job.experiment.seed).collect();
            let rows = spec.traces.len() * spec.points.len() * spec.arms.len() * seeds.len().max(1);
            if spec.has_runs() {
                assert_eq!(golden.lines().count(), 1 + rows, "{name}/{}: a row for each trace, point, arm and seed", figure.name);
            }
        }
    }
}

/// Catches a hypothesis that is changed after its run in one place, and a failed one that is left out of the page.
#[test]
fn hypotheses_of_lives_stand_in_their_readme_with_their_outcomes() {
    let paper = load(Path::new(EXPERIMENTS), "life", None, Path::new(EXPERIMENTS)).unwrap_or_else(|e| panic!("{e}"));
    let readme = std::fs::read_to_string(Path::new(EXPERIMENTS).join("life/README.md")).expect("a README");
    for figure in paper.figures.iter().filter(|figure| figure.name != "small") {
        let (hypothesis, outcome) = (&figure.spec.hypothesis, &figure.spec.outcome);
        assert!(!hypothesis.is_empty() && !outcome.is_empty(), "{}", figure.name);
        let row = format!("| `{}` | {hypothesis} | {outcome} |", figure.name);
        assert!(readme.contains(&row), "wanted in experiments/life/README.md: {row}");
    }
}

/// The page that helps to choose has the ends of the lives in the golden rows.
#[test]
fn the_chooser_has_the_ends_of_lives() {
    let read = |path: &str| std::fs::read_to_string(Path::new(EXPERIMENTS).join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let (sheet, page) = (sheet::Sheet::parse(&read("life/lives.csv")), read("../docs/choose.md"));
    let at = |name: &str| sheet.column(name).expect("a column");
    let (scheme, waf, writes, pe) = (at("scheme"), at("waf"), at("drive_writes"), at("pe_mean"));
    for name in sheet.distinct(scheme) {
        let of_scheme = || sheet.rows.iter().filter(|row| row[scheme] == name);
        let (first, last) = (of_scheme().next().expect("rows"), of_scheme().next_back().expect("rows"));
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let row = format!("| `{name}` | {:.2} | {:.0} | {:.0} |", number(&first[waf]), number(&last[writes]), number(&last[pe]));
        assert!(page.contains(&row), "wanted in docs/choose.md: {row}");
    }
}

#[test]
fn what_papers_state_lies_on_a_curve_or_is_words() {
    for name in papers(Path::new(EXPERIMENTS)).unwrap() {
        let paper = kept(load(Path::new(EXPERIMENTS), &name, None, Path::new(EXPERIMENTS)).unwrap()).unwrap();
        for (figure, drawing) in paper.figures.iter().flat_map(|figure| figure.drawings.iter().map(move |d| (figure, d))) {
            for stated in &drawing.published {
                assert!(!drawing.found(stated).is_empty(), "{name}/{}, {}: {stated:?} is nowhere", figure.name(), drawing.title);
            }
        }
    }
}

#[test]
fn studies_give_their_golden_rows() {
    for name in papers(Path::new(EXPERIMENTS)).unwrap() {
        let mut paper = load(Path::new(EXPERIMENTS), &name, None, Path::new(EXPERIMENTS)).unwrap();
        paper.figures.retain(|figure| figure.spec.study.is_some());
        for figure in run(paper, &Run { threads: 1, points: None, progress: &|_, _| {} }).unwrap().figures {
            assert!(matches!(figure.golden, Golden::Agrees(_)), "{name}/{}: {}", figure.name(), figure.golden_text());
        }
    }
}

#[test]
fn the_table_of_docs_is_that_of_the_golden_rows() {
    let experiments = Path::new(EXPERIMENTS);
    let all = papers(experiments).unwrap();
    let results: Vec<PaperResult> =
        all.iter().map(|name| kept(load(experiments, name, None, experiments).unwrap()).unwrap()).collect();
    let document = std::fs::read_to_string(experiments.join("../docs/reproduction.md")).expect("docs/reproduction.md");
    let (_, table) = document.split_once("<!-- generated -->\n").expect("a mark before what is generated");
    let first = table.lines().zip(reproduction(&results).lines()).find(|(kept, new)| kept != new).map(|pair| format!("{pair:?}"));
    assert_eq!(first, None, "take it from report/figures/reproduction.md of: flashkeep figures --kept");
    assert_eq!(table, reproduction(&results));
}

#[test]
fn measured_beside_ours_in_docs_is_that_of_the_golden_rows() {
    let experiments = Path::new(EXPERIMENTS);
    let results = [kept(load(experiments, "validation", None, experiments).unwrap()).unwrap()];
    let document = std::fs::read_to_string(experiments.join("../docs/validation.md")).expect("docs/validation.md");
    let (_, tables) = document.split_once("<!-- generated -->\n").expect("a mark before what is generated");
    assert_eq!(tables, validation(&results), "take it from report/figures/validation.md of: flashkeep figures validation --kept");
    // Fitted values go astray with any change of the engine's timing.
    let drawn = pictures(&results);
    assert_eq!(drawn.len(), 1, "the queue-depth curve");
    let kept =
        std::fs::read_to_string(experiments.join("../docs").join(&drawn[0].0)).expect("the picture is kept beside the tables");
    assert_eq!(kept, drawn[0].1, "take it from report/figures of: flashkeep figures validation --kept");
    let count = count(&results);
    assert!(count.fitted > 20 && count.predicted > 20, "{count:?}");
    assert!(count.fitted_within * 10 >= count.fitted * 8, "presets and measurements belong together: {count:?}");
    assert!(reproduction(&results).is_empty(), "measurements are in one table only");
}

#[test]
fn a_measurement_has_its_error_its_aim_and_what_is_missing() {
    let stated = "{ x = 8, y = 0.5, what = \"half\" }";
    let measured = "{ x = 8, y = 0.8, what = \"0.8\", by = \"us\", fitted = true, why = \"a spring\" }, { x = 4, y = 0.9, what = \"0.9\", by = \"us\" }, { x = 16, y = 2, what = \"words of a paper\" }";
    let text = TINY.replacen(stated, measured, 1).replacen("[[figure.traces]]\nname = \"dies 20 % busy\"\nbusy = 0.2\n", "", 1);
    let root = folder("measured", &text.replacen("[[figure.traces]]\nname = \"gone\"\nfile = \"no such file.xz\"\n", "", 1));
    let paper = run(loaded(&root).unwrap(), &Run { threads: 1, points: None, progress: &|_, _| {} }).unwrap();
    let papers = [paper];
    let tables = validation(&papers);
    assert!(
        tables.contains("| Ratio, gap, ms 8: ratio | 0.800 | us (0.8) | 1.000 | +25.0 % **miss** | fitted, 5 % | a spring |"),
        "{tables}"
    );
    assert!(tables.contains("| Ratio, gap, ms 4: ratio | 0.900 | us (0.9) | 1.000 | +11.1 % | predicted, 20 % | |"), "{tables}");
    assert_eq!(count(&papers), Count { fitted: 1, fitted_within: 0, predicted: 1, predicted_within: 1 });
    assert!(reproduction(&papers).contains("words of a paper") && !reproduction(&papers).contains("a spring"));
    assert!(complaint("aim", stated, "{ x = 8, y = 0.5, what = \"half\", within = 2.0 }").contains("published.0.within"));
    assert!(complaint("number", stated, "{ x = 8, what = \"half\", by = \"us\" }").contains("published.0.y"));
}

#[test]
fn both_sides_of_every_ratio_have_the_same_pages_for_the_host() {
    // Else addresses that exceed the drive are folded into different places of the two.
    let experiments = Path::new(EXPERIMENTS);
    for name in papers(experiments).unwrap() {
        for figure in load(experiments, &name, None, experiments).unwrap_or_else(|e| panic!("{e}")).figures {
            let text = std::fs::read_to_string(&figure.path).expect("read before");
            let document = experiment::Document::parse(&figure.name, &text).expect("read before");
            for point in 0..figure.spec.points.len() {
                let pages = |arm: usize| {
                    let experiment = spec::job(&document, None, [0, point, arm]).unwrap_or_else(|e| panic!("{e}"));
                    experiment::plan(&experiment, 1 << 17).unwrap_or_else(|e| panic!("{e}")).user_slots
                };
                let is_ratio = figure.spec.plots.iter().any(|plot| plot.over.is_some());
                assert!(!is_ratio || (1..figure.spec.arms.len()).all(|arm| pages(arm) == pages(0)), "{}, {point}", figure.name);
            }
        }
    }
}

#[test]
fn small_figures_give_their_golden_rows() {
    let experiments = Path::new(EXPERIMENTS);
    for name in papers(experiments).unwrap() {
        let paper = load(experiments, &name, Some("small"), experiments).unwrap_or_else(|e| panic!("{e}"));
        let rows = match &paper.figures[0].spec.life {
            Some(_) => paper.figures[0].lives.iter().map(|one| one.schemes.len() * one.seeds as usize).sum(),
            None => paper.figures[0].jobs.len(),
        };
        let paper = run(paper, &Run { threads: 2, points: None, progress: &|_, _| {} }).unwrap_or_else(|e| panic!("{e}"));
        let said = format!("after a meant change: flashkeep figures {name} --only small; {}", paper.figures[0].golden_text());
        assert_eq!(paper.figures[0].golden, Golden::Agrees(rows), "{said}");
    }
}

/// Traces beside each other, and what is stated of one of them.
fn bars() -> String {
    let (head, rest) = TINY.split_once("x = { name").expect("an axis");
    let plots = &rest[rest.find("[[figure.arms]]").expect("arms")..];
    let traces = "[[figure.traces]]\nname = \"slow\"\n[[figure.traces]]\nname = \"quick\"\nset = { generate.arrivals = { every = \"1ms\" } }\n";
    let stated = "published = [{ x = \"mean\", of = \"mirror of none\", y = 0.5, what = \"half\", why = \"it is a mirror\" }]";
    let plots = plots.replacen("published = [{ x = 8, y = 0.5, what = \"half\" }]", &format!("mean = true\n{stated}"), 1);
    format!("{head}{traces}{plots}")
}

#[test]
fn without_an_axis_traces_stand_beside_each_other_with_their_mean() {
    let root = folder("bars", &bars());
    let figure = ran(&root, 1, None);
    assert_eq!(figure.csv_rows().len(), 1 + 2 * 2, "two traces, two arms");
    let drawing = &figure.drawings[0];
    assert_eq!(drawing.categories, ["slow", "quick", "mean"]);
    assert_eq!(drawing.curves[0].points, [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)], "equal settings");
    assert_eq!(drawing.found(&drawing.published[0]), [1.0]);
    let busy = &figure.drawings[1].curves[0].points;
    assert!(busy[1].1 > 3.0 * busy[0].1, "four times the requests a second: {busy:?}");

    std::fs::write(root.join("paper/tiny.csv"), figure.to_csv()).expect("written");
    let paper = kept(loaded(&root).unwrap()).unwrap();
    assert_eq!(paper.figures[0].golden, Golden::Kept(4));
    assert_eq!(paper.figures[0].drawings[1].curves[0].points, *busy, "drawn from the CSV as from the runs");
    let table = reproduction(&[paper]);
    assert!(table.contains("| tiny | Ratio (ratio), mirror of none, mean | 0.500: half | 1.000 | it is a mirror |"), "{table}");
}

#[test]
fn a_study_is_a_figure_too() {
    let text = r#"[figure]
title = "Capability"
source = "none"
x = { name = "P/E cycles", key = "pe_cycles" }
study = { name = "required-t", set = { pe = "1000,10000", retention = "1mo,1y" } }
[[figure.plots]]
title = "t"
y = "bits"
value = "t"
by = ["retention_h"]
[[figure.plots]]
title = "t after a year"
y = "bits"
value = "t"
only = { retention_h = "8760" }
"#;
    let figure = ran(&folder("study", text), 1, None);
    let names: Vec<&str> = figure.drawings[0].curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["30.4 d", "365 d"]);
    // Theory of the FLARES table.
    assert_eq!(figure.drawings[1].curves[0].points, [(1000.0, 9.0), (10_000.0, 50.0)]);
    for (from, to, wanted) in [
        ("value = \"t\"", "value = \"tt\"", "unknown column `tt`"),
        ("name = \"required-t\"", "name = \"required\"", "unknown study `required`"),
        ("set = { pe", "table = \"no\", set = { pe", "unknown table `no`"),
        ("set = { pe", "plot = \"no\", set = { pe", "unknown plot `no`"),
    ] {
        let root = folder("study-wrong", &text.replacen(from, to, 1));
        let paper = loaded(&root).unwrap();
        let said = run(paper, &Run { threads: 1, points: None, progress: &|_, _| {} }).expect_err("a complaint").to_string();
        assert!(said.contains(wanted), "{said}");
    }
    let both = text.replacen("[[figure.plots]]", "[[figure.arms]]\nname = \"a\"\n[[figure.plots]]", 1);
    let said = loaded(&folder("study-arms", &both)).map(|_| ()).expect_err("a complaint").to_string();
    assert!(said.contains("figure.arms: a study, a census or lives have no runs"), "{said}");
}

#[test]
fn repeated_runs_are_all_rows_and_one_point_with_its_interval() {
    let one = ran(&folder("seed", TINY), 2, None);
    let text = format!("seeds = 3\n{TINY}");
    let figure = ran(&folder("seeds", &text), 2, None);
    assert_eq!(column(&figure, "seed")[..6], ["1", "2", "3", "1", "2", "3"]);
    assert_eq!(figure.csv_rows().len() - 1, 3 * (one.csv_rows().len() - 1));
    assert!(one.csv_rows().iter().all(|row| figure.csv_rows().contains(row)), "seed 1 is the run without repetitions");
    // Arms of equal settings: a ratio of one under every seed, and no width.
    let ratio = &figure.drawings[0].curves[0];
    assert_eq!((ratio.points[0], ratio.ends_at(4.0)), ((4.0, 1.0), Some((1.0, 1.0))));
    let loads: Vec<f64> = column(&figure, "offered_load")[..3].iter().map(|load| load.parse().expect("a number")).collect();
    let (own, interval) = (&figure.drawings[1].curves[0], lab::Interval::of(&loads).expect("three"));
    assert_eq!(own.at(4.0), Some(interval.mean));
    assert_eq!(own.ends_at(4.0), Some((interval.low(), interval.high())));
    assert!(one.drawings.iter().flat_map(|drawing| &drawing.curves).all(|curve| curve.ends.is_empty()));
    assert!(figure.to_text().contains(" to ") && figure.hint(&figure.drawings[0]).contains("95 %"));
}

/// Requests and pages of the host are of the time until the last answer, pages and energy of flash of that until the drive rests. Catches
/// a rate over another time than that of its count.
#[test]
fn rates_are_over_the_time_that_they_were_counted_in() {
    let mut run = ssd::RunResult::default();
    (run.replay.simulated_s, run.flash.rested_s) = (2.0, 4.0);
    (run.host.read_pages, run.host.latency_us.count) = (100, 10);
    run.flash.programs = [("host".to_owned(), 300)].into();
    run.flash.energy_j = [("program".to_owned(), 8.0)].into();
    let of = |key: &str| values::VALUES.iter().find(|value| value.key == key).expect("known").of(&run);
    assert_eq!((of("host_pages_per_s"), of("requests_per_s")), (Some(50.0), Some(5.0)));
    assert_eq!((of("flash_pages_per_s"), of("power_mw")), (Some(75.0), Some(2000.0)));
}
