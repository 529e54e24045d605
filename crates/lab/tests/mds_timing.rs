//! How long a page of a block group takes to rebuild on the drive of Greenan et al., idle.

use experiment::Experiment;
use serde_json::Value;
use ssd::ftl::Place;
use ssd::protect::SchemeChoice;
use ssd::{Age, Buffer, Ecc, Errors, Failure, Faults, Pace, PayloadKind, Precondition, Refresh, Scheduler, Session, Setup};
use vocab::{DieId, Grid, HostCommand, HostOp, Lba, SimTime, StreamId};

/// The paper's four times in microseconds, as its drive and an adder of 800 MiB/s give them.
const ORACLE: &str = include_str!("oracles/greenan_timing.json");
/// 4 KiB at 800 MiB/s, in ns.
const SUM_NS: &str = "4883";

fn oracle(key: &str) -> f64 {
    let values: Value = serde_json::from_str(ORACLE).expect("valid JSON");
    values[key].as_f64().expect("a number")
}

fn setup(options: &[(&str, &str)]) -> Setup {
    let drive = Experiment::parse("test.toml", "drive.preset = \"greenan\"").expect("a preset").drive.drive();
    let options = options.iter().chain(&[("sum_ns_per_page", SUM_NS)]).map(|&(key, value)| (key.into(), value.into()));
    Setup {
        drive,
        user_slots: 8 * 64 * 8,
        scheme: SchemeChoice { name: "mds-groups".into(), options: options.collect() },
        gc: ssd::ftl::GcConfig::default(),
        wear: ssd::ftl::WearConfig::default(),
        buffer: Buffer::OFF,
        scheduler: Scheduler::Fifo,
        precondition: Precondition { fill: 1.0, converge_within: 0.0, ..Precondition::default() },
        age: Age::default(),
        // The times are those of one rebuild for a reader, not of a drive at work on all of them.
        faults: Faults { rebuild: false, ..Faults::default() },
        ecc: Ecc::default(),
        errors: Errors::default(),
        refresh: Refresh::default(),
        power: ssd::Power::default(),
        payload: PayloadKind::Tag,
        seed: 1,
    }
}

fn read(lpn: u32) -> HostCommand {
    HostCommand {
        at: SimTime(1_000_000),
        op: HostOp::Read,
        lba: Lba(u64::from(lpn) * 8),
        sectors: 8,
        stream: StreamId::default(),
    }
}

/// Latency in microseconds of one read of an idle drive.
fn latency(session: &mut Session, lpn: u32) -> f64 {
    let result = session.run(&mut [read(lpn)].into_iter(), Pace::Open, &mut |_| {});
    assert_eq!((session.first_mismatch(), result.host.media_errors, result.oracle.checked_reads), (None, 0, 1));
    result.host.latency_us.mean
}

/// The logical page's die, for pages that lie in whole groups.
fn die_of(session: &Session, setup: &Setup, lpn: u32) -> DieId {
    let Place::At(slot) = session.inventory().places[lpn as usize] else { panic!("lpn{lpn} is not in flash") };
    let grid = Grid::new(setup.drive.geometry);
    grid.die_of(grid.page_of(slot).0)
}

fn assert_close(found: f64, oracle: f64) {
    assert!((found / oracle - 1.0).abs() < 1e-3, "{found} us, {oracle} us expected within 0.1 %");
}

/// Mean time to rebuild a page whose die has just died.
fn rebuild(options: &[(&str, &str)]) -> f64 {
    let setup = setup(options);
    let fresh = Session::new(&setup).unwrap();
    let lpns: Vec<u32> = (0..64).map(|n| n * 37).collect();
    let times = lpns.iter().map(|&lpn| {
        let mut session = fresh.clone();
        session.fail(Failure::Die(die_of(&session, &setup, lpn)));
        // A dead die is noticed at once: the latency is the rebuild.
        latency(&mut session, lpn)
    });
    times.sum::<f64>() / lpns.len() as f64
}

#[test]
fn a_page_is_read_and_rebuilt_in_the_times_of_the_paper() {
    let mut idle = Session::new(&setup(&[("k", "7")])).unwrap();
    assert_close(latency(&mut idle, 5), oracle("page_read_us"));
    assert_close(rebuild(&[("k", "7")]), oracle("rebuild_7_1_us"));
    assert_close(rebuild(&[("k", "6"), ("m", "2")]), oracle("rebuild_6_2_us"));
    // The paper's own figures: 66.72, 100.90, 96.01, 4511.12.
    for (key, of) in [("mds71", "rebuild_7_1_us"), ("mds62", "rebuild_6_2_us"), ("block", "rebuild_block_63_1_us")] {
        let values: Value = serde_json::from_str(ORACLE).expect("valid JSON");
        assert_close(values["paper"][key].as_f64().expect("a number"), oracle(of));
    }
}

#[test]
fn a_page_rebuilt_through_its_block_takes_63_reads_and_sums_one_after_the_other() {
    let setup = setup(&[("k", "7"), ("block_parity", "yes")]);
    let fresh = Session::new(&setup).unwrap();
    for lpn in [0, 100, 333] {
        let mut session = fresh.clone();
        let die = die_of(&session, &setup, lpn);
        // Another die is dead: the codeword across dies has lost two pages.
        session.fail(Failure::Die(DieId((die.0 + 3) % 8)));
        let Place::At(slot) = session.inventory().places[lpn as usize] else { panic!("in flash") };
        session.fail(Failure::Page(Grid::new(setup.drive.geometry).page_of(slot).0));
        // That the page is lost, a read has to find out first.
        assert_close(latency(&mut session, lpn) - oracle("page_read_us"), oracle("rebuild_block_63_1_us"));
    }
}

#[test]
fn sums_take_no_time_unless_the_drive_says_so() {
    let mut setup = setup(&[("k", "7")]);
    setup.scheme.options.remove("sum_ns_per_page");
    let mut session = Session::new(&setup).unwrap();
    let die = die_of(&session, &setup, 9);
    session.fail(Failure::Die(die));
    assert_close(latency(&mut session, 9), oracle("page_read_us"));
}
