//! A tiny device, and commands for it.
#![allow(dead_code, missing_docs)]

use flashkeep_device::Device;
use flashkeep_device::command::{Command, Verb};
use flashkeep_device::config::Scheduler;
use flashkeep_device::contents::{HostPayload, Tag};
use flashkeep_device::image::Contents;
use flashkeep_device::sense::Compares;
use flashkeep_device::service::Haste;
use flashkeep_device::slab::CommandId;
use nand::{MemoryArray, Oob, OobTag, PageKind, ProgramUnit, Timing, Transfer};
use vocab::{Bytes, Cause, DieId, Geometry, Lpn, Nanos, PlaneUse, Ppn};

pub const COMMAND: u64 = 100;
pub const TRANSFER: u64 = 1_000;
pub const READ: u64 = 50_000;
pub const PROGRAM: u64 = 600_000;
pub const ERASE: u64 = 3_000_000;

/// Two planes of two logical pages and two bits a cell: eight pages a program.
pub const UNIT: ProgramUnit = ProgramUnit { planes: 2, plane_pages: 2, bits: 2 };
pub const MSB_READ: u64 = 80_000;

/// Pages are programmed as [`UNIT`] says; those of the second bit take [`MSB_READ`].
pub fn gathered(timing: &mut Timing) {
    timing.unit = Some(UNIT);
    timing.page.push(PageKind { name: "msb".into(), read: Nanos(MSB_READ), program: Nanos(PROGRAM) });
}

/// Owners are plain numbers here: the device never looks at them.
pub type Tiny = Device<Tag, MemoryArray<Tag>, u32>;

/// Two dies on one channel, blocks of four pages.
pub fn device(scheduler: Scheduler) -> Tiny {
    device_with(scheduler, 4, |_| {})
}

/// As [`device`], with blocks of this many pages and other latencies.
pub fn device_with(scheduler: Scheduler, pages_per_block: u32, change: impl FnOnce(&mut Timing)) -> Tiny {
    device_of(scheduler, pages_per_block, |_| {}, change)
}

/// As [`device_with`], of another geometry.
pub fn device_of(
    scheduler: Scheduler,
    pages_per_block: u32,
    shape: impl FnOnce(&mut Geometry),
    change: impl FnOnce(&mut Timing),
) -> Tiny {
    let mut geometry = Geometry {
        channels: 1,
        dies_per_channel: 2,
        planes: 1,
        plane_use: PlaneUse::Single,
        blocks_per_plane: 4,
        pages_per_block,
        page_size: Bytes(4096),
        oob_size: Bytes(64),
        slot_size: Bytes(4096),
    };
    let mut timing = Timing {
        command: Nanos(COMMAND),
        erase: Nanos(ERASE),
        transfer: Transfer::PerPage(Nanos(TRANSFER)),
        page: vec![PageKind { name: "slc".into(), read: Nanos(READ), program: Nanos(PROGRAM) }],
        ..Timing::default()
    };
    shape(&mut geometry);
    change(&mut timing);
    Device::new(MemoryArray::new(geometry, true), &timing, scheduler, 1)
}

pub fn page(device: &Tiny, die: u16, block: u32, page: u32) -> Ppn {
    device.grid.ppn(device.grid.block(DieId(die), block), page)
}

pub fn program(device: &mut Tiny, ppn: Ppn, lpn: u32, owner: u32) -> CommandId {
    program_for(device, ppn, lpn, owner, Cause::Host)
}

pub fn program_for(device: &mut Tiny, ppn: Ppn, lpn: u32, owner: u32, cause: Cause) -> CommandId {
    let image = device.images.open(ppn, Oob::default());
    let payload = Tag::stamp(Lpn(lpn), 1, 8);
    device.images.fill(image, Contents { tag: OobTag::data(Lpn(lpn)), payload, update: 1 }, None, None);
    device.submit(Command { owner, ppn, image, verb: Verb::Program, cause, ..Command::default() }, Haste::Usual)
}

pub fn read(device: &mut Tiny, ppn: Ppn, owner: u32) -> CommandId {
    device.submit(Command { owner, ppn, ..Command::default() }, Haste::Usual)
}

pub fn erase(device: &mut Tiny, ppn: Ppn, owner: u32) -> CommandId {
    device.submit(Command { owner, ppn, verb: Verb::Erase, ..Command::default() }, Haste::Usual)
}

/// Lets idle dies take up what is queued for them.
pub fn take_up(device: &mut Tiny) {
    while let Some(die) = device.next_kick() {
        device.start_next(die);
    }
}

/// Runs until nothing is left to do: the owner of each command with the time it ended.
pub fn run(device: &mut Tiny) -> Vec<(u32, u64)> {
    run_until(device, u64::MAX)
}

/// As [`run`], but for what happens after a time.
pub fn run_until(device: &mut Tiny, until: u64) -> Vec<(u32, u64)> {
    let mut ended = Vec::new();
    loop {
        take_up(device);
        let Some((now, resource)) = device.calendar.next().filter(|(now, _)| now.0 <= until) else { return ended };
        device.now = now;
        let die = DieId(resource as u16);
        let Some(id) = device.die_event(die) else { continue };
        let command = device.commands[id];
        match command.verb {
            Verb::Read => assert!(device.sense(&command, Compares::Yes).verdict.outcome().is_clean(), "{}", command.ppn),
            Verb::Program => assert!(device.program(&command).is_done(), "{}", command.ppn),
            Verb::Erase => assert!(device.erase(device.block_of(command.ppn), Cause::Gc).is_done(), "{}", command.ppn),
            Verb::Recharge => unreachable!("none is submitted"),
        }
        ended.push((command.owner, now.0));
        device.commands.give(id);
        device.kick(die);
    }
}
