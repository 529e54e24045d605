//! Programs and erases that make room for reads before their cells begin, on each layout of planes: against times worked out by hand.

use crate::common::*;
use flashkeep_device::config::Scheduler;
use nand::{ProgramUnit, Timing};
use vocab::{BlockAddr, DieId, Nanos, PlaneUse};

const SUSPEND: u64 = 20_000;
const MOVED: u64 = COMMAND + TRANSFER;
const ONE_READ: u64 = COMMAND + READ + TRANSFER;

/// How a die's planes are used, and which pages one program stores.
struct Layout {
    name: &'static str,
    planes: (u32, PlaneUse),
    unit: Option<ProgramUnit>,
    independent: bool,
}

fn layouts() -> Vec<Layout> {
    let alone = (1, PlaneUse::Single);
    let two_planes = Some(ProgramUnit { bits: 1, ..UNIT });
    let of = |name, planes, unit, independent| Layout { name, planes, unit, independent };
    vec![
        of("one plane", alone, None, false),
        of("two planes, each on its own", (2, PlaneUse::Single), None, false),
        of("ganged planes", (2, PlaneUse::Ganged), None, false),
        of("two planes a program", alone, two_planes, false),
        of("two planes and two bits a program", alone, Some(UNIT), false),
        of("independent planes", alone, Some(UNIT), true),
    ]
}

impl Layout {
    fn pages(&self) -> u32 {
        self.unit.map_or(1, |unit| unit.pages())
    }

    /// A device that suspends, with a program's worth of pages in block 0.
    fn device(&self, cache_read: Option<Nanos>) -> Tiny {
        let change = |timing: &mut Timing| {
            if self.unit.is_some() {
                gathered(timing);
            }
            timing.unit = self.unit;
            timing.suspend = Some(Nanos(SUSPEND));
            timing.independent_planes = self.independent;
            timing.cache_read = cache_read;
        };
        let (planes, plane_use) = self.planes;
        let mut device =
            device_of(Scheduler::ReadFirst, 16, |geometry| (geometry.planes, geometry.plane_use) = (planes, plane_use), change);
        program_unit(&mut device, 0, self.pages(), 0);
        run(&mut device);
        device
    }
}

/// Programs the first pages of a block of die 0; the last of them is owned by `owner`, the others by no one who looks.
fn program_unit(device: &mut Tiny, block: u32, pages: u32, owner: u32) {
    for at in 0..pages {
        let ppn = page(device, 0, block, at);
        program(device, ppn, block * 16 + at, if at + 1 == pages { owner } else { u32::MAX });
    }
}

/// When, from now on, a command that takes `moved` and then `cells` ends, and a read of block 0 that comes so much later.
fn beside(device: &mut Tiny, later: u64) -> [u64; 2] {
    let start = device.now.0;
    let mut ended = run_until(device, start + later);
    device.now.0 = start + later;
    let ppn = page(device, 0, 0, 0);
    read(device, ppn, 2);
    ended.extend(run(device));
    [1, 2].map(|owner| ended.iter().find(|ended| ended.0 == owner).expect("it ends").1 - start)
}

/// Expected times from when the command is taken up: it is moved, and its cells work; a read comes so much later.
fn expected(moved: u64, cells: u64, later: u64) -> [u64; 2] {
    if later < moved {
        return [moved + ONE_READ + cells, moved + ONE_READ];
    }
    if moved + cells > later + 2 * SUSPEND {
        return [moved + cells + ONE_READ + 2 * SUSPEND, later + SUSPEND + ONE_READ];
    }
    [moved + cells, (moved + cells).max(later) + ONE_READ]
}

/// Over the instant at which the read comes. Catches a read that waits for the whole program because it came while data were moved, one
/// that pays for a suspension of cells that had not begun, cells that begin before their data are there, and work that is done
/// twice or not at all.
#[test]
fn a_read_never_waits_for_more_of_a_program_than_its_transfer() {
    for layout in layouts() {
        for cache_read in [None, Some(Nanos(300))] {
            for later in (0..=MOVED + PROGRAM + 300).step_by(100).filter(|later| later % 5_000 == 0 || *later < 2_000) {
                let mut device = layout.device(cache_read);
                program_unit(&mut device, 1, layout.pages(), 1);
                let name = format!("{}, cache read {cache_read:?}, {later} ns later", layout.name);
                assert_eq!(beside(&mut device, later), expected(MOVED, PROGRAM, later), "{name}");
                assert!(device.suspended(DieId(0)).is_none() && device.is_idle(), "{name}");
            }
        }
    }
}

/// As the test above, of an erase: all that is moved is its command.
#[test]
fn a_read_never_waits_for_more_of_an_erase_than_its_command() {
    for layout in layouts() {
        for cache_read in [None, Some(Nanos(300))] {
            for later in [0, COMMAND / 2, COMMAND - 1, COMMAND, COMMAND + 1, ERASE / 2, ERASE, COMMAND + ERASE + 1] {
                let mut device = layout.device(cache_read);
                let ppn = page(&device, 0, 1, 0);
                erase(&mut device, ppn, 1);
                let name = format!("{}, cache read {cache_read:?}, {later} ns later", layout.name);
                assert_eq!(beside(&mut device, later), expected(COMMAND, ERASE, later), "{name}");
            }
        }
    }
}

/// A die without the means to suspend has nowhere to keep the data of the program while it reads. Catches one that does.
#[test]
fn a_die_that_cannot_suspend_reads_when_the_program_has_ended() {
    let mut device = device(Scheduler::ReadFirst);
    program_unit(&mut device, 0, 1, 0);
    run(&mut device);
    program_unit(&mut device, 1, 1, 1);
    assert_eq!(beside(&mut device, 100), [MOVED + PROGRAM, MOVED + PROGRAM + ONE_READ]);
}

/// A program waits for the channel, on which the data of another die are moved. Catches a read that is served when the
/// other's data are in, although the channel is taken again from then on.
#[test]
fn a_program_that_waits_for_its_channel_gives_way_when_its_own_data_are_in() {
    let mut device = layouts()[0].device(None);
    let [other, own] = [(1, 0), (0, 1)].map(|(die, block)| page(&device, die, block, 0));
    program(&mut device, other, 8, 7);
    program(&mut device, own, 9, 1);
    assert_eq!(beside(&mut device, MOVED / 2), [2 * MOVED + ONE_READ + PROGRAM, 2 * MOVED + ONE_READ]);
}

/// Catches reads that keep cells from ever beginning, and a second pause for reads that come before the data are in.
#[test]
fn cells_begin_after_so_many_reads() {
    let mut device = layouts()[0].device(None);
    let start = device.now.0;
    program_unit(&mut device, 1, 1, 1);
    take_up(&mut device);
    device.now.0 += 10;
    let ppn = page(&device, 0, 0, 0);
    for number in 0..20 {
        read(&mut device, ppn, 100 + number);
    }
    let ended: Vec<(u32, u64)> = run(&mut device).into_iter().map(|(owner, at)| (owner, at - start)).collect();
    let first = (0..16).map(|number| (100 + number, MOVED + (1 + u64::from(number)) * ONE_READ));
    let begun = MOVED + 16 * ONE_READ;
    let rest = (16..20).map(|number| (100 + number, begun + PROGRAM + (u64::from(number) - 15) * ONE_READ));
    assert_eq!(ended, first.chain([(1, begun + PROGRAM)]).chain(rest).collect::<Vec<_>>());
}

/// A read that is withdrawn before the data are in leaves nothing behind. Catches a die that waits for it.
#[test]
fn cells_begin_at_once_if_the_read_was_withdrawn() {
    let mut device = layouts()[0].device(None);
    let start = device.now.0;
    program_unit(&mut device, 1, 1, 1);
    take_up(&mut device);
    device.now.0 += 10;
    let ppn = page(&device, 0, 0, 0);
    let id = read(&mut device, ppn, 2);
    assert!(device.withdraw(id));
    assert_eq!(run(&mut device), [(1, start + MOVED + PROGRAM)]);
}

/// An erase gives way at its first instant and is resumed, which takes longer than what it had done: more than a whole erase is
/// left. Catches cells that count as not begun then.
#[test]
fn cells_that_were_resumed_have_begun() {
    let mut device = layouts()[0].device(None);
    let (victim, kept) = (page(&device, 0, 1, 0), page(&device, 0, 0, 0));
    erase(&mut device, victim, 1);
    take_up(&mut device);
    assert_eq!(device.cells_begin_in(DieId(0)), Some(Nanos(COMMAND)));
    let begin = device.now.0 + COMMAND;
    let mut ends = begin + ERASE;
    for now in [begin + 1, begin + 1 + SUSPEND + ONE_READ + 1] {
        device.now.0 = now;
        assert_eq!(device.cells_begin_in(DieId(0)), Some(Nanos(0)), "{now}");
        read(&mut device, kept, 2);
        assert!(device.suspended(DieId(0)).is_some(), "{now}: it gives way at once");
        assert_eq!(run_until(&mut device, now + SUSPEND + ONE_READ), [(2, now + SUSPEND + ONE_READ)]);
        take_up(&mut device);
        ends += 2 * SUSPEND + ONE_READ;
    }
    assert_eq!(run(&mut device), [(1, ends)]);
    assert_eq!(nand::FlashArray::block(&device.array, BlockAddr(1)).pe, 1);
}
