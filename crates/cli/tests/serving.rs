//! `flashkeep serve` and `flashkeep ctl` as typed: when a drive is served, what is refused before anything is made, how it is stopped.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

/// A directory of one test. Paths of Unix sockets are short.
fn directory(test: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("flashkeep-{test}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("room");
    path
}

fn program(here: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashkeep"));
    command.args(arguments).current_dir(here).stdin(Stdio::null());
    command
}

fn flashkeep(here: &Path, arguments: &[&str]) -> Output {
    program(here, arguments).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a command that must succeed.
fn printed(here: &Path, arguments: &[&str]) -> String {
    let output = flashkeep(here, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).expect("text")
}

/// Whether nbdkit is there; else the test says that it is skipped.
fn have_nbdkit(test: &str) -> bool {
    let is_there = Command::new("nbdkit").arg("--version").output().is_ok();
    if !is_there {
        eprintln!("{test}: skipped, missing: nbdkit");
    }
    is_there
}

/// A drive that the program serves.
struct Served {
    process: Child,
    said: BufReader<ChildStderr>,
}

impl Served {
    /// Starts it and reads what it says up to the line that says where it serves.
    fn start(here: &Path, arguments: &[&str]) -> Self {
        let mut process = program(here, arguments).stderr(Stdio::piped()).spawn().expect("the program starts");
        let mut said = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut all = String::new();
        while !all.lines().last().is_some_and(|line| line.starts_with("serving ")) {
            assert!(said.read_line(&mut all).expect("a pipe") > 0, "it has ended: {all}");
        }
        Self { process, said }
    }

    /// Waits for its end; what else it said.
    fn ends(mut self) -> String {
        let mut rest = String::new();
        self.said.read_to_string(&mut rest).expect("a pipe");
        assert!(self.process.wait().expect("it was started").success(), "{rest}");
        rest
    }

    /// How many threads the process has.
    fn threads(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/task", self.process.id())).expect("it runs").count()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const SMALL: [&str; 6] = ["serve", "d", "--create", "--memory", "--size", "16MiB"];

#[test]
fn serving_is_said_when_clients_can_connect() {
    if !have_nbdkit("serving_is_said_when_clients_can_connect") {
        return;
    }
    let here = directory("ready");
    for _ in 0..3 {
        let served = Served::start(&here, &SMALL);
        let mut client = UnixStream::connect(here.join("d/nbd.sock")).expect("clients can connect");
        client.read_exact(&mut [0; 18]).expect("a greeting");
        assert_eq!(printed(&here, &["ctl", "d", "status", "power_cuts"]), "0\n");
        printed(&here, &["ctl", "d", "stop"]);
        assert!(served.ends().starts_with("control d/control.sock\n"));
        assert!(std::fs::read_dir(here.join("d")).expect("the drive").count() == 1, "no socket is left");
        std::fs::remove_dir_all(here.join("d")).expect("it is not served any more");
    }
    // The same by a descriptor, which a shell opens.
    let line =
        format!("exec {} serve d --create --memory --size 16MiB --ready-fd 4 4>&1 >/dev/null", env!("CARGO_BIN_EXE_flashkeep"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).current_dir(&here).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = shell.spawn().expect("sh is there");
    let mut ready = String::new();
    process.stdout.take().expect("a pipe").read_to_string(&mut ready).expect("a pipe");
    assert_eq!(ready, "ready\n", "one line, and then it is closed");
    UnixStream::connect(here.join("d/nbd.sock")).expect("clients can connect");
    printed(&here, &["ctl", "d", "stop"]);
    assert!(process.wait().expect("it was started").success());
}

/// Whatever is wrong is said before a drive is made, so that the command works once it is right.
#[test]
fn refused_options_leave_nothing_behind() {
    if !have_nbdkit("refused_options_leave_nothing_behind") {
        return;
    }
    let here = directory("refused");
    std::fs::write(here.join("late.toml"), "[[control]]\nat_request = 5\ndo = \"kill die 99\"\n").expect("room");
    let long = format!("{}/nbd.sock", "x".repeat(120));
    for (more, what) in [
        (&["--schedule", "nofile.toml"][..], "nofile.toml: cannot read"),
        (&["--schedule", "late.toml"], "die 99: valid are 0 to"),
        (&["--only-create", "--schedule", "late.toml"], "die 99: valid are 0 to"),
        (&["--time", "fast"], "--time: found `fast`"),
        (&["--plugin", "nofile.so"], "nofile.so: there is no such plugin"),
        (&["--plugin", "late.toml"], "nbdkit: error: cannot open plugin"),
        (&["--socket", &long], "a Unix socket has 107 at most"),
        (&["--control", &long], "a Unix socket has 107 at most"),
        (&["--ready-fd", "77"], "--ready-fd 77: this descriptor is not open"),
        (&["--scheme", "raid6"], "--scheme raid6: "),
        (&["--no-sync"], "cannot be used with"),
        (&["--age-while-closed"], "cannot be used with"),
        (&["--", "--threads", "no"], "nbdkit: error: threads"),
        (&["--", "--no-such-option"], "no-such-option"),
        (&["--", "--filter=no-such-filter"], "no-such-filter"),
        (&["--", "no-such-setting=1"], "unknown setting `no-such-setting`"),
    ] {
        let refused = flashkeep(&here, &[&SMALL[..], more].concat());
        assert_eq!((refused.status.code(), here.join("d").exists()), (Some(2), false), "{more:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(what), "{more:?}: {}", stderr(&refused));
    }
    let served = Served::start(&here, &SMALL);
    printed(&here, &["ctl", "d", "stop"]);
    served.ends();
}

/// Options that would do something else than they say: each is refused, and says what is right.
#[test]
fn options_that_would_do_nothing_are_refused() {
    let here = directory("silent");
    printed(&here, &["serve", "d", "--only-create", "--size", "16MiB"]);
    let files = || {
        let mut names: Vec<_> =
            std::fs::read_dir(here.join("d")).expect("a drive").map(|entry| entry.expect("a file").file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(files(), ["drive.toml", "flash", "flash.memory"]);
    for (arguments, what) in [
        (&["serve", "d", "--only-create"][..], "there is a drive already"),
        (&["serve", "d", "--filled"], "there is a drive already"),
        (&["serve", "d", "--memory"], "d is kept in files (d/flash): serve it without"),
        (&["serve", "e"], "there is no drive here; make one with"),
        (&["ctl", "d", "status"], "d is not served: `flashkeep serve d` serves it"),
        (&["ctl", "e", "status"], "e: no drive is served there"),
    ] {
        let refused = flashkeep(&here, arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&refused).contains(what), "{arguments:?}: {}", stderr(&refused));
    }
    // Alone it makes the usual drive.
    printed(&here, &["serve", "f", "--only-create", "--memory"]);
    assert!(here.join("f/drive.toml").exists());
    assert_eq!(files(), ["drive.toml", "flash", "flash.memory"]);
}

/// Every spelling of nbdkit's option says how many threads a connection has.
#[test]
fn threads_are_as_many_as_said() {
    if !have_nbdkit("threads_are_as_many_as_said") {
        return;
    }
    let here = directory("threads");
    let with = |threads: &[&str]| {
        let _ = std::fs::remove_dir_all(here.join("d"));
        let served = Served::start(&here, &[&SMALL[..], &["--"], threads].concat());
        let before = served.threads();
        // `nbdkit` begins them after the handshake.
        let mut stream = UnixStream::connect(here.join("d/nbd.sock")).expect("it listens");
        stream.read_exact(&mut [0; 18]).expect("a greeting");
        let options = [&[0, 0, 0, 3][..], b"IHAVEOPT", &[0, 0, 0, 1, 0, 0, 0, 0]].concat();
        std::io::Write::write_all(&mut stream, &options).expect("it listens");
        stream.read_exact(&mut [0; 10]).expect("the size of the export");
        std::thread::sleep(std::time::Duration::from_millis(100));
        // One is that of the connection itself, which waits for the others.
        served.threads() - before - 1
    };
    assert_eq!(with(&["--threads", "5"]), 5);
    assert_eq!((with(&["--threads=7"]), with(&["-t", "3"]), with(&["--filter=log", "-t", "2", "logfile=log"])), (7, 3, 2));
}

/// A snapshot is listed, is replaced only by who says so, and goes with its files.
#[test]
fn snapshots_are_listed_kept_and_deleted() {
    if !have_nbdkit("snapshots_are_listed_kept_and_deleted") {
        return;
    }
    let here = directory("snapshots");
    let _served = Served::start(&here, &["serve", "d", "--create", "--size", "16MiB"]);
    let names = || {
        let told: serde_json::Value = serde_json::from_str(&printed(&here, &["ctl", "d", "snapshots"])).expect("JSON");
        told["snapshots"].to_string()
    };
    let copies = || {
        std::fs::read_dir(here.join("d"))
            .expect("a drive")
            .filter(|file| file.as_ref().expect("a file").file_name().to_string_lossy().contains(".snapshot"))
            .count()
    };
    printed(&here, &["ctl", "d", "snapshot", "one"]);
    printed(&here, &["ctl", "d", "snapshot", "two"]);
    assert_eq!((names(), copies()), ("[\"one\",\"two\"]".into(), 4));
    let refused = flashkeep(&here, &["ctl", "d", "snapshot", "one"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("there is a snapshot `one` already; `snapshot one --force` replaces it"),
        "{}",
        stderr(&refused)
    );
    printed(&here, &["ctl", "d", "snapshot", "one", "--force"]);
    printed(&here, &["ctl", "d", "delete-snapshot", "one"]);
    assert_eq!((names(), copies()), ("[\"two\"]".into(), 2));
    let refused = flashkeep(&here, &["ctl", "d", "restore", "one"]);
    assert!(stderr(&refused).contains("no snapshot `one`; known: [\"two\"]"), "{}", stderr(&refused));
    printed(&here, &["ctl", "d", "snapshot", "--force", "two"]);
    for name in ["--force", "../two", ".", "a.b"] {
        let refused = flashkeep(&here, &["ctl", "d", "snapshot", name]);
        assert!(stderr(&refused).contains("valid are 1 to 64 letters, digits, - and _"), "{name}: {}", stderr(&refused));
    }
}

/// A snapshot that a killed process had not finished goes when the drive is opened.
#[test]
fn unfinished_snapshots_do_not_stay() {
    if !have_nbdkit("unfinished_snapshots_do_not_stay") {
        return;
    }
    let here = directory("unfinished");
    printed(&here, &["serve", "d", "--only-create", "--size", "16MiB"]);
    let (unfinished, own) = (here.join("d/flash.one.snapshot.new"), here.join("d/notes.new"));
    [&unfinished, &own].iter().for_each(|file| std::fs::write(file, "half").expect("room"));
    let _served = Served::start(&here, &["serve", "d"]);
    assert!(!unfinished.exists() && own.exists());
}

/// A command says in words that it cannot do something, and leaves nothing behind.
#[test]
fn refused_commands_say_what_is_valid() {
    if !have_nbdkit("refused_commands_say_what_is_valid") {
        return;
    }
    let here = directory("commands");
    let _served = Served::start(&here, &["serve", "d", "--create", "--memory", "--size", "16MiB"]);
    std::fs::write(here.join("old.log.data"), "").expect("room");
    for (command, said) in [
        ("cut-power --disconect", "valid is `cut-power [--disconnect]`"),
        ("snapshot --force", "valid are 1 to 64 letters, digits, - and _, the first of which is no -"),
        ("record old.log", "error: old.log: there is a file already: old.log.data"),
        ("record no/such/folder.log", "error: no/such/folder.log: No such file or directory"),
    ] {
        let refused = flashkeep(&here, &[&["ctl", "d"], &command.split(' ').collect::<Vec<_>>()[..]].concat());
        assert!(stderr(&refused).contains(said) && !stderr(&refused).contains("os error"), "{command}: {}", stderr(&refused));
    }
    assert!(!here.join("old.log").exists());
    printed(&here, &["ctl", "d", "errors", "--down", "1s", "--up", "2s"]);
}

/// Catches help that needs a drive, or lacks a command that the socket knows.
#[test]
fn the_commands_of_a_drive_are_listed_without_one() {
    let here = directory("help");
    let help = printed(&here, &["ctl", "help"]);
    assert_eq!(printed(&here, &["ctl", "d", "help"]), help);
    let long = printed(&here, &["ctl", "--help"]);
    for (form, about) in serve::commands() {
        let listed = |text: &str| text.lines().any(|line| line.trim().starts_with(form) && line.ends_with(about));
        assert!(listed(&help) && listed(&long), "{form}: {help}{long}");
    }
    let refused = flashkeep(&here, &["ctl", "d"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no command for d; `flashkeep ctl help` lists the commands"), "{}", stderr(&refused));
}

/// JSON in a pipe, a summary for people, and single values for scripts.
#[test]
fn a_status_is_for_people_and_for_scripts() {
    if !have_nbdkit("a_status_is_for_people_and_for_scripts") {
        return;
    }
    let here = directory("status");
    let _served = Served::start(&here, &SMALL);
    printed(&here, &["ctl", "d", "kill", "die", "2"]);
    printed(&here, &["ctl", "d", "slow", "die", "3", "x", "10"]);
    let value = |name: &str| printed(&here, &["ctl", "d", "status", name]);
    assert_eq!(
        (value("read_only"), value("dies.2.alive"), value("dies.3.slow")),
        ("false\n".into(), "false\n".into(), "10.0\n".into())
    );
    assert!(value("scheme").starts_with("ds-raid"), "a text has no quotes");
    let json = printed(&here, &["ctl", "d", "status"]);
    let status: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&status["size"], &status["dies"][2]["alive"]), (&(16 << 20).into(), &false.into()));
    let text = printed(&here, &["ctl", "d", "status", "--text"]);
    for line in ["state       reads and writes are taken", "snapshots   none", "power cuts  0"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    assert!(text.contains(" work; dead: 2; slow: 3\n") && text.contains("slow die 3 x 10"), "{text}");
    for (command, what) in [
        (&["status", "read-only"][..], "`read-only` is unknown; known: time_s, size"),
        (&["status", "dies.99"], "`99` is unknown; known: 0 to "),
        (&["status", "--xml"], "valid is `status [FIELD|--json|--text]`"),
        (&["wear", "1000"], "found `wear 1000`, valid is `wear +CYCLES`"),
    ] {
        let refused = flashkeep(&here, &[&["ctl", "d"], command].concat());
        assert!(stderr(&refused).contains(what), "{command:?}: {}", stderr(&refused));
    }
}
