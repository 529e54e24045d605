//! Crash points of programs that no one here wrote: what keeps its word passes, what does not is found. Each test says what is
//! missing, and is skipped then.
#![cfg(target_os = "linux")]

mod common;

use common::mount::{Attached, may_mount};
use common::{Served, have, run, text};
use serve::{Crash, DriveKind, Kept, Recording, Tried};
use std::path::{Path, PathBuf};

/// Unflushed data are lost with the power. The file system has the first 7 MiB.
const DRIVE: &str = "drive.preset = \"mlc-2014\"\nschemes = [\"none\"]\ncapacity.size = \"8MiB\"\nbuffer.kind = \"volatile\"\n";
const FILE_SYSTEM: [&str; 11] = ["-q", "-F", "-b", "1024", "-J", "size=1", "-O", "^resize_inode", "-N", "64", "-E"];

const PROGRAMS: [&str; 7] = ["nbdkit", "nbdfuse", "nbdcopy", "qemu-io", "mkfs.ext4", "e2fsck", "debugfs"];

fn script(name: &str) -> String {
    text(&Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/checks")).join(name)).to_owned()
}

/// Records what a file system asks of the drive while `load` works on it, and what the drive held before; then cuts the power at
/// many instants, of that drive and of the strict one. `None` where mounts are not permitted.
fn crash(test: &str, mount: &str, load: &[&str], check: &str) -> Option<[Tried; 2]> {
    let served = Served::new(test, Kept::Memory, DRIVE);
    let uri = served.uri();
    let (base, log): (PathBuf, PathBuf) = (served.file("base"), served.file("log"));
    let mut disk = Attached::new(test, &served)?;
    run("mkfs.ext4", &[&FILE_SYSTEM[..], &["lazy_itable_init=0", &disk.device, "7M"]].concat());
    run("nbdcopy", &[&uri, text(&base)]);
    served.ctl(&format!("record {}", text(&log)));
    disk.mount(mount);
    let directory = text(&disk.root).to_owned();
    let arguments: Vec<&str> = load.iter().map(|word| if *word == "DIR" { &*directory } else { *word }).chain([&*uri]).collect();
    run("sh", &arguments);
    disk.unmount();
    drop(disk);
    served.ctl("record off");
    served.check();
    let recording = Recording::read(&log).expect("it was written");
    let crash = Crash {
        check: format!("sh {} {{image}}", script(check)),
        flushes: 6,
        samples: 8,
        base: Some(base),
        work: served.file("crash"),
        failures: 1,
        images: 60,
        threads: 2,
        shrink: 0,
        restart: true,
        ..Crash::default()
    };
    let setup = serve::DriveDirectory::at(&served.file("")).setup().expect("it was made");
    let drives = [DriveKind::Of(Box::new(setup)), DriveKind::Strict { atom: 4096, size: None }];
    Some(drives.map(|drive| crash.run(&drive, &recording, &mut |_, _| {}).unwrap_or_else(|error| panic!("{error}"))))
}

fn passes(tried: &Tried) {
    assert!(tried.failures.is_empty() && tried.images > 10, "{tried:?}");
}

fn fails(tried: &Tried, why: &[&str]) {
    let is_one = |failure: &serve::Failure| why.iter().any(|why| failure.said.contains(why));
    assert!(tried.failures.first().is_some_and(is_one), "{tried:?}");
}

#[test]
fn sqlite_with_a_log_keeps_what_it_committed_and_without_synchronous_does_not() {
    let test = "crash-sqlite";
    if !have(test, &[&PROGRAMS[..], &["sqlite3"]].concat()) || !may_mount(test, "ext4") {
        return;
    }
    let load = script("sqlite_load.sh");
    let of = |synchronous| crash(test, "defaults", &[&load, "DIR", synchronous, "3"], "sqlite.sh");
    let (Some(full), Some(off)) = (of("full"), of("off")) else { return };
    full.iter().for_each(passes);
    off.iter().for_each(|tried| fails(tried, &["rows were committed"]));
}

#[test]
fn ext4_keeps_what_fsync_said_and_without_barriers_does_not() {
    let test = "crash-ext4";
    if !have(test, &PROGRAMS) || !may_mount(test, "ext4") {
        return;
    }
    let load = script("files_load.sh");
    let of = |mount| crash(test, mount, &[&load, "DIR", "4"], "files.sh");
    let (Some(with), Some(without)) = (of("barrier"), of("nobarrier")) else { return };
    with.iter().for_each(passes);
    // Without barriers the journal itself may be torn as well.
    without.iter().for_each(|tried| fails(tried, &["is not there, or not whole", "RUN fsck MANUALLY"]));
}

/// A recording has all that was flushed before the process was killed.
#[test]
fn a_recording_outlives_the_server_up_to_the_last_flush() {
    let test = "crash-killed";
    if !have(test, &["nbdkit", "qemu-io"]) {
        return;
    }
    let mut served = Served::new(test, Kept::Memory, DRIVE);
    let log = served.file("log");
    served.ctl(&format!("record {}", text(&log)));
    let (first, flush, second) = ("write -q -P 1 0 4k", "flush", "write -q -P 2 8k 4k");
    run("qemu-io", &["-t", "writeback", "-f", "raw", "-c", first, "-c", flush, "-c", second, &served.uri()]);
    served.ctl("mark told");
    served.kill();
    let recording = Recording::read(&log).expect("it outlives the process");
    assert!(recording.is_cut_short && recording.steps.iter().any(|step| step.mark() == Some("told")), "{recording:?}");
    let steps: Vec<String> = recording.steps.iter().map(ToString::to_string).collect();
    assert!(steps.starts_with(&["write 4096 bytes at 0".into(), "flush".into(), "write 4096 bytes at 8192".into()]), "{steps:?}");
}
