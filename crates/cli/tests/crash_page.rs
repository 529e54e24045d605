//! docs/tutorials/crash.md and docs/crash.md do what they say: every command in its order, where the programs are that it needs.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// True if these programs and files are there; else the test says what is not.
fn have(programs: &str, and: &str) -> bool {
    let each = format!("for program in {programs}; do command -v $program || {{ echo $program is missing >&2; exit 1; }}; done");
    let line = format!("PATH=$PATH:/usr/sbin:/sbin; {each}; {and} || {{ echo '{and} is not so' >&2; exit 1; }}");
    let output = Command::new("sh").args(["-c", &line]).output().expect("sh is there");
    if !output.status.success() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
    }
    output.status.success()
}

/// For mounts.
const ROOT_AND_LOOPS: &str = "[ -e /dev/fuse ] && [ $(id -u) = 0 ] && [ -e /dev/loop-control ]";

/// A directory with the programs of the page.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    for entry in std::fs::read_dir(Path::new(ROOT).join("examples/crash")).expect("there are examples") {
        let from = entry.expect("an entry").path();
        std::fs::copy(&from, path.join(from.file_name().expect("a file has a name"))).expect("copied");
    }
    path
}

/// Fenced blocks of a page, in order: their language and text.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((language, text.join("\n") + "\n"));
        }
    }
    found
}

fn run(directory: &Path, script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_flashkeep")).parent().expect("it is in a directory");
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").args(["-c", script]).current_dir(directory).env("PATH", path).output().expect("sh is there");
    assert!(output.status.code() != Some(2), "`{script}`: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// The commands of the pages print the text behind them; `...` is for any lines.
#[test]
fn the_pages_do_what_they_say() {
    if !have("nbdkit nbdfuse qemu-io python3", "[ -e /dev/fuse ]") {
        return;
    }
    let mounts = have("mkfs.ext4 e2fsck losetup sqlite3", ROOT_AND_LOOPS);
    let here = directory("crash_page");
    let page = |name: &str| std::fs::read_to_string(Path::new(ROOT).join("docs").join(name)).expect("there is a page");
    let [tutorial, reference] = ["tutorials/crash.md", "crash.md"].map(page);
    let (mut printed, mut compared) = (None, 0);
    for (language, text) in blocks(&tutorial).into_iter().chain(blocks(&reference)) {
        match language {
            "python" => {
                let name = text.split_whitespace().nth(1).expect("its first line names it");
                let shipped = std::fs::read_to_string(here.join(name)).expect("it is an example");
                assert_eq!(text, shipped, "{name}");
            }
            "sh" if text.contains("--mount") && !mounts => printed = None,
            "sh" => printed = Some((run(&here, &text), text)),
            _ => {
                let Some((printed, script)) = printed.take() else { continue };
                let mut lines = printed.lines();
                let mut anywhere = false;
                for shown in text.lines() {
                    if shown != "..." {
                        let is_there = if anywhere { lines.any(|line| line == shown) } else { lines.next() == Some(shown) };
                        assert!(is_there, "`{script}` does not print `{shown}`; it prints\n{printed}");
                        compared += 1;
                    }
                    anywhere = shown == "...";
                }
            }
        }
    }
    assert!(compared > 12, "{compared} lines");
}

/// A program that did not end well is no test, and leaves nothing mounted or running.
#[test]
fn a_program_that_fails_is_an_error() {
    if !have("nbdkit nbdfuse", "[ -e /dev/fuse ]") {
        return;
    }
    let here = directory("crash_program");
    let line = format!("{} crash --run 'ls {{disk}} && exit 3' --check 'true {{image}}'", env!("CARGO_BIN_EXE_flashkeep"));
    let output = Command::new("sh").args(["-c", &line]).current_dir(&here).output().expect("sh is there");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the program did not end well, so what it wrote is no test of it: exit status: 3: "), "{said}");
    let disk = said.trim().rsplit(' ').next().expect("the program printed it");
    assert!(disk.ends_with("/fuse/disk") && !Path::new(disk).exists(), "{disk}");
}

/// The sequences on the two other file systems, and on ext4 with nothing made durable.
#[test]
fn sequences_of_calls_keep_their_promises() {
    let here = directory("crash_sequences");
    for (kind, sequences, says) in
        [("ext4", "hasty", "sequence 0 (creat, fsync): a is not there"), ("xfs", "run", "0 failed"), ("btrfs", "run", "0 failed")]
    {
        let kernel = format!("{ROOT_AND_LOOPS} && grep -qw {kind} /proc/filesystems");
        if !have(&format!("nbdkit nbdfuse python3 losetup mkfs.{kind}"), &kernel) {
            continue;
        }
        let printed = run(
            &here,
            &format!(
                "flashkeep crash {kind}.log --mount {kind} --run 'python3 sequences.py {sequences} {{dir}}' \
                 --check 'python3 sequences.py check {{dir}}' --failures 1 --images 3"
            ),
        );
        assert!(printed.contains(says), "{kind}: {printed}");
    }
}

/// A workload in the language of ACE is run and judged: what it made durable is there, and what it did not is missed.
#[test]
fn workloads_of_ace_are_run_and_judged() {
    if !have("nbdkit nbdfuse python3 losetup mkfs.ext4", ROOT_AND_LOOPS) {
        return;
    }
    let here = directory("crash_ace");
    let workload = |name: &str, calls: &str| {
        let text = format!("# define\nA\nA/foo\nbar\n\n# declare\nlocal_checkpoint\n\n# setup\n\n# run\n{calls}");
        std::fs::write(here.join(name), text).expect("room");
    };
    workload(
        "first",
        "mkdir A 0777\nopen Afoo O_RDWR|O_CREAT 0777\nwrite Afoo 0 32768\nfsetxattr Afoo\n\
         falloc Afoo FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE 4096 8192\nfsync Afoo\ncheckpoint 1\nclose Afoo\n",
    );
    workload(
        "second",
        "open bar O_RDWR|O_CREAT 0777\ndwrite bar 0 8192\nmmapwrite bar 8192 4096\nsync\ncheckpoint 1\nclose bar\n",
    );
    let crash = |log: &str| {
        run(
            &here,
            &format!(
                "flashkeep crash {log}.log --mount ext4 --run 'python3 ace.py run {{dir}} oracle.json first second' \
                 --check 'python3 ace.py check {{dir}} oracle.json' --failures 1 --images 4"
            ),
        )
    };
    assert!(crash("sound").contains(" 0 failed"));
    let hasty = std::fs::read_to_string(here.join("ace.py")).expect("copied").replace("os.fsync(self.file(name))", "pass");
    std::fs::write(here.join("ace.py"), hasty).expect("room");
    let printed = crash("hasty");
    assert!(printed.contains("first: A/foo is None, made durable was"), "{printed}");
}
