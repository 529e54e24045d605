//! Files and settings made to do harm: each is refused by name with exit code 2, at once and in little memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of one test, empty at its start.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// A process that is killed if it has not ended after a minute, or takes 150 MB of addresses. Of these the program and
/// what the allocator holds ready are a third, so that is 100 MB of memory.
fn bounded(here: &Path, arguments: &[&str]) -> Output {
    const SCRIPT: &str = "ulimit -v 150000; exec timeout 60 \"$@\"";
    let mut command = Command::new("bash");
    let output = command.current_dir(here).args(["-c", SCRIPT, "bash", env!("CARGO_BIN_EXE_flashkeep")]).args(arguments);
    output.output().expect("bash starts")
}

/// Texts that are no file of settings: a name, and a part of the message.
fn hostile_files(here: &Path) -> Vec<(&'static str, &'static str)> {
    let write = |name: &str, text: String| std::fs::write(here.join(name), text).expect("written");
    std::fs::create_dir(here.join("directory.toml")).expect("made");
    assert!(Command::new("mkfifo").arg(here.join("pipe.toml")).status().expect("mkfifo starts").success());
    std::os::unix::fs::symlink("/dev/zero", here.join("zero.toml")).expect("made");
    write("keys.toml", (0..1_000_000).map(|key| format!("k{key} = 1\n")).collect());
    write("most_keys.toml", (0..40_000).map(|key| format!("k{key} = 1\n")).collect());
    write("tables.toml", format!("a = [{}]\n", "{a=1},".repeat(80_000)));
    write("dots.toml", format!("{}.a = 1\n", "a.".repeat(70).trim_end_matches('.')).repeat(3_000));
    write("most_tables.toml", format!("a = [{}{}]\n", "{a=1},".repeat(16_000), "1,".repeat(210_000)));
    vec![
        ("directory.toml", "found a directory, wanted a regular file"),
        ("pipe.toml", "found a pipe, a socket or a device, wanted a regular file"),
        ("zero.toml", "found a pipe, a socket or a device, wanted a regular file"),
        ("keys.toml", "found 11888890 bytes or more, at most 512KiB are valid"),
        ("tables.toml", "found 80001 tables and lists, at most 16384 are valid"),
        ("dots.toml", "found 210000 tables and lists, at most 16384 are valid"),
        ("most_keys.toml", "most_keys.toml:1:1: "),
        ("most_tables.toml", "most_tables.toml:1:1: "),
    ]
}

#[test]
fn files_of_any_kind_and_size_are_refused_in_little_memory() {
    let here = directory("files");
    let files = hostile_files(&here);
    for (file, said) in files {
        for arguments in [&["run", file][..], &["sweep", file], &["compare", "--drive", file]] {
            let output = bounded(&here, arguments);
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
            assert!(message.contains(file) && message.contains(said), "{arguments:?} lacks {said}: {message}");
        }
    }
}

#[test]
fn a_trace_that_never_ends_is_refused_by_runs_and_sweeps() {
    let here = directory("traces");
    std::os::unix::fs::symlink("/dev/zero", here.join("zero.spc")).expect("made");
    assert!(Command::new("mkfifo").arg(here.join("pipe.spc")).status().expect("mkfifo starts").success());
    for trace in ["zero.spc", "pipe.spc"] {
        std::fs::write(
            here.join("grid.toml"),
            format!("trace.source = \"{trace}\"\n[[sweep.axes]]\nkey = \"seed\"\nvalues = [1]\n"),
        )
        .expect("written");
        for arguments in [&["compare", trace][..], &["sweep", "grid.toml"]] {
            let output = bounded(&here, arguments);
            let message = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
            assert!(message.contains(trace) && message.contains("regular file"), "{arguments:?}: {message}");
        }
    }
}

#[test]
fn a_trace_whose_times_go_to_the_end_of_time_is_refused() {
    let here = directory("far");
    for (seconds, said) in [
        (["0.0", "18446744073.7", "0.0"], "t.spc, line 2, field `time`: found `18446744073700000000 ns after the first`"),
        (["0.0", "99999999999999999999", "0.0"], "t.spc, line 2, field `time`: found `99999999999999999999`"),
        (["0.0", "-1", "0.0"], "t.spc, line 2, field `time`: found `-1`"),
        (["0.0", "nan", "0.0"], "t.spc, line 2, field `time`: found `nan`"),
        // Either is within 73 years of the first line.
        (["2300000000.0", "0.0", "4600000000.0"], "trace.source: the last request would come 146 years after the first"),
    ] {
        let lines = seconds.map(|seconds| format!("0,8,4096,w,{seconds}\n")).concat();
        std::fs::write(here.join("t.spc"), lines).expect("written");
        let output = bounded(&here, &["compare", "t.spc", "--format", "spc"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(said), "{said}: {}", stderr(&output));
    }
}

#[test]
fn a_trace_of_one_endless_line_is_refused_in_little_memory() {
    let here = directory("endless_line");
    // Text at its beginning, then 8 GB that take no room.
    std::fs::write(here.join("t.spc"), "7".repeat(8192)).expect("written");
    let file = std::fs::OpenOptions::new().write(true).open(here.join("t.spc"));
    file.and_then(|file| file.set_len(8_000_000_000)).expect("written");
    let output = bounded(&here, &["compare", "t.spc", "--format", "spc"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("t.spc, line 1: longer than 65536 bytes"), "{}", stderr(&output));
}

/// Command lines, and parts of the messages.
const TYPED: [(&[&str], &[&str]); 9] = [
    (&["torture", "--exhaustive", "--depth", "4294967295"], &["--depth", "1..=8"]),
    (&["torture", "--threads", "18446744073709551615"], &["--threads", "valid is 1 to 1024"]),
    (&["torture", "--minutes", "1e308"], &["--minutes", "up to 1000000"]),
    (&["compare", "--threads", "1025"], &["--threads", "valid is 1 to 1024"]),
    (&["compare", "--arrival", "scaled=1e308"], &["--arrival scaled=1e308", "at most 1e9"]),
    (&["compare", "--loops", "18446744073709551615"], &["--loops 18446744073709551615", "0 to 4294967295"]),
    (
        &["compare", "--set", "drive.timing.erase=18446744073709551615ns"],
        &["--set drive.timing.erase=18446744073709551615ns: found", "valid is 0ns to 1s"],
    ),
    (&["compare", "--set", "drive.timing.erase=-1ns"], &["--set drive.timing.erase=-1ns: `-1ns`"]),
    (
        &["compare", "mixed", "--set", "generate.sizes=[[\"4KiB\", 0]]"],
        &["found only weights of 0, wanted a list of sizes with weights of 0 to 1e9, not all of them 0"],
    ),
];

#[test]
fn what_is_typed_is_bounded_too() {
    let here = directory("typed");
    for (arguments, parts) in TYPED {
        let output = bounded(&here, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        for part in parts {
            assert!(stderr(&output).contains(part), "{arguments:?} lacks {part}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_drive_file_is_blamed_with_its_line() {
    let here = directory("drive");
    let preset = include_str!("../../experiment/drives/mlc-2014.toml");
    let line = 1 + preset.lines().position(|line| line.starts_with("erase = \"") && line.contains('s')).expect("an erase time");
    let time = "\"18446744073709551615ns\"";
    let changed = |(number, text): (usize, &str)| if number + 1 == line { format!("erase = {time}") } else { text.to_owned() };
    let drive: Vec<String> = preset.lines().enumerate().map(changed).collect();
    std::fs::write(here.join("mine.toml"), drive.join("\n")).expect("written");
    let output = bounded(&here, &["compare", "--drive", "mine.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let said = format!("mine.toml:{line}:9: drive.timing.erase: found 18446744073709551615ns, valid is 0ns to 1s");
    assert!(stderr(&output).contains(&said), "{said}: {}", stderr(&output));
}

#[test]
fn an_empty_drive_file_lacks_its_first_field() {
    let here = directory("empty");
    std::fs::write(here.join("mine.toml"), "").expect("written");
    let output = bounded(&here, &["compare", "--drive", "mine.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("mine.toml") && stderr(&output).contains("is missing"), "{}", stderr(&output));
}
