//! Pages that are programmed together, and programs and erases that give way to reads: against times worked out by hand.

use crate::common::*;
use flashkeep_device::config::Scheduler;
use vocab::{DieId, Nanos, Ppn};

const SUSPEND: u64 = 20_000;

fn pages(device: &Tiny, range: std::ops::Range<u32>) -> Vec<Ppn> {
    range.map(|at| page(device, 0, 0, at)).collect()
}

/// Catches a die that works for each page, a unit that is not moved as a whole, and pages that are answered only when the unit is
/// in the cells.
#[test]
fn the_die_works_when_the_last_page_of_its_unit_is_there() {
    let mut device = device_with(Scheduler::Fifo, 16, gathered);
    for (number, ppn) in pages(&device, 0..11).into_iter().enumerate() {
        program(&mut device, ppn, number as u32, number as u32);
    }
    // A page costs the channel TRANSFER here, however much of it is moved: so does a unit.
    let whole = COMMAND + TRANSFER + PROGRAM;
    let mut expected: Vec<(u32, u64)> = (0..7).map(|number| (number, 0)).collect();
    expected.push((7, whole));
    expected.extend((8..11).map(|number| (number, whole)));
    assert_eq!(run(&mut device), expected);
    assert!((0..8).all(|at| !device.is_gathered(Ppn(at))), "the first unit is in the cells");
    assert!((8..11).all(|at| device.is_gathered(Ppn(at))), "the second is not whole");
    assert_eq!(device.folds.busy, Nanos(whole));
}

/// Catches pages of a word line that are sensed with another bit's time, registers that are forgotten or never emptied, and a
/// second page of the same plane that is sensed again.
#[test]
fn what_is_in_a_register_is_not_sensed_again() {
    let mut device = device_with(Scheduler::Fifo, 16, gathered);
    for (number, ppn) in pages(&device, 0..8).into_iter().enumerate() {
        program(&mut device, ppn, number as u32, 0);
    }
    run(&mut device);
    let mut took = |at: u32| {
        let (before, ppn) = (device.now.0, page(&device, 0, 0, at));
        read(&mut device, ppn, 1);
        run(&mut device)[0].1 - before - COMMAND - TRANSFER
    };
    // Pages 0 to 3 are of the first bit of both planes, 4 to 7 of the second.
    assert_eq!([0, 1, 2, 3].map(&mut took), [READ, 0, 0, 0]);
    assert_eq!([7, 4, 0, 5].map(&mut took), [MSB_READ, 0, READ, MSB_READ]);
    // Pages 2 and 4 are of a plane that no one had asked for, so that its cells were at work, too; pages 1 and 3 are not.
    assert_eq!(device.folds.in_register, 2);
}

/// Catches a read that goes to cells that do not have its page yet.
#[test]
fn a_gathered_page_is_read_without_its_die() {
    let mut device = device_with(Scheduler::Fifo, 16, gathered);
    for (number, ppn) in pages(&device, 0..3).into_iter().enumerate() {
        program(&mut device, ppn, number as u32, 0);
    }
    run(&mut device);
    let ppn = page(&device, 0, 0, 1);
    read(&mut device, ppn, 9);
    let carried = device.folds.carried;
    assert_eq!(run(&mut device), [(9, 0)], "the controller has it: no cell is sensed, and nothing passes the channel");
    assert_eq!(device.folds.carried, carried);
}

/// Catches an erase that does not give way, one that loses what it has done, and one that never ends.
#[test]
fn an_erase_gives_way_to_a_read_and_ends_what_it_began() {
    let mut device = device_with(Scheduler::ReadFirst, 4, |timing| timing.suspend = Some(Nanos(SUSPEND)));
    let (old, victim) = (page(&device, 0, 0, 0), page(&device, 0, 1, 0));
    program(&mut device, old, 7, 0);
    run(&mut device);
    let start = device.now.0;
    erase(&mut device, victim, 1);
    take_up(&mut device);
    let waits = 500_000;
    device.now = vocab::SimTime(start + waits);
    read(&mut device, old, 2);
    assert_eq!(device.suspended(DieId(0)).map(|id| device.commands[id].owner), Some(1));
    let read_takes = SUSPEND + COMMAND + READ + TRANSFER;
    let all = COMMAND + ERASE + read_takes + SUSPEND;
    assert_eq!(run(&mut device), [(2, start + waits + read_takes), (1, start + all)]);
    assert!(device.suspended(DieId(0)).is_none());
}

/// Catches reads that keep a program from ever ending, and one that is suspended although it ends before a read could begin.
#[test]
fn a_command_gives_way_so_often_and_not_at_its_end() {
    let mut device = device_with(Scheduler::ReadFirst, 4, |timing| timing.suspend = Some(Nanos(SUSPEND)));
    let (old, victim) = (page(&device, 0, 0, 0), page(&device, 0, 1, 0));
    program(&mut device, old, 7, 0);
    run(&mut device);
    erase(&mut device, victim, 1);
    take_up(&mut device);
    let mut gave_way = 0;
    let mut ended = false;
    while !ended {
        device.now.0 += 30_000;
        read(&mut device, old, 2);
        gave_way += u32::from(device.suspended(DieId(0)).is_some());
        // The read ends, and the erase is resumed or ends.
        loop {
            take_up(&mut device);
            let (now, _) = device.calendar.next().expect("the erase has not ended");
            device.now = now;
            let id = device.die_event(DieId(0)).map(|id| (id, device.commands[id].owner));
            let Some((id, owner)) = id else { continue };
            if owner == 1 {
                device.erase(vocab::BlockAddr(1), vocab::Cause::Gc);
                ended = true;
            }
            device.commands.give(id);
            device.kick(DieId(0));
            take_up(&mut device);
            break;
        }
    }
    assert_eq!(gave_way, 16, "then it has its way");
}
