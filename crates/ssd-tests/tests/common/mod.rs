//! Small drives and random workloads shared by the tests.
#![allow(dead_code, missing_docs)]

pub mod codewords;
#[cfg(unix)]
pub mod files;
#[cfg(unix)]
pub mod world;
pub mod zones;

pub use flashkeep_ssd as ssd;
use ssd::{
    Age, Buffer, BufferKind, Drive, Ecc, Errors, Faults, Pace, PayloadKind, Precondition, Refresh, RunResult, Scheduler, Session,
    Setup, ftl, nand, protect,
};
use vocab::{
    BusRate, Bytes, Fua, Geometry, HostCommand, HostOp, Lba, Nanojoules, Nanos, PeCycles, PlaneUse, SimTime, StreamId, Streams,
};

/// 5 dies on 2+ channels, MLC-like, `slots` logical pages a physical page.
pub fn drive(dies: u32, blocks: u32, pages: u32, slots: u64) -> Drive {
    let channels = if dies.is_multiple_of(2) { 2 } else { 1 };
    Drive {
        geometry: Geometry {
            channels,
            dies_per_channel: dies / channels,
            planes: 1,
            plane_use: PlaneUse::Single,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_size: Bytes(4096 * slots),
            oob_size: Bytes(64 * slots),
            slot_size: Bytes(4096),
        },
        timing: nand::Timing {
            command: Nanos(300),
            erase: Nanos(3_000_000),
            transfer: nand::Transfer::DataMtPerS(BusRate(400)),
            page: vec![
                nand::PageKind { name: "lsb".into(), read: Nanos(40_000), program: Nanos(500_000) },
                nand::PageKind { name: "msb".into(), read: Nanos(65_000), program: Nanos(1_300_000) },
            ],
            ..nand::Timing::default()
        },
        energy: nand::Energy { read: Nanojoules(3_000), program: Nanojoules(131_000), erase: Nanojoules(289_000) },
        endurance: PeCycles(3000),
        controller: ssd::Controller::default(),
        slc: ssd::Slc::default(),
    }
}

/// A setup with everything plain, `share` of what the scheme can hold at most given to the user.
pub fn setup(scheme: &str, drive: Drive, share: f64) -> Setup {
    setup_of(&protect::SchemeChoice::named(scheme), drive, share)
}

/// Every scheme that keeps its promise, with its defaults and with each of its variants, and those with code over them;
/// `FLASHKEEP_SCHEME="ppc on_flush=commit"` leaves one of them.
pub fn schemes() -> impl Iterator<Item = protect::SchemeChoice> {
    let only = std::env::var("FLASHKEEP_SCHEME").ok();
    let wanted = move |choice: &protect::SchemeChoice| only.as_ref().is_none_or(|only| *only == choice.to_string());
    let all = protect::registry::SCHEMES.iter().chain(protect::registry::JOINED);
    all.filter(|entry| !entry.canary).flat_map(|entry| entry.choices()).filter(wanted)
}

/// Dies whose loss the scheme promises to survive on the drive.
pub fn promise(choice: &protect::SchemeChoice, drive: &Drive) -> u32 {
    protect::registry::build(choice, ssd::shape(drive)).expect("fits the tests' drive").survives_dies()
}

/// As [`setup`], for a scheme with options.
pub fn setup_of(scheme: &protect::SchemeChoice, drive: Drive, share: f64) -> Setup {
    let scheme = scheme.clone();
    let gc = ftl::GcConfig::default();
    let most = ssd::user_slots_max(&drive, &scheme, &gc).expect("a valid drive");
    Setup {
        user_slots: (f64::from(most) * share) as u32,
        drive,
        scheme,
        gc,
        wear: ftl::WearConfig::default(),
        buffer: Buffer::OFF,
        scheduler: Scheduler::Fifo,
        precondition: Precondition { fill: 0.0, converge_within: 0.0, ..Precondition::default() },
        age: Age::default(),
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: ssd::Power::default(),
        payload: PayloadKind::Tag,
        seed: 1,
    }
}

/// A drive of 5 dies with 12 blocks of 4 pages each, mostly filled; segments have a block to spare.
pub fn setup_with_spare(scheme: &protect::SchemeChoice, buffer: BufferKind, share: f64, power: ssd::Power, seed: u64) -> Setup {
    let mut scheme = scheme.clone();
    if scheme.name == "code-zones" {
        scheme.options.insert("spare_blocks".into(), "3".into());
    }
    let buffer = Buffer { kind: buffer, size: Bytes(32 << 10), ..Buffer::default() };
    let mut setup = Setup { buffer, power, seed, ..setup_of(&scheme, drive(5, 12, 4, 1), share) };
    setup.precondition.fill = 0.9;
    setup
}

/// The drive comes to rest: everything is there, and counts and parities are right.
pub fn check_all(session: &mut Session, name: &str) {
    session.drain();
    session.check_counts();
    let found = session.take_stock();
    assert_eq!((&found.lost, &found.wrong), (&Vec::new(), &None), "{name}");
    session.drain();
    session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
}

/// Parts of a random workload.
#[derive(Clone, Copy)]
pub struct Mix {
    pub reads: f64,
    pub discards: f64,
    pub flushes: f64,
    /// Share of writes that start and end anywhere instead of on page boundaries.
    pub partial: f64,
    pub max_pages: u64,
    /// Mean time between requests.
    pub every: u64,
}

pub const MIX: Mix = Mix { reads: 0.4, discards: 0.05, flushes: 0.05, partial: 0.2, max_pages: 6, every: 200_000 };

/// `count` random commands over `user_slots` pages, a tenth of which take half of the accesses.
pub fn workload(seed: u64, user_slots: u32, count: u64, mix: Mix) -> Vec<HostCommand> {
    let mut draws = Streams::new(seed).stream("test/workload");
    let mut at = 0;
    (0..count)
        .map(|_| {
            at += draws.below(2 * mix.every + 1);
            let kind = draws.unit();
            let op = if kind < mix.reads {
                HostOp::Read
            } else if kind < mix.reads + mix.discards {
                HostOp::Discard
            } else if kind < mix.reads + mix.discards + mix.flushes {
                HostOp::Flush
            } else {
                HostOp::Write(if draws.chance(0.1) { Fua::Yes } else { Fua::No })
            };
            let hot = if draws.chance(0.5) { (user_slots / 10).max(1) } else { user_slots };
            let pages = 1 + draws.below(mix.max_pages.min(u64::from(user_slots)));
            let first = draws.below(u64::from(hot)).min(u64::from(user_slots) - pages);
            let (mut lba, mut sectors) = (first * 8, pages * 8);
            if draws.chance(mix.partial) {
                let cut = draws.below(8).min(sectors - 1);
                (lba, sectors) = (lba + cut, sectors - cut);
                sectors -= draws.below(8).min(sectors - 1);
            }
            let sectors = if op == HostOp::Flush { 0 } else { sectors as u32 };
            HostCommand { at: SimTime(at), op, lba: Lba(lba), sectors, stream: StreamId::default() }
        })
        .collect()
}

/// Reads everything once, page by page.
pub fn read_all(user_slots: u32) -> impl Iterator<Item = HostCommand> {
    (0..u64::from(user_slots)).map(|lpn| HostCommand {
        at: SimTime(0),
        op: HostOp::Read,
        lba: Lba(lpn * 8),
        sectors: 8,
        stream: StreamId::default(),
    })
}

pub fn run(session: &mut Session, commands: &[HostCommand], pace: Pace) -> RunResult {
    session.run(&mut commands.iter().copied(), pace, &mut |_| {})
}

/// Seeds of a random test: `FLASHKEEP_SEED` alone where it is set, else the first of
/// `FLASHKEEP_SEEDS` (default `usual`).
pub fn seeds(usual: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("FLASHKEEP_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("FLASHKEEP_SEEDS").unwrap_or(usual),
    }
}

/// The command that repeats a failure.
pub fn again(test: &str, seed: u64) -> String {
    format!("repeat with: FLASHKEEP_SEED={seed} cargo test -p flashkeep-ssd-tests --test conformance {test}")
}

/// Replays, then reads everything back; fails on the first wrong byte or lost count.
pub fn prove(name: &str, setup: &Setup, commands: &[HostCommand], pace: Pace) -> (RunResult, RunResult) {
    let mut session = Session::new(setup).unwrap_or_else(|e| panic!("{name}: {e}"));
    let result = run(&mut session, commands, pace);
    session.check_counts();
    let after = session.run(&mut read_all(setup.user_slots), Pace::Closed { depth: 8 }, &mut |_| {});
    let wrong = session.first_mismatch();
    assert_eq!(wrong, None, "{name}, seed {}", setup.seed);
    let answered: u64 = result.host.requests.values().sum();
    assert_eq!(answered, commands.len() as u64, "{name}: every request is answered");
    assert_eq!(after.host.requests["read"], u64::from(setup.user_slots), "{name}");
    (result, after)
}

pub fn buffers() -> [(&'static str, Buffer); 3] {
    let buffer = |kind| Buffer { kind, size: Bytes(40 * 4096), latency: Nanos(2_000) };
    [("off", buffer(BufferKind::Off)), ("volatile", buffer(BufferKind::Volatile)), ("plp", buffer(BufferKind::Plp))]
}

/// A drive after a workload rich in reads, once at its own pace and once in a closed loop. All requests
/// are answered, and counts and redundancy are sound after each; `each` looks at it then.
pub fn run_both_paces(name: &str, setup: &Setup, each: &mut dyn FnMut(&str, &Session, &RunResult)) -> Session {
    let mut session = Session::new(setup).unwrap_or_else(|error| panic!("{name}: {error}"));
    let commands = workload(setup.seed, setup.user_slots, 600, Mix { reads: 0.6, max_pages: 12, every: 150_000, ..MIX });
    for pace in [Pace::Open, Pace::Closed { depth: 12 }] {
        let name = format!("{name}, {pace:?}");
        let result = run(&mut session, &commands, pace);
        session.check_counts();
        session.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
        assert_eq!(result.host.requests.values().sum::<u64>(), commands.len() as u64, "{name}");
        each(&name, &session, &result);
    }
    session
}
