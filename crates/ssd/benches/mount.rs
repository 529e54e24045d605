//! How long a drive of 1 TiB takes to be mounted after a power cut, in virtual time, and what it reads.
//!
//! Channels work side by side, so one of sixteen is simulated: 8 dies of 8 GiB with pages of 16 KiB, three
//! quarters full, cut amid random writes. `make bench` prints a table; wall-clock time is that of the host
//! for the sixteenth.

use flashkeep_ssd as ssd;
use ssd::{
    Age, Buffer, Drive, Ecc, Errors, Faults, Mounted, Pace, PayloadKind, Power, Precondition, Refresh, Scheduler, Session, Setup,
    ftl, nand, protect,
};
use std::time::Instant;
use vocab::{
    BusRate, Bytes, Fua, Geometry, HostCommand, HostOp, Lba, Nanojoules, Nanos, PeCycles, PlaneUse, SimTime, StreamId, Streams,
};

const PAGE: u64 = 16 * 1024;
const CHANNELS_OF_1_TIB: u64 = 16;

fn setup(scheme: &str, checkpoint: bool) -> Setup {
    let geometry = Geometry {
        channels: 1,
        dies_per_channel: 8,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 1024,
        pages_per_block: 512,
        page_size: Bytes(PAGE),
        oob_size: Bytes(1024),
        slot_size: Bytes(PAGE),
    };
    let timing = nand::Timing {
        command: Nanos(200),
        erase: Nanos(3_500_000),
        transfer: nand::Transfer::MtPerS(BusRate(1200)),
        page: vec![nand::PageKind { name: "tlc".into(), read: Nanos(60_000), program: Nanos(700_000) }],
        ..nand::Timing::default()
    };
    let energy = nand::Energy { read: Nanojoules(6_200), program: Nanojoules(107_000), erase: Nanojoules(289_000) };
    let drive = Drive {
        geometry,
        timing,
        energy,
        endurance: PeCycles(3_000),
        controller: flashkeep_ssd::Controller::default(),
        slc: flashkeep_ssd::Slc::default(),
    };
    let (scheme, gc) = (protect::SchemeChoice::named(scheme), ftl::GcConfig::default());
    let most = ssd::mountable_slots_max(&drive, &scheme, &gc).expect("a drive of this scheme");
    Setup {
        user_slots: (f64::from(most) * 0.75) as u32,
        drive,
        scheme,
        gc,
        wear: ftl::WearConfig::default(),
        buffer: Buffer::OFF,
        scheduler: Scheduler::Fifo,
        precondition: Precondition { converge_within: 1e-9, overwrite_at_most: 0.25, ..Precondition::default() },
        age: Age::default(),
        faults: Faults::default(),
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: Power { mountable: true, checkpoint, ..Power::default() },
        payload: PayloadKind::Tag,
        seed: 1,
    }
}

/// Outcome of a mount, and its wall-clock seconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the wall clock")]
fn mount(scheme: &str, checkpoint: bool) -> (Mounted, f64) {
    let setup = setup(scheme, checkpoint);
    let mut session = Session::new(&setup).expect("a valid setup");
    let mut draws = Streams::new(9).stream("bench");
    let lba = |draws: &mut vocab::Stream| Lba(draws.below(u64::from(setup.user_slots)) * PAGE / 512);
    let op = HostOp::Write(Fua::No);
    let mut commands =
        (0..100_000).map(|_| HostCommand { at: SimTime(0), op, lba: lba(&mut draws), sectors: 32, stream: StreamId::default() });
    session.advance(&mut commands, Pace::Closed { depth: 16 }, &mut |event| event < 200_000);
    let mut fates = Streams::new(9).stream("fates");
    let fates: Vec<_> = session.begun().into_iter().map(|begun| begun.draw(&mut fates)).collect();
    let start = Instant::now();
    let mounted = session.cut_power(&fates);
    (mounted, start.elapsed().as_secs_f64())
}

#[expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    println!("mounting 1 TiB ({CHANNELS_OF_1_TIB} channels of 8 dies) after a power cut; one channel is simulated");
    for scheme in ["none", "raid5", "ds-raid", "mds-groups"] {
        for (checkpoint, name) in [(false, "all pages"), (true, "checkpoint")] {
            let (mounted, seconds) = mount(scheme, checkpoint);
            let gib = |bytes: u64| (bytes * CHANNELS_OF_1_TIB) as f64 / f64::from(1 << 30);
            println!(
                "{scheme:<12} {name:<12} {:>8.2} s {:>12} pages looked at {:>8.2} GiB read {:>8.1} GiB of data found  (wall {seconds:.1} s)",
                mounted.time.0 as f64 / 1e9,
                mounted.looks * CHANNELS_OF_1_TIB,
                gib(mounted.bytes.0),
                gib(mounted.mapped * PAGE),
            );
        }
    }
}
