//! `flashkeep crash` from the outside: exit codes, what is said beside a result, and recordings that are none.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A directory of one test, with a recording in it: record `n` at page `n`, then how many there are in page 0, then a flush.
fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("crash_{test}"));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    let (mut log, mut data) = ("fio version 3 iolog\n0 drive add\n0 drive open\n".to_owned(), Vec::new());
    for n in 1..=4u8 {
        for at in [u64::from(n), 0] {
            log += &format!("{n} drive write {} 4096\n", at * 4096);
            data.extend([n; 4096]);
        }
        log += &format!("{n} drive sync 0 0\n");
    }
    std::fs::write(path.join("unsafe.log"), log + "9 drive close\n").expect("room");
    std::fs::write(path.join("unsafe.log.data"), data).expect("room");
    let check = "n=$(od -An -tu1 -N1 \"$1\" | tr -d ' ')\nfor i in $(seq 1 $n); do\n\
                 [ $(od -An -tu1 -N1 -j$((i * 4096)) \"$1\") = $i ] || { echo \"$n counted, $i is missing\"; exit 1; }\ndone\n";
    std::fs::write(path.join("check.sh"), check).expect("room");
    path
}

fn crash(directory: &Path, arguments: &str) -> Output {
    let line = format!("{} crash {arguments}", env!("CARGO_BIN_EXE_flashkeep"));
    Command::new("sh").args(["-c", &line]).current_dir(directory).output().expect("sh is there")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const CHECK: &str = "--check 'sh check.sh {image}'";

#[test]
fn an_unsafe_program_fails_unless_a_drive_that_hides_it_is_named() {
    let here = directory("unsafe");
    let found = crash(&here, &format!("unsafe.log {CHECK}"));
    let said = text(&found.stdout);
    assert_eq!(found.status.code(), Some(1), "{said}");
    assert!(said.starts_with("FAILED after 2 of 12 steps, with write 0 lost: 1 counted, 1 is missing\n"), "{said}");
    assert!(said.contains("    0 write 4096 bytes at 4096\n    1 write 4096 bytes at 0\n"), "{said}");
    assert!(said.contains("strict drive, writes whole in 4096 bytes; not tested: instants after 3 failures; "), "{said}");
    // The command of the first failure repeats it, and that of its smaller recording, too.
    for again in said.lines().filter_map(|line| line.trim().strip_prefix("again: flashkeep crash ")).take(2) {
        let again = crash(&here, again);
        assert_eq!(again.status.code(), Some(1));
        assert!(text(&again.stdout).contains("1 counted, 1 is missing"));
    }
    for drive in ["--scheme none", "--set buffer.kind=volatile", "--drive tlc", "--set buffer.kind=off"] {
        let found = crash(&here, &format!("unsafe.log {CHECK} --size 8MiB {drive}"));
        let said = text(&found.stdout);
        assert_eq!(found.status.code(), Some(3), "{drive}: {said}");
        assert!(said.contains("\nno proof (exit code 3): on this drive a missing flush cannot show, as it"), "{drive}: {said}");
    }
    let shows = "--scheme none --drive mlc-2014 --set buffer.kind=volatile";
    let found = crash(&here, &format!("unsafe.log {CHECK} --size 8MiB {shows}"));
    assert!(found.status.code() == Some(1) && !text(&found.stdout).contains("no proof"));
}

#[test]
fn what_proves_nothing_is_an_error() {
    let here = directory("errors");
    std::fs::write(here.join("empty.log"), "fio version 3 iolog\n9 drive close\n").expect("room");
    std::fs::write(here.join("empty.log.data"), "").expect("room");
    for (arguments, what) in [
        ("unsafe.log --check true", "the check has no {image}"),
        ("empty.log --check 'true {image}'", "the recording has no writes"),
        ("unsafe.log --check './there-is-no-such-program.sh {image}'", "the check cannot be run: exit status: 127"),
        ("unsafe.log --check './check.sh {image}'", "the check cannot be run: exit status: 126"),
        ("unsafe.log --check 'false {image}'", "the check fails on the image before the first step"),
        ("unsafe.log --check 'true {image}' --from here", "--from here: no such mark"),
        ("unsafe.log --check 'true {image}' --size 4KiB", "ends at byte 8192; the drive has 4096"),
        ("unsafe.log --check 'true {image}' --size 1000B", "wanted whole sectors"),
        ("unsafe.log --check 'true {image}' --size drive", "the strict drive has a size"),
        ("unsafe.log --check 'true {image}' --atom 1024", "possible values: 512, 4096"),
        ("--run true --check 'true {image}'", "--run: the command has no {disk}"),
        ("--check 'true {image}'", "required arguments were not provided"),
        ("unsafe.log", "--check <COMMAND>"),
        ("unsafe.log --check sqlite:db", "--check: sqlite lies in a file system: say which with --mount"),
        ("unsafe.log --check 'true {dir}' --mount zfs", "found `zfs`, known: ext4, xfs, btrfs"),
        ("unsafe.log --to-log-writes unsafe.log", "unsafe.log: there is a file already"),
        ("unsafe.log --check 'true {image}' --only 3:1:0", "an instant of a drive of ours"),
        ("unsafe.log --check 'true {image}' --scheme none --size 8MiB --only 3:all", "an instant of the strict drive"),
    ] {
        let found = crash(&here, arguments);
        let said = text(&found.stderr);
        assert!(found.status.code() == Some(2) && said.contains(what), "{arguments}: {said}");
        assert!(found.stdout.is_empty(), "{arguments}: {}", text(&found.stdout));
    }
}

/// Whether programs can be run on a drive here.
fn can_run() -> bool {
    let line = "command -v nbdkit && command -v nbdfuse && [ -e /dev/fuse ]";
    let can = Command::new("sh").args(["-c", line]).output().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("skipped: nbdkit, nbdfuse or /dev/fuse is missing");
    }
    can
}

/// Waits for a file that a program makes.
fn wait_for(file: &Path) {
    for _ in 0..3000 {
        if file.exists() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{}: the program is not run", file.display());
}

/// Mounts and directories of a process that has ended.
fn left_behind(process: u32) -> String {
    let place = std::env::temp_dir().join(format!("flashkeep-run-{process}"));
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let name = format!("flashkeep-run-{process}/");
    let mounts: String = mounts.lines().filter(|line| line.contains(&name)).collect();
    if place.exists() { format!("{} {mounts}", place.display()) } else { mounts }
}

/// A crash test that was started there: it records the program `run` in `log`, and every image passes its check.
fn started(here: &Path, log: &str, run: &str) -> Child {
    let mut crash = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    crash.current_dir(here).args(["crash", log, "--run", run, "--check", "true {image}"]);
    crash.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
}

/// A recording lacks requests that a process left at work could still send.
#[test]
fn a_program_that_leaves_something_at_work_is_no_test() {
    if !can_run() {
        return;
    }
    let here = directory("at_work");
    let run = "(exec 9<> {disk}; touch open; exec sleep 5) >out 2>&1 & until [ -e open ]; do sleep 0.01; done";
    let crash = started(&here, "work.log", run);
    let process = crash.id();
    let found = crash.wait_with_output().expect("it ends");
    let said = text(&found.stderr);
    assert!(
        found.status.code() == Some(2) && said.contains("--run: what the command started is still at work on the drive"),
        "{said}"
    );
    assert_eq!(left_behind(process), "");
}

/// A process that was killed leaves a mount; the next one ends it.
#[test]
fn what_a_killed_process_left_is_ended_by_the_next() {
    if !can_run() {
        return;
    }
    let here = directory("killed");
    let mut killed = started(&here, "killed.log", "touch begun; sleep 5; : {disk}");
    wait_for(&here.join("begun"));
    let process = killed.id();
    killed.kill().and_then(|()| killed.wait()).expect("it is killed");
    assert!(left_behind(process).contains("fuse"), "{}", left_behind(process));
    let next = started(&here, "next.log", "printf x | dd of={disk} bs=512 conv=sync,fsync").wait_with_output().expect("it ends");
    assert!(next.status.success(), "{}", text(&next.stderr));
    assert_eq!(left_behind(process), "");
}

/// A signal ends the program with all that it started, and leaves no mount.
#[test]
fn a_signal_ends_a_program_and_what_it_was_given() {
    if !can_run() {
        return;
    }
    let here = directory("signal");
    let run = "sleep 600 & echo $! >pid.new; mv pid.new pid; wait; : {disk}";
    let crash = started(&here, "work.log", run);
    let process = crash.id();
    wait_for(&here.join("pid"));
    let killed = Command::new("sh").args(["-c", &format!("kill -TERM {process}")]).status().expect("sh is there");
    assert!(killed.success());
    let found = crash.wait_with_output().expect("it ends");
    assert_eq!(found.status.code(), Some(130));
    assert!(text(&found.stdout).is_empty() && text(&found.stderr).contains("stopped while the program ran: nothing was judged"));
    assert_eq!(left_behind(process), "");
    let child = std::fs::read_to_string(here.join("pid")).expect("it was written");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "its child is at work: {state}");
}

/// A recording with marks and a power cut is a workload, too.
#[test]
fn compare_reads_a_recording_with_marks() {
    let here = directory("compare");
    let log = std::fs::read_to_string(here.join("unsafe.log")).expect("a recording");
    let noted =
        log.replacen("2 drive", "2 drive note mark one\n2 drive note control cut-power\n2 drive note state 0\n2 drive", 1);
    std::fs::write(here.join("noted.log"), noted).expect("room");
    let compare = |file: &str| {
        let line = format!("{} inspect {file} --json", env!("CARGO_BIN_EXE_flashkeep"));
        let output = Command::new("sh").args(["-c", &line]).current_dir(&here).output().expect("sh is there");
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).replace(file, "")
    };
    assert_eq!(compare("noted.log"), compare("unsafe.log"));
}
