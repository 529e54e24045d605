//! What a newcomer types: inspect, settings, completions, traces of all kinds, and what is wrong.

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
    assert!(stderr(&canary).contains("the report of another experiment in r is replaced"), "{}", stderr(&canary));
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

/// Files that are wrong, by name.
fn wrong_files(here: &Path) {
    let mut tar = vec![b'x'; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    let files: [(&str, &[u8]); 15] = [
        ("grid.toml", b"seed = 1\n"),
        ("empty", b""),
        ("blank", b"\n\n \n"),
        ("binary", b"ab\0\0cd"),
        ("trace.bz2", b"BZh91AY&SY\xff\xfe"),
        ("trace.zip", b"PK\x03\x04aaaa"),
        ("trace.tar", &tar),
        ("blktrace.0", b"\x07taexxxx"),
        ("utf16", b"\xff\xfe1\x00"),
        ("cut.gz", b"\x1f\x8b\x08\x00\x00"),
        ("page.html", b"<!DOCTYPE html>\n"),
        ("words", b"hello world\n"),
        ("cut.spc", b"0,8,4096,r,0.5\n0,8,40"),
        ("odd.csv", b"1,R,0,512\n2,X,0,512\n"),
        ("disksim", b"0 0 8 8 1\n"),
    ];
    for (name, bytes) in files {
        std::fs::write(here.join(name), bytes).expect("written");
    }
}

#[test]
fn what_is_wrong_is_said_in_one_line_with_what_to_do() {
    let here = directory("wrong");
    wrong_files(&here);
    let cases: [(&[&str], &str); 26] = [
        (&["compare", "empty"], "empty: found an empty file"),
        (&["compare", "blank"], "nothing but blank lines"),
        (&["compare", "binary"], "binary data"),
        (&["compare", "trace.bz2"], "bunzip2"),
        (&["compare", "trace.zip"], "unzip"),
        (&["compare", "trace.tar"], "tar xf"),
        (&["compare", "blktrace.0"], "blkparse -i"),
        (&["compare", "utf16"], "iconv"),
        (&["compare", "cut.gz"], "cut.gz"),
        (&["compare", "page.html"], "HTML page"),
        (&["compare", "words"], "--columns"),
        (&["compare", "cut.spc"], "cut.spc, line 2"),
        (&["compare", "odd.csv", "--columns", "time=us,op,lba=bytes,size=bytes"], "line 2, field `op`"),
        (&["compare", "odd.csv", "--columns", "time,op,lba=bytes,size=bytes"], "needs a unit"),
        (&["compare", "odd.csv", "--columns", "time=us,op,lba=bytes"], "`size` is missing"),
        (&["compare", "odd.csv", "--format", "csv"], "needs the names of the columns"),
        (&["compare", "disksim"], "--format"),
        (&["compare", "absent"], "no such file"),
        (&["compare", "uniform", "--set", "generate.requests=0"], "found 0 requests"),
        (&["compare", "uniform", "--plot", "p.png"], "valid is .svg"),
        (&["compare", "uniform", "--log", "l.csv"], "valid is .parquet"),
        (&["reliability", "uper", "--plot", "p.svg"], "valid is .html"),
        (&["settings", "gc.polcy"], "did you mean `gc.policy`"),
        (&["inspect"], "required"),
        (&["compare", "grid.toml"], "`flashkeep sweep` a grid"),
        (&["run", "trace.bz2"], "`flashkeep compare` replays a trace"),
    ];
    for (arguments, part) in cases {
        let output = flashkeep(&here, arguments);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(part) && stdout(&output).is_empty(), "{arguments:?}: {said}");
    }
    let several = flashkeep(&here, &["inspect", "disksim"]);
    assert!(code(&several) == Some(0) && stdout(&several).contains("disksim-ns-sectors"), "{}", stderr(&several));
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

/// A campaign that gets SIGINT after so many seconds.
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
