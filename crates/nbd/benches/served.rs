//! Speed of a served drive beside that of `nbdkit memory`, under fio, in turns: `cargo bench -p flashkeep-nbd`, with the number of
//! rounds, a word of the workloads to run, or `settings=FILE`. Compare neighbouring runs by
//! their ratio: both had the same machine. Other work on the machine changes the CPU time that a process takes for a request least.

#![expect(clippy::print_stdout, reason = "it prints a table")]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{Served, have, output, text};
use serve::Kept;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Workloads of fio, in words and in options.
const WORKLOADS: [(&str, &str); 6] = [
    ("write 4 KiB, one at a time", "--rw=randwrite --bs=4k --iodepth=1"),
    ("read 4 KiB, one at a time", "--rw=randread --bs=4k --iodepth=1"),
    ("write 4 KiB, 32 at a time", "--rw=randwrite --bs=4k --iodepth=32"),
    ("read 4 KiB, 32 at a time", "--rw=randread --bs=4k --iodepth=32"),
    ("write 1 MiB in turn", "--rw=write --bs=1m --iodepth=4"),
    ("read 1 MiB in turn", "--rw=read --bs=1m --iodepth=4"),
];

/// Ds-raid on the drive of its paper, BCH that corrects 8 bits of 512 bytes: what is kept of each sector is its checksum.
const SETTINGS: &str = "drive.preset = \"mlc-2014\"\nschemes = [\"ds-raid\"]\ncapacity.size = \"256MiB\"\n\
    [ecc]\npolicy = \"fixed\"\ncodeword = \"512B\"\noptions = { fixed = { t = 8 } }\n";

/// The usual rounds.
const ROUNDS: usize = 5;

/// `nbdkit memory`, until it is dropped.
struct Reference(Child, PathBuf);

impl Reference {
    fn new() -> Self {
        let socket = std::env::temp_dir().join(format!("flashkeep-memory-{}.sock", std::process::id()));
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--threads", "1", "--unix", text(&socket), "memory", "256M"]);
        let nbdkit = command.stderr(Stdio::null()).spawn().expect("nbdkit is there");
        for _ in 0..500 {
            if socket.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Self(nbdkit, socket)
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = std::fs::remove_file(&self.1);
    }
}

/// Requests a second, and how long one takes on average, in microseconds.
#[derive(Clone, Copy)]
struct Speed {
    rate: f64,
    us: f64,
    /// CPU time of the server, in microseconds.
    cpu: f64,
}

/// CPU time of a process, in microseconds.
fn cpu(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it runs");
    let (_, rest) = stat.rsplit_once(')').expect("a name in brackets");
    // Hundredths of a second.
    rest.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("a number") * 1e4).sum()
}

fn fio(socket: &Path, pid: u32, options: &str) -> Speed {
    let before = cpu(pid);
    let uri = format!("--uri=nbd+unix:///?socket={}", socket.display());
    let common = ["--name=speed", "--ioengine=nbd", &uri, "--size=256m", "--runtime=2", "--time_based", "--output-format=json"];
    let ran = output("fio", &[&common[..], &options.split(' ').collect::<Vec<_>>()].concat());
    let said = String::from_utf8_lossy(&ran.stdout);
    let json = said.find('{').map(|at| &said[at..]).unwrap_or_default();
    let found: serde_json::Value =
        serde_json::from_str(json).unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&ran.stderr)));
    let job = &found["jobs"][0];
    let kind = &job[if options.contains("read") { "read" } else { "write" }];
    let number = |value: &serde_json::Value| value.as_f64().expect("fio prints numbers");
    let cpu = (cpu(pid) - before) / number(&kind["total_ios"]);
    Speed { rate: number(&kind["iops"]), us: number(&kind["lat_ns"]["mean"]) / 1e3, cpu }
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// A drive in memory with this many threads of nbdkit for each connection, whichever nbdkit it is.
fn with_threads(name: &str, threads: &str, settings: &str) -> Served {
    Served::with(name, Kept::Memory, settings, |launch| launch.more.push(format!("--threads={threads}")))
}

fn load() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().split(' ').next().unwrap_or_default().to_owned()
}

fn main() {
    if !have("speed of served drives", &["nbdkit", "fio"]) {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(ROUNDS);
    let file = words.iter().find_map(|word| word.strip_prefix("settings="));
    let settings = file.map_or_else(|| SETTINGS.to_owned(), |file| std::fs::read_to_string(file).expect("a file of settings"));
    let only = words.iter().find(|word| word.parse::<usize>().is_err() && !word.contains('='));
    let drives = [
        ("served drive", with_threads("speed", "4", &settings)),
        ("with one thread", with_threads("speed-alone", "1", &settings)),
    ];
    let reference = Reference::new();
    for (_, drive) in &drives {
        // A drive that was written once.
        fio(&drive.file("nbd.sock"), drive.pid(), "--rw=write --bs=1m --iodepth=4 --number_ios=256");
    }
    println!("load of the machine: {}; medians of {rounds} rounds in turns", load());
    println!("{:<28} {:<16} {:>14} {:>7} {:>11} {:>11}", "", "", "requests/s", "ratio", "longer", "CPU");
    for (name, options) in WORKLOADS.iter().filter(|(name, _)| only.is_none_or(|only| name.contains(only.as_str()))) {
        let mut turns = Vec::new();
        for _ in 0..rounds {
            let theirs = fio(&reference.1, reference.0.id(), options);
            turns.push((theirs, drives.each_ref().map(|(_, drive)| fio(&drive.file("nbd.sock"), drive.pid(), options))));
        }
        let of = |what: fn(Speed) -> f64| median(turns.iter().map(|&(theirs, _)| what(theirs)).collect());
        println!("{name:<28} {:<16} {:>12.0}/s {:>32.1} us", "nbdkit memory", of(|theirs| theirs.rate), of(|theirs| theirs.cpu));
        for (at, (drive, _)) in drives.iter().enumerate() {
            let of = |what: fn(Speed, Speed) -> f64| median(turns.iter().map(|&(theirs, ours)| what(theirs, ours[at])).collect());
            let (rate, ratio) = (of(|_, ours| ours.rate), of(|theirs, ours| ours.rate / theirs.rate));
            let (longer, cpu) = (of(|theirs, ours| ours.us - theirs.us), of(|_, ours| ours.cpu));
            println!("{:<28} {drive:<16} {rate:>12.0}/s {ratio:>7.2} {longer:>+8.1} us {cpu:>8.1} us", "");
        }
    }
    println!("load of the machine: {}", load());
    drives.iter().for_each(|(_, drive)| drive.check());
}
