//! Starting nbdkit with the plugin.

use crate::control::clear;
use crate::dashboard::Dashboard;
use crate::directory::{DriveDirectory, Kept, ServeError};
use crate::pace::Pace;
use ssd::Setup;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a drive is to be served.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The drive.
    pub drive: DriveDirectory,
    /// Where it is kept.
    pub kept: Kept,
    /// The clock.
    pub pace: Pace,
    /// Where NBD clients find it: a Unix socket, or a TCP port of the loopback device.
    pub socket: Option<PathBuf>,
    /// The port.
    pub port: Option<u16>,
    /// The control socket.
    pub control: Option<PathBuf>,
    /// A file that says what happens to the drive at which request or time.
    pub schedule: Option<PathBuf>,
    /// A port of the loopback device with a page that shows how the drive is.
    pub dashboard: Option<u16>,
    /// The plugin; else it is looked for beside the program.
    pub plugin: Option<PathBuf>,
    /// Whether a flush makes files durable against a failure of the machine.
    pub syncs: bool,
    /// Whether the drive aged while no one served it, as long as that was.
    pub ages_while_closed: bool,
    /// A descriptor that gets a line when clients can connect.
    pub ready: Option<u32>,
    /// More arguments of nbdkit: filters and their settings.
    pub more: Vec<String>,
}

impl Launch {
    /// Serves a drive in files at its usual sockets, as fast as it can.
    #[must_use]
    pub fn of(drive: DriveDirectory) -> Self {
        Self {
            drive,
            kept: Kept::Files,
            pace: Pace::None,
            socket: None,
            port: None,
            control: None,
            schedule: None,
            dashboard: None,
            plugin: None,
            syncs: true,
            ages_while_closed: false,
            ready: None,
            more: Vec::new(),
        }
    }

    /// Where NBD clients find it.
    #[must_use]
    pub fn uri(&self) -> String {
        match self.port {
            Some(port) => format!("nbd://localhost:{port}"),
            None => format!("nbd+unix:///?socket={}", self.nbd_socket().display()),
        }
    }

    /// The Unix socket of NBD clients.
    #[must_use]
    pub fn nbd_socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| self.drive.nbd_socket())
    }

    /// The control socket.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.control.clone().unwrap_or_else(|| self.drive.control_socket())
    }

    /// Lines for whoever waits until the drive is served.
    fn announcement(&self) -> String {
        let mut lines = format!("serving {}\ncontrol {}", self.uri(), self.control_socket().display());
        if let Some(port) = self.dashboard {
            lines += &format!("\ndashboard http://127.0.0.1:{port}/");
        }
        lines
    }

    /// Judges all that can be judged without the drive itself, which need not be there: a drive of this setup.
    ///
    /// # Errors
    /// As of [`Self::command`], or what is wrong with the schedule or with an argument of nbdkit.
    pub fn check(&self, setup: &Setup) -> Result<(), ServeError> {
        if let Some(file) = &self.schedule {
            DriveDirectory::planned(setup, file)?;
        }
        let mut command = self.command()?;
        let judged = command.arg("check=true").stdin(Stdio::null()).output();
        let judged = judged.map_err(|error| ServeError::Other(format!("nbdkit cannot be started: {error}")))?;
        if judged.status.success() {
            return Ok(());
        }
        Err(ServeError::Other(String::from_utf8_lossy(&judged.stderr).trim().to_owned()))
    }

    /// The command that serves it, in the foreground.
    ///
    /// # Errors
    /// If nbdkit or the plugin is missing, a path is too long for a socket, or a drive is served there already.
    pub fn command(&self) -> Result<Command, ServeError> {
        let plugin = self.plugin.clone().map_or_else(crate::plugin::find, Ok)?;
        if !plugin.is_file() {
            return Err(ServeError::Other(format!("{}: there is no such plugin", plugin.display())));
        }
        if !is_there("nbdkit") {
            return Err(ServeError::Other(
                "nbdkit is not installed: Debian and Ubuntu have it in the package nbdkit, Fedora in nbdkit-server".into(),
            ));
        }
        // nbdkit makes the path of its socket absolute, so that is what must not be too long.
        let (socket, control) = (absolute(&self.nbd_socket())?, absolute(&self.control_socket())?);
        clear(&control)?;
        let mut command = Command::new("nbdkit");
        command.env(TUNABLES, tunables(std::env::var(TUNABLES).ok()));
        command.arg("--foreground");
        if !self.says_threads() {
            command.args(["--threads", &self.threads().to_string()]);
        }
        match self.port {
            // Never another address than that of the loopback device.
            Some(port) => command.args(["--ipaddr", "127.0.0.1", "--port", &port.to_string()]),
            None => {
                clear(&socket)?;
                command.arg("--unix").arg(&socket)
            }
        };
        // nbdkit takes options behind the plugin, too, so that arguments stay in the order in which they were written.
        command.arg(absolute(&plugin)?).args(self.settings(&socket, &control)?).args(&self.more);
        Ok(command)
    }

    /// Settings of the plugin.
    fn settings(&self, socket: &Path, control: &Path) -> Result<Vec<String>, ServeError> {
        let mut settings = vec![
            format!("drive={}", self.drive.path().display()),
            format!("control={}", control.display()),
            self.port.map_or_else(|| format!("socket={}", socket.display()), |port| format!("port={port}")),
            format!("time={}", self.pace),
            format!("memory={}", self.kept == Kept::Memory),
            format!("sync={}", self.syncs),
            format!("announce={}", self.announcement()),
        ];
        settings.extend(self.schedule.as_ref().map(|file| format!("schedule={}", file.display())));
        if let Some(port) = self.dashboard {
            Dashboard::check(port)?;
            settings.push(format!("dashboard={port}"));
        }
        if self.ages_while_closed {
            settings.push("age-while-closed=true".to_owned());
        }
        if let Some(file) = self.ready {
            // The plugin would find out after the fork.
            if !Path::new("/dev/fd").join(file.to_string()).exists() {
                return Err(ServeError::Other(format!("--ready-fd {file}: this descriptor is not open")));
            }
            settings.push(format!("ready-fd={file}"));
        }
        Ok(settings)
    }

    /// Whether `more` says how many threads nbdkit is to have.
    fn says_threads(&self) -> bool {
        self.more.iter().any(|arg| arg.starts_with("-t") || arg.starts_with("--thr"))
    }

    /// How many threads of nbdkit work for each connection, and so how many of its requests the drive works on at once.
    fn threads(&self) -> u32 {
        if version().is_some_and(dies_of_hang_ups) { 1 } else { threads(self.pace, self.kept) }
    }

    /// Warning on the nbdkit that is installed.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        let version = version().filter(|version| dies_of_hang_ups(*version) && !self.says_threads())?;
        let (major, minor, patch) = version;
        Some(format!(
            "nbdkit {major}.{minor}.{patch} aborts if a client disconnects with requests outstanding, so each connection works on one \
             request at a time; nbdkit 1.34 does not, and `-- --threads 32` takes the risk"
        ))
    }
}

/// How many threads of nbdkit work for each connection: as many requests as clients usually have under way. Of a drive in memory without a clock every thread more is one more that sleeps and is woken, and the drive
/// answers no sooner: with 16 threads that takes a fifth more CPU time for each request.
fn threads(pace: Pace, kept: Kept) -> u32 {
    match (pace, kept) {
        (Pace::None | Pace::Still, Kept::Memory) => 4,
        // Data that are saved before answers are saved once for all answers that come together.
        _ => 32,
    }
}

/// A version of nbdkit.
type Version = (u32, u32, u32);

/// The version of the nbdkit that is installed; none, if it does not say.
fn version() -> Option<Version> {
    let told = Command::new("nbdkit").arg("--version").stdin(Stdio::null()).output().ok()?;
    version_of(&String::from_utf8_lossy(&told.stdout))
}

/// The version that `nbdkit 1.32.5 (...)` names.
fn version_of(told: &str) -> Option<Version> {
    let mut numbers = told.split_whitespace().nth(1)?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??, numbers.next()??))
}

/// Whether this nbdkit ends with an assertion when a client hangs up while several of its requests are answered: one thread marks the
/// socket as closed, and another that has an answer demands that it be open (`raw_send_socket`). It came with "Give client EOF when we
/// are done writing" (1.33.3, and 1.32.4 of the stable branch) and went with "Don't assert on send if client hangs up early" (1.33.10).
/// With one thread for each connection there is no other.
fn dies_of_hang_ups(version: Version) -> bool {
    ((1, 32, 4)..(1, 33, 0)).contains(&version) || ((1, 33, 3)..(1, 33, 10)).contains(&version)
}

/// The same path from the root directory.
fn absolute(path: &Path) -> Result<PathBuf, ServeError> {
    std::path::absolute(path).map_err(|error| ServeError::File(path.to_owned(), "find", error))
}

/// Variable that glibc reads when a process begins.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// The heap of nbdkit on huge pages, unless someone has decided that already: pages of a drive are asked for in no order, so that
/// with small pages nearly each access misses the TLB, too; 32 writes at once took a fifth more time. Other C libraries ignore it.
fn tunables(already: Option<String>) -> String {
    const HUGE_PAGES: &str = "glibc.malloc.hugetlb";
    match already {
        Some(set) if set.contains(HUGE_PAGES) => set,
        Some(set) if !set.is_empty() => format!("{set}:{HUGE_PAGES}=1"),
        _ => format!("{HUGE_PAGES}=1"),
    }
}

/// Whether a program can be found.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into()]).any(|place| place.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_die_of_hang_ups_are_known() {
        let of = |text: &str| dies_of_hang_ups(version_of(text).expect("a version"));
        let found: Vec<bool> = [
            "nbdkit 1.28.3",
            "nbdkit 1.32.3",
            "nbdkit 1.32.5 (nbdkit-1.32.5-1)\n",
            "nbdkit 1.33.9",
            "nbdkit 1.33.10",
            "nbdkit 1.36.3",
        ]
        .map(of)
        .to_vec();
        assert_eq!(found, [false, false, true, true, false, false]);
        assert_eq!(version_of("nbdkit"), None);
        let launch = |more: &[&str]| {
            let more = more.iter().map(|arg| (*arg).to_owned()).collect();
            Launch { more, ..Launch::of(DriveDirectory::at(Path::new("drive"))) }.says_threads()
        };
        assert!(launch(&["--threads", "4"]) && launch(&["-t4"]) && launch(&["--filter=log", "--threads=1"]));
        assert!(!launch(&["--filter", "error"]));
    }

    #[test]
    fn what_a_user_asks_of_glibc_stays() {
        let of = |already: Option<&str>| tunables(already.map(str::to_owned));
        assert_eq!(of(None), "glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("")), "glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("glibc.malloc.check=3")), "glibc.malloc.check=3:glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("glibc.malloc.hugetlb=0")), "glibc.malloc.hugetlb=0");
    }
}
