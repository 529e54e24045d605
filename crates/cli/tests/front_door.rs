//! Commands of a newcomer: inspect, settings, completions, traces of all kinds, Ctrl-C.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("front_door_{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn program(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    command.current_dir(directory).args(arguments);
    command
}

fn flashkeep(directory: &Path, arguments: &[&str]) -> Output {
    program(directory, arguments).output().expect("the program starts")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

const CSV: &str = "time,op,disk,offset,bytes\n0,R,sda,0,4096\n1000,W,sda,4096,4096\n5000,W,sdb,0,8192\n";
const COLUMNS: &str = "time=us,op,device,lba=bytes,size=bytes";

#[test]
fn a_trace_is_inspected_as_text_json_and_page() {
    let here = directory("inspect");
    std::fs::write(here.join("my.csv"), CSV).expect("written");
    let text = flashkeep(&here, &["inspect", "my.csv", "--columns", COLUMNS]);
    assert_eq!(code(&text), Some(0), "{}", stderr(&text));
    assert!(stdout(&text).contains("Requests: 3") && stdout(&text).contains("Format: csv"), "{}", stdout(&text));
    let json = flashkeep(&here, &["inspect", "--trace", "my.csv", "--columns", COLUMNS, "--json", "--report", "page"]);
    let document: serde_json::Value = serde_json::from_slice(&json.stdout).expect("one document");
    assert_eq!(document["tables"]["kinds"][1]["bytes"], 12_288);
    assert!(std::fs::read_to_string(here.join("page/index.html")).expect("written").starts_with("<!"));
    let again = flashkeep(&here, &["inspect", "my.csv", "--columns", COLUMNS, "--report", "page"]);
    assert_eq!(code(&again), Some(0), "{}", stderr(&again));
    std::fs::write(here.join("page/index.html"), "mine").expect("written");
    let mine = flashkeep(&here, &["inspect", "my.csv", "--columns", COLUMNS, "--report", "page"]);
    assert_eq!((code(&mine), stderr(&mine).contains("`--force` replaces it")), (Some(2), true), "{}", stderr(&mine));
    let force = flashkeep(&here, &["inspect", "my.csv", "--columns", COLUMNS, "--report", "page", "--force"]);
    assert_eq!(code(&force), Some(0), "{}", stderr(&force));
}

#[test]
fn a_trace_on_standard_input_is_that_of_the_file() {
    let here = directory("standard_input");
    std::fs::write(here.join("my.csv"), CSV).expect("written");
    let file = flashkeep(&here, &["inspect", "my.csv", "--columns", COLUMNS]);
    let mut child = program(&here, &["inspect", "-", "--columns", COLUMNS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(CSV.as_bytes()).expect("written");
    let piped = child.wait_with_output().expect("it ends");
    let figures = |output: &Output| stdout(output).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!((code(&piped), figures(&piped)), (Some(0), figures(&file)));
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let here = directory("full");
    for arguments in [&["list", "schemes"][..], &["settings"], &["inspect", "uniform"], &["completions", "bash"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let output = program(&here, arguments).stdout(full).output().expect("the program starts");
        assert_eq!(code(&output), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains("standard output cannot be written"), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn both_spellings_of_an_option_mean_the_same_and_canaries_are_apart() {
    let here = directory("spellings");
    let run = |option: &str, name: &str| {
        let arguments = ["compare", "uniform", "--set", "generate.requests=200", "--set", "generate.range=8MiB", option, name];
        flashkeep(&here, &[&arguments[..], &["--json", "--report", "r"]].concat())
    };
    let [one, other] = ["--scheme", "--schemes"].map(|option| run(option, "none"));
    let schemes = |output: &Output| {
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one document");
        document["schemes"][0]["waf"].clone()
    };
    assert_eq!(schemes(&one), schemes(&other), "{}", stderr(&one));
    let canary = run("--schemes", "none,canary");
    assert!(stderr(&canary).contains("warning: `canary` loses data on purpose"), "{}", stderr(&canary));
    assert!(stderr(&canary).contains("overwriting the report of another experiment in r"), "{}", stderr(&canary));
    assert!(!stdout(&flashkeep(&here, &["list", "schemes"])).contains("canary"));
    assert!(stdout(&flashkeep(&here, &["list", "canaries"])).contains("canary"));
}

#[test]
fn completions_man_pages_and_settings_come_from_the_commands() {
    let here = directory("manual");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = stdout(&flashkeep(&here, &["completions", shell]));
        assert!(text.contains("inspect") && text.contains("torture"), "{shell}");
    }
    let output = flashkeep(&here, &["man", "pages"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let page = std::fs::read_to_string(here.join("pages/flashkeep-inspect.1")).expect("written");
    assert!(page.contains("columns"), "{page}");
    let one = stdout(&flashkeep(&here, &["settings", "gc.policy"]));
    assert!(one.contains("--set gc.policy="), "{one}");
    let schema: serde_json::Value =
        serde_json::from_slice(&flashkeep(&here, &["settings", "--schema"]).stdout).expect("one document");
    assert_eq!(schema["properties"]["seed"]["default"], 1);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_campaign_with_the_totals_so_far() {
    let here = directory("interrupt");
    // A machine so busy that the handler is not there yet gets another chance, and more time.
    let interrupted = (1..8).map(|seconds| interrupted_after(&here, seconds)).find(|output| code(output).is_some());
    let output = interrupted.expect("one of seven campaigns hears it");
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("scenarios, ") && stderr(&output).contains("stopped"), "{}", stdout(&output));
}

/// A campaign that gets SIGINT after this many seconds.
#[cfg(unix)]
fn interrupted_after(here: &Path, seconds: u64) -> Output {
    let child = program(here, &["torture", "--minutes", "5", "--threads", "1", "--scheme", "none"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_secs(seconds));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(killed.success());
    child.wait_with_output().expect("it ends")
}

/// The output of a command that gets SIGINT once `is_under_way`, and how long it takes to end.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "how long a program takes to end is wall-clock time")]
fn stopped(here: &Path, arguments: &[&str], is_under_way: &dyn Fn() -> bool) -> (Output, std::time::Duration) {
    use std::time::Duration;
    let child = program(here, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    for _ in 0..600 {
        if is_under_way() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // So that there is something to be said of it.
    std::thread::sleep(Duration::from_millis(300));
    let clock = std::time::Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there").success());
    let output = child.wait_with_output().expect("it ends");
    (output, clock.elapsed())
}

/// How many files lie in a directory.
#[cfg(unix)]
fn files(directory: &Path) -> usize {
    std::fs::read_dir(directory).map_or(0, |entries| entries.flatten().count())
}

/// On a machine that is busy with other things a second is long; the promise is of an idle one.
#[cfg(unix)]
const SOON: std::time::Duration = std::time::Duration::from_secs(5);

#[cfg(unix)]
#[test]
fn ctrl_c_ends_comparisons_sweeps_and_kept_campaigns_and_says_how_far_they_got() {
    let here = directory("stopped");
    let small = ["--set", "drive.preset=mlc-2014", "--set", "generate.range=8MiB", "--set", "generate.requests=6000000"];
    let compare =
        [&["compare", "uniform", "--schemes", "none,raid5", "--report", "r", "--log", "l.parquet"][..], &small].concat();
    let begun = || here.join("l.parquet.1-0.part").exists();
    let (output, took) = stopped(&here, &compare, &begun);
    let said = stderr(&output);
    assert_eq!(code(&output), Some(130), "{said}");
    assert!(said.contains("stopped: `none` ") && said.contains("% of its requests") && took < SOON, "{took:?}: {said}");
    assert!(!here.join("l.parquet").exists() && !begun(), "nothing is left of the log");

    let grid = "schemes = [\"none\"]\ndrive.preset = \"mlc-2014\"\ntrace.source = \"uniform\"\ngenerate.range = \"8MiB\"\n\
                [[sweep.axes]]\nkey = \"generate.requests\"\nvalues = [100, 6000000]\n";
    std::fs::write(here.join("grid.toml"), grid).expect("written");
    let (output, took) = stopped(&here, &["sweep", "grid.toml", "--out", "s"], &|| files(&here.join("s/runs")) > 0);
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains(" of 2 runs are done and kept; the same command goes on") && took < SOON,
        "{}",
        stderr(&output)
    );

    let torture = ["torture", "--scheme", "none", "--scenarios", "10000000", "--piece", "160", "--into", "c"];
    let (output, took) = stopped(&here, &torture, &|| files(&here.join("c/pieces")) > 1);
    assert_eq!(code(&output), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains(" of 10000000 scenarios are done and kept") && took < SOON, "{}", stderr(&output));
}

#[test]
fn canaries_are_warned_of_in_sweeps_and_torture() {
    let here = directory("canaries");
    let warning = "warning: `canary` loses data on purpose";
    std::fs::write(
        here.join("grid.toml"),
        "schemes = [\"canary\"]\ndrive.preset = \"mlc-2014\"\ntrace.source = \"uniform\"\ngenerate.requests = 50\n\
         generate.range = \"1MiB\"\n[[sweep.axes]]\nkey = \"seed\"\nvalues = [1]\n",
    )
    .expect("written");
    assert!(stderr(&flashkeep(&here, &["sweep", "grid.toml"])).contains(warning));
    let torture = flashkeep(&here, &["torture", "--scheme", "canary", "--scenarios", "1"]);
    assert!(stderr(&torture).contains(warning), "{}", stderr(&torture));
}
