//! Settings of the plugin, and the drive that is served.

use crate::abi::{end_well, say};
use crate::clients::Door;
use serve::{Control, Dashboard, Disk, DriveDirectory, Kept, Nanos, Pace, Server};
use std::ffi::{CStr, c_char, c_int};
use std::io::Write;
use std::os::fd::{FromRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Text of `nbdkit --help`.
pub const HELP: &CStr = c"\
drive=DIRECTORY   (required) a drive that `flashkeep serve --create` made
control=SOCKET    a control socket for `flashkeep ctl`
socket=SOCKET     where nbdkit listens, as --unix says: clients can be disconnected then, and it is removed at the end
port=PORT         the same, as --port says
schedule=FILE     what happens to the drive at which request or time
dashboard=PORT    a page on this port of 127.0.0.1 that shows how the drive is
time=none|still|real|Nx how virtual time and the wall clock go together (default none)
memory=true|false a drive in memory, lost with the process (default false)
sync=true|false   flushes make files durable against a failure of the machine (default true)
age-while-closed=true|false  the data aged while no one served the drive (default false)
announce=TEXT     printed on standard error when clients can connect
ready-fd=N        this descriptor gets the line `ready` then, and is closed
check=true|false  look at all arguments, of filters too, and end (default false)";

/// Settings as they came.
#[derive(Default)]
struct Settings {
    drive: Option<PathBuf>,
    control: Option<PathBuf>,
    socket: Option<PathBuf>,
    port: Option<u16>,
    schedule: Option<PathBuf>,
    dashboard: Option<u16>,
    pace: Pace,
    memory: bool,
    no_sync: bool,
    ages_while_closed: bool,
    announce: Option<String>,
    ready: Option<RawFd>,
    check: bool,
}

static SETTINGS: Mutex<Option<Settings>> = Mutex::new(None);

/// The drive, between `get_ready` and `after_fork`: threads begin after the fork.
static DISK: Mutex<Option<Disk>> = Mutex::new(None);

/// The drive that is served.
static SERVER: OnceLock<Arc<Server>> = OnceLock::new();

/// The drive that is served.
pub fn server() -> Option<&'static Arc<Server>> {
    SERVER.get()
}

/// Return value for nbdkit: 0, or -1 after the error was reported.
fn done(result: Result<(), String>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(what) => {
            say(&what);
            -1
        }
    }
}

fn with_settings<T>(of: impl FnOnce(&mut Settings) -> T) -> T {
    of(SETTINGS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// `key=value` on the command line.
pub extern "C" fn config(key: *const c_char, value: *const c_char) -> c_int {
    // SAFETY: nbdkit gives two texts that end with zero and live until this returns.
    let (key, value) = unsafe { (CStr::from_ptr(key), CStr::from_ptr(value)) };
    let (Ok(key), Ok(value)) = (key.to_str(), value.to_str()) else {
        return done(Err("settings must be UTF-8".into()));
    };
    done(with_settings(|settings| set(settings, key, value)))
}

fn set(settings: &mut Settings, key: &str, value: &str) -> Result<(), String> {
    let truth = |value: &str| match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("{key}: found `{value}`; valid are true and false")),
    };
    match key {
        // nbdkit changes to the root directory when it goes into the background.
        "drive" => settings.drive = Some(absolute(value)?),
        "control" => settings.control = Some(absolute(value)?),
        "schedule" => settings.schedule = Some(absolute(value)?),
        "socket" => settings.socket = Some(absolute(value)?),
        "port" => settings.port = Some(port(key, value)?),
        "dashboard" => settings.dashboard = Some(port(key, value)?),
        "time" => settings.pace = value.parse().map_err(|error| format!("time: {error}"))?,
        "memory" => settings.memory = truth(value)?,
        "sync" => settings.no_sync = !truth(value)?,
        "age-while-closed" => settings.ages_while_closed = truth(value)?,
        "announce" => settings.announce = Some(value.to_owned()),
        "ready-fd" => {
            let file = value.parse().ok().filter(|file| *file > 2);
            settings.ready = Some(file.ok_or_else(|| format!("ready-fd: found `{value}`; valid is a number from 3 up"))?);
        }
        "check" => settings.check = truth(value)?,
        _ => {
            let known = "drive, control, socket, port, schedule, dashboard, time, memory, sync, age-while-closed, announce, ready-fd, check";
            return Err(format!("unknown setting `{key}`; known: {known}"));
        }
    }
    Ok(())
}

fn port(key: &str, value: &str) -> Result<u16, String> {
    let port = value.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| format!("{key}: found `{value}`; valid are 1 to 65535"))
}

fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(Path::new(path)).map_err(|error| format!("{path}: {error}"))
}

/// All settings have come.
pub extern "C" fn config_complete() -> c_int {
    done(with_settings(|settings| match settings.drive {
        Some(_) => Ok(()),
        None => Err("drive=DIRECTORY is missing".into()),
    }))
}

/// Before nbdkit goes into the background: what is wrong with the drive is said on the terminal.
pub extern "C" fn get_ready() -> c_int {
    // Filters have judged their settings by now.
    if with_settings(|settings| settings.check) {
        end_well();
    }
    crate::heap::keep();
    let opened = with_settings(|settings| {
        let kept = if settings.memory { Kept::Memory } else { Kept::Files };
        let drive = settings.drive.as_deref().ok_or("drive=DIRECTORY is missing")?;
        let drive = DriveDirectory::at(drive);
        let planned =
            settings.schedule.as_deref().map(|file| drive.schedule(file)).transpose().map_err(|error| error.to_string())?;
        let closed = if settings.ages_while_closed { drive.closed_for() } else { Nanos(0) };
        let mut disk = drive.open(kept).map_err(|error| error.to_string())?;
        if closed > Nanos(0) && !settings.memory {
            disk.age(closed).map_err(|error| error.to_string())?;
        }
        // A schedule counts time from here.
        disk.plan(&planned.unwrap_or_default());
        Ok::<Disk, String>(disk)
    });
    crate::heap::give_back();
    done(opened.map(|disk| *DISK.lock().unwrap_or_else(PoisonError::into_inner) = Some(disk)))
}

/// The process is the one that serves, and its sockets listen: threads may begin.
pub extern "C" fn after_fork() -> c_int {
    let Some(disk) = DISK.lock().unwrap_or_else(PoisonError::into_inner).take() else { return -1 };
    let signals = crate::signals::block();
    let begun = with_settings(|settings| {
        let server = Server::new(disk, settings.pace, !settings.no_sync);
        let door = settings.port.map(Door::Port).or_else(|| settings.socket.clone().map(Door::Socket));
        if let Some(door) = door {
            server.serves(Box::new(door));
        }
        if let Some(control) = &settings.control {
            Control::listen(control, &server).map_err(|error| error.to_string())?;
        }
        if let Some(port) = settings.dashboard {
            Dashboard::listen(port, &server).map_err(|error| error.to_string())?;
        }
        signals.stop(&server);
        SERVER.set(server).map_err(|_| "it was begun before".to_owned())?;
        settings.tell_that_it_serves();
        Ok(())
    });
    done(begun)
}

impl Settings {
    /// A client that connects from now on is answered.
    fn tell_that_it_serves(&self) {
        // A script that went away does not want to know.
        if let Some(text) = &self.announce {
            let _ = writeln!(std::io::stderr(), "{text}");
        }
        if let Some(file) = self.ready {
            // SAFETY: whoever started the process opened it for this line, and nothing else here uses it.
            let _ = unsafe { std::fs::File::from_raw_fd(file) }.write_all(b"ready\n");
        }
    }
}

/// The process ends in order: no socket is left that leads nowhere.
pub extern "C" fn unload() {
    if SERVER.get().is_none() {
        return;
    }
    with_settings(|settings| {
        for socket in [&settings.control, &settings.socket].into_iter().flatten() {
            let _ = std::fs::remove_file(socket);
        }
    });
}
