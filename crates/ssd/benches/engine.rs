//! Speed of the engine on the device and workloads that published simulators are measured on:
//! 16 GiB raw (4 channels, 16 dies, 256 pages of 4 KiB a block), 7 % over-provisioned, three
//! quarters of the rest occupied, 4 KiB random writes in steady state at queue depth 16, and
//! random reads at depth 64. One thread.
//!
//! `make bench` prints a table. With `FLASHKEEP_PEER="command"` and
//! `FLASHKEEP_PEER_REQUESTS=N` it also times that command in the same run, turn by turn, and
//! prints the ratio of requests a second, each side's preparation included.

use flashkeep_ssd as ssd;
use ssd::{
    Age, Buffer, Drive, Ecc, Errors, Faults, Pace, PayloadKind, Precondition, Refresh, RunResult, Scheduler, Session, Setup, ftl,
    nand, protect,
};
use std::time::Instant;
use vocab::{
    BusRate, Bytes, Fua, Geometry, HostCommand, HostOp, Lba, Nanojoules, Nanos, PeCycles, PlaneUse, SimTime, StreamId, Streams,
};

fn setup(scheme: &str, payload: PayloadKind, blocks_per_plane: u32) -> Setup {
    let geometry = Geometry {
        channels: 4,
        dies_per_channel: 4,
        planes: 2,
        plane_use: PlaneUse::Single,
        blocks_per_plane,
        pages_per_block: 256,
        page_size: Bytes(4096),
        oob_size: Bytes(224),
        slot_size: Bytes(4096),
    };
    let timing = nand::Timing {
        command: Nanos(0),
        erase: Nanos(3_800_000),
        transfer: nand::Transfer::MtPerS(BusRate(333)),
        page: vec![nand::PageKind { name: "mlc".into(), read: Nanos(75_000), program: Nanos(750_000) }],
        ..nand::Timing::default()
    };
    let energy = nand::Energy { read: Nanojoules(6_200), program: Nanojoules(107_000), erase: Nanojoules(289_000) };
    Setup {
        user_slots: (f64::from(geometry.slots()) * 0.93 * 0.75) as u32,
        drive: Drive {
            geometry,
            timing,
            energy,
            endurance: PeCycles(10_000),
            controller: flashkeep_ssd::Controller::default(),
            slc: flashkeep_ssd::Slc::default(),
        },
        scheme: protect::SchemeChoice::named(scheme),
        gc: ftl::GcConfig::default(),
        wear: ftl::WearConfig::default(),
        buffer: Buffer::OFF,
        scheduler: Scheduler::Fifo,
        precondition: Precondition::default(),
        age: Age::default(),
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: ssd::Power::default(),
        payload,
        seed: 1,
    }
}

/// Wall-clock seconds of something, and what it gave.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}

fn replay(session: &mut Session, pages: u32, op: HostOp, requests: u64, depth: u32) -> RunResult {
    let mut draws = Streams::new(9).stream("bench");
    let mut commands = (0..requests).map(|_| HostCommand {
        at: SimTime(0),
        op,
        lba: Lba(draws.below(u64::from(pages)) * 8),
        sectors: 8,
        stream: StreamId::default(),
    });
    // `--scheme NAME --series`: what a time series costs is the difference.
    if std::env::args().any(|arg| arg == "--series") {
        return session.run_with_series(&mut commands, Pace::Closed { depth }, &mut |_| {}).0;
    }
    session.run(&mut commands, Pace::Closed { depth }, &mut |_| {})
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn row(name: &str, requests: u64, seconds: f64, result: &RunResult) {
    println!(
        "{name:<28} {:>8.2} s {:>9.0} requests/s {:>9.2} M flash ops/s {:>8.2} M events/s  WAF {}",
        seconds,
        requests as f64 / seconds,
        result.flash.ops as f64 / seconds / 1e6,
        result.replay.events as f64 / seconds / 1e6,
        result.flash.waf.map_or("-".into(), |waf| format!("{waf:.3}")),
    );
    assert_eq!(result.oracle.mismatches, 0);
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    if let Some(payload) = std::env::args().skip_while(|arg| arg != "--memory").nth(1) {
        return memory(if payload == "tags" { PayloadKind::Tag } else { PayloadKind::None });
    }
    if let Some(scheme) = std::env::args().skip_while(|arg| arg != "--scheme").nth(1) {
        return one_scheme(&scheme);
    }
    let write = HostOp::Write(Fua::No);
    for (payload, name) in [(PayloadKind::None, "none, no payload"), (PayloadKind::Tag, "none, tags")] {
        let setup = setup("none", payload, 512);
        let (prepare, mut session) = timed(|| Session::new(&setup).expect("a valid setup"));
        println!("{name:<28} {prepare:>8.2} s to precondition {} pages", setup.user_slots);
        for _ in 0..3 {
            let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, write, 3_000_000, 16));
            row(&format!("{name}: random writes"), 3_000_000, seconds, &result);
        }
        let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, HostOp::Read, 2_000_000, 64));
        row(&format!("{name}: random reads"), 2_000_000, seconds, &result);
    }
    for scheme in ["raid5", "ds-raid"] {
        let setup = setup(scheme, PayloadKind::Tag, 512);
        let (prepare, mut session) = timed(|| Session::new(&setup).expect("a valid setup"));
        println!("{scheme:<28} {prepare:>8.2} s to precondition {} pages", setup.user_slots);
        let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, write, 500_000, 16));
        row(&format!("{scheme}, tags: random writes"), 500_000, seconds, &result);
    }
    page_ecc(write);
    for payload in ["nothing", "tags"] {
        // In a process of its own: memory given back here would hide what is taken.
        let this = std::env::current_exe().expect("this program has a path");
        let child = std::process::Command::new(this).args(["--memory", payload]).output().expect("this program starts");
        print!("{payload:<28} {}", String::from_utf8_lossy(&child.stdout));
    }
    against_a_peer();
}

/// One scheme alone, for a profiler: prepared, written, read.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn one_scheme(scheme: &str) {
    let payload = if std::env::args().any(|arg| arg == "--no-payload") { PayloadKind::None } else { PayloadKind::Tag };
    let blocks = std::env::args().skip_while(|arg| arg != "--blocks-per-plane").nth(1);
    let blocks = blocks.map_or(512, |blocks| blocks.parse().expect("--blocks-per-plane: a number"));
    let setup = setup(scheme, payload, blocks);
    let (prepare, mut session) = timed(|| Session::new(&setup).expect("a valid setup"));
    println!("{scheme:<28} {prepare:>8.2} s to precondition {} pages", setup.user_slots);
    let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, HostOp::Write(Fua::No), 500_000, 16));
    row(&format!("{scheme}: random writes"), 500_000, seconds, &result);
    let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, HostOp::Read, 500_000, 64));
    row(&format!("{scheme}: random reads"), 500_000, seconds, &result);
}

/// Reads and writes of an aged drive whose pages have errors and codes.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn page_ecc(write: HostOp) {
    let mut setup = setup("none", PayloadKind::Tag, 512);
    setup.drive.geometry.oob_size = Bytes(224);
    setup.ecc = Ecc { policy: "flares".into(), ..Ecc::default() };
    setup.errors = Errors { model: "flares".into(), ..Errors::default() };
    setup.age = Age { pe_cycles: PeCycles(5_000), retention: Nanos(720 * 3_600_000_000_000), ..Age::default() };
    let (prepare, mut session) = timed(|| Session::new(&setup).expect("a valid setup"));
    println!("{:<28} {prepare:>8.2} s to precondition {} pages", "none, tags, flares", setup.user_slots);
    for (op, name) in [(write, "writes"), (HostOp::Read, "reads")] {
        let (seconds, result) = timed(|| replay(&mut session, setup.user_slots, op, 1_000_000, 64));
        row(&format!("flares: random {name}"), 1_000_000, seconds, &result);
    }
}

/// Memory of a preconditioned drive.
#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn memory(payload: PayloadKind) {
    let setup = setup("none", payload, 2048);
    let before = resident_mib();
    let _session = Session::new(&setup).expect("a valid setup");
    let taken = resident_mib() - before;
    let slots = f64::from(setup.drive.geometry.slots());
    println!(
        "{taken:>8.0} MiB for {:.0} GiB: {:.1} bytes a slot",
        slots / f64::from(1 << 18),
        taken * f64::from(1 << 20) / slots
    );
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn against_a_peer() {
    let Ok(command) = std::env::var("FLASHKEEP_PEER") else {
        println!("no peer: set FLASHKEEP_PEER and FLASHKEEP_PEER_REQUESTS to time one in the same run");
        return;
    };
    let requests: u64 =
        std::env::var("FLASHKEEP_PEER_REQUESTS").ok().and_then(|n| n.parse().ok()).expect("FLASHKEEP_PEER_REQUESTS: a number");
    for _ in 0..2 {
        let (ours, ()) = timed(|| {
            let setup = setup("none", PayloadKind::None, 512);
            let mut session = Session::new(&setup).expect("a valid setup");
            replay(&mut session, setup.user_slots, HostOp::Write(Fua::No), requests, 16);
        });
        let (theirs, _) = timed(|| std::process::Command::new("sh").args(["-c", &command]).output().expect("the peer starts"));
        println!(
            "{requests} random writes, preparation included: ours {ours:.2} s, peer {theirs:.2} s, ratio {:.1}",
            theirs / ours
        );
    }
}
