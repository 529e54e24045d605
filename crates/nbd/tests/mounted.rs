//! File systems and databases on a served drive, whose process is killed under them. `FLASHKEEP_KILLS` makes these tests long.
#![cfg(target_os = "linux")]

mod common;

use common::mount::{Attached, may_mount};
use common::{Served, have, kills, output, run, text};
use serve::Kept;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A file system: how it is made, and what finds it clean.
struct FileSystem {
    name: &'static str,
    make: &'static [&'static str],
    check: &'static [&'static str],
}

const FILE_SYSTEMS: [FileSystem; 3] = [
    FileSystem { name: "ext4", make: &["mkfs.ext4", "-q", "-F", "-J", "size=4"], check: &["e2fsck", "-f", "-n"] },
    FileSystem { name: "xfs", make: &["mkfs.xfs", "-q", "-f", "--unsupported"], check: &["xfs_repair", "-n"] },
    FileSystem {
        name: "btrfs",
        make: &["mkfs.btrfs", "-q", "-f", "--mixed", "-m", "single", "-d", "single", "-n", "4096"],
        check: &["btrfs", "check", "--readonly"],
    },
];

/// A drive in files.
fn drive(size: &str) -> String {
    format!("drive.preset = \"mlc-2014\"\nschemes = [\"ds-raid\"]\ncapacity.size = \"{size}\"\nbuffer.size = \"128KiB\"\n")
}

/// Copies a tree while the process is killed at some time, and lets go of the disk, as far as that is possible then.
fn killed_while_copying(served: &mut Served, disk: Attached, tree: &Path, after: Duration) {
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(tree).arg(disk.root.join("busy")).stderr(Stdio::null());
    let mut copying = copy.spawn().expect("cp is there");
    let mut synced = Command::new("sync").arg("-f").arg(&disk.root).stderr(Stdio::null()).spawn().expect("sync is there");
    std::thread::sleep(after);
    served.kill();
    copying.wait().expect("it was started");
    synced.wait().expect("it was started");
    drop(disk);
    served.start();
}

/// A tree of sources is made durable, another copied while the process is killed: then the first is there, and the file system is clean.
fn comes_back(system: &FileSystem, size: &str, trees: [&str; 2], rounds: u64) {
    let test = format!("mounted-{}", system.name);
    if !have(&test, &["nbdkit", "nbdfuse", system.make[0], system.check[0]]) || !may_mount(&test, system.name) {
        return;
    }
    let mut served = Served::new(&test, Kept::Files, &drive(size));
    let mut draws = vocab::Streams::new(1).stream("test/kills");
    let [first, second]: [PathBuf; 2] = trees.map(|tree| Path::new(CRATES).join(tree));
    let Some(mut disk) = Attached::new(&test, &served) else { return };
    run(system.make[0], &[&system.make[1..], &[&disk.device]].concat());
    disk.mount("defaults");
    run("cp", &["-r", text(&first), text(&disk.root.join("kept"))]);
    run("sync", &["-f", text(&disk.root)]);
    for round in 0..rounds {
        killed_while_copying(&mut served, disk, &second, Duration::from_millis(draws.below(if rounds > 1 { 1500 } else { 150 })));
        let Some(again) = Attached::new(&test, &served) else { return };
        disk = again;
        disk.mount("defaults");
        let differs = output("diff", &["-r", text(&first), text(&disk.root.join("kept"))]);
        assert!(differs.status.success(), "{test}, round {round}: {}", String::from_utf8_lossy(&differs.stdout));
        disk.unmount();
        run(system.check[0], &[&system.check[1..], &[&disk.device]].concat());
        disk.mount("defaults");
        run("rm", &["-rf", text(&disk.root.join("busy"))]);
    }
    disk.unmount();
    drop(disk);
    served.check();
}

#[test]
fn file_systems_come_back_clean_with_all_that_was_made_durable() {
    let rounds = kills(1).min(20);
    for system in &FILE_SYSTEMS {
        match rounds {
            1 => comes_back(system, "32MiB", ["nbd/src", "nbd/tests"], 1),
            _ => comes_back(system, "96MiB", ["ssd/src", "lab/src"], rounds),
        }
    }
}

/// A program of xfstests: in the path, or where `FLASHKEEP_XFSTESTS` says that they were built. `None`, after the test said that it is
/// skipped, where it is not.
fn of_xfstests(test: &str, program: &str) -> Option<PathBuf> {
    let built = std::env::var_os("FLASHKEEP_XFSTESTS").map(|xfstests| Path::new(&xfstests).join("ltp").join(program));
    match built.filter(|path| path.is_file()) {
        Some(path) => Some(path),
        None => have(test, &[program]).then(|| program.into()),
    }
}

/// fsx holds what it reads of a file against what it wrote, through the cache of the kernel and past it; fsstress changes a tree in all ways
/// that a file system has, from several processes, until the process of the drive is killed.
fn is_exercised(system: &FileSystem, [fsx, fsstress]: [&Path; 2], rounds: u64) {
    let test = format!("exercised-{}", system.name);
    if !have(&test, &["nbdkit", "nbdfuse", system.make[0], system.check[0]]) || !may_mount(&test, system.name) {
        return;
    }
    let mut served = Served::new(&test, Kept::Files, &drive("96MiB"));
    let mut draws = vocab::Streams::new(2).stream("test/kills");
    let Some(mut disk) = Attached::new(&test, &served) else { return };
    run(system.make[0], &[&system.make[1..], &[&disk.device]].concat());
    for round in 0..rounds {
        let seed = (1 + round).to_string();
        disk.mount("defaults");
        let file = disk.root.join("file");
        let operations = if rounds > 1 { "20000" } else { "1000" };
        for past_the_cache in [&[][..], &["-Z", "-r", "4096", "-w", "4096", "-t", "4096"]] {
            let arguments = ["-q", "-S", &seed, "-N", operations, "-l", "262144"];
            run(text(fsx), &[&arguments, past_the_cache, &[text(&file)]].concat());
        }
        let mut stress = Command::new(fsstress);
        stress.arg("-d").arg(disk.root.join("tree")).args(["-p", "3", "-n", "100000", "-s", &seed]);
        let mut stress = stress.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it was found");
        std::thread::sleep(Duration::from_millis(200 + draws.below(if rounds > 1 { 3000 } else { 300 })));
        assert!(stress.try_wait().expect("it was started").is_none(), "{test}, round {round}: fsstress ended by itself");
        served.kill();
        let _ = output("pkill", &["-KILL", "-P", &stress.id().to_string()]);
        let _ = stress.kill();
        stress.wait().expect("it was started");
        disk.give_up();
        served.start();
        let Some(again) = Attached::new(&test, &served) else { return };
        disk = again;
        disk.mount("defaults");
        run("rm", &["-rf", text(&disk.root.join("tree"))]);
        disk.unmount();
        run(system.check[0], &[&system.check[1..], &[&disk.device]].concat());
    }
    drop(disk);
    served.check();
}

#[test]
fn programs_of_xfstests_find_nothing_wrong() {
    let found = ["fsx", "fsstress"].map(|program| of_xfstests("exercised", program));
    let [Some(fsx), Some(fsstress)] = &found else { return };
    FILE_SYSTEMS.iter().for_each(|system| is_exercised(system, [fsx, fsstress], kills(1).min(20)));
}

/// Where the programs of the newest PostgreSQL are.
fn postgresql() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    Some(versions.map(|entry| entry.path()).filter(|path| version(path).is_some()).max_by_key(version)?.join("bin"))
}

/// PostgreSQL, which does not run as root.
struct Postgres {
    programs: PathBuf,
    /// Directories of the data, and of the socket and logs.
    data: PathBuf,
    run: PathBuf,
}

impl Postgres {
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("runuser");
        command.args(["-u", "postgres", "--"]).arg(self.programs.join(program)).args(arguments);
        command.env("PGHOST", &self.run).env("PGDATABASE", "postgres").env("PGUSER", "postgres");
        command.current_dir(&self.run).stdin(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().expect("runuser is there");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn start(&self) {
        let socket = format!("-k {} -c listen_addresses= -c shared_buffers=16MB", text(&self.run));
        // It hands its output on to the server, which stays.
        let log = self.run.join("server.log");
        let mut start = self.command("pg_ctl", &["-D", text(&self.data), "-w", "-l", text(&log), "-o", &socket, "start"]);
        let status = start.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("runuser is there");
        assert!(status.success(), "{}", std::fs::read_to_string(&log).unwrap_or_default());
    }

    fn stop(&self) {
        self.run("pg_ctl", &["-D", text(&self.data), "-w", "-m", "fast", "stop"]);
    }

    /// The number of the server's process.
    fn process(&self) -> String {
        let file = std::fs::read_to_string(self.data.join("postmaster.pid")).expect("it runs");
        file.lines().next().expect("it begins with the number").to_owned()
    }

    /// Ends a server that has lost its disk, from which `pg_ctl` would read which process it is.
    fn kill(process: &str) {
        for (signal, patience) in [("-QUIT", 100), ("-KILL", 1000)] {
            let _ = output("pkill", &[signal, "-P", process]);
            let _ = output("kill", &[signal, process]);
            for _ in 0..patience {
                if !is_alive(process) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        panic!("PostgreSQL, process {process}, does not end");
    }

    fn number(&self, query: &str) -> i64 {
        let said = self.run("psql", &["-A", "-t", "-c", query]);
        said.trim().parse().unwrap_or_else(|_| panic!("{query}: {said}"))
    }

    /// Transactions that clients were told of, as pgbench wrote down, and takes its notes away.
    fn told(&self) -> i64 {
        let logs = std::fs::read_dir(&self.run).expect("it was made").flatten().map(|entry| entry.path());
        let logs = logs.filter(|path| text(path).contains("pgbench_log"));
        let count = |path: PathBuf| {
            // The last line may be half.
            let lines = std::fs::read_to_string(&path).expect("pgbench wrote it").matches('\n').count() as i64;
            std::fs::remove_file(path).map(|()| lines).expect("pgbench wrote it")
        };
        logs.map(count).sum()
    }

    /// The books of pgbench balance, and no table or index is damaged.
    fn check(&self) {
        let sum = |of: &str, table: &str| self.number(&format!("select coalesce(sum({of}), 0) from {table}"));
        let history = sum("delta", "pgbench_history");
        for (of, table) in [("abalance", "pgbench_accounts"), ("tbalance", "pgbench_tellers"), ("bbalance", "pgbench_branches")] {
            assert_eq!(sum(of, table), history, "{table}");
        }
        self.run("pg_amcheck", &["--install-missing", "--heapallindexed", "postgres"]);
    }
}

/// Whether a process is there and has not ended: one that no one waited for has.
fn is_alive(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// pgbench runs while the process is killed: PostgreSQL recovers, and has all transactions of which clients were told.
#[test]
fn postgresql_keeps_what_it_committed() {
    let test = "mounted-postgres";
    if std::env::var_os("FLASHKEEP_KILLS").is_none() {
        return;
    }
    let Some(programs) = postgresql().filter(|path| path.join("pg_amcheck").exists()) else {
        assert!(!have(test, &["postgres"]), "it is somewhere else");
        return;
    };
    if !have(test, &["nbdkit", "nbdfuse", "mkfs.ext4", "runuser"]) || !may_mount(test, "ext4") {
        return;
    }
    let mut served = Served::new(test, Kept::Files, &drive("192MiB"));
    let mut draws = vocab::Streams::new(1).stream("test/kills");
    let Some(mut disk) = Attached::new(test, &served) else { return };
    run("mkfs.ext4", &["-q", "-F", &disk.device]);
    disk.mount("defaults");
    let postgres = Postgres { programs, data: disk.root.join("data"), run: std::env::temp_dir().join("flashkeep-postgres") };
    for directory in [&postgres.data, &postgres.run] {
        std::fs::create_dir_all(directory).expect("room");
        run("chown", &["postgres", text(directory)]);
    }
    postgres.run("initdb", &["-D", text(&postgres.data), "--wal-segsize=1", "-A", "trust"]);
    postgres.start();
    postgres.run("pgbench", &["-i", "-q", "-s", "1"]);
    let mut committed = 0;
    for _ in 0..kills(1).min(20) {
        let mut bench = postgres.command("pgbench", &["-n", "-c", "4", "-T", "600", "-l"]);
        let mut running = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("runuser is there");
        std::thread::sleep(Duration::from_millis(1000 + draws.below(3000)));
        let process = postgres.process();
        served.kill();
        Postgres::kill(&process);
        running.wait().expect("it was started");
        drop(disk);
        served.start();
        let Some(again) = Attached::new(test, &served) else { return };
        disk = again;
        disk.mount("defaults");
        // The file names a process that has ended, which PostgreSQL does not see while no one has waited for it.
        let _ = std::fs::remove_file(postgres.data.join("postmaster.pid"));
        postgres.start();
        let (told, found) = (postgres.told(), postgres.number("select count(*) from pgbench_history"));
        assert!(told > 0 && found >= committed + told, "{found} transactions, {committed} before and {told} told");
        // Those that were committed and not told of count as well.
        committed = found;
        postgres.check();
    }
    postgres.stop();
    disk.unmount();
    run("e2fsck", &["-f", "-n", &disk.device]);
    drop(disk);
    served.check();
    std::fs::remove_dir_all(&postgres.run).expect("it was made");
}
