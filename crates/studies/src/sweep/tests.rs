use super::*;
use common::parts::{CAMPAIGN, Part, SWEEP};
use experiment::Experiment;
use lab::compare;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

const GRID: &str = r#"
schemes = ["none", "raid5"]
[trace]
source = "uniform"
[generate]
requests = 200
range = "4MiB"
[drive]
preset = "mlc-2014"
geometry.pages_per_block = 32

[[sweep.axes]]
key = "generate.read_fraction"
values = [0, 0.5]

[[sweep.axes]]
name = "age"
points = [
    { value = "fresh" },
    { value = "worn", set = { age.pe_cycles = 3000, seed = 7 } },
    { value = "third", set = { seed = 9 } },
]
"#;

fn grid(text: &str) -> Grid {
    Grid::parse("grid.toml", text, Path::new("")).unwrap_or_else(|e| panic!("{e}"))
}

/// A directory of one test, empty at its start.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashkeep-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn open(&self) -> Directory {
        Directory::open(&self.0, &SWEEP).unwrap_or_else(|e| panic!("{e}"))
    }

    fn runs(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join("runs")).expect("made");
        let mut names: Vec<String> = entries.map(|e| e.expect("read").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn swept(grid: &Grid, directory: &Directory, threads: usize) -> Result<Summary, Problem> {
    sweep(grid, directory, &Sweeper { threads, progress: &|_, _| {} })
}

fn bytes(directory: &Directory) -> Vec<u8> {
    std::fs::read(directory.results()).expect("merged")
}

#[test]
fn a_grid_is_all_combinations_the_last_axis_fastest() {
    let grid = grid(GRID);
    assert_eq!(grid.len(), 6);
    let runs = grid.runs().unwrap_or_else(|e| panic!("{e}"));
    let shown: Vec<_> = runs.iter().map(|run| (run.axes[0].1.clone(), run.axes[1].1.clone())).collect();
    let expected = [(0.0, "fresh"), (0.0, "worn"), (0.0, "third"), (0.5, "fresh"), (0.5, "worn"), (0.5, "third")];
    for ((fraction, age), (value, label)) in expected.into_iter().zip(&shown) {
        assert_eq!((value.as_f64(), label.as_str()), (Some(fraction), Some(age)));
    }
    for run in &runs {
        let experiment = &run.experiment;
        let generate = experiment.generate.as_ref().expect("generated");
        assert_eq!(Some(generate.read_fraction), run.axes[0].1.as_f64());
        let (seed, cycles) = [(1, 0), (7, 3000), (9, 0)][run.index % 3];
        assert_eq!((experiment.seed, experiment.age.pe_cycles.0), (seed, cycles));
        assert_eq!(grid.run(run.index).unwrap().key, run.key);
    }
}

#[test]
fn a_run_of_a_grid_is_the_experiment_that_one_would_write_by_hand() {
    let by_hand = GRID.split("[[sweep").next().expect("text").replace("[generate]", "[generate]\nread_fraction = 0.5");
    let experiment = Experiment::parse("hand.toml", &format!("seed = 7\n{by_hand}[age]\npe_cycles = 3000\n")).unwrap();
    let run = grid(GRID).run(4).unwrap();
    assert_eq!(run.experiment, experiment);
    let bench = Bench { threads: 2, clock: &|| 1.5, progress: &|_| {} };
    assert_eq!(run.part().unwrap().rows, compare(&experiment, &bench).unwrap().rows());
}

#[test]
fn threads_order_and_interruptions_cannot_be_seen_in_the_results() {
    let (serial, other) = (Scratch::new("serial"), Scratch::new("other"));
    let grid = grid(GRID);
    let summary = swept(&grid, &serial.open(), 1).unwrap();
    assert_eq!(
        summary,
        Summary { runs: 6, found: 0, others: 0, rows: 12, failed: vec![], refused: vec![], warned: summary.warned.clone() }
    );
    // Another process did run 3, was killed in run 1, and then swept on.
    let directory = other.open();
    directory.keep(&grid.run(3).unwrap().part().unwrap()).unwrap();
    let left = other.0.join(format!("runs/{:016x}.99-0.part", grid.run(1).unwrap().key));
    std::fs::write(&left, "{\"flashk").unwrap();
    let heard = Mutex::new(Vec::new());
    let note = |done, all| heard.lock().expect("no panic").push((done, all));
    let summary = sweep(&grid, &directory, &Sweeper { threads: 3, progress: &note }).unwrap();
    assert_eq!((summary.found, summary.rows), (1, 12));
    assert_eq!(bytes(&directory), bytes(&serial.open()));
    assert_eq!(other.runs(), serial.runs());
    let mut heard = heard.into_inner().expect("no panic");
    heard.sort_unstable();
    assert_eq!(heard, [(1, 6), (2, 6), (3, 6), (4, 6), (5, 6), (6, 6)]);
    assert_eq!(swept(&grid, &directory, 2).unwrap().found, 6);
    assert_eq!(bytes(&directory), bytes(&serial.open()));
}

#[test]
fn a_larger_grid_keeps_the_runs_of_a_smaller_one() {
    let scratch = Scratch::new("larger");
    let directory = scratch.open();
    let smaller = GRID.replace("[0, 0.5]", "[0.5]");
    swept(&grid(&smaller), &directory, 2).unwrap();
    let small = bytes(&directory);
    assert_eq!(swept(&grid(GRID), &directory, 2).unwrap().found, 3);
    assert_ne!(bytes(&directory), small);
    let again = swept(&grid(&smaller), &directory, 2).unwrap();
    assert_eq!((again.found, again.others), (3, 3));
    assert_eq!(bytes(&directory), small);
}

/// Fails if a run knows anything of the runs before it on its drive, if runs whose drives differ share one, or if
/// each run prepares its own.
#[test]
fn runs_of_a_group_give_what_they_give_alone_and_share_a_drive_for_each_scheme() {
    let grid = grid(GRID);
    // Neither in order nor all of them: run 3 has no other that begins with its drives.
    let groups = grid.groups(&[5, 1, 4, 3, 2]).unwrap();
    assert_eq!(groups.iter().map(Group::runs).collect::<Vec<_>>(), [vec![5, 2], vec![1, 4], vec![3]]);
    for group in &groups {
        for run in group.runs() {
            let alone = grid.run(run).unwrap().part().unwrap();
            assert_eq!(group.part(run).expect("of this group").to_text(), alone.to_text(), "run {run}");
        }
        assert!(group.part(0).is_none());
    }
    let kept: Vec<usize> = groups.iter().map(Group::drives).collect();
    assert_eq!(kept, [2, 2, 0], "a drive for each of two schemes, none kept for a run that is alone");
}

#[test]
fn damaged_and_foreign_files_are_named() {
    let scratch = Scratch::new("damaged");
    let (grid, directory) = (grid(&GRID.replace("[0, 0.5]", "[0.5]")), scratch.open());
    let [key, other] = [0, 1].map(|index| grid.run(index).unwrap().key);
    let path = scratch.0.join(format!("runs/{key:016x}.json"));
    let good = grid.run(0).unwrap().part().unwrap().to_text();
    let refused = |bytes: &[u8], says: &str| {
        std::fs::write(&path, bytes).unwrap();
        let problem = swept(&grid, &directory, 1).unwrap_err().to_string();
        assert!(problem.contains(&format!("{key:016x}.json")) && problem.contains(says), "{says}: {problem}");
    };
    // Every cut of the text, and a bit flipped anywhere, is noticed.
    for cut in (0..good.len()).step_by(97) {
        refused(&good.as_bytes()[..cut], "");
    }
    for at in (0..good.len()).step_by(89) {
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 4;
        refused(&bytes, "");
    }
    refused(b"", "is no part of a sweep");
    refused(b"\xff\xfe", "cannot be read");
    refused(&vec![b'{'; (64 << 20) + 1], "at most 64MiB are valid");
    refused(good.replacen("\"version\":\"", "\"version\":\"9", 1).as_bytes(), "was made by Flashkeep 9");
    refused(good.replacen("\"none\"", "\"nine\"", 1).as_bytes(), "its check sum is wrong");
    refused(good.replacen(&format!("{key:016x}"), &format!("{other:016x}"), 1).as_bytes(), "it was renamed");
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    let problem = swept(&grid, &directory, 1).unwrap_err().to_string();
    assert!(problem.contains("a device, wanted a regular file"), "{problem}");
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &good).unwrap();
    std::fs::write(scratch.0.join("runs/notes.txt"), "mine").unwrap();
    let problem = swept(&grid, &directory, 1).unwrap_err().to_string();
    assert!(problem.contains("notes.txt is no part of a sweep"), "{problem}");
    std::fs::remove_file(scratch.0.join("runs/notes.txt")).unwrap();
    assert_eq!(swept(&grid, &directory, 1).unwrap().found, 1);
    let problem = Directory::open(&scratch.0, &CAMPAIGN).unwrap_err().to_string();
    assert!(problem.contains("is the directory of a sweep: run the campaign into another directory"), "{problem}");
}

#[test]
fn a_grid_that_makes_no_sense_is_refused_with_its_place() {
    let axis = |axis: &str| format!("[[sweep.axes]]\n{axis}\n");
    let set = "[[sweep.axes]]\nname = \"n\"\npoints = [{ value = 1, set = { seed = 2 } }]\n";
    let many = axis("key = \"seed\"\nvalues = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
    let cases = [
        ("".to_owned(), "`sweep` is missing"),
        ("[sweep]\naxes = []".to_owned(), "g.toml:2:8: sweep.axes: found none"),
        (axis("key = \"seed\""), "sweep.axes.0: wanted `key` with `values`, or `name` with `points`"),
        (axis("key = \"seed\"\nvalues = []"), "g.toml:3:10: sweep.axes.0.values: found none"),
        (axis("points = [{ value = 1 }]"), "`name` is missing"),
        (axis("name = \"waf\"\nkey = \"seed\"\nvalues = [1]"), "g.toml:2:8: sweep.axes.0.name: `waf` is a column"),
        (axis("key = \"seed\"\nvalues = [1]\nsteps = 3"), "unknown key `steps`"),
        (axis("key = \"sweep.axes\"\nvalues = [1]"), "`sweep` is no setting"),
        (axis("key = \"gc.polcy\"\nvalues = [\"fifo\"]"), "g.toml:3:11: gc.polcy: unknown key `polcy`"),
        (axis("key = \"gc.policy\"\nvalues = [\"fifo\", \"gredy\"]"), "g.toml:3:19: gc.policy: unknown policy `gredy`"),
        (axis("key = \"seed\"\nvalues = [1, 2, 1]"), "run 2 (seed = 1): sweep.axes: run 0 is the same experiment"),
        (format!("{}{set}", axis("key = \"seed\"\nvalues = [1, 2]")), "run 0 is the same experiment"),
        (format!("{many}{many}"), "two axes are called `seed`"),
        ((0..6).map(|n| many.replace("key", &format!("name = \"a{n}\"\nkey"))).collect(), "more than 100000 runs"),
    ];
    for (text, says) in cases {
        let found = Grid::parse("g.toml", &text, Path::new("")).and_then(|grid| grid.runs());
        let problem = found.map(|runs| runs.len()).expect_err(&text).to_string();
        assert!(problem.contains(says), "{text}\nlacks {says}: {problem}");
    }
}

#[test]
fn a_run_that_cannot_be_run_is_named_and_the_others_are_kept() {
    let scratch = Scratch::new("refused");
    let text = GRID
        .replace("generate.read_fraction", "capacity.over_provisioning")
        .replace("[0, 0.5]", "[0.01, 0.5]")
        .replace("[\"none\", \"raid5\"]", "[\"raid5\"]")
        .replace("4MiB", "256MiB");
    let (grid, directory) = (grid(&text), scratch.open());
    let summary = swept(&grid, &directory, 2).unwrap();
    let [(0, problem), (1, _), (2, _)] = &summary.refused[..] else { panic!("{:?}", summary.refused) };
    assert!(problem.contains("run 0 (capacity.over_provisioning = 0.01, age = \"fresh\")"), "{problem}");
    assert_eq!(scratch.runs().len(), 3, "those that could be run");
    // One row for the corner, which has its axes, and all rows of the others.
    let table = std::fs::read_to_string(scratch.0.join("results.csv")).unwrap();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len() - 1, summary.rows);
    assert!(lines[0].split(',').any(|name| name == "problem") && lines[1].contains("0.01"), "{}", lines[1]);
    assert_eq!(lines.iter().filter(|line| line.contains("run 0 (")).count(), 1);
    let again = swept(&grid, &directory, 2).unwrap();
    assert_eq!((again.found, again.refused), (3, summary.refused), "it is tried again");
}

#[test]
fn traces_are_told_apart_by_what_they_hold_and_paths_count_from_the_grid() {
    let scratch = Scratch::new("traces");
    std::fs::create_dir_all(scratch.0.join("other")).unwrap();
    std::fs::write(scratch.0.join("t.spc"), "0,0,4096,w,0.0\n0,8,4096,r,0.5\n").unwrap();
    std::fs::write(scratch.0.join("other/t.spc"), "0,0,4096,w,0.0\n0,16,4096,r,0.5\n").unwrap();
    let text = "schemes = [\"none\"]\ntrace.format = \"spc\"\n[[sweep.axes]]\nkey = \"trace.source\"\n\
                values = [\"t.spc\", \"other/t.spc\"]\n";
    let grid = Grid::parse("grid.toml", text, &scratch.0).unwrap();
    let keys = || grid.runs().unwrap().iter().map(|run| run.key).collect::<Vec<_>>();
    let before = keys();
    assert_ne!(before[0], before[1]);
    std::fs::write(scratch.0.join("t.spc"), "0,0,4096,w,0.0\n0,8,4096,w,0.5\n").unwrap();
    assert_ne!(keys()[0], before[0], "another content is another run");
    std::fs::write(scratch.0.join("t.spc"), "0,0,4096,w,0.0\n0,16,4096,r,0.5\n").unwrap();
    assert!(grid.runs().is_err(), "the same content under the same name is the same run");
}

/// Fails if a process that is done with all parts cannot stand that another one still writes one of them.
#[test]
fn one_process_may_tidy_up_while_another_keeps_parts() {
    let (scratch, is_over) = (Scratch::new("tidy"), AtomicBool::new(false));
    let (directory, part) = (scratch.open(), Part { key: 7, rows: Vec::new() });
    directory.keep(&part).expect("a first part");
    std::thread::scope(|threads| {
        let tidier = threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                directory.tidy(&BTreeSet::from([7])).unwrap_or_else(|problem| panic!("{problem}"));
            }
        });
        (0..400).for_each(|_| directory.keep(&part).unwrap_or_else(|problem| panic!("{problem}")));
        is_over.store(true, Ordering::Relaxed);
        tidier.join().expect("it tidied up");
    });
}

fn numbers(rows: &[Row], scheme: &str, column: &str) -> Vec<f64> {
    rows.iter().filter(|row| row["scheme"] == scheme).map(|row| row[column].as_f64().expect("a number")).collect()
}

/// Catches a mean, an interval or a difference that is not that of the comparison under its seeds, and drives of one seed that another
/// begins with: runs of the sweep share theirs, a comparison has its own.
#[test]
fn a_repeated_run_is_the_comparison_under_its_seeds_and_its_row_is_made_of_all_of_them() {
    let scratch = Scratch::new("seeds");
    let (one_axis, _) = GRID.split_once("\n[[sweep.axes]]\nname").expect("it has two");
    let one_axis = one_axis.replace("[0, 0.5]", "[0.4, 0.5]");
    let (once, grid) = (grid(&one_axis), grid(&one_axis).with_seeds("--seeds 3", 3).unwrap());
    let directory = scratch.open();
    let summary = swept(&grid, &directory, 2).unwrap();
    assert_eq!((summary.runs, summary.rows), (2, 4));
    assert!(scratch.0.join("repetitions.parquet").is_file());
    let bench = Bench { threads: 2, clock: &|| 0.0, progress: &|_| {} };
    for run in grid.runs().unwrap() {
        let part = directory.part(run.key).unwrap();
        let comparison = compare(&run.experiment, &bench).unwrap();
        let seeds = comparison.seeds.as_ref().expect("it was repeated");
        let (raw, rows) = (run.repetitions(&part), run.rows(&part));
        let digests = |rows: &[Row]| rows.iter().map(|row| row["event_digest"].clone()).collect::<Vec<_>>();
        assert_eq!((raw.len(), digests(&raw)), (6, digests(&seeds.rows())));
        assert_eq!((rows.len(), rows[1]["scheme"].as_str(), rows[1]["seeds"].as_u64()), (2, Some("raid5"), Some(3)));
        let placed = |row: &Row| (row["run"].clone(), row["generate.read_fraction"].clone());
        assert_eq!(placed(&rows[1]), placed(&raw[0]));
        for (at, scheme) in ["none", "raid5"].into_iter().enumerate() {
            for column in ["waf", "flash_reads", "latency_us_p99"] {
                let mean = numbers(&raw, scheme, column).iter().sum::<f64>() / 3.0;
                assert!((rows[at][column].as_f64().expect("a mean") - mean).abs() <= 1e-12 * mean, "{scheme} {column}");
            }
        }
        // By hand: t of 2 degrees of freedom is 4.303.
        let pairs: Vec<(f64, f64)> =
            numbers(&raw, "raid5", "energy_j").into_iter().zip(numbers(&raw, "none", "energy_j")).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / 3.0;
        let half = |values: &[f64]| {
            let squares: f64 = values.iter().map(|value| (value - mean(values)).powi(2)).sum();
            4.303 * (squares / 2.0 / 3.0).sqrt()
        };
        let energies: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.0 - pair.1).collect();
        let value = |column: &str| rows[1][column].as_f64().unwrap_or_else(|| panic!("{column}: {:?}", rows[1][column]));
        let is = |found: f64, expected: f64| (found - expected).abs() <= 1e-4 * expected.abs();
        assert!(is(value("energy_j_high") - value("energy_j_low"), 2.0 * half(&energies)));
        assert!(is(value("energy_j_difference"), mean(&differences)));
        assert!(is(value("energy_j_difference_high") - value("energy_j_difference"), half(&differences)));
        let product: f64 = pairs.iter().map(|pair| pair.0 / pair.1).product();
        assert!(is(value("energy_j_ratio"), product.cbrt()));
        assert!(rows[0]["energy_j_ratio"].is_null() && !rows[0]["energy_j_low"].is_null(), "the first scheme is against itself");
        let warned: Vec<String> = comparison.warnings();
        assert_eq!(rows[0]["notes"].as_str().map(|notes| notes.starts_with("seeds: 3 repetitions")), Some(true));
        let said = rows[0]["warnings"].as_str().unwrap_or_default();
        assert!(!said.is_empty() && said.split(" | ").all(|warning| warned.iter().any(|known| known == warning)), "{said}");
    }
    // Catches rows of seeds that stay beside the results of a later sweep without any.
    swept(&once, &directory, 2).unwrap();
    assert!(!scratch.0.join("repetitions.parquet").exists(), "these results have no seeds");
}

#[test]
fn seeds_beside_an_axis_of_seeds_are_refused_and_so_are_too_many() {
    let axis = "[[sweep.axes]]\nkey = \"seed\"\nvalues = [1, 2]\n";
    let refused = |grid: Grid, seeds: u32| grid.with_seeds("--seeds", seeds).and_then(|grid| grid.runs()).expect_err("refused");
    assert!(refused(grid(&format!("{GRID}\n{axis}")), 2).to_string().contains("an axis of seeds"));
    assert!(refused(grid(GRID), 101).to_string().contains("valid is 1 to 100"));
    let name = grid_refusal("waf_ratio_low");
    assert!(name.contains("is a column of the results"), "{name}");
}

fn grid_refusal(name: &str) -> String {
    let text = GRID.replace("name = \"age\"", &format!("name = \"{name}\""));
    Grid::parse("grid.toml", &text, Path::new("")).expect_err("a column").to_string()
}

/// Files of the runs of a grid, by folder.
fn files(scratch: &Scratch, folder: &str) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(scratch.0.join(folder)).expect("made").map(|entry| entry.expect("read").path());
    let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|path| (name(&path), std::fs::read(&path).expect("read"))).collect();
    files.sort();
    files
}

/// Catches a series or a log that is not that of the run, a table that changes because they are kept, and one that is missing after a
/// sweep into a directory whose runs were done without them.
#[test]
fn series_and_logs_of_runs_are_those_of_the_comparison_and_change_no_row() {
    let (plain, scratch) = (Scratch::new("plain"), Scratch::new("beside"));
    let (one_axis, _) = GRID.split_once("\n[[sweep.axes]]\nname").expect("it has two");
    let (grid, directory) = (grid(one_axis), scratch.open());
    swept(&grid, &plain.open(), 2).unwrap();
    // The first run was done before, and without them.
    directory.keep(&grid.run(0).unwrap().part().unwrap()).unwrap();
    let left = scratch.0.join(format!("logs/{:016x}.99-0.part", grid.run(1).unwrap().key));
    let grid = grid.with_files(Beside::new(&scratch.0, true, true).unwrap());
    std::fs::write(&left, "killed").unwrap();
    assert_eq!(swept(&grid, &directory, 2).unwrap().found, 0, "what is not there is run again");
    assert_eq!((bytes(&directory), scratch.runs()), (bytes(&plain.open()), plain.runs()));
    let (series, logs) = (files(&scratch, "series"), files(&scratch, "logs"));
    assert_eq!((series.len(), logs.len()), (2, 2), "and nothing else is left");
    let index = std::fs::read_to_string(scratch.0.join("runs.csv")).unwrap();
    for (run, line) in grid.runs().unwrap().iter().zip(index.lines().skip(1)) {
        let name = format!("{:016x}.parquet", run.key);
        let fraction = &run.axes[0].1;
        assert_eq!(line, format!("{},{fraction},series/{name},logs/{name}", run.index));
        let log = scratch.0.join("alone.parquet");
        let bench = Bench { threads: 1, clock: &|| 0.0, progress: &|_| {} };
        let requests = lab::RequestLog::new(&log).unwrap();
        let comparison = lab::compare_logged(&run.experiment, &bench, Some(&requests)).unwrap();
        requests.finish().unwrap();
        let of = |files: &[(String, Vec<u8>)]| files.iter().find(|(known, _)| *known == name).expect("it is there").1.clone();
        assert_eq!(of(&logs), std::fs::read(&log).unwrap());
        assert_eq!(of(&series), parquet_bytes(&Columns::of(&comparison.series_rows())));
    }
    assert_eq!(swept(&grid, &directory, 2).unwrap().found, 2);
}

/// Catches an axis under a former name that is refused beside the present name, that has no effect, or that gives no hint.
#[test]
fn settings_under_former_names_are_those_under_present_names_with_a_hint() {
    let text = |base: &str, key: &str, values: &str| {
        format!("{base}\n{GRID}\n[[sweep.axes]]\nname = \"op\"\nkey = \"{key}\"\nvalues = {values}\n")
    };
    let present = grid(&text("", "capacity.over_provisioning", "[\"40% of raw\", \"50% of raw\"]"));
    assert!(present.hints().is_empty());
    let keys = |grid: &Grid| grid.runs().expect("valid").iter().map(|run| run.key).collect::<Vec<_>>();
    for base in ["", "capacity.over_provisioning = 0.07\n", "capacity.spare = 0.3\n"] {
        let former = grid(&text(base, "capacity.spare", "[0.4, 0.5]"));
        assert_eq!(keys(&former), keys(&present), "{base}");
        let hints = former.hints().join("\n");
        assert!(hints.contains("`capacity.spare` is now `capacity.over_provisioning = \"40% of raw\"`"), "{hints}");
        assert_eq!(former.hints().len(), 1 + usize::from(base.contains("spare")), "{hints}");
        // Each run has the hint of its own value.
        for run in former.runs().expect("valid") {
            let share = run.axes.last().and_then(|(_, value)| value.as_f64()).expect("a number");
            let own = format!("= \"{:.0}% of raw\"`", 100.0 * share);
            assert!(run.experiment.hints.last().is_some_and(|hint| hint.ends_with(&own)), "{:?}", run.experiment.hints);
        }
    }
}

/// Fails if a corner that no drive has ends the grid, or if a scheme that cannot run on a drive takes the rows of the others.
#[test]
fn a_corner_that_a_drive_refuses_costs_its_rows_alone() {
    let scratch = Scratch::new("corner");
    let text = GRID
        .replace("generate.read_fraction", "faults.dead_die")
        .replace("[0, 0.5]", "[1, 20]")
        .replace("schemes = [\"none\", \"raid5\"]", "schemes = [\"wide=raid5:data_strips=15\", \"none\", \"raid5\"]\nseeds = 2");
    let (grid, directory) = (grid(&text), scratch.open());
    let summary = swept(&grid, &directory, 2).expect("others can be run");
    assert_eq!(summary.refused.iter().map(|(run, _)| *run).collect::<Vec<_>>(), [3, 4, 5]);
    let problem = &summary.refused[0].1;
    assert!(
        problem.starts_with("run 3 (faults.dead_die = 20") && problem.contains("found 20, the drive has dies 0 to 7"),
        "{problem}"
    );
    let (first, last) = (grid.run(0).unwrap(), grid.run(5).unwrap());
    let rows = first.rows(&directory.part(first.key).unwrap());
    let names: Vec<&str> = rows.iter().filter_map(|row| row["scheme"].as_str()).collect();
    assert_eq!(names, ["none", "raid5", "wide"], "refused ones are behind the others");
    for row in &rows {
        let (warnings, is_refused) = (row["warnings"].as_str().expect("each has one"), row["scheme"] == "wide");
        assert_eq!(row.contains_key("problem"), is_refused);
        assert!(warnings.contains("`wide`") && (is_refused || row["waf"].is_f64() && row["seeds"] == 2), "{warnings}");
        assert!(row["faults.dead_die"] == 1 && (!is_refused || warnings.contains("scheme `wide` refuses")), "{warnings}");
    }
    assert_eq!(first.repetitions(&directory.part(first.key).unwrap()).len(), 2 * 2 + 1);
    let rows = last.rows(&last.part_or_problem(None));
    assert!(rows.len() == 1 && rows[0]["warnings"] == rows[0]["problem"], "{rows:?}");
    // All that is wrong with every run is no row.
    let all = Grid::parse("g.toml", &text.replace("[1, 20]", "[20]"), Path::new("")).unwrap();
    let problem = swept(&all, &scratch.open(), 1).expect_err("none can be run").to_string();
    assert!(problem.contains("dies 0 to 7"), "{problem}");
}
