//! Settings of the plugin, and the drive that is served.

use crate::abi::say;
use serve::{Control, Dashboard, Disk, DriveDirectory, Kept, Nanos, Pace, Server};
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What `nbdkit --help` says.
pub const HELP: &CStr = c"\
drive=DIRECTORY   (required) a drive that `flashkeep serve --create` made
control=SOCKET    a control socket for `flashkeep ctl`
schedule=FILE     what happens to the drive at which request or time
dashboard=PORT    a page on this port of 127.0.0.1 that shows how the drive is
time=none|still|real|Nx how virtual time and the wall clock go together (default none)
memory=true|false a drive in memory, lost with the process (default false)
sync=true|false   flushes make files durable against a failure of the machine (default true)
age-while-closed=true|false  the data aged while nobody served the drive (default false)";

/// Settings as they came.
#[derive(Default)]
struct Settings {
    drive: Option<PathBuf>,
    control: Option<PathBuf>,
    schedule: Option<PathBuf>,
    dashboard: Option<u16>,
    pace: Pace,
    memory: bool,
    no_sync: bool,
    ages_while_closed: bool,
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

/// What nbdkit gets: 0, or -1 after the error was said.
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
        "dashboard" => {
            let port = value.parse().ok().filter(|port| *port > 0);
            settings.dashboard = Some(port.ok_or_else(|| format!("dashboard: found `{value}`; valid are 1 to 65535"))?);
        }
        "time" => settings.pace = value.parse().map_err(|error| format!("time: {error}"))?,
        "memory" => settings.memory = truth(value)?,
        "sync" => settings.no_sync = !truth(value)?,
        "age-while-closed" => settings.ages_while_closed = truth(value)?,
        _ => {
            let known = "drive, control, schedule, dashboard, time, memory, sync, age-while-closed";
            return Err(format!("unknown setting `{key}`; known: {known}"));
        }
    }
    Ok(())
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

/// The process is the one that serves: threads may begin.
pub extern "C" fn after_fork() -> c_int {
    let Some(disk) = DISK.lock().unwrap_or_else(PoisonError::into_inner).take() else { return -1 };
    let begun = with_settings(|settings| {
        let server = Server::new(disk, settings.pace, !settings.no_sync);
        if let Some(control) = &settings.control {
            Control::listen(control, &server).map_err(|error| error.to_string())?;
        }
        if let Some(port) = settings.dashboard {
            Dashboard::listen(port, &server).map_err(|error| error.to_string())?;
        }
        SERVER.set(server).map_err(|_| "it was begun before".to_owned())
    });
    done(begun)
}
