//! docs/serve.md and docs/tutorials/postgresql.md as written: first steps, the options of `serve`, the commands of `ctl`, and
//! the tutorial, in the order of the pages.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PAGE: &str = include_str!("../../../docs/serve.md");
const TUTORIAL: &str = include_str!("../../../docs/tutorials/postgresql.md");

/// A directory of one test that other users may enter. Paths of Unix sockets are short.
fn directory(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("flashkeep-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("room");
    path
}

/// Whether all of these are there; else the test says that it is skipped.
fn have(test: &str, programs: &[&str]) -> bool {
    let found = |name: &&&str| !sh(Path::new("/"), &format!("command -v {name}")).0;
    let missing: Vec<&&str> = programs.iter().filter(found).collect();
    if !missing.is_empty() {
        eprintln!("{test}: skipped, missing: {missing:?}");
    }
    missing.is_empty()
}

/// A shell that finds the program that was built from these sources.
fn shell(here: &Path, script: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_flashkeep")).parent().expect("it is in a directory");
    let path = format!("{}:{}:/usr/sbin:/sbin", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(here).env("PATH", path).stdin(Stdio::null());
    command
}

/// Whether a script ends well, and what it prints.
fn sh(here: &Path, script: &str) -> (bool, String) {
    let output = shell(here, &format!("exec 2>&1\n{script}")).output().expect("sh is there");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The output of a script that must succeed.
fn typed(here: &Path, script: &str) -> String {
    let (is_done, printed) = sh(here, script);
    assert!(is_done, "`{script}`: {printed}");
    printed
}

/// A drive that a command serves.
struct Served(Child);

impl Served {
    /// Starts it, and waits for the line of which the page says that clients can connect then.
    fn start(here: &Path, command: &str) -> Self {
        let mut process = shell(here, &format!("exec {command}")).stderr(Stdio::piped()).spawn().expect("sh is there");
        let mut said = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut all = String::new();
        while !all.lines().last().is_some_and(|line| line.starts_with("serving ")) {
            assert!(said.read_line(&mut all).expect("a pipe") > 0, "`{command}` has ended: {all}");
        }
        // Whoever reads no more lets it go on.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self(process)
    }

    fn ends(mut self) {
        assert!(self.0.wait().expect("it was started").success());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The part of the page below a heading.
fn section(heading: &str) -> &'static str {
    let from = PAGE.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no heading {heading}"));
    let part = &PAGE[from + 4..];
    &part[..part.find("\n## ").unwrap_or(part.len())]
}

/// Its blocks of code.
fn blocks(part: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![String::new()];
    for line in part.lines() {
        match line.strip_prefix("    ") {
            Some(code) => found.last_mut().expect("one").extend([code, "\n"]),
            None if !line.is_empty() => found.push(String::new()),
            None => {}
        }
    }
    found.retain(|block| !block.is_empty());
    found
}

/// A command that serves, without the comment behind it.
fn serving(block: &str) -> String {
    let lines = block.lines().map(|line| line.split("  # ").next().expect("a part").trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn first_steps_do_what_the_page_says() {
    if !have("first_steps_do_what_the_page_says", &["nbdkit", "nbdinfo", "nbdcopy"]) {
        return;
    }
    let here = directory("steps");
    let steps = blocks(section("First steps"));
    std::fs::write(here.join("disk.img"), vec![7; 20 << 20]).expect("room");
    let served = Served::start(&here, &serving(&steps[0]));
    assert!(steps[1].starts_with("serving nbd+unix:///?socket=mydrive/nbd.sock\n"), "printed: {}", steps[1]);
    let printed = typed(&here, &steps[2]);
    assert!(printed.contains("\"mismatches\": 0"), "{printed}");
    served.ends();
}

/// Whether this process may mount; else the test says that it is skipped.
fn may_mount(test: &str) -> bool {
    let script = "[ $(id -u) = 0 ] && [ -e /dev/fuse ] && [ -e $(losetup --find) ] && grep -q ext4 /proc/filesystems";
    let may = sh(Path::new("/"), script).0;
    if !may {
        eprintln!("{test}: skipped, it may not mount");
    }
    may
}

/// Lets go of what a script that failed had mounted.
const UNDO: &str = "umount -l mnt || true; losetup -j disk/drive | cut -d: -f1 | xargs -r losetup -d; umount -l disk";

/// A cut that the file system feels: what it had made durable is there, what it writes after the cut is refused, and it mounts clean.
#[test]
fn a_file_system_crashes_with_its_drive_and_comes_back() {
    let test = "a_file_system_crashes_with_its_drive_and_comes_back";
    if !have(test, &["nbdkit", "nbdfuse", "mkfs.ext4", "e2fsck", "losetup"]) || !may_mount(test) {
        return;
    }
    let here = directory("crashed");
    let drive =
        "flashkeep serve mydrive --create --memory --drive mlc-2014 --scheme none --size 32MiB --set buffer.kind=volatile";
    let served = Served::start(&here, drive);
    let block = blocks(section("Control")).into_iter().find(|block| block.contains("--disconnect\n")).expect("the page has it");
    let (cut, mounted) = block.split_once('\n').expect("lines");
    let before = "mkdir disk mnt; nbdfuse disk/drive 'nbd+unix:///?socket=mydrive/nbd.sock' &
        until [ -s disk/drive ]; do sleep 0.1; done
        loop=$(losetup --find --show disk/drive); mkfs.ext4 -q $loop; mount $loop mnt
        echo durable > mnt/kept; sync -f mnt/kept";
    let refused = "if echo more > mnt/later && sync -f mnt/later; then echo it goes on; exit 1; fi";
    let after = "cat mnt/kept; [ ! -e mnt/later ]; umount mnt; e2fsck -fn $loop; losetup -d $loop; umount disk; flashkeep ctl mydrive stop";
    let (is_done, printed) = sh(&here, &[before, cut, refused, mounted, after].join("\n"));
    if !is_done {
        sh(&here, UNDO);
    }
    assert!(is_done && printed.contains("\ndurable\n"), "{printed}");
    served.ends();
}

/// Waits and loads are shorter than the page has them.
#[test]
fn the_tutorial_with_postgresql_does_what_it_says() {
    let test = "the_tutorial_with_postgresql_does_what_it_says";
    if !have(test, &["nbdkit", "nbdfuse", "mkfs.ext4", "losetup", "/usr/lib/postgresql/*/bin/pgbench"]) {
        return;
    }
    if !may_mount(test) {
        return;
    }
    let here = directory("postgresql");
    let steps = blocks(TUTORIAL);
    assert!(steps[0].starts_with("flashkeep serve pgdrive "), "{}", steps[0]);
    // The port of the page may be that of another test.
    let served = Served::start(&here, &serving(&steps[0]).replace("--dashboard", "").replace("1GiB", "256MiB"));
    let mut script = steps[1..].concat();
    for (written, shorter) in [("-T 20", "-T 2"), ("sleep 5", "sleep 1"), ("-s 10", "-s 1")] {
        assert!(script.contains(written), "{written}");
        script = script.replace(written, shorter);
    }
    let (is_done, printed) = sh(&here, &script);
    if !is_done {
        sh(&here, UNDO);
    }
    assert!(is_done, "{printed}");
    let number = |before: &str| {
        let from = printed.find(before).unwrap_or_else(|| panic!("no `{before}`: {printed}")) + before.len();
        printed[from..].split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).expect("a number")
    };
    let rows = printed.lines().filter_map(|line| line.trim().parse::<u64>().ok()).collect::<Vec<_>>();
    assert_eq!(rows, [number("number of transactions actually processed: ")], "{printed}");
    assert_eq!(number("number of failed transactions: "), 0);
    served.ends();
}

/// First columns of the table whose head begins so.
fn first_column(part: &str, head: &str) -> Vec<&'static str> {
    let from = PAGE.find(&format!("\n| {head} |")).unwrap_or_else(|| panic!("no table {head}"));
    assert!(part.contains(&format!("| {head} |")), "{head} is of another part");
    let rows = PAGE[from + 1..].lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|row| row[1..].split(" | ").next().expect("a cell").trim()).collect()
}

/// The text between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Options of the page as they are typed. A new row needs one here.
fn option(written: &str) -> &str {
    match written {
        "--create [FILE.toml]" => "--create drive.toml --memory",
        "--scheme" => "--memory --scheme raid5",
        "--drive" => "--memory --size 16MiB --drive mlc-2014",
        "--size" => "--memory --size 16MiB",
        "--ecc" => "--memory --size 16MiB --ecc fixed",
        "--error-model" => "--memory --size 16MiB --error-model flares --ecc fixed",
        "--set" => "--memory --size 16MiB --set buffer.kind=volatile",
        "--filled" => "--memory --filled --size 16MiB",
        "--only-create" => "--only-create --size 16MiB",
        "--memory" => "--memory --size 16MiB",
        "--socket PATH" => "--memory --size 16MiB --socket other.sock",
        "--port N" => "--memory --size 16MiB --port 10897",
        "--control PATH" => "--memory --size 16MiB --control d/control.sock",
        "--ready-fd N" => "--memory --size 16MiB --ready-fd 5 5>ready",
        "--time none" => "--memory --size 16MiB --time none",
        "still" => "--memory --size 16MiB --time still",
        "real" => "--memory --size 16MiB --time real",
        "10x" => "--memory --size 16MiB --time 10x",
        "--schedule FILE" => "--memory --size 16MiB --schedule faults.toml",
        "--dashboard [PORT]" => "--memory --size 16MiB --dashboard 10898",
        "--no-sync" => "--size 16MiB --no-sync",
        "--age-while-closed" => "--size 16MiB --age-while-closed",
        "-- ARGUMENTS" => "--memory --size 16MiB -- --filter=blocksize minblock=512",
        other => panic!("nothing is typed for `{other}`"),
    }
}

#[test]
fn every_option_of_the_page_serves_a_drive() {
    if !have("every_option_of_the_page_serves_a_drive", &["nbdkit", "nbdinfo"]) {
        return;
    }
    let here = directory("options");
    std::fs::write(here.join("drive.toml"), "schemes = [\"raid5\"]\ncapacity.size = \"16MiB\"\n").expect("room");
    std::fs::write(here.join("faults.toml"), &blocks(section("Schedules"))[1]).expect("room");
    for written in first_column(section("Options"), "option").into_iter().flat_map(quoted) {
        let command = format!("flashkeep serve d {}", option(written));
        if written == "--only-create" {
            typed(&here, &command);
        } else {
            let served = Served::start(&here, &command);
            let uri = match written {
                "--port N" => "nbd://localhost:10897",
                "--socket PATH" => "nbd+unix:///?socket=other.sock",
                _ => "nbd+unix:///?socket=d/nbd.sock",
            };
            typed(&here, &format!("nbdinfo --size '{uri}'"));
            typed(&here, "flashkeep ctl d stop");
            served.ends();
        }
        typed(&here, "rm -r d");
    }
    assert_eq!(std::fs::read_to_string(here.join("ready")).expect("a file"), "ready\n");
}

/// A number of a part for what the page writes with `N`, and names for the rest.
fn filled_in(written: &str, page: u32) -> String {
    let numbers = [("die N", "die 1"), ("block N", "block 70"), ("channel N", "channel 1"), ("wear-out N", "wear-out 75")];
    let mut command = written.replace("page N", &format!("page {page}"));
    for (from, to) in [&numbers[..], &[("NAME", "before"), ("FILE", "session.log")]].concat() {
        command = command.replace(from, to);
    }
    command
}

/// Every command, in the order of the page, of a drive in memory and of one in files.
#[test]
fn every_command_of_the_page_is_done() {
    if !have("every_command_of_the_page_is_done", &["nbdkit", "nbdcopy"]) {
        return;
    }
    let commands: Vec<&str> = first_column(section("Control"), "command").into_iter().flat_map(quoted).collect();
    for kept in ["--memory", ""] {
        let here = directory(if kept.is_empty() { "commands-files" } else { "commands" });
        std::fs::write(here.join("disk.img"), vec![7; 8 << 20]).expect("room");
        let drive =
            "flashkeep serve mydrive --create --size 16MiB --scheme raid5 --drive mlc-2014 --error-model flares --ecc fixed";
        let served = Served::start(&here, &format!("{drive} {kept}"));
        typed(&here, "nbdcopy disk.img 'nbd+unix:///?socket=mydrive/nbd.sock'");
        let holds = |page: &u32| sh(&here, &format!("flashkeep ctl mydrive kill page {page}")).0;
        let mut page = (0..2000).find(holds).expect("a page holds something") + 1;
        for written in &commands {
            if written.contains("kill page") {
                // The first one is lost already.
                page = (page..4000).find(holds).expect("another holds something");
                continue;
            }
            typed(&here, &format!("flashkeep ctl mydrive {}", filled_in(written, page)));
        }
        served.ends();
    }
}
