//! A served drive as a disk of the kernel: `nbdfuse` makes it a file, a loop device makes that a disk. That needs root.

use super::{Served, output, run, skipped, text};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A disk, and where it is mounted if it is.
pub struct Attached {
    fuse: Option<Child>,
    /// Where `nbdfuse` has its file.
    place: PathBuf,
    /// The loop device.
    pub device: String,
    /// Where a file system of it is mounted.
    pub root: PathBuf,
    is_mounted: bool,
}

/// Whether this process may mount; else the test says that it is skipped.
pub fn may_mount(test: &str, file_system: &str) -> bool {
    let is_root = output("id", &["-u"]).stdout.starts_with(b"0\n");
    let loops = output("losetup", &["-f"]);
    let of_kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let missing = [
        (!is_root, "mounts need root"),
        (!Path::new("/dev/fuse").exists(), "there is no /dev/fuse"),
        (
            !loops.status.success() || !Path::new(String::from_utf8_lossy(&loops.stdout).trim()).exists(),
            "there are no loop devices",
        ),
        (!of_kernel.lines().any(|line| line.trim() == file_system), "the kernel has no such file system"),
    ];
    match missing.iter().find(|(is_missing, _)| *is_missing) {
        Some((_, why)) => skipped(test, why),
        None => return true,
    }
    false
}

impl Attached {
    /// Makes the drive a disk; `None`, after the test said that it is skipped, where that is not permitted.
    pub fn new(test: &str, served: &Served) -> Option<Self> {
        let (place, root) = (served.file("fuse"), served.file("root"));
        for directory in [&place, &root] {
            std::fs::create_dir_all(directory).expect("room");
        }
        let mut command = Command::new("nbdfuse");
        command.arg(&place).arg(served.uri()).stdin(Stdio::null()).stderr(Stdio::null());
        let fuse = Some(command.spawn().expect("nbdfuse is there"));
        let mut attached = Self { fuse, place, device: String::new(), root, is_mounted: false };
        let file = attached.place.join("nbd");
        for _ in 0..500 {
            let ended = attached.fuse.as_mut().expect("it was started").try_wait().expect("it was started").is_some();
            if ended || file.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let looped = output("losetup", &["-f", "--show", "--direct-io=on", text(&file)]);
        attached.device = String::from_utf8_lossy(&looped.stdout).trim().to_owned();
        if attached.device.is_empty() {
            skipped(test, &format!("no disk can be made of the drive: {}", String::from_utf8_lossy(&looped.stderr).trim()));
            return None;
        }
        Some(attached)
    }

    /// Mounts it, and with that replays its journal.
    pub fn mount(&mut self, options: &str) {
        run("mount", &["-o", options, &self.device, text(&self.root)]);
        self.is_mounted = true;
    }

    pub fn unmount(&mut self) {
        if std::mem::take(&mut self.is_mounted) {
            run("umount", &[text(&self.root)]);
        }
    }

    /// Lets go of it when all processes have ended that used its file system: with a disk that is gone that takes them a while.
    pub fn give_up(mut self) {
        for _ in 0..1500 {
            self.is_mounted = !output("umount", &[text(&self.root)]).status.success();
            if !self.is_mounted {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        // Any of these may fail after the drive was killed under it: then the next does.
        if self.is_mounted && !output("umount", &[text(&self.root)]).status.success() {
            output("umount", &["-l", text(&self.root)]);
        }
        if !self.device.is_empty() {
            output("losetup", &["-d", &self.device]);
        }
        output("umount", &[text(&self.place)]);
        if let Some(mut fuse) = self.fuse.take() {
            let _ = fuse.kill();
            let _ = fuse.wait();
        }
    }
}
