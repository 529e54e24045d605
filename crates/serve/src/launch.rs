//! Starting nbdkit with the plugin.

use crate::control::clear;
use crate::dashboard::Dashboard;
use crate::directory::{DriveDirectory, Kept, ServeError};
use crate::pace::Pace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// File name of the plugin.
pub const PLUGIN: &str = "libflashkeep_nbd.so";

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
    /// Whether the drive aged while nobody served it, as long as that was.
    pub ages_while_closed: bool,
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

    /// The command that serves it, in the foreground.
    ///
    /// # Errors
    /// If nbdkit or the plugin is missing, or somebody serves there already.
    pub fn command(&self) -> Result<Command, ServeError> {
        let plugin = self.find_plugin()?;
        if !is_there("nbdkit") {
            return Err(ServeError::Other(
                "nbdkit is not installed: Debian and Ubuntu have it in the package nbdkit, Fedora in nbdkit-server".into(),
            ));
        }
        let (socket, control) = (self.nbd_socket(), self.control_socket());
        clear(&control)?;
        let mut command = Command::new("nbdkit");
        command.env(TUNABLES, tunables(std::env::var(TUNABLES).ok()));
        command.args(["--foreground", "--threads", &threads(self.pace, self.kept).to_string()]);
        match self.port {
            // Never another address than that of the loopback device.
            Some(port) => command.args(["--ipaddr", "127.0.0.1", "--port", &port.to_string()]),
            None => {
                clear(&socket)?;
                command.arg("--unix").arg(&socket)
            }
        };
        let (plugin_settings, more): (Vec<&String>, Vec<&String>) = self.more.iter().partition(|arg| !arg.starts_with('-'));
        command.args(more).arg(&plugin);
        command.arg(format!("drive={}", self.drive.path().display()));
        command.arg(format!("control={}", control.display()));
        command.arg(format!("time={}", self.pace));
        command.arg(format!("memory={}", self.kept == Kept::Memory));
        command.arg(format!("sync={}", self.syncs));
        if let Some(file) = &self.schedule {
            // Errors are told before nbdkit starts.
            self.drive.schedule(file)?;
            command.arg(format!("schedule={}", file.display()));
        }
        if let Some(port) = self.dashboard {
            Dashboard::check(port)?;
            command.arg(format!("dashboard={port}"));
        }
        if self.ages_while_closed {
            command.arg("age-while-closed=true");
        }
        command.args(plugin_settings);
        Ok(command)
    }

    fn find_plugin(&self) -> Result<PathBuf, ServeError> {
        if let Some(plugin) = &self.plugin {
            return Ok(plugin.clone());
        }
        let program = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
        // `deps` is where cargo builds it with the program; what lies beside the program may be of an earlier build.
        let places = [program.join("deps"), program.clone(), program.join("../lib/flashkeep"), program.join("..")];
        let found = places.iter().map(|place| place.join(PLUGIN)).find(|path| path.exists());
        found.ok_or_else(|| {
            ServeError::Other(format!(
                "the plugin {PLUGIN} is not beside the program in {}: build both with `cargo build --release`, or say where it is \
                 with --plugin",
                program.display()
            ))
        })
    }
}

/// How many threads of nbdkit work for each connection, and so how many of its requests the drive works on at once: as many as
/// clients usually ask. Of a drive in memory without a clock every thread more is one more that sleeps and is woken, and the drive
/// answers no sooner: with 16 threads that takes a fifth more CPU time for each request.
fn threads(pace: Pace, kept: Kept) -> u32 {
    match (pace, kept) {
        (Pace::None | Pace::Still, Kept::Memory) => 4,
        // What is saved before answers is saved once for all that come together.
        _ => 32,
    }
}

/// What glibc reads when a process begins.
const TUNABLES: &str = "GLIBC_TUNABLES";

/// The heap of nbdkit on huge pages, unless somebody has decided that already: pages of a drive are asked for in no order, so that
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
    fn what_a_user_asks_of_glibc_stays() {
        let of = |already: Option<&str>| tunables(already.map(str::to_owned));
        assert_eq!(of(None), "glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("")), "glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("glibc.malloc.check=3")), "glibc.malloc.check=3:glibc.malloc.hugetlb=1");
        assert_eq!(of(Some("glibc.malloc.hugetlb=0")), "glibc.malloc.hugetlb=0");
    }
}
