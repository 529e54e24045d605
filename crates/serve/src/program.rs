//! A program run on a drive that is made for it and recorded: served from memory, as a file by `nbdfuse`, and mounted if that is asked.

use crate::control::ask;
use crate::directory::{DriveDirectory, Kept, ServeError};
use crate::group;
use crate::launch::Launch;
use common::quoted;
use experiment::Experiment;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

/// A file system that is made on the drive before the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4.
    Ext4,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
}

/// Begins the names of directories in which programs have their drives; the number of the process is behind it.
const PLACE: &str = "flashkeep-run-";

/// A file in such a directory that its process has locked.
const LOCK: &str = "lock";

/// The mark behind the making of a file system: until then there is none.
pub const MADE: &str = "file system made";

impl FileSystem {
    const ALL: [Self; 3] = [Self::Ext4, Self::Xfs, Self::Btrfs];

    fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
        }
    }

    /// A drive on which it fits.
    #[must_use]
    pub fn usual_size(self) -> &'static str {
        match self {
            Self::Ext4 => "32MiB",
            // mkfs.xfs makes none below 300 MiB.
            Self::Xfs => "320MiB",
            Self::Btrfs => "128MiB",
        }
    }

    fn make(self) -> (&'static str, &'static [&'static str]) {
        match self {
            // Nothing is left to be done behind the program's back.
            Self::Ext4 => ("mkfs.ext4", &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"]),
            Self::Xfs => ("mkfs.xfs", &["-q", "-f"]),
            Self::Btrfs => ("mkfs.btrfs", &["-q", "-f"]),
        }
    }

    fn check(self) -> &'static str {
        match self {
            Self::Ext4 => "e2fsck",
            Self::Xfs => "xfs_repair",
            Self::Btrfs => "btrfs",
        }
    }

    /// Names the first thing that a mount needs and that is missing here.
    ///
    /// # Errors
    /// If something is missing.
    pub fn can_be_mounted(self) -> Result<(), ServeError> {
        let kind = self.name();
        let is_root = output("id", &["-u"]).is_ok_and(|found| found.stdout.starts_with(b"0\n"));
        let kernel = fs::read_to_string("/proc/filesystems").unwrap_or_default();
        // A module is loaded by the first mount.
        let is_known = kernel.lines().any(|line| line.trim() == kind)
            || output("modprobe", &["-n", kind]).is_ok_and(|found| found.status.success());
        let missing = if !is_root {
            "root, which alone may mount".to_owned()
        } else if !Path::new("/dev/loop-control").exists() {
            "loop devices (/dev/loop-control)".to_owned()
        } else if !is_known {
            format!("the file system {kind} in the kernel")
        } else {
            let programs = ["losetup", "mount", "umount", "mountpoint", "flock", self.make().0, self.check()];
            match programs.iter().find(|program| !is_there(program)) {
                Some(program) => format!("the program {program}"),
                None => return Ok(()),
            }
        };
        Err(ServeError::Other(format!("--mount {kind} needs missing programs or files: {missing}")))
    }
}

impl FromStr for FileSystem {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.map(Self::name);
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| format!("found `{text}`, known: {}", known.join(", ")))
    }
}

impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|place| place.join(program).is_file())
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default())).stdin(Stdio::null());
    command
}

fn output(program: &str, arguments: &[&str]) -> Result<Output, ServeError> {
    command(program).args(arguments).output().map_err(|error| ServeError::Other(format!("{program}: {error}")))
}

/// Runs a program that must end well; what it printed.
fn done(program: &str, arguments: &[&str]) -> Result<String, ServeError> {
    let found = output(program, arguments)?;
    if found.status.success() {
        return Ok(String::from_utf8_lossy(&found.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&found.stderr).trim().to_owned();
    Err(ServeError::Other(format!("{program} {}: {}: {said}", arguments.join(" "), found.status)))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A program and its drive.
#[derive(Clone, Debug)]
pub struct Program {
    /// For `sh`; `{disk}` is replaced by the drive's file, `{dir}` by the directory where it is mounted.
    pub command: String,
    /// The file system that it is mounted with.
    pub mount: Option<FileSystem>,
    /// The drive.
    pub experiment: Experiment,
    /// The plugin of nbdkit; else it is looked for beside the program.
    pub plugin: Option<PathBuf>,
}

/// Everything that was started and is to end, the last one first.
#[derive(Default)]
struct Started {
    place: PathBuf,
    nbdkit: Option<Child>,
    fuse: Option<Child>,
    device: Option<String>,
    is_mounted: bool,
    is_fuse: bool,
}

impl Program {
    /// Runs it and records what it asks of the drive.
    ///
    /// # Errors
    /// A missing program, or one that did not end well.
    pub fn record(&self, log: &Path) -> Result<(), ServeError> {
        let (file, wanted) = if self.mount.is_some() { ("{dir}", "--mount") } else { ("{disk}", "a drive without --mount") };
        if !self.command.contains(file) {
            return Err(ServeError::Other(format!("--run: the command has no {file}, which {wanted} gives it")));
        }
        self.mount.map_or(Ok(()), FileSystem::can_be_mounted)?;
        if !is_there("nbdfuse") {
            return Err(ServeError::Other(
                "nbdfuse is not installed: Debian and Ubuntu have it in the package libnbd-bin".into(),
            ));
        }
        Self::clean_stale();
        let place = Self::place();
        let lock = fs::create_dir_all(&place).and_then(|()| fs::File::create(place.join(LOCK)));
        let lock = lock.map_err(|error| ServeError::File(place.join(LOCK), "create", error))?;
        lock.lock().map_err(|error| ServeError::File(place.join(LOCK), "lock", error))?;
        let mut started = Started { place, ..Started::default() };
        let said = self.record_in(&mut started, log);
        let ended = started.end();
        said.and(ended)
    }

    /// Where this process has drive, file and mount.
    fn place() -> PathBuf {
        std::env::temp_dir().join(format!("{PLACE}{}", std::process::id()))
    }

    /// Ends what a program was given, when this process is to end in the middle; whether there was something.
    #[must_use]
    pub fn clean() -> bool {
        group::end_all();
        Self::clean_at(Self::place())
    }

    /// Ends what processes left that were killed.
    fn clean_stale() {
        let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
        let places = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PLACE)));
        // A process that is alive holds the lock.
        let is_stale = |place: &PathBuf| fs::File::open(place.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        for place in places.map(|entry| entry.path()).filter(is_stale) {
            Self::clean_at(place);
        }
    }

    fn clean_at(place: PathBuf) -> bool {
        let file = place.join("fuse/disk");
        let device = done("losetup", &["-n", "-O", "NAME", "-j", &text(&file)]).unwrap_or_default();
        let is_mounted = done("mountpoint", &["-q", &text(&place.join("dir"))]).is_ok();
        let device = Some(device).filter(|device| !device.is_empty());
        let is_there = place.exists();
        if is_there {
            // A mount whose server has gone cannot be looked at: whether there is one is seen when it is ended.
            let _ = Started { place, device, is_mounted, is_fuse: true, ..Started::default() }.end();
        }
        is_there
    }

    fn record_in(&self, started: &mut Started, log: &Path) -> Result<(), ServeError> {
        let drive = DriveDirectory::at(&started.place.join("drive"));
        drive.create(&self.experiment, false, Kept::Memory)?;
        let launch = Launch {
            kept: Kept::Memory,
            plugin: self.plugin.clone(),
            // Programs may write any bytes of a file; a drive takes whole sectors.
            more: vec!["--filter=blocksize".into(), "minblock=512".into()],
            ..Launch::of(drive.clone())
        };
        let control = launch.control_socket();
        let ctl = |command: &str| -> Result<(), ServeError> {
            let answer = ask(&control, command)?;
            match answer["error"].as_str() {
                Some(error) => Err(ServeError::Other(format!("{command}: {error}"))),
                None => Ok(()),
            }
        };
        let nbdkit = started.place.join("nbdkit.log");
        let errors = fs::File::create(&nbdkit).map_err(|error| ServeError::File(nbdkit.clone(), "write", error))?;
        let mut serve = launch.command()?;
        serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        started.nbdkit = Some(serve.spawn().map_err(|error| ServeError::Other(format!("nbdkit cannot be started: {error}")))?);
        wait("nbdkit", &mut started.nbdkit, || launch.nbd_socket().exists() && ask(&control, "help").is_ok())?;
        let fuse = started.place.join("fuse");
        fs::create_dir_all(&fuse).map_err(|error| ServeError::File(fuse.clone(), "create", error))?;
        let file = fuse.join("disk");
        let spawned = command("nbdfuse").arg(&file).arg(launch.uri()).stderr(Stdio::null()).spawn();
        started.fuse = Some(spawned.map_err(|error| ServeError::Other(format!("nbdfuse cannot be started: {error}")))?);
        started.is_fuse = true;
        wait("nbdfuse", &mut started.fuse, || file.exists())?;
        let log = std::path::absolute(log).map_err(|error| ServeError::File(log.to_owned(), "find", error))?;
        ctl(&format!("record {}", log.display()))?;
        let target = match self.mount {
            None => file,
            Some(kind) => {
                let directory = started.mount(kind, &file, || ctl(&format!("mark {MADE}")))?;
                // The mount itself has asked something of the drive.
                done("sync", &["-f", &text(&directory)])?;
                directory
            }
        };
        self.run(&target, drive.path())?;
        const AT_WORK: &str =
            "what the command started is still at work on the drive: wait for it in the command, or end it there";
        if let Some(process) = self.mount.is_none().then(|| holder(&target)).flatten() {
            return Err(ServeError::Other(format!("--run: {AT_WORK} (process {process})")));
        }
        started.unmount().map_err(|error| ServeError::Other(format!("--run: {AT_WORK}: {error}")))?;
        ctl("record off")
    }

    fn run(&self, target: &Path, drive: &Path) -> Result<(), ServeError> {
        let target = quoted(&text(target));
        let line = self.command.replace("{disk}", &target).replace("{dir}", &target);
        let own = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned)).unwrap_or_default();
        let path = format!("{}:{}", std::env::var("PATH").unwrap_or_default(), own.display());
        let around = |program: &mut Command| {
            program.env("PATH", path).env("FLASHKEEP_DRIVE", drive);
        };
        // Only results go to standard output.
        let found = group::run(&line, around, None).map_err(|error| ServeError::Other(format!("sh: {error}")))?.output;
        if found.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&[found.stdout, found.stderr].concat()).trim().to_owned();
        let status = found.status;
        Err(ServeError::Other(format!("--run: the program did not end well, so its writes are no test of it: {status}: {said}")))
    }
}

/// A process that has a file open, as far as that can be seen.
fn holder(file: &Path) -> Option<u32> {
    let file = fs::canonicalize(file).ok()?;
    let processes = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |process: &u32| {
        let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|path| path == file)
    };
    processes.into_iter().find(holds)
}

/// Waits until what was started is ready.
fn wait(name: &str, child: &mut Option<Child>, is_ready: impl Fn() -> bool) -> Result<(), ServeError> {
    for _ in 0..1000 {
        if is_ready() {
            return Ok(());
        }
        if let Some(status) = child.as_mut().and_then(|child| child.try_wait().ok().flatten()) {
            return Err(ServeError::Other(format!("{name} ended before it was ready: {status}")));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Err(ServeError::Other(format!("{name} is not ready after 10 s")))
}

impl Started {
    /// Makes a file system on the drive and mounts it; where.
    fn mount(
        &mut self,
        kind: FileSystem,
        file: &Path,
        made: impl FnOnce() -> Result<(), ServeError>,
    ) -> Result<PathBuf, ServeError> {
        let directory = self.place.join("dir");
        fs::create_dir_all(&directory).map_err(|error| ServeError::File(directory.clone(), "create", error))?;
        let device = done("losetup", &["-f", "--show", "--direct-io=on", &text(file)])?;
        self.device = Some(device.clone());
        let (make, options) = kind.make();
        done(make, &[options, &[&*device]].concat())?;
        made()?;
        done("mount", &["-t", kind.name(), &device, &text(&directory)])?;
        self.is_mounted = true;
        Ok(directory)
    }

    fn unmount(&mut self) -> Result<(), ServeError> {
        let mut ended = Ok(());
        if std::mem::take(&mut self.is_mounted) {
            let directory = text(&self.place.join("dir"));
            ended = done("umount", &[&directory]).map(drop);
            if ended.is_err() {
                let _ = done("umount", &["-l", &directory]);
            }
        }
        if let Some(device) = self.device.take() {
            ended = ended.and(done("losetup", &["-d", &device]).map(drop));
        }
        ended
    }

    /// Ends all of it, whatever failed before.
    fn end(mut self) -> Result<(), ServeError> {
        let unmounted = self.unmount();
        if self.is_fuse {
            // Root needs no helper, and may have none.
            let place = text(&self.place.join("fuse"));
            let ways: [(&str, &[&str]); 5] = [
                ("umount", &[&place]),
                ("fusermount3", &["-u", &place]),
                ("fusermount", &["-u", &place]),
                ("umount", &["-l", &place]),
                ("fusermount3", &["-u", "-z", &place]),
            ];
            let _ = ways.into_iter().find(|(program, arguments)| done(program, arguments).is_ok());
        }
        for mut child in [self.fuse.take(), self.nbdkit.take()].into_iter().flatten() {
            let _ = child.kill().and_then(|()| child.wait());
        }
        let _ = fs::remove_dir_all(&self.place);
        unmounted
    }
}
