//! Limits on read disturb and retention: what the engine promises is recounted here from the
//! blocks themselves, before every event.

use crate::common::{again, drive, run, seeds, setup_of};
use flashkeep_ssd as ssd;
use ssd::ftl::Place;
use ssd::protect::SchemeChoice;
use ssd::{Age, BlockView, Pace, PayloadKind, Precondition, RunResult, Scheduler, Session, Setup};
use vocab::{Fua, HostCommand, HostOp, Lba, Nanos, PeCycles, SimTime, StreamId, Streams};

pub const T_READ: u32 = 400;
pub const SECOND: u64 = 1_000_000_000;

/// A drive of 5 dies with 24 blocks of 16 pages, written once over.
pub fn limited(scheme: &str, options: &[(&str, &str)]) -> Setup {
    let mut choice = SchemeChoice::named(scheme);
    choice.options.extend(options.iter().map(|&(key, value)| (key.into(), value.into())));
    let base = setup_of(&choice, drive(5, 24, 16, 1), 0.85);
    Setup { precondition: Precondition { fill: 1.0, converge_within: 0.0, ..Precondition::default() }, ..base }
}

/// Reads of a few hot pages, with one write in twenty to anywhere, every `every` ns.
pub fn hot_reads(seed: u64, user_slots: u32, count: u64, every: u64) -> Vec<HostCommand> {
    let mut draws = Streams::new(seed).stream("test/disturb");
    let command = |i| {
        let write = draws.chance(0.05);
        let page = if write || draws.chance(0.1) { draws.below(u64::from(user_slots)) } else { draws.below(12) };
        let op = if write { HostOp::Write(Fua::No) } else { HostOp::Read };
        HostCommand { at: SimTime(i * every), op, lba: Lba(page * 8), sectors: 8, stream: StreamId::default() }
    };
    (0..count).map(command).collect()
}

/// The most reads between two erases, and the largest age of a block that holds current pages.
#[derive(Clone, Copy, Debug, Default)]
pub struct Worst {
    pub reads: u32,
    pub age: Nanos,
}

impl Worst {
    fn see(&mut self, view: BlockView) {
        self.reads = self.reads.max(view.info.reads);
        if view.valid > 0 {
            self.age = self.age.max(view.now.since(view.info.first_program));
        }
    }
}

/// Replays, recounts, and holds the drive against its oracle, its counts and its parity.
pub fn watch(name: &str, setup: &Setup, commands: &[HostCommand], pace: Pace) -> (Worst, RunResult, Session) {
    let mut session = Session::new(setup).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut worst = Worst::default();
    let result = session.run_watched(&mut commands.iter().copied(), pace, &mut |view| worst.see(view));
    assert_eq!(result.host.requests.values().sum::<u64>(), commands.len() as u64, "{name}");
    assert_eq!((result.oracle.mismatches, result.host.media_errors, result.host.write_errors), (0, 0, 0), "{name}");
    assert_eq!(result.oracle.checked_reads, result.host.read_pages, "{name}: every read is checked");
    session.check_counts();
    let mut after = session.clone();
    after.drain();
    after.audit().unwrap_or_else(|what| panic!("{name}: {what}"));
    let back = after.read_back();
    assert_eq!((back.lost.len(), back.wrong), (0, None), "{name}");
    (worst, result, session)
}

#[test]
fn no_block_is_read_more_than_t_read_times_between_two_erases() {
    for seed in seeds(2) {
        for stage in ["1", "2"] {
            for scheduler in [Scheduler::Fifo, Scheduler::ReadFirst] {
                for pace in [Pace::Closed { depth: 1 }, Pace::Closed { depth: 8 }, Pace::Open] {
                    let name = format!("stage {stage} {scheduler:?} {pace:?}; {}", again("no_block_is_read", seed));
                    let base = limited("da-raid5", &[("stage", stage), ("t_read", "400")]);
                    let setup = Setup { seed, scheduler, ..base };
                    let commands = hot_reads(seed, setup.user_slots, 12_000, 120_000);
                    let (worst, result, session) = watch(&name, &setup, &commands, pace);
                    assert!(worst.reads <= T_READ, "{name}: {} reads", worst.reads);
                    assert!(worst.reads > T_READ * 8 / 10, "{name}: recycled after {} reads, far too soon", worst.reads);
                    let recycled = session.recycled();
                    assert!(recycled.reads_idle + recycled.reads_at_once > 10, "{name}: {recycled:?}");
                    let moved = [&result.flash.reads, &result.flash.programs, &result.flash.erases];
                    assert!(moved.iter().all(|by_cause| by_cause["refresh"] > 0), "{name}");
                }
            }
        }
    }
}

#[test]
fn without_limits_the_same_workload_passes_t_read() {
    for (scheme, options) in [("da-raid5", &[("stage", "3"), ("t_read", "400")][..]), ("raid5", &[])] {
        let setup = limited(scheme, options);
        let commands = hot_reads(1, setup.user_slots, 12_000, 120_000);
        let (worst, result, session) = watch(scheme, &setup, &commands, Pace::Closed { depth: 8 });
        assert!(worst.reads > T_READ, "{scheme}: {} reads", worst.reads);
        assert_eq!((result.flash.erases["refresh"], session.recycled()), (0, ssd::Recycled::default()), "{scheme}");
    }
}

#[test]
fn an_idle_drive_recycles_old_data_in_the_first_half_of_the_margin() {
    let t = 20 * SECOND;
    let setup = limited("da-raid5", &[("stage", "1"), ("t_retention", "20s"), ("margin", "20")]);
    // One request in 100 ms: dies are idle nearly all the time.
    let commands = hot_reads(3, setup.user_slots, 800, SECOND / 10);
    let (worst, result, session) = watch("idle", &setup, &commands, Pace::Open);
    let recycled = session.recycled();
    assert!(recycled.retention_idle > 3 * 60, "{recycled:?}: all that is cold moves three times in 80 s");
    assert_eq!((recycled.retention_at_once, recycled.reads_idle, recycled.reads_at_once), (0, 0, 0));
    assert!(worst.age.0 >= t * 8 / 10 && worst.age.0 < t * 9 / 10, "{:?} is not in the first half of the margin", worst.age);
    assert!(result.flash.programs["refresh"] > 0 && result.flash.erases["refresh"] > 0);
    assert!(result.replay.simulated_s < 81.0, "after the last answer the drive works no longer than this");
}

/// Reads of the pages that lie on die 0, in turn: with a queue that die is never idle.
fn reads_of_one_die(setup: &Setup, count: usize) -> Vec<HostCommand> {
    let places = Session::new(setup).expect("valid").inventory().places;
    let slots_per_die = 24 * 16;
    let on_it = |place: &Place| matches!(place, Place::At(slot) if slot.0 < slots_per_die);
    let pages: Vec<u64> = (0..).zip(&places).filter(|(_, place)| on_it(place)).map(|(lpn, _)| lpn).collect();
    let command =
        |&lpn: &u64| HostCommand { at: SimTime(0), op: HostOp::Read, lba: Lba(lpn * 8), sectors: 8, stream: StreamId::default() };
    pages.iter().cycle().take(count).map(command).collect()
}

#[test]
fn a_busy_die_recycles_old_data_before_the_limit_all_the_same() {
    for scheduler in [Scheduler::Fifo, Scheduler::ReadFirst] {
        let options = [("stage", "1"), ("t_retention", "2s"), ("margin", "50")];
        let setup = Setup { scheduler, ..limited("da-raid5", &options) };
        let commands = reads_of_one_die(&setup, 110_000);
        let (worst, result, session) = watch("busy", &setup, &commands, Pace::Closed { depth: 16 });
        assert!(result.replay.simulated_s > 6.0, "{} s are not several times T_retention", result.replay.simulated_s);
        let recycled = session.recycled();
        assert!(recycled.retention_at_once > 40, "{scheduler:?}: {recycled:?}");
        assert!(worst.age <= Nanos(2 * SECOND), "{scheduler:?}: data {:?} old", worst.age);
    }
}

#[test]
fn without_limits_the_same_data_grow_old() {
    for (scheme, options) in [("da-raid5", &[("stage", "3"), ("t_retention", "20s")][..]), ("raid5", &[])] {
        let setup = limited(scheme, options);
        let commands = hot_reads(3, setup.user_slots, 800, SECOND / 10);
        let (worst, ..) = watch(scheme, &setup, &commands, Pace::Open);
        assert!(worst.age > Nanos(20 * SECOND), "{scheme}: {:?}", worst.age);
    }
}

#[test]
fn an_aged_drive_recycles_at_once_what_is_past_its_limits() {
    for (reads, retention) in [(T_READ, Nanos(0)), (0, Nanos(30 * SECOND))] {
        let options = [("stage", "1"), ("t_read", "400"), ("t_retention", "30s")];
        let setup = Setup { age: Age { reads, retention, ..Age::default() }, ..limited("da-raid5", &options) };
        let commands = hot_reads(5, setup.user_slots, 6_000, 400_000);
        let (_, result, session) = watch("aged", &setup, &commands, Pace::Open);
        let recycled = session.recycled();
        let at_once = if reads > 0 { recycled.reads_at_once } else { recycled.retention_at_once };
        assert!(at_once > 60, "{recycled:?}");
        let aged = setup.user_slots.div_ceil(16).into();
        assert!(result.flash.erases["refresh"] + result.flash.erases["gc"] >= aged, "{aged} blocks held data");
        // A recycled block starts again.
        let mut again = session.clone();
        let mut worst = Worst::default();
        let more = hot_reads(6, setup.user_slots, 200, 400_000);
        again.run_watched(&mut more.iter().copied(), Pace::Open, &mut |view| worst.see(view));
        assert!(worst.reads <= T_READ && worst.age < Nanos(30 * SECOND), "{worst:?}");
    }
}

#[test]
fn worn_blocks_are_exempt_where_their_stripes_have_parity() {
    // Half the blocks over T_p: stripes on them have parity, which moves must keep right.
    let age = Age { worn_blocks: 0.5, worn_pe_cycles: PeCycles(4000), ..Age::default() };
    for stage in ["1", "2"] {
        let options = [("stage", stage), ("t_read", "400"), ("t_retention", "20s")];
        let setup = Setup { age, payload: PayloadKind::Page, ..limited("da-raid5", &options) };
        let commands = hot_reads(7, setup.user_slots, 20_000, 5_000_000);
        let mut session = Session::new(&setup).expect("valid");
        let (mut fresh, mut worn) = (Worst::default(), Worst::default());
        let mut see = |view: BlockView| if view.info.pe > 3000 { worn.see(view) } else { fresh.see(view) };
        let result = session.run_watched(&mut commands.iter().copied(), Pace::Open, &mut see);
        assert_eq!((result.oracle.mismatches, result.host.media_errors), (0, 0));
        assert!(fresh.reads <= T_READ && fresh.age <= Nanos(20 * SECOND), "stage {stage}: {fresh:?}");
        assert_eq!(worn.age > Nanos(20 * SECOND), stage == "2", "stage {stage}: {worn:?}");
        session.check_counts();
        session.drain();
        session.audit().unwrap_or_else(|what| panic!("stage {stage}: {what}"));
        assert_eq!(session.read_back().lost, []);
    }
}

/// Reads that 512 bytes behind 8-bit BCH bear with a yield of 99.9 % where new blocks of 15,000 cycles bear 46,000: FLARES,
/// Eq. 4 and Table III, and the power law of read disturb (theory.md, section 2). The rate is that of the oracle table.
fn borne(pe: f64) -> f64 {
    let rate = 5.842_965_779_27e-4;
    let written = |pe: f64| 1.059e-5 * (8.634e-6 * pe).exp() - 1.009e-5;
    let slope = (rate - written(15_000.0)) / 46_000.0 * (pe / 15_000.0).powf(1.468);
    (rate - written(pe)) / slope
}

/// Catches one limit for all blocks, the limit of another block's wear, and blocks recycled long before theirs.
#[test]
fn limits_follow_the_wear_of_each_block() {
    let (young, old) = (120_000, 200_000);
    let age = Age { pe_cycles: PeCycles(young), worn_blocks: 0.5, worn_pe_cycles: PeCycles(old), ..Age::default() };
    let base = limited("da-raid5", &[("stage", "1")]);
    let setup = Setup { age, drive: ssd::Drive { endurance: PeCycles(250_000), ..base.drive }, ..base };
    let commands = hot_reads(11, setup.user_slots, 60_000, 120_000);
    let mut session = Session::new(&setup).expect("valid");
    let mut worst: [f64; 2] = [0.0; 2];
    let mut see = |view: BlockView| {
        let share = f64::from(view.info.reads) / borne(f64::from(view.info.pe));
        let class = &mut worst[usize::from(view.info.pe > (young + old) / 2)];
        *class = class.max(share);
    };
    let result = session.run_watched(&mut commands.iter().copied(), Pace::Closed { depth: 4 }, &mut see);
    assert_eq!((result.oracle.mismatches, result.host.media_errors), (0, 0));
    for share in worst {
        // The margin of a tenth, and the step between classes of wear (a 64th of the endurance).
        assert!((0.8..=1.0).contains(&share), "{worst:?} of what blocks bear");
    }
}

#[test]
fn limits_end_with_the_stage_that_has_them() {
    // All blocks are worn and more than L = 0 stripes have parity: stage 3 begins at once.
    let age = Age { pe_cycles: PeCycles(4000), reads: 10_000, ..Age::default() };
    let setup = Setup { age, ..limited("da-raid5", &[("t_read", "400"), ("l", "0")]) };
    let mut session = Session::new(&setup).expect("valid");
    let result = run(&mut session, &hot_reads(8, setup.user_slots, 2_000, 100_000), Pace::Open);
    assert_eq!((result.flash.erases["refresh"], session.recycled()), (0, ssd::Recycled::default()));
}

#[test]
fn recycling_is_part_of_what_equal_runs_repeat() {
    let setup = limited("da-raid5", &[("stage", "2"), ("t_read", "64"), ("t_retention", "1s"), ("margin", "30")]);
    let commands = hot_reads(9, setup.user_slots, 5_000, 300_000);
    let digest = || run(&mut Session::new(&setup).expect("valid"), &commands, Pace::Open).replay.event_digest;
    assert_eq!(digest(), digest());
    let mut session = Session::new(&setup).expect("valid");
    session.run(&mut commands.iter().copied(), Pace::Open, &mut |_| {});
    assert!(session.recycled().reads_idle + session.recycled().reads_at_once > 0);
}
