//! Named waits of flash commands, against a diary of what every die did.

use crate::common::{COMMAND, PROGRAM, READ, TRANSFER, Tiny, device_with, page, program, run};
use flashkeep_device::command::{Command, Verb};
use flashkeep_device::config::Scheduler;
use flashkeep_device::contents::Tag;
use flashkeep_device::image::Contents;
use flashkeep_device::sense::Compares;
use flashkeep_device::service::Haste;
use flashkeep_device::slab::CommandId;
use flashkeep_device::waits::{Trail, Wait, Waits};
use nand::{Oob, OobTag, Timing, Transfer};
use std::collections::BTreeMap;
use vocab::{Cause, DieId, Lpn, Nanos, SimTime, Streams};

/// Work of a die, for an observer of the clock alone.
struct Service {
    die: DieId,
    from: SimTime,
    until: SimTime,
    verb: Verb,
    cause: Cause,
}

/// A device, and what is known of its commands from outside.
struct Watched {
    device: Tiny,
    submitted: BTreeMap<u32, SimTime>,
    taken: BTreeMap<u32, SimTime>,
    services: Vec<Service>,
    next_page: u32,
    /// How often a command had given way when its die was asked to go on: before its cells had begun, and later.
    gave_way: [u32; 2],
    trails: Vec<(Command<u32>, DieId, Option<Trail>, SimTime)>,
}

impl Watched {
    fn submit(&mut self, number: u32, command: Command<u32>) {
        self.submitted.insert(number, self.device.now);
        self.device.submit(Command { owner: number, ..command }, Haste::Usual);
    }

    fn take_up(&mut self) {
        while let Some(die) = self.device.next_kick() {
            if let Some(suspended) = self.device.dies()[die.index()].suspended {
                self.gave_way[usize::from(suspended.has_begun)] += 1;
            }
            self.device.start_next(die);
            if let Some((id, _)) = self.device.dies()[die.index()].service {
                self.taken.entry(self.device.commands[id].owner).or_insert(self.device.now);
            }
        }
    }

    fn end(&mut self, die: DieId, id: CommandId) {
        let command = self.device.commands[id];
        let (from, until) = (self.taken[&command.owner], self.device.now);
        self.services.push(Service { die, from, until, verb: command.verb, cause: command.cause });
        let trail = self.device.stopwatch.as_ref().expect("it is watched").trail().copied();
        self.trails.push((command, die, trail, until));
        match command.verb {
            Verb::Read => assert!(self.device.sense(&command, Compares::Yes).verdict.outcome().is_clean()),
            Verb::Program => assert!(self.device.program(&command).is_done()),
            _ => assert!(self.device.erase(self.device.block_of(command.ppn), command.cause).is_done()),
        }
        self.device.commands.give(id);
        self.device.kick(die);
    }

    /// The program of the next page of die 1: pages of a block are programmed in order.
    fn next_program(&mut self, cause: Cause) -> Command<u32> {
        let ppn = page(&self.device, 1, 1 + self.next_page / 4, self.next_page % 4);
        self.next_page += 1;
        let image = self.device.images.open(ppn, Oob::default());
        let contents = Contents { tag: OobTag::data(Lpn(1)), payload: Tag::default(), update: 1 };
        self.device.images.fill(image, contents, None, None);
        Command { ppn, image, verb: Verb::Program, cause, ..Command::default() }
    }

    /// Random reads, programs and erases arrive at both dies while events happen.
    fn play(&mut self, seed: u64, commands: u32) {
        let mut draws = Streams::new(seed).stream("test/waits");
        let mut number = 0;
        while number < commands || !self.device.is_idle() {
            while number < commands && draws.chance(0.55) {
                let die = draws.below(2) as u16;
                let cause = Cause::ALL[draws.below(Cause::ALL.len() as u64) as usize];
                let command = match draws.below(10) {
                    0 => Command { ppn: page(&self.device, die, 3, 0), verb: Verb::Erase, cause, ..Command::default() },
                    1 | 2 if self.next_page < 8 => self.next_program(cause),
                    _ => Command { ppn: page(&self.device, die, 0, 0), cause, ..Command::default() },
                };
                self.submit(number, command);
                number += 1;
            }
            self.take_up();
            let Some((now, resource)) = self.device.calendar.next() else { continue };
            self.device.now = now;
            let die = DieId(resource as u16);
            if let Some(id) = self.device.die_event(die) {
                self.end(die, id);
            }
        }
    }
}

fn watched(scheduler: Scheduler, change: impl FnOnce(&mut Timing)) -> Watched {
    let mut device = device_with(scheduler, 4, change);
    for die in 0..2 {
        let ppn = page(&device, die, 0, 0);
        program(&mut device, ppn, u32::from(die), 0);
    }
    run(&mut device);
    device.watch();
    let (submitted, taken) = (BTreeMap::new(), BTreeMap::new());
    Watched { device, submitted, taken, services: Vec::new(), next_page: 0, gave_way: [0; 2], trails: Vec::new() }
}

/// The wait that a service is to those behind it, written down from the names of waits.
fn queue_of(service: &Service) -> Wait {
    match (service.verb, service.cause.name()) {
        (Verb::Erase, _) => Wait::QueueErases,
        (Verb::Read, "host" | "host-rmw") => Wait::QueueHostReads,
        (_, "host" | "host-rmw") => Wait::QueueHostPrograms,
        (_, "parity" | "padding") => Wait::QueueParity,
        (_, "gc" | "wear-level" | "fold") => Wait::QueueGc,
        (_, "rebuild") => Wait::QueueRebuild,
        _ => Wait::QueueUpkeep,
    }
}

/// Time that a die served others while a command was queued, by wait, from the diary.
fn queue_by_diary(services: &[Service], die: DieId, from: SimTime, until: SimTime) -> Waits {
    let mut waits = Waits::default();
    for service in services.iter().filter(|service| service.die == die) {
        let (begin, end) = (service.from.max(from), service.until.min(until));
        if begin < end {
            waits.add(queue_of(service), end.since(begin));
        }
    }
    waits
}

/// Catches time counted twice or not at all, a queue explained by what another die did or by what went after the
/// command, and services named wrongly.
#[test]
fn trails_are_what_a_diary_of_the_dies_says() {
    for scheduler in [Scheduler::Fifo, Scheduler::ReadFirst] {
        for seed in 0..20 {
            let mut watched = watched(scheduler, |_| {});
            watched.play(seed, 300);
            let (mut explained, mut queued) = (0, 0);
            for (command, die, trail, ended) in &watched.trails {
                let name = format!("{scheduler:?}, seed {seed}, command {}", command.owner);
                if !matches!(command.cause, Cause::Host | Cause::HostRmw | Cause::Parity | Cause::Rebuild) {
                    assert_eq!(*trail, None, "{name}: no request waits for it");
                    continue;
                }
                let trail = trail.as_ref().expect("a request can wait for it");
                let (from, taken) = (watched.submitted[&command.owner], watched.taken[&command.owner]);
                assert_eq!((trail.from, trail.waits.total()), (from, ended.since(from)), "{name}");
                let diary = queue_by_diary(&watched.services, *die, from, taken);
                let queues = &Wait::ALL[..7];
                for &(wait, _) in queues {
                    assert_eq!(trail.waits.of(wait), diary.of(wait), "{name}: {wait:?}");
                }
                let (cells, moved) = match command.verb {
                    Verb::Read => (READ, COMMAND + TRANSFER),
                    Verb::Program => (PROGRAM, COMMAND + TRANSFER),
                    _ => (ended.since(taken).0 - trail.waits.of(Wait::Channel).0 - COMMAND, COMMAND),
                };
                let own = match command.cause {
                    Cause::Parity => vec![(Wait::Parity, cells + moved)],
                    Cause::Rebuild => vec![(Wait::Solving, cells + moved)],
                    _ if command.verb == Verb::Read => vec![(Wait::Sensing, cells), (Wait::Transfer, moved)],
                    _ => vec![(Wait::Programming, cells), (Wait::Transfer, moved)],
                };
                for (wait, time) in own {
                    assert_eq!(trail.waits.of(wait), Nanos(time), "{name}: {wait:?}");
                }
                assert_eq!(trail.for_parity, command.cause == Cause::Parity);
                (explained, queued) = (explained + 1, queued + u64::from(taken > from));
            }
            assert!(explained > 80 && queued > 40, "{explained} {queued}");
        }
    }
}

/// Catches time that is lost, or named twice, where a command gives way before or after its cells have begun.
#[test]
fn waits_add_up_where_commands_give_way() {
    /// So long that reads come in the meantime.
    const MOVED: u64 = 200_000;
    let [mut before, mut after] = [0, 0];
    for seed in 0..10 {
        let mut watched = watched(Scheduler::ReadFirst, |timing| {
            timing.suspend = Some(Nanos(20_000));
            timing.transfer = Transfer::PerPage(Nanos(MOVED));
        });
        watched.play(seed, 300);
        for (command, _, trail, ended) in &watched.trails {
            let Some(trail) = trail else { continue };
            let from = watched.submitted[&command.owner];
            let name = format!("seed {seed}, command {}", command.owner);
            assert_eq!((trail.from, trail.waits.total()), (from, ended.since(from)), "{name}");
            if command.verb == Verb::Read {
                let own = [Wait::Sensing, Wait::Transfer, Wait::Solving, Wait::Parity].map(|wait| trail.waits.of(wait).0);
                assert_eq!(own.iter().sum::<u64>(), COMMAND + READ + MOVED, "{name}");
            }
        }
        let [first, later] = watched.gave_way;
        (before, after) = (before + first, after + later);
    }
    assert!(before > 0 && after > 0, "{before} commands gave way before their cells began, {after} later");
}

/// A part of a trail keeps its length to the nanosecond, and each wait its share.
#[test]
fn the_last_part_of_a_time_has_each_wait_s_share() {
    let mut draws = Streams::new(4).stream("test/parts");
    for _ in 0..5_000 {
        let mut whole = Waits::default();
        for (wait, _) in Wait::ALL {
            let bits = draws.below(45);
            whole.add(wait, Nanos(draws.below(1 << bits)));
        }
        let part = draws.below(whole.total().0 + 2);
        let mut sum = Waits::default();
        sum.add_last(&whole, Nanos(part));
        assert_eq!(sum.total().0, part.min(whole.total().0));
        for (wait, _) in Wait::ALL {
            let fair = whole.of(wait).0 as f64 * sum.total().0 as f64 / whole.total().0.max(1) as f64;
            let off = (sum.of(wait).0 as f64 - fair).abs();
            assert!(off <= Wait::COUNT as f64 + fair * 1e-12, "{wait:?}: {off}");
        }
    }
}
