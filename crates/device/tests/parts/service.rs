//! Dies, queues and channels of a tiny device, against times worked out by hand.

use crate::common::*;
use flashkeep_device::Taken;
use flashkeep_device::command::{Command, Verb};
use flashkeep_device::config::Scheduler;
use flashkeep_device::service::Haste;
use vocab::{BlockAddr, Cause, DieId, Nanos, SimTime};

#[test]
fn dies_of_a_channel_share_it_for_transfers_and_work_side_by_side() {
    let mut device = device(Scheduler::Fifo);
    let (a, b) = (page(&device, 0, 0, 0), page(&device, 1, 0, 0));
    program(&mut device, a, 1, 1);
    program(&mut device, b, 2, 2);
    let sent = COMMAND + TRANSFER;
    assert_eq!(run(&mut device), [(1, sent + PROGRAM), (2, 2 * sent + PROGRAM)]);
    let start = device.now.0;
    read(&mut device, a, 3);
    read(&mut device, b, 4);
    // Both are sensed at once, a command apart; their pages follow each other on the channel.
    let first = start + COMMAND + READ + TRANSFER;
    assert_eq!(run(&mut device), [(3, first), (4, first + TRANSFER)]);
    assert_eq!(device.folds.busy, Nanos(2 * sent + 2 * PROGRAM + sent + COMMAND + READ + TRANSFER + first - start + TRANSFER));
}

#[test]
fn reads_go_first_if_asked_but_never_before_their_own_program_nor_behind_an_erase() {
    for (scheduler, order) in [(Scheduler::Fifo, [1, 2, 3, 4, 5]), (Scheduler::ReadFirst, [1, 4, 2, 3, 5])] {
        let mut device = device(scheduler);
        let [old, other, fresh] = [(0, 0), (1, 0), (2, 0)].map(|(block, p)| page(&device, 0, block, p));
        program(&mut device, old, 7, 0);
        run(&mut device);
        program(&mut device, other, 8, 1);
        while let Some(die) = device.next_kick() {
            assert!(matches!(device.start_next(die), Taken::Program(_)), "the die takes up the program");
        }
        program(&mut device, fresh, 9, 2);
        let full = page(&device, 0, 3, 0);
        erase(&mut device, full, 3);
        read(&mut device, old, 4);
        // Not in flash yet: it waits its turn behind the program.
        read(&mut device, fresh, 5);
        let owners: Vec<u32> = run(&mut device).into_iter().map(|(owner, _)| owner).collect();
        assert_eq!(owners, order, "{scheduler:?}");
    }
}

#[test]
fn a_read_that_must_stay_in_order_does_and_one_that_presses_does_not() {
    for (haste, order) in [(Haste::InOrder, [1, 2]), (Haste::Usual, [1, 2]), (Haste::Pressing, [2, 1])] {
        let mut device = device(Scheduler::Fifo);
        let old = page(&device, 0, 0, 0);
        program(&mut device, old, 7, 0);
        run(&mut device);
        let victim = page(&device, 0, 1, 0);
        erase(&mut device, victim, 1);
        assert!(device.is_erasing(DieId(0)) && !device.is_erasing(DieId(1)));
        device.submit(Command { owner: 2, ppn: old, ..Command::default() }, haste);
        let owners: Vec<u32> = run(&mut device).into_iter().map(|(owner, _)| owner).collect();
        assert_eq!(owners, order, "{haste:?}");
        assert!(!device.is_erasing(DieId(0)), "the erase has ended");
    }
}

#[test]
fn a_withdrawn_command_leaves_its_queue_and_one_in_service_stays() {
    let mut device = device(Scheduler::Fifo);
    let old = page(&device, 0, 0, 0);
    program(&mut device, old, 7, 0);
    run(&mut device);
    let (served, waits) = (read(&mut device, old, 1), read(&mut device, old, 2));
    read(&mut device, old, 3);
    let die = device.next_kick().expect("something was queued");
    device.start_next(die);
    assert_eq!(device.backlog(die), 3);
    assert!(!device.withdraw(served), "a die serves it");
    assert!(device.withdraw(waits));
    assert_eq!((device.backlog(die), device.has_withdrawn()), (2, true));
    let owners: Vec<u32> = run(&mut device).into_iter().map(|(owner, _)| owner).collect();
    assert_eq!((owners, device.has_withdrawn(), device.commands.in_use()), (vec![1, 3], false, 0));
}

#[test]
fn without_time_commands_complete_in_the_order_they_are_given() {
    let mut device = device(Scheduler::ReadFirst);
    device.timed = false;
    let (a, b) = (page(&device, 1, 0, 0), page(&device, 0, 0, 0));
    program(&mut device, a, 1, 1);
    program(&mut device, b, 2, 2);
    let mut owners = Vec::new();
    while let Some((id, taken)) = device.next_ready() {
        let command = device.commands[id];
        assert_eq!(taken, Taken::Program(command.image));
        assert!(device.program(&command).is_done());
        owners.push(command.owner);
        device.commands.give(id);
    }
    assert_eq!((owners, device.now), (vec![1, 2], SimTime::ZERO));
    assert_eq!(device.folds.busy, Nanos(2 * (COMMAND + TRANSFER + PROGRAM)));
    let ranks = [a, b].map(|ppn| nand::FlashArray::page(&device.array, ppn).oob.sequence);
    assert_eq!(ranks, [1, 2], "programs get their ranks in that order");
}

#[test]
fn a_dead_die_answers_at_once_with_nothing() {
    let mut device = device(Scheduler::Fifo);
    device.losses.die_died(DieId(1));
    let gone = page(&device, 1, 0, 0);
    read(&mut device, gone, 1);
    let die = device.next_kick().expect("something was queued");
    device.start_next(die);
    assert_eq!(device.calendar.at(1), Some(SimTime(COMMAND)));
    assert_eq!(device.block_of(gone), BlockAddr(4));
}

/// A die with a page in blocks 0 and 1, whose GC occupies it or not.
fn occupied(occupies: bool, scheduler: Scheduler) -> Tiny {
    let mut device = device(scheduler);
    device.gc_occupies = occupies;
    for block in [0, 1] {
        let ppn = page(&device, 0, block, 0);
        program(&mut device, ppn, block, 0);
    }
    run(&mut device);
    device
}

fn collects(device: &mut Tiny, verb: Verb, block: u32, owner: u32) {
    let ppn = page(device, 0, block, 0);
    device.submit(Command { owner, ppn, verb, cause: Cause::Gc, ..Command::default() }, Haste::Usual);
}

fn owners(device: &mut Tiny) -> Vec<u32> {
    run(device).into_iter().map(|(owner, _)| owner).collect()
}

/// Catches a GC run that lets host reads in between its commands, and one that overtakes what was asked for before it began.
#[test]
fn a_gc_that_occupies_its_die_begins_in_turn_and_lets_nothing_in_between() {
    for (occupies, order) in [(false, [1, 10, 2, 11, 3, 12]), (true, [1, 10, 11, 12, 2, 3])] {
        let mut device = occupied(occupies, Scheduler::Fifo);
        let host = page(&device, 0, 0, 0);
        read(&mut device, host, 1);
        collects(&mut device, Verb::Read, 1, 10);
        read(&mut device, host, 2);
        collects(&mut device, Verb::Read, 1, 11);
        read(&mut device, host, 3);
        collects(&mut device, Verb::Erase, 1, 12);
        assert_eq!(owners(&mut device), order, "occupies: {occupies}");
        assert!(!device.dies()[0].occupied, "it ends with its last command");
        read(&mut device, host, 4);
        assert_eq!(owners(&mut device), [4]);
    }
}

/// Other dies go on. Catches a flag of the drive instead of one of the die.
#[test]
fn a_gc_occupies_no_other_die() {
    let mut device = occupied(true, Scheduler::Fifo);
    let other = page(&device, 1, 0, 0);
    program(&mut device, other, 9, 0);
    run(&mut device);
    (10..14).for_each(|owner| collects(&mut device, Verb::Read, 1, owner));
    read(&mut device, other, 1);
    let order = owners(&mut device);
    assert!(order.iter().position(|&owner| owner == 1) <= Some(1), "{order:?}");
}

/// The read is of the very block: without it the array would panic on a read of an erased page.
#[test]
fn an_erase_of_a_gc_that_occupies_its_die_waits_for_reads_of_its_block() {
    let mut device = occupied(true, Scheduler::Fifo);
    let (victim, kept) = (page(&device, 0, 1, 0), page(&device, 0, 0, 0));
    collects(&mut device, Verb::Read, 1, 10);
    read(&mut device, kept, 1);
    read(&mut device, victim, 2);
    read(&mut device, kept, 3);
    collects(&mut device, Verb::Erase, 1, 11);
    assert_eq!(owners(&mut device), [10, 1, 2, 11, 3]);
}

/// Host and GC may write to the same block, whose pages are programmed in order: the array would panic otherwise.
#[test]
fn programs_of_a_block_keep_their_order_where_gc_occupies_the_die() {
    let mut device = occupied(true, Scheduler::Fifo);
    let [first, second] = [1, 2].map(|number| page(&device, 0, 0, number));
    let kept = page(&device, 0, 1, 0);
    collects(&mut device, Verb::Read, 1, 10);
    read(&mut device, kept, 1);
    program(&mut device, first, 5, 2);
    read(&mut device, kept, 3);
    program_for(&mut device, second, 6, 11, Cause::Gc);
    assert_eq!(owners(&mut device), [10, 1, 2, 11, 3]);
}
