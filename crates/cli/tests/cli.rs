//! The program as a user meets it: exit codes, messages with a place, what it prints and writes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A workload small enough to run in a test, on the real machine.
const SMALL: &str = r#"
drive.preset = "mlc-2014"
schemes = ["none", "raid5"]
[trace]
source = "zipf"
[generate]
requests = 2000
range = "16MiB"
read_fraction = 0.5
arrivals = { poisson = "2ms" }
"#;

/// A directory of one test, empty at its start.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn flashkeep(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    command.current_dir(directory).args(arguments).env_remove("COLUMNS").output().expect("the program starts")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the program ends by itself")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A directory with the small experiment in `small.toml`.
fn with_small(test: &str) -> PathBuf {
    let path = directory(test);
    std::fs::write(path.join("small.toml"), SMALL).expect("written");
    path
}

#[test]
fn a_run_prints_a_table_and_leaves_a_report() {
    let here = with_small("a_run");
    let output = flashkeep(&here, &["run", "small.toml", "--full"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "survives the failure of",
        "requests/s",
        "p99.99",
        "flash page programs",
        "write amplification",
        "energy  ",
        "reads checked",
        "report/index.html",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(stderr(&output), "", "silent in a pipe");
    let html = std::fs::read_to_string(here.join("report/index.html")).expect("written");
    assert!(html.starts_with("<!") && html.contains("raid5"));
}

/// Fails if a line of the screen is wider than the terminal.
#[test]
fn the_screen_is_no_wider_than_the_terminal() {
    let here = with_small("width");
    let lines = |columns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
        let command = command.current_dir(&here).args(["run", "small.toml", "--schemes", "none,raid5,ds-raid,mds-groups"]);
        let output = command.env("COLUMNS", columns).output().expect("the program starts");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    for (columns, tables) in [(120, 1), (80, 1), (60, 2)] {
        let screen = lines(&columns.to_string());
        assert!(screen.lines().all(|line| line.chars().count() <= columns), "{columns}: {screen}");
        assert_eq!(screen.matches("\nprotection\n").count(), tables, "{columns}: {screen}");
    }
}

#[test]
fn the_headline_is_a_picture_with_a_bar_for_each_scheme_and_the_command_that_made_it() {
    let here = with_small("plot");
    let output = flashkeep(&here, &["run", "small.toml", "--plot", "headline.svg", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let svg = std::fs::read_to_string(here.join("headline.svg")).expect("written");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("flashkeep run small.toml --plot headline.svg"));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let schemes = document["schemes"].as_array().expect("a list");
    assert!(svg.contains(">survives nothing<") && svg.contains(">survives 1 die<"), "what is cheap may protect nothing: {svg}");
    // A background, and a bar for each of four values of each scheme; the longest says the greatest value, and that the run is too short for it.
    assert_eq!(svg.matches("<rect").count(), 1 + 4 * schemes.len());
    let waf = schemes.iter().map(|scheme| scheme["waf"].as_f64().expect("a number")).fold(0.0, f64::max);
    assert!(svg.contains(&format!(">{waf:.3} !<")), "{waf}: {svg}");
}

#[test]
fn json_is_one_document_and_the_effective_experiment_repeats_it() {
    let here = with_small("json");
    let first = flashkeep(&here, &["run", "small.toml", "--json", "--report", "one", "--seed", "9", "--threads", "1"]);
    assert_eq!(code(&first), 0, "{}", stderr(&first));
    let second = flashkeep(&here, &["run", "one/experiment.toml", "--json", "--report", "two", "--threads", "2"]);
    assert_eq!(code(&second), 0, "{}", stderr(&second));
    let documents = [first, second].map(|output| serde_json::from_slice::<Value>(&output.stdout).expect("one JSON document"));
    let digests = documents.each_ref().map(|document| {
        let schemes = document["schemes"].as_array().expect("a list");
        schemes.iter().map(|scheme| scheme["event_digest"].clone()).collect::<Vec<_>>()
    });
    assert_eq!(digests[0], digests[1]);
    assert_eq!(documents[0]["experiment"], documents[1]["experiment"]);
    assert_eq!(documents[0]["experiment"]["seed"], 9);
    let written = |name: &str| std::fs::read_to_string(here.join(name)).expect("written");
    assert_eq!(written("one/experiment.toml"), written("two/experiment.toml"));
    let saved: Value = serde_json::from_str(&written("one/results.json")).expect("one JSON document");
    assert_eq!(saved, documents[0]);
}

#[test]
fn options_override_the_file_and_set_overrides_options() {
    let here = with_small("override");
    let arguments = [
        "run",
        "small.toml",
        "--json",
        "--schemes",
        "none",
        "--payload",
        "none",
        "--set",
        "payload=page",
        "--capacity",
        "8MiB",
        "--loops",
        "2",
    ];
    let output = flashkeep(&here, &arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let experiment = &document["experiment"];
    assert_eq!(experiment["payload"], "page");
    assert_eq!(experiment["capacity"]["size"], "8MiB");
    assert_eq!(document["schemes"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["schemes"][0]["requests"], 4000);
    assert!(document["warnings"].to_string().contains("is larger than"), "{}", document["warnings"]);
}

#[test]
fn lost_data_is_exit_code_1_and_says_how_to_repeat() {
    let here = with_small("lost");
    let arguments = ["run", "small.toml", "--schemes", "canary", "--set", "faults.dead_die=1", "--arrival", "closed=8"];
    let output = flashkeep(&here, &arguments);
    assert_eq!(code(&output), 1, "{}\n{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("WARNING: `canary` returned wrong data"), "{}", stdout(&output));
    assert!(stderr(&output).contains("flashkeep run report/experiment.toml"), "{}", stderr(&output));
    assert_eq!(code(&flashkeep(&here, &["run", "report/experiment.toml"])), 1, "the command repeats the failure");
}

/// (file, arguments, parts of the message)
const BAD: [(&str, &[&str], &[&str]); 14] = [
    (
        "[gc]\npolcy = 1",
        &["run", "bad.toml"],
        &["bad.toml:2:1: gc.polcy: unknown key `polcy`", "did you mean `policy`", "known: policy, choices"],
    ),
    ("seed = = 1", &["run", "bad.toml"], &["bad.toml:1:"]),
    (
        "schemes = [\"raid55\"]",
        &["run", "bad.toml"],
        &["bad.toml:1:12: schemes.0: unknown scheme `raid55`", "did you mean `raid5`"],
    ),
    ("", &["run", "absent.toml"], &["absent.toml cannot be read"]),
    ("", &["compare", "pgbnech"], &["unknown trace `pgbnech`", "did you mean `pgbench`"]),
    ("[trace", &["compare", "bad.toml"], &["bad.toml:1:"]),
    ("", &["compare", "--drive", "tcl"], &["--drive tcl: unknown drive `tcl`", "did you mean `tlc`"]),
    ("", &["compare", "--format", "blkpars"], &["unknown trace format `blkpars`"]),
    ("", &["compare", "--set", "gc.policy=lru"], &["--set gc.policy=lru: unknown policy `lru`", "greedy"]),
    ("", &["compare", "--set", "nonsense"], &["found no `=`"]),
    (
        "",
        &["compare", "--arrival", "often"],
        &["wanted auto, half-busy, recorded, load=SHARE, scaled=FACTOR or closed=QUEUE_DEPTH"],
    ),
    ("", &["compare", "--payload", "bytes"], &["unknown name `bytes`", "known: none, tag, page"]),
    ("", &["compare", "--threads", "0"], &["--threads"]),
    ("", &["list", "scheme"], &["unknown list `scheme`", "did you mean `schemes`"]),
];

#[test]
fn bad_input_is_exit_code_2_and_names_the_place() {
    let here = directory("bad");
    for (file, arguments, parts) in BAD {
        std::fs::write(here.join("bad.toml"), file).expect("written");
        let output = flashkeep(&here, arguments);
        assert_eq!(code(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        for part in parts {
            assert!(stderr(&output).contains(part), "{arguments:?} lacks {part}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_spare_below_the_redundancy_is_refused_with_numbers() {
    let here = with_small("spare");
    let output =
        flashkeep(&here, &["run", "small.toml", "--set", "capacity.over_provisioning=0.05", "--set", "generate.range=\"2GiB\""]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    let message = stderr(&output);
    for part in ["scheme `raid5`", "redundancy takes 12.5 %", "capacity.over_provisioning from 0.", "equal-op"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_broken_trace_line_is_named() {
    let here = directory("trace");
    std::fs::write(here.join("t.spc"), "0,0,4096,r,0.0\n0,8,4096,w,0.5\n0,16,x,w,0.6\n").expect("written");
    let output = flashkeep(&here, &["compare", "t.spc", "--format", "spc"]);
    assert_eq!(code(&output), 2, "{}", stdout(&output));
    assert!(stderr(&output).contains("t.spc, line 3, field"), "{}", stderr(&output));
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_run() {
    let here = with_small("report");
    let output = flashkeep(&here, &["run", "small.toml", "--report", "small.toml/report"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("--report: directory small.toml/report cannot be made"), "{}", stderr(&output));
}

#[test]
fn paths_in_a_file_count_from_the_file() {
    let here = directory("paths");
    std::fs::create_dir(here.join("inner")).expect("made");
    std::fs::write(here.join("inner/t.spc"), "0,0,4096,w,0.0\n0,8,4096,r,0.5\n").expect("written");
    let file = "schemes = [\"none\"]\ntrace.source = \"t.spc\"\ntrace.format = \"spc\"\n";
    std::fs::write(here.join("inner/e.toml"), file).expect("written");
    let output = flashkeep(&here, &["run", "inner/e.toml"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    // The effective experiment lies elsewhere and still finds the trace.
    let output = flashkeep(&here, &["run", "report/experiment.toml"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn lists_come_from_the_registries() {
    let here = directory("lists");
    let all: Value = serde_json::from_slice(&flashkeep(&here, &["list", "--json"]).stdout).expect("one JSON document");
    for list in studies::LISTS {
        let names: Vec<String> = (list.entries)().into_iter().map(|entry| entry.name).collect();
        let output = flashkeep(&here, &["list", list.name]);
        assert_eq!(code(&output), 0);
        let printed = stdout(&output);
        let starts: Vec<&str> =
            printed.lines().filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(starts, names, "{}", list.name);
        let entries = all[list.name].as_array().expect("a list");
        assert_eq!(entries.iter().map(|entry| entry["name"].as_str().expect("a text")).collect::<Vec<_>>(), names);
    }
    // One entry has its options, the list has none.
    let [all, one] =
        [&["list", "schemes"][..], &["list", "schemes", "raid5"]].map(|arguments| stdout(&flashkeep(&here, arguments)));
    assert!(!all.contains("data_strips =") && one.starts_with("raid5 ") && one.contains("data_strips ="), "{one}");
    let absent = flashkeep(&here, &["list", "schemes", "raid55"]);
    assert!(code(&absent) == 2 && stderr(&absent).contains("did you mean `raid5`"), "{}", stderr(&absent));
    let on_tlc = stdout(&flashkeep(&here, &["list", "schemes", "--drive", "tlc-ganged"]));
    let after =
        |name: &str| on_tlc.lines().skip_while(|line| !line.starts_with(name)).nth(1).unwrap_or_default().trim().to_owned();
    assert!(
        after("ds-raid ").starts_with("runs on tlc-ganged") && after("raid5 ").starts_with("does not run on tlc-ganged: "),
        "{on_tlc}"
    );
    let wrong = flashkeep(&here, &["list", "drives", "--drive", "tlc"]);
    assert_eq!((code(&wrong), stderr(&wrong).contains("--drive")), (2, true), "{}", stderr(&wrong));
    let help = stdout(&flashkeep(&here, &["compare", "--help"]));
    for name in ["ds-raid", "mlc-mqsim-16g", "blkparse", "pgbench", "jesd219-like"] {
        assert!(help.contains(name), "help lacks {name}");
    }
}

#[test]
fn a_study_prints_a_table_csv_or_json_and_writes_one_page() {
    let here = directory("reliability");
    let small = ["reliability", "required-t", "--pe", "10000", "--retention", "1d,1y"];
    let with = |more: &[&str]| flashkeep(&here, &[&small, more].concat());
    let table = with(&["--plot", "t.html"]);
    assert_eq!((code(&table), stderr(&table)), (0, String::new()));
    let lines: Vec<String> = stdout(&table).lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in ["P/E cycles \\ retention 1 d 365 d", "10 000 8 50"] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    let html = std::fs::read_to_string(here.join("t.html")).expect("written");
    assert!(html.starts_with("<!") && html.contains("Bit errors to correct over wear"));

    let document: Value = serde_json::from_slice(&with(&["--json"]).stdout).expect("one JSON document");
    let rows = document["tables"]["required_t"].as_array().expect("a table");
    assert_eq!(rows.iter().map(|row| row["t"].as_u64()).collect::<Vec<_>>(), [Some(8), Some(50)]);
    let csv = stdout(&with(&["--csv"]));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "pe_cycles,retention_h,rber,t,parity_bytes"));
    assert!(lines[2].starts_with("10000,8760,0.000675") && lines[2].ends_with(",50,100"), "{}", lines[2]);

    // The command that a study names gives it again.
    let again = document["command"].as_str().expect("a text").to_owned() + " --json";
    let again: Vec<&str> = again.split(' ').skip(1).collect();
    assert_eq!(serde_json::from_slice::<Value>(&flashkeep(&here, &again).stdout).expect("one JSON document"), document);
    assert_eq!(flashkeep(&here, &["reliability"]).stdout, flashkeep(&here, &["list", "studies"]).stdout);
}

#[test]
fn a_study_refuses_bad_input_with_exit_code_2() {
    let here = directory("reliability_bad");
    for (arguments, parts) in [
        (["required", "--pe", "1"], ["unknown study `required`", "known: required-t, uber-targets, fit, retention"]),
        (["retention", "--model", "flaers"], ["--model: unknown error model `flaers`", "did you mean `flares`"]),
        (["retention", "--schemes", "7+1"], ["unexpected argument '--schemes' found", "flashkeep reliability retention"]),
        (["uper", "--schemes", "6x"], ["--schemes: found `6x`", "DATA+PARITY"]),
        (["uper", "--plot", "absent/x.html"], ["--plot: absent/x.html cannot be written", ""]),
        (["retention", "--modl", "none"], ["--modl", "--model"]),
    ] {
        let output = flashkeep(&here, &[&["reliability"], arguments.as_slice()].concat());
        assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{arguments:?}");
        parts.iter().for_each(|part| assert!(stderr(&output).contains(part), "{arguments:?} lacks {part}: {}", stderr(&output)));
    }
    assert_eq!(code(&flashkeep(&here, &["reliability", "uper", "--csv", "--json"])), 2);
    assert_eq!(code(&flashkeep(&here, &["reliability", "--json", "uper"])), 2, "the flag lists the studies");
}

/// Catches a study whose help lacks an option that it takes, or has one of another study.
#[test]
fn the_help_of_each_study_has_its_own_options() {
    let here = directory("reliability_help");
    for study in studies::reliability::STUDIES {
        let help = stdout(&flashkeep(&here, &["reliability", study.name, "--help"]));
        let words: Vec<&str> = help.split_whitespace().collect();
        for option in studies::reliability::OPTIONS {
            let dashed = format!("--{}", option.name);
            assert_eq!(words.contains(&dashed.as_str()), study.takes(option.name), "{}: {dashed}", study.name);
        }
        assert!(help.contains(study.source) && help.starts_with(study.summary), "{}: {help}", study.name);
    }
}

/// An experiment with a figure of one point and two equal arms.
const FIGURE: &str = r#"
schemes = ["none"]
[capacity]
size = "8MiB"
[trace]
source = "zipf"
[generate]
requests = 200
range = "8MiB"
read_fraction = 0.5
arrivals = { poisson = "2ms" }
[figure]
title = "One point"
source = "none"
x = { name = "nothing", key = "nothing" }
[[figure.traces]]
name = "zipf"
[[figure.traces]]
name = "absent"
file = "absent.xz"
[[figure.points]]
x = 1
[[figure.arms]]
name = "a"
[[figure.arms]]
name = "b"
[[figure.plots]]
title = "Reads"
y = "a / b"
value = "read_latency_us_mean"
arms = ["a"]
over = "b"
"#;

#[test]
fn figures_are_printed_written_and_compared_with_the_golden_rows() {
    let here = directory("figures");
    std::fs::create_dir_all(here.join("experiments/paper")).expect("made");
    std::fs::write(here.join("experiments/paper/one.toml"), FIGURE).expect("written");
    let output = flashkeep(&here, &["figures", "paper", "--out", "out", "--points", "1"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).starts_with("skipped: one: trace `absent`"), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(["One point", "1.000", "golden: there is no CSV"].iter().all(|part| text.contains(part)), "{text}");
    let csv = std::fs::read_to_string(here.join("out/paper/one.csv")).expect("written");
    assert!(csv.starts_with("trace,nothing,arm,clock_factor,latency_us_mean,"), "{csv}");
    assert!(std::fs::read_to_string(here.join("out/paper/index.html")).expect("written").starts_with("<!"));

    std::fs::write(here.join("experiments/paper/one.csv"), &csv).expect("written");
    let again = flashkeep(&here, &["figures", "--only", "one", "--out", "again"]);
    assert_eq!((code(&again), stdout(&again).contains("golden: all 2 rows")), (0, true), "{}", stdout(&again));
    let kept = flashkeep(&here, &["figures", "--kept", "--out", "kept"]);
    assert_eq!((code(&kept), stdout(&kept).contains("nothing was run")), (0, true), "{}", stderr(&kept));
    assert_eq!(std::fs::read_to_string(here.join("kept/paper/one.csv")).expect("written"), csv);
    assert!(here.join("kept/reproduction.md").exists(), "published beside ours, of all papers");
    std::fs::write(here.join("experiments/paper/one.csv"), csv.replace(",a,", ",c,")).expect("written");
    let differs = flashkeep(&here, &["figures", "paper", "--out", "again"]);
    assert_eq!(code(&differs), 1);
    assert!(
        stdout(&differs).contains("golden: 1 of 2 rows") && stderr(&differs).contains("check failed"),
        "{}",
        stderr(&differs)
    );
}

#[test]
fn an_unknown_paper_and_a_bad_figure_are_bad_input() {
    let here = directory("bad_figures");
    std::fs::create_dir_all(here.join("experiments/paper")).expect("made");
    std::fs::write(here.join("experiments/paper/one.toml"), FIGURE.replace("over = \"b\"", "over = \"c\"")).expect("written");
    let unknown = flashkeep(&here, &["figures", "papre"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `paper`?"), "{}", stderr(&unknown));
    let bad = flashkeep(&here, &["figures", "paper"]);
    assert_eq!(code(&bad), 2);
    assert!(stderr(&bad).contains("one.toml:") && stderr(&bad).contains("unknown arm `c`"), "{}", stderr(&bad));
    let help = flashkeep(&here, &["figures", "--help"]);
    assert!(["--only", "--points", "--out", "--traces"].iter().all(|option| stdout(&help).contains(option)), "{}", stdout(&help));
}

/// The command that the program says repeats a failure, without its name.
fn repeat(said: &str) -> Vec<&str> {
    let command = said.trim().rsplit("repeat with: flashkeep ").next().expect("it says how");
    command.split(' ').collect()
}

#[test]
fn torture_prints_a_line_for_each_scheme_and_is_silent_in_a_pipe() {
    let here = directory("torture");
    let output = flashkeep(&here, &["torture", "--scenarios", "64", "--scheme", "none,code-zones", "--threads", "2"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""), "{}", stdout(&output));
    let text = stdout(&output);
    let cells = |scheme: &str| {
        let line = text.lines().find(|line| line.starts_with(scheme)).unwrap_or_else(|| panic!("{scheme}: {text}"));
        line.split_whitespace().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!((cells("none")[0].as_str(), cells("code-zones")[0].as_str()), ("32", "32"), "{text}");
    assert_eq!(cells("all").last().map(String::as_str), Some("0"), "{text}");
    assert!(text.contains("scenarios per second and core"), "{text}");
    let timed = flashkeep(&here, &["torture", "--minutes", "0.001", "--scheme", "none", "--fault", "cut"]);
    assert_eq!(code(&timed), 0, "{}{}", stdout(&timed), stderr(&timed));
}

#[test]
fn torture_that_finds_something_is_exit_code_1_and_one_command_repeats_it() {
    let here = directory("torture_fails");
    let output = flashkeep(&here, &["torture", "--scheme", "canary", "--scenarios", "2000", "--seed", "3"]);
    let (text, said) = (stdout(&output), stderr(&output));
    assert_eq!(code(&output), 1, "{text}{said}");
    assert!(text.contains("made smaller:\nscheme canary") && text.contains("broken in round"), "{text}");
    assert!(said.starts_with("warning: `canary` loses data on purpose"), "{said}");
    assert!(said.contains(concat!("\ncheck failed: flashkeep ", env!("CARGO_PKG_VERSION"), ", seed 3; ")), "{said}");
    let again = flashkeep(&here, &repeat(&said));
    assert_eq!(code(&again), 1, "{}", stdout(&again));
    let scenario = |text: &str| text.lines().find(|line| line.starts_with("scenario ")).map(str::to_owned);
    assert_eq!((scenario(&stdout(&again)), stderr(&again)), (scenario(&text), said));
}

#[test]
fn torture_refuses_bad_input_with_exit_code_2() {
    let here = directory("torture_input");
    let wrong: [(&[&str], &str); 6] = [
        (&["--draws", "apar"], "did you mean `apart`"),
        (&["--scheme", "raid6"], "did you mean `raid5`"),
        (&["--fault", "fire"], "known: cut, die, block, page, uncorrectable"),
        (&["--minutes", "0"], "valid are more than 0"),
        (&["--scenario", "1", "--exhaustive"], "cannot be used with"),
        (&["--depth", "2"], "--exhaustive"),
    ];
    for (options, part) in wrong {
        let output = flashkeep(&here, &[&["torture"], options].concat());
        assert_eq!(code(&output), 2, "{options:?}: {}", stdout(&output));
        assert!(stderr(&output).contains(part), "{options:?}: {}", stderr(&output));
    }
}

/// The small experiment over 2 x 3 points.
const GRID: &str = r#"
[[sweep.axes]]
key = "generate.read_fraction"
values = [0.2, 0.8]
[[sweep.axes]]
key = "seed"
values = [1, 2, 3]
"#;

#[test]
fn a_sweep_says_where_its_rows_are_and_goes_on_where_it_was() {
    let here = directory("sweep");
    std::fs::write(here.join("grid.toml"), format!("{SMALL}{GRID}")).expect("written");
    let serial = flashkeep(&here, &["sweep", "grid.toml", "--threads", "1"]);
    assert_eq!(code(&serial), 0, "{}", stderr(&serial));
    assert_eq!(stdout(&serial), "6 runs, 12 rows: report/grid/results.parquet\n");
    let warned = "6 of 6 runs have warnings, in the column `warnings` of their rows; the first are:\nwarning: run 0: `none` wrote too little";
    assert!(stderr(&serial).starts_with(warned) && stderr(&serial).lines().count() == 4, "{}", stderr(&serial));
    let read = |path: &str| std::fs::read(here.join(path)).expect("written");
    let first = read("report/grid/results.parquet");
    let again = flashkeep(&here, &["sweep", "grid.toml"]);
    assert_eq!((code(&again), stderr(&again)), (0, format!("6 of 6 runs were there already\n{}", stderr(&serial))));
    let parallel = flashkeep(&here, &["sweep", "grid.toml", "--threads", "2", "--out", "other"]);
    assert_eq!(code(&parallel), 0, "{}", stderr(&parallel));
    assert_eq!((read("report/grid/results.parquet"), read("other/results.parquet")), (first.clone(), first));
}

/// Parts in a directory of a sweep.
fn parts(directory: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(directory.join("runs")) else { return 0 };
    entries.flatten().filter(|entry| entry.path().extension().is_some_and(|ending| ending == "json")).count()
}

/// Starts a sweep into `killed`, kills it once there are some parts, and counts them.
fn killed_midway(here: &Path) -> usize {
    let _ = std::fs::remove_dir_all(here.join("killed"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    let command = command.current_dir(here).args(["sweep", "grid.toml", "--out", "killed", "--threads", "2"]);
    let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("the program starts");
    while parts(&here.join("killed")) < 5 && child.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().expect("SIGKILL");
    child.wait().expect("it is gone");
    parts(&here.join("killed"))
}

#[test]
fn a_sweep_killed_midway_loses_nothing_and_repeats_nothing() {
    let here = directory("killed");
    let seeds: Vec<String> = (1..=40).map(|seed| seed.to_string()).collect();
    std::fs::write(here.join("grid.toml"), format!("{SMALL}{GRID}").replace("[1, 2, 3]", &format!("[{}]", seeds.join(", "))))
        .expect("written");
    // A machine so busy that the sweep is done before it is killed gets another chance.
    let killed = (0..20).map(|_| killed_midway(&here)).find(|before| *before < 80);
    let before = killed.expect("one of twenty sweeps is killed before it is done");
    assert!(before >= 5 && !here.join("killed/results.parquet").exists(), "killed after {before} of 80 runs");
    let resumed = flashkeep(&here, &["sweep", "grid.toml", "--out", "killed"]);
    assert_eq!(code(&resumed), 0, "{}", stderr(&resumed));
    assert!(stderr(&resumed).starts_with(&format!("{before} of 80 runs were there already\n")), "{}", stderr(&resumed));
    let serial = flashkeep(&here, &["sweep", "grid.toml", "--out", "serial", "--threads", "1"]);
    assert_eq!(stdout(&serial), "80 runs, 160 rows: serial/results.parquet\n", "{}", stderr(&serial));
    let read = |path: &str| std::fs::read(here.join(path)).expect("written");
    assert_eq!(read("killed/results.parquet"), read("serial/results.parquet"));
    let names = |directory: &str| {
        let entries = std::fs::read_dir(here.join(directory).join("runs")).expect("made");
        entries.map(|entry| entry.expect("read").file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(names("killed"), names("serial"), "nothing is left of what was under way");
}

#[test]
fn two_processes_may_sweep_into_one_directory() {
    let here = directory("together");
    std::fs::write(here.join("grid.toml"), format!("{SMALL}{GRID}")).expect("written");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
        let command = command.current_dir(&here).args(["sweep", "grid.toml", "--out", "both", "--threads", "1"]);
        command.stdout(std::process::Stdio::null()).spawn().expect("the program starts")
    };
    for mut child in [start(), start()] {
        assert!(child.wait().expect("a child").success());
    }
    let alone = flashkeep(&here, &["sweep", "grid.toml", "--out", "alone"]);
    assert_eq!(code(&alone), 0, "{}", stderr(&alone));
    let read = |path: &str| std::fs::read(here.join(path)).expect("written");
    assert_eq!(read("both/results.parquet"), read("alone/results.parquet"));
    assert_eq!(parts(&here.join("both")), 6);
}

#[test]
fn a_sweep_that_lost_data_is_exit_code_1_and_bad_files_are_exit_code_2() {
    let here = directory("swept");
    let grid = format!("{SMALL}[faults]\ndead_die = 1\n{GRID}").replace("\"raid5\"", "\"canary\"");
    let grid = grid.replace("\"zipf\"", "\"zipf\"\narrival = \"closed=8\"");
    std::fs::write(here.join("grid.toml"), grid).expect("written");
    let lost = flashkeep(&here, &["sweep", "grid.toml", "--out", "out"]);
    assert_eq!(code(&lost), 1, "{}", stderr(&lost));
    assert!(stderr(&lost).contains("check failed: wrong data was returned in"), "{}", stderr(&lost));
    assert_eq!(code(&flashkeep(&here, &["sweep", "grid.toml", "--out", "out"])), 1, "it is not forgotten");
    std::fs::write(here.join("out/runs/mine.txt"), "").expect("written");
    let foreign = flashkeep(&here, &["sweep", "grid.toml", "--out", "out"]);
    assert_eq!(code(&foreign), 2);
    assert!(stderr(&foreign).contains("out/runs/mine.txt is no part of a sweep"), "{}", stderr(&foreign));
    let absent = flashkeep(&here, &["sweep", "absent.toml"]);
    assert_eq!(code(&absent), 2);
    assert!(stderr(&absent).contains("grid file absent.toml cannot be read"), "{}", stderr(&absent));
}

#[test]
fn seeds_give_intervals_and_beyond_their_bounds_an_error_that_names_the_option() {
    let here = with_small("seeds");
    let arguments = |seeds| ["run", "small.toml", "--seeds", seeds, "--report"];
    // Without the write buffer, which answers alike for all schemes.
    let unbuffered = ["three", "--plot", "three.svg", "--set", "buffer.kind=off"];
    let output = flashkeep(&here, &[&arguments("3")[..], &unbuffered].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("`none` has") && text.contains("lower mean latency than `raid5`"), "{text}");
    assert!(text.contains(" +- ") && text.contains("arrival times, seeds 1 to 3"), "{text}");
    let svg = std::fs::read_to_string(here.join("three.svg")).expect("written");
    assert!(svg.contains("means of 3 seeds") && svg.matches("<path").count() >= 4, "a line over each bar");
    // The file beside the report repeats all of it, and without the option there is one seed.
    let again = flashkeep(&here, &["run", "three/experiment.toml", "--threads", "1", "--report", "three"]);
    assert_eq!(stdout(&again), text);
    let one = flashkeep(&here, &[&arguments("1")[..], &["one"]].concat());
    let none = flashkeep(&here, &["run", "small.toml", "--report", "one"]);
    assert_eq!((code(&one), stdout(&one)), (0, stdout(&none)));
    for (seeds, said) in [
        ("0", "error: --seeds 0: found 0, valid is 1 to 100"),
        ("101", "error: --seeds 101: found 101, valid is 1 to 100"),
        ("many", "error: --seeds many: found string \"many\""),
    ] {
        let bad = flashkeep(&here, &[&arguments(seeds)[..], &["bad"]].concat());
        assert_eq!((code(&bad), stderr(&bad).contains(said)), (2, true), "{}", stderr(&bad));
    }
    std::fs::write(here.join("grid.toml"), format!("seeds = 2\n{SMALL}{GRID}")).expect("written");
    let grid = flashkeep(&here, &["sweep", "grid.toml", "--out", "out"]);
    assert_eq!(code(&grid), 2);
    assert!(stderr(&grid).contains("grid.toml:1") && stderr(&grid).contains("an axis of seeds"), "{}", stderr(&grid));
}
