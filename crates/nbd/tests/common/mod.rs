//! A served drive, and the programs that no one here wrote.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod client;
pub mod mount;

use serve::{DriveDirectory, Kept, Launch, Pace, ask};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Whether all of these programs are there; else the test says that it is skipped.
pub fn have(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).collect();
    let missing: Vec<&&str> = programs.iter().filter(|name| !places.iter().any(|place| place.join(name).is_file())).collect();
    if !missing.is_empty() {
        skipped(test, &format!("missing: {missing:?}"));
    }
    missing.is_empty()
}

/// Says that a test is skipped, past the harness, which keeps what tests print: a skipped test is to be seen.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "{test}: skipped, {why}");
}

/// How often the process is killed: this often usually, else as `FLASHKEEP_KILLS` says.
pub fn kills(usual: u64) -> u64 {
    std::env::var("FLASHKEEP_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The library that cargo built beside this test.
pub fn plugin() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let deps = test.parent().expect("a test lies in a directory");
    deps.join(serve::PLUGIN)
}

/// A drive that is served, until the value is dropped.
pub struct Served {
    directory: PathBuf,
    launch: Launch,
    nbdkit: Option<Child>,
}

impl Served {
    /// Makes a drive with these settings and serves it.
    pub fn new(name: &str, kept: Kept, settings: &str) -> Self {
        Self::with_pace(name, kept, settings, Pace::None)
    }

    /// As [`Self::new`], with a clock.
    pub fn with_pace(name: &str, kept: Kept, settings: &str, pace: Pace) -> Self {
        Self::with(name, kept, settings, |launch| launch.pace = pace)
    }

    /// As [`Self::new`], served as `change` says.
    pub fn with(name: &str, kept: Kept, settings: &str, change: impl FnOnce(&mut Launch)) -> Self {
        // Paths of Unix sockets are short.
        static MADE: AtomicU32 = AtomicU32::new(0);
        // Each has its own: the directory of an earlier drive of this name may still be in use by what mounts it.
        let unique = format!("{name}-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(format!("flashkeep-{unique}"));
        let _ = std::fs::remove_dir_all(&directory);
        let drive = DriveDirectory::at(&directory);
        let file = std::env::temp_dir().join(format!("flashkeep-{unique}.toml"));
        std::fs::write(&file, settings).expect("a temporary file");
        let experiment = serve::experiment(&file).unwrap_or_else(|error| panic!("{error}"));
        std::fs::remove_file(&file).expect("it was written");
        drive.create(&experiment, false, kept).unwrap_or_else(|error| panic!("{error}"));
        let mut launch = Launch { kept, plugin: Some(plugin()), syncs: false, ..Launch::of(drive) };
        change(&mut launch);
        let mut served = Self { directory, launch, nbdkit: None };
        served.start();
        served
    }

    pub fn start(&mut self) {
        let mut command = self.launch.command().unwrap_or_else(|error| panic!("{error}"));
        let said = self.file("nbdkit.log");
        command.stderr(std::fs::File::create(&said).expect("a drive has a directory"));
        let nbdkit = self.nbdkit.insert(command.spawn().expect("nbdkit is there"));
        for _ in 0..3000 {
            if self.launch.nbd_socket().exists() && ask(&self.launch.control_socket(), "help").is_ok() {
                return;
            }
            if nbdkit.try_wait().expect("it was started").is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("nbdkit does not listen: {}", std::fs::read_to_string(&said).unwrap_or_default());
    }

    /// Kills the process: a power cut.
    pub fn kill(&mut self) {
        if let Some(mut nbdkit) = self.nbdkit.take() {
            nbdkit.kill().and_then(|()| nbdkit.wait()).expect("it was started");
        }
    }

    /// How the process ended, if it has.
    pub fn ended(&mut self) -> Option<std::process::ExitStatus> {
        let status = self.nbdkit.as_mut()?.try_wait().expect("it was started")?;
        self.nbdkit = None;
        Some(status)
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.nbdkit.as_ref().expect("it was started").id()
    }

    pub fn uri(&self) -> String {
        self.launch.uri()
    }

    pub fn control(&self) -> PathBuf {
        self.launch.control_socket()
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A command that must be done.
    pub fn ctl(&self, command: &str) -> serde_json::Value {
        let answer = ask(&self.control(), command).unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(answer["ok"], true, "{command}: {answer}");
        answer
    }

    /// No read was wrong, and nothing is broken.
    pub fn check(&self) {
        let status = self.ctl("status");
        assert!(status["mismatches"] == 0 && status["first_mismatch"].is_null() && status["broken"].is_null(), "{status}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Runs a program to its end.
pub fn output(program: &str, arguments: &[&str]) -> Output {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", path).stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// Runs a program that must end well; what it printed.
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = output(program, arguments);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are UTF-8")
}

/// The fixed newstyle handshake with NBD_OPT_EXPORT_NAME of the default export.
pub fn handshake(socket: &Path, patience: Duration) -> UnixStream {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.set_read_timeout(Some(patience)).expect("a time");
    let mut greeting = [0; 18];
    stream.read_exact(&mut greeting).expect("a greeting");
    let mut options = 3u32.to_be_bytes().to_vec();
    options.extend(0x4948_4156_454F_5054_u64.to_be_bytes());
    options.extend([0, 0, 0, 1, 0, 0, 0, 0]);
    stream.write_all(&options).expect("it listens");
    let mut export = [0; 10];
    stream.read_exact(&mut export).expect("the size of the export");
    stream
}
