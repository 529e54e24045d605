//! The drive under programs that no one here wrote. Each test says which are missing, and is skipped then.
#![cfg(target_os = "linux")]

mod common;

use common::{Served, have, kills, output, run, text};
use serve::Kept;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A small drive: GC is at work after a few rounds.
const SMALL: &str = "schemes = [\"ds-raid\"]\ncapacity.size = \"48MiB\"\n";

/// Bytes that depend on their place.
fn pattern(size: usize, seed: u64) -> Vec<u8> {
    let mut draws = vocab::Streams::new(seed).stream("test/pattern");
    (0..size / 8).flat_map(|_| draws.bits().to_le_bytes()).collect()
}

#[test]
fn nbdinfo_sees_what_the_drive_can() {
    if !have("nbdinfo_sees_what_the_drive_can", &["nbdkit", "nbdinfo"]) {
        return;
    }
    let served = Served::new("info", Kept::Memory, SMALL);
    let found: serde_json::Value = serde_json::from_str(&run("nbdinfo", &["--json", &served.uri()])).expect("JSON");
    let export = &found["exports"][0];
    assert_eq!(export["export-size"], 48 << 20);
    for can in ["can_flush", "can_fua", "can_multi_conn", "can_trim", "can_zero"] {
        assert_eq!(export[can], true, "{can}");
    }
    assert_eq!((&export["block_size_minimum"], &export["block_size_preferred"]), (&512.into(), &4096.into()));
    let map = run("nbdinfo", &["--map", &served.uri()]);
    assert_eq!(map.split_whitespace().collect::<Vec<_>>()[..4], ["0", "50331648", "3", "hole,zero"], "nothing was written");
}

#[test]
fn what_nbdcopy_writes_it_reads_back_through_a_power_cut_and_a_lost_die() {
    if !have("what_nbdcopy_writes_it_reads_back", &["nbdkit", "nbdcopy"]) {
        return;
    }
    let served = Served::new("copy", Kept::Memory, SMALL);
    let (image, back) = (served.file("in"), served.file("out"));
    let bytes = pattern(48 << 20, 1);
    fs::write(&image, &bytes).expect("room");
    run("nbdcopy", &["--flush", text(&image), &served.uri()]);
    let read_back = || {
        run("nbdcopy", &[&served.uri(), text(&back)]);
        fs::read(&back).expect("it was written") == bytes
    };
    assert!(read_back());
    served.ctl("cut-power");
    assert!(read_back(), "after a power cut");
    served.ctl("kill die 3");
    assert!(read_back(), "with a dead die");
    served.check();
}

#[test]
fn qemu_io_writes_zeroes_discards_and_patterns() {
    if !have("qemu_io_writes_zeroes_discards_and_patterns", &["nbdkit", "qemu-io"]) {
        return;
    }
    let served = Served::new("qemu", Kept::Files, SMALL);
    let commands = [
        "write -P 0x5a 0 1M",
        "write -P 0xa5 -f 512 512",
        "read -P 0x5a 0 512",
        "read -P 0xa5 512 512",
        "write -z 64k 128k",
        "read -P 0 64k 128k",
        "discard 512k 256k",
        "read -P 0 512k 256k",
        "read -P 0x5a 768k 256k",
        "flush",
    ];
    let arguments: Vec<&str> = ["-f", "raw"].into_iter().chain(commands.iter().flat_map(|c| ["-c", c])).collect();
    let uri = served.uri();
    let printed = run("qemu-io", &[&arguments[..], &[&uri]].concat());
    assert!(!printed.contains("verification failed") && !printed.contains("error"), "{printed}");
    served.check();
}

/// A file system is made, filled and checked as an image, lies on the drive through kills, and is whole.
#[test]
fn a_file_system_comes_back_clean_from_kills() {
    if !have("a_file_system_comes_back_clean_from_kills", &["nbdkit", "nbdcopy", "mkfs.ext4", "debugfs", "fsck.ext4"]) {
        return;
    }
    let mut served = Served::new("ext4", Kept::Files, SMALL);
    let (image, back) = (served.file("fs"), served.file("fs-back"));
    fs::write(&image, vec![0; 48 << 20]).expect("room");
    run("mkfs.ext4", &["-q", "-F", text(&image)]);
    let file = served.file("payload");
    let bytes = pattern(3 << 20, 2);
    fs::write(&file, &bytes).expect("room");
    run("debugfs", &["-w", "-R", &format!("write {} payload", text(&file)), text(&image)]);
    run("nbdcopy", &["--flush", text(&image), &served.uri()]);
    for _ in 0..3 {
        served.kill();
        served.start();
    }
    run("nbdcopy", &[&served.uri(), text(&back)]);
    run("fsck.ext4", &["-f", "-n", text(&back)]);
    let out = served.file("payload-back");
    run("debugfs", &["-R", &format!("dump payload {}", text(&out)), text(&back)]);
    assert!(fs::read(&out).expect("it was dumped") == bytes);
    served.check();
}

/// Options that all jobs of fio have in common: writes that it can verify later.
fn checked_writes(uri: &str) -> [&str; 7] {
    ["--ioengine=nbd", uri, "--rw=randwrite", "--bs=4k", "--iodepth=8", "--verify=crc32c", "--verify_fatal=1"]
}

/// Waits until the drive has had this many writes; false if the process that writes ended before.
fn writes_come(served: &Served, writing: &mut Child, writes: u64) -> bool {
    while served.ctl("status")["writes"].as_u64() < Some(writes) {
        if writing.try_wait().expect("it was started").is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// fio writes to the first half to its end; while it writes to the second the process is killed, in one of several
/// ways to be busy; then fio verifies the first half. (Of what is under way at the end fio 3.33 does not tell what was
/// answered: that is what `kills` is for.)
fn killed_under_fio(rounds: u64, seed: u64) {
    let settings = "schemes = [\"ds-raid\"]\ncapacity.size = \"48MiB\"\nbuffer.size = \"128KiB\"\n";
    let mut served = Served::new(&format!("fio{rounds}"), Kept::Files, settings);
    let mut draws = vocab::Streams::new(seed).stream("test/kills");
    let uri = format!("--uri={}", served.uri());
    for round in 0..rounds {
        let seed_of = |half: u64| format!("--randseed={}", (seed * 1000 + round) * 2 + half);
        let common = checked_writes(&uri);
        let (first, second) = (seed_of(0), seed_of(1));
        let kept = ["--name=kept", "--size=24m", "--io_size=4m", &first];
        run("fio", &[&common[..], &kept, &["--do_verify=0", "--verify_state_save=0"]].concat());
        let busy = ["--name=busy", "--offset=24m", "--size=24m", &second, "--do_verify=0", "--verify_state_save=0"];
        let mut fio = Command::new("fio");
        let mut writing = fio.args(common).args(busy).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("fio is there");
        let writes = 1024 + 1 + draws.below(3000);
        writes_come(&served, &mut writing, writes);
        served.kill();
        writing.wait().expect("it was started");
        served.start();
        let checked =
            output("fio", &[&common[..], &kept, &["--verify_only=1", "--verify_state_load=0", "--verify_state_save=0"]].concat());
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "round {round} of seed {seed}: {said}");
        served.check();
    }
}

#[test]
fn nothing_that_fio_was_told_is_lost_when_the_process_is_killed() {
    if have("nothing_that_fio_was_told_is_lost", &["nbdkit", "fio"]) {
        killed_under_fio(kills(2), 1);
    }
}

/// fio writes, and verifies all of it at its end; in the meantime one die dies and then another, which the scheme survives.
#[test]
fn fio_verifies_what_it_wrote_while_two_dies_died() {
    if !have("fio_verifies_what_it_wrote_while_two_dies_died", &["nbdkit", "fio"]) {
        return;
    }
    let settings = "schemes = [\"mds-groups\"]\ncapacity.size = \"48MiB\"\n[scheme.mds-groups]\nk = 6\nm = 2\n";
    let served = Served::new("fio-dies", Kept::Memory, settings);
    let uri = format!("--uri={}", served.uri());
    let job = ["--name=dies", "--size=24m", "--io_size=40m", "--verify_state_save=0", "--randrepeat=1"];
    let mut fio = Command::new("fio");
    let mut writing =
        fio.args(checked_writes(&uri)).args(job).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("fio is there");
    for (die, writes) in [(1, 1000), (4, 4000)] {
        assert!(writes_come(&served, &mut writing, writes), "fio ended before die {die} died");
        served.ctl(&format!("kill die {die}"));
    }
    let said = writing.wait_with_output().expect("it was started");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let status = served.ctl("status");
    let alive: Vec<bool> = status["dies"].as_array().expect("a list").iter().map(|die| die["alive"] == true).collect();
    assert_eq!((0..).zip(alive).filter(|(_, alive)| !alive).map(|(die, _)| die).collect::<Vec<_>>(), [1, 4]);
    let rebuilt = status["flash_programs"].as_array().expect("a list").iter().any(|pair| pair[0] == "rebuild");
    assert!(status["media_errors"] == 0 && rebuilt, "{status}");
    served.check();
}

/// A day goes by in hours, at 55 degrees; each hour fio writes some more, and now and then it verifies what it wrote in the first.
#[test]
fn fio_verifies_what_it_wrote_a_day_before() {
    if !have("fio_verifies_what_it_wrote_a_day_before", &["nbdkit", "fio"]) {
        return;
    }
    let served = Served::new("fio-day", Kept::Memory, SMALL);
    let uri = format!("--uri={}", served.uri());
    let common = checked_writes(&uri);
    let kept = ["--name=kept", "--size=16m", "--randseed=1", "--verify_state_save=0"];
    run("fio", &[&common[..], &kept, &["--do_verify=0"]].concat());
    served.ctl("temperature 55C");
    let status = |field: &str| served.ctl("status")[field].clone();
    let (began, bits) = (status("time_s").as_f64().expect("seconds"), status("corrected_bits").as_u64().expect("a count"));
    for hour in 1..=24 {
        served.ctl("age 1h");
        let seed = format!("--randseed={}", 1 + hour);
        let more = ["--name=more", "--offset=16m", "--size=32m", "--io_size=1m", "--do_verify=0", "--verify_state_save=0", &seed];
        run("fio", &[&common[..], &more].concat());
        if hour % 8 == 0 {
            run("fio", &[&common[..], &kept, &["--verify_only=1", "--verify_state_load=0"]].concat());
        }
    }
    let passed = status("time_s").as_f64().expect("seconds") - began;
    assert!((86_400.0..90_000.0).contains(&passed), "{passed} s");
    assert!(status("corrected_bits").as_u64() > Some(bits), "data that age have bit errors");
    assert_eq!((status("media_errors"), status("mismatches")), (0.into(), 0.into()));
    served.check();
}

#[test]
fn a_drive_that_is_served_is_not_served_twice() {
    if !have("a_drive_that_is_served_is_not_served_twice", &["nbdkit", "nbdinfo"]) {
        return;
    }
    let served = Served::new("twice", Kept::Files, SMALL);
    let other = served.file("other.sock");
    let plugin = common::plugin();
    let drive = format!("drive={}", text(&served.file("")));
    let second = output("nbdkit", &["--foreground", "--unix", text(&other), text(&plugin), &drive]);
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && said.contains("in use by another process"), "{said}");
    run("nbdinfo", &["--size", &served.uri()]);
}
