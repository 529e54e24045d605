//! Scenarios that once broke a rule, as plain data: whatever is drawn, they stay what they are. Each says what was wrong. Those of
//! `ONCE_BROKEN` in `torture.rs` are known by a seed and a number alone.

use flashkeep_torture::{Fates, FaultKind, Happened, Round, Scenario, Scope, Stop, Strike, When, exhaustive, quiet_panics};
use ssd::nand::{Pairing, ProgramUnit};
use ssd::{Buffer, BufferKind, Failure, Outage, Pace, Power, Precondition, Setup};
use vocab::{Bytes, DieId, Fua, HostCommand, HostOp, Lba, SimTime, StreamId};

/// A drive under a scheme with these options, of one channel, whose pages carry tags.
fn drive(scheme: &str, options: &[(&str, &str)], dies: u32, blocks: u32, pages: u32, user_slots: u32, seed: u64) -> Setup {
    let scope = Scope::named(1, &[scheme.into()], &[], false).unwrap_or_else(|problem| panic!("{problem}"));
    let mut setup = exhaustive::cases(&scope, 1).swap_remove(0).setup;
    setup.scheme.options = options.iter().map(|&(key, value)| (key.into(), value.into())).collect();
    let geometry = &mut setup.drive.geometry;
    (geometry.dies_per_channel, geometry.blocks_per_plane, geometry.pages_per_block) = (dies / geometry.channels, blocks, pages);
    Setup { user_slots, seed, ..setup }
}

/// Filled to a share, and then overwritten this many times at most.
fn history(fill: f64, overwrite_at_most: f64) -> Precondition {
    Precondition { fill, converge_within: 1e-9, overwrite_at_most, ..Precondition::default() }
}

fn command(op: HostOp, sectors: std::ops::Range<u64>) -> HostCommand {
    let (lba, count) = (Lba(sectors.start), (sectors.end - sectors.start) as u32);
    HostCommand { at: SimTime(0), op, lba, sectors: count, stream: StreamId::default() }
}

/// A write of pages of 8 sectors.
fn write(pages: std::ops::RangeInclusive<u64>) -> HostCommand {
    command(HostOp::Write(Fua::No), 8 * pages.start()..8 * (pages.end() + 1))
}

/// The power goes, and what was begun ends.
fn cut(after: u64) -> Stop {
    Stop { after, strike: Strike::Cut(Fates::Given(Vec::new()), Outage::default()) }
}

/// A draw that means plane 1: die (this + n) modulo the number of dies.
const PLANE_1: u64 = 1 << 32;

fn assert_unbroken(scenario: &Scenario) -> Vec<Vec<Happened>> {
    quiet_panics();
    let outcome = scenario.run();
    assert_eq!(outcome.broken(), None, "{}", scenario.to_text(&outcome));
    assert_eq!(outcome.happened.len(), scenario.rounds.len(), "the drive can be built");
    outcome.happened
}

/// A plane was lost, so that lost strips had no room on their die for now: partial parities kept old versions there, and
/// GC waited for them without asking for their commits. The strips went to another die, beside strips of the same stripes.
/// Each of two strips on one die could still be brought back, one by a partial parity and one by the stored parity, so the drive
/// was taken for whole; then the host flushed, both parities became one, and a plane of that die was lost.
#[test]
fn lost_strips_wait_for_commits_that_make_room_for_them() {
    let mut setup = drive("ppc", &[("on_flush", "commit")], 6, 8, 6, 26, 8_888_049_045_593_643_299);
    (setup.drive.geometry.channels, setup.drive.geometry.dies_per_channel) = (1, 6);
    setup.buffer = Buffer { kind: BufferKind::Volatile, size: Bytes(8 * 4096), ..Buffer::default() };
    setup.precondition = history(0.889_756_516_330_201_6, 0.640_809_767_182_416_4);
    let plane = |draw: u64, when| Stop { after: 0, strike: Strike::Loss { kind: FaultKind::Plane, draw, when } };
    let stops = vec![plane(PLANE_1 + 5, When::Recovered), cut(0), plane(0, When::Whole)];
    let rounds = vec![Round { commands: Vec::new(), stops }];
    let scenario =
        Scenario { setup, pace: Pace::Closed { depth: 4 }, lived: None, second: None, rounds, may_lose: false, apart: true };
    let happened = assert_unbroken(&scenario);
    assert_eq!(happened[0][0], Happened::Loss(Some(Failure::Plane { die: DieId(3), plane: 1 })));
    // There is no room permanently on what is left of that die, so that strips share another one: nothing more may be lost.
    assert_eq!(happened[0][2], Happened::Loss(None));
}

/// Host and collector shared a write pointer, and the drive had no free superblock but the one that recovery needs. The first mount
/// moved a page there that may not last, and one that only its row brought back; the second cut found the first in two places and
/// the second in the new one only, so that each of two superblocks held a page that was needed and none could be erased. The row
/// still gave the second page. Pages stayed without parity, and nothing could be written any more.
#[test]
fn a_page_that_its_row_brings_back_counts_there_where_nothing_can_be_erased() {
    let mut setup = drive("ds-raid", &[], 6, 11, 4, 61, 493_440_218_535_897_628);
    setup.drive.timing.unit = Some(ProgramUnit { planes: 2, plane_pages: 1, bits: 2 });
    (setup.gc.policy, setup.gc.separate_write_pointer) = ("random".into(), false);
    setup.power = Power { mountable: true, pairing: Pairing::Alone, checkpoint: true, ..Power::default() };
    setup.precondition = history(0.936_162_186_328_795_2, 0.830_605_319_323_527_2);
    setup.age.bad_blocks = 0.04;
    let forced = |sectors| command(HostOp::Write(Fua::Yes), sectors);
    let commands = vec![
        write(44..=44),
        write(1..=2),
        write(4..=5),
        write(3..=3),
        write(4..=4),
        write(60..=60),
        write(28..=29),
        write(4..=5),
        command(HostOp::Read, 56..64),
        forced(13..14),
        write(2..=2),
        command(HostOp::Read, 40..48),
        forced(16..24),
    ];
    let rounds = vec![Round { commands, stops: vec![cut(66), cut(16)] }];
    let scenario =
        Scenario { setup, pace: Pace::Closed { depth: 8 }, lived: None, second: None, rounds, may_lose: false, apart: true };
    let happened = assert_unbroken(&scenario);
    assert!(happened[0].iter().all(|happened| matches!(happened, Happened::Cut(begun, _) if !begun.is_empty())), "{happened:?}");
}

/// All blocks of a die were lost before anything was written there, so no one noticed, and the drive was whole; then a page was lost
/// whose stripe has its other strip on that die. The program of that strip failed on the die. Its stripe could stand in for it, as far
/// as the controller knew, so that it dropped the contents to solve for them: of two strips only the parity was left.
#[test]
fn a_strip_whose_die_takes_nothing_goes_to_another_die_while_the_controller_has_it() {
    let mut setup = drive("raid5", &[("data_strips", "2")], 3, 6, 4, 2, 3_889_437_247_492_134_712);
    (setup.drive.geometry.channels, setup.drive.geometry.dies_per_channel) = (1, 3);
    setup.precondition = history(0.0, 0.0);
    let plane = |draw: u64| Stop { after: 0, strike: Strike::Loss { kind: FaultKind::Plane, draw, when: When::Whole } };
    let stops = vec![plane(PLANE_1 + 2), plane(0), plane(PLANE_1)];
    let rounds = vec![
        Round { commands: vec![write(1..=1)], stops: vec![] },
        Round { commands: Vec::new(), stops },
        Round { commands: vec![write(0..=0)], stops: vec![] },
    ];
    let scenario =
        Scenario { setup, pace: Pace::Closed { depth: 4 }, lived: None, second: None, rounds, may_lose: false, apart: true };
    let happened = assert_unbroken(&scenario);
    let planes = [(0, 1), (0, 0), (1, 1)].map(|(die, plane)| Happened::Loss(Some(Failure::Plane { die: DieId(die), plane })));
    assert_eq!(happened[1], planes);
}
