use flashkeep_ssd as ssd;
use ssd::*;
use std::time::Instant;
use vocab::*;
#[allow(clippy::disallowed_methods, clippy::print_stdout)]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let scheme = args.get(1).map_or("none", |s| s);
    let payload = match args.get(2).map(String::as_str) {
        Some("tag") => PayloadKind::Tag,
        Some("page") => PayloadKind::Page,
        _ => PayloadKind::None,
    };
    let requests: u64 = args.get(3).map_or(5_000_000, |s| s.parse().unwrap());
    let reads = args.get(4).is_some_and(|s| s == "read");
    let depth: u32 = args.get(5).map_or(16, |s| s.parse().unwrap());
    let geometry = Geometry {
        channels: 4,
        dies_per_channel: 4,
        planes: 2,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 512,
        pages_per_block: 256,
        page_size: Bytes(4096),
        oob_size: Bytes(224),
        slot_size: Bytes(4096),
    };
    let timing = nand::Timing {
        command: Nanos(0),
        erase: Nanos::from_micros(3800),
        transfer: nand::Transfer::MtPerS(BusRate(333)),
        page: vec![nand::PageKind { name: "mlc".into(), read: Nanos::from_micros(75), program: Nanos::from_micros(750) }],
        worn: None,
    };
    let energy = nand::Energy { read: Nanojoules(6000), program: Nanojoules(107000), erase: Nanojoules(289000) };
    let user = (f64::from(geometry.slots()) * 0.93 * 0.75) as u32;
    let setup = Setup {
        drive: Drive { geometry, timing, energy, endurance: PeCycles(10000) },
        user_slots: user,
        scheme: protect::SchemeChoice::named(scheme),
        gc: ftl::GcConfig::default(),
        wear: ftl::WearConfig::default(),
        buffer: Buffer::default(),
        scheduler: Scheduler::Fifo,
        precondition: Precondition { working_set: 0.85 / 0.75 * 0.75, ..Default::default() },
        age: Age::default(),
        faults: Faults::default(),
        payload,
        seed: 1,
    };
    let t = Instant::now();
    let mut session = Session::new(&setup).unwrap();
    println!("precondition {:.2} s", t.elapsed().as_secs_f64());
    let mut draws = Streams::new(9).stream("w");
    let op = if reads { HostOp::Read } else { HostOp::Write(Fua::No) };
    let mut commands =
        (0..requests).map(|_| HostCommand { at: SimTime(0), op, lba: Lba(draws.below(u64::from(user)) * 8), sectors: 8 });
    let t = Instant::now();
    let r = session.run(&mut commands, Pace::Closed { depth }, &mut |_| {});
    let s = t.elapsed().as_secs_f64();
    println!(
        "run {s:.2} s: {:.0} k req/s, {:.2} M flash ops/s, {:.2} M events/s, waf {:?} pre {:.3} after {:.2} conv {}, mean {:.1} us p99 {:.1}, busy {:.3}, IOPS {:.0} checked {} mism {} {:?}",
        requests as f64 / s / 1e3,
        r.flash_ops as f64 / s / 1e6,
        r.events as f64 / s / 1e6,
        r.waf,
        r.precondition_waf,
        r.precondition_overwrites,
        r.precondition_converged,
        r.response_us.mean,
        r.response_us.p99,
        r.die_busy_share,
        requests as f64 / r.simulated_s,
        r.checked_reads,
        r.mismatches,
        session.first_mismatch()
    );
    println!("digest {:x} reads {:?} programs {:?} padded {}", r.event_digest, r.flash_reads, r.flash_programs, r.padded_slots);
    session.check_counts();
}
