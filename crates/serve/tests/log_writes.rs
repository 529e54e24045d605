//! Logs of dm-log-writes: read as another program writes them, and written as another program reads them.
#![cfg(unix)]

use flashkeep_serve::{DiskRequest, Fua, LeftOut, Recording, Step};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// Files that are gone when the test ends.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("flashkeep-log-writes-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a log with Python, which knows the structures of `drivers/md/dm-log-writes.c` and nothing of ours. False without Python.
fn python(path: &Path, sector: u32, entries: &str) -> bool {
    let program = format!(
        "import struct, sys\n\
         sector, out = {sector}, open(sys.argv[1], 'wb')\n\
         def whole(data): return data + bytes(-len(data) % sector)\n\
         def entry(first, count, flags, name=b'', data=b''):\n    \
             return whole(struct.pack('<4Q', first, count, flags, len(name)) + name) + data\n\
         entries = [{entries}]\n\
         out.write(whole(struct.pack('<3QI', 0x6a736677736872, 1, len(entries), sector)))\n\
         out.write(b''.join(entries))\n"
    );
    match Command::new("python3").arg("-c").arg(program).arg(path).status() {
        Ok(status) => {
            assert!(status.success(), "Python writes it");
            true
        }
        Err(error) => {
            eprintln!("skipped, python3: {error}");
            false
        }
    }
}

fn write(sector: u64, bytes: Vec<u8>, fua: Fua) -> Step {
    Step::Request(DiskRequest::Write { sector, data: bytes.into(), fua })
}

/// A log of flushes, writes, a forced one, a discard and marks is the steps that it says, and becomes itself again byte for byte.
#[test]
fn a_log_becomes_itself_again() {
    let place = Place::new("again");
    let (log, again) = (place.file("log"), place.file("again"));
    let entries = "entry(8, 2, 0, data=b'a'*512+b'b'*512), entry(0, 0, 1), entry(0, 1, 2, data=b'c'*512), entry(0, 0, 8, b'committed 1'), \
                   entry(16, 8, 4), entry(0, 0, 8, b'dm-log-writes-end')";
    if !python(&log, 512, entries) {
        return;
    }
    let recording = Recording::read(&log).expect("a log");
    let both = [vec![b'a'; 512], vec![b'b'; 512]].concat();
    let steps = [
        write(8, both, Fua::No),
        Step::Request(DiskRequest::Flush),
        write(0, vec![b'c'; 512], Fua::Yes),
        Step::Mark("committed 1".into()),
        Step::Request(DiskRequest::Discard { sector: 16, sectors: 8 }),
        Step::Mark("dm-log-writes-end".into()),
    ];
    assert_eq!(recording.steps, steps);
    assert_eq!(recording.write_log_writes(&again).expect("room"), LeftOut::default());
    assert!(std::fs::read(&log).expect("a file") == std::fs::read(&again).expect("a file"), "byte for byte");
    // As a recording of ours, and back.
    let ours = place.file("ours");
    recording.write(&ours).expect("room");
    let ours = Recording::read(&ours).expect("it was written");
    assert_eq!(ours.steps, steps);
    ours.write_log_writes(&again).expect("room");
    assert!(
        std::fs::read(&log).expect("a file") == std::fs::read(&again).expect("a file"),
        "byte for byte, by way of a recording"
    );
}

/// Devices with sectors of 4 KiB count in these; a flush that comes with a write is before it; metadata is a write.
#[test]
fn sectors_and_flags_are_those_of_the_kernel() {
    let place = Place::new("flags");
    let log = place.file("log");
    let entries = "entry(3, 1, 1|2|16, data=b'j'*4096), entry(1, 2, 4), entry(0, 0, 8, b'x'*479)";
    if !python(&log, 4096, entries) {
        return;
    }
    let steps = Recording::read(&log).expect("a log").steps;
    assert_eq!(
        steps,
        [
            Step::Request(DiskRequest::Flush),
            write(24, vec![b'j'; 4096], Fua::Yes),
            Step::Request(DiskRequest::Discard { sector: 8, sectors: 16 }),
            Step::Mark("x".repeat(479)),
        ]
    );
}

#[test]
fn damage_is_named_by_entry() {
    let place = Place::new("damage");
    let log = place.file("log");
    let sound = "entry(0, 1, 0, data=b'a'*512)";
    for (sector, entries, what) in [
        (512, "entry(0, 1, 32)", "entry 0 of 1: flags: found 32, of which 32 is not known"),
        (512, "entry(0, 2, 0, data=b'a'*512)", "entry 0 of 1: the log ends within it"),
        (512, &*format!("{sound}, entry(2**63, 2**62, 0)"), "entry 1 of 2: 4611686018427387904 sectors at 9223372036854775808"),
        (512, "struct.pack('<4Q', 0, 0, 8, 481).ljust(512, b'x')", "entry 0 of 1: a mark of 481 bytes in a sector of 512"),
        (512, "entry(0, 0, 8, b'two\\nlines')", "entry 0 of 1: a mark of 9 bytes; valid is one line"),
        (512, "entry(0, 0, 8, b'\\xff')", "entry 0 of 1: a mark that is no text"),
        (1000, sound, "first sector: bytes of a sector: found 1000, valid are powers of two from 512"),
    ] {
        if !python(&log, sector, entries) {
            return;
        }
        let error = Recording::read(&log).map(drop).expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    }
    std::fs::write(&log, [0x72, 0x68, 0x73, 0x77, 0x66, 0x73, 0x6a, 0x00]).expect("room");
    let error = Recording::read(&log).map(drop).expect_err("eight bytes").to_string();
    assert!(error.contains("first sector: the log ends within it"), "{error}");
}

#[test]
fn what_has_no_word_in_a_log_is_left_out_or_refused() {
    let place = Place::new("words");
    let read = Step::Request(DiskRequest::Read { sector: 0, sectors: 1 });
    let control = |held| Step::Control { words: "cut-power".into(), held };
    let mut recording = Recording { steps: vec![read, write(0, vec![1; 512], Fua::No), control(None)], ..Recording::default() };
    let out = place.file("log");
    assert_eq!(recording.write_log_writes(&out).expect("room"), LeftOut { reads: 1, controls: 1 });
    assert_eq!(Recording::read(&out).expect("a log").steps, recording.steps[1..2]);
    recording.steps.push(control(Some(Arc::default())));
    let error = recording.write_log_writes(&out).map(drop).expect_err("a state").to_string();
    assert_eq!(error, "step 3 of the recording (ctl cut-power): a log has no word for it");
}

/// The tool of xfstests that replays logs makes of ours the image that it should be. `FLASHKEEP_XFSTESTS` says where xfstests was built.
#[test]
fn xfstests_replays_what_we_write() {
    let Some(xfstests) = std::env::var_os("FLASHKEEP_XFSTESTS") else { return };
    let tool = Path::new(&xfstests).join("src/log-writes/replay-log");
    if !tool.exists() {
        return;
    }
    let place = Place::new("replay");
    let (log, image) = (place.file("log"), place.file("image"));
    let steps = vec![
        write(8, vec![1; 4096], Fua::No),
        Step::Request(DiskRequest::Flush),
        write(8, vec![2; 512], Fua::Yes),
        Step::Mark("half".into()),
        write(0, vec![3; 1024], Fua::No),
    ];
    Recording { steps, ..Recording::default() }.write_log_writes(&log).expect("room");
    let replay = |more: &[&str]| {
        std::fs::write(&image, vec![0; 16 * 512]).expect("room");
        let status = Command::new(&tool).arg("--log").arg(&log).arg("--replay").arg(&image).args(more).status();
        assert!(status.expect("it runs").success());
        let bytes = std::fs::read(&image).expect("an image");
        [0, 512, 4096, 4608].map(|at: usize| bytes[at])
    };
    assert_eq!(replay(&["--end-mark", "half"]), [0, 0, 2, 1]);
    assert_eq!(replay(&[]), [3, 3, 2, 1]);
}

/// A log that the target of Linux 6.1 recorded of a device of 16 MiB: `mkfs.ext4`, files that `sync` made durable, one of them removed,
/// `fstrim`. The CRC-32 of the images at its marks are of what `replay-log` of xfstests made of it.
#[test]
fn a_log_of_the_kernel_is_what_replay_log_makes_of_it() {
    let place = Place::new("kernel");
    let mut log = Vec::new();
    let packed = &include_bytes!("data/ext4-linux-6.1.log.gz")[..];
    flate2::read::GzDecoder::new(packed).read_to_end(&mut log).expect("a file of gzip");
    let path = place.file("log");
    std::fs::write(&path, &log).expect("room");
    let recording = Recording::read(&path).expect("a log");
    let mut image = vec![0; 16 << 20];
    let mut found = Vec::new();
    for step in &recording.steps {
        match step {
            Step::Request(DiskRequest::Write { sector, data, .. }) => {
                image[*sector as usize * 512..][..data.len()].copy_from_slice(data);
            }
            Step::Request(DiskRequest::Discard { sector, sectors }) => {
                image[*sector as usize * 512..][..*sectors as usize * 512].fill(0)
            }
            Step::Request(_) | Step::Control { .. } => {}
            Step::Mark(name) => {
                let mut crc = flate2::Crc::new();
                crc.update(&image);
                found.push((name.as_str(), crc.sum()));
            }
        }
    }
    let expected = [("mkfs", 0x7862_d1b0), ("synced", 0xbba1_175c), ("end", 0x9033_2a87), ("dm-log-writes-end", 0x3bb1_2a4c)];
    assert_eq!(found, expected);
    recording.write_log_writes(&place.file("again")).expect("room");
    assert!(Recording::read(&place.file("again")).expect("a log").steps == recording.steps, "what is written is what was read");
}
